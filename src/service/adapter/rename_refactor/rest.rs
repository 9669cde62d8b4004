//! Evidence for places that keep their name: each has its own declaration, or an import from outside the workspace.
//!
//! An import that cannot be resolved is not evidence. It refuses the rename, with and without a position.

use std::{cell::OnceCell, collections::BTreeSet};

use super::{
    link, lookup,
    manifest::{folder, joined},
    page::{Family, Page},
    places::End,
    refusal::{Refusal, TAKEN, UNKNOWN},
    world::{Source, World},
};
use base::{error::Error, path::RepoPath};
use format::name::{
    built,
    facts::{Export, Facts, Form, Group, Kind, Meaning, Origin, Reach, SEVERAL_WAYS},
    script,
    token::{Class, Token},
    value, word,
};

const NO_DECLARATION: &str = "the module that it comes from does not declare it, so that its meaning is not certain";
const LOADED: &str = "its file loads modules as values, so that it may be a member of one";
const AUGMENTED: &str = "its file adds declarations to a module that may be this one";
const ADDS: &str = "it adds declarations to a module that may be this one, and has the new name";
const HIDES: &str = "it takes everything of the file, and the new name means another thing there";
const INDEXED: &str = "it computes names of the module's members";
const TAKES_ALL: &str = "its file takes everything of a module that may have the new name";
const LEFT_OUT: &str = "imports of everything leave out names that begin with `_`";
const OF_GLOBAL: &str = "it is a member of the global object";
const NAMESPACE: &str = "it may be a member of a module that is passed on as a value";

/// The longest way of an import from file to file.
const LONGEST: usize = 16;

/// A thing that other files name, and the files that pass it on.
pub(super) struct Shared<'w, 'a> {
    pub(super) world: &'w World<'a>,
    pub(super) home: &'w Page,
    pub(super) homes: &'w BTreeSet<String>,
    /// True if every file of the program may name it.
    pub(super) is_global: bool,
    /// True if a file uses a home as a value, so that any object may have the symbol as a member.
    pub(super) passed_on: OnceCell<bool>,
    /// The scripts that may use modules as values.
    pub(super) values: OnceCell<Vec<(RepoPath, Facts)>>,
}

impl Shared<'_, '_> {
    /// Refuses the rename if a place of the file keeps its name without evidence.
    pub(super) fn judge(
        &self,
        page: &Page,
        is_renamed: impl Fn(usize) -> bool,
        refusal: &mut Refusal,
    ) -> Result<(), Error> {
        let Ok(facts) = &page.facts else { return Ok(()) };
        for group in facts.groups.iter().filter(|group| !is_renamed(group.declared)) {
            if let Some(reason) = self.of_group(page, facts, group)? {
                refusal.add(page, group.declared, (UNKNOWN, reason));
            }
        }
        for loose in facts.loose.iter().filter(|loose| !is_renamed(loose.range.start)) {
            let doubt = match &loose.meaning {
                Meaning::Through(origin, _) => self.of_import(page, origin)?,
                Meaning::Of(origin) if origin.module == script::GLOBAL => self.is_global.then_some(OF_GLOBAL),
                Meaning::Of(origin) if origin.module == script::OWN => None,
                Meaning::Of(origin) => self.of_member(&page.path, origin, 0)?,
                Meaning::Unclear(reason) if page.family() == Family::Script => Some(*reason),
                // A module has what it exports, and no global thing.
                Meaning::Member if self.is_global => None,
                Meaning::Member => self.is_passed_on(page.family())?.then_some(NAMESPACE),
                Meaning::Keyword(called) if called.name == "multiple" => Some("`patch.multiple` names members so"),
                Meaning::Free | Meaning::Key(_) | Meaning::Keyword(_) | Meaning::Unclear(_) => None,
            };
            if let Some(reason) = doubt {
                refusal.add(page, loose.range.start, (UNKNOWN, reason));
            }
        }
        self.of_texts(page, facts, refusal)
    }

