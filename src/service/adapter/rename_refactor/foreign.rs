//! Files that no engine parses but that may name the symbol: pages and notebooks with code, configuration, and documentation.

use std::{collections::BTreeSet, ops::Range};

use super::{
    lookup,
    manifest::folder,
    page::{Family, Page},
    params::Mentions,
    places::Places,
    refusal::{Refusal, UNKNOWN},
    world::World,
};
use crate::contract::Finding;
use base::{error::Error, language::Language, path::RepoPath};
use format::name::{
    facts::{Group, Kind, Reach},
    token::Class,
    word::{self, Word},
};
use system::workspace;

/// Larger files are not read, in bytes.
const LARGEST: u64 = 64 << 20;

/// File extensions of code that no engine reads, by language family.
const UNREAD: &[(Family, &[&str])] = &[
    (Family::Python, &["ipynb", "joblib", "pickle", "pkl", "pxd", "pxi", "pyx"]),
    (Family::Script, &["astro", "coffee", "ejs", "mdx", "svelte", "vue"]),
];

/// The separators between a module and a name that it declares.
const SEPARATORS: &[(Family, &[&str])] =
    &[(Family::Go, &["."]), (Family::Python, &[".", ":"]), (Family::Rust, &["::"]), (Family::Script, &[])];

/// Words of code that reads the names of functions and types, by which data may name them.
const REFLECTING: &[(Family, &[&str])] = &[
    (Family::Go, &["%T", "reflect."]),
    (Family::Python, &[".__name__", ".__qualname__"]),
    (Family::Rust, &["type_name"]),
    (
        Family::Script,
        &[
            "callback.name",
            "cls.name",
            "constructor.name",
            "ctor.name",
            "factory.name",
            "fn.name",
            "func.name",
            "handler.name",
            "klass.name",
            "target.name",
        ],
    ),
];

/// Words of scripts that read the text of a function, with the names of its parameters.
const UNBUILDING: &[&str] = &[
    "String(fn)",
    "String(func)",
    "String(callback)",
    "callback.toString()",
    "fn.toString()",
    "func.toString()",
    "toString.call(",
];

/// The endings of files that hold data.
const DATA: &[&str] = &["csv", "json", "jsonl", "toml", "xml", "yaml", "yml"];

/// Refuses what code may read of a declaration: the name of a class or a function that scripts have as data too, the name of a class
/// that a decorator gets, and the names of parameters.
pub(super) fn read_back(world: &World<'_>, (home, group): (&Page, &Group), refusal: &mut Refusal) -> Result<(), Error> {
    let is_script = home.family() == Family::Script;
    if group.kind == Kind::Parameter && is_script && holds(world, Family::Script, UNBUILDING)? {
        refusal.add_lasting(
            home,
            group.declared,
            (UNKNOWN, "code reads the texts of functions, with their parameters"),
        );
    }
    if !group.kind.has_name() {
        return Ok(());
    }
    built_of(world, home.family(), refusal)?;
    if !is_script {
        return Ok(());
    }
    if lookup::is_decorated(home, group) && reflects(world, Family::Script)? {
        refusal.add_lasting(home, group.declared, (UNKNOWN, "its decorator may read its name, as other code does"));
    }
    let mut quoted = Vec::new();
    for page in world.pages()?.filter(|page| page.family() == Family::Script) {
        let strings = page.tokens.iter().filter(|token| token.class == Class::Strings);
        quoted.extend(strings.filter(|token| is_quoted(&page.text, &token.range)).map(|token| (page, token)));
    }
    if !quoted.is_empty() && reflects(world, Family::Script)? {
        for (page, token) in quoted {
            refusal.add_lasting(
                page,
                token.range.start,
                (UNKNOWN, "a string has it, and code reads the names of classes"),
            );
        }
    }
    Ok(())
}

/// Refuses a name of which code makes the longer one of a method, as `visit_Name` of `"visit_" + type(x).__name__`.
fn built_of(world: &World<'_>, family: Family, refusal: &mut Refusal) -> Result<(), Error> {
    if !matches!(family, Family::Python | Family::Script) {
        return Ok(());
    }
    let from = world.change.from;
    let read = world.map_files(family, &|_: &RepoPath, bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let ends = text.match_indices(from).map(|(at, _)| (&text[..at], at + from.len()));
        let ends = ends
            .filter(|(before, end)| before.ends_with(word::continues) && !text[*end..].starts_with(word::continues));
        let longer =
            |(before, end): (&str, usize)| text[before.trim_end_matches(word::continues).len()..end].to_owned();
        Ok(ends.map(longer).collect::<Vec<_>>())
    })?;
    let longer: BTreeSet<String> = read.into_iter().flat_map(|(_, longer)| longer).collect();
    if longer.is_empty() || !reflects(world, family)? {
        return Ok(());
    }
    for path in lookup::building(world, family, &longer)? {
        let what = "it makes names of methods of the names of functions or classes, and there is one of this name";
        refusal.add_file(&path, (UNKNOWN, what))?;
    }
    Ok(())
}

