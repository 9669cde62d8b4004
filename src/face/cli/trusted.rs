//! The trusted policies: files in the user's state folder, never in a workspace. Where `CI` is set, `nrv.lock` has them.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use base::{
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};
use host::{Options, Trust, TrustKeeper, UNTRUSTED, Wanted, untrusted};
use script::approval::{self, PinnedTrust};
use system::{
    clock::{self, Clock},
    workspace::Workspace,
};

/// The version of the file format that this program writes.
const VERSION: u32 = 1;

/// The variable with folders whose policies are trusted.
const PATHS: &str = "NRV_TRUSTED_PATHS";

/// The longest file that is read.
const MOST: u64 = 64 << 10;

/// Bits that let others write.
const OTHERS: u32 = 0o022;

/// One policy that was trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The version of the file format.
    version: u32,
    /// The workspace, without links on the way.
    pub(super) root: PathBuf,
    /// The policy's file in it.
    pub(super) file: String,
    /// The hash of its tables that start programs or send requests.
    pub(super) sha256: Sha256,
    /// The time of the decision.
    pub(super) trusted_at: String,
}

/// The user's state folder, and the folders that are trusted.
#[derive(Clone, Debug)]
pub(super) struct Store {
    folder: Option<PathBuf>,
    paths: Vec<PathBuf>,
}

impl Store {
    /// The store of the user with this environment.
    pub(super) fn of(environment: &BTreeMap<String, String>) -> Self {
        let absolute = |name: &str| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
        let paths = environment.get(PATHS).map_or("", String::as_str).split(':').map(Path::new);
        let paths = paths.filter(|path| path.is_absolute()).filter_map(|path| path.canonicalize().ok()).collect();
        Store { folder: state.map(|state| state.join("nrv/trusted")), paths }
    }

    /// The folder with the files, if it exists. It must be the user's own, in no workspace, and not writable by others.
    fn open(&self, root: &Path) -> Result<Option<PathBuf>, Error> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let there = folder.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)));
        if let Some((path, real)) = &there
            && real.join(folder.strip_prefix(path).unwrap_or(Path::new(""))).starts_with(root)
        {
            return Err(unusable(folder, "it lies in the workspace")
                .hint("set `XDG_STATE_HOME` to a folder outside of the workspace"));
        }
        let Ok(real) = folder.canonicalize() else { return Ok(None) };
        let found = real
            .symlink_metadata()
            .map_err(|error| Error::io(format!("`{}` can't be read", real.display()), &error))?;
        if !found.is_dir() {
            return Err(unusable(folder, "it is no folder"));
        }
        own(&found).map_err(|why| unusable(folder, why))?;
        Ok(Some(real))
    }

    /// The entry of a policy.
    fn entry(&self, root: &Path, file: &str) -> Result<Option<Entry>, Error> {
        let Some(folder) = self.open(root)? else { return Ok(None) };
        let entry = read(&folder.join(name(root, file)))?;
        Ok(entry.filter(|entry| entry.root == root && entry.file == file))
    }

    /// All entries, sorted by workspace and file.
    pub(super) fn list(&self, root: &Path) -> Result<Vec<Entry>, Error> {
        let Some(folder) = self.open(root)? else { return Ok(Vec::new()) };
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", folder.display()), error);
        let mut entries = Vec::new();
        for file in std::fs::read_dir(&folder).map_err(|error| failed(&error))? {
            let path = file.map_err(|error| failed(&error))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                entries.extend(read(&path)?);
            }
        }
        entries.sort_by(|one, other| (&one.root, &one.file).cmp(&(&other.root, &other.file)));
        Ok(entries)
    }

    /// Forgets the trusted policies of a workspace; returns their number.
    pub(super) fn forget(&self, root: &Path) -> Result<usize, Error> {
        let Some(folder) = self.open(root)? else { return Ok(0) };
        let entries: Vec<Entry> = self.list(root)?.into_iter().filter(|entry| entry.root == root).collect();
        for entry in &entries {
            let path = folder.join(name(&entry.root, &entry.file));
            #[expect(clippy::disallowed_methods, reason = "the user's own state, outside of every workspace")]
            std::fs::remove_file(&path)
                .map_err(|error| Error::io(format!("`{}` can't be removed", path.display()), &error))?;
        }
        Ok(entries.len())
    }

    /// Writes an entry whole or not at all; only its owner can read it.
    fn write(&self, entry: &Entry) -> Result<(), Error> {
        let Some(folder) = &self.folder else {
            let message = "there is no state folder: neither `XDG_STATE_HOME` nor `HOME` is set";
            return Err(Error::new(Code::Io, message).hint("set one of them to an absolute path"));
        };
        self.open(&entry.root)?;
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be written", folder.display()), error);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failed(&error))?;
        let real = self.open(&entry.root)?.ok_or_else(|| unusable(folder, "it is gone"))?;
        let permissions = std::fs::Permissions::from_mode(0o600);
        let file = tempfile::Builder::new().prefix(".new-").permissions(permissions).tempfile_in(&real);
        let mut file = file.map_err(|error| failed(&error))?;
        let text =
            serde_json::to_string_pretty(entry).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        file.write_all(format!("{text}\n").as_bytes()).map_err(|error| failed(&error))?;
        file.as_file().sync_all().map_err(|error| failed(&error))?;
        file.persist(real.join(name(&entry.root, &entry.file))).map_err(|error| failed(&error.error))?;
        Ok(())
    }
}

