//! The thing that a place or a name means: a binding of a file, or what an import leads to.

use std::{cell::OnceCell, collections::BTreeSet};

use super::{
    crates::Crates,
    items, link,
    manifest::folder,
    page::{Family, Page, byte},
    places::End,
    refusal::{MEANING, Refusal, UNKNOWN, refuse},
    world::World,
};
use base::error::{Code, Error};
use format::name::{
    facts::{Facts, Group, Meaning, Reach},
    token::Class,
};

/// A thing: a binding of a file, by its declaration, or the name that a file exports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    /// A binding that other files do not name, or that stands for one of another module under a name of its own.
    Own(String, usize),
    /// A binding that others import.
    Shared(String),
    /// A declaration of a module of Rust.
    Item(String, usize),
}

pub(super) fn page<'w>(world: &'w World<'_>, path: &str) -> Result<&'w Page, Error> {
    world.page(path).ok_or_else(|| {
        let from = world.change.from;
        Error::new(Code::NotFound, format!("`{path}` is no file of the target that holds `{from}`"))
            .hint("give a path that `target.glob` matches, relative to the workspace")
    })
}

pub(super) fn facts<'p>(world: &World<'_>, page: &'p Page) -> Result<&'p Facts, Error> {
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
    let at = byte(&page.text, line, column).ok_or_else(no_token)?;
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
pub(super) fn at_place(world: &World<'_>, place: (&str, u64, u64)) -> Result<Option<Thing>, Error> {
    let Some((page, start)) = token(world, place)? else { return Ok(None) };
    let path = place.0;
    let refused = |reason: &str| refuse(page, start, (MEANING, reason), world);
    let facts = facts(world, page)?;
    let group = page.group_at(start);
    let is_item = page.family() == Family::Rust && group.is_none_or(|group| group.reach != Reach::Local);
    let item = if is_item { items_of(world, page, &OnceCell::new())?.remove(&start) } else { None };
    if let Some((file, declared)) = item {
        return Ok(Some(Thing::Item(file, declared)));
    }
    if let Some(group) = group {
        return thing(world, page, group, true).map(Some);
    }
    match facts.loose.iter().find(|loose| loose.range.start == start).map(|loose| &loose.meaning) {
        Some(Meaning::Through(origin, _)) => match link::follow(world, path, origin)? {
            End::File(file) => Ok(Some(Thing::Shared(home(world, &file, page.family())?))),
            End::Elsewhere | End::Unknown => Err(refused("the module that it belongs to is not in the workspace")),
        },
        Some(Meaning::Free) => declared_in_package(world, page).map_err(refused).map(Some),
        Some(Meaning::Member) if page.text[..start].trim_end().ends_with("package") => {
            Err(refused("it is the name of a package"))
        }
        Some(Meaning::Key(_) | Meaning::Member | Meaning::Of(_)) => {
            Err(refused("it is a member, whose owner only types tell"))
        }
        Some(Meaning::Keyword(_)) => Err(refused("it is the name of an argument; give the place of the parameter")),
        Some(Meaning::Unclear(reason)) => Err(refused(reason)),
        None => Err(refused("syntax does not tell its meaning")),
    }
}

/// True if the new name is at a place, so that nothing is left to do.
fn has_new_name(world: &World<'_>, path: &str, (line, column): (u64, u64)) -> bool {
    let text = world.text(path).unwrap_or_default();
    byte(&text, line, column).is_some_and(|at| text[at..].starts_with(world.change.to))
}

/// The binding at the top of another file of the same package.
fn declared_in_package(world: &World<'_>, page: &Page) -> Result<Thing, &'static str> {
    let own = page.facts.as_ref().map_err(|reason| *reason)?.package.clone();
    let pages = world.pages().map_err(|_| "the files of its package can't be read")?;
    let homes: Vec<&Page> =
        pages.filter(|other| is_same_package(page, other, own.as_deref()) && other.exports()).collect();
    match homes[..] {
        [home] => Ok(Thing::Shared(home.path.to_string())),
        _ => Err("its file does not declare it"),
    }
}

pub(super) fn is_same_package(page: &Page, other: &Page, package: Option<&str>) -> bool {
    let of = other.facts.as_ref().ok().and_then(|facts| facts.package.as_deref());
    page.family() == other.family()
        && package.is_some()
        && of == package
        && (page.family() == Family::Java || folder(&page.path) == folder(&other.path))
}

/// The file that declares a shared thing, from the end of a way.
fn home(world: &World<'_>, end: &str, family: Family) -> Result<String, Error> {
    if family != Family::Go {
        return Ok(end.to_owned());
    }
    let found = world.pages()?.find(|page| page.family() == family && folder(&page.path) == end && page.exports());
    Ok(found.map_or_else(|| end.to_owned(), |page| page.path.to_string()))
}

/// The thing that a binding is. An import at a place is renamed for its file alone where the language can say so.
fn thing(world: &World<'_>, page: &Page, group: &Group, is_place: bool) -> Result<Thing, Error> {
    let own = || Thing::Own(page.path.to_string(), group.declared);
    match &group.reach {
        Reach::Local | Reach::Named(_) => Ok(own()),
        Reach::Exported if page.family() == Family::Rust => Ok(Thing::Item(page.path.to_string(), group.declared)),
        Reach::Exported | Reach::Global => Ok(Thing::Shared(page.path.to_string())),
        Reach::Imported(_) if is_place && page.family() == Family::Script => Ok(own()),
        Reach::Imported(origin) => {
            let end = link::follow(world, &page.path, origin)?;
            match (imported(world, page, &end)?, end) {
                (Some(file), _) => Ok(Thing::Shared(file)),
                (None, end) => Err(refuse(page, group.declared, unresolved(page, &end), world)),
            }
        }
    }
}

/// The reason that an import leads to no thing.
fn unresolved(page: &Page, end: &End) -> (&'static str, &'static str) {
    let is_script = page.family() == Family::Script;
    match end {
        End::File(_) if is_script => (MEANING, "it is bound by an import of what another file passes on by that name"),
        End::Unknown if is_script => (UNKNOWN, "the module that it comes from is not certain"),
        _ => (MEANING, "it is bound by an import of something outside of the workspace"),
    }
}

fn imported(world: &World<'_>, page: &Page, end: &End) -> Result<Option<String>, Error> {
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
        if page.family() == Family::Script || facts.has_exported() {
            return Ok(world.page(&file).unwrap_or(page).exports().then_some(file));
        }
        let Some(origin) = next else { return Ok(None) };
        end = link::follow(world, &file, origin)?;
    }
    Ok(None)
}

/// The only thing of the name in the files of the target, or in one of them.
pub(super) fn only(world: &World<'_>, file: Option<&str>) -> Result<Option<Thing>, Error> {
    let (mut things, crates) = (BTreeSet::new(), OnceCell::new());
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
        let items = items_of(world, page, &crates)?;
        for group in &facts.groups {
            things.insert(match items.get(&group.declared) {
                Some((file, declared)) => Thing::Item(file.clone(), *declared),
                None => thing(world, page, group, false)?,
            });
        }
        for loose in &facts.loose {
            if let Some((file, declared)) = items.get(&loose.range.start) {
                things.insert(Thing::Item(file.clone(), *declared));
                is_done = false;
                continue;
            }
            match &loose.meaning {
                Meaning::Through(origin, _) => {
                    let end = link::follow(world, &page.path, origin)?;
                    if let Some(file) = imported(world, page, &end)? {
                        things.insert(Thing::Shared(file));
                    } else {
                        let what = match page.family() {
                            Family::Rust => "it is a member of a type, or of a module outside of the workspace",
                            _ => "it belongs to a module outside of the workspace",
                        };
                        refusal.add(page, loose.range.start, (MEANING, what));
                    }
                }
                Meaning::Free if declared_in_package(world, page).is_ok() => is_done = false,
                Meaning::Free => refusal.add(page, loose.range.start, (MEANING, "its file does not declare it")),
                Meaning::Key(_) | Meaning::Member | Meaning::Of(_) | Meaning::Keyword(_) => {
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
        several(world, &things, &mut refusal)?;
    }
    refusal.check(world)?;
    Ok(things.pop_first())
}

/// Refuses a name that means several things.
fn several(world: &World<'_>, things: &BTreeSet<Thing>, refusal: &mut Refusal) -> Result<(), Error> {
    for thing in things {
        let (path, declared) = match thing {
            Thing::Item(path, declared) | Thing::Own(path, declared) => (path, *declared),
            Thing::Shared(path) => (path, first(world, path)),
        };
        refusal.add_choice(page(world, path)?, declared, "several things have the name, and this is one of them");
    }
    Ok(())
}

/// The declarations that the places of a Rust file mean.
fn items_of<'w, 'a>(
    world: &'w World<'a>,
    page: &Page,
    crates: &OnceCell<Crates<'w, 'a>>,
) -> Result<items::Things, Error> {
    if page.family() != Family::Rust {
        return Ok(items::Things::new());
    }
    let outlines = world.outlines()?;
    items::things(crates.get_or_init(|| Crates::of(world, outlines)), page, world.change.from)
}

pub(super) fn first(world: &World<'_>, path: &str) -> usize {
    let facts = world.page(path).and_then(|page| page.facts.as_ref().ok());
    facts.and_then(|facts| facts.groups.first()).map_or(0, |group| group.declared)
}
