//! Files that are tracked and not checked out.
//!
//! A sparse checkout marks them in the index, or keeps one entry for a whole folder. A marked file that exists is compared like
//! any other, as in git since 2.37.

use std::{fs, path::Path, sync::atomic::AtomicBool};

use gix::{
    bstr::{BString, ByteSlice},
    index::entry::{Flags, Mode, Stat},
};

use super::{Tracked, opened::Opened, tree};
use base::error::Error;

/// Replaces folder entries by files, and unmarks existing files.
///
/// Missing folders stay as they are unless `whole` is true, because the index is compared with the commit.
pub(super) fn unfold(opened: &mut Opened, whole: bool, stop: &AtomicBool) -> Result<(), Error> {
    let folders: Vec<(BString, gix::ObjectId)> = opened
        .index
        .entries()
        .iter()
        .filter(|entry| entry.mode.is_sparse())
        .map(|entry| (entry.path(&opened.index).to_owned(), entry.id))
        .filter(|(path, _)| whole || exists(&opened.place.work, path.as_bstr()))
        .collect();
    for (folder, tree) in &folders {
        for file in tree::files(&opened.repository, *tree, stop)? {
            let mut path = folder.clone();
            path.extend_from_slice(&file.path);
            opened.index.dangerously_push_entry(
                Stat::default(),
                file.id,
                Flags::SKIP_WORKTREE | Flags::EXTENDED,
                file.mode,
                path.as_bstr(),
            );
        }
    }
    if !folders.is_empty() {
        let replaced = |path: &gix::bstr::BStr| folders.iter().any(|(folder, _)| folder == path);
        opened.index.remove_entries(|_, path, entry| entry.mode.is_sparse() && replaced(path));
        opened.index.sort_entries();
    }
    let work = opened.place.work.clone();
    for (entry, path) in opened.index.entries_mut_with_paths() {
        let is_hidden = entry.flags.contains(Flags::SKIP_WORKTREE) && !entry.mode.is_sparse();
        if is_hidden && exists(&work, path) {
            entry.flags.remove(Flags::SKIP_WORKTREE);
        }
    }
    Ok(())
}

/// The tracked paths below the given folder. A folder that the index keeps as one entry is told by its files.
pub(super) fn tracked(opened: &mut Opened) -> Result<Vec<(String, Tracked)>, Error> {
    unfold(opened, true, &AtomicBool::new(false))?;
    let work = &opened.place.work;
    let found = opened.index.entries().iter().filter_map(|entry| {
        let path = entry.path(&opened.index);
        let below = gix::path::from_bstr(path).ok()?;
        let name = below.strip_prefix(&opened.prefix).ok()?.to_str()?.trim_end_matches('/').to_owned();
        let is_file = || fs::symlink_metadata(work.join(&below)).is_ok_and(|found| found.is_file());
        let tracked = match entry.mode {
            Mode::COMMIT => Tracked::Repository,
            Mode::FILE | Mode::FILE_EXECUTABLE if is_file() => Tracked::File,
            Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK if entry.flags.contains(Flags::SKIP_WORKTREE) => {
                Tracked::Absent
            }
            _ => return None,
        };
        Some((name, tracked))
    });
    Ok(found.collect())
}

fn exists(work: &Path, path: &gix::bstr::BStr) -> bool {
    gix::path::from_bstr(path).is_ok_and(|path| fs::symlink_metadata(work.join(path)).is_ok())
}