/// True if code of a family reads the names of functions and types.
fn reflects(world: &World<'_>, family: Family) -> Result<bool, Error> {
    holds(world, family, REFLECTING.iter().find(|(of, _)| *of == family).map_or(&[][..], |(_, words)| words))
}

/// True if a file of a family has one of some texts.
fn holds(world: &World<'_>, family: Family, words: &[&str]) -> Result<bool, Error> {
    let has_one = |bytes: &[u8]| words.iter().any(|word| memchr::memmem::find(bytes, word.as_bytes()).is_some());
    Ok(world.map_files(family, &|_, bytes| Ok(has_one(bytes)))?.into_iter().any(|(_, has_one)| has_one))
}

/// True if a word stands between quotes.
fn is_quoted(text: &str, at: &Range<usize>) -> bool {
    let quotes = ['"', '\''];
    text[..at.start].ends_with(quotes) && text[at.end..].starts_with(quotes)
}

/// The meaning of a name in such a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// Code that is not read.
    Code,
    /// A path of the module and the name.
    Path,
    /// A text in quotes.
    Quoted,
    /// The word alone.
    Word,
    /// Nothing is known: the file is too large, or can't be read.
    Unread,
}

/// Refuses files that may name the symbol, and lists files that mention its name. A local one is only known to code that reads names.
pub(super) fn judge(
    world: &World<'_>,
    (home, reach, mentions): (&Page, &Reach, Mentions),
    (places, refusal): (&mut Places, &mut Refusal),
) -> Result<(), Error> {
    let family = home.family();
    let separators = SEPARATORS.iter().find(|(of, _)| *of == family).map_or(&[][..], |(_, separators)| separators);
    let module = module(&home.path);
    let unread = UNREAD.iter().find(|(of, _)| *of == family).map_or(&[][..], |(_, endings)| endings);
    let is_unread = |path: &str| {
        let ending = path.rsplit('.').next().unwrap_or_default();
        unread.contains(&ending) && *reach != Reach::Local || *reach == Reach::Global && ending.starts_with("htm")
    };
    let is_foreign =
        |path: &&String| !matches!(Family::of_path(path), Some(family) if !matches!(family, Family::Other(_)));
    let paths: Vec<RepoPath> =
        world.paths()?.iter().filter(is_foreign).filter_map(|path| RepoPath::parse(path).ok()).collect();
    let (from, word) = (world.change.from, Word::new(world.change.from));
    let (ctx, deadline) = (world.ctx, world.deadline);
    let found = workspace::parallel_map_with(ctx.threads, &paths, Vec::new, |buffer, path| {
        deadline.check(ctx)?;
        if !ctx.view.read_into(path, LARGEST, buffer).is_ok_and(|stamp| stamp.is_some()) {
            return Ok(Some((Named::Unread, 1)));
        }
        if !word.is_in(buffer) {
            return Ok(None);
        }
        let text = &*String::from_utf8_lossy(buffer);
        let places = word.places(Language::TypeScript, text);
        let path_at = places.iter().find(|at| is_path(text, at, &module, (family, separators)));
        let is_data = DATA.contains(&path.rsplit('.').next().unwrap_or_default());
        let quoted_at = places.iter().find(|at| is_data && is_quoted(text, at));
        let named = match (is_unread(path), path_at, quoted_at) {
            (true, ..) => Named::Code,
            (false, Some(_), _) => Named::Path,
            (false, None, Some(_)) => Named::Quoted,
            (false, None, None) => Named::Word,
        };
        let at = path_at.or(quoted_at).or(places.first()).map(|at| at.start);
        Ok::<_, Error>(at.map(|at| (named, 1 + text[..at].matches('\n').count() as u64)))
    });
    let found = found.into_iter().collect::<Result<Vec<_>, Error>>()?;
    let has_data = found.iter().flatten().any(|(named, _)| *named == Named::Quoted);
    let reflects = has_data && reflects(world, family)?;
    for (path, found) in paths.iter().zip(found) {
        let Some((named, line)) = found else { continue };
        let named = if named == Named::Quoted && !reflects { Named::Word } else { named };
        if *reach == Reach::Local && named != Named::Quoted {
            continue;
        }
        let is_code = named == Named::Code || named == Named::Unread && is_unread(path);
        let kind = if named == Named::Word { "mention" } else { UNKNOWN };
        let (kind, place, candidates) = (kind.to_owned(), String::new(), Vec::new());
        let finding =
            Finding { path: path.clone(), line: Some(line), place, kind, reason: named.reason(from), candidates };
        if is_code || matches!(named, Named::Path | Named::Quoted) && mentions == Mentions::Refuse {
            refusal.add_unread(finding);
        } else {
            places.mentions.push(finding);
        }
    }
    Ok(())
}

