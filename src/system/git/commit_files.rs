//! The files of a commit in a bare repository, with their contents: nothing is checked out, and no filter runs.

use std::{path::Path, sync::atomic::AtomicBool};

use gix::index::entry::Mode;

use super::{error::said, tree};
use base::{
    change::Content,
    error::{Code, Error},
};

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFile {
    /// Its path, as git names it.
    pub path: String,
    /// Its content and mode; none for a link or a submodule.
    pub content: Option<Content>,
}

/// Reads the files of a commit that `wanted` names, sorted by path.
///
/// `not_found` if the repository lacks the commit, `invalid_input` if all of them have more than `most` bytes.
pub fn commit_files(
    git_dir: &Path,
    commit: &str,
    most: u64,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<CommitFile>, Error> {
    let unreadable = |why: String| Error::new(Code::NotFound, format!("the commit `{commit}` can't be read: {why}"));
    let repository = gix::open::Options::isolated()
        .with(gix::sec::Trust::Reduced)
        .open_path_as_is(true)
        .open(git_dir)
        .map_err(|error| unreadable(said(&error)))?
        .to_thread_local();
    let id = gix::ObjectId::from_hex(commit.as_bytes()).map_err(|error| unreadable(error.to_string()))?;
    let object = repository.find_object(id).map_err(|error| unreadable(error.to_string()))?;
    let found = object.try_into_commit().map_err(|error| unreadable(error.to_string()))?;
    let root = found.tree_id().map_err(|error| unreadable(error.to_string()))?;
    let (mut files, mut bytes) = (Vec::new(), 0_u64);
    for listed in tree::files(&repository, root.detach(), &AtomicBool::new(false))? {
        let path = String::from_utf8_lossy(&listed.path).into_owned();
        if !wanted(&path) {
            continue;
        }
        if path.as_bytes() != listed.path.as_slice() {
            let message = format!("`{}` of the commit has a name that is not UTF-8", path.escape_debug());
            return Err(Error::new(Code::InvalidInput, message).hint("no path can name it"));
        }
        let mode = match listed.mode {
            Mode::FILE => Some(0o644),
            Mode::FILE_EXECUTABLE => Some(0o755),
            _ => None,
        };
        let content = match mode {
            Some(mode) => {
                let blob = repository.find_blob(listed.id).map_err(|error| unreadable(error.to_string()))?;
                bytes += blob.data.len() as u64;
                if bytes > most {
                    let message = format!("the files of the commit have more than {most} bytes");
                    return Err(Error::new(Code::InvalidInput, message));
                }
                Some(Content::new(blob.data.clone(), mode))
            }
            None => None,
        };
        files.push(CommitFile { path, content });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
