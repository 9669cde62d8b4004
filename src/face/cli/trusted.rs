//! The trusted policies: files in the user's state folder, never in a workspace. Where `CI` is set, `nrv.lock` has them.
//!
//! Each has a code under a secret key, so that files which come from elsewhere trust nothing.

mod key;

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use self::key::Key;
use base::{
    error::{Code, Error},
    hash::Sha256,
    json,
    path::RepoPath,
};
use host::{Options, Trust, TrustKeeper, UNTRUSTED, Wanted, untrusted};
use script::approval::{self, PinnedTrust};
use system::{
    clock::{self, Clock},
    workspace::Workspace,
};

/// The version of the file format that this program writes.
const VERSION: u32 = 2;

/// The last version whose entries had no code.
const PLAIN: u32 = 1;

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
    /// The code of the rest under the key of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Sha256>,
}

impl Entry {
    /// The text that its code covers.
    fn text(&self) -> Result<String, Error> {
        json::canonical(&Entry { code: None, ..self.clone() })
    }

    /// Why it trusts nothing, unless nrv made it with this key.
    fn stranger(&self, key: Option<&Key>, folder: &Path) -> Result<Option<String>, Error> {
        let told = |path: PathBuf| path.display().to_string();
        Ok(match (self.version, key, &self.code) {
            (PLAIN, ..) => Some("an earlier version of nrv trusted it, whose entries anybody could make".to_owned()),
            (_, None, _) => {
                Some(format!("the key `{}` is gone, by which nrv knows its entries", told(key::path(folder))))
            }
            (_, Some(key), Some(code)) if key.made_code(&self.text()?, code) => None,
            (_, Some(_), _) => {
                let path = told(folder.join(name(&self.root, &self.file)));
                Some(format!("its entry `{path}` was not made by `nrv trust` on this machine"))
            }
        })
    }
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

    /// The key of the folder, which [`Store::open`] returns without links on the way.
    fn key(&self, real: &Path) -> Result<Option<Key>, Error> {
        Key::of(real, self.folder.as_deref().unwrap_or(real))
    }

    /// Why a policy of a workspace is not trusted; none if it is.
    fn objection(&self, root: &Path, wanted: &Wanted) -> Result<Option<String>, Error> {
        let nobody = || Ok(Some("no person has trusted it here yet".to_owned()));
        let Some(folder) = self.open(root)? else { return nobody() };
        let entry = read(&folder.join(name(root, &wanted.file)))?
            .filter(|entry| entry.root == root && entry.file == wanted.file);
        let Some(entry) = entry else { return nobody() };
        let stranger = entry.stranger(self.key(&folder)?.as_ref(), &folder)?;
        let has_changed = entry.sha256 != wanted.entrusted.sha256;
        Ok(stranger.or_else(|| has_changed.then(|| "its tables for that have changed since it was trusted".to_owned())))
    }

    /// The entries that nrv made, and for each other one why it trusts nothing; sorted by workspace and file.
    pub(super) fn list(&self, root: &Path) -> Result<(Vec<Entry>, Vec<String>), Error> {
        let Some(folder) = self.open(root)? else { return Ok((Vec::new(), Vec::new())) };
        let key = self.key(&folder)?;
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for entry in self.all(&folder)? {
            match entry.stranger(key.as_ref(), &folder)? {
                None => own.push(Entry { code: None, ..entry }),
                Some(why) => {
                    others.push(format!("`{}` of `{}` is not trusted: {why}", entry.file, entry.root.display()))
                }
            }
        }
        Ok((own, others))
    }

    /// All entries of a folder, sorted by workspace and file.
    fn all(&self, folder: &Path) -> Result<Vec<Entry>, Error> {
        let failed = |error: &std::io::Error| Error::io(format!("`{}` can't be read", folder.display()), error);
        let mut entries = Vec::new();
        for file in std::fs::read_dir(folder).map_err(|error| failed(&error))? {
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
        let entries: Vec<Entry> = self.all(&folder)?.into_iter().filter(|entry| entry.root == root).collect();
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
        let code = Some(Key::made(&real, folder)?.code(&entry.text()?));
        let mut file = key::new_file(&real).map_err(|error| failed(&error))?;
        let text = serde_json::to_string_pretty(&Entry { code, ..entry.clone() })
            .map_err(|error| Error::new(Code::Internal, error.to_string()))?;
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
        match self.objection(&root, wanted) {
            Ok(None) => None,
            Ok(Some(why)) => Some(untrusted(wanted, &why, hint)),
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
            code: None,
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
        Ok(entry) if (PLAIN..=VERSION).contains(&entry.version) => Ok(Some(entry)),
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
mod tests;
