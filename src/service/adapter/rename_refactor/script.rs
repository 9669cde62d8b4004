//! Names of scripts that code means without writing them: those that markup is compiled to, those that files without imports share,
//! those that blocks of a namespace share, and those that texts use which code runs.

use std::collections::BTreeSet;

use super::{
    link,
    page::{Family, Page},
    places::{End, Places},
    reflect::holds,
    refusal::{MEANING, Refusal, TAKEN, UNKNOWN},
    world::{Source, World},
};
use base::{error::Error, path::RepoPath};
use format::name::{
    facts::{Block, Group, Kind, Reach},
    reserved,
    token::{Class, Token},
    word,
};

/// The function that markup calls without a setting, as a member of this name.
const ROOT: &str = "React";

/// The members of modules that markup calls or means.
const MEMBERS: &[&str] = &["Fragment", "JSX", "createElement", "jsx", "jsxDEV", "jsxs"];

/// Words of settings before the name of a function that markup calls.
const FACTORIES: &[&str] = &[
    "@jsx",
    "@jsxFrag",
    "jsx-factory",
    "jsx-fragment",
    "jsxFactory",
    "jsxFragment",
    "jsxFragmentFactory",
    "pragma",
    "pragmaFrag",
];

/// The endings of files that may hold such settings, beside scripts.
const SETTINGS: &[&str] = &["babelrc", "json", "json5", "jsonc", "mk", "sh", "swcrc", "toml", "yaml", "yml"];

/// Calls that run the texts of files with names of their own.
const RUNNING: &[&str] = &["importScripts(", "runInContext(", "runInNewContext(", "runInThisContext("];

/// Refuses a thing that code means without its name, or that would be meant so by the new one. `homes` are the files that pass it on.
pub(super) fn judge(
    world: &World<'_>,
    (home, group): (&Page, &Group),
    (places, homes): (&Places, &BTreeSet<String>),
    refusal: &mut Refusal,
) -> Result<(), Error> {
    markup(world, (home, group), places, refusal)?;
    texts(world, (home, group), refusal)?;
    blocks(world, (places, homes), refusal)?;
    if group.reach == Reach::Exported {
        of_namespace(world, refusal)?;
    }
    if group.reach == Reach::Global { globals(world, (home, group), refusal) } else { Ok(()) }
}

/// Refuses what markup calls: the names of settings, and those of libraries.
fn markup(
    world: &World<'_>,
    (home, group): (&Page, &Group),
    places: &Places,
    refusal: &mut Refusal,
) -> Result<(), Error> {
    let names = [world.change.from, world.change.to];
    let read = world.map_files(Family::Script, &|Source { path, text, .. }| {
        Ok((is_markup(path, text), names.map(|name| called(text, name))))
    })?;
    if !read.iter().any(|(_, (has_markup, _))| *has_markup) {
        return Ok(());
    }
    let is_setting = |path: &&String| SETTINGS.contains(&path.rsplit('.').next().unwrap_or_default());
    let texts = world.paths()?.iter().filter(is_setting).filter_map(|path| world.text(path));
    let of_texts = texts.map(|text| names.map(|name| called(&text, name)));
    let mut calls: Vec<_> = read.iter().map(|(_, (_, calls))| *calls).chain(of_texts).flatten().flatten().collect();
    calls.extend(names.contains(&ROOT).then_some(Call::Root));
    calls.extend(names.iter().any(|name| MEMBERS.contains(name)).then_some(Call::Member));
    let is_shared = matches!(group.reach, Reach::Exported | Reach::Global);
    let has_place = |path: &RepoPath| places.code.contains_key(path.as_str());
    let is_near = read.iter().any(|(path, (has_markup, _))| *has_markup && has_place(path));
    if calls.contains(&Call::Root) && is_near || !calls.is_empty() && is_shared {
        let reason = "JSX compiles to calls of the old or the new name";
        refusal.add_lasting(home, group.declared, (UNKNOWN, reason));
    }
    Ok(())
}

/// The way in which markup calls a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    /// By the name that its file gives it.
    Root,
    /// As a member of another name.
    Member,
}

/// The way in which settings of a text let markup call a name.
fn called(text: &str, name: &str) -> Option<Call> {
    if !["jsx", "pragma"].iter().any(|part| text.contains(part)) {
        return None;
    }
    let values = FACTORIES.iter().flat_map(|key| text.match_indices(key).map(|(at, key)| &text[at + key.len()..]));
    let mut values = values.filter(|rest| !rest.starts_with(word::continues)).filter_map(|rest| {
        let rest = rest.trim_start_matches([' ', '\t', '"', '\'', '`', ':', '=']);
        rest.split(|c| !word::continues(c) && c != '.').next()
    });
    let at = values.find_map(|value| value.split('.').position(|part| part == name))?;
    Some(if at == 0 { Call::Root } else { Call::Member })
}

/// True for a script that may have markup.
fn is_markup(path: &str, text: &str) -> bool {
    let is_plain = [".ts", ".mts", ".cts"].iter().any(|ending| path.ends_with(ending));
    path.ends_with("x") || !is_plain && ["</", "/>"].iter().any(|sign| text.contains(sign))
}

