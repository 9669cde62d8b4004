//! Rust sources, read just well enough for the rules: comments and strings out of the way, modules, paths, functions.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Mutex,
};

use regex::Regex;

/// The crates of the workspace beside the root package: the name in the sources, and the folder below `src/`.
pub(super) const CRATES: &[(&str, &[&str])] = &[
    ("base", &["base"]),
    ("format", &["format"]),
    ("audit", &["audit"]),
    ("system", &["system"]),
    ("record", &["record"]),
    ("gate", &["service", "gate"]),
    ("llm", &["service", "llm"]),
    ("adapter", &["service", "adapter"]),
    ("service", &["service"]),
    ("host", &["host"]),
    ("flow", &["flow"]),
    ("script", &["script"]),
];

/// A file below `src/`.
pub(super) struct Source {
    /// Its path below `src/`.
    pub(super) path: String,
    /// Its text with comments, strings and characters blanked; every offset and line is as in the file.
    pub(super) code: String,
    /// The ranges of modules in it, outermost first.
    modules: Vec<(Range<usize>, String)>,
    /// The ranges that are compiled for tests only.
    tests: Vec<Range<usize>>,
}

/// A function's name, first line and number of lines.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) lines: usize,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let code = blank(text);
        let mut modules = Vec::new();
        for found in pattern(r"\bmod\s+(\w+)\s*\{").captures_iter(&code) {
            let (whole, name) = (found.get(0).expect("a match"), found[1].to_owned());
            modules.push((whole.start()..block_end(&code, whole.end() - 1), name));
        }
        let tests = code.match_indices("#[cfg(test)]").map(|(at, _)| at..item_end(&code, at)).collect();
        Source { path: path.to_owned(), code, modules, tests }
    }

    /// The room that the file belongs to.
    pub(super) fn room(&self) -> &str {
        room_of(self.path.split('/').filter(|part| *part != "mod.rs"))
    }

    /// The path of the file's module, outermost first.
    pub(super) fn module(&self) -> Vec<String> {
        let path = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let path = path.strip_suffix("/mod").unwrap_or(path);
        path.split('/').map(str::to_owned).collect()
    }

    /// The modules that the file declares, with their own files.
    pub(super) fn declared(&self) -> Vec<String> {
        pattern(r"\bmod\s+(\w+)\s*;").captures_iter(&self.code).map(|found| found[1].to_owned()).collect()
    }

    /// Module paths whose files are compiled for tests only.
    pub(super) fn test_modules(&self) -> Vec<Vec<String>> {
        let declared = pattern(r"\bmod\s+(\w+)\s*;");
        let inside = |found: &regex::Captures<'_>| self.is_test(found.get(0).expect("a match").start());
        let path = |found: regex::Captures<'_>| self.module().into_iter().chain([found[1].to_owned()]).collect();
        declared.captures_iter(&self.code).filter(inside).map(path).collect()
    }

    /// True if the code at an offset is compiled for tests only.
    pub(super) fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    /// True if the path that begins there is exported again.
    pub(super) fn is_re_export(&self, at: usize) -> bool {
        let before = self.code[..at].trim_end();
        let before = before.strip_suffix("::").unwrap_or(before).trim_end();
        let Some(before) = before.strip_suffix("use").map(str::trim_end) else { return false };
        let visible =
            before.strip_suffix(')').and_then(|scoped| scoped.rfind('(')).map_or(before, |open| &before[..open]);
        visible.ends_with("pub")
    }

    /// The line of an offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count() + 1
    }

    /// Every path that begins with a crate's name, `crate`, `super` or `self`, groups taken apart, from `src/`, with its offset.
    pub(super) fn paths(&self) -> Vec<(usize, Vec<String>)> {
        let mut all = Vec::new();
        let mut read = 0;
        let own = self.modules_in_scope();
        let foreign = self.foreign_imports();
        for found in pattern(r"\b([a-z_]+)\s*::").captures_iter(&self.code) {
            let start = found.get(0).expect("a match").start();
            let Some(base) = self.base(&found[1], start) else { continue };
            // A path in a group was taken apart with it, and that of a visibility imports nothing. `::` may stand before a crate.
            let before = self.code[..start].trim_end();
            let is_rooted = before.strip_suffix("::").is_some_and(|before| !before.ends_with(is_of_a_name));
            let is_inner = start < read || before.ends_with("::") && !is_rooted || before.ends_with("(in");
            let is_of_others = foreign.iter().any(|import| import.contains(&start));
            if is_inner || is_of_others || !is_rooted && own.iter().any(|name| *name == &found[1]) {
                continue;
            }
            let mut paths = Vec::new();
            let from = if matches!(&found[1], "super" | "self") { start } else { found.get(0).expect("a match").end() };
            read = expand(&self.code, from, base, &mut paths);
            all.extend(paths.into_iter().map(|path| (start, path)));
        }
        all
    }

    /// The names of crates that stand for modules in this file, since it declares or imports such a module.
    fn modules_in_scope(&self) -> Vec<&'static str> {
        let imports = pattern(r"\b(?:use\s+[^;]*;|mod\s+\w+\s*[;{])");
        // `use script::{self}` names the crate itself.
        let ends = pattern(r"(?:\buse\s+[a-z_]+\s*::\s*\{\s*self\b)|\b([a-z_]+)\s*(?:[;,{}]|::\s*\{\s*self\b)");
        let text = imports.find_iter(&self.code).map(|found| found.as_str());
        let last: BTreeSet<&str> =
            text.flat_map(|text| ends.captures_iter(text)).filter_map(|found| Some(found.get(1)?.as_str())).collect();
        CRATES.iter().map(|(name, _)| *name).filter(|name| last.contains(name)).collect()
    }

    /// The imports from crates that are not of the workspace; a module of theirs may be called like a crate.
    fn foreign_imports(&self) -> Vec<Range<usize>> {
        let imports = pattern(r"\buse\s+(?:::)?(\w+)\b[^;]*;");
        let is_foreign =
            |word: &str| !matches!(word, "crate" | "super" | "self") && !CRATES.iter().any(|(name, _)| *name == word);
        let range = |found: regex::Captures<'_>| is_foreign(&found[1]).then(|| found.get(0).map(|all| all.range()));
        imports.captures_iter(&self.code).filter_map(|found| range(found)?).collect()
    }

    /// The module that the first word of a path names, from `src/`; none if that is a module or a crate of others.
    fn base(&self, word: &str, at: usize) -> Option<Vec<String>> {
        let owned = |path: &[&str]| path.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let module = self.module();
        let is_home =
            |path: &[&str]| module.len() >= path.len() && path.iter().zip(&module).all(|(one, other)| one == other);
        match word {
            "crate" => {
                let homes = CRATES.iter().map(|(_, path)| *path).filter(|path| is_home(path));
                Some(homes.max_by_key(|path| path.len()).map(owned).unwrap_or_default())
            }
            "super" | "self" => {
                let around = self.modules.iter().filter(|(range, _)| range.contains(&at));
                Some(module.into_iter().chain(around.map(|(_, name)| name.clone())).collect())
            }
            _ => CRATES.iter().find(|(name, _)| *name == word).map(|(_, path)| owned(path)),
        }
    }

    /// The end of the block whose brace stands at `open`.
    pub(super) fn end_of_block(&self, open: usize) -> usize {
        block_end(&self.code, open)
    }

    /// The functions outside tests that have a body.
    pub(super) fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for found in pattern(r"\bfn\s+(\w+)").captures_iter(&self.code) {
            let start = found.get(0).expect("a match").start();
            if self.is_test(start) {
                continue;
            }
            let end = item_end(&self.code, start);
            let lines = self.line(end - 1) + 1 - self.line(start);
            functions.push(Function { name: found[1].to_owned(), line: self.line(start), lines });
        }
        functions
    }
}

