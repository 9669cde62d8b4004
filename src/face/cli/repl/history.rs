//! Lines of former sessions, in a file that only its owner can read.

use std::{
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use rustyline::{Editor, Helper, history::FileHistory};

use crate::face::cli::redact;
use base::error::{Code, Error};

/// The most inputs that are kept.
pub(super) const MOST: usize = 5000;

/// The file of former inputs.
#[derive(Debug)]
pub(super) struct History(Option<PathBuf>);

impl History {
    /// The user's file: below `XDG_STATE_HOME`, else below `~/.local/state`. Without a home, nothing is kept.
    pub(super) fn find() -> Self {
        let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
        History(state.map(|state| state.join("nrv/history")))
    }

    /// Loads the inputs of the file.
    pub(super) fn load<H: Helper>(&self, editor: &mut Editor<H, FileHistory>) {
        if let Some(path) = self.0.as_deref().filter(|path| path.exists())
            && let Err(error) = editor.load_history(path)
        {
            tracing::warn!("`{}` can't be read: {error}", path.display());
        }
    }

    /// Writes an input at once, so that it survives a crash. One with a secret is not kept.
    pub(super) fn add<H: Helper>(&mut self, editor: &mut Editor<H, FileHistory>, input: &str) {
        if redact::text(input) != input || !editor.add_history_entry(input).unwrap_or(false) {
            return;
        }
        let Some(path) = &self.0 else { return };
        let kept = folder(path)
            .and_then(|()| editor.append_history(path).map_err(|error| Error::new(Code::Io, error.to_string())));
        if let Err(error) = kept {
            tracing::warn!("inputs are not kept in `{}`: {error}", path.display());
            self.0 = None;
        }
    }
}

/// Makes the folder of the file, for its owner alone.
fn folder(path: &Path) -> Result<(), Error> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Error::io(format!("`{}` can't be made", folder.display()), &error))
}

/// A folder that the environment names; a relative one counts as none.
#[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
