//! The places of one thing as a language server tells them.
//!
//! Its proposal may change whole words of the name and nothing else, must agree with the bindings of each file, and every place
//! that it leaves must be told to mean another thing. Whatever is in doubt is refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    family, forms, lookup, member,
    page::{Family, Page, SYNTAX_ERROR},
    params::{Params, Scope},
    places::Places,
    refusal::{self, MEANING, OUTSIDE, Refusal, TAKEN, UNKNOWN},
    scope, thing,
    world::World,
};
use crate::Work;
use base::{
    error::{Code, Error},
    language::Language,
    path::RepoPath,
};
use format::name::{
    facts::{Against, Facts, Form, Group, Meaning, Reach, Site},
    token::{Class, Part, Token},
};
use system::language_server::{Caller, Client, Definition, Edits};

/// The word of the record for this engine.
pub(super) const NAME: &str = "lsp";

/// The most classes that are renamed together.
const RELATED: usize = 200;

/// The most places that a server is asked about after its proposal.
const ASKED: usize = 5000;

/// The server that is asked about the thing of the parameters; none if the policy has none for its language.
pub(super) fn server<'w>(world: &'w World<'_>, params: &Params) -> Option<&'w str> {
    let page = match &params.scope {
        Scope::File { file: path } | Scope::Symbol { path, .. } => world.page(path),
        Scope::Glob(_) => world.target().find(|page| page.is_in_code()),
    };
    page.and_then(|page| world.ctx.servers.of_language(page.language.name()))
}

/// The places of the thing that the parameters name; none if nothing is left to do.
pub(super) fn choose(world: &World<'_>, params: &Params) -> Result<Option<Places>, Error> {
    let Some((page, at)) = anchor(world, params)? else { return Ok(None) };
    let language = page.language.name();
    let Some(server) = world.ctx.servers.of_language(language) else {
        return Err(world.ctx.servers.missing(language));
    };
    // All pages are read before the server's time begins.
    let pages: Vec<&Page> = world.pages()?.filter(|other| other.family() == page.family()).collect();
    let certain = match scope::choose(world, params) {
        Ok(certain) => certain,
        Err(refused) if may_overrule(&refused) => None,
        Err(lasting) => return Err(lasting),
    };
    let (places, refusal) = (Places::default(), Refusal::default());
    let mut search = Search { world, params, pages, certain, places, refusal, is_member: false };
    let pulse = || world.deadline.check(world.ctx);
    let text = |path: &RepoPath| world.page(path).map_or_else(|| world.text(path), |page| Some(page.text.clone()));
    let caller = Caller { timeout_ms: world.deadline.left_ms(), pulse: &pulse, text: &text };
    world.tell(Work::StartServer, 0, 0);
    let asked = world.ctx.servers.converse(server, &caller, &mut |client| search.ask(client, page, at))?;
    let Search { mut places, mut refusal, certain, .. } = search;
    if let Some(certain) = &certain {
        agree(world, certain, &places, &mut refusal);
    }
    refusal.check(world)?;
    (places.engine, places.server) = (NAME, Some(asked));
    Ok(Some(places))
}

/// True for a refusal of another engine that more knowledge of the language may overrule.
pub(super) fn may_overrule(refused: &Error) -> bool {
    refused.code() == Code::VerificationFailed && !refusal::is_lasting(refused)
}

/// The place from which the thing is renamed; none if nothing is left to do.
fn anchor<'w>(world: &'w World<'_>, params: &Params) -> Result<Option<(&'w Page, usize)>, Error> {
    let file = match &params.scope {
        Scope::Symbol { path, line, column } => return thing::token(world, (path, *line, *column)),
        Scope::File { file } => Some(file.as_str()),
        Scope::Glob(_) => None,
    };
    let pages = world.target().filter(|page| page.is_in_code() && file.is_none_or(|file| page.path.as_str() == file));
    let places: Vec<(&Page, &Token)> = pages.flat_map(|page| code(page).map(move |token| (page, token))).collect();
    // After a rename, members of the old name stay beside the new one.
    let is_left = |(page, token): &(&Page, &Token)| token.part != Part::Member || page.taken.is_none();
    if !places.iter().any(is_left) {
        return Ok(None);
    }
    let declared = places.iter().find(|(_, token)| token.part == Part::Declaration).or(places.first());
    Ok(declared.map(|(page, token)| (*page, token.range.start)))
}

