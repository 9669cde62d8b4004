//! Names that code looks up while it runs: strings that are a name, and strings of which a name is built.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization as _;

use super::{
    link,
    page::{Family, Page},
    params::Comments,
    places::{End, Places},
    refusal::{Refusal, TAKEN, UNKNOWN},
    world::{Source, World},
};
use base::{error::Error, language::Language, path::RepoPath};
use format::name::{
    built,
    facts::{Group, Kind, Origin},
    token::{Class, Token},
    tree::python_text::reads_exports,
    value,
    word::{self, Word},
};

/// The reason against a new name at an example in a comment.
pub(super) const EXAMPLE: &str = "an example in a comment uses it";

/// The reason against a new name in a file that builds names.
pub(super) const BUILT: &str = "it looks up names that begin or end like this one";

/// Calls that look a thing up by the path of its module and its name.
const LOOKING_UP: &[&str] = &["import_string(", "locate(", "patch(", "setattr("];

/// The beginnings of names by which test runners find functions and classes, each with a part of the file's name.
const COLLECTED: &[(Family, &str, &[&str])] = &[
    (Family::Go, "_test.go", &["Benchmark", "Example", "Fuzz", "Test"]),
    (Family::Python, "", &["pytest_"]),
    (Family::Python, "test", &["Test", "load_tests", "setUpModule", "setup", "tearDownModule", "teardown", "test"]),
];

/// The thing that a string may name, and where code may look for its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    /// A parameter of a function that is only called by its name: a string cannot be one of its arguments.
    Called,
    /// A parameter: the names that a test runner gives to parameters are no others.
    Parameter,
    /// Another thing, for whose name code may look in data.
    InData,
    /// Another thing, for whose name code looks in its own strings alone.
    InCode,
}

/// The strings of a file by which code may look for the name. Those that are places of a binding are code themselves.
pub(super) fn texts(page: &Page, sought: Sought) -> impl Iterator<Item = &Token> {
    let facts = page.facts.as_ref().ok();
    let is_code = move |token: &&Token| {
        let at = token.range.start;
        facts.is_some_and(|facts| {
            let mut sites = facts.groups.iter().flat_map(|group| &group.sites);
            sites.any(|site| site.range.start == at)
                || sought != Sought::Parameter && facts.inert.contains(&at)
                || sought == Sought::Called && is_whole(&page.text, token)
                || sought == Sought::InCode && facts.data.contains(&at) && is_whole(&page.text, token)
        })
    };
    let strings = page.tokens.iter().filter(|token| token.class == Class::Strings);
    let tests = [looks_like_code, shows, is_program, is_listed];
    let is_parameter = matches!(sought, Sought::Called | Sought::Parameter);
    let may_name = move |token: &&Token| {
        tests.iter().any(|test| test(&page.text, token)) || is_parameter && is_key(&page.text, token)
    };
    strings.filter(move |token| may_name(token) && !is_code(token))
}

/// True if a string is split into the names that a module of Python exports, as in `__all__ = "a b".split()`.
fn is_listed(text: &str, word: &Token) -> bool {
    let before = text[..word.around.start].trim_end_matches(|c: char| c.is_whitespace() || "([=+\"'".contains(c));
    before.ends_with("__all__")
}

/// True if a string has a word in quotes, as JSON has keys.
fn is_key(text: &str, word: &Token) -> bool {
    let (before, after) = (&text[word.around.start..word.range.start], &text[word.range.end..word.around.end]);
    before.len() > 1 && before.ends_with(['"', '\'']) && after.len() > 1 && after.starts_with(['"', '\''])
}

/// True if a word is all that its string has.
fn is_whole(text: &str, word: &Token) -> bool {
    text[word.around.clone()].trim_matches(['"', '\'', '`']) == &text[word.range.clone()]
}