/// The room of a module path or file path: its first component, or its second one on a floor that has rooms.
pub(super) fn room_of<'a>(mut path: impl Iterator<Item = &'a str>) -> &'a str {
    let room = match (path.next(), path.next()) {
        (Some("base" | "system" | "service" | "face"), Some(room)) => room,
        // Within `script`, these are rooms of their own.
        (Some("script"), Some(room @ ("cases" | "guest" | "own" | "pack" | "reference" | "remote" | "worker"))) => room,
        (Some(floor), _) => floor,
        (None, _) => "the crate's root",
    };
    room.strip_suffix(".rs").unwrap_or(room)
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '>')
}

fn pattern(text: &'static str) -> Regex {
    static COMPILED: Mutex<BTreeMap<&str, Regex>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().expect("no pattern panics");
    compiled.entry(text).or_insert_with(|| Regex::new(text).expect("the pattern is right")).clone()
}

/// Takes a use tree or a path apart, from `at`; returns its end.
fn expand(code: &str, at: usize, mut prefix: Vec<String>, out: &mut Vec<Vec<String>>) -> usize {
    let skip = |at: usize| code.len() - code[at..].trim_start().len();
    let at = skip(at);
    let rest = &code[at..];
    if rest.starts_with('{') {
        let mut at = at + 1;
        loop {
            at = skip(at);
            if !code[at..].starts_with(['}', ',']) {
                at = expand(code, at, prefix.clone(), out);
            }
            // The rest up to the next item, such as `as name`, says nothing about its origin.
            let Some(step) = code[at..].find(['}', ',']) else { return code.len() };
            at += step + 1;
            if code[at - 1..].starts_with('}') {
                return at;
            }
        }
    }
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let end = at + name.len();
    match name.as_str() {
        "self" => {}
        "super" => drop(prefix.pop()),
        "" => prefix.push("*".to_owned()),
        _ => prefix.push(name),
    }
    let next = skip(end);
    if end > at && code[next..].starts_with("::") && !code[next + 2..].starts_with('<') {
        return expand(code, next + 2, prefix, out);
    }
    out.push(prefix);
    end
}

