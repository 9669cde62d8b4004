//! Cases of other projects, from `tests/corpora`: gzipped lines of JSON.
#![expect(clippy::disallowed_methods, reason = "corpora are files of the repository")]

use std::{fs::File, io::Read};

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;

use crate::repository;

/// The cases of `tests/corpora/NAME.jsonl.gz`. A corpus that is missing, empty or unreadable fails the test.
#[track_caller]
pub(crate) fn require<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = format!("tests/corpora/{name}.jsonl.gz");
    let file = File::open(repository::root().join(&path)).unwrap_or_else(|error| {
        panic!("the corpus `{path}` can't be opened: {error}. `git checkout {path}` restores it.")
    });
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap_or_else(|error| panic!("the corpus `{path}`: {error}"));
    let parse = |(at, line)| serde_json::from_str(line).unwrap_or_else(|error| panic!("`{path}`, case {at}: {error}"));
    let cases: Vec<T> = text.lines().enumerate().map(parse).collect();
    assert!(!cases.is_empty(), "the corpus `{path}` has no cases");
    cases
}
