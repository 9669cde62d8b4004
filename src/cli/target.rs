//! A file that the user names for an output of nrv: it is theirs, but no file that no run may write.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use crate::{
    error::{Code, Error},
    path::{RepoPath, protected},
};

/// Where an output is to be written.
pub(super) struct Target {
    path: PathBuf,
    /// True for a file that exists and is no regular one, such as a pipe: it is written into, never replaced.
    special: bool,
}

impl Target {
    /// `what` is written there. Follows links, so that they stay; refuses folders and what no run may write either.
    pub(super) fn of(path: &Path, what: &str) -> Result<Self, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", path.display()), error);
        let found = match path.metadata() {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&error)),
        };
        if found.as_ref().is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            // A pipe that a shell hands over, such as `/dev/fd/63`, has no path but this one.
            return Ok(Target { path: path.to_owned(), special: true });
        }
        let real = match found {
            Some(_) => path.canonicalize().map_err(|error| failed(&error))?,
            None => {
                let folder = path.parent().unwrap_or(path).canonicalize().map_err(|error| failed(&error))?;
                folder.join(path.file_name().unwrap_or_default())
            }
        };
        let refusal = real.to_str().and_then(|text| RepoPath::parse(text.trim_start_matches('/')).ok());
        if let Some(reason) = refusal.and_then(|path| protected::write_refusal(&path)) {
            let message = format!("`{}` is no place for {what}: {reason}", path.display());
            return Err(Error::new(Code::ProtectedPath, message).hint("give another file to `-o`"));
        }
        if found.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(
                Error::new(Code::Unwritable, format!("`{}` is a folder", path.display())).hint("give a file to `-o`")
            );
        }
        Ok(Target { path: real, special: false })
    }

    /// Writes the file whole or not at all.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", self.path.display()), error);
        if self.special {
            #[expect(clippy::disallowed_methods, reason = "a pipe that the user names is theirs to name")]
            return std::fs::write(&self.path, bytes).map_err(|error| failed(&error));
        }
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::Permissions::from_mode(0o666);
        let folder = self.path.parent().unwrap_or(&self.path);
        let file = tempfile::Builder::new().prefix(protected::TEMPORARY).permissions(permissions).tempfile_in(folder);
        let mut file = file.map_err(|error| failed(&error))?;
        file.write_all(bytes).map_err(|error| failed(&error))?;
        file.persist(&self.path).map_err(|error| failed(&error.error))?;
        Ok(())
    }
}
