//! The places of one thing by the bindings of its language: those of its file, and those of other files that lead to it.

use std::{cell::OnceCell, collections::BTreeSet};

use super::{
    argument, foreign, link, lookup,
    manifest::folder,
    page::{Family, Page},
    params::{Comments, Mentions, Params, Scope},
    places::{End, Places},
    refusal::{MEANING, OUTSIDE, Refusal, TAKEN, UNKNOWN, refuse},
    rest::Shared,
    world::World,
};
use base::error::{Code, Error};
use format::name::{
    facts::{Facts, Form, Group, Kind, Loose, Meaning, Origin, Reach},
    token::Class,
};

/// The word of the record for this engine.
pub(super) const NAME: &str = "scope";

/// A thing: a binding of a file, by its declaration, or the name that a file exports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    /// A binding that other files do not name, or that stands for one of another module under a name of its own.
    Own(String, usize),
    /// A binding that others import.
    Shared(String),
}

/// The places of the thing that the parameters name; none if there is none of that name.
pub(super) fn choose(world: &World<'_>, params: &Params) -> Result<Option<Places>, Error> {
    let thing = match &params.scope {
        Scope::Symbol { path, line, column } => at_place(world, (path, *line, *column))?,
        Scope::File { file } => only(world, Some(file))?,
        Scope::Glob(_) => only(world, None)?,
    };
    let Some(thing) = thing else { return Ok(None) };
    let mut search = Search {
        world,
        places: Places { engine: NAME, ..Places::default() },
        refusal: Refusal::default(),
        strings: params.strings,
        mentions: params.mentions,
        comments: params.comments,
    };
    match &thing {
        Thing::Own(path, declared) => search.own(path, *declared)?,
        Thing::Shared(path) => search.shared(path)?,
    }
    let Search { places, mut refusal, .. } = search;
    for (path, declared) in &places.homes {
        let page = page(world, path)?;
        let group = facts(world, page)?.groups.iter().find(|group| group.declared == *declared);
        if let (Some(wanted), Some(group)) = (&params.kind, group)
            && *wanted != group.kind.noun()
        {
            let reason = format!("it is a {}, not a {wanted}", group.kind.noun());
            refusal.add(page, *declared, (MEANING, &reason));
        }
    }
    for path in places.code.keys().filter(|path| !world.is_surveyed(path)) {
        let page = page(world, path)?;
        let at = places.code[path].keys().next().copied().unwrap_or_default();
        refusal.add(page, at, (OUTSIDE, "it is used outside of the files of the target"));
    }
    refusal.check(world)?;
    Ok(Some(places))
}

fn page<'w>(world: &'w World<'_>, path: &str) -> Result<&'w Page, Error> {
    world.page(path).ok_or_else(|| {
        let from = world.change.from;
        Error::new(Code::NotFound, format!("`{path}` is no file of the target that holds `{from}`"))
            .hint("give a path that `target.glob` matches, relative to the workspace")
    })
}

fn facts<'p>(world: &World<'_>, page: &'p Page) -> Result<&'p Facts, Error> {
    page.facts.as_ref().map_err(|reason| {
        let at = page.tokens.first().map_or(0, |token| token.range.start);
        refuse(page, at, (UNKNOWN, reason), world)
    })
}

/// The whole token of code at a place; none if the new name is there already.
pub(super) fn token<'w>(
    world: &'w World<'_>,
    (path, line, column): (&str, u64, u64),
) -> Result<Option<(&'w Page, usize)>, Error> {
    let from = world.change.from;
    let no_token = || {
        Error::new(Code::NotFound, format!("`{path}` has no token `{from}` at line {line}, column {column}"))
            .hint("columns count characters from 1")
    };
    let Some(page) = world.page(path) else {
        return if world.is_surveyed(path) { Ok(None) } else { page(world, path).map(|_| None) };
    };
    let at = page.byte(line, column).ok_or_else(no_token)?;
    let token = page.tokens.iter().find(|token| token.range.start <= at && at < token.range.end);
    let Some(token) = token else {
        return if has_new_name(world, path, (line, column)) { Ok(None) } else { Err(no_token()) };
    };
    if token.class != Class::Code || !token.is_whole {
        let what = (MEANING, "it stands in a string, in a comment, or in a longer token");
        return Err(refuse(page, token.range.start, what, world));
    }
    Ok(Some((page, token.range.start)))
}

