//! The user's tree, read only: beneath the root's handle, without following links, sorted.
//!
//! Nobody else reads the tree. A [`View`] lays the proposals of a dry run over it.

mod glob;
mod ignore_files;
mod ignored;
mod parallel;
mod proposed;
mod set_id;
mod survey;
mod view;
mod walk;

use std::{
    fs::File,
    io::Read,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};

use base::{
    change::{Content, Stamp},
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
    toml_file::TomlFile,
};

pub use glob::Globs;
pub use ignore_files::ignore_files_above;
pub use ignored::IgnoreFiles;
pub use parallel::{parallel_map, parallel_map_with};
pub use proposed::Proposed;
pub use set_id::{SET_ID, SetId};
pub use survey::{Seen, Survey, Visit};
pub use view::{Overlay, View};
pub use walk::Listing;

/// The bytes of a file that are held in memory at most.
const MAX_READ: u64 = 1 << 30;

/// The bytes of a file that are hashed at most: a file with holes may have any length.
const MAX_HASHED: u64 = 64 << 30;

/// The memory that is reserved before a read.
const MAX_RESERVED: u64 = 1 << 20;

/// Becomes true as soon as long operations must stop; none: they never stop.
type Stop<'a> = Option<&'a AtomicBool>;

/// A folder in which runs work.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    handle: OwnedFd,
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Its kind.
    pub kind: Kind,
    /// Permission bits, `0o7777` at most.
    pub mode: u32,
    /// Length in bytes.
    pub length: u64,
    /// Number of hard links.
    pub links: u64,
    /// Device and inode, which identify the file under any name.
    pub identity: (u64, u64),
    /// The numbers of its user and its group.
    pub owner: (u32, u32),
    /// Modification time in nanoseconds since 1970; only ever compared.
    pub modified_ns: i128,
    /// The last change of the file or its attributes, in nanoseconds since 1970; only ever compared.
    pub changed_ns: i128,
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket.
    Other,
}

impl Kind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        }
    }

    /// The name that scripts see.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Folder => "folder",
            Kind::Link => "link",
            Kind::Other => "other",
        }
    }

    /// Its noun, for a sentence such as "`x` is a link".
    pub fn noun(self) -> &'static str {
        match self {
            Kind::File | Kind::Folder | Kind::Link => self.as_str(),
            Kind::Other => "pipe, device or socket",
        }
    }
}

impl Metadata {
    /// True for a folder itself, not for a link to one.
    pub fn is_folder(&self) -> bool {
        self.kind == Kind::Folder
    }

    /// The metadata from the system's answer.
    pub fn of(stat: &Stat) -> Self {
        Metadata {
            kind: Kind::of(FileType::from_raw_mode(stat.st_mode)),
            mode: stat.st_mode & 0o7777,
            length: u64::try_from(stat.st_size).unwrap_or(0),
            links: wide(stat.st_nlink),
            identity: (stat.st_dev, stat.st_ino),
            owner: (stat.st_uid, stat.st_gid),
            modified_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
            changed_ns: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
        }
    }
}

/// A number as wide as on every machine: the system's type differs.
fn wide(n: impl Into<u64>) -> u64 {
    n.into()
}

