//! The folders on disk: `.runs` and one folder a run. The only file that opens record files by their paths.
#![expect(
    clippy::disallowed_methods,
    reason = "this file owns the record folders; nothing here takes a path of the user's tree"
)]

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{ErrorKind, Read, Write},
    os::unix::{
        ffi::OsStringExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use rustix::fs::{CWD, RenameFlags};

use crate::shared_file::{HEADS, append_to, failed, open_own, read_if_there};
use base::{
    error::{Code, Error, nearest},
    hash::Sha256,
    path::protected::RUNS,
};
use system::{clock, plain_file};

/// The form of `.runs` that this version reads and writes. Where nothing says which it is, it is the first.
const FORMAT: u64 = 1;

/// The file that says which form `.runs` has.
const FORMAT_FILE: &str = "format";

/// Says that every run with an open transaction has a lease; below `locks`, with which it goes.
const LEASES: &str = "locks/complete";

/// The folder of all records of a workspace, `.runs`.
#[derive(Clone, Debug)]
pub struct Runs {
    folder: PathBuf,
    /// Set once the form is known to be one that can be read.
    is_readable: Arc<OnceLock<()>>,
}

/// The folder of one run's record. Nothing but paths: whoever writes holds the run's lease.
#[derive(Clone, Debug)]
pub struct RunFolder {
    id: String,
    folder: PathBuf,
}

/// The word that stands for the latest run: the one with the greatest id. Ids begin with the time, so that after a clock
/// went backwards an older run may be meant; ids alone order runs, and nothing else is asked.
const LAST: &str = "last";

/// An id that sorts by time: `20261121T202000Z-7f3a`. `salt` tells runs of one millisecond apart.
pub fn run_id(now_ms: u64, salt: &str) -> String {
    let chance = Sha256::of(format!("{now_ms} {salt}").as_bytes()).as_bytes()[0];
    // Four hex digits hold the millisecond and 65 places within it.
    let suffix = now_ms % 1000 * 65 + u64::from(chance) % 65;
    format!("{}-{suffix:04x}", clock::compact(now_ms))
}

/// True for an id of the form that [`run_id`] makes: nothing else in the folder is a run.
fn is_run_id(text: &str) -> bool {
    let Some((time, suffix)) = text.split_once('-') else { return false };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = time.len() == 16 && time.is_ascii() && digits(&time[..8]) && digits(&time[9..15]);
    let is_suffix = suffix.len() == 4 && suffix.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_time && &time[8..9] == "T" && time.ends_with('Z') && is_suffix
}

impl Runs {
    /// The records of a workspace; nothing is made yet.
    pub fn of(root: &Path) -> Self {
        Runs { folder: root.join(RUNS), is_readable: Arc::default() }
    }

    /// Checks that what all runs share is the workspace's own: folders, and files that have no other name and no end elsewhere.
    ///
    /// The folder may come from somebody else, with a repository. `record_damaged` names the entry.
    fn check_own(&self) -> Result<(), Error> {
        let locks = self.folder.join("locks");
        let is_folder = |path: &Path| fs::symlink_metadata(path).map_or(true, |found| found.is_dir());
        let is_file =
            |path: &Path| fs::symlink_metadata(path).map_or(true, |found| found.is_file() && found.nlink() == 1);
        let mut files: Vec<PathBuf> = [".gitignore", FORMAT_FILE, HEADS].map(|name| self.folder.join(name)).into();
        let mut foreign = [&self.folder, &locks].into_iter().find(|path| !is_folder(path)).cloned();
        if foreign.is_none() && locks.exists() {
            let entries = fs::read_dir(&locks).map_err(|error| failed(&locks, &error))?;
            files.extend(entries.flatten().map(|entry| entry.path()));
        }
        files.sort_unstable();
        foreign = foreign.or_else(|| files.into_iter().find(|path| !is_file(path)));
        let Some(foreign) = foreign else { return Ok(()) };
        let name = foreign.strip_prefix(&self.folder).unwrap_or(&foreign).display().to_string();
        let name = if name.is_empty() { RUNS.to_owned() } else { format!("{RUNS}/{name}") };
        Err(Error::new(Code::RecordDamaged, format!("`{}` is not a file or folder of its own", name.escape_debug()))
            .hint("records are written through no link; look where it comes from, and remove it"))
    }

    /// An error if what all runs share can't be used, as [`Runs::list`] gives.
    pub fn check(&self) -> Result<(), Error> {
        self.check_format()
    }

    /// An error if a later version has given the folder another form. Nothing in it is read or written then.
    pub(super) fn check_format(&self) -> Result<(), Error> {
        if self.is_readable.get().is_some() {
            return Ok(());
        }
        self.check_own()?;
        let bytes = read_if_there(&self.folder.join(FORMAT_FILE))?;
        let text = bytes.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        match text.trim() {
            "" => {}
            text if text.parse().is_ok_and(|format: u64| (1..=FORMAT).contains(&format)) => {}
            text => {
                let shown: String = text.chars().take(20).collect();
                let message =
                    format!("`{RUNS}` has the format `{}`, and this version reads {FORMAT}", shown.escape_debug());
                return Err(Error::new(Code::InvalidInput, message)
                    .detail("format", shown)
                    .detail("reads", FORMAT)
                    .hint("use the version of nrv that wrote it, or move the folder away to begin anew"));
            }
        }
        let _ = self.is_readable.set(());
        Ok(())
    }

    /// True if only runs with a lease can have died or have something open.
    pub fn knows_leases(&self) -> bool {
        self.folder.join(LEASES).exists()
    }

    /// From now on only runs with a lease are looked at, since all others were.
    pub fn trust_leases(&self) -> Result<(), Error> {
        write_file(&self.folder.join(LEASES), &[b""])
    }

    /// Waits until the leases are on the disk: what is open after a loss of power has to have one.
    pub fn sync_leases(&self) -> Result<(), Error> {
        let path = self.folder.join("locks");
        File::open(&path).and_then(|folder| folder.sync_all()).map_err(|error| failed(&path, &error))
    }

    /// The run of exactly that id; none if there is no record of it.
    pub fn find(&self, id: &str) -> Option<RunFolder> {
        self.known(id)
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder if it is missing. One that is a link or no folder is refused: records would go elsewhere.
    pub fn prepare(&self) -> Result<(), Error> {
        if fs::symlink_metadata(&self.folder).is_ok_and(|found| !found.is_dir()) {
            return Err(Error::new(Code::Io, format!("`{RUNS}` is not a folder of its own"))
                .hint("remove the link or file of that name"));
        }
        self.check_format()?;
        make_folder(&self.folder)?;
        let format = self.folder.join(FORMAT_FILE);
        if !format.exists() {
            write_file(&format, &[format!("{FORMAT}\n").as_bytes()])?;
        }
        let ignore = self.folder.join(".gitignore");
        if !ignore.exists() {
            write_file(&ignore, &[b"*\n"])?;
        }
        make_folder(&self.folder.join("locks"))
    }

    /// Makes the folder of a new run; the id is derived from the time, and another is tried if it is taken.
    pub fn create(&self, now_ms: u64, process: u32) -> Result<RunFolder, Error> {
        self.prepare()?;
        for attempt in 0..1000 {
            let id = run_id(now_ms, &format!("{process} {attempt}"));
            let folder = self.folder.join(&id);
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    let run = RunFolder { id, folder };
                    // A folder without a record would stand for a run that died.
                    return match run.furnish() {
                        Ok(()) => Ok(run),
                        Err(error) => run.remove().and(Err(error)),
                    };
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&folder, &error)),
            }
        }
        Err(Error::new(Code::Internal, "no free run id was found"))
    }

    /// A folder in which a run's record is put together before it takes its place; what an earlier try left is removed.
    pub(super) fn stage(&self, id: &str) -> Result<RunFolder, Error> {
        self.prepare()?;
        let run = RunFolder { id: id.to_owned(), folder: self.folder.join(format!(".import-{id}")) };
        if run.folder.exists() {
            run.remove()?;
        }
        run.furnish()?;
        Ok(run)
    }

    /// Puts a staged record in its place, where none is, or one of the same run that lacks the contents which this has.
    pub(super) fn place(&self, staged: &RunFolder, has_contents: bool) -> Result<RunFolder, Error> {
        let run = RunFolder { id: staged.id.clone(), folder: self.folder.join(&staged.id) };
        if fs::symlink_metadata(&run.folder).is_err() {
            fs::rename(&staged.folder, &run.folder).map_err(|error| failed(&run.folder, &error))?;
        } else if has_contents && run.lacks_contents()? {
            rustix::fs::renameat_with(CWD, &staged.folder, CWD, &run.folder, RenameFlags::EXCHANGE)
                .map_err(|error| failed(&run.folder, &error.into()))?;
            staged.remove()?;
        } else {
            return Err(Error::new(Code::InvalidInput, format!("there is a run `{}` here already", staged.id))
                .hint("a record is overwritten only by an export of it with the contents that it lacks"));
        }
        Ok(run)
    }

    /// The folder of a run; an id may be shortened as long as it fits one run only, and `last` is the latest run.
    pub fn open(&self, id: &str) -> Result<RunFolder, Error> {
        self.check_format()?;
        // Whoever walks through all runs must not list them again for each.
        if let Some(run) = self.known(id) {
            return Ok(run);
        }
        let ids = self.list()?;
        let id = if id == LAST { ids.last().map_or(LAST, String::as_str) } else { id };
        let hits: Vec<&String> = ids.iter().filter(|known| known.starts_with(id) && !id.is_empty()).collect();
        let exact = ids.iter().find(|known| *known == id);
        match (exact, hits.as_slice()) {
            (Some(id), _) => Ok(RunFolder { id: id.clone(), folder: self.folder.join(id) }),
            (None, [id]) => Ok(RunFolder { id: (*id).clone(), folder: self.folder.join(id) }),
            (None, []) => {
                let near = nearest(id, ids.iter().map(String::as_str));
                Err(Error::new(Code::NotFound, format!("there is no run `{id}`")).hint(
                    near.map_or("`nrv runs list` shows them".to_owned(), |near| format!("did you mean `{near}`?")),
                ))
            }
            (None, _) => Err(Error::new(Code::NotFound, format!("`{id}` fits {} runs", hits.len()))
                .hint("give more of the id; `nrv runs list` shows them")),
        }
    }

    /// The run of exactly that id, if there is one.
    fn known(&self, id: &str) -> Option<RunFolder> {
        let folder = self.folder.join(id);
        let is_there = is_run_id(id) && fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
        is_there.then(|| RunFolder { id: id.to_owned(), folder })
    }

    /// The ids of all runs, sorted: oldest first, as far as the clock never went backwards.
    pub fn list(&self) -> Result<Vec<String>, Error> {
        self.check_format()?;
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let unlisted = |error: std::io::Error| Error::io("`.runs` can't be listed", &error);
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(unlisted)? {
            let entry = entry.map_err(unlisted)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Neither the locks nor what is being imported.
            if is_run_id(&name) && entry.file_type().map_err(unlisted)?.is_dir() {
                ids.push(name);
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }
}

impl RunFolder {
    /// Makes the folders that every record has. What copies records without empty folders leaves them out.
    pub fn furnish(&self) -> Result<(), Error> {
        let parts = ["packs", "journal", "artifacts", "dta", "confirmations"];
        parts.iter().try_for_each(|part| make_folder(&self.folder.join(part)))
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The folder that holds all runs.
    pub fn parent(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// The time part of the id, which names the run's artefacts.
    pub fn timestamp(&self) -> &str {
        self.id.split('-').next().unwrap_or(&self.id)
    }

    /// Makes a folder of the run's, if there is none.
    pub fn make_folder(&self, name: &str) -> Result<(), Error> {
        make_folder(&self.folder.join(name))
    }

    /// Writes a record file whole: a temporary file, then a rename. Mode 0600; folders on the way are made.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.write_parts(name, &[bytes])
    }

    /// As [`RunFolder::write`], one part behind the other.
    pub fn write_parts(&self, name: &str, parts: &[&[u8]]) -> Result<(), Error> {
        let path = self.folder.join(name);
        if let Some(parent) = path.parent() {
            make_folder(parent)?;
        }
        write_file(&path, parts)
    }

    /// Reads a record file.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        self.read_up_to(name, plain_file::LONGEST)
    }

    /// As [`RunFolder::read`], so many bytes at most.
    pub fn read_up_to(&self, name: &str, most: u64) -> Result<Vec<u8>, Error> {
        let file = self.open_file(name)?.ok_or_else(|| self.missing(name))?;
        plain_file::all(&file, most).map_err(|error| failed(&self.folder.join(name), &error))
    }

    /// The target of a symbolic link in the record: a pre-image that is one.
    pub fn read_link(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.folder.join(name);
        match fs::read_link(&path) {
            Ok(target) => Ok(target.into_os_string().into_vec()),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {
                Err(self.missing(name))
            }
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// A pre-image with its mode: a file's bytes, one more than `most` at most, or the target of a link, which is not followed.
    pub fn read_image(&self, name: &str, most: u64) -> Result<(Vec<u8>, u32), Error> {
        let path = self.folder.join(name);
        let mode = fs::symlink_metadata(&path).map_or(0, |found| found.mode());
        if mode & 0o170_000 == 0o120_000 {
            return self.read_link(name).map(|target| (target, mode));
        }
        let file = self.open_file(name)?.ok_or_else(|| self.missing(name))?;
        let mut bytes = Vec::new();
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map(|_| (bytes, mode)).map_err(|error| failed(&path, &error))
    }

    fn missing(&self, name: &str) -> Error {
        Error::new(Code::RecordDamaged, format!("`{}` is missing in run `{}`", name.escape_debug(), self.id))
    }

    /// Every file of the record but those of locks and open transactions, sorted, by its path in the run's folder.
    pub fn files(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for entry in walkdir::WalkDir::new(&self.folder).min_depth(1).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::new(Code::Io, format!("the record can't be listed: {error}")))?;
            let name = entry.path().strip_prefix(&self.folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
            if !entry.file_type().is_dir() && !name.starts_with("journal/") {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Checks that nothing which is written to the record gets out of it: only a pre-image may be a symbolic link.
    ///
    /// A record may come from elsewhere, with a repository. `record_damaged` names the link.
    pub fn check_links(&self) -> Result<(), Error> {
        for entry in walkdir::WalkDir::new(&self.folder).min_depth(1).sort_by_file_name() {
            let entry = entry.map_err(|error| Error::new(Code::Io, format!("the record can't be listed: {error}")))?;
            let name = entry.path().strip_prefix(&self.folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
            let is_image = matches!(name.split('/').collect::<Vec<_>>().as_slice(), ["packs", _, "pre", _]);
            if entry.path_is_symlink() && !is_image {
                let message = format!("`{name}` in the record of run `{}` is a link", self.id);
                return Err(Error::new(Code::RecordDamaged, message)
                    .hint("records consist of files and folders; look where it comes from"));
            }
        }
        Ok(())
    }

    /// The bytes that the record takes on the disk.
    pub fn size(&self) -> Result<u64, Error> {
        let mut size = 0;
        for entry in walkdir::WalkDir::new(&self.folder) {
            let metadata = entry.and_then(|entry| entry.metadata());
            size += metadata
                .map_err(|error| Error::new(Code::Io, format!("the record can't be listed: {error}")))?
                .blocks()
                * 512;
        }
        Ok(size)
    }

    /// The bytes of its files but of pre-images, which were the user's.
    pub fn own_bytes(&self) -> Result<u64, Error> {
        let mut bytes = 0;
        for name in self.files()? {
            if !matches!(name.split('/').collect::<Vec<_>>().as_slice(), ["packs", _, "pre", _]) {
                let path = self.folder.join(name);
                bytes += fs::symlink_metadata(&path).map_err(|error| failed(&path, &error))?.len();
            }
        }
        Ok(bytes)
    }

    /// Writes a new record file from a reader, `limit` bytes at most; how many there were. One that exists is an error.
    pub(super) fn write_new(&self, name: &str, reader: &mut dyn Read, limit: u64) -> Result<u64, Error> {
        let path = self.folder.join(name);
        make_folder(path.parent().unwrap_or(&path))?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| failed(&path, &error))?;
        std::io::copy(&mut reader.take(limit), &mut file).map_err(|error| failed(&path, &error))
    }

    /// Opens a record file for reading; none if it does not exist. Names may come from the record: none leads out of the run's folder.
    pub fn open_file(&self, name: &str) -> Result<Option<File>, Error> {
        match plain_file::open_beneath(&self.folder, name) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.raw_os_error().is_some() => Err(failed(&self.folder.join(name), &error)),
            Err(error) => {
                let message =
                    format!("`{}` in the record of run `{}` can't be used: {error}", name.escape_debug(), self.id);
                Err(Error::new(Code::RecordDamaged, message)
                    .hint("records consist of files and folders; look where it comes from"))
            }
        }
    }

    /// When a record file last changed, by the clock of its file system, in nanoseconds since 1970.
    pub fn changed_ns(&self, name: &str) -> Result<i128, Error> {
        let path = self.folder.join(name);
        let metadata = fs::symlink_metadata(&path).map_err(|error| failed(&path, &error))?;
        Ok(i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()))
    }

    /// Removes the record with everything in it: the run did not begin.
    pub fn remove(&self) -> Result<(), Error> {
        fs::remove_dir_all(&self.folder).map_err(|error| failed(&self.folder, &error))
    }

    /// Removes a record file.
    pub(super) fn remove_file(&self, name: &str) -> Result<(), Error> {
        let path = self.folder.join(name);
        fs::remove_file(&path).map_err(|error| failed(&path, &error))
    }

    /// Removes a folder of the record with everything in it; it may be gone already.
    pub fn remove_folder(&self, name: &str) -> Result<(), Error> {
        let path = self.folder.join(name);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Opens a record file for writing at any place; it is made if it is missing.
    pub(super) fn open_to_write(&self, name: &str) -> Result<File, Error> {
        let path = self.folder.join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        open_own(&mut options, &path)
    }

    /// Opens a record file for appending; it is made if it is missing.
    pub(super) fn append_to(&self, name: &str) -> Result<File, Error> {
        append_to(&self.folder.join(name))
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(error) => Err(failed(path, &error)),
        Ok(()) => Ok(()),
    }
}

fn write_file(path: &Path, parts: &[&[u8]]) -> Result<(), Error> {
    // A name of its own: two runs that start at once both write the files that all runs share.
    let write = || {
        let folder = path.parent().unwrap_or(path);
        let mut file = tempfile::Builder::new().prefix(".").suffix(".new").tempfile_in(folder)?;
        file.as_file().set_permissions(Permissions::from_mode(0o600))?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error| failed(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_folders_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::of(folder.path());
        assert!(runs.list().unwrap().is_empty());
        let a = runs.create(1_795_292_400_000, 7).unwrap();
        let b = runs.create(1_795_292_400_000, 7).unwrap();
        assert_ne!(a.id(), b.id());
        assert_eq!(a.timestamp(), "20261121T202000Z");
        assert_eq!(runs.list().unwrap().len(), 2);
        assert_eq!(runs.open(a.id()).unwrap().id(), a.id());
        assert_eq!(runs.open("2026").unwrap_err().code(), Code::NotFound);
        a.write("artifacts/x.json", b"{}").unwrap();
        assert_eq!(a.read("artifacts/x.json").unwrap(), b"{}");
        assert_eq!(fs::read_to_string(runs.path().join(".gitignore")).unwrap(), "*\n");
    }

    #[test]
    fn records_of_a_later_format_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let run = Runs::of(folder.path()).create(0, 1).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(".runs/format")).unwrap(), "1\n");
        for later in ["2\n", "1.5", "x", "99999999999999999999999"] {
            fs::write(folder.path().join(".runs/format"), later).unwrap();
            let runs = Runs::of(folder.path());
            for error in [
                runs.list().unwrap_err(),
                runs.open(run.id()).unwrap_err(),
                runs.create(1, 1).unwrap_err(),
                runs.heads().unwrap_err(),
            ] {
                assert!(error.message().contains("this version reads 1"), "{error}");
            }
        }
        fs::remove_file(folder.path().join(".runs/format")).unwrap();
        assert_eq!(Runs::of(folder.path()).list().unwrap(), [run.id()]);
    }

    #[test]
    fn walking_through_many_runs_does_not_list_them_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::of(folder.path());
        (1000..4000).for_each(|n| fs::create_dir_all(runs.path().join(format!("20261121T202000Z-{n}"))).unwrap());
        let watch = clock::Stopwatch::start();
        let ids = runs.list().unwrap();
        assert!(ids.iter().all(|id| runs.open(id).unwrap().id() == id));
        // Listing for each of them takes most of a minute.
        assert!(watch.elapsed().as_secs() < 5, "{:?}", watch.elapsed());
        for odd in ["2026/../locks", "20261121T202000Z-1000/..", "2", ""] {
            assert_eq!(runs.open(odd).unwrap_err().code(), Code::NotFound, "{odd}");
        }
    }

    #[test]
    fn a_link_or_a_file_in_place_of_the_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let refused = || Runs::of(folder.path()).create(0, 1).unwrap_err().to_string();
        for target in [elsewhere.path(), std::path::Path::new("nowhere")] {
            std::os::unix::fs::symlink(target, folder.path().join(RUNS)).unwrap();
            assert!(refused().contains("is not a folder of its own"), "{}", refused());
            fs::remove_file(folder.path().join(RUNS)).unwrap();
        }
        fs::write(folder.path().join(RUNS), "").unwrap();
        assert!(refused().contains("is not a folder of its own"), "{}", refused());
    }
}