/// The thing at a place; none if the new name is there already.
fn at_place(world: &World<'_>, place: (&str, u64, u64)) -> Result<Option<Thing>, Error> {
    let Some((page, start)) = token(world, place)? else { return Ok(None) };
    let path = place.0;
    let refused = |reason: &str| refuse(page, start, (MEANING, reason), world);
    let facts = facts(world, page)?;
    let group = facts.groups.iter().find(|group| group.sites.iter().any(|site| site.range.start == start));
    if let Some(group) = group {
        return thing(world, page, group, true).map(Some);
    }
    match facts.loose.iter().find(|loose| loose.range.start == start).map(|loose| &loose.meaning) {
        Some(Meaning::Through(origin, _)) => match link::follow(world, path, origin)? {
            End::File(file) => Ok(Some(Thing::Shared(home(world, &file, page.family())?))),
            End::Elsewhere | End::Unknown => Err(refused("the module that it belongs to is not in the workspace")),
        },
        Some(Meaning::Free) => declared_in_package(world, page).map_err(refused).map(Some),
        Some(Meaning::Member | Meaning::Of(_)) => Err(refused("it is a member, whose owner only types tell")),
        Some(Meaning::Keyword(_)) => Err(refused("it is the name of an argument; give the place of the parameter")),
        Some(Meaning::Unclear(reason)) => Err(refused(reason)),
        None => Err(refused("syntax does not tell its meaning")),
    }
}

/// True if the new name is at a place, so that nothing is left to do.
fn has_new_name(world: &World<'_>, path: &str, (line, column): (u64, u64)) -> bool {
    let Some(text) = world.text(path) else { return false };
    let line = usize::try_from(line).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?));
    let rest =
        line.map(|line| line.chars().skip(usize::try_from(column).map_or(0, |column| column - 1)).collect::<String>());
    rest.is_some_and(|rest| rest.starts_with(world.change.to))
}