impl Workspace {
    /// Opens a folder as a workspace.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let absolute = std::path::absolute(root).map_err(|error| Error::io(root.display(), &error))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&absolute, flags, Mode::empty()).map_err(|errno| {
            Error::new(Code::NotFound, format!("the workspace `{}` can't be opened: {errno}", root.display()))
                .hint("give an existing folder with `--root`")
        })?;
        Ok(Workspace { root: absolute, handle })
    }

    /// The same folder for another thread, whatever its path leads to by now.
    pub fn duplicate(&self) -> Result<Self, Error> {
        let handle = self.handle.try_clone().map_err(|error| Error::io(self.root.display(), &error))?;
        Ok(Workspace { root: self.root.clone(), handle })
    }

    /// The root of the workspace that a folder belongs to: the nearest parent with `nrv.toml` or `.git`, else the folder.
    pub fn discover(start: &Path) -> PathBuf {
        let is_root = |folder: &&Path| folder.join("nrv.toml").exists() || folder.join(".git").exists();
        start.ancestors().find(is_root).unwrap_or(start).to_owned()
    }

    /// The root's absolute path, for child processes and messages, not for opening files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The root's handle, for opening files beneath it.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// The metadata at a path; none if nothing is there. Links are not followed, neither there nor on the way.
    pub fn stat(&self, path: &RepoPath) -> Result<Option<Metadata>, Error> {
        let folder = match self.open_parent(path) {
            Ok(folder) => folder,
            Err(error) if error.code() == Code::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match rustix::fs::statat(&folder, path.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Metadata::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Ok(None),
            Err(errno) => Err(refused(path, errno)),
        }
    }

    /// As [`Workspace::stat`] by a single system call. Links to folders on the way are followed, so the answer only identifies
    /// a file that was seen before.
    pub fn look(&self, path: &RepoPath) -> Result<Option<Metadata>, Error> {
        match rustix::fs::statat(self.handle(), path.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Metadata::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Ok(None),
            Err(errno) => Err(refused(path, errno)),
        }
    }

    /// A regular file's bytes and mode.
    pub fn read(&self, path: &RepoPath) -> Result<Content, Error> {
        self.read_with_metadata(path).map(|(content, _)| content)
    }

    /// As [`Workspace::read`], but a symbolic link at the path itself is returned as such: its target, with the mode of a link.
    /// Links on the way are still refused.
    pub fn read_entry(&self, path: &RepoPath) -> Result<Content, Error> {
        self.read_entry_until(path, None)
    }

    fn read_entry_until(&self, path: &RepoPath, stop: Stop<'_>) -> Result<Content, Error> {
        let read =
            self.read_until(path, MAX_READ, stop).and_then(|found| found.ok_or_else(|| too_large(path, MAX_READ)));
        match read {
            Err(error) if error.code() == Code::InvalidPath => self.read_link(path)?.ok_or(error),
            read => read.map(|(content, _)| content),
        }
    }

    /// As [`Workspace::hash`], but a symbolic link at the path itself is an entry of its own.
    pub fn stamp_entry(&self, path: &RepoPath) -> Result<Stamp, Error> {
        self.stamp_entry_until(path, None)
    }

    fn stamp_entry_until(&self, path: &RepoPath, stop: Stop<'_>) -> Result<Stamp, Error> {
        match self.hash_until(path, stop) {
            Err(error) if error.code() == Code::InvalidPath => {
                self.read_link(path)?.map(|link| link.stamp()).ok_or(error)
            }
            result => result,
        }
    }

    /// The link at a path; none for anything else.
    fn read_link(&self, path: &RepoPath) -> Result<Option<Content>, Error> {
        let folder = self.open_parent(path)?;
        match rustix::fs::readlinkat(&folder, path.file_name(), Vec::new()) {
            Ok(target) => Ok(Some(Content::link(target.into_bytes()))),
            Err(Errno::INVAL) => Ok(None),
            Err(errno) => Err(refused(path, errno)),
        }
    }

    /// A regular file's bytes and mode, with the metadata of exactly the file that was read.
    ///
    /// A file of more than a gibibyte is `unreadable`: its length may be a hole that no memory holds.
    pub fn read_with_metadata(&self, path: &RepoPath) -> Result<(Content, Metadata), Error> {
        self.read_until(path, MAX_READ, None)?.ok_or_else(|| too_large(path, MAX_READ))
    }

    fn read_until(&self, path: &RepoPath, limit: u64, stop: Stop<'_>) -> Result<Option<(Content, Metadata)>, Error> {
        let mut bytes = Vec::new();
        let metadata = self.read_bytes(path, limit.min(MAX_READ), &mut bytes, stop)?;
        Ok(metadata.map(|metadata| (Content::new(bytes, metadata.mode), metadata)))
    }

    /// Reads a regular file's bytes into a reused buffer; returns their hash and the file's mode. None if the file has more
    /// than `limit` bytes.
    pub fn read_into(&self, path: &RepoPath, limit: u64, bytes: &mut Vec<u8>) -> Result<Option<Stamp>, Error> {
        self.read_into_until(path, limit, bytes, None)
    }

    fn read_into_until(
        &self,
        path: &RepoPath,
        limit: u64,
        bytes: &mut Vec<u8>,
        stop: Stop<'_>,
    ) -> Result<Option<Stamp>, Error> {
        let metadata = self.read_bytes(path, limit.min(MAX_READ), bytes, stop)?;
        let stamp = |found: Metadata| Stamp { sha256: Sha256::of(bytes), mode: found.mode, length: bytes.len() as u64 };
        Ok(metadata.map(stamp))
    }

    fn read_bytes(
        &self,
        path: &RepoPath,
        limit: u64,
        bytes: &mut Vec<u8>,
        stop: Stop<'_>,
    ) -> Result<Option<Metadata>, Error> {
        bytes.clear();
        let (file, metadata) = self.open_file(path)?;
        if metadata.length > limit {
            return Ok(None);
        }
        // One byte more tells the end of the file without another read.
        let expected = usize::try_from((metadata.length + 1).min(MAX_RESERVED)).unwrap_or(0);
        bytes.try_reserve(expected).map_err(|_| too_large(path, limit))?;
        fill(&file, metadata.length, limit, bytes, stop).map_err(|error| unread(path, &error, stop))?;
        Ok((bytes.len() as u64 <= limit).then_some(metadata))
    }

    /// The text of one of nrv's own files, checked against its bounds; none if nothing is there.
    pub fn read_own_if_there(&self, path: &RepoPath, bounds: TomlFile) -> Result<Option<String>, Error> {
        self.stat(path)?.map(|_| self.read_own(path, bounds)).transpose()
    }

    /// The text of one of nrv's own files, checked against its bounds.
    pub fn read_own(&self, path: &RepoPath, bounds: TomlFile) -> Result<String, Error> {
        let found = self.read_until(path, bounds.most, None)?.ok_or_else(|| bounds.too_long(path))?;
        let text = String::from_utf8(found.0.into_bytes()).map_err(|_| bounds.not_text(path))?;
        bounds.check(&text, path).map(|()| text)
    }

    /// A regular file's hash, mode and length. The file is not held in memory.
    pub fn hash(&self, path: &RepoPath) -> Result<Stamp, Error> {
        self.hash_until(path, None)
    }

    fn hash_until(&self, path: &RepoPath, stop: Stop<'_>) -> Result<Stamp, Error> {
        let (file, metadata) = self.open_file(path)?;
        if metadata.length > MAX_HASHED {
            return Err(too_large(path, MAX_HASHED));
        }
        let file = Until { reader: file.take(MAX_HASHED + 1), stop };
        let (sha256, length) = Sha256::of_reader(file).map_err(|error| unread(path, &error, stop))?;
        if length > MAX_HASHED {
            return Err(too_large(path, MAX_HASHED));
        }
        Ok(Stamp { sha256, mode: metadata.mode, length })
    }

    /// Copies a regular file's bytes into a file outside of the tree; they are not held in memory.
    pub fn copy_into(&self, path: &RepoPath, to: &mut File) -> Result<Metadata, Error> {
        let (mut file, metadata) = self.open_file(path)?;
        std::io::copy(&mut file, to).map_err(|error| Error::io(format!("`{path}` can't be copied"), &error))?;
        Ok(metadata)
    }

    /// Opens a regular file.
    fn open_file(&self, path: &RepoPath) -> Result<(File, Metadata), Error> {
        // Without NONBLOCK, opening a pipe would wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = open_beneath(self.handle(), path, flags).map_err(|errno| refused(path, errno))?;
        let metadata = Metadata::of(&rustix::fs::fstat(&file).map_err(|errno| refused(path, errno))?);
        if metadata.kind != Kind::File {
            let what = metadata.kind.noun();
            return Err(Error::new(Code::Unreadable, format!("`{path}` is a {what}, not a regular file"))
                .hint("give the path of a regular file"));
        }
        Ok((File::from(file), metadata))
    }

    /// The handle of the folder that holds a path, opened beneath the root without following links.
    pub fn open_parent(&self, path: &RepoPath) -> Result<OwnedFd, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let parent = path.parent();
        let name = parent.as_deref().unwrap_or(".");
        open_beneath(self.handle(), name, flags).map_err(|errno| refused(path, errno))
    }
}