/// True if a string of Python can mean nothing but the thing of a home: a call looks up the path of its module and its name.
pub(super) fn is_certain(world: &World<'_>, (page, word): (&Page, &Token), home: Option<&str>) -> Result<bool, Error> {
    let quotes = ['"', '\''];
    let before = page.text[..word.around.start].trim_end_matches(quotes).trim_end();
    let is_called = LOOKING_UP.iter().any(|call| before.ends_with(call));
    let path = page.text[word.around.clone()].trim_matches(quotes);
    let (Some((module, name)), Some(home), true) = (path.rsplit_once('.'), home, is_called) else { return Ok(false) };
    let origin = Origin { module: module.to_owned(), name: name.to_owned() };
    Ok(name == world.change.from && link::follow(world, &page.path, &origin)? == End::File(home.to_owned()))
}

/// True if the string around a word is a program that imports it, or that names it as a member of what it imports.
fn is_program(text: &str, word: &Token) -> bool {
    let line = text[..word.range.start].rfind('\n').map_or(0, |end| end + 1).max(word.around.start);
    let is_imported = text[line..word.range.start].contains("import ");
    text[word.around.clone()].contains("import ") && (is_imported || text[..word.range.start].ends_with('.'))
}

/// Refuses Python names in doctests, unless words of comments are renamed too.
pub(super) fn examples(world: &World<'_>, comments: Comments, refusal: &mut Refusal) -> Result<(), Error> {
    let is_kept = |page: &Page| !(comments == Comments::All(true) && page.is_target);
    let words = world.tokens(Family::Python)?.filter(|(page, word)| word.class != Class::Code && is_kept(page));
    for (page, word) in words.filter(|(page, word)| is_doctest(&page.text, word)) {
        refusal.add_text(page, word.range.start, EXAMPLE);
    }
    Ok(())
}

/// Refuses names of scripts that comments import, as `import("./m").Name` of a type, unless words of comments are renamed too.
pub(super) fn documented(world: &World<'_>, comments: Comments, refusal: &mut Refusal) -> Result<(), Error> {
    let is_kept = |page: &Page| !(comments == Comments::All(true) && page.is_target);
    let is_imported = |(page, word): &(&Page, &Token)| {
        let before = &page.text[word.around.start..word.range.start];
        let is_called = ["').", "\")."].iter().any(|end| before.ends_with(end)) && before.contains("import(");
        word.class == Class::Comments && is_kept(page) && (is_called || before.ends_with("@import { "))
    };
    let imported = world.tokens(Family::Script)?.filter(is_imported);
    refusal.add_tokens(imported, (UNKNOWN, "a comment imports it; rename words of comments too"));
    Ok(())
}

/// True if a word stands in a line of a doctest of Python.
fn is_doctest(text: &str, word: &Token) -> bool {
    let line = text[..word.range.start].rfind('\n').map_or(0, |end| end + 1).max(word.around.start);
    let line = text[line..word.range.start].trim_start();
    [">>> ", "... "].iter().any(|prompt| line.starts_with(prompt)) && text[word.around.clone()].contains(">>> ")
}

/// Refuses a new name with which a test runner would find a thing that it did not find, or the other way round.
pub(super) fn collected(world: &World<'_>, (page, group): (&Page, &Group), refusal: &mut Refusal) {
    let file = page.path.rsplit('/').next().unwrap_or_default();
    let of_file = COLLECTED.iter().filter(|(family, part, _)| page.family() == *family && file.contains(part));
    let beginnings: Vec<&str> = of_file.flat_map(|(_, _, beginnings)| *beginnings).copied().collect();
    let found = |name: &str| beginnings.iter().position(|beginning| name.starts_with(beginning));
    if found(world.change.from) != found(world.change.to) {
        refusal.add_lasting(page, group.declared, (UNKNOWN, "a test runner finds it by its name"));
    }
}