/// The binding at the top of another file of the same package.
fn declared_in_package(world: &World<'_>, page: &Page) -> Result<Thing, &'static str> {
    let own = page.facts.as_ref().map_err(|reason| *reason)?.package.clone();
    let pages = world.pages().map_err(|_| "the files of its package can't be read")?;
    let homes: Vec<&Page> =
        pages.filter(|other| is_same_package(page, other, own.as_deref()) && exports(other)).collect();
    match homes[..] {
        [home] => Ok(Thing::Shared(home.path.to_string())),
        _ => Err("its file does not declare it"),
    }
}

fn is_same_package(page: &Page, other: &Page, package: Option<&str>) -> bool {
    let of = other.facts.as_ref().ok().and_then(|facts| facts.package.as_deref());
    page.family() == other.family()
        && package.is_some()
        && of == package
        && (page.family() == Family::Java || folder(&page.path) == folder(&other.path))
}

fn exports(page: &Page) -> bool {
    page.facts.as_ref().is_ok_and(|facts| facts.groups.iter().any(|group| group.reach == Reach::Exported))
}

/// The file that declares a shared thing, from the end of a way.
fn home(world: &World<'_>, end: &str, family: Family) -> Result<String, Error> {
    if family != Family::Go {
        return Ok(end.to_owned());
    }
    let found = world.pages()?.find(|page| page.family() == family && folder(&page.path) == end && exports(page));
    Ok(found.map_or_else(|| end.to_owned(), |page| page.path.to_string()))
}

/// The thing that a binding is. An import at a place is renamed for its file alone where the language can say so.
fn thing(world: &World<'_>, page: &Page, group: &Group, is_place: bool) -> Result<Thing, Error> {
    let own = || Thing::Own(page.path.to_string(), group.declared);
    match &group.reach {
        Reach::Local | Reach::Named(_) => Ok(own()),
        Reach::Exported | Reach::Global => Ok(Thing::Shared(page.path.to_string())),
        Reach::Imported(_) if is_place && page.family() == Family::Script => Ok(own()),
        Reach::Imported(origin) => {
            match imported(world, page, &origin.module, &link::follow(world, &page.path, origin)?)? {
                Some(file) => Ok(Thing::Shared(file)),
                None => {
                    let what = (MEANING, "it is bound by an import of something outside of the workspace");
                    Err(refuse(page, group.declared, what, world))
                }
            }
        }
    }
}

fn imported(world: &World<'_>, page: &Page, module: &str, end: &End) -> Result<Option<String>, Error> {
    if page.family() == Family::Java {
        let is_home = |other: &&Page| {
            let package = other.facts.as_ref().ok().and_then(|facts| facts.package.as_deref());
            other.family() == Family::Java && package == Some(module) && exports(other)
        };
        return Ok(world.pages()?.find(is_home).map(|page| page.path.to_string()));
    }
    let mut end = end.clone();
    // Names go through files that import them themselves.
    for _ in 0..16 {
        let End::File(file) = &end else { return Ok(None) };
        let file = home(world, file, page.family())?;
        let Some(facts) = world.page(&file).and_then(|page| page.facts.as_ref().ok()) else { return Ok(None) };
        let next = facts.groups.iter().find_map(|group| match &group.reach {
            Reach::Imported(origin) => Some(origin),
            _ => None,
        });
        if page.family() == Family::Script || facts.groups.iter().any(|group| group.reach == Reach::Exported) {
            return Ok(exports(world.page(&file).unwrap_or(page)).then_some(file));
        }
        let Some(origin) = next else { return Ok(None) };
        end = link::follow(world, &file, origin)?;
    }
    Ok(None)
}

/// The only thing of the name in the files of the target, or in one of them.
fn only(world: &World<'_>, file: Option<&str>) -> Result<Option<Thing>, Error> {
    let mut things = BTreeSet::new();
    let mut refusal = Refusal::default();
    // After a rename, members of the old name stay beside the new one.
    let mut is_done = true;
    let pages: Vec<&Page> = match file {
        Some(path) if !world.is_surveyed(path) => vec![page(world, path)?],
        Some(path) => world.page(path).into_iter().collect(),
        None => world.target().collect(),
    };
    for page in pages.into_iter().filter(|page| page.is_in_code()) {
        let facts = facts(world, page)?;
        for group in &facts.groups {
            things.insert(thing(world, page, group, false)?);
        }
        for loose in &facts.loose {
            match &loose.meaning {
                Meaning::Through(origin, _) => {
                    let end = link::follow(world, &page.path, origin)?;
                    if let Some(file) = imported(world, page, &origin.module, &end)? {
                        things.insert(Thing::Shared(file));
                    } else {
                        refusal.add(
                            page,
                            loose.range.start,
                            (MEANING, "it belongs to a module outside of the workspace"),
                        );
                    }
                }
                Meaning::Free if declared_in_package(world, page).is_ok() => is_done = false,
                Meaning::Free => refusal.add(page, loose.range.start, (MEANING, "its file does not declare it")),
                Meaning::Member | Meaning::Of(_) | Meaning::Keyword(_) => {
                    refusal.add(page, loose.range.start, (MEANING, "it is a member, whose owner only types tell"));
                }
                Meaning::Unclear(reason) => refusal.add(page, loose.range.start, (UNKNOWN, reason)),
            }
            is_done &= loose.meaning == Meaning::Member && page.taken.is_some();
        }
    }
    if things.is_empty() && is_done {
        return Ok(None);
    }
    if things.len() > 1 {
        for thing in &things {
            let (path, declared) = match thing {
                Thing::Own(path, declared) => (path, *declared),
                Thing::Shared(path) => (path, first(world, path)),
            };
            refusal.add_choice(page(world, path)?, declared, "several things have the name, and this is one of them");
        }
    }
    refusal.check(world)?;
    Ok(things.pop_first())
}

fn first(world: &World<'_>, path: &str) -> usize {
    let facts = world.page(path).and_then(|page| page.facts.as_ref().ok());
    facts.and_then(|facts| facts.groups.first()).map_or(0, |group| group.declared)
}

struct Search<'w, 'a> {
    world: &'w World<'a>,
    places: Places,
    refusal: Refusal,
    /// True if words of strings are renamed too.
    strings: bool,
    mentions: Mentions,
    comments: Comments,
}

impl Search<'_, '_> {
    /// A binding that other files do not name.
    fn own(&mut self, path: &str, declared: usize) -> Result<(), Error> {
        let world = self.world;
        let page = page(world, path)?;
        let Some(group) = facts(world, page)?.groups.iter().find(|group| group.declared == declared) else {
            return Ok(());
        };
        self.places.is_local = true;
        self.group(page, group, false);
        if page.family() == Family::Rust && matches!(group.kind, Kind::Parameter | Kind::Variable) {
            lookup::compared(world, page, group, &mut self.refusal)?;
        }
        foreign::read_back(world, (page, group), &mut self.refusal)?;
        if let Reach::Named(owner) = &group.reach {
            argument::judge(world, (page, owner), (&mut self.places, &mut self.refusal))?;
            lookup::examples(world, self.comments, &mut self.refusal)?;
        }
        Ok(())
    }

    /// Adds a binding. `is_linked` says that the imported thing itself is renamed.
    fn group(&mut self, page: &Page, group: &Group, is_linked: bool) {
        if let Some(obstacle) = &group.obstacle {
            match obstacle.is_unclear {
                true => self.refusal.add(page, obstacle.at, (TAKEN, &obstacle.reason)),
                false => self.refusal.add_lasting(page, obstacle.at, (TAKEN, &obstacle.reason)),
            }
        }
        self.places.homes.insert((page.path.to_string(), group.declared));
        for site in &group.sites {
            let form = if is_linked && site.form == Form::Import { Form::Plain } else { site.form };
            self.places.add(&page.path, &site.range, form);
        }
    }

    /// Refuses strings that are the name, by which code may look for it.
    fn texts(&mut self, home: (&Page, &Group)) -> Result<(), Error> {
        let world = self.world;
        let is_kept = |page: &&Page| page.family() == Family::Python && !(self.strings && page.is_target);
        let pages: Vec<&Page> = world.pages()?.filter(is_kept).collect();
        let has_texts = pages.iter().any(|page| lookup::texts(page, true).next().is_some());
        let is_sought = has_texts && lookup::may_look_up(world, home)?;
        for page in pages {
            for token in lookup::texts(page, is_sought) {
                let is_certain = lookup::is_certain(world, (page, token), Some(&home.0.path))?;
                self.refusal.add_lasting_string(page, token, is_certain);
            }
        }
        lookup::examples(world, self.comments, &mut self.refusal)?;
        for path in lookup::building(world, Family::Python)? {
            self.refusal.add_file(&path, (UNKNOWN, lookup::BUILT))?;
        }
        Ok(())
    }

    /// A binding that other files name.
    fn shared(&mut self, path: &str) -> Result<(), Error> {
        let world = self.world;
        let home = page(world, path)?;
        let own = facts(world, home)?;
        let Some(group) = own.groups.iter().find(|group| matches!(group.reach, Reach::Exported | Reach::Global)) else {
            self.refusal.add(home, first(world, path), (UNKNOWN, "its declaration is not at the top of a file"));
            return Ok(());
        };
        self.group(home, group, true);
        if own.groups.iter().filter(|other| other.reach == group.reach).count() > 1 {
            self.refusal.add(home, group.declared, (MEANING, "its file declares it more than once"));
        }
        let family = home.family();
        if own.exports.contains_key(world.change.to) {
            self.refusal.add_lasting(home, group.declared, (TAKEN, "its file exports the new name already"));
        }
        match family {
            Family::Python => self.texts((home, group))?,
            Family::Script => {
                self.stars(home)?;
                lookup::documented(world, self.comments, &mut self.refusal)?;
            }
            Family::Rust => lookup::named_by_texts(world, self.comments, &mut self.refusal)?,
            Family::Go => lookup::tied(world, home, &mut self.refusal)?,
            Family::Java | Family::Other(_) => {}
        }
        lookup::collected(world, (home, group), &mut self.refusal);
        foreign::read_back(world, (home, group), &mut self.refusal)?;
        let is_global = group.reach == Reach::Global;
        foreign::judge(world, (home, is_global, self.mentions), (&mut self.places, &mut self.refusal))?;
        // Python and Rust pass on what they import, so that more files may name it then.
        let mut homes = BTreeSet::from([path.to_owned()]);
        loop {
            let before = homes.len();
            // A file may name what it declares by its own module.
            for page in world.pages()?.filter(|page| page.family() == family) {
                self.other(page, (home, group), &mut homes)?;
            }
            self.passed_on(family, &mut homes)?;
            if homes.len() == before || family == Family::Script {
                break;
            }
        }
        let shared =
            Shared { world, home, homes: &homes, is_global, passed_on: OnceCell::new(), values: OnceCell::new() };
        shared.judge_world((home, group), &mut self.refusal)?;
        for page in world.pages()?.filter(|page| page.family() == family) {
            let renamed = self.places.code.get(page.path.as_str());
            let is_renamed = |at: usize| renamed.is_some_and(|renamed| renamed.contains_key(&at));
            shared.judge(page, is_renamed, &mut self.refusal)?;
        }
        Ok(())
    }

    /// Adds the files of Python and Rust that pass on everything of a home.
    fn passed_on(&mut self, family: Family, homes: &mut BTreeSet<String>) -> Result<(), Error> {
        let world = self.world;
        let is_wanted =
            |path: &&str| matches!(family, Family::Python | Family::Rust) && Family::of_path(path) == Some(family);
        for star in world.stars()?.into_iter().filter(is_wanted) {
            let facts = if homes.contains(star) { None } else { world.facts(star, world.change.from) };
            for module in facts.iter().flat_map(|facts| &facts.stars) {
                let origin = Origin { module: module.clone(), name: String::new() };
                let end = link::follow(world, star, &origin)?;
                if matches!(end, End::File(file) if homes.contains(&file)) {
                    homes.insert(star.to_owned());
                }
            }
        }
        Ok(())
    }

    /// Refuses if a module that exports everything of the home would export two things of the new name.
    fn stars(&mut self, home: &Page) -> Result<(), Error> {
        let world = self.world;
        for star in world.stars()?.into_iter().filter(|path| Family::of_path(path) == Some(Family::Script)) {
            let leads = link::exported(world, End::File(star.to_owned()), world.change.from)?
                == End::File(home.path.to_string());
            let is_taken =
                leads && link::exported(world, End::File(star.to_owned()), world.change.to)? != End::Elsewhere;
            if is_taken {
                let at = first(world, &home.path);
                let reason = format!("`{star}` exports everything of its file, and may export the new name already");
                self.refusal.add_lasting(home, at, (TAKEN, &reason));
            }
        }
        Ok(())
    }

    /// Adds the places of another file.
    fn other(&mut self, page: &Page, home: (&Page, &Group), homes: &mut BTreeSet<String>) -> Result<(), Error> {
        let world = self.world;
        let facts = match &page.facts {
            Ok(facts) => facts,
            Err(reason) => {
                if let Some(token) = page.tokens.iter().find(|token| token.class == Class::Code) {
                    self.refusal.add(page, token.range.start, (UNKNOWN, reason));
                }
                return Ok(());
            }
        };
        let linked = |search: &mut Self, at: usize, end: End| match end {
            End::File(file) => homes.contains(&file) || page.family() == Family::Go && folder(&home.0.path) == file,
            End::Elsewhere => false,
            End::Unknown => {
                search.refusal.add(page, at, (UNKNOWN, "the module that it comes from is not certain"));
                false
            }
        };
        let is_home_itself = page.path == home.0.path;
        let mut is_home = false;
        let package = home.0.facts.as_ref().ok().and_then(|facts| facts.package.as_deref());
        for group in &facts.groups {
            if group.reach == Reach::Exported && is_same_package(home.0, page, package) && !is_home_itself
                || group.reach == Reach::Global && home.1.reach == Reach::Global && !is_home_itself
            {
                self.refusal.add(
                    page,
                    group.declared,
                    (MEANING, "its package or its program declares it more than once"),
                );
            }
            let Reach::Imported(origin) = &group.reach else { continue };
            let end = self.end(page, &origin.module, link::follow(world, &page.path, origin)?, home.0);
            if linked(self, group.declared, end) {
                self.group(page, group, true);
                is_home = true;
            }
        }
        for loose in &facts.loose {
            let at = loose.range.start;
            if let Meaning::Through(origin, form) = &loose.meaning {
                let end = self.end(page, &origin.module, link::follow(world, &page.path, origin)?, home.0);
                if linked(self, at, end) {
                    self.through(page, loose, (&origin.module, *form))?;
                }
            } else if !is_home_itself {
                is_home |= self.loose(page, loose, home, homes)?;
            }
        }
        if is_home && matches!(page.family(), Family::Python | Family::Rust) {
            homes.insert(page.path.to_string());
        }
        Ok(())
    }

    /// Adds a place that names the thing as a member of its module.
    fn through(&mut self, page: &Page, loose: &Loose, (module, form): (&str, Form)) -> Result<(), Error> {
        let (world, at) = (self.world, loose.range.start);
        self.places.add(&page.path, &loose.range, form);
        if page.family() == Family::Python && link::is_hidden(world, &page.path, module)? {
            self.refusal.add(page, at, (UNKNOWN, "its package binds the name of the module again"));
        }
        if page.family() == Family::Go && world.change.to.starts_with(|c: char| !c.is_uppercase()) {
            let what = (TAKEN, "another package uses it, which can't see the new name");
            self.refusal.add_lasting(page, at, what);
        }
        Ok(())
    }

    /// The end of a way in Java, whose packages are no files.
    fn end(&self, page: &Page, module: &str, end: End, home: &Page) -> End {
        if page.family() != Family::Java {
            return end;
        }
        let package = home.facts.as_ref().ok().and_then(|facts| facts.package.as_deref());
        if package == Some(module) { End::File(home.path.to_string()) } else { End::Elsewhere }
    }

    /// Judges a place of another file that its imports do not explain; true if its file passes the thing on.
    fn loose(
        &mut self,
        page: &Page,
        loose: &Loose,
        (home, group): (&Page, &Group),
        homes: &BTreeSet<String>,
    ) -> Result<bool, Error> {
        let world = self.world;
        let at = loose.range.start;
        let (own, other) = (home.facts.as_ref(), page.facts.as_ref());
        let (Ok(own), Ok(other)) = (own, other) else { return Ok(false) };
        match &loose.meaning {
            Meaning::Free => {
                let is_seen = match page.family() {
                    Family::Script => group.reach == Reach::Global,
                    Family::Go | Family::Java => {
                        is_same_package(home, page, own.package.as_deref())
                            || self.takes_all(page, other, home, homes)?
                    }
                    Family::Python | Family::Rust => self.takes_all(page, other, home, homes)?,
                    Family::Other(_) => false,
                };
                if is_seen {
                    self.places.add(&page.path, &loose.range, Form::Plain);
                    if let Some(taken) = other.taken {
                        let what = (TAKEN, "the new name is in use in a file that names it");
                        self.refusal.add_lasting(page, taken, what);
                    }
                }
                Ok(is_seen)
            }
            Meaning::Unclear(reason) if page.family() != Family::Python || !reason.contains("module") => {
                self.refusal.add(page, at, (UNKNOWN, reason));
                Ok(false)
            }
            Meaning::Member | Meaning::Of(_) if page.family() == Family::Script => {
                for module in &other.loaded {
                    let end =
                        if module.is_empty() { End::Unknown } else { link::script_module(world, &page.path, module)? };
                    let end = link::exported(world, end, world.change.from)?;
                    if end == End::File(home.path.to_string()) || end == End::Unknown {
                        let reason = "its file loads modules as values, so that it may be a member of one";
                        self.refusal.add(page, at, (UNKNOWN, reason));
                    }
                }
                Ok(false)
            }
            Meaning::Member | Meaning::Of(_) | Meaning::Keyword(_) | Meaning::Through(..) | Meaning::Unclear(_) => {
                Ok(false)
            }
        }
    }

    /// True if a file takes everything of a module that has the thing.
    fn takes_all(&mut self, page: &Page, facts: &Facts, home: &Page, homes: &BTreeSet<String>) -> Result<bool, Error> {
        for module in &facts.stars {
            let origin = Origin { module: module.clone(), name: String::new() };
            let end = self.end(page, module, link::follow(self.world, &page.path, &origin)?, home);
            match end {
                End::File(file) if homes.contains(&file) => return Ok(true),
                End::File(of) if page.family() == Family::Go && of == folder(&home.path) => {
                    return Ok(true);
                }
                End::File(_) | End::Elsewhere => {}
                End::Unknown => {
                    let at = facts.loose.first().map_or(0, |loose| loose.range.start);
                    self.refusal.add(page, at, (UNKNOWN, "its file takes everything of a module that may have it"));
                }
            }
        }
        Ok(false)
    }
}