    /// Refuses strings that equal the name, in a script that uses a home as a value.
    fn of_texts(&self, page: &Page, facts: &Facts, refusal: &mut Refusal) -> Result<(), Error> {
        let is_name = |token: &&Token| {
            let around = page.text[token.around.clone()].trim_matches(['"', '\'', '`']);
            token.class == Class::Strings && around == self.world.change.from
        };
        let names: Vec<&Token> = page.tokens.iter().filter(is_name).collect();
        let is_called = |token: &&Token| token.class == Class::Strings && page.text[token.range.end..].starts_with('(');
        for token in page.tokens.iter().filter(|_| self.is_global).filter(is_called) {
            refusal.add_lasting(page, token.range.start, (UNKNOWN, "a string may be code that calls it"));
        }
        if page.family() == Family::Script
            && !names.is_empty()
            && self.is_loaded(&page.path, &facts.loaded, &mut BTreeSet::new())?
        {
            names.iter().for_each(|token| refusal.add_lasting_string(page, token, false));
        }
        Ok(())
    }

    /// True if any object may have the symbol as a member, since code has a home as a value or a text names it.
    pub(super) fn is_passed_on(&self, family: Family) -> Result<bool, Error> {
        if let Some(known) = self.passed_on.get() {
            return Ok(*known);
        }
        let found = match family {
            Family::Python => self.is_passed_on_in_python()?,
            Family::Script => self.is_passed_on_in_scripts()?,
            Family::Go | Family::Java | Family::Rust | Family::Other(_) => false,
        };
        Ok(*self.passed_on.get_or_init(|| found))
    }

    /// True if code of Python looks up members of a home, or variables of its callers, by names that it may read from data.
    pub(super) fn is_looked_up(&self) -> Result<bool, Error> {
        let sought = built::Sought { name: self.world.change.from, of_values: true, has_name: false };
        let family = self.home.family();
        let is_read = || Ok::<_, Error>(!lookup::reading(self.world, self.home, "f_globals")?.is_empty());
        let is_looked_up = || Ok::<_, Error>(self.is_passed_on(family)? && lookup::computes(self.world, sought)?);
        Ok(family == Family::Python && (is_looked_up()? || is_read()?))
    }

    /// Refuses for files that need not hold the name.
    pub(super) fn judge_world(&self, (home, group): (&Page, &Group), refusal: &mut Refusal) -> Result<(), Error> {
        match home.family() {
            Family::Python => self.of_stars((home, group), refusal),
            Family::Script if !self.is_global => {
                self.twins(home, group.declared, refusal)?;
                let is_erased = group.kind == Kind::Type && !declares(&home.text, group, RUNTIME);
                for (path, facts) in self.values()?.iter().filter(|_| !is_erased) {
                    if self.is_loaded(path, &facts.indexed, &mut BTreeSet::new())? {
                        refusal.add_file(path, (UNKNOWN, INDEXED))?;
                    }
                }
                self.of_added(home, refusal)
            }
            Family::Go | Family::Java | Family::Rust | Family::Script | Family::Other(_) => Ok(()),
        }
    }

    /// Refuses files that have the new name and add declarations to a home, which would mean the renamed thing.
    fn of_added(&self, home: &Page, refusal: &mut Refusal) -> Result<(), Error> {
        let is_other = |path: &&str| Family::of_path(path) == Some(Family::Script) && *path != home.path.as_str();
        for path in self.world.taken_files()?.into_iter().filter(is_other) {
            let facts = self.world.facts(path, self.world.change.to);
            let augmented = facts.map(|facts| facts.augmented.clone()).unwrap_or_default();
            if self.is_loaded(path, &augmented, &mut BTreeSet::new())? {
                refusal.add_file(path, (TAKEN, ADDS))?;
            }
        }
        Ok(())
    }

    /// Refuses if programs may take another file for the home, which exports the name too.
    fn twins(&self, home: &Page, declared: usize, refusal: &mut Refusal) -> Result<(), Error> {
        let world = self.world;
        for twin in link::twins(world.paths()?, &home.path) {
            // An older module exports by an assignment.
            let has_it = world.page(twin).is_some_and(Page::is_in_code)
                || link::exported(world, End::File(twin.clone()), world.change.from)? != End::Elsewhere;
            if has_it {
                let reason = format!("`{twin}` has it too, and programs may take that file for this one");
                refusal.add(home, declared, (UNKNOWN, &reason));
            }
        }
        Ok(())
    }