/// The end of the item that begins at `at`: behind its block, or behind the `;` of one without.
fn item_end(code: &str, at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in code[at..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '{' if depth == 0 => return block_end(code, at + offset),
            ';' if depth == 0 => return at + offset + 1,
            _ => {}
        }
    }
    code.len()
}

/// The end of the block that begins at `open`, behind its brace.
fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return open + offset + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Replaces comments, strings and characters with spaces; line feeds stay.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(text, at);
        for byte in &mut out[at..end.unwrap_or(at)] {
            *byte = if *byte == b'\n' { b'\n' } else { b' ' };
        }
        at = end.unwrap_or(at + 1);
    }
    String::from_utf8(out).expect("whole literals were replaced")
}

/// The end of the comment, string or character that begins at `at`; none if none does.
fn literal_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    let find = |from: usize, what: &str| {
        let hit = bytes[from..].windows(what.len()).position(|window| window == what.as_bytes());
        hit.map_or(bytes.len(), |hit| from + hit + what.len())
    };
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => Some(find(at, "\n")),
        [b'/', b'*', ..] => Some(comment_end(rest).map_or(bytes.len(), |length| at + length)),
        [b'"', ..] => Some(string_end(bytes, at + 1)),
        [b'r', b'"' | b'#', ..] if !in_word || bytes[at - 1] == b'b' => {
            let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
            (rest.get(1 + hashes) == Some(&b'"')).then(|| find(at + 2 + hashes, &format!("\"{}", "#".repeat(hashes))))
        }
        [b'\'', b'\\', ..] => Some(find(at + 3, "'")),
        [b'\'', ..] => {
            let c = text[at + 1..].chars().next()?;
            (rest.get(1 + c.len_utf8()) == Some(&b'\'')).then(|| at + 2 + c.len_utf8())
        }
        _ => None,
    }
}

fn comment_end(rest: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match rest.get(at..at + 2)? {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return Some(at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
}

fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn paths(file: &str, text: &str, expected: &[&str]) {
        let source = Source::new(file, text);
        let found: Vec<String> = source.paths().into_iter().map(|(_, path)| path.join("::")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn groups_are_taken_apart() {
        let text =
            "use crate::{hash, workspace::{self, Kind as K, view::{View}}, lock,};\nlet x = crate::gate::check(1);";
        let expected = ["hash", "workspace", "workspace::Kind", "workspace::view::View", "lock", "gate::check"];
        paths("a.rs", text, &expected);
    }

    #[test]
    fn comments_and_strings_name_nothing() {
        let text = "// crate::a\n/* crate::b /* crate::c */ crate::d */ \"crate::e\\\"crate::f\" r#\"crate::g\"# '\"' crate::h";
        paths("a.rs", text, &["h"]);
        paths("a.rs", "fn f<'a>(x: &'a str) { let c = '{'; crate::x::y::<u8>() }", &["x::y"]);
    }

    #[test]
    fn relative_paths_start_from_the_module_around_them() {
        let text =
            "pub(in crate::dta) use super::{scan::Scan, value};\nmod inner { use super::super::value; use self::x; }";
        let expected = ["dta::a::scan::Scan", "dta::a::value", "dta::a::value", "dta::a::b::inner::x"];
        paths("dta/a/b.rs", text, &expected);
        paths("dta/mod.rs", "mod tests { use super::*; }", &["dta::*"]);
        paths("dta/a/b.rs", "use super::{super::{c, super::d}, e};", &["dta::c", "d", "dta::a::e"]);
    }

    #[test]
    fn functions_are_measured_to_their_brace() {
        let text = "fn a(x: [u8; 2]) {\n    \"}\";\n}\ntrait T { fn b(&self); }\n#[cfg(test)]\nmod tests { fn c() {} }";
        let source = Source::new("a.rs", text);
        let found: Vec<_> = source.functions().into_iter().map(|found| (found.name, found.line, found.lines)).collect();
        assert_eq!(found, [("a".to_owned(), 1, 3), ("b".to_owned(), 4, 1)]);
        assert_eq!(source.declared(), Vec::<String>::new());
    }

    #[test]
    fn files_that_only_tests_compile_are_known() {
        let source = Source::new("diff/mod.rs", "mod line;\n#[cfg(test)]\nmod oracle;\n");
        assert_eq!(source.declared(), ["line", "oracle"]);
        assert_eq!(source.test_modules(), [["diff", "oracle"]]);
    }
}
