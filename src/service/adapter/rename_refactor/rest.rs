//! Evidence for places that keep their name: each has its own declaration, or an import from outside the workspace.
//!
//! An import that cannot be resolved is not evidence. It refuses the rename, with and without a position.

use std::{cell::OnceCell, collections::BTreeSet};

use super::{
    link, lookup,
    manifest::folder,
    page::{Family, Page},
    places::End,
    refusal::Refusal,
    world::World,
};
use base::{error::Error, language::Language, path::RepoPath};
use format::{
    code::tree,
    name::{
        facts::{Export, Facts, Form, Group, Kind, Meaning, Origin, Reach, SEVERAL_WAYS},
        script,
        token::{Class, Token},
        value,
    },
};

const UNKNOWN: &str = "unknown";

const NO_DECLARATION: &str = "the module that it comes from does not declare it, so that its meaning is not certain";
const LOADED: &str = "its file loads modules as values, so that it may be a member of one";
const AUGMENTED: &str = "its file adds declarations to a module that may be this one";
const NAMESPACE: &str = "it may be a member of a module that is passed on as a value";

/// The longest way of an import from file to file.
const LONGEST: usize = 16;

/// A thing that other files name, and the files that pass it on.
pub(super) struct Shared<'w, 'a> {
    pub(super) world: &'w World<'a>,
    pub(super) home: &'w Page,
    pub(super) homes: &'w BTreeSet<String>,
    /// True if a file uses a home as a value, so that any object may have the symbol as a member.
    pub(super) passed_on: OnceCell<bool>,
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
                Meaning::Of(origin) => self.of_member(&page.path, origin, 0)?,
                Meaning::Unclear(reason) if page.family() == Family::Script => Some(*reason),
                Meaning::Member => self.is_passed_on(page.family())?.then_some(NAMESPACE),
                Meaning::Free | Meaning::Keyword(_) | Meaning::Unclear(_) => None,
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
        if page.family() == Family::Script
            && !names.is_empty()
            && self.is_loaded(&page.path, &facts.loaded, &mut BTreeSet::new())?
        {
            names.iter().for_each(|token| refusal.add_lasting(page, token.range.start, (UNKNOWN, lookup::NAMED)));
        }
        Ok(())
    }

    fn is_passed_on(&self, family: Family) -> Result<bool, Error> {
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

    fn is_passed_on_in_scripts(&self) -> Result<bool, Error> {
        let change = self.world.change;
        let read = self.world.map_files(Family::Script, &|path: &RepoPath, bytes: &[u8]| {
            let text = std::str::from_utf8(bytes).ok().filter(|text| text.contains("as "));
            Ok(text.and_then(|text| script::facts(path, text, change, &[]).ok()).map(|facts| facts.passed))
        })?;
        for (path, modules) in read {
            if self.is_loaded(&path, &modules.unwrap_or_default(), &mut BTreeSet::new())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_passed_on_in_python(&self) -> Result<bool, Error> {
        let world = self.world;
        let stems: Vec<&str> = self.homes.iter().filter_map(|home| module_name(home)).collect();
        let read = world.map_files(Family::Python, &|_: &RepoPath, bytes: &[u8]| {
            let may_name = |text: &&str| stems.iter().any(|stem| text.contains(stem));
            let Some(text) = std::str::from_utf8(bytes).ok().filter(may_name) else { return Ok(Vec::new()) };
            let tree = tree::parse(Language::Python, text, &|| world.deadline.check(world.ctx))?;
            Ok(value::modules(&tree, text))
        })?;
        let mut found = false;
        for (path, module) in read.iter().flat_map(|(path, modules)| modules.iter().map(move |module| (path, module))) {
            let origin = Origin { module: module.clone(), name: String::new() };
            found |= matches!(link::follow(world, path, &origin)?, End::File(file) if self.homes.contains(&file));
        }
        Ok(found)
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
        if !matches!(family, Family::Go | Family::Python | Family::Rust) {
            return Ok(None);
        }
        let (mut path, mut origin) = (page.path.to_string(), origin.clone());
        for _ in 0..LONGEST {
            // A module that is not certain is refused where its places are added.
            let End::File(file) = link::follow(self.world, &path, &origin)? else { return Ok(None) };
            if family == Family::Go {
                let is_home = |page: &&Page| page.family() == Family::Go && folder(&page.path) == file;
                let is_declared = self.world.pages()?.filter(is_home).any(|page| exports(page.facts.as_ref().ok()));
                return Ok((!is_declared).then_some(NO_DECLARATION));
            }
            let facts = self.world.facts(&file, &origin.name);
            if exports(facts.as_deref()) || link::is_module(self.world, &path, &origin)? {
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
            let star = Origin { module: module.clone(), name: String::new() };
            if link::follow(self.world, file, &star)? == End::Elsewhere {
                return Ok(None);
            }
        }
        Ok(Some(NO_DECLARATION))
    }

    /// The reason that an imported thing may be a module with the thing as a member.
    fn of_member(&self, from: &str, origin: &Origin, depth: usize) -> Result<Option<&'static str>, Error> {
        let module = link::script_module(self.world, from, &origin.module)?;
        let file = match link::exported(self.world, module, &origin.name)? {
            End::File(file) if depth < LONGEST => file,
            End::Elsewhere => return Ok(None),
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
            Some(Export::Own) => Ok(facts.groups.iter().any(|group| group.kind == Kind::Import).then_some(NAMESPACE)),
            None => Ok(None),
        }
    }

    /// True if one of some modules, loaded as a value, may have the thing as a member.
    fn is_loaded(&self, from: &str, modules: &[String], seen: &mut BTreeSet<String>) -> Result<bool, Error> {
        for module in modules {
            let end = if module.is_empty() { End::Unknown } else { link::script_module(self.world, from, module)? };
            let End::File(file) = &end else {
                if end == End::Unknown {
                    return Ok(true);
                }
                continue;
            };
            let exported = link::exported(self.world, end.clone(), self.world.change.from)?;
            let is_home = |end: &End| matches!(end, End::File(file) if self.homes.contains(file));
            if is_home(&end) || is_home(&exported) || exported == End::Unknown {
                return Ok(true);
            }
            // A module of the older kind may pass on what it loads.
            let passes_on = |text: String| text.contains("exports") && text.contains("require");
            if seen.insert(file.clone()) && self.world.text(file).is_some_and(passes_on) {
                let facts = self.world.facts(file, self.world.change.from);
                let loaded = facts.map(|facts| facts.loaded.clone()).unwrap_or_default();
                let known: Vec<String> = loaded.into_iter().filter(|module| module.starts_with('.')).collect();
                if self.is_loaded(file, &known, seen)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The name of a module of Python, from its path.
fn module_name(path: &str) -> Option<&str> {
    let stem = path.strip_suffix(".py")?;
    stem.strip_suffix("/__init__").unwrap_or(stem).rsplit('/').next()
}

fn exports(facts: Option<&Facts>) -> bool {
    facts.is_some_and(|facts| facts.groups.iter().any(|group| group.reach == Reach::Exported))
}
