//! A file that the user names for an output of nrv. Files that no run may write are refused, and so is a link that a repository may
//! have planted: it would lead to any file of the user.

use std::{
    fs::File,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

use super::here::current_folder;
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
    text::escape,
};

/// The target of an output.
pub(super) struct Target {
    path: PathBuf,
    /// True for a device or a pipe of a shell: it is written into, never replaced.
    special: bool,
}

impl Target {
    /// Checks a path for the output `what`. Refuses links, folders, pipes and files that no run may write.
    pub(super) fn of(path: &Path, what: &str) -> Result<Self, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", shown(path)), error);
        if !is_device(path) {
            no_links(path)?;
        }
        let found = match path.metadata() {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&error)),
        };
        if found.as_ref().is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            if is_device(path) {
                return Ok(Target { path: path.to_owned(), special: true });
            }
            let message = format!("`{}` is a pipe, device or socket, not a regular file", shown(path));
            return Err(Error::new(Code::Unwritable, message).hint("choose another file"));
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
            return Err(Error::new(Code::Unwritable, format!("`{}` is a folder", shown(path))).hint("choose a file"));
        }
        Ok(Target { path: real, special: false })
    }

    /// Makes a folder for such files, with those above it; it may exist.
    pub(super) fn make_folder(path: &Path, what: &str) -> Result<(), Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be made", shown(path)), error);
        no_links(path)?;
        let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(path);
        let real = there.canonicalize().map_err(|error| failed(&error))?;
        may_be_written(&real.join(path.strip_prefix(there).unwrap_or(path)), path, what)?;
        #[expect(clippy::disallowed_methods, reason = "a folder that the user names is theirs to name")]
        std::fs::create_dir_all(path).map_err(|error| failed(&error))
    }

    /// Writes the file whole or not at all.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", shown(&self.path)), error);
        if self.special {
            return self.open_device().and_then(|mut file| file.write_all(bytes)).map_err(|error| failed(&error));
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
            let opened = self.open_device();
            return opened.map_err(|error| growing.failed(&error)).map(|file| (growing, file));
        }
        let made = self.beside().and_then(|made| made.keep().map_err(|error| error.error));
        let (file, beside) = made.map_err(|error| growing.failed(&error))?;
        growing.beside = Some(beside);
        Ok((growing, file))
    }

    /// Opens a device or a pipe of a shell. A pipe that nobody reads is an error, not a wait for a reader.
    fn open_device(&self) -> std::io::Result<File> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        #[expect(clippy::disallowed_methods, reason = "a device that the user names is theirs to name")]
        let file = File::options().write(true).custom_flags(flags.bits().cast_signed()).open(&self.path)?;
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
        Ok(file)
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
        Error::io(format!("`{}` can't be written", shown(&self.path)), error)
    }
}

/// Folders of the system with devices and the pipes of a shell, which have no other path.
const DEVICES: [&str; 3] = ["/dev", "/dev/fd", "/proc/self/fd"];

fn is_device(path: &Path) -> bool {
    path.parent().is_some_and(|folder| DEVICES.iter().any(|known| folder == Path::new(known)))
}

/// Refuses a path that is a link, and one through a link that a repository may have planted: below the current folder, or else below
/// the outermost workspace on the way. The folders above are the user's own.
fn no_links(path: &Path) -> Result<(), Error> {
    let current = current_folder()?;
    let is_workspace = |folder: &&Path| ["nrv.toml", ".git"].iter().any(|mark| folder.join(mark).exists());
    let start = match path.starts_with(&current) {
        true => Some(current.as_path()),
        false => path.ancestors().filter(is_workspace).last(),
    };
    let below = path.ancestors().take_while(|folder| start.is_some_and(|start| *folder != start));
    let link = below.chain([path]).find(|path| path.is_symlink());
    let Some(link) = link else { return Ok(()) };
    let what = if link == path { "is a link".to_owned() } else { format!("goes through the link `{}`", shown(link)) };
    Err(Error::new(Code::Unwritable, format!("`{}` {what}; outputs follow none", shown(path)))
        .hint("name the file itself"))
}

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}

/// Refuses files that no run may write.
fn may_be_written(real: &Path, path: &Path, what: &str) -> Result<(), Error> {
    let parsed = real.to_str().and_then(|text| RepoPath::parse(text.trim_start_matches('/')).ok());
    let Some(reason) = parsed.and_then(|path| protected::write_refusal(&path)) else { return Ok(()) };
    let message = format!("`{}` is no place for {what}: {reason}", shown(path));
    Err(Error::new(Code::ProtectedPath, message).hint("choose another file"))
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use clap::CommandFactory;

    use super::*;
    use crate::face::cli::arguments::Cli;

    /// The arguments that name an output. All of them go through [`Target`], and `tests/it/outputs.rs` attacks them.
    const WRITTEN: &[&str] = &["folder", "output", "record_llm", "trace"];

    /// The arguments that name an input.
    const READ: &[&str] = &[
        "against",
        "args",
        "baseline",
        "content",
        "file",
        "files",
        "findings",
        "input",
        "key",
        "manifest",
        "params",
        "paths",
        "plan",
        "policy",
        "replay_llm",
        "reply",
        "repositories",
        "root",
        "script",
        "scripts",
        "tls_cert",
        "tls_key",
        "token_file",
        "verify",
    ];

    fn check(command: &clap::Command) {
        let is_path = |one: &&clap::Arg| one.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        for argument in command.get_arguments().filter(is_path) {
            let id = argument.get_id().as_str();
            let is_known = WRITTEN.contains(&id) || READ.contains(&id);
            assert!(is_known, "`{id}` of `{}` stands in no list", command.get_name());
        }
        command.get_subcommands().for_each(check);
    }

    #[test]
    fn every_argument_that_names_a_file_is_known_to_read_or_to_write_it() {
        check(&Cli::command());
    }
}