fn code(page: &Page) -> impl Iterator<Item = &Token> {
    page.tokens.iter().filter(|token| token.class == Class::Code)
}

/// Refuses what the engine `scope` is certain of and knows otherwise.
fn agree(world: &World<'_>, other: &Places, places: &Places, refusal: &mut Refusal) {
    let keys = |places: &Places| {
        let one = |(path, sites): (&String, &BTreeMap<usize, _>)| (path.clone(), sites.keys().copied().collect());
        places.code.iter().map(one).collect::<BTreeMap<String, BTreeSet<usize>>>()
    };
    let (mine, other) = (keys(places), keys(other));
    let paths: BTreeSet<&String> = mine.keys().chain(other.keys()).collect();
    let none = BTreeSet::new();
    for path in paths {
        let (mine, other) = (mine.get(path).unwrap_or(&none), other.get(path).unwrap_or(&none));
        let Some(page) = world.page(path) else { continue };
        for at in mine.symmetric_difference(other) {
            refusal.add(
                page,
                *at,
                (UNKNOWN, "the language server and the bindings of the language do not agree on it"),
            );
        }
    }
}

/// The renamed places of a file.
type Sites = BTreeMap<usize, (Range<usize>, Form)>;

/// True if a place may get a form, by the bindings of its file; without them only the name itself.
fn may_have(page: &Page, token: &Token, form: Form) -> bool {
    let mut sites = page.group_at(token.range.start).into_iter().flat_map(|group| &group.sites);
    let own = sites.find(|site| site.range.start == token.range.start).map(|site| site.form);
    match (form, own) {
        // Whoever else uses the other name is renamed too, or refused.
        (Form::Plain, None | Some(Form::Plain | Form::Import | Form::ExportedAs)) => true,
        (Form::Key, Some(Form::Member)) => true,
        (form, Some(own)) => form == own,
        (Form::ExportedAs | Form::Import | Form::Key | Form::Member, None) => false,
    }
}

struct Search<'w, 'a> {
    world: &'w World<'a>,
    params: &'w Params,
    /// The files that may name the thing.
    pages: Vec<&'w Page>,
    /// The places by the engine `scope`, if it is certain of the thing.
    certain: Option<Places>,
    places: Places,
    refusal: Refusal,
    /// True if a class of Python declares it.
    is_member: bool,
}

impl Search<'_, '_> {
    fn ask(&mut self, client: &mut Client<'_>, page: &Page, at: usize) -> Result<(), Error> {
        client.open(&page.path, identifier(page))?;
        self.world.tell(Work::LoadProject, 0, 0);
        client.settle()?;
        self.world.tell(Work::AskRename, 0, 0);
        let edits = client.rename(&page.path, at, &self.params.to)?;
        self.take(&edits)?;
        if !self.places.has(&page.path, at) {
            if self.refusal.is_empty() {
                self.refusal.add(page, at, (UNKNOWN, "the language server does not rename this place"));
            }
            return Ok(());
        }
        self.written();
        if page.family() == Family::Python {
            self.inherit(client)?;
        }
        self.rest(client)?;
        self.only();
        if !self.judge(page, at)? || !self.refusal.is_empty() {
            return Ok(());
        }
        self.inherited(page)?;
        member::judge(self.world, &self.pages, &self.places, (&mut self.refusal, client.checks()))?;
        if !self.refusal.is_empty() {
            return Ok(());
        }
        member::check(self.world, client, (&self.pages, &self.places), (&mut self.refusal, &identifier))
    }

