//! The places of git's ignore files, and the ones that are fit to be read.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

/// The name of git's ignore files.
pub(super) const IGNORE: &str = ".gitignore";

/// The longest ignore file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The ignore files above a workspace's root, existing or not. A process that is confined to the root must be able to read
/// them, or its listings would differ.
pub fn ignore_files_above(root: &Path) -> Vec<PathBuf> {
    let Some((real, repository)) = repository_of(root) else { return Vec::new() };
    let above = real.ancestors().skip(1).take_while(|folder| folder.starts_with(&repository));
    let mut files: Vec<PathBuf> = above.map(|folder| folder.join(IGNORE)).collect();
    files.push(exclude_file(&repository));
    files
}

/// The ignore file of a repository outside of its tree. A linked work tree has that of its main repository.
pub(super) fn exclude_file(repository: &Path) -> PathBuf {
    let dot_git = repository.join(".git");
    let named = |file: &Path, before: &str| {
        let text = unfit(file).is_none().then(|| first_line(file)).flatten()?;
        Some(text.strip_prefix(before)?.trim().to_owned())
    };
    let own = named(&dot_git, "gitdir:").map_or(dot_git, |name| repository.join(name));
    let common = named(&own.join("commondir"), "").map_or_else(|| own.clone(), |name| own.join(name));
    common.join("info/exclude")
}

/// The first line of a file with the path of one of git's folders.
fn first_line(file: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(file, flags, Mode::empty()).ok()?);
    let mut line = String::new();
    BufReader::new(file.take(LONGEST)).read_line(&mut line).ok()?;
    Some(line)
}

/// A folder without links on the way, and the repository that contains it.
pub(super) fn repository_of(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let repository = real.ancestors().find(|folder| folder.join(".git").exists())?.to_owned();
    Some((real, repository))
}

/// True for a link. Git follows no links to ignore files in the tree.
pub(super) fn is_link(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// The reason that an ignore file is unreadable, also at the end of a link: reading it would block, or take all memory.
pub(super) fn unfit(file: &Path) -> Option<&'static str> {
    std::fs::metadata(file).ok().and_then(|found| unfit_as(&found))
}

pub(super) fn unfit_as(found: &std::fs::Metadata) -> Option<&'static str> {
    match () {
        () if found.is_dir() => None,
        () if !found.is_file() => Some("is no regular file"),
        () if found.len() > LONGEST => Some("is too long to be read"),
        () => None,
    }
}
