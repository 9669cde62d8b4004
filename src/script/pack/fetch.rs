//! One commit of a git repository, fetched into a private folder that is removed afterwards.
//!
//! Nothing is checked out: the contents are read from the objects, whose hashes git has checked.

use std::path::Path;

use super::{Files, MOST_BYTES, arrange::is_part};
use crate::remote::{Git, GitSource, Surroundings};
use base::{
    error::{Code, Error},
    path::RepoPath,
};
use service::exec::PrivateFolder;
use system::{
    git::commit_files,
    process::sandbox::{Limits, Unasked},
};

/// The bounds of a fetch: a server may send what it likes, and a pack is small.
const LIMITS: Limits = Limits {
    memory: Some(1 << 30),
    file_size: Some(1 << 30),
    processes: None,
    disk: Some(1 << 30),
    unasked: Unasked { memory: true, processes: true },
};

/// Fetches the commit, and returns the files of a pack below a folder of it; an empty name is the whole repository.
///
/// `invalid_input` for links and submodules among them.
pub fn fetch(source: &GitSource, folder: &str, surroundings: &Surroundings<'_>) -> Result<Files, Error> {
    let place = PrivateFolder::make("pack")?;
    let git = Git { place: &place, limits: LIMITS, surroundings };
    let git_folder = git.init(&source.commit, true)?;
    git.fetch(&git_folder, source).map_err(|error| match error.code() {
        Code::Cancelled => error,
        code => Error::new(code, format!("the pack can't be fetched: {}", error.message()))
            .hint("check the address and the commit; nothing was changed"),
    })?;
    let prefix = if folder.is_empty() { String::new() } else { format!("{}/", RepoPath::parse(folder)?) };
    let wanted = |path: &str| {
        path.strip_prefix(&prefix).is_some_and(|path| {
            let first = path.split_once('/').map(|(first, _)| first);
            first.is_none_or(|first| matches!(first, "dta" | "scripts") || first.ends_with(".test"))
        })
    };
    let mut files = Files::new();
    for file in commit_files(Path::new(&git_folder), &source.commit, MOST_BYTES, &wanted)? {
        let below = file.path.strip_prefix(&prefix).unwrap_or(&file.path);
        match file.content {
            Some(content) => {
                files.insert(RepoPath::parse(below)?, content);
            }
            None if is_part(below) => {
                let message = format!("`{}` of the commit is a link or a submodule", file.path.escape_debug());
                return Err(Error::new(Code::InvalidInput, message).hint("a pack holds its files themselves"));
            }
            None => {}
        }
    }
    Ok(files)
}