    /// Adds the texts of a renamed binding, which servers leave.
    fn written(&mut self) {
        for page in &self.pages {
            let Some(sites) = self.places.code.get(page.path.as_str()).cloned() else { continue };
            let groups = page.facts.as_ref().map_or(&[][..], |facts| &facts.groups);
            let is_renamed = |site: &Site| sites.get(&site.range.start).is_some_and(|(_, form)| *form == Form::Plain);
            for group in groups.iter().filter(|group| group.sites.iter().any(is_renamed)) {
                let strings = page.tokens.iter().filter(|token| token.class == Class::Strings);
                for token in strings.filter(|token| group.has(token.range.start)) {
                    self.places.add(&page.path, &token.range, Form::Plain);
                }
            }
        }
    }

    /// Renames the same member of related classes with it, which servers leave.
    fn inherit(&mut self, client: &mut Client<'_>) -> Result<(), Error> {
        let classes = family::classes(self.world)?;
        self.is_member = classes.have(&self.places);
        for _ in 0..RELATED {
            let left = classes.left(&self.places);
            let Some((path, at)) = left.first() else {
                return classes.judge(self.world, &self.places, &mut self.refusal);
            };
            let Some(page) = self.world.page(path) else { break };
            client.open(&page.path, identifier(page))?;
            client.settle()?;
            let edits = client.rename(&page.path, *at, &self.params.to)?;
            self.take(&edits)?;
            if !self.places.has(path, *at) {
                let what = (UNKNOWN, "a related class declares it, and the language server leaves it");
                self.refusal.add(page, *at, what);
                return Ok(());
            }
        }
        for (path, at) in classes.left(&self.places) {
            let Some(page) = self.world.page(&path) else { continue };
            self.refusal.add(page, at, (UNKNOWN, "too many related classes declare it"));
        }
        Ok(())
    }

    /// Refuses places that stay where the thing has to be the only one of its name.
    fn only(&mut self) {
        let is_one = |page: &&Page| match &self.params.scope {
            Scope::Symbol { .. } => false,
            Scope::File { file } => page.path.as_str() == file,
            Scope::Glob(_) => page.is_target,
        };
        for page in self.world.target().filter(is_one) {
            for token in code(page).filter(|token| !self.places.has(&page.path, token.range.start)) {
                let what = "several things have the name, and this is another one";
                self.refusal.add_choice(page, token.range.start, what);
            }
        }
    }

    /// Takes the proposal: whole words of the name, in files of the target.
    fn take(&mut self, edits: &Edits) -> Result<(), Error> {
        for (path, edits) in edits {
            let Some(page) = self.world.page(path) else {
                self.refusal
                    .add_file(path, (UNKNOWN, "the language server changes it, and it does not hold the name"))?;
                continue;
            };
            let first = page.tokens.first().map_or(0, |token| token.range.start);
            if !page.is_target {
                self.refusal.add(page, first, (OUTSIDE, "it is used outside of the files of the target"));
                continue;
            }
            if !self.pages.iter().any(|other| other.path == page.path) {
                self.refusal.add(page, first, (UNKNOWN, "the language server changes a file of another language"));
                continue;
            }
            let found = match forms::of(&page.text, &page.tokens, edits, self.world.names()) {
                Ok(found) => found,
                Err(at) => {
                    self.refusal.add(page, at, (UNKNOWN, "the language server changes more here than the name"));
                    continue;
                }
            };
            for (token, form) in found {
                match token.class {
                    Class::Code if !token.is_whole || !may_have(page, token, form) => {
                        let what = "the language server gives it another form than its syntax asks for";
                        self.refusal.add(page, token.range.start, (UNKNOWN, what));
                    }
                    Class::Code => {
                        if token.part == Part::Declaration {
                            self.places.homes.insert((path.to_string(), token.range.start));
                        }
                        self.places.add(path, &token.range, form);
                    }
                    // Words of comments and strings are renamed as the parameters say.
                    Class::Comments => {}
                    // A type that is written as a text.
                    Class::Strings if form == Form::Plain && page.group_at(token.range.start).is_some() => {
                        self.places.add(path, &token.range, form);
                    }
                    Class::Strings if self.params.strings => {}
                    Class::Strings => {
                        let what = "the language server renames it in a string, which `strings` has to permit";
                        self.refusal.add(page, token.range.start, (UNKNOWN, what));
                    }
                }
            }
        }
        Ok(())
    }

