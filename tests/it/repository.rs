//! The repository in the view of rules and documentation: the files that git would commit if all were added now.
#![expect(clippy::disallowed_methods, reason = "the repository's own files are what is checked here")]

use std::{fs, path::Path};

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file that `.gitignore` does not name, relative to the root, sorted.
pub(crate) fn files() -> Vec<String> {
    let walk = ignore::WalkBuilder::new(root())
        .standard_filters(false)
        .git_ignore(true)
        .git_exclude(true)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut files = Vec::new();
    for entry in walk {
        let entry = entry.expect("the repository can be listed");
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            let path = entry.path().strip_prefix(root()).expect("the walk stays beneath its root");
            files.push(path.to_str().expect("names in the repository are UTF-8").to_owned());
        }
    }
    files.sort();
    files
}

/// A text file of the repository; none if it is not UTF-8.
#[track_caller]
pub(crate) fn text(path: &str) -> Option<String> {
    let bytes = fs::read(root().join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"));
    String::from_utf8(bytes).ok()
}