impl Named {
    /// The reason at a file in which the name has that meaning.
    fn reason(self, name: &str) -> String {
        match self {
            Named::Code => "its scripts are not read, and it has the name".to_owned(),
            Named::Path => format!("it names `{name}` of its module, and no engine reads it"),
            Named::Quoted => format!("it has `{name}` as data, and code reads the names of functions or types"),
            Named::Word => format!("it mentions `{name}`, and no engine reads it"),
            Named::Unread => format!("it can't be read, and may name `{name}`"),
        }
    }
}

/// Refuses files with the name that Rust code includes.
pub(super) fn included(world: &World<'_>, refusal: &mut Refusal) -> Result<(), Error> {
    const CALL: &str = "include!";
    let read = world.map_files(Family::Rust, &|_, bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let calls = text.match_indices(CALL).map(|(at, _)| text[at..].split(';').next().unwrap_or_default());
        // What a build writes is no file of the workspace.
        let calls = calls.filter(|call| !call.contains("OUT_DIR"));
        Ok(calls.flat_map(|call| call.split('"').skip(1).step_by(2).map(last).collect::<Vec<_>>()).collect::<Vec<_>>())
    })?;
    let names: BTreeSet<String> = read.into_iter().flat_map(|(_, names)| names).collect();
    refuse(world, &|path| names.contains(&last(path)), "its code is included, and it has the name", refusal)
}

/// Refuses files with the name that a build script of Rust may read, and the script if a text of it has the name.
pub(super) fn generated(world: &World<'_>, refusal: &mut Refusal) -> Result<(), Error> {
    let is_script = |path: &&String| last(path) == "build.rs";
    let scripts: Vec<(String, String)> = world
        .paths()?
        .iter()
        .filter(is_script)
        .filter_map(|path| Some((folder(path).to_owned(), world.text(path)?)))
        .collect();
    for page in world.pages()?.filter(|page| last(&page.path) == "build.rs") {
        for token in page.tokens.iter().filter(|token| token.class == Class::Strings) {
            refusal.add_lasting(page, token.range.start, (UNKNOWN, "a build script has it in a text"));
        }
    }
    let reads = |path: &str, (base, script): &(String, String)| {
        let below = path.strip_prefix(base.as_str()).filter(|_| !path.ends_with(".rs"));
        let reads_all = ["glob", "read_dir", "walkdir"].iter().any(|way| script.contains(way));
        let names = |part: &str| {
            let mut places = script.match_indices(part).map(|(at, _)| (&script[..at], &script[at + part.len()..]));
            places.any(|(before, after)| before.ends_with(['"', '/']) && after.starts_with(['"', '/']))
        };
        below.is_some_and(|below| reads_all || below.split('/').any(|part| !part.is_empty() && names(part)))
    };
    let is_read = |path: &str| scripts.iter().any(|script| reads(path, script));
    refuse(world, &is_read, "a build script may read it, and it has the name", refusal)
}

/// Refuses the files with the name for which a test holds.
fn refuse(
    world: &World<'_>,
    is_sought: &dyn Fn(&str) -> bool,
    reason: &str,
    refusal: &mut Refusal,
) -> Result<(), Error> {
    let word = Word::new(world.change.from);
    for path in world.paths()?.iter().filter(|path| is_sought(path)) {
        let text = world.text(path).unwrap_or_default();
        if !word.places(Language::Rust, &text).is_empty() {
            refusal.add_file(path, (UNKNOWN, reason))?;
        }
    }
    Ok(())
}

fn last(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// The module name of a file.
fn module(path: &RepoPath) -> String {
    let mut parts: Vec<&str> = path.as_str().split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let is_folder = matches!(stem, "__init__" | "index" | "lib" | "main" | "mod") || file.ends_with(".go");
    if is_folder { parts.pop().unwrap_or(stem).to_owned() } else { stem.to_owned() }
}

/// True if the word follows its module name, as in `lib.load`, `lib:load` and `from lib import load`.
fn is_path(text: &str, at: &Range<usize>, module: &str, (family, separators): (Family, &[&str])) -> bool {
    let before = &text[..at.start];
    let ends = |before: &str| {
        before.strip_suffix(module).is_some_and(|rest| !module.is_empty() && !rest.ends_with(word::continues))
    };
    let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
    let imported = line.rsplit_once(" import ").map(|(from, _)| from.trim_end());
    separators.iter().any(|separator| before.strip_suffix(separator).is_some_and(ends))
        || family == Family::Python && imported.is_some_and(ends)
}
