//! Packs: adapters and scripts from elsewhere, copied into the workspace with their hashes and their licence.
//!
//! Nothing here runs a file of a pack, and nothing is fetched when a workflow runs.

mod arrange;
mod fetch;
mod licence;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::{
    arrange::{arrange, is_part},
    fetch::fetch,
    licence::{check_licence, licence_of},
};
use base::{
    change::{Change, Content},
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
    text::{counted, escape},
};
use system::workspace::{Globs, Kind, Workspace};

/// The limit of bytes of a pack.
pub const MOST_BYTES: u64 = 16 << 20;

/// The folders of packs in the workspace.
const PLACES: &[&str] = &["dta/**", "scripts/vendor/**"];

/// A pack in `nrv.lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    /// The folder or the repository that it was copied from.
    pub source: String,
    /// The commit of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The SPDX expression of its licence.
    pub licence: String,
    /// Its files in the workspace, with the hashes of their bytes.
    pub files: BTreeMap<String, Sha256>,
}

impl Pack {
    /// The reason that an entry of this name is none that `nrv add` writes: the next one would remove or replace what it names.
    pub fn fault(&self, name: &str) -> Option<String> {
        if arrange::check_name(name).is_err() {
            return Some(format!("`{}` can't be the name of a pack", name.escape_debug()));
        }
        let stray = self.files.keys().find(|path| !arrange::is_place(name, path))?;
        Some(format!("the pack `{name}` has a file `{}` outside of its folders", stray.escape_debug()))
    }

    /// The arguments of `nrv add` that copy this version.
    pub fn command(&self) -> String {
        let Some(commit) = &self.commit else { return self.source.clone() };
        match self.source.split_once('#') {
            Some((url, folder)) => format!("{url}@{commit} --folder {folder}"),
            None => format!("{}@{commit}", self.source),
        }
    }
}

/// Files by their paths in a pack or in the workspace.
pub type Files = BTreeMap<RepoPath, Content>;

/// The changes that bring a pack into the workspace; `earlier` is the version in the lock.
///
/// `unwritable` names files that somebody edited or that come from elsewhere, unless `replace` is true; `invalid_input` names that
/// differ only in case.
pub fn changes(
    workspace: &Workspace,
    files: &Files,
    earlier: Option<&Pack>,
    replace: bool,
) -> Result<Vec<Change>, Error> {
    check_case(workspace, files, earlier)?;
    let (mut changes, mut foreign) = (Vec::new(), Vec::new());
    let recorded = |path: &RepoPath| earlier.and_then(|pack| pack.files.get(path.as_str())).copied();
    let gone = earlier.into_iter().flat_map(|pack| pack.files.keys()).map(|path| RepoPath::parse(path));
    let gone = gone.collect::<Result<Vec<_>, _>>()?;
    let gone = gone.iter().filter(|path| !files.contains_key(*path)).map(|path| (path, None));
    for (path, after) in files.iter().map(|(path, content)| (path, Some(content))).chain(gone) {
        let before = match workspace.stat(path)?.map(|found| found.kind) {
            None => None,
            Some(Kind::File) => Some(workspace.read(path)?),
            Some(_) => {
                foreign.push(path.to_string());
                continue;
            }
        };
        let Some(before) = before else {
            changes.extend(after.map(|after| Change { path: path.clone(), before: None, after: Some(after.clone()) }));
            continue;
        };
        if after.is_some_and(|after| after.stamp() == before.stamp()) {
            continue;
        }
        if !replace && recorded(path) != Some(before.sha256) {
            foreign.push(path.to_string());
        }
        changes.push(Change { path: path.clone(), before: Some(before.stamp()), after: after.cloned() });
    }
    if foreign.is_empty() {
        return Ok(changes);
    }
    let names = foreign.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let message = format!("{} of the workspace would be lost: {names}", counted(foreign.len(), "file"));
    Err(Error::new(Code::Unwritable, message)
        .detail("files", foreign)
        .hint("they were edited, or do not come from this pack; move them away, or say `--replace`"))
}

/// An error for two names, in the pack or beside it, that are one where case does not count: there one file would replace the other.
fn check_case(workspace: &Workspace, files: &Files, earlier: Option<&Pack>) -> Result<(), Error> {
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    let differs = |one: &str, other: &str| {
        let message = format!("`{}` and `{}` differ only in case", escape(one), escape(other));
        Error::new(Code::InvalidInput, message)
            .hint("on macOS and Windows they are one file; the pack, or your file, needs another name")
    };
    for name in files.keys().flat_map(folders_and_file) {
        let other = *names.entry(name.to_lowercase()).or_insert(name);
        if other != name {
            return Err(differs(other, name));
        }
    }
    let is_gone = |path: &RepoPath| {
        !files.contains_key(path) && earlier.is_some_and(|pack| pack.files.contains_key(path.as_str()))
    };
    for path in workspace.list(&Globs::parse(PLACES)?, 1)?.paths.iter().filter(|path| !is_gone(path)) {
        let other = folders_and_file(path).find_map(|name| {
            let other = *names.get(&name.to_lowercase())?;
            (other != name).then(|| differs(other, name))
        });
        other.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// The folders of a path, and the path.
fn folders_and_file(path: &RepoPath) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at]).chain([path.as_str()])
}

/// The differences of the files of a pack from its entry in the lock, sorted, as text.
pub fn edited(workspace: &Workspace, pack: &Pack) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    for (name, sha256) in &pack.files {
        let path = RepoPath::parse(name)?;
        match workspace.stat(&path)?.map(|found| found.kind) {
            Some(Kind::File) if workspace.read(&path)?.sha256 == *sha256 => {}
            Some(_) => all.push(format!("`{name}` was edited")),
            None => all.push(format!("`{name}` is gone")),
        }
    }
    Ok(all)
}
