//! Members whose other declarations stay: types that fit by their form, and the errors that a server tells after the change.

use std::collections::BTreeSet;

use super::{
    affected, forms, lookup,
    page::{Family, Page},
    places::Places,
    refusal::{MEANING, Refusal, UNKNOWN},
    world::World,
};
use crate::Work;
use base::{error::Error, language::Language};
use format::name::{
    side::{self, Side},
    token::Class,
};
use system::language_server::{Client, Errors};

/// The most files whose errors a server is asked for.
const CHECKED: usize = 5000;

/// Names by which JavaScript itself calls members of any value.
const CALLED: &[&str] = &[
    "constructor",
    "handleEvent",
    "next",
    "return",
    "then",
    "throw",
    "toJSON",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// Refuses a member of which syntax tells that another declaration may be the same.
pub(super) fn judge(
    world: &World<'_>,
    pages: &[&Page],
    places: &Places,
    (refusal, has_checks): (&mut Refusal, bool),
) -> Result<(), Error> {
    let family = pages.first().map(|page| page.family());
    match family {
        Some(Family::Script) => sides(world, pages, places, (refusal, has_checks))?,
        Some(Family::Rust) => derived(world, pages, places, refusal)?,
        _ => {}
    }
    if let Some(family @ (Family::Python | Family::Script)) = family {
        let building = lookup::building(world, family, &BTreeSet::from([world.change.from.to_owned()]))?;
        refusal.add_files(building, (UNKNOWN, lookup::BUILT))?;
    }
    Ok(())
}

/// Declarations of JavaScript and TypeScript, where a value fits a type by its form.
fn sides(
    world: &World<'_>,
    pages: &[&Page],
    places: &Places,
    (refusal, has_checks): (&mut Refusal, bool),
) -> Result<(), Error> {
    let mut renamed = Vec::new();
    let mut left = Vec::new();
    for page in pages {
        let tree = world.tree(page.language, &page.text)?;
        for token in page.tokens.iter().filter(|token| token.class == Class::Code) {
            let Some(side) = side::of(&tree, &token.range) else { continue };
            let is_renamed = places.has(&page.path, token.range.start);
            if is_renamed { &mut renamed } else { &mut left }.push((*page, token.range.start, side));
        }
    }
    let Some((page, at, _)) = renamed.first() else { return Ok(()) };
    if CALLED.contains(&world.change.from) {
        refusal.add(page, *at, (UNKNOWN, "the language calls members of that name"));
    }
    let has_value = renamed.iter().any(|(_, _, side)| matches!(side, Side::Class | Side::Value));
    for (page, at, side) in left {
        let what = match side {
            Side::Type(true) => "a type declares it as a member that a value may lack, and stays",
            Side::Type(false) if has_value => "a type declares it too, which a value may have without naming it",
            _ if !has_checks => "it declares the member too, and the language server tells no errors",
            _ => continue,
        };
        refusal.add(page, at, (MEANING, what));
    }
    Ok(())
}

/// Fields and variants of Rust from whose names a macro makes data.
fn derived(world: &World<'_>, pages: &[&Page], places: &Places, refusal: &mut Refusal) -> Result<(), Error> {
    for page in pages {
        let Some(sites) = places.code.get(page.path.as_str()) else { continue };
        let tree = world.tree(Language::Rust, &page.text)?;
        for (range, _) in sites.values() {
            if side::is_derived(&tree, &page.text, range) {
                refusal.add(page, range.start, (UNKNOWN, "a macro may make data of its name"));
            }
        }
    }
    Ok(())
}

/// Refuses a change after which the server tells errors that the program did not have.
pub(super) fn check(
    world: &World<'_>,
    client: &mut Client<'_>,
    (pages, places): (&[&Page], &Places),
    (refusal, identifier): (&mut Refusal, &dyn Fn(&Page) -> &'static str),
) -> Result<(), Error> {
    let Some(family @ (Family::Python | Family::Script)) = pages.first().map(|page| page.family()) else {
        return Ok(());
    };
    let changed: BTreeSet<&str> = places.code.keys().map(String::as_str).collect();
    let paths = affected::files(world, family, &changed)?;
    let Some(first) = pages.first().filter(|_| client.checks()) else { return Ok(()) };
    if paths.len() > CHECKED {
        let what = (UNKNOWN, "too many files may have a type that its member belongs to");
        refusal.add(first, first.tokens.first().map_or(0, |token| token.range.start), what);
        return Ok(());
    }
    if family == Family::Python {
        // Its servers tell errors of open files alone.
        for path in &paths {
            client.open(path, Language::Python.name())?;
        }
    }
    let told = world.told(Work::AskErrors, 2 * paths.len());
    client.settle()?;
    let before = client.errors(&paths, &told)?;
    for page in pages {
        let Some(sites) = places.code.get(page.path.as_str()) else { continue };
        let edits = sites.values().map(|(range, form)| (range, forms::text(*form, world.names())));
        let (text, _) = forms::written(&page.text, edits);
        client.change(&page.path, identifier(page), text)?;
    }
    client.settle()?;
    let after = client.errors(&paths, &|done| told(paths.len() + done))?;
    let none = Errors::new();
    for (path, errors) in &after {
        let known = before.get(path).unwrap_or(&none);
        for ((line, code), count) in errors {
            if known.get(&(*line, code.clone())).copied().unwrap_or_default() < *count {
                let reason = format!("line {} has another error after the change, `{code}`", u64::from(*line) + 1);
                refusal.add_file(path, (UNKNOWN, &reason))?;
            }
        }
    }
    Ok(())
}