impl TrustKeeper for Store {
    fn refusal(&self, wanted: &Wanted) -> Option<Error> {
        let root = match real(&wanted.root) {
            Ok(root) => root,
            Err(error) => return Some(error),
        };
        if self.paths.iter().any(|path| root.starts_with(path)) {
            return None;
        }
        let command = match wanted.file.as_str() {
            system::policy::FILE => "nrv trust".to_owned(),
            file => format!("nrv trust {file}"),
        };
        let hint = format!("`{command}` shows its permissions, and trusts it");
        match self.entry(&root, &wanted.file) {
            Ok(Some(entry)) if entry.sha256 == wanted.entrusted.sha256 => None,
            Ok(Some(_)) => Some(untrusted(wanted, "its tables for that have changed since it was trusted", hint)),
            Ok(None) => Some(untrusted(wanted, "no person has trusted it here yet", hint)),
            Err(error) => {
                let hint = error.hint_text().map_or(hint, str::to_owned);
                Some(untrusted(wanted, error.message(), hint))
            }
        }
    }

    fn remember(&self, wanted: &Wanted) -> Result<(), Error> {
        self.write(&Entry {
            version: VERSION,
            root: real(&wanted.root)?,
            file: wanted.file.clone(),
            sha256: wanted.entrusted.sha256,
            trusted_at: clock::rfc3339(Clock::System.now_ms()),
        })
    }
}

/// The keeper of trust where `CI` is set: `nrv.lock`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locked;

impl TrustKeeper for Locked {
    fn refusal(&self, wanted: &Wanted) -> Option<Error> {
        let lock = match Workspace::open(&wanted.root).and_then(|workspace| lock(&workspace)) {
            Ok(lock) => lock,
            Err(error) => return Some(error),
        };
        let pinned = lock.trust.get(&wanted.file);
        let changes = PinnedTrust::of(&wanted.entrusted).changes(pinned)?;
        let error = untrusted(
            wanted,
            &format!("`{}` does not approve of that: {}", approval::FILE, changes.join("; ")),
            approval::PIN_TRUST,
        );
        Some(error.detail("changes", changes).detail(UNTRUSTED, false))
    }

    fn remember(&self, _: &Wanted) -> Result<(), Error> {
        Err(Error::new(Code::PermissionDenied, "`CI` is set, where no policy is trusted").hint(approval::PIN_TRUST))
    }
}

/// The approvals of a workspace.
pub(super) fn lock(workspace: &Workspace) -> Result<approval::Lock, Error> {
    let path = RepoPath::parse(approval::FILE)?;
    approval::Lock::of(workspace.read_own_if_there(&path, approval::BOUNDS)?.as_deref())
}

/// A folder without links on the way.
pub(super) fn real(root: &Path) -> Result<PathBuf, Error> {
    root.canonicalize().map_err(|error| Error::io(format!("`{}` can't be found", root.display()), &error))
}

fn unusable(folder: &Path, why: &str) -> Error {
    Error::new(Code::PermissionDenied, format!("the state folder `{}` can't be used: {why}", folder.display()))
        .hint("it has to be your own, and not writable by others; `XDG_STATE_HOME` names another one")
}

/// The name of an entry's file.
fn name(root: &Path, file: &str) -> String {
    use std::os::unix::ffi::OsStrExt;
    let hash = Sha256::of(&[root.as_os_str().as_bytes(), b"\0", file.as_bytes()].concat()).to_string();
    format!("{}.json", &hash[..32])
}

/// Checks that only the user can write a file; the error says who else can.
fn own(found: &std::fs::Metadata) -> Result<(), &'static str> {
    match (found.uid() == rustix::process::geteuid().as_raw(), found.mode() & OTHERS) {
        (false, _) => Err("it belongs to another user"),
        (true, 0) => Ok(()),
        (true, _) => Err("others may write it"),
    }
}

/// An entry; none if there is no such file.
fn read(path: &Path) -> Result<Option<Entry>, Error> {
    let file = match rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Ok(file) => std::fs::File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(Error::io(format!("`{}` can't be read", path.display()), &errno.into())),
    };
    let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", path.display()), error);
    let found = file.metadata().map_err(|error| failed(&error))?;
    if !found.is_file() {
        return Err(unusable(path, "it is no file"));
    }
    own(&found).map_err(|why| unusable(path, why))?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(|error| failed(&error))?;
    match serde_json::from_str::<Entry>(&text) {
        Ok(entry) if entry.version == VERSION => Ok(Some(entry)),
        // An invalid entry trusts nothing, and the next answer overwrites it.
        Ok(_) | Err(_) => Ok(None),
    }
}

/// The keeper of trust under these options.
pub(super) fn keeper(options: &Options) -> Trust {
    if options.is_ci() { Trust::kept_by(Locked) } else { Trust::kept_by(Store::of(&options.environment)) }
}