    /// Refuses if files that take everything of a home would miss the new name, or would lose another thing by it.
    fn of_stars(&self, (home, group): (&Page, &Group), refusal: &mut Refusal) -> Result<(), Error> {
        let (from, to) = (self.world.change.from, self.world.change.to);
        let stars = self.world.stars()?;
        for module in home.facts.iter().flat_map(|facts| &facts.stars) {
            let taken = match link::module(self.world, &home.path, module)? {
                End::File(file) => self.world.facts(&file, to).is_none_or(|facts| {
                    let is_top = |group: &Group| matches!(group.reach, Reach::Exported | Reach::Imported(_));
                    facts.groups.iter().any(is_top) || !facts.stars.is_empty()
                }),
                End::Elsewhere | End::Unknown => true,
            };
            if taken {
                refusal.add_lasting(home, group.declared, (TAKEN, TAKES_ALL));
            }
        }
        for path in self.homes.iter().filter(|path| stars.contains(&path.as_str()) && **path != *home.path) {
            let is_python = home.family() == Family::Python;
            if is_python && from.starts_with('_') != to.starts_with('_') && !home.text.contains("__all__") {
                refusal.add_lasting(home, group.declared, (TAKEN, LEFT_OUT));
            }
            let facts = self.world.facts(path, to);
            let is_taken = facts.is_none_or(|facts| {
                let is_top = |group: &Group| matches!(group.reach, Reach::Exported | Reach::Imported(_));
                facts.groups.iter().any(is_top) || facts.loose.iter().any(|loose| loose.meaning == Meaning::Free)
            });
            if is_taken {
                refusal.add_file(path, (TAKEN, HIDES))?;
            }
        }
        Ok(())
    }

    /// The scripts that may use modules as values.
    fn values(&self) -> Result<&[(RepoPath, Facts)], Error> {
        if let Some(known) = self.values.get() {
            return Ok(known);
        }
        let change = self.world.change;
        let read = self.world.map_files(Family::Script, &|file| {
            Ok(if may_hold(file.text) { script::facts(file.path, file.text, change, &[]).ok() } else { None })
        })?;
        Ok(self.values.get_or_init(|| read.into_iter().filter_map(|(path, facts)| Some((path, facts?))).collect()))
    }

