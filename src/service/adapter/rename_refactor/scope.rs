//! The places of one thing by the bindings of its language: those of its file, and those of other files that lead to it.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    argument, foreign, items, link,
    lookup::{self, Sought},
    manifest::folder,
    package,
    page::{Family, Page},
    params::{Params, Scope},
    places::{End, Places},
    reflect,
    refusal::{MEANING, OUTSIDE, Refusal, TAKEN, UNKNOWN},
    rest::Shared,
    script,
    thing::{Thing, at_place, facts, first, is_same_package, only, page},
    world::World,
};
use base::error::Error;
use format::name::{
    facts::{Facts, Form, Group, Loose, Meaning, Reach},
    script::OWN,
    token::Class,
};

/// The reason against a name that Python reads in other characters, or as a variable of a function's code.
const SPELLED: &str = "it runs code of functions, or writes the name with other characters";

/// The word of the record for this engine.
pub(super) const NAME: &str = "scope";

/// The places of the thing that the parameters name; none if there is none of that name.
pub(super) fn choose(world: &World<'_>, params: &Params) -> Result<Option<Places>, Error> {
    let thing = match &params.scope {
        Scope::Symbol { path, line, column } => at_place(world, (path, *line, *column))?,
        Scope::File { file } => only(world, Some(file))?,
        Scope::Glob(_) => only(world, None)?,
    };
    let Some(thing) = thing else { return Ok(None) };
    let mut search =
        Search { world, places: Places { engine: NAME, ..Places::default() }, refusal: Refusal::default(), params };
    match &thing {
        Thing::Own(path, declared) => search.own(path, *declared)?,
        Thing::Shared(path) => search.shared(path)?,
        Thing::Item(path, declared) => search.item(path, *declared)?,
    }
    let Search { places, mut refusal, .. } = search;
    let is_single = places.code.values().map(BTreeMap::len).sum::<usize>() == 1;
    let is_unused = is_single && world.change.from.starts_with('_') && !world.change.to.starts_with('_');
    for (path, declared) in &places.homes {
        let page = page(world, path)?;
        if is_unused && matches!(page.family(), Family::Rust | Family::Script) {
            let what = (TAKEN, "nothing uses it, and lints for unused code only pass names that begin with `_`");
            refusal.add_lasting(page, *declared, what);
        }
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

struct Search<'w, 'a> {
    world: &'w World<'a>,
    places: Places,
    refusal: Refusal,
    params: &'w Params,
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
        if page.family() == Family::Rust {
            lookup::compared(world, page, group, &mut self.refusal);
            self.read_again()?;
        }
        if page.family() == Family::Go {
            package::keys(world, path, &mut self.refusal)?;
        }
        reflect::read_back(world, (page, group), &mut self.refusal)?;
        if page.family() == Family::Python {
            self.refusal.add_files(lookup::spelled(world)?, (UNKNOWN, SPELLED))?;
            let reading = lookup::reading(world, page, "f_locals")?;
            self.refusal.add_files(reading, (UNKNOWN, "it reads the variables of its callers"))?;
        }
        if page.family() == Family::Script {
            script::judge(world, (page, group), (&self.places, &BTreeSet::new()), &mut self.refusal)?;
        }
        if group.kind.has_name() {
            self.foreign(page, &Reach::Local, &|| Ok(false))?;
        }
        if let Reach::Named(owner) = &group.reach {
            let is_called = argument::judge(world, (page, owner), (&mut self.places, &mut self.refusal))?;
            self.texts(page, if is_called { Sought::Called } else { Sought::Parameter })?;
        }
        Ok(())
    }

    /// Judges the files that no engine parses.
    fn foreign(&mut self, home: &Page, reach: &Reach, looks_up: foreign::LooksUp<'_>) -> Result<(), Error> {
        let done = (&mut self.places, &mut self.refusal);
        foreign::judge(self.world, (home, reach, self.params.mentions), looks_up, done)
    }

    /// Adds a binding. `is_linked` says that the imported thing itself is renamed.
    fn group(&mut self, page: &Page, group: &Group, is_linked: bool) {
        if let Some(obstacle) = &group.obstacle {
            self.refusal.add_obstacle(page, obstacle);
        }
        self.places.homes.insert((page.path.to_string(), group.declared));
        for site in &group.sites {
            if page.text[site.range.clone()] != *self.world.change.from {
                self.refusal.add_lasting(page, site.range.start, (UNKNOWN, "it writes the name with other characters"));
            }
            let form = if is_linked && site.form == Form::Import { Form::Plain } else { site.form };
            self.places.add(&page.path, &site.range, form);
        }
    }

    /// Refuses strings that are the name, by which code may look for it.
    fn texts(&mut self, home: &Page, sought: Sought) -> Result<(), Error> {
        let world = self.world;
        let is_kept = |page: &&Page| page.family() == Family::Python && !(self.params.strings && page.is_target);
        for page in world.pages()?.filter(is_kept) {
            for token in lookup::texts(page, sought) {
                let is_parameter = matches!(sought, Sought::Called | Sought::Parameter);
                let is_certain = !is_parameter && lookup::is_certain(world, (page, token), Some(&home.path))?;
                self.refusal.add_lasting_string(page, token, is_certain);
            }
        }
        lookup::examples(world, self.params.comments, &mut self.refusal)
    }

    /// A declaration of Rust, which has places wherever its module is known.
    fn item(&mut self, path: &str, declared: usize) -> Result<(), Error> {
        let world = self.world;
        let home = page(world, path)?;
        items::judge(world, (path, declared), (&mut self.places, &mut self.refusal))?;
        lookup::named_by_texts(world, self.params.comments, &mut self.refusal)?;
        self.foreign(home, &Reach::Exported, &|| Ok(false))?;
        foreign::generated(world, &mut self.refusal)?;
        self.read_again()
    }

    /// Refuses if Rust code would mean other things by the new name, or if its messages name the old one.
    fn read_again(&mut self) -> Result<(), Error> {
        items::read_again(self.world, &self.places, &mut self.refusal)?;
        items::macros(self.world, &self.places, &mut self.refusal)?;
        items::spelled(self.world, &self.places, &mut self.refusal)?;
        items::expanded(self.world, &self.places, &mut self.refusal)?;
        foreign::included(self.world, &mut self.refusal)?;
        lookup::asserted(self.world, &self.places, &mut self.refusal)
    }

    /// Refuses what names a thing of Python by a text, or by one that code builds.
    fn named(&mut self, home: (&Page, &Group), shared: &Shared<'_, '_>) -> Result<(), Error> {
        let world = self.world;
        let has_texts = |page: &Page| lookup::texts(page, Sought::InData).next().is_some();
        let has_texts = world.of_family(Family::Python)?.any(has_texts);
        let is_sought = has_texts && (lookup::may_look_up(world, home)? || shared.is_passed_on(Family::Python)?);
        self.texts(home.0, if is_sought { Sought::InData } else { Sought::InCode })?;
        let building = lookup::building(world, Family::Python, &BTreeSet::from([world.change.from.to_owned()]))?;
        self.refusal.add_files(building, (UNKNOWN, lookup::BUILT))?;
        lookup::chosen(world, &mut self.refusal)?;
        self.refusal.add_files(lookup::spelled(world)?, (UNKNOWN, SPELLED))?;
        let running = lookup::running(world, home.0, &self.places)?;
        let what = (UNKNOWN, "it reads names that modules export, or runs the file by its path");
        self.refusal.add_files(running, what)?;
        shared.of_modules(home.0, &mut self.refusal)
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
            Family::Script => {
                self.stars(home)?;
                lookup::documented(world, self.params.comments, &mut self.refusal)?;
            }
            Family::Go => package::judge(world, home, &mut self.refusal)?,
            Family::Java => self.members(home, group)?,
            Family::Other(_) | Family::Python | Family::Rust => {}
        }
        lookup::collected(world, (home, group), &mut self.refusal);
        reflect::read_back(world, (home, group), &mut self.refusal)?;
        reflect::shown(world, (home, group), &mut self.places)?;
        let is_global = group.reach == Reach::Global;
        // Python passes on what it imports, so that more files may name it then.
        let mut homes = BTreeSet::from([path.to_owned()]);
        loop {
            let before = homes.len();
            // A file may name what it declares by its own module.
            for page in world.of_family(family)? {
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
        self.foreign(home, &group.reach, &|| shared.is_looked_up())?;
        match family {
            Family::Python => self.named((home, group), &shared)?,
            Family::Script => script::judge(world, (home, group), (&self.places, &homes), &mut self.refusal)?,
            Family::Go | Family::Java | Family::Rust | Family::Other(_) => {}
        }
        for page in world.of_family(family)? {
            shared.judge(page, |at| self.places.has(&page.path, at), &mut self.refusal)?;
        }
        Ok(())
    }

    /// Refuses a new name that is in use in Java: a class that uses the old one may inherit a member of it.
    fn members(&mut self, home: &Page, group: &Group) -> Result<(), Error> {
        if self.world.taken_files()?.into_iter().any(|path| Family::of_path(path) == Some(Family::Java)) {
            let what = (TAKEN, "the new name is in use, and a class that uses this one may inherit it");
            self.refusal.add_lasting(home, group.declared, what);
        }
        Ok(())
    }

    /// Adds the files of Python that pass on everything of a home.
    fn passed_on(&mut self, family: Family, homes: &mut BTreeSet<String>) -> Result<(), Error> {
        let world = self.world;
        let is_wanted = |path: &&str| family == Family::Python && Family::of_path(path) == Some(family);
        for star in world.stars()?.into_iter().filter(is_wanted) {
            let facts = if homes.contains(star) { None } else { world.facts(star, world.change.from) };
            for module in facts.iter().flat_map(|facts| &facts.stars) {
                if matches!(link::module(world, star, module)?, End::File(file) if homes.contains(&file)) {
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
            let end = link::follow(world, &page.path, origin)?;
            if linked(self, group.declared, end) {
                self.group(page, group, true);
                is_home = true;
            }
        }
        for loose in &facts.loose {
            let at = loose.range.start;
            if let Meaning::Through(origin, form) = &loose.meaning {
                let end = link::follow(world, &page.path, origin)?;
                if linked(self, at, end) {
                    self.through(page, loose, (&origin.module, *form))?;
                }
            } else if !is_home_itself {
                is_home |= self.loose(page, loose, home, homes)?;
            }
        }
        if is_home && page.family() == Family::Python {
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
        self.hidden(page, at);
        Ok(())
    }

    /// Refuses a new name that another package of Go can't see.
    fn hidden(&mut self, page: &Page, at: usize) {
        if page.family() == Family::Go && !package::is_exported(self.world.change.to) {
            let what = (TAKEN, "another package uses it, which can't see the new name");
            self.refusal.add_lasting(page, at, what);
        }
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
                    Family::Python => self.takes_all(page, other, home, homes)?,
                    Family::Other(_) | Family::Rust => false,
                };
                if is_seen {
                    if !is_same_package(home, page, own.package.as_deref()) {
                        self.hidden(page, at);
                    }
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
            Meaning::Of(origin) if origin.module == OWN => Ok(false),
            Meaning::Member | Meaning::Of(_) if page.family() == Family::Script => {
                for module in &other.loaded {
                    let end = link::script_module(world, &page.path, module)?;
                    let end = link::exported(world, end, world.change.from)?;
                    if end == End::File(home.path.to_string()) || end == End::Unknown {
                        let reason = "its file loads modules as values, so that it may be a member of one";
                        self.refusal.add(page, at, (UNKNOWN, reason));
                    }
                }
                Ok(false)
            }
            Meaning::Key(_)
            | Meaning::Member
            | Meaning::Of(_)
            | Meaning::Keyword(_)
            | Meaning::Through(..)
            | Meaning::Unclear(_) => Ok(false),
        }
    }

    /// True if a file takes everything of a module that has the thing.
    fn takes_all(&mut self, page: &Page, facts: &Facts, home: &Page, homes: &BTreeSet<String>) -> Result<bool, Error> {
        for module in &facts.stars {
            match link::module(self.world, &page.path, module)? {
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