/// True if the string around a word has the form in which Python shows a thing: `<Name …>`, `<class 'pkg.Name'>` or `Name(…)`.
fn shows(text: &str, word: &Token) -> bool {
    let quotes = ['"', '\'', '`'];
    let around = &text[word.around.clone()];
    let before = text[word.around.start..word.range.start].trim_start_matches(['f', 'r', '"', '\'', '`']);
    let after = &text[word.range.end..word.around.end];
    let is_call = before.is_empty() && after.starts_with('(') && around.trim_end_matches(quotes).ends_with(')');
    is_call
        || before == "<"
        || ["<function ", "<class '", "<bound method "].iter().any(|begin| before.starts_with(begin))
}

/// True if the string around a word is the name, a path with dots such as `pkg.Name`, or a type such as `"Optional[Name]"`.
fn looks_like_code(text: &str, word: &Token) -> bool {
    let content = text[word.around.clone()].trim_matches(['"', '\'', '`']);
    let is_code = |c: char| c.is_alphanumeric() || "_[]., |:".contains(c);
    let has_blank = content.contains(char::is_whitespace);
    // A value after a label, such as `F:[1]`, is neither a path nor a type.
    let is_labelled = !has_blank && content.contains(":[");
    let is_path = !has_blank && content.contains(['.', ':']);
    let is_name = content == &text[word.range.clone()];
    content.chars().all(is_code) && !is_labelled && (is_name || is_path || content.contains(['[', '|']))
}

/// Refuses Rust names in strings of attributes, such as `default = "name"`, and in code examples of comments.
pub(super) fn named_by_texts(world: &World<'_>, comments: Comments, refusal: &mut Refusal) -> Result<(), Error> {
    for (page, token) in world.tokens(Family::Rust)? {
        let before = &page.text[..token.range.start];
        let what = match token.class {
            Class::Strings if is_in_attribute(before) => "an attribute names it by a text",
            // A method is a different item.
            Class::Comments if before.ends_with('.') => continue,
            Class::Comments if comments != Comments::All(true) && is_example(&page.text, token) => EXAMPLE,
            Class::Code | Class::Comments | Class::Strings => continue,
        };
        refusal.add_text(page, token.range.start, what);
    }
    Ok(())
}

/// Refuses a Rust binding if its pattern would be compared with a variant that every module knows.
pub(super) fn compared(world: &World<'_>, page: &Page, group: &Group, refusal: &mut Refusal) {
    let is_pattern = matches!(group.kind, Kind::Parameter | Kind::Variable);
    if is_pattern && matches!(world.change.to, "Err" | "None" | "Ok" | "Some") {
        let what = (TAKEN, "its pattern would be compared with a variant of the new name");
        refusal.add_lasting(page, group.declared, what);
    }
}

/// Refuses if a Rust text may be the message of an assertion that names the thing.
pub(super) fn asserted(world: &World<'_>, places: &Places, refusal: &mut Refusal) -> Result<(), Error> {
    let asserts = |path: &String| {
        let facts = world.facts(path, world.change.from);
        facts.is_some_and(|facts| ["assert", "debug_assert"].iter().any(|name| facts.macros.contains(*name)))
    };
    if !places.code.keys().any(asserts) {
        return Ok(());
    }
    let is_message = |(page, token): &(&Page, &Token)| {
        let before = &page.text[..token.range.start];
        let is_expected =
            || is_in_attribute(before) && before[before.rfind('#').unwrap_or(0)..].contains("should_panic");
        token.class == Class::Strings && (page.text[token.around.clone()].contains("assertion failed") || is_expected())
    };
    let messages = world.tokens(Family::Rust)?.filter(is_message);
    refusal.add_tokens(messages, (UNKNOWN, "it may be the message of an assertion that names it"));
    Ok(())
}

/// Attributes whose texts are for people.
const MESSAGES: &[&str] = &["deprecated", "must_use", "reason = "];