    fn is_passed_on_in_scripts(&self) -> Result<bool, Error> {
        for (path, facts) in self.values()? {
            if self.is_loaded(path, &facts.passed, &mut BTreeSet::new())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_passed_on_in_python(&self) -> Result<bool, Error> {
        let world = self.world;
        let stems: Vec<&str> = self.homes.iter().filter_map(|home| module_name(home)).collect();
        let is_stem = |word: &&str| stems.contains(word);
        let paths = self.module_paths()?;
        let packages: BTreeSet<&str> = self.homes.iter().flat_map(|home| folder(home).split('/')).collect();
        let read = world.map_files(Family::Python, &|file| {
            let text = file.text;
            let (any, is_named) = (loads_any(text), is_named(text, &is_stem));
            let is_path = paths.iter().any(|path| text.contains(path));
            let mut loads = Loads { modules: Vec::new(), any, is_named, is_path };
            if stems.iter().chain(&packages).any(|name| !name.is_empty() && text.contains(name)) {
                loads.modules = value::modules(&file.tree()?, text);
            }
            Ok(loads)
        })?;
        let has = |mark: fn(&Loads) -> bool| read.iter().any(|(_, loads)| mark(loads));
        let mut found = has(|loads| loads.is_path) || has(|loads| loads.any) && has(|loads| loads.is_named);
        for (path, loads) in &read {
            for module in &loads.modules {
                // A package has its modules as members.
                let is_home = |file: &String| {
                    let package = file.strip_suffix("__init__.py");
                    self.homes.contains(file)
                        || package.is_some_and(|package| self.homes.iter().any(|home| home.starts_with(package)))
                };
                found |= matches!(link::module(world, path, module)?, End::File(file) if is_home(&file));
            }
        }
        Ok(found)
    }

    /// The homes as quoted paths of modules or files, by which a library may load them. A module outside of a package needs no dot.
    fn module_paths(&self) -> Result<Vec<String>, Error> {
        let paths = self.world.paths()?;
        let mut all = Vec::new();
        for home in self.homes {
            let path = home.strip_suffix(".py").unwrap_or(home);
            let path = path.strip_suffix("/__init__").unwrap_or(path);
            let is_packed = paths.contains(&joined(folder(path), "__init__.py").unwrap_or_default());
            let parts: Vec<&str> = path.split('/').collect();
            for begin in 0..parts.len() - usize::from(is_packed) {
                let path = parts[begin..].join(".");
                all.extend(['"', '\''].map(|quote| format!("{quote}{path}{quote}")));
            }
            let file = home.rsplit('/').next().unwrap_or(home);
            for (begin, end) in [('"', '"'), ('\'', '\''), ('/', '"'), ('/', '\'')] {
                all.push(format!("{begin}{file}{end}"));
            }
        }
        Ok(all)
    }

    /// Refuses modules of Python with the new name, and files that put other modules in the place of a home, or that read its text.
    pub(super) fn of_modules(&self, home: &Page, refusal: &mut Refusal) -> Result<(), Error> {
        let (names, paths) = (self.module_paths()?, self.world.paths()?);
        let to = self.world.change.to;
        for package in self.homes.iter().filter_map(|home| home.strip_suffix("__init__.py")) {
            let (file, below) = (format!("{package}{to}.py"), format!("{package}{to}/"));
            if paths.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below)) || paths.contains(&file)
            {
                refusal.add_lasting(home, 0, (TAKEN, "its package has a module of the new name"));
            }
        }
        let read = self.world.map_files(Family::Python, &|Source { text, .. }| {
            let mut named = names.iter().filter(|name| text.contains(name.as_str())).peekable();
            let is_replaced = text.contains("sys.modules") && named.peek().is_some();
            Ok((is_replaced, named.any(|name| name.contains(".py"))))
        })?;
        for (path, (is_replaced, is_read)) in read {
            if is_replaced {
                refusal.add_file(&path, (UNKNOWN, "it may replace the module in `sys.modules`"))?;
            }
            let page = self.world.page(&path).filter(|_| is_read);
            let strings = page.into_iter().flat_map(|page| page.tokens.iter().map(move |token| (page, token)));
            for (page, token) in strings.filter(|(_, token)| token.class == Class::Strings) {
                let what = "a string contains it in a file that names the declaring file";
                refusal.add_text(page, token.range.start, what);
            }
        }
        Ok(())
    }