#[cfg(test)]
#[path = "../../../tests/it/support/need.rs"]
mod need;

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use system::policy::{FILE, Policy};

    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let place = Place { folder: tempfile::tempdir().unwrap() };
            fs::create_dir(place.folder.path().join("tree")).unwrap();
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(name)
        }

        fn store(&self, state: &str) -> Store {
            let state = self.path(state).display().to_string();
            Store::of(&BTreeMap::from([("XDG_STATE_HOME".to_owned(), state)]))
        }

        fn wanted(&self, text: &str) -> Wanted {
            let entrusted = Policy::parse(text, FILE).unwrap().entrusted().unwrap().clone();
            Wanted { root: self.path("tree"), file: FILE.to_owned(), entrusted }
        }
    }

    const RULE: &str = "[[exec.allow]]\nprefix = ['a']";

    #[track_caller]
    fn refused(store: &Store, wanted: &Wanted, words: &str) {
        let error = store.refusal(wanted).unwrap();
        assert!(error.code() == Code::PermissionDenied && error.message().contains(words), "{error}");
        assert!(error.hint_text().is_some());
    }

    #[test]
    fn what_was_trusted_is_trusted_until_its_tables_or_its_place_change() {
        let place = Place::new();
        let (store, wanted) = (place.store("state"), place.wanted(RULE));
        refused(&store, &wanted, "no person has trusted it here yet");
        store.remember(&wanted).unwrap();
        assert_eq!(store.refusal(&wanted), None);
        refused(&store, &place.wanted("[[exec.allow]]\nprefix = ['b']"), "have changed since it was trusted");
        refused(&store, &Wanted { file: "other.toml".to_owned(), ..wanted.clone() }, "no person has trusted it");
        fs::rename(place.path("tree"), place.path("moved")).unwrap();
        refused(&store, &Wanted { root: place.path("moved"), ..wanted.clone() }, "no person has trusted it");
        let [entry] = &store.list(&place.path("moved")).unwrap()[..] else { panic!("one entry") };
        assert_eq!((entry.root.clone(), entry.file.as_str()), (wanted.root.clone(), FILE));
        assert_eq!((store.forget(&entry.root).unwrap(), store.list(&entry.root).unwrap().len()), (1, 0));
    }

    #[test]
    fn the_files_are_for_their_owner_alone() {
        let place = Place::new();
        let (store, wanted) = (place.store("state"), place.wanted(RULE));
        store.remember(&wanted).unwrap();
        let folder = place.path("state/nrv/trusted");
        let file = folder.join(name(&wanted.root, FILE));
        assert_eq!(
            (fs::metadata(&folder).unwrap().mode() & 0o777, fs::metadata(&file).unwrap().mode() & 0o777),
            (0o700, 0o600)
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
        refused(&store, &wanted, "others may write it");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        refused(&store, &wanted, "others may write it");
        assert!(store.remember(&wanted).is_err());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(store.refusal(&wanted), None);
        fs::rename(&file, folder.join("elsewhere")).unwrap();
        symlink("elsewhere", &file).unwrap();
        refused(&store, &wanted, "can't be read");
    }

    #[test]
    fn a_state_folder_in_the_workspace_trusts_nothing() {
        let place = Place::new();
        let wanted = place.wanted(RULE);
        refused(&place.store("tree/state"), &wanted, "lies in the workspace");
        assert!(place.store("tree/state").remember(&wanted).is_err());
        fs::create_dir_all(place.path("state")).unwrap();
        fs::create_dir_all(place.path("tree/nrv/trusted")).unwrap();
        symlink(place.path("tree/nrv"), place.path("state/nrv")).unwrap();
        refused(&place.store("state"), &wanted, "lies in the workspace");
        assert!(place.store("state").remember(&wanted).is_err());
        fs::remove_dir(place.path("tree/nrv/trusted")).unwrap();
        refused(&place.store("state"), &wanted, "lies in the workspace");
    }

    #[test]
    fn the_folder_of_another_user_trusts_nothing() {
        let place = Place::new();
        let (store, wanted) = (place.store("state"), place.wanted(RULE));
        store.remember(&wanted).unwrap();
        if std::os::unix::fs::chown(place.path("state/nrv/trusted"), Some(65534), None).is_err() {
            return need::skip("users");
        }
        refused(&store, &wanted, "belongs to another user");
    }

    #[test]
    fn folders_of_the_environment_are_trusted_with_all_below() {
        let place = Place::new();
        let wanted = place.wanted(RULE);
        let store = |paths: &str| Store::of(&BTreeMap::from([(PATHS.to_owned(), paths.to_owned())]));
        let folder = place.path("").display().to_string();
        assert_eq!(store(&format!("/nowhere:{folder}")).refusal(&wanted), None);
        assert_eq!(store(&place.path("tree").display().to_string()).refusal(&wanted), None);
        for paths in ["", ":", ".", "tree", "/nowhere", &place.path("tre").display().to_string()] {
            refused(&store(paths), &wanted, "no person has trusted it");
        }
    }
}