fn open_beneath(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    loop {
        match rustix::fs::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            // The kernel asks for another try if the tree was renamed meanwhile.
            Err(Errno::AGAIN | Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Reads to the end of a file, and little further than a limit. One read is enough if the length is unchanged: there was room
/// for more, and no more came.
fn fill(file: &File, length: u64, limit: u64, bytes: &mut Vec<u8>, stop: Stop<'_>) -> std::io::Result<()> {
    if let Ok(n) = rustix::io::read(file, rustix::buffer::spare_capacity(bytes))
        && n as u64 == length
        && bytes.len() < bytes.capacity()
    {
        return Ok(());
    }
    // It may have grown or shrunk since then.
    let rest = file.take((limit + 1).saturating_sub(bytes.len() as u64));
    Until { reader: rest, stop }.read_to_end(bytes).map(|_| ())
}

/// A reader that fails once the operation must stop.
struct Until<'a, R> {
    reader: R,
    stop: Stop<'a>,
}

impl<R: Read> Read for Until<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if is_stopped(self.stop) { Err(std::io::Error::other("stopped")) } else { self.reader.read(buffer) }
    }
}

fn is_stopped(stop: Stop<'_>) -> bool {
    stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
}

fn stopped() -> Error {
    Error::new(Code::Cancelled, "the run was cancelled")
}