    fn of_group(&self, page: &Page, facts: &Facts, group: &Group) -> Result<Option<&'static str>, Error> {
        let ways = group.obstacle.as_ref().filter(|obstacle| obstacle.reason == SEVERAL_WAYS);
        if ways.is_some() && !matches!(group.reach, Reach::Local | Reach::Named(_)) {
            return Ok(Some(SEVERAL_WAYS));
        }
        if let Reach::Imported(origin) = &group.reach {
            return self.of_import(page, origin);
        }
        let is_taken_out =
            group.sites.iter().any(|site| site.range.start == group.declared && site.form == Form::Member);
        if is_taken_out && self.is_loaded(&page.path, &facts.loaded, &mut BTreeSet::new())? {
            return Ok(Some(LOADED));
        }
        let is_own = page.path == self.home.path;
        Ok((!is_own && self.is_loaded(&page.path, &facts.augmented, &mut BTreeSet::new())?).then_some(AUGMENTED))
    }

    /// The reason that an import may lead to the thing; none if it leads to another declaration, or out of the workspace.
    fn of_import(&self, page: &Page, origin: &Origin) -> Result<Option<&'static str>, Error> {
        let family = page.family();
        if !matches!(family, Family::Go | Family::Python) {
            return Ok(None);
        }
        let (mut path, mut origin) = (page.path.to_string(), origin.clone());
        for _ in 0..LONGEST {
            // A module that is not certain is refused where its places are added.
            let End::File(file) = link::follow(self.world, &path, &origin)? else { return Ok(None) };
            if family == Family::Go {
                let is_home = |page: &&Page| page.family() == Family::Go && folder(&page.path) == file;
                let is_declared = self.world.pages()?.filter(is_home).any(Page::exports);
                return Ok((!is_declared).then_some(NO_DECLARATION));
            }
            let facts = self.world.facts(&file, &origin.name);
            if facts.as_ref().is_some_and(|facts| facts.has_exported()) || link::is_module(self.world, &path, &origin)?
            {
                return Ok(None);
            }
            let next = facts.as_ref().and_then(|facts| {
                facts.groups.iter().find_map(|group| match &group.reach {
                    Reach::Imported(origin) => Some(origin.clone()),
                    _ => None,
                })
            });
            let Some(next) = next else { return self.of_star(&file, facts.as_deref()) };
            (path, origin) = (file, next);
        }
        Ok(Some(NO_DECLARATION))
    }

    /// The reason against a file that does not declare an imported name, unless it may come from outside by a star import.
    fn of_star(&self, file: &str, facts: Option<&Facts>) -> Result<Option<&'static str>, Error> {
        for module in facts.into_iter().flat_map(|facts| &facts.stars) {
            if link::module(self.world, file, module)? == End::Elsewhere {
                return Ok(None);
            }
        }
        Ok(Some(NO_DECLARATION))
    }

    /// The reason that an imported thing may be a module with the thing as a member.
    fn of_member(&self, from: &str, origin: &Origin, depth: usize) -> Result<Option<&'static str>, Error> {
        let module = link::script_module(self.world, from, &origin.module)?;
        if module == End::Elsewhere {
            return Ok(None);
        }
        let may_hold = || Ok(self.is_passed_on(Family::Script)?.then_some(NAMESPACE));
        let file = match link::exported(self.world, module, &origin.name)? {
            End::File(file) if depth < LONGEST => file,
            End::Elsewhere => return may_hold(),
            End::File(_) | End::Unknown => return Ok(Some(NAMESPACE)),
        };
        let Some(facts) = self.world.facts(&file, &origin.name) else { return Ok(Some(NAMESPACE)) };
        match facts.exports.get(&origin.name) {
            Some(Export::From(whole)) if whole.name == "*" => {
                let mut seen = BTreeSet::new();
                let is_home = self.is_loaded(&file, std::slice::from_ref(&whole.module), &mut seen)?;
                Ok(is_home.then_some(NAMESPACE))
            }
            Some(Export::From(next)) => self.of_member(&file, next, depth + 1),
            Some(Export::Own) if facts.groups.iter().any(|group| group.kind == Kind::Import) => Ok(Some(NAMESPACE)),
            // A class, a function or a namespace may get the members of a module.
            Some(Export::Own) if facts.groups.iter().any(|group| self.is_enumeration(&file, group)) => Ok(None),
            Some(Export::Own) | None => may_hold(),
        }
    }

    /// True if one of some modules, loaded as a value, may have the thing as a member.
    fn is_loaded(&self, from: &str, modules: &[String], seen: &mut BTreeSet<String>) -> Result<bool, Error> {
        for module in modules {
            if let Some(prefix) = module.strip_suffix(script::ANY) {
                if self.may_load(from, prefix, seen)? {
                    return Ok(true);
                }
                continue;
            }
            let end = link::script_module(self.world, from, module)?;
            let End::File(file) = &end else {
                if end == End::Unknown {
                    return Ok(true);
                }
                continue;
            };
            if self.may_pass_on(file, seen)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if a script may have the thing as a member.
    fn may_pass_on(&self, file: &str, seen: &mut BTreeSet<String>) -> Result<bool, Error> {
        let end = End::File(file.to_owned());
        let exported = link::exported(self.world, end.clone(), self.world.change.from)?;
        let is_home = |end: &End| matches!(end, End::File(file) if self.homes.contains(file));
        if is_home(&end) || is_home(&exported) || exported == End::Unknown {
            return Ok(true);
        }
        // A CommonJS module may pass on what it loads.
        if !seen.insert(file.to_owned()) || !self.world.text(file).is_some_and(|text| is_common(&text)) {
            return Ok(false);
        }
        let facts = self.world.facts(file, self.world.change.from);
        let loaded = facts.map(|facts| facts.loaded.clone()).unwrap_or_default();
        let known: Vec<String> = loaded.into_iter().filter(|module| module.starts_with('.')).collect();
        self.is_loaded(file, &known, seen)
    }

    /// True if a module whose path starts with `prefix` may have the thing as a member.
    fn may_load(&self, from: &str, prefix: &str, seen: &mut BTreeSet<String>) -> Result<bool, Error> {
        let is_near = prefix.starts_with('.');
        let base = if is_near { joined(folder(from), folder(prefix)) } else { None };
        let tail = prefix.split_once('/').map_or("", |(_, tail)| folder(tail));
        let stars = self.world.stars()?;
        let may_be = |path: &&String| match &base {
            Some(base) => base.is_empty() || path.starts_with(&format!("{base}/")),
            None => is_near || tail.is_empty() || format!("/{path}").contains(&format!("/{tail}/")),
        };
        let is_script = |path: &&String| Family::of_path(path) == Some(Family::Script);
        for path in self.world.paths()?.iter().filter(may_be).filter(is_script) {
            let has_star = || stars.contains(&path.as_str());
            let passes_on = || has_star() || self.world.text(path).is_some_and(|text| is_common(&text));
            if self.world.page(path).is_some() || passes_on() && self.may_pass_on(path, seen)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if a group of a script is an exported enumeration.
    fn is_enumeration(&self, file: &str, group: &Group) -> bool {
        let is_one =
            |text: String| declares(&text, group, &["enum"]) && !declares(&text, group, &["namespace", "module"]);
        group.reach == Reach::Exported && group.kind == Kind::Type && self.world.text(file).is_some_and(is_one)
    }
}

/// Words of TypeScript before the names of types that exist at run time.
const RUNTIME: &[&str] = &["enum", "module", "namespace"];

/// True if one of some words stands before a declaration of a group.
fn declares(text: &str, group: &Group, words: &[&str]) -> bool {
    let mut before = group.sites.iter().map(|site| text[..site.range.start].trim_end());
    before.any(|before| words.iter().any(|word| before.ends_with(word)))
}

/// True for the text of a CommonJS module that loads others.
fn is_common(text: &str) -> bool {
    text.contains("exports") && text.contains("require")
}

/// The modules of Python that a file uses as values.
struct Loads {
    modules: Vec<String>,
    /// True if it loads modules by names that are not string literals.
    any: bool,
    /// True if a string of it may name a home.
    is_named: bool,
    /// True if a string of it is the path of a home.
    is_path: bool,
}

/// True if Python code loads modules by names that are not string literals.
fn loads_any(text: &str) -> bool {
    ["import_module(", "__import__("].iter().any(|call| {
        let is_computed = |at: usize| !text[at + call.len()..].trim_start().starts_with(['"', '\'']);
        text.match_indices(call).any(|(at, _)| is_computed(at))
    })
}

/// True if a string of a text ends with the name of a home's module.
fn is_named(text: &str, is_stem: &dyn Fn(&&str) -> bool) -> bool {
    text.match_indices(['"', '\'']).any(|(end, _)| {
        let begin = text[..end].trim_end_matches(word::continues).len();
        begin < end && is_stem(&text.get(begin..end).unwrap_or_default())
    })
}

/// True if a script may use a module as a value.
fn may_hold(text: &str) -> bool {
    let is_namespace = |(at, _): (usize, &str)| text[at + 1..].trim_start().starts_with("as");
    text.contains("import(") || text.contains("require") || text.match_indices('*').any(is_namespace)
}

/// The name of a module of Python, from its path.
fn module_name(path: &str) -> Option<&str> {
    let stem = path.strip_suffix(".py")?;
    stem.strip_suffix("/__init__").unwrap_or(stem).rsplit('/').next()
}
