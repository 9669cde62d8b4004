//! Paths inside a workspace: relative, normalised, and checked once, on entry.
//!
//! A [`RepoPath`] need not exist on disk; `workspace` and `journal` open it beneath the root's handle.

pub mod bound;
pub mod earlier;
pub mod link;
pub mod prefix;
pub mod protected;

use std::{fmt, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    error::{Code, Error},
    text::shortened,
};

/// The most bytes of a path: the system takes no longer one, and gates and readers look at each of its folders.
const LONGEST: usize = 4095;

/// The most characters of a path that an error shows.
const SHOWN: usize = 200;

/// A path relative to the workspace's root: UTF-8, `/` between components, no `.`, no `..`, never empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RepoPath(String);

impl RepoPath {
    /// Takes a path that a person, a script, a model or a file wrote.
    ///
    /// `./` and doubled slashes are dropped. Absolute paths, `..`, NUL bytes, more bytes than the system takes and the root itself
    /// are `invalid_path`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why: &str| {
            Err(Error::new(Code::InvalidPath, format!("the path `{}` {why}", shortened(text, SHOWN).escape_debug()))
                .hint("give a path inside the workspace, relative to its root"))
        };
        if text.len() > LONGEST {
            return refuse("is longer than 4095 bytes");
        }
        if text.starts_with('/') {
            return refuse("is absolute");
        }
        if text.contains('\0') {
            return refuse("holds a NUL byte");
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return refuse("leaves its folder with `..`");
        }
        if parts.is_empty() {
            return refuse("names no file");
        }
        Ok(RepoPath(parts.join("/")))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The components, first to last.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The folder that holds the file; none for a file in the root.
    pub fn parent(&self) -> Option<RepoPath> {
        self.0.rsplit_once('/').map(|(folder, _)| RepoPath(folder.to_owned()))
    }

    /// The path of an entry of this folder.
    #[must_use]
    pub fn child(&self, name: &str) -> RepoPath {
        RepoPath([&self.0, "/", name].concat())
    }

    /// The path of another file in the same folder.
    #[must_use]
    pub fn sibling(&self, name: &str) -> RepoPath {
        match self.0.rsplit_once('/') {
            Some((folder, _)) => RepoPath(format!("{folder}/{name}")),
            None => RepoPath(name.to_owned()),
        }
    }
}

impl Deref for RepoPath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RepoPath::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(RepoPath::parse(text).ok().as_deref(), expected, "{text:?}");
    }

    #[test]
    fn paths_are_normalised_or_refused() {
        check("a/b.html", Some("a/b.html"));
        check("./a//b/./c/", Some("a/b/c"));
        check("a b/ü.html", Some("a b/ü.html"));
        check("..a/b..", Some("..a/b.."));
        check(&"a/".repeat(2047), Some(&["a"; 2047].join("/")));
        let long =
            ["a/".repeat(2048), "/".repeat(4096), "./".repeat(20_000) + "a", "ä".repeat(2048), "\u{1b}".repeat(5000)];
        for bad in long.iter().map(String::as_str) {
            check(bad, None);
            assert!(RepoPath::parse(bad).unwrap_err().message().len() < 3000);
        }
        for bad in ["", ".", "./", "/etc/passwd", "..", "a/../b", "a/..", "a\0b"] {
            check(bad, None);
        }
    }

    #[test]
    fn neighbours() {
        let path = RepoPath::parse("a/b/c.txt").unwrap();
        assert_eq!(path.file_name(), "c.txt");
        assert_eq!(path.parent().as_deref(), Some("a/b"));
        assert_eq!(&*path.sibling("x"), "a/b/x");
        assert_eq!(&*path.child("x"), "a/b/c.txt/x");
        assert_eq!(&*RepoPath::parse("c").unwrap().sibling("x"), "x");
        assert_eq!(RepoPath::parse("c").unwrap().parent(), None);
    }
}
