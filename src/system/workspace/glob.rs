//! Sets of globs: `*` stays inside a folder, `**` does not, `!` excludes.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use base::{
    error::{Code, Error},
    path::{RepoPath, bound, prefix},
};

/// Globs that a path matches if it matches at least one of them and none of those with `!`.
#[derive(Clone, Debug)]
pub struct Globs {
    patterns: Vec<String>,
    included: GlobSet,
    excluded: GlobSet,
}

impl Globs {
    /// Compiles globs. At least one must be without `!`; a leading `./` is dropped.
    ///
    /// Absolute globs and those with `..` are `invalid_path`; those that don't compile, and lists that would take too much memory,
    /// are `invalid_input`.
    pub fn parse<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Error> {
        bound::check(patterns).map_err(|said| {
            Error::new(Code::InvalidInput, format!("a list of globs {said}"))
                .hint("name folders, such as `site/**`, or ask several times")
        })?;
        Self::of_any_size(patterns)
    }

    /// Compiles any number of globs, as [`Globs::parse`]: for globs that stand for the files of a change.
    pub fn of_any_size<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Error> {
        let mut included = GlobSetBuilder::new();
        let mut excluded = GlobSetBuilder::new();
        let mut n_included = 0;
        for pattern in patterns.iter().map(AsRef::as_ref) {
            match pattern.strip_prefix('!') {
                Some(rest) => excluded.add(compile(rest)?),
                None => {
                    n_included += 1;
                    included.add(compile(pattern)?)
                }
            };
        }
        if n_included == 0 {
            return Err(Error::new(Code::InvalidInput, "no glob says which files are meant")
                .hint("give at least one glob without `!`, such as `site/**/*.html`"));
        }
        let invalid =
            |error: globset::Error| Error::new(Code::InvalidInput, format!("the globs can't be used: {error}"));
        Ok(Globs {
            patterns: patterns.iter().map(|pattern| pattern.as_ref().to_owned()).collect(),
            included: included.build().map_err(invalid)?,
            excluded: excluded.build().map_err(invalid)?,
        })
    }

    /// The glob that matches one path and no other.
    pub fn literal(path: &RepoPath) -> String {
        // A glob that begins with `!` excludes.
        let start = if path.starts_with('!') { "./" } else { "" };
        format!("{start}{}", globset::escape(&path.replace('\\', "\\\\")))
    }

    /// True if the path matches.
    pub fn matches(&self, path: &RepoPath) -> bool {
        self.included.is_match(path.as_str()) && !self.excluded.is_match(path.as_str())
    }

    /// The globs as they were given.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// The longest literal folder or file name of each including glob, `""` for the root: every match is at or beneath it.
    pub fn prefixes(&self) -> Vec<String> {
        prefix::prefixes(&self.patterns)
    }
}

fn compile(pattern: &str) -> Result<globset::Glob, Error> {
    let trimmed = pattern.trim_start_matches("./");
    if trimmed.starts_with('/') || trimmed.split('/').any(|part| part == "..") {
        return Err(Error::new(Code::InvalidPath, format!("the glob `{pattern}` leaves the workspace"))
            .hint("give a glob relative to the workspace's root"));
    }
    GlobBuilder::new(trimmed).literal_separator(true).build().map_err(|error| {
        Error::new(Code::InvalidInput, format!("the glob `{pattern}` can't be used: {}", error.kind()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patterns: &[&str], path: &str, expected: bool) {
        assert_eq!(Globs::parse(patterns).unwrap().matches(&RepoPath::parse(path).unwrap()), expected);
    }

    #[test]
    fn stars_know_folders() {
        check(&["*.html"], "a.html", true);
        check(&["*.html"], "a/b.html", false);
        check(&["**/*.html"], "b.html", true);
        check(&["site/**/*.html"], "site/b.html", true);
        check(&["site/**"], "site/a/b", true);
        check(&["./site/**", "!site/old/**"], "site/old/x", false);
        check(&["{a,b}/*"], "b/x", true);
    }

    #[test]
    fn lists_that_take_too_much_memory_are_refused() {
        let many: Vec<String> = (0..10_001).map(|n| format!("a{n}/**/*.html")).collect();
        Globs::parse(&many[1..]).unwrap();
        let error = Globs::parse(&many).unwrap_err();
        assert_eq!(
            (error.code(), error.message()),
            (Code::InvalidInput, "a list of globs has 10001 entries, and may have 10000")
        );
        let paths: Vec<String> = (0..10_001).map(|n| format!("a{n}")).collect();
        assert!(Globs::of_any_size(&paths).unwrap().matches(&RepoPath::parse("a7").unwrap()));
    }

    #[test]
    fn globs_stay_inside() {
        for bad in ["/etc/*", "../x/*", "a/../../x"] {
            assert_eq!(Globs::parse(&[bad]).unwrap_err().code(), Code::InvalidPath);
        }
        assert_eq!(Globs::parse(&["!a"]).unwrap_err().code(), Code::InvalidInput);
        assert_eq!(Globs::parse(&["a["]).unwrap_err().code(), Code::InvalidInput);
    }

    #[test]
    fn a_literal_glob_matches_its_path_alone() {
        for path in ["a/b.html", "!a", "a/[b]*.html", "{a,b}/?", "a\\*b", "[!a]", "\\", "**/x", "a b"] {
            let path = RepoPath::parse(path).unwrap();
            let globs = Globs::parse(&[Globs::literal(&path)]).unwrap();
            let others = ["a", "b", "a/bb.html", "a/x/x", "x", "ab", "a\\xb", "a/b"];
            let hits = others.iter().filter(|other| globs.matches(&RepoPath::parse(other).unwrap())).count();
            assert_eq!((globs.matches(&path), hits), (true, 0), "{path}");
        }
    }

    #[test]
    fn prefixes_are_what_is_fixed() {
        let globs = Globs::parse(&["site/**/*.html", "!site/x", "docs/a.md", "*.css", "s/{a,b}/c"]).unwrap();
        assert_eq!(globs.prefixes(), ["", "docs/a.md", "s", "site"]);
    }
}
