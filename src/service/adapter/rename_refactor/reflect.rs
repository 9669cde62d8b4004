//! Code that reads the names of functions, classes and parameters while it runs, by which texts and data may name them.

use std::{collections::BTreeSet, ops::Range};

use super::{
    lookup,
    page::{Family, Page},
    places::Places,
    refusal::{Refusal, UNKNOWN, of_file},
    world::{Source, World},
};
use base::{error::Error, path::RepoPath, text::counted};
use format::name::{
    facts::{Group, Kind},
    token::{Class, Token},
    word,
};

/// Words of code that reads the names of functions and types, by which data may name them.
const REFLECTING: &[(Family, &[&str])] = &[
    (Family::Go, &["%T", "FuncForPC", "encoding/gob", "net/rpc", "reflect."]),
    (Family::Python, &[".__name__", ".__qualname__"]),
    (Family::Rust, &["type_name"]),
    (
        Family::Script,
        &[
            "callback.name",
            "cls.name",
            CONSTRUCTOR,
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

/// The word of scripts that reads the name of what made an object.
const CONSTRUCTOR: &str = "constructor.name";

/// Keys of what TypeScript notes for decorators.
const METADATA: &[&str] = &["design:paramtypes", "design:returntype", "design:type"];

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

/// Refuses what code may read of a declaration: the name of a class or a function that scripts have as data too, the name of a class
/// that a decorator gets, and the names of parameters.
pub(super) fn read_back(world: &World<'_>, (home, group): (&Page, &Group), refusal: &mut Refusal) -> Result<(), Error> {
    let is_script = home.family() == Family::Script;
    let is_go = home.family() == Family::Go;
    if group.kind == Kind::Parameter && is_script && holds(world, Family::Script, UNBUILDING)? {
        let what = (UNKNOWN, "code reads the texts of functions, with their parameters");
        refusal.add_lasting(home, group.declared, what);
    }
    if !(group.kind.has_name() || is_go && group.kind == Kind::Type) {
        return Ok(());
    }
    built_of(world, home.family(), refusal)?;
    made_of(world, (home, group), refusal)?;
    let makes_objects = group.kind != Kind::Function || world.change.from.starts_with(char::is_uppercase);
    if home.family() != Family::Rust {
        parts(world, home, makes_objects, refusal)?;
    }
    if home.family() == Family::Python && group.kind == Kind::Class {
        let shown = world.tokens(Family::Python)?.filter(|(page, token)| is_representation(&page.text, token));
        refusal.add_tokens(shown, (UNKNOWN, "it may be the text of an object, which has the name of its class"));
    }
    if !is_script && !is_go {
        return Ok(());
    }
    let is_class = is_script && group.kind == Kind::Class;
    if is_class && world.pages()?.any(is_noted) && holds(world, Family::Script, METADATA)? {
        refusal.add_lasting(home, group.declared, (UNKNOWN, "decorator metadata records it, and code reads that"));
    }
    if is_class && lookup::is_decorated(home, group) && reflects(world, Family::Script, PART)? {
        refusal.add_lasting(home, group.declared, (UNKNOWN, "its decorator may read its name"));
    }
    if is_go {
        trimmed(world, home, refusal)?;
    }
    // Go shows a thing with its package, and calls a method with its type.
    let is_named = |(page, token): &(&Page, &Token)| match token.class {
        Class::Strings if is_go => is_between(&page.text, &token.range, &['"', '`', '.']),
        Class::Strings => is_quoted(&page.text, &token.range),
        Class::Code | Class::Comments => !is_go && is_key(&page.text, token),
    };
    let what = "a string or key is the name, and code reads function or type names at run time";
    by_texts(world, home.family(), Read { makes_objects, ..WHOLE }, &is_named, (what, refusal))
}

/// True in a string with the form of `repr` of an object: `Point(x=1)`, `<Colour.RED: 1>`, `<Lock held>`.
fn is_representation(text: &str, token: &Token) -> bool {
    let whole = &text[token.around.clone()];
    let (before, after) = (&text[token.around.start..token.range.start], &text[token.range.end..token.around.end]);
    let is_call = before.is_empty() && after.starts_with('(') && whole.ends_with(')');
    token.class == Class::Strings
        && !whole.contains('\n')
        && (is_call || before.ends_with(['<', '.']) && whole.contains('<'))
}

/// Words in a line that makes another text of a name, sorts by names, or has them as keys.
const MAKING: &[&str] = &[
    "amel",
    ".join(",
    "kebab",
    "key=",
    "lower",
    "Lower",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "slice",
    "snake",
    "sort",
    "split",
    "strip(",
    "sub(",
    "underscore",
    "upper",
    "Upper",
];

/// Words that read the name of a function or a class, by language family.
const READING: &[(Family, &[&str])] =
    &[(Family::Python, &[".__name__", ".__qualname__", ".co_name"]), (Family::Script, &[".name"])];

/// Variables that hold functions, as a rule.
const FUNCTIONS: &[&str] = &[
    "callback",
    "cb",
    "f",
    "fn",
    "func",
    "function",
    "handler",
    "meth",
    "method",
    "view",
    "view_func",
    "wrapped",
    "wrapper",
];

/// The thing whose name code reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// The function that is running.
    Caller,
    /// A class.
    Class,
    /// A function.
    Function,
    /// The class of the object that the code belongs to.
    Own,
    /// A class or a function.
    Thing,
}

/// Refuses a class, and a function that code has as a value, if code makes another text of names, sorts by them, or has them as keys.
/// Python also forms names of members by the name of a class.
fn made_of(world: &World<'_>, (home, group): (&Page, &Group), refusal: &mut Refusal) -> Result<(), Error> {
    let family = home.family();
    let Some((_, words)) = READING.iter().find(|(of, _)| *of == family) else { return Ok(()) };
    let is_class = group.kind == Kind::Class;
    let is_value = lookup::is_decorated(home, group) || family == Family::Python && lookup::is_passed(world)?;
    let bases = if is_class { lookup::bases(world, home)? } else { BTreeSet::new() };
    let private = format!("_{}__", world.change.from.trim_start_matches('_'));
    let reads = |path: &RepoPath, named: Named| match named {
        Named::Caller => !is_class,
        Named::Class => is_class,
        Named::Function => !is_class && is_value,
        Named::Own => is_class && bases.contains(path),
        Named::Thing => is_class || is_value,
    };
    let makes = |path: &RepoPath, line: &str| {
        let is_made = MAKING.iter().any(|word| line.contains(word))
            || words.iter().any(|word| line.contains(&format!("{word}]")));
        let mut found = words.iter().flat_map(|word| line.match_indices(word));
        family == Family::Python && is_class && line.contains(&private)
            || is_made
                && found.any(|(at, word)| named(family, &line[..at], word).is_some_and(|named| reads(path, named)))
    };
    let found = world.files(family, &|file| Ok(file.text.lines().any(|line| makes(file.path, line))))?;
    refusal.add_files(found, (UNKNOWN, "it makes other texts or keys of the names of functions or classes"))
}

/// The thing whose name a line reads, by the text before the word that does.
fn named(family: Family, before: &str, word: &str) -> Option<Named> {
    // A part of a text for people
    let shown = before.rsplit_once('{').filter(|(_, inner)| !inner.contains('}'));
    let is_for_people = |text: &str| {
        let quote = text.rfind(['"', '\'', '`']).map(|at| (&text[at..=at], &text[at + 1..]));
        quote.is_some_and(|(quote, rest)| text.matches(quote).count() % 2 == 1 && rest.contains(' '))
    };
    if shown.is_some_and(|(text, _)| is_for_people(text)) {
        return None;
    }
    let is_part = |c: char| word::continues(c) || matches!(c, '.' | '(' | ')');
    let object = &before[before.trim_end_matches(is_part).len()..];
    let object = if object.ends_with(')') { object } else { object.rsplit('(').next().unwrap_or_default() };
    let is_own =
        object.ends_with("type(self)") || object.ends_with("self.__class__") || object.ends_with("this.constructor");
    let is_class = ["cls", "class", "type(", "klass", "constructor", "ctor"].iter().any(|part| object.contains(part));
    match () {
        () if word == ".co_name" => Some(Named::Caller),
        () if is_own => Some(Named::Own),
        () if is_class || family == Family::Script && object.starts_with(char::is_uppercase) => Some(Named::Class),
        () if FUNCTIONS.contains(&object) => Some(Named::Function),
        // Any object of a script may have a name.
        () => (family == Family::Python || object == "target").then_some(Named::Thing),
    }
}

/// Refuses a name of which Go code may take a beginning away, as `TrimPrefix(name, "main.Handle")` does.
fn trimmed(world: &World<'_>, home: &Page, refusal: &mut Refusal) -> Result<(), Error> {
    let (from, package) = (world.change.from, home.facts.as_ref().ok().and_then(|facts| facts.package.as_deref()));
    let begins = |text: &str| {
        let path = text.rsplit_once('.').filter(|(path, _)| path.rsplit('/').next() == package);
        path.is_some_and(|(_, begin)| from.starts_with(begin) && begin != from)
    };
    let found = world.files(Family::Go, &|file| Ok(file.text.split(['"', '`']).any(begins)))?;
    if found.is_empty() || !reflects(world, Family::Go, PART)? {
        return Ok(());
    }
    refusal.add_files(found, (UNKNOWN, "a string is the beginning of its name, and code reads names"))
}

/// Refuses a name of which code makes the longer one of a method, as `visit_Name` of `"visit_" + type(x).__name__`.
fn built_of(world: &World<'_>, family: Family, refusal: &mut Refusal) -> Result<(), Error> {
    if !matches!(family, Family::Python | Family::Script) {
        return Ok(());
    }
    let from = world.change.from;
    let read = world.map_files(family, &|Source { text, .. }| {
        let ends = text.match_indices(from).map(|(at, _)| (&text[..at], at + from.len()));
        let ends = ends
            .filter(|(before, end)| before.ends_with(word::continues) && !text[*end..].starts_with(word::continues));
        let longer =
            |(before, end): (&str, usize)| text[before.trim_end_matches(word::continues).len()..end].to_owned();
        Ok(ends.map(longer).collect::<Vec<_>>())
    })?;
    let longer: BTreeSet<String> = read.into_iter().flat_map(|(_, longer)| longer).collect();
    if longer.is_empty() || !reflects(world, family, PART)? {
        return Ok(());
    }
    let what = "it makes names of methods of the names of functions or classes, and there is one of this name";
    refusal.add_files(lookup::building(world, family, &longer)?, (UNKNOWN, what))
}

/// True if TypeScript may record the name as a type in the metadata of a decorator.
fn is_noted(page: &Page) -> bool {
    let is_path = |c: char| word::continues(c) || c == '.';
    let is_type =
        |token: &Token| page.text[..token.range.start].trim_end_matches(is_path).trim_end().ends_with([':', '|']);
    let is_decorated = || page.text.contains("(@") || page.text.lines().any(|line| line.trim_start().starts_with('@'));
    page.tokens.iter().any(is_type) && is_decorated()
}

/// Refuses strings that contain the name, such as `"shape:Name"`, if code builds strings from function or type names.
fn parts(world: &World<'_>, home: &Page, makes_objects: bool, refusal: &mut Refusal) -> Result<(), Error> {
    let is_part = |(page, token): &(&Page, &Token)| {
        let content = page.text[token.around.clone()].trim_matches(['"', '\'', '`']);
        // Paths of modules and files are built by hand.
        let is_other = |c: char| c.is_whitespace() || matches!(c, '.' | '/' | '(' | '{' | '<');
        token.class == Class::Strings && content.len() > token.range.len() && !content.contains(is_other)
    };
    let what = "a longer string contains it, and code builds strings from function or type names";
    by_texts(world, home.family(), Read { makes_objects, ..PART }, &is_part, (what, refusal))
}

/// Refuses places of the name for which a test holds, if code reads the names of functions and types.
fn by_texts(
    world: &World<'_>,
    family: Family,
    of: Read,
    test: &dyn Fn(&(&Page, &Token)) -> bool,
    (what, refusal): (&str, &mut Refusal),
) -> Result<(), Error> {
    let mut found = world.tokens(family)?.filter(test).peekable();
    if found.peek().is_some() && reflects(world, family, of)? {
        refusal.add_tokens(found, (UNKNOWN, what));
    }
    Ok(())
}

/// True if code of a family reads the names of functions and types.
pub(super) fn reflects(world: &World<'_>, family: Family, of: Read) -> Result<bool, Error> {
    let name = (world.change.from, of);
    Ok(!world.files(family, &|file| Ok(reads(file.text.as_bytes(), family, name).is_some()))?.is_empty())
}

/// The use that code makes of a name that it reads.
#[derive(Clone, Copy)]
pub(super) struct Read {
    /// True if the name may be a part of another text.
    is_part: bool,
    /// False for a function that makes no objects.
    makes_objects: bool,
}

/// A name that is kept as it is.
pub(super) const WHOLE: Read = Read { is_part: false, makes_objects: true };
/// A name in a longer text.
const PART: Read = Read { is_part: true, makes_objects: true };

/// The place at which code of a family reads the names of functions and types. A comparison with a text tells no other name.
fn reads(bytes: &[u8], family: Family, (name, of): (&str, Read)) -> Option<usize> {
    let words = REFLECTING.iter().find(|(of, _)| *of == family).map_or(&[][..], |(_, words)| words);
    let words = words.iter().filter(|word| **word != CONSTRUCTOR || of.makes_objects);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    let is_read = |at: usize, end: usize| {
        let rest = bytes[end..].trim_ascii_start();
        let operand = rest.strip_prefix(b"!=").or(rest.strip_prefix(b"=="));
        let operand = operand.map(|operand| operand.strip_prefix(b"=").unwrap_or(operand).trim_ascii_start());
        let text = operand.filter(|operand| operand.starts_with(b"'") || operand.starts_with(b"\""));
        let begin = bytes[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |before| before + 1);
        // `text ${of.name} text`
        let is_part = bytes[..begin].ends_with(b"${") && rest.starts_with(b"}");
        let is_part = is_part && !(bytes[..begin].ends_with(b"`${") && rest.starts_with(b"}`"));
        text.is_none_or(|text| text[1..].starts_with(name.as_bytes())) && (of.is_part || !is_part)
    };
    let found = words.filter_map(|word| {
        let is_whole = |at: usize| at == 0 || word.starts_with('.') || !bytes[at - 1].is_ascii_alphanumeric();
        memchr::memmem::find_iter(bytes, word.as_bytes()).find(|at| is_whole(*at) && is_read(*at, at + word.len()))
    });
    found.min()
}

/// Lists the first file that reads function or type names at run time, since its output may change.
pub(super) fn shown(world: &World<'_>, (home, group): (&Page, &Group), places: &mut Places) -> Result<(), Error> {
    if !group.kind.has_name() {
        return Ok(());
    }
    let (family, name) = (home.family(), world.change.from);
    let line_of = |bytes: &[u8]| {
        let at = reads(bytes, family, (name, PART))?;
        Some(1 + memchr::memchr_iter(b'\n', &bytes[..at]).count() as u64)
    };
    let read = world.map_files(family, &|file| Ok(line_of(file.text.as_bytes())))?;
    let mut found = read.into_iter().filter_map(|(path, line)| Some((path, line?)));
    let Some((path, line)) = found.next() else { return Ok(()) };
    let more = match found.count() {
        0 => String::new(),
        more => format!(", as {} do", counted(more, "more file")),
    };
    let reason = format!("it reads function or type names at run time{more}, and may show or store this one");
    places.mentions.push(of_file(path, Some(line), "mention", reason));
    Ok(())
}

/// True if a file of a family has one of some texts.
pub(super) fn holds(world: &World<'_>, family: Family, words: &[&str]) -> Result<bool, Error> {
    Ok(!world.files(family, &|file| Ok(words.iter().any(|word| file.text.contains(word))))?.is_empty())
}

/// True for the key of an object of a script.
fn is_key(text: &str, word: &Token) -> bool {
    let (before, after) = (text[..word.range.start].trim_end(), text[word.range.end..].trim_start());
    word.class == Class::Code && before.ends_with(['{', ',']) && after.starts_with(':')
}

/// True if a word stands between quotes.
pub(super) fn is_quoted(text: &str, at: &Range<usize>) -> bool {
    is_between(text, at, &['"', '\''])
}

/// True if a word stands between two of some characters.
fn is_between(text: &str, at: &Range<usize>, signs: &[char]) -> bool {
    text[..at.start].ends_with(signs) && text[at.end..].starts_with(signs)
}
