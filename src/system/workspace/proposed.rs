//! The proposals of a dry run for a process of nrv's own: contents in files of the run's folder, laid over the tree.

use std::{fs::File, io::Read, path::PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::Overlay;
use base::{
    change::Content,
    error::{Code, Error},
    path::RepoPath,
};

/// A file that an earlier step of the same dry run proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposed {
    /// The file.
    pub path: RepoPath,
    /// The file with its proposed content; null if it is to be removed.
    pub file: Option<PathBuf>,
    /// Its proposed mode.
    pub mode: u32,
}

impl Overlay {
    /// Reads proposed contents; each file may be proposed once.
    pub fn read(proposed: &[Proposed]) -> Result<Self, Error> {
        let mut overlay = Overlay::default();
        for file in proposed {
            let content = match &file.file {
                Some(path) => Some(Content::new(contents(path)?, file.mode)),
                None => None,
            };
            if overlay.get(&file.path).is_some() {
                return Err(Error::new(Code::InvalidInput, format!("`{}` is proposed twice", file.path)));
            }
            overlay.insert(file.path.clone(), content);
        }
        Ok(overlay)
    }
}

/// All bytes of a file of the run's folder.
fn contents(path: &PathBuf) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let opened = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(std::io::Error::from);
    let read = opened.and_then(|file| File::from(file).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| {
        Error::new(Code::RecordDamaged, format!("`{}` of the record can't be read: {error}", path.display()))
    })
}