/// True if a text ends within an attribute that may name something.
fn is_in_attribute(before: &str) -> bool {
    let begin = [before.rfind("#["), before.rfind("#![")].into_iter().flatten().max();
    let is_open = |begin: usize| before[begin..].matches('[').count() > before[begin..].matches(']').count();
    let is_message = |begin: usize| MESSAGES.iter().any(|message| before[begin..].contains(message));
    begin.is_some_and(|begin| is_open(begin) && !is_message(begin))
}

/// True if a word stands in a fenced code block of a doc comment.
fn is_example(text: &str, word: &Token) -> bool {
    let is_documentation =
        |line: &&str| ["///", "//!", "/**", "*"].iter().any(|sign| line.trim_start().starts_with(sign));
    let before = &text[..word.range.start];
    let fences = before.lines().rev().take_while(is_documentation).filter(|line| line.contains("```")).count();
    fences % 2 == 1
}

/// Base classes of Python that register no class by its name.
const PLAIN_BASES: &[&str] = &[
    "",
    "Exception",
    "KeyError",
    "LookupError",
    "NamedTuple",
    "OSError",
    "RuntimeError",
    "TypeError",
    "ValueError",
    "object",
];

/// True if a decorator stands above a declaration or before it.
pub(super) fn is_decorated(home: &Page, group: &Group) -> bool {
    let (above, line) = home.text[..group.declared].rsplit_once('\n').unwrap_or(("", &home.text[..group.declared]));
    let above = above.trim_end().rsplit('\n').next().unwrap_or_default();
    let ends_one = above.ends_with(')') && above.starts_with([')', '}']);
    ends_one || [above, line].iter().any(|line| line.trim_start().starts_with('@'))
}

