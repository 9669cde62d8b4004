//! Where a path leads, as the policy speaks of it.

use std::{
    ffi::OsString,
    path::{Component, Path, PathBuf},
};

use crate::cli::Here;

/// Links that are followed on the way to one file.
const MAX_LINKS: usize = 40;

/// The path relative to the workspace if it is in it, through whatever links lead there, else absolute.
///
/// Programs differ in where `..` leads behind a link: such a path stays as it is, and so is refused.
pub(super) fn in_workspace(here: &Here, path: &Path) -> String {
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let (Some(real), Some(plain)) = (resolved(path), resolved(&plain(path))) else { return shown(path) };
    if real != plain {
        return shown(path);
    }
    shown(real.strip_prefix(here.context.workspace.root()).unwrap_or(&real))
}

/// The path to which an absolute one leads through links.
pub(super) fn real(path: &str) -> Option<String> {
    Some(resolved(Path::new(path))?.to_string_lossy().into_owned())
}

/// The absolute path without links, as the system would follow them, whether the file exists or not; none where links lead in circles.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut real = PathBuf::new();
    let mut left: Vec<OsString> = reversed(path);
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match std::fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                left.extend(reversed(&target));
            }
            Err(_) => real = next,
        }
    }
    Some(real)
}

/// The parts of a path, the last first. What begins at the root replaces what it is joined to.
fn reversed(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).rev().collect()
}

/// A path without `.` and `..`, whatever stands there.
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