    /// Judges the proposal by the bindings of each file; true if it has members.
    fn judge(&mut self, anchor: &Page, at: usize) -> Result<bool, Error> {
        let mut is_local = self.places.code.len() == 1 && !self.is_member;
        let mut has_members = self.is_member;
        for page in self.pages.clone() {
            let Some(sites) = self.places.code.get(page.path.as_str()).cloned() else { continue };
            let is_chosen = |token: &&Token| sites.contains_key(&token.range.start);
            match &page.facts {
                Ok(facts) => {
                    let groups = self.groups(page, facts, &sites);
                    is_local &= groups.iter().all(|group| matches!(group.reach, Reach::Local | Reach::Named(_)));
                    let bound: BTreeSet<usize> =
                        groups.iter().flat_map(|group| &group.sites).map(|site| site.range.start).collect();
                    let is_loose = sites.keys().any(|at| !bound.contains(at));
                    is_local &= !is_loose;
                    let member = |at: &usize| {
                        facts.loose.iter().any(|loose| {
                            loose.range.start == *at && matches!(loose.meaning, Meaning::Member | Meaning::Of(_))
                        })
                    };
                    has_members |= sites.keys().any(member)
                        || code(page).filter(is_chosen).any(|token| token.part == Part::Member);
                    if let Some(taken) = page.taken.filter(|_| is_loose) {
                        self.refusal.add(page, taken, (TAKEN, "the new name is in use in a file that names it"));
                    }
                }
                Err(reason) => {
                    is_local = false;
                    has_members = true;
                    if *reason == SYNTAX_ERROR {
                        self.refusal.add(page, 0, (UNKNOWN, reason));
                    }
                    if let Some(taken) = page.taken {
                        self.refusal.add(page, taken, (TAKEN, "the new name is in use in a file that names it"));
                    }
                }
            }
        }
        self.places.is_local = is_local;
        self.texts(anchor, has_members, is_local);
        self.check_kind(anchor, at);
        Ok(has_members)
    }

    /// Refuses strings by which code may look for the thing where names are looked up while it runs.
    fn texts(&mut self, anchor: &Page, has_members: bool, is_local: bool) {
        let looks_up = match anchor.family() {
            Family::Python => !is_local,
            Family::Script | Family::Other(Language::Php | Language::Ruby) => has_members,
            Family::Go | Family::Java | Family::Rust | Family::Other(_) => false,
        };
        let is_kept = |page: &&&Page| looks_up && !(self.params.strings && page.is_target);
        for page in self.pages.iter().filter(is_kept) {
            for token in lookup::texts(page, lookup::Sought::InData) {
                self.refusal.add_string(page, token, false);
            }
        }
    }

