//! Errors about a repository.

use base::error::{Code, Error};

/// The first line of an error of git's reader.
pub(super) fn said(error: &gix::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or("it gave no reason").to_owned()
}

/// The state of the tree is unknown for a reason.
pub(super) fn unknown(why: &str) -> Error {
    Error::new(Code::DirtyTree, format!("nrv can't tell whether the tree is clean: {why}"))
        .hint("make `git status` work here, or start with `--allow-dirty`")
}
