//! Packages of Go: names that their files share without an import, and files that take everything of a package.

use std::collections::BTreeSet;

use super::{
    link,
    manifest::folder,
    page::{Family, Page},
    places::End,
    refusal::{Refusal, TAKEN, UNKNOWN},
    world::{Source, World},
};
use base::{error::Error, language::Language, path::RepoPath};
use format::name::{
    facts::{Facts, Meaning},
    token::{Class, Token},
    tree::is_struct,
};

const OTHER_THING: &str =
    "the new name means another thing in a file of its package, or of one that takes everything of it";
const STAR: &str = "it takes everything of a package that may have the new name";

/// True if other packages see a name.
pub(super) fn is_exported(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

/// Words of programs that read or write code of Go.
const GENERATING: &[&str] = &["//go:build ignore", "\"go/ast\"", "\"go/parser\""];

/// Refuses a string that is the name, in a file that is run to read or write code.
fn generators(world: &World<'_>, refusal: &mut Refusal) -> Result<(), Error> {
    let is_generated = |(page, token): &(&Page, &Token)| {
        token.class == Class::Strings && GENERATING.iter().any(|word| page.text.contains(word))
    };
    let found = world.tokens(Family::Go)?.filter(is_generated);
    refusal.add_tokens(found, (UNKNOWN, "a program that reads or writes code names it"));
    Ok(())
}

/// Refuses a new name that means another thing in a file which would see the renamed one without an import.
pub(super) fn judge(world: &World<'_>, home: &Page, refusal: &mut Refusal) -> Result<(), Error> {
    tied(world, home, refusal)?;
    generators(world, refusal)?;
    let to = world.change.to;
    let stars = starred(world)?;
    let taken = world.taken_files()?;
    let mut seeing: BTreeSet<&str> = world.pages()?.map(|page| page.path.as_str()).collect();
    seeing.extend(taken.iter().copied().chain(stars.iter().map(RepoPath::as_str)));
    for path in seeing.into_iter().filter(|path| Family::of_path(path) == Some(Family::Go)) {
        let Some(facts) = world.facts(path, world.change.from) else { continue };
        let takes_home = takes(world, path, &facts, |end| *end == End::File(folder(&home.path).to_owned()))?;
        if !takes_home && !is_beside(world, path, &home.path) {
            continue;
        }
        keys(world, path, refusal)?;
        if takes_home && !is_exported(to) {
            continue;
        }
        if let Some(at) = facts.taken.filter(|_| path != home.path.as_str()) {
            add(world, (path, at), OTHER_THING, refusal)?;
        }
        let declares = |path: &str| world.facts(path, to).is_some_and(|facts| facts.has_exported());
        if takes_home && taken.iter().any(|other| is_beside(world, other, path) && declares(other)) {
            add(world, (path, 0), OTHER_THING, refusal)?;
        }
        // Of a package of the workspace, the files tell what it has.
        let may_bring = |end: &End| match end {
            End::File(of) if of == folder(&home.path) => false,
            End::File(of) => taken.iter().any(|path| folder(path) == of && declares(path)),
            End::Elsewhere | End::Unknown => true,
        };
        if is_exported(to) && takes(world, path, &facts, may_bring)? {
            add(world, (path, 0), STAR, refusal)?;
        }
    }
    Ok(())
}

/// Refuses the names of keys in literals of types that are no structures, by which variables may be meant.
pub(super) fn keys(world: &World<'_>, path: &str, refusal: &mut Refusal) -> Result<(), Error> {
    for name in [world.change.from, world.change.to] {
        let Some(facts) = world.facts(path, name) else { continue };
        for loose in &facts.loose {
            if let Meaning::Key(of) = &loose.meaning
                && !is_structure(world, path, of)?
            {
                add(world, (path, loose.range.start), "it is the key of a literal", refusal)?;
            }
        }
    }
    Ok(())
}

/// True if files of a package declare a type of a name, and each is a structure.
fn is_structure(world: &World<'_>, of: &str, name: &str) -> Result<bool, Error> {
    let mut found = Vec::new();
    for path in world.paths()?.iter().filter(|path| path.ends_with(".go") && folder(path) == folder(of)) {
        let Some(text) = world.text(path).filter(|text| text.contains(name) && is_beside(world, path, of)) else {
            continue;
        };
        found.extend(is_struct(&world.tree(Language::Go, &text)?, &text, name));
    }
    Ok(!found.is_empty() && found.into_iter().all(|is_one| is_one))
}

/// True if two files belong to one package.
fn is_beside(world: &World<'_>, path: &str, other: &str) -> bool {
    let package = |path: &str| world.facts(path, world.change.from).and_then(|facts| facts.package.clone());
    folder(path) == folder(other) && package(path) == package(other)
}

/// True if a file takes everything of a package for which a test holds.
fn takes(world: &World<'_>, path: &str, facts: &Facts, test: impl Fn(&End) -> bool) -> Result<bool, Error> {
    for module in &facts.stars {
        if test(&link::module(world, path, module)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The files that may take everything of a package.
fn starred(world: &World<'_>) -> Result<Vec<RepoPath>, Error> {
    let is_path = |after: &str| after.trim_start().starts_with(['"', '`']);
    world.files(Family::Go, &|file| Ok(file.text.match_indices('.').any(|(at, _)| is_path(&file.text[at + 1..]))))
}

/// Adds a place of a file, which need not have the name.
fn add(world: &World<'_>, (path, at): (&str, usize), reason: &str, refusal: &mut Refusal) -> Result<(), Error> {
    if at == 0 {
        return refusal.add_file(path, (TAKEN, reason));
    }
    refusal.add_place(world, (path, at), (TAKEN, reason))
}

/// Refuses Go names that directives of other files or the names of examples tie to a thing: `//go:linkname` and `ExampleName`.
fn tied(world: &World<'_>, home: &Page, refusal: &mut Refusal) -> Result<(), Error> {
    let from = world.change.from;
    let example = format!("func Example{from}");
    let is_tied = |file: &Source<'_>| {
        let (_, after) = file.text.split_once(&example).unwrap_or_default();
        Ok(file.path.ends_with("_test.go") && after.starts_with(['(', '_']))
    };
    refusal.add_files(world.files(Family::Go, &is_tied)?, (UNKNOWN, "the name of an example has it"))?;
    for page in world.of_family(Family::Go)?.filter(|page| page.path != home.path) {
        let is_named = |word: &&Token| {
            let line = page.text[..word.range.start].rsplit('\n').next().unwrap_or_default();
            word.class == Class::Comments && line.starts_with("//go:linkname")
        };
        if let Some(word) = page.tokens.iter().find(is_named) {
            refusal.add_lasting(page, word.range.start, (UNKNOWN, "a directive in a comment names it"));
        }
    }
    Ok(())
}
