//! The repository in the view of rules and documentation: the files that git would commit if all were added now.
#![expect(clippy::disallowed_methods, reason = "the repository's own files are what is checked here")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// The repository's root: the folder that cargo names where the tests run, which need not be the one where they were compiled.
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        std::env::var_os("CARGO_MANIFEST_DIR").map_or(env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
    });
    &ROOT
}

/// The program under test.
pub(crate) fn nrv() -> &'static str {
    static NRV: LazyLock<String> =
        LazyLock::new(|| std::env::var("CARGO_BIN_EXE_nrv").unwrap_or_else(|_| env!("CARGO_BIN_EXE_nrv").to_owned()));
    &NRV
}

/// The folder of cargo for files of tests.
pub(crate) fn temporary() -> &'static Path {
    static TEMPORARY: LazyLock<PathBuf> = LazyLock::new(|| {
        std::env::var_os("CARGO_TARGET_TMPDIR").map_or(env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from)
    });
    &TEMPORARY
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