    /// The renamed bindings of a file. A part of a binding is refused, and so is one that can't get the new name.
    fn groups<'p>(&mut self, page: &Page, facts: &'p Facts, sites: &Sites) -> Vec<&'p Group> {
        let mut renamed = Vec::new();
        for group in &facts.groups {
            let form = |site: &Site| sites.get(&site.range.start).map(|(_, form)| *form);
            let forms: Vec<Form> = group.sites.iter().filter_map(form).collect();
            // If only members have the new name, the value keeps its own.
            if forms.iter().all(|form| *form == Form::Key) {
                continue;
            }
            if forms.len() < group.sites.len() {
                self.refusal.add(
                    page,
                    group.declared,
                    (UNKNOWN, "the language server renames only some of its places"),
                );
            }
            // Every place that syntax leaves open was asked about.
            if let Some(obstacle) = group.obstacle.as_ref().filter(|obstacle| obstacle.against != Against::Unclear) {
                self.refusal.add(page, obstacle.at, (TAKEN, &obstacle.reason));
            }
            renamed.push(group);
        }
        renamed
    }

    /// Refuses a new name of a member that other files use: a type that inherits may have it.
    fn inherited(&mut self, anchor: &Page) -> Result<(), Error> {
        for path in self.world.taken_files()? {
            if Family::of_path(path) == Some(anchor.family()) && !self.places.code.contains_key(path) {
                let what =
                    (TAKEN, "the new name of a member is in use in this file, where a type may inherit the member");
                self.refusal.add_file(path, what)?;
            }
        }
        Ok(())
    }

    fn check_kind(&mut self, anchor: &Page, at: usize) {
        let Some(wanted) = &self.params.kind else { return };
        let reason = match anchor.group_at(at).map(|group| group.kind.noun()) {
            Some(noun) if noun == wanted => return,
            Some(noun) => format!("it is a {noun}, not a {wanted}"),
            None => format!("it is not certain to be a {wanted}"),
        };
        self.refusal.add(anchor, at, (MEANING, &reason));
    }

    /// Every place in code that stays must mean another thing, and every renamed one that no binding explains must mean the thing.
    /// Servers forget places that they know; one of which the engine `scope` is certain is renamed too.
    fn rest(&mut self, client: &mut Client<'_>) -> Result<(), Error> {
        let mut open = Vec::new();
        for page in self.pages.clone() {
            let chosen = self.places.code.get(page.path.as_str()).cloned().unwrap_or_default();
            let asked = |token: &&Token| match chosen.contains_key(&token.range.start) {
                true => page.group_at(token.range.start).is_none() && token.part != Part::Declaration,
                false => !is_bound(page, token, &chosen),
            };
            let tokens: Vec<&Token> = code(page).filter(asked).collect();
            let Some(first) = tokens.first() else { continue };
            if self.world.ctx.servers.of_language(page.language.name()).is_none() {
                self.refusal.add(page, first.range.start, (UNKNOWN, "no language server knows its language"));
                continue;
            }
            client.open(&page.path, identifier(page))?;
            open.extend(tokens.into_iter().map(|token| (page, token)));
        }
        if let Some((page, token)) = open.get(ASKED) {
            let what = (UNKNOWN, "too many places have the name for all to be asked about");
            self.refusal.add(page, token.range.start, what);
            return Ok(());
        }
        if !open.is_empty() {
            client.settle()?;
        }
        let places: Vec<_> = open.iter().map(|(page, token)| (&page.path, token.range.start)).collect();
        let answers = client.definitions(&places, &self.world.told(Work::AskPlaces, places.len()))?;
        for ((page, token), found) in open.into_iter().zip(answers) {
            self.define(page, token, &found);
            let is_renamed = self.places.has(&page.path, token.range.start);
            if is_renamed && page.family() == Family::Python && !is_certain(client, page, token)? {
                let what = "the type of what has it is known in part only";
                self.refusal.add(page, token.range.start, (UNKNOWN, what));
            }
        }
        Ok(())
    }

    /// Judges a place by its definitions.
    fn define(&mut self, page: &Page, token: &Token, found: &[Definition]) {
        let at = token.range.start;
        let is_same = found.iter().any(|found| self.is_renamed(found));
        if self.places.has(&page.path, at) {
            if !found.iter().all(|found| self.is_renamed(found)) {
                self.refusal.add(page, at, (UNKNOWN, "the language server renames it, though it means another thing"));
            }
            return;
        }
        // A place that the server knows, and forgets.
        let is_python = page.family() == Family::Python && token.is_whole;
        let is_forgotten = is_python && (token.part == Part::Member || is_passed_on(page, token));
        if is_same && is_forgotten && found.iter().all(|found| self.is_renamed(found)) {
            self.places.add(&page.path, &token.range, Form::Plain);
            return;
        }
        let certain = self.certain.as_ref().map(|places| places.code.get(page.path.as_str())?.get(&at).cloned());
        match (is_same, certain) {
            (true, Some(Some((range, form)))) => self.places.add(&page.path, &range, form),
            // The server does not know it, and does not say otherwise.
            (false, Some(Some((range, form)))) if found.is_empty() => self.places.add(&page.path, &range, form),
            (true, _) => {
                let what = (UNKNOWN, "it means the same thing, and the language server leaves it");
                self.refusal.add(page, at, what);
            }
            (false, None) if !is_told(page, token, found) => {
                self.refusal.add(page, at, (UNKNOWN, "the language server does not tell its meaning"));
            }
            // Another thing, or a place on which `agree` decides.
            (false, _) => {}
        }
    }

    /// True if a definition is a renamed place, or stands in the line of a renamed declaration.
    fn is_renamed(&self, found: &Definition) -> bool {
        let Definition::Inside(path, at) = found else { return false };
        let is_line = |page: &Page| {
            let mut homes = self.places.homes.iter().filter(|(home, _)| home == path.as_str());
            homes.any(|(_, home)| page.line(*home) == page.line(*at))
        };
        let mut known = [Some(&self.places), self.certain.as_ref()].into_iter().flatten();
        known.any(|places| places.has(path, *at))
            || self.world.page(path).is_some_and(|page| is_line(page) || self.is_value(page, *at))
    }

    /// True for the place of a value, such as `self`, by which a renamed member is reached.
    fn is_value(&self, page: &Page, at: usize) -> bool {
        let sites = self.places.code.get(page.path.as_str());
        let next = sites.and_then(|sites| sites.keys().find(|site| **site > at));
        let between = next.and_then(|site| page.text.get(at..*site));
        between.and_then(|text| text.strip_suffix('.')).is_some_and(|value| {
            !value.is_empty() && value.chars().all(|c| c == '_' || c == '.' || c.is_alphanumeric())
        })
    }
}

