//! Path prefixes: the folders and files beneath which globs match, and whether two lists of them meet.

use std::collections::BTreeSet;

/// The longest literal folder or file name of each including glob, sorted, `""` for the root: every match is at or beneath one.
pub fn prefixes<S: AsRef<str>>(patterns: &[S]) -> Vec<String> {
    let including = patterns.iter().map(AsRef::as_ref).filter(|pattern| !pattern.starts_with('!'));
    including.map(prefix).collect::<BTreeSet<String>>().into_iter().collect()
}

/// The components before the first one with a special character.
fn prefix(pattern: &str) -> String {
    let parts = pattern.split('/').filter(|part| !matches!(*part, "" | "."));
    let literal = parts.take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\']));
    literal.collect::<Vec<_>>().join("/")
}

/// True if a prefix of either list is at or beneath one of the other.
pub fn overlap(ours: &[String], theirs: &[String]) -> bool {
    let (ours, theirs): (BTreeSet<&str>, BTreeSet<&str>) =
        (ours.iter().map(String::as_str).collect(), theirs.iter().map(String::as_str).collect());
    let beneath = |outer: &BTreeSet<&str>, inner: &str| {
        let folders = inner.match_indices('/').map(|(at, _)| &inner[..at]);
        folders.chain(["", inner]).any(|prefix| outer.contains(prefix))
    };
    ours.iter().any(|path| beneath(&theirs, path)) || theirs.iter().any(|path| beneath(&ours, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_by_component() {
        let overlap = |a: &str, b: &str| overlap(&[a.to_owned()], &[b.to_owned()]);
        assert!(
            overlap("a", "a/b") && overlap("a/b", "a") && overlap("", "x") && overlap("x", "") && overlap("a", "a")
        );
        assert!(overlap("a/b/c", "a") && !overlap("a", "ab") && !overlap("a/b", "a/c") && !overlap("a/b", "b"));
    }
}