fn too_large(path: &RepoPath, limit: u64) -> Error {
    Error::new(Code::Unreadable, format!("`{path}` is too large to be read"))
        .detail("path", path.as_str())
        .detail("limit", limit)
        .hint("leave it out with a glob that begins with `!`")
}

fn unread(path: &RepoPath, error: &std::io::Error, stop: Stop<'_>) -> Error {
    if is_stopped(stop) {
        return stopped();
    }
    Error::io(format!("`{path}` can't be read"), error)
}

fn is_link(path: &RepoPath) -> Error {
    Error::new(Code::InvalidPath, format!("`{path}` is or goes through a symbolic link"))
        .hint("links are not followed; name the file itself")
}

fn refused(path: &RepoPath, errno: Errno) -> Error {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => {
            Error::new(Code::NotFound, format!("`{path}` does not exist"))
        }
        Errno::LOOP => is_link(path),
        Errno::XDEV => Error::new(Code::InvalidPath, format!("`{path}` leaves the workspace")),
        errno => Error::new(Code::Io, format!("`{path}` can't be opened: {errno}")),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[test]
    fn nothing_is_read_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        fs::write(root.join("a"), "A").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("a", root.join("in")).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        assert_eq!(workspace.read(&path("a")).unwrap().into_bytes(), b"A");
        for link in ["out", "up/secret", "in"] {
            assert_eq!(workspace.read(&path(link)).unwrap_err().code(), Code::InvalidPath, "{link}");
        }
        assert_eq!(workspace.read(&path("none")).unwrap_err().code(), Code::NotFound);
        assert_eq!(workspace.read(&path("sub")).unwrap_err().code(), Code::Unreadable);
        assert_eq!(workspace.stat(&path("in")).unwrap().unwrap().kind, Kind::Link);
        assert_eq!(workspace.stat(&path("none/x")).unwrap(), None);
    }

    #[test]
    fn a_link_itself_is_read_as_its_target() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "A").unwrap();
        symlink("../secret", folder.path().join("out")).unwrap();
        symlink(".", folder.path().join("up")).unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let read = |text: &str| workspace.read_entry(&path(text));
        assert_eq!(read("out").unwrap(), Content::link(b"../secret".to_vec()));
        assert_eq!(read("a").unwrap(), workspace.read(&path("a")).unwrap());
        assert_eq!(read("up/a").unwrap_err().code(), Code::InvalidPath);
        assert_eq!(read("none").unwrap_err().code(), Code::NotFound);
    }

    #[test]
    fn a_pipe_is_called_one() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("nrv.toml");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from(0o600), 0).unwrap();
        let error = Workspace::open(folder.path()).unwrap().read(&path("nrv.toml")).unwrap_err();
        assert_eq!(error.message(), "`nrv.toml` is a pipe, device or socket, not a regular file");
    }

    #[test]
    fn a_file_that_no_memory_holds_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let sparse = |name: &str, length: u64| fs::File::create(folder.path().join(name)).unwrap().set_len(length);
        sparse("huge", 8 << 40).unwrap();
        sparse("large", (1 << 30) + 1).unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        for name in ["huge", "large"] {
            let error = workspace.read(&path(name)).unwrap_err();
            assert_eq!((error.code(), error.hint_text().is_some()), (Code::Unreadable, true), "{name}");
        }
        assert_eq!(workspace.hash(&path("huge")).unwrap_err().code(), Code::Unreadable);
    }

    #[test]
    fn a_streamed_hash_is_that_of_the_content() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "A").unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        assert_eq!(workspace.hash(&path("a")).unwrap(), workspace.read(&path("a")).unwrap().stamp());
        assert_eq!(workspace.hash(&path("none")).unwrap_err().code(), Code::NotFound);
    }

    #[test]
    fn the_root_is_the_nearest_parent_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b/c");
        fs::create_dir_all(&inner).unwrap();
        fs::write(folder.path().join("a/nrv.toml"), "").unwrap();
        assert_eq!(Workspace::discover(&inner), folder.path().join("a"));
    }
}
