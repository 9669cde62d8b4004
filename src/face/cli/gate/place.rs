//! Resolves a path into the form that the policy uses.

use std::{
    ffi::OsString,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

use crate::face::cli::Here;

/// The most links that are followed on the way to one file.
const MAX_LINKS: usize = 40;

/// The most bytes of a path that the system takes.
const MAX_PATH: usize = 4096;

/// The path relative to the workspace if links lead into it, else absolute.
///
/// Programs differ on the meaning of `..` after a link. Such a path stays as it is, and so is refused.
pub(super) fn in_workspace(here: &Here, path: &Path) -> String {
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let (Some(real), Some(plain)) = (resolved(path), resolved(&plain(path))) else { return shown(path) };
    if real != plain {
        return shown(path);
    }
    shown(real.strip_prefix(here.context.workspace.root()).unwrap_or(&real))
}

/// The path to which one leads through links, from a folder to which none leads.
pub(super) fn real(from: &str, path: &str) -> Option<String> {
    Some(follow(PathBuf::from(from), Path::new(path))?.to_string_lossy().into_owned())
}

/// The absolute path without links, as the system would follow them; the file need not exist.
///
/// None if links lead in circles or the path is too long to be opened.
fn resolved(path: &Path) -> Option<PathBuf> {
    follow(PathBuf::new(), path)
}

/// The same of a path from a folder that no link leads to.
fn follow(from: PathBuf, path: &Path) -> Option<PathBuf> {
    if path.as_os_str().len() > MAX_PATH {
        return None;
    }
    let mut real = from;
    let mut left: Vec<OsString> = reversed(path);
    // A path in a missing folder is no link.
    let (mut links, mut missing) = (0, None);
    while let Some(part) = left.pop() {
        if part == ".." {
            real.pop();
            missing = missing.filter(|depth| real.components().count() >= *depth);
            continue;
        }
        let next = real.join(&part);
        if missing.is_some() {
            real = next;
            continue;
        }
        match std::fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                left.extend(reversed(&target));
            }
            Err(error) => {
                missing = (error.kind() == ErrorKind::NotFound).then(|| next.components().count());
                real = next;
            }
        }
    }
    Some(real)
}

/// The parts of a path, the last first. An absolute path replaces the one that it is joined to.
fn reversed(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).rev().collect()
}

/// A path without `.` and `..`, without a look at the disk.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
