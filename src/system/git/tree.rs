//! The files of a commit's tree. A few small trees that contain each other can expand to more files than there are atoms, so
//! the walk has bounds.

use std::sync::atomic::{AtomicBool, Ordering};

use gix::{
    ObjectId, Repository,
    bstr::{BString, ByteVec},
    index::entry::Mode,
};

use super::error::{said, unknown};
use base::error::{Code, Error};

/// The limit of files and folders of a tree.
const MOST_ENTRIES: usize = 20_000_000;

/// The limit of bytes of their paths.
const MOST_PATHS: usize = 512 << 20;

/// A file of a tree.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) path: BString,
    pub(super) id: ObjectId,
    pub(super) mode: Mode,
}

/// All files of a tree, in no order.
pub(super) fn files(repository: &Repository, tree: ObjectId, stop: &AtomicBool) -> Result<Vec<Listed>, Error> {
    let told = |error: &gix::Error| unknown(&said(error));
    let mut open = vec![(BString::default(), tree)];
    let (mut found, mut entries, mut paths) = (Vec::new(), 0_usize, 0_usize);
    while let Some((above, tree)) = open.pop() {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::new(Code::Cancelled, "the run was cancelled"));
        }
        let tree = repository.find_tree(tree).map_err(|error| told(&error))?;
        for entry in tree.iter() {
            let entry = entry.map_err(|error| unknown(&error.to_string()))?;
            let mut path = above.clone();
            if !path.is_empty() {
                path.push_byte(b'/');
            }
            path.extend_from_slice(entry.filename());
            entries += 1;
            paths += path.len();
            if entries > MOST_ENTRIES || paths > MOST_PATHS {
                return Err(unknown("the commit names more files than nrv reads"));
            }
            match entry.mode().is_tree() {
                true => open.push((path, entry.object_id())),
                false => found.push(Listed { path, id: entry.object_id(), mode: Mode::from(entry.mode()) }),
            }
        }
    }
    Ok(found)
}
