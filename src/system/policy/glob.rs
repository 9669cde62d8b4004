//! Globs of the policy: which paths a list of patterns covers. `*` stays in its folder, `**` does not.

use globset::{GlobBuilder, GlobMatcher};

use base::path::RepoPath;

/// Compiled patterns of one list, in the order of the list.
#[derive(Clone, Debug, Default)]
pub(super) struct PathSet {
    included: Vec<Pattern>,
    excluded: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

impl PathSet {
    /// A list where `!` excludes, whatever the order.
    pub(super) fn new(globs: &[String]) -> Result<Self, String> {
        let mut set = PathSet::default();
        for glob in globs {
            match glob.strip_prefix('!') {
                Some(excluded) => set.excluded.push(Pattern::new(excluded, glob)?),
                None => set.included.push(Pattern::new(glob, glob)?),
            }
        }
        Ok(set)
    }

    /// A list of what is denied: a pattern without `/` means that name at any depth.
    pub(super) fn denied(globs: &[String]) -> Result<Self, String> {
        let at_any_depth = |glob: &String| match glob.contains('/') {
            true => Pattern::new(glob, glob),
            false => Pattern::new(&format!("**/{glob}"), glob),
        };
        Ok(PathSet { included: globs.iter().map(at_any_depth).collect::<Result<_, _>>()?, excluded: Vec::new() })
    }

    /// A list of paths, each with all below it. `x/**` also covers the folder `x`.
    pub(super) fn trees(globs: &[String]) -> Result<Self, String> {
        let whole = |glob: &String| match (glob.contains('/'), glob.strip_suffix("/**")) {
            (false, _) => Pattern::new(&format!("**/{glob}"), glob),
            (true, folder) => Pattern::new(folder.unwrap_or(glob), glob),
        };
        Ok(PathSet { included: globs.iter().map(whole).collect::<Result<_, _>>()?, excluded: Vec::new() })
    }

    /// The reason why the list does not cover a path: a pattern excludes it, or no pattern includes it. None if the list covers it.
    ///
    /// A pattern that excludes a folder excludes everything in it.
    pub(super) fn lacks(&self, path: &RepoPath) -> Option<Lack<'_>> {
        if let Some(pattern) = self.excluded.iter().find(|pattern| pattern.covers(path)) {
            return Some(Lack::Excluded(&pattern.text));
        }
        match self.included.iter().any(|pattern| pattern.matcher.is_match(path.as_str())) {
            true => None,
            false => Some(Lack::NotIncluded),
        }
    }

    /// The first pattern that matches the path or a folder that holds it.
    pub(super) fn covering(&self, path: &RepoPath) -> Option<&str> {
        self.included.iter().find(|pattern| pattern.covers(path)).map(|pattern| pattern.text.as_str())
    }
}

/// Why a list of globs does not cover a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack<'a> {
    /// This pattern excludes it.
    Excluded(&'a str),
    /// No pattern includes it.
    NotIncluded,
}

impl Pattern {
    fn new(glob: &str, text: &str) -> Result<Self, String> {
        Ok(Pattern { text: text.to_owned(), matcher: compile(glob)? })
    }

    fn covers(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        folders.chain([path]).any(|part| self.matcher.is_match(part))
    }
}

/// Compiles one pattern without its `!`; an error is a phrase that goes on after "`PATTERN`, which".
pub(super) fn compile(glob: &str) -> Result<GlobMatcher, String> {
    if glob.is_empty() {
        return Err("names nothing".to_owned());
    }
    if glob.starts_with('/') || glob.starts_with("./") || glob.split('/').any(|part| part == "..") {
        return Err("never matches: globs are relative to the workspace's root, without `./` and `..`".to_owned());
    }
    if glob.ends_with('/') {
        return Err(format!("names no file: write `{glob}**` for everything in the folder"));
    }
    let built = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| format!("is not a glob: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    fn globs(list: &[&str]) -> Vec<String> {
        list.iter().map(|glob| (*glob).to_owned()).collect()
    }

    #[track_caller]
    fn check(list: &[&str], allowed: &[&str], refused: &[&str]) {
        let set = PathSet::new(&globs(list)).unwrap();
        allowed.iter().for_each(|text| assert_eq!(set.lacks(&path(text)), None, "{text}"));
        refused.iter().for_each(|text| assert_ne!(set.lacks(&path(text)), None, "{text}"));
    }

    #[test]
    fn stars_know_folders() {
        check(&["**"], &["a", "a/b/.c"], &[]);
        check(&["*.md"], &["a.md"], &["d/a.md"]);
        check(&["docs/**"], &["docs/a", "docs/a/b"], &["docs", "doc/a", "x/docs/a"]);
        check(&["**/*.md"], &["a.md", "d/e/a.md"], &["a.txt"]);
        check(&["{a,b}/*.rs"], &["a/x.rs"], &["a/b/x.rs", "c/x.rs"]);
        check(&[], &[], &["a"]);
    }

    #[test]
    fn exclusion_wins_in_any_order_and_covers_folders() {
        check(&["!a/b", "a/**"], &["a/c"], &["a/b", "a/b/c"]);
        let set = PathSet::new(&globs(&["**", "!x"])).unwrap();
        assert_eq!(set.lacks(&path("x/y")), Some(Lack::Excluded("!x")));
    }

    #[test]
    fn what_is_denied_is_denied_at_any_depth() {
        let set = PathSet::denied(&globs(&[".env*", "a/secret", "**/*.key"])).unwrap();
        for (text, expected) in [
            (".env", Some(".env*")),
            ("d/.env.local", Some(".env*")),
            (".env.d/x", Some(".env*")),
            ("a/secret/x", Some("a/secret")),
            ("b/a/secret", None),
            ("k.key", Some("**/*.key")),
            ("env", None),
        ] {
            assert_eq!(set.covering(&path(text)), expected, "{text}");
        }
    }

    #[test]
    fn globs_that_can_never_match_are_refused() {
        for bad in ["", "/a", "./a", "../a", "a/../b", "a/", "a[", "{a"] {
            assert!(compile(bad).is_err(), "{bad}");
        }
    }
}
