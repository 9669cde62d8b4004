//! A file that the user names for an output of nrv. Files that no run may write are refused.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use tempfile::NamedTempFile;

use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
};

/// The target of an output.
pub(super) struct Target {
    path: PathBuf,
    /// True for a file that exists and is no regular one, such as a pipe: it is written into, never replaced.
    special: bool,
}

impl Target {
    /// Checks a path for the output `what`. Follows links, so that they stay; refuses folders and files that no run may write.
    pub(super) fn of(path: &Path, what: &str) -> Result<Self, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", path.display()), error);
        let found = match path.metadata() {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&error)),
        };
        if found.as_ref().is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            // A pipe of a shell, such as `/dev/fd/63`, has no other path.
            return Ok(Target { path: path.to_owned(), special: true });
        }
        let real = match found {
            Some(_) => path.canonicalize().map_err(|error| failed(&error))?,
            None => {
                let folder = path.parent().unwrap_or(path).canonicalize().map_err(|error| failed(&error))?;
                folder.join(path.file_name().unwrap_or_default())
            }
        };
        may_be_written(&real, path, what)?;
        if found.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(Error::new(Code::Unwritable, format!("`{}` is a folder", path.display())).hint("choose a file"));
        }
        Ok(Target { path: real, special: false })
    }

    /// Makes a folder for such files, with those above it; it may exist.
    pub(super) fn make_folder(path: &Path, what: &str) -> Result<(), Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be made", path.display()), error);
        let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(path);
        let real = there.canonicalize().map_err(|error| failed(&error))?;
        may_be_written(&real.join(path.strip_prefix(there).unwrap_or(path)), path, what)?;
        #[expect(clippy::disallowed_methods, reason = "a folder that the user names is theirs to name")]
        std::fs::create_dir_all(path).map_err(|error| failed(&error))
    }

    /// Writes the file whole or not at all.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", self.path.display()), error);
        if self.special {
            #[expect(clippy::disallowed_methods, reason = "a pipe that the user names is theirs to name")]
            return std::fs::write(&self.path, bytes).map_err(|error| failed(&error));
        }
        let mut file = self.beside().map_err(|error| failed(&error))?;
        file.write_all(bytes).map_err(|error| failed(&error))?;
        file.persist(&self.path).map_err(|error| failed(&error.error))?;
        Ok(())
    }

    /// Begins the file, which is written piece by piece.
    pub(super) fn grow(&self) -> Result<(Growing, File), Error> {
        let mut growing = Growing { beside: None, path: self.path.clone(), is_kept: AtomicBool::new(false) };
        if self.special {
            #[expect(clippy::disallowed_methods, reason = "a pipe that the user names is theirs to name")]
            let opened = File::options().write(true).open(&self.path);
            return opened.map_err(|error| growing.failed(&error)).map(|file| (growing, file));
        }
        let made = self.beside().and_then(|made| made.keep().map_err(|error| error.error));
        let (file, beside) = made.map_err(|error| growing.failed(&error))?;
        growing.beside = Some(beside);
        Ok((growing, file))
    }

    /// A file in the same folder, under a name that no run sees.
    fn beside(&self) -> std::io::Result<NamedTempFile> {
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::Permissions::from_mode(0o666);
        let folder = self.path.parent().unwrap_or(&self.path);
        tempfile::Builder::new().prefix(protected::TEMPORARY).permissions(permissions).tempfile_in(folder)
    }
}

/// A file that is written piece by piece. Until it is kept it stands beside its place, under a name that no run sees.
pub(super) struct Growing {
    /// Its present place; none if it is written in its final one.
    beside: Option<PathBuf>,
    path: PathBuf,
    is_kept: AtomicBool,
}

impl Growing {
    /// Gives the file its name, once.
    pub(super) fn keep(&self) -> Result<(), Error> {
        let Some(beside) = self.beside.as_ref().filter(|_| !self.is_kept.swap(true, Ordering::Relaxed)) else {
            return Ok(());
        };
        #[expect(clippy::disallowed_methods, reason = "a file that the user names is theirs to name")]
        std::fs::rename(beside, &self.path).map_err(|error| self.failed(&error))
    }

    /// The error of a piece that can't be written.
    pub(super) fn failed(&self, error: &std::io::Error) -> Error {
        Error::io(format!("`{}` can't be written", self.path.display()), error)
    }
}

/// Refuses files that no run may write.
fn may_be_written(real: &Path, path: &Path, what: &str) -> Result<(), Error> {
    let parsed = real.to_str().and_then(|text| RepoPath::parse(text.trim_start_matches('/')).ok());
    let Some(reason) = parsed.and_then(|path| protected::write_refusal(&path)) else { return Ok(()) };
    let message = format!("`{}` is no place for {what}: {reason}", path.display());
    Err(Error::new(Code::ProtectedPath, message).hint("choose another file"))
}