/// True if code of Python has a thing of the name as a value.
pub(super) fn is_passed(world: &World<'_>) -> Result<bool, Error> {
    for page in world.of_family(Family::Python)? {
        if value::is_passed(&world.tree(Language::Python, &page.text)?, &page.text, world.change.from) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The files that may declare the class, or a class that it inherits from.
pub(super) fn bases(world: &World<'_>, home: &Page) -> Result<BTreeSet<RepoPath>, Error> {
    let read = world.map_files(home.family(), &|file| {
        let heads = file.text.match_indices("class ").map(|(at, class)| &file.text[at + class.len()..]);
        let words = |head: &str| {
            let end = head.find([':', '{']).unwrap_or(head.len());
            head[..end].split(|c| !word::continues(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        Ok(heads.map(words).collect::<Vec<Vec<String>>>())
    })?;
    let mut names = BTreeSet::from([world.change.from.to_owned()]);
    loop {
        let classes = read.iter().flat_map(|(_, classes)| classes);
        let of_class = |class: &&Vec<String>| class.first().is_some_and(|name| names.contains(name));
        let more: BTreeSet<String> = classes.filter(of_class).flatten().cloned().collect();
        if more.is_subset(&names) {
            break;
        }
        names.extend(more);
    }
    let declares =
        |classes: &[Vec<String>]| classes.iter().any(|class| class.first().is_some_and(|name| names.contains(name)));
    let mut files: BTreeSet<RepoPath> =
        read.into_iter().filter(|(_, classes)| declares(classes)).map(|(path, _)| path).collect();
    files.insert(home.path.clone());
    Ok(files)
}

/// True if code may look up the thing by its name in data: code computes names, or a library may register the thing by its name. It
/// may register what is decorated, what inherits from a class, and what is a value.
pub(super) fn may_look_up(world: &World<'_>, (home, group): (&Page, &Group)) -> Result<bool, Error> {
    let rest = &home.text[group.declared + world.change.from.len()..];
    let bases = rest.strip_prefix('(').map_or("", |rest| rest.split(')').next().unwrap_or_default());
    let has_name = group.kind.has_name();
    let inherits = group.kind == Kind::Class && !bases.split(',').all(|base| PLAIN_BASES.contains(&base.trim()));
    if has_name && (is_decorated(home, group) || inherits) {
        return Ok(true);
    }
    if has_name && is_passed(world)? {
        return Ok(true);
    }
    computes(world, built::Sought { name: world.change.from, of_values: false, has_name })
}

/// True if code of Python may look up names that it computes.
pub(super) fn computes(world: &World<'_>, sought: built::Sought<'_>) -> Result<bool, Error> {
    let computes = |file: &Source<'_>| {
        Ok(!file.is_text || built::may_compute(file.text) && built::computes(&file.tree()?, file.text, sought))
    };
    Ok(!world.files(Family::Python, &computes)?.is_empty())
}

/// Python names for reading the frames of callers.
const CALLERS: &[&str] = &["_getframe", "f_back", "stack()"];

/// Python calls that run or read the code of a function.
const APPLYING: &[&str] = &["FunctionType(", "getsource("];

/// Python files that spell the name with other characters, or contain it and run the code of functions.
pub(super) fn spelled(world: &World<'_>) -> Result<Vec<RepoPath>, Error> {
    let (from, to) = world.names();
    let is_plain = |text: &str| [text, from, to].iter().all(|text| text.is_ascii());
    let is_same = |word: &str| {
        let is_other = !is_plain(word) && word != from && word != to;
        is_other && (word.nfkc().eq(from.nfkc()) || word.nfkc().eq(to.nfkc()))
    };
    let word = Word::new(from);
    world.files(Family::Python, &|file| {
        let is_applied = || word.is_in(file.text.as_bytes()) && APPLYING.iter().any(|word| file.text.contains(word));
        Ok(!is_plain(file.text) && file.text.split(|c| !word::continues(c)).any(is_same) || is_applied())
    })
}

/// Functions of Python that run the text of a file.
const RUNNING: &[&str] = &["exec(", "run_path(", "spec_from_file_location("];

/// Other Python files that read variables of their callers. `scope` is `f_locals` or `f_globals`.
pub(super) fn reading(world: &World<'_>, home: &Page, scope: &str) -> Result<Vec<RepoPath>, Error> {
    world.files(Family::Python, &|file| {
        let reads = file.text.contains(scope) && CALLERS.iter().any(|word| file.text.contains(word));
        Ok(reads && *file.path != home.path)
    })
}

/// Other Python files that run the home by its path, or read `__all__` lists if one of them lists the name.
pub(super) fn running(world: &World<'_>, home: &Page, places: &Places) -> Result<Vec<RepoPath>, Error> {
    let file = home.path.rsplit('/').next().unwrap_or_default();
    let is_string = |(path, code): (&String, &BTreeMap<usize, _>)| {
        let text = world.page(path).map_or("", |page| page.text.as_str());
        text.contains("__all__") && code.keys().any(|at| text[..*at].ends_with(['"', '\'']))
    };
    let is_listed = places.code.iter().any(is_string);
    let is_named = |text: &str| text.match_indices(file).any(|(at, _)| text[..at].ends_with(['"', '\'', '/']));
    world.files(Family::Python, &|file| {
        let runs = is_named(file.text) && RUNNING.iter().any(|word| file.text.contains(word));
        Ok((runs || is_listed && reads_exports(file.text)) && *file.path != home.path)
    })
}

/// Refuses if code of Python which lists names chooses the old or the new one by its form.
pub(super) fn chosen(world: &World<'_>, refusal: &mut Refusal) -> Result<(), Error> {
    let names = world.names();
    let chooses = |file: &Source<'_>| Ok(built::may_list(file.text) && built::chooses(&file.tree()?, file.text, names));
    refusal.add_files(world.files(Family::Python, &chooses)?, (TAKEN, "it lists names, and selects some by their form"))
}

/// The files that look up names which they build, and that may build one of these.
pub(super) fn building(world: &World<'_>, family: Family, names: &BTreeSet<String>) -> Result<Vec<RepoPath>, Error> {
    world.files(family, &|file| {
        let (language, text) = (file.language, file.text);
        Ok(built::may_look_up(language, text) && built::builds(language, &file.tree()?, text, names))
    })
}