/// True if the server knows all types that a value before a dot may have.
fn is_certain(client: &mut Client<'_>, page: &Page, token: &Token) -> Result<bool, Error> {
    let before = page.text[..token.range.start].trim_end();
    let Some(value) = before.strip_suffix('.').map(str::trim_end) else { return Ok(true) };
    let last = value.char_indices().next_back();
    let at = match last {
        Some((at, c)) if c == '_' || c.is_alphanumeric() => at,
        // The value has no name, so that its member tells.
        _ => token.range.start,
    };
    let shown = client.shown(&page.path, at)?;
    let mut depth = 0_usize;
    let mut parts = vec![String::new()];
    for c in shown.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => parts.push(String::new()),
            _ => {}
        }
        if let Some(part) = parts.last_mut().filter(|_| c != '|') {
            part.push(c);
        }
    }
    let is_open = |part: &String| matches!(part.trim(), "Any" | "Unknown") || part.trim().starts_with("@Todo");
    Ok(parts.len() == 1 || !parts.iter().any(is_open))
}

/// True if definitions tell a meaning: each exists, and none but that of a declaration is the place itself.
fn is_told(page: &Page, token: &Token, found: &[Definition]) -> bool {
    let itself = Definition::Inside(page.path.clone(), token.range.start);
    let is_used = page.text[..token.range.start].trim_end().ends_with(['.', ':', '>']);
    let is_import = page.group_at(token.range.start).is_some_and(|group| matches!(group.reach, Reach::Imported(_)));
    let is_told = |found: &Definition| match found {
        Definition::Nowhere => false,
        found if *found == itself => !is_used && !is_import,
        Definition::Inside(..) | Definition::Outside => true,
    };
    !found.is_empty() && found.iter().all(is_told)
}

/// True for the second name of `import X as X`.
fn is_passed_on(page: &Page, token: &Token) -> bool {
    let is_import = page.group_at(token.range.start).is_some_and(|group| matches!(group.reach, Reach::Imported(_)));
    let before = page.text[..token.range.start].trim_end().strip_suffix("as").map(str::trim_end);
    is_import && before.is_some_and(|before| before.ends_with(&page.text[token.range.clone()]))
}

/// True if a place belongs to a binding of its own file of which nothing is renamed.
fn is_bound<T>(page: &Page, token: &Token, chosen: &BTreeMap<usize, T>) -> bool {
    page.group_at(token.range.start).is_some_and(|group| {
        matches!(group.reach, Reach::Local | Reach::Named(_))
            && !group.sites.iter().any(|site| chosen.contains_key(&site.range.start))
    })
}

/// The language of a file in the protocol.
fn identifier(page: &Page) -> &'static str {
    match page.language {
        Language::Tsx => "typescriptreact",
        Language::JavaScript if page.path.ends_with(".jsx") => "javascriptreact",
        Language::Bash => "shellscript",
        language => language.name(),
    }
}