/// Refuses places in blocks whose other blocks declare the old or the new name.
fn blocks(
    world: &World<'_>,
    (places, homes): (&Places, &BTreeSet<String>),
    refusal: &mut Refusal,
) -> Result<(), Error> {
    for page in world.of_family(Family::Script)? {
        let Ok(facts) = &page.facts else { continue };
        for crossing in &facts.crossings {
            let is_renamed = places.has(&page.path, crossing.at);
            let is_declared = match &crossing.block {
                _ if is_renamed && crossing.is_declared => true,
                block @ Block::Named { is_shared: true, .. } => is_renamed && is_elsewhere(world, page, block)?,
                Block::Named { .. } => false,
                Block::Module(module) => is_added(world, (page, module), is_renamed, homes)?,
            };
            if is_declared {
                let reason = "another block of its namespace, enum or module declares the old or the new name";
                refusal.add_lasting(page, crossing.at, (MEANING, reason));
            }
        }
    }
    Ok(())
}

/// True if a block of another file declares the old or the new name.
fn is_elsewhere(world: &World<'_>, page: &Page, block: &Block) -> Result<bool, Error> {
    let has_it =
        |other: &Page| other.path != page.path && other.facts.as_ref().is_ok_and(|facts| facts.blocks.contains(block));
    let is_other = |path: &&str| Family::of_path(path) == Some(Family::Script) && *path != page.path.as_str();
    let is_taken = |path| world.facts(path, world.change.to).is_some_and(|facts| facts.blocks.contains(block));
    Ok(world.pages()?.any(has_it) || world.taken_files()?.into_iter().filter(is_other).any(is_taken))
}

/// True if a place among declarations that are added to a module means what that module exports, or would mean it.
fn is_added(
    world: &World<'_>,
    (page, module): (&Page, &str),
    is_renamed: bool,
    homes: &BTreeSet<String>,
) -> Result<bool, Error> {
    let exported = |name| link::exported(world, link::script_module(world, &page.path, module)?, name);
    let of_old = exported(world.change.from)?;
    let is_home = matches!(&of_old, End::File(file) if homes.contains(file));
    Ok(is_home || is_renamed && (of_old != End::Elsewhere || exported(world.change.to)? != End::Elsewhere))
}

/// Refuses a thing that all files share: if it may be named in other ways, or if something else has the new name.
fn globals(world: &World<'_>, (home, group): (&Page, &Group), refusal: &mut Refusal) -> Result<(), Error> {
    if reserved::is_script_global(world.change.to) {
        let what = (TAKEN, "the standard library has the new name, which all files share");
        refusal.add_lasting(home, group.declared, what);
    }
    if runs(world)? {
        let what = (UNKNOWN, "code runs script files by their text, and may use it as a member of their global object");
        refusal.add_lasting(home, group.declared, what);
    }
    let is_other = |path: &&str| Family::of_path(path) == Some(Family::Script) && *path != home.path.as_str();
    for path in world.taken_files()?.into_iter().filter(is_other) {
        let is_taken = world.facts(path, world.change.to).is_none_or(|facts| {
            let is_bound = |at: usize| facts.groups.iter().any(|group| group.declared == at);
            facts.groups.iter().any(|group| group.reach == Reach::Global) || facts.taken.is_some_and(|at| !is_bound(at))
        });
        if is_taken {
            refusal.add_file(path, (TAKEN, "it has the new name for a thing that all files share"))?;
        }
    }
    Ok(())
}

/// Refuses names in files that run program texts, and parameters whose JSDoc types TypeScript checks.
fn texts(world: &World<'_>, (home, group): (&Page, &Group), refusal: &mut Refusal) -> Result<(), Error> {
    for page in world.of_family(Family::Script)? {
        if RUNNING.iter().any(|word| page.text.contains(word)) {
            let what = (UNKNOWN, "its file has the name, and runs texts with names of their own");
            refusal.add_lasting(page, page.tokens.first().map_or(0, |token| token.range.start), what);
        }
    }
    let is_script = ["js", "jsx", "mjs", "cjs"].contains(&home.path.rsplit('.').next().unwrap_or_default());
    let is_typed = |token: &&Token| {
        token.class == Class::Comments
            && home.text[token.around.clone()].starts_with("/**")
            && group.kind == Kind::Parameter
    };
    let Some(word) = home.tokens.iter().find(is_typed).filter(|_| is_script) else { return Ok(()) };
    let has = |path: &&String| path.ends_with(".json") && world.text(path).is_some_and(|text| text.contains("checkJs"));
    if home.text.contains("@ts-check") || world.paths()?.iter().any(|path| has(&path)) {
        refusal.add_text(home, word.range.start, "a comment may type it, and TypeScript checks that");
    }
    Ok(())
}

/// Refuses members of a global namespace that a declaration file declares with `export as namespace`.
fn of_namespace(world: &World<'_>, refusal: &mut Refusal) -> Result<(), Error> {
    let first = |rest: &str| rest.split(|c| !word::continues(c)).next().unwrap_or_default().to_owned();
    let read = world.map_files(Family::Script, &|file| {
        Ok(file.text.split("export as namespace ").skip(1).map(first).collect::<Vec<_>>())
    })?;
    let names: BTreeSet<String> = read.into_iter().flat_map(|(_, names)| names).collect();
    let is_member = |(page, token): &(&Page, &Token)| {
        let before = page.text[..token.range.start].strip_suffix('.').unwrap_or_default();
        names.contains(&before[before.trim_end_matches(word::continues).len()..])
    };
    let members = world.tokens(Family::Script)?.filter(|of| !names.is_empty() && is_member(of));
    refusal.add_tokens(members, (UNKNOWN, "it is a member of a namespace that a declaration file exports"));
    Ok(())
}

/// True if code runs the texts of files.
fn runs(world: &World<'_>) -> Result<bool, Error> {
    let evaluates = |file: &Source<'_>| Ok(file.text.contains("eval") && file.text.contains("readFile"));
    Ok(!world.files(Family::Script, &evaluates)?.is_empty() || holds(world, Family::Script, RUNNING)?)
}
