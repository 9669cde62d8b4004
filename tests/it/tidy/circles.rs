//! Files that import each other in a circle. A path through a re-export leads to the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// Imports between files outside tests, by index into the list of sources.
type Imports = Vec<BTreeSet<usize>>;

/// The paths of all files that import each other in a circle, circle by circle, each sorted.
pub(super) fn circles(sources: &[Source]) -> Vec<Vec<&str>> {
    let imports = imports(sources);
    let reached: Vec<BTreeSet<usize>> = (0..sources.len()).map(|from| reached(&imports, from)).collect();
    let mut circles = BTreeMap::new();
    for (file, from) in reached.iter().enumerate().filter(|(file, from)| from.contains(file)) {
        let members = from.iter().copied().filter(|other| reached[*other].contains(&file));
        let mut circle: Vec<&str> = members.map(|other| sources[other].path.as_str()).collect();
        circle.sort_unstable();
        circles.insert(circle.first().copied().unwrap_or_default(), circle);
    }
    circles.into_values().collect()
}

/// All files that a file imports, directly or by way of others.
fn reached(imports: &Imports, from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<usize> = imports[from].iter().copied().collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(&imports[file]);
        }
    }
    reached
}

fn imports(sources: &[Source]) -> Imports {
    let files: BTreeMap<Vec<String>, usize> =
        sources.iter().enumerate().map(|(index, source)| (source.module(), index)).collect();
    let tests = super::test_modules(sources);
    let is_test = |module: &[String]| (1..=module.len()).any(|length| tests.contains(&module[..length]));
    let re_exports = re_exports(sources);
    let mut all = vec![BTreeSet::new(); sources.len()];
    for (index, source) in sources.iter().enumerate().filter(|(_, source)| !is_test(&source.module())) {
        let outside_tests = source.paths().into_iter().filter(|(at, _)| !source.is_test(*at));
        for (_, path) in outside_tests.filter(|(at, _)| !source.is_re_export(*at)) {
            all[index].extend(file_of(&files, &re_exports, path).filter(|other| *other != index));
        }
    }
    all
}

/// The paths that modules export under a name of their own, by that name's path.
fn re_exports(sources: &[Source]) -> BTreeMap<Vec<String>, Vec<String>> {
    let mut re_exports = BTreeMap::new();
    for source in sources {
        for (_, path) in source.paths().into_iter().filter(|(at, _)| source.is_re_export(*at)) {
            let Some(name) = path.last() else { continue };
            let exported: Vec<String> = source.module().into_iter().chain([name.clone()]).collect();
            if exported != path {
                re_exports.insert(exported, path);
            }
        }
    }
    re_exports
}

/// The file that defines the item of a path.
fn file_of(
    files: &BTreeMap<Vec<String>, usize>,
    re_exports: &BTreeMap<Vec<String>, Vec<String>>,
    mut path: Vec<String>,
) -> Option<usize> {
    // No chain of re-exports is longer; a circle of them does not compile.
    for _ in 0..8 {
        let prefixes = (1..=path.len()).rev().map(|length| &path[..length]);
        let known = prefixes.clone().find(|prefix| files.contains_key(*prefix) || re_exports.contains_key(*prefix))?;
        if let Some(index) = files.get(known) {
            return Some(*index);
        }
        let rest = path[known.len()..].to_vec();
        path = re_exports[known].iter().cloned().chain(rest).collect();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&[&str]]) {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        assert_eq!(circles(&sources), expected);
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let (a, b, c) = ("use crate::b::B;", "use super::c::C;", "fn c() { crate::a::a() }");
        check(&[("a.rs", a), ("b.rs", b), ("c.rs", c)], &[&["a.rs", "b.rs", "c.rs"]]);
        check(&[("a.rs", a), ("b.rs", b), ("c.rs", "")], &[]);
    }

    #[test]
    fn a_re_export_leads_to_the_file_that_defines_the_item() {
        let part = ("a/part.rs", "use super::other::Other;");
        check(
            &[("a/mod.rs", "mod part;\npub use self::part::Part;"), part, ("a/other.rs", "use super::Part;")],
            &[&["a/other.rs", "a/part.rs"]],
        );
        check(&[("a/mod.rs", "mod part;\npub use self::part::Part;"), part, ("a/other.rs", "")], &[]);
    }

    #[test]
    fn tests_make_no_circle() {
        check(&[("a.rs", "use crate::b::B;"), ("b.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }")], &[]);
    }
}
