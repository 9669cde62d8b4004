//! The looks at the disk that the hook and `nrv gate` take for a command, each bounded: links, folders, archives and patches.

use std::{cell::Cell, io::ErrorKind, path::Path};

use super::{archive, place};
use gate::destructive::{Disk, Listed};
use system::{
    clock::Stopwatch,
    git::{self, Bringing},
    plain_file,
};

/// The most entries of a folder that are listed.
const ENTRIES: usize = 4096;

/// The longest patch that is read, in bytes.
const TEXT: u64 = 1 << 20;

/// The time for all looks of one command, in milliseconds.
const TIME: u64 = 500;

thread_local! {
    /// The time since the start of the command.
    static SINCE: Cell<Option<Stopwatch>> = const { Cell::new(None) };
}

/// The looks for one command; their time begins now.
pub(super) fn looks() -> Disk {
    SINCE.set(Some(Stopwatch::start()));
    Disk { real: place::real, list, members, text, variable, revision, stashed }
}

/// True if the time for looks is over.
fn is_over() -> bool {
    SINCE.get().is_none_or(|since| since.elapsed_ms() > TIME)
}

fn list(folder: &str) -> Listed {
    if is_over() {
        return Listed::Unknown;
    }
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            return match error.kind() {
                ErrorKind::NotFound => Listed::Missing,
                ErrorKind::NotADirectory => Listed::File,
                _ => Listed::Unknown,
            };
        }
    };
    let mut names = Vec::new();
    for entry in entries {
        let Ok(entry) = entry else { return Listed::Unknown };
        if names.len() >= ENTRIES {
            return Listed::Unknown;
        }
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Listed::Folder(names)
}

fn members(path: &str) -> Option<Vec<String>> {
    if is_over() {
        return None;
    }
    archive::members(&plain_file::open(Path::new(path)).ok()?, is_over)
}

fn text(path: &str) -> Option<String> {
    if is_over() {
        return None;
    }
    let file = plain_file::open(Path::new(path)).ok()?;
    Some(String::from_utf8_lossy(&plain_file::all(&file, TEXT).ok()?).into_owned())
}

#[expect(clippy::disallowed_methods, reason = "the line is judged by the environment of the agent's shell")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| value.starts_with('/'))
}

fn revision(root: &str, revision: &str, way: Bringing, wanted: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    let paths = if is_over() { None } else { git::brought(Path::new(root), revision, way, wanted) };
    paths.map(|paths| paths.into_iter().collect())
}

fn stashed(root: &str, with_untracked: bool) -> Option<Vec<String>> {
    let spent = SINCE.get()?.elapsed_ms();
    let names = ["HOME", "XDG_CONFIG_HOME"].into_iter();
    let environment = names.filter_map(|name| Some((name.to_owned(), variable(name)?))).collect();
    let paths = git::stashed(Path::new(root), &environment, with_untracked, TIME.checked_sub(spent)?)?;
    Some(paths.into_iter().collect())
}
