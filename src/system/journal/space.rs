//! Checks the free space for a transaction before anything of it is written.

use std::os::fd::AsFd;

use super::{Journal, Target, Transaction, folder::open_folder};
use base::{
    error::{Code, Error},
    path::protected::RUNS,
};

/// The reserve for the end of the run, and for the file system's own needs.
const RESERVE: u64 = 1 << 20;

/// The approximate space for each file in the journal and the record: its path, hashes and blocks.
const EACH: u64 = 8 << 10;

/// `io` if the file systems of the tree or of the records have less room than the transaction needs.
///
/// `apart`: the file systems differ, so that post-images are in the tree, and pre-images are copied.
pub(super) fn check(
    journal: &Journal<'_>,
    transaction: &Transaction<'_>,
    targets: &[Target<'_>],
    apart: bool,
) -> Result<(), Error> {
    let after: u64 = targets.iter().filter_map(|target| target.after).map(|content| content.bytes.len() as u64).sum();
    let before: u64 = targets.iter().filter_map(|target| target.before).map(|stamp| stamp.length).sum();
    // The record names the patch and holds it, as a reply may.
    let own = 2 * transaction.patch.len() as u64 + targets.len() as u64 * EACH + RESERVE;
    let (tree, records) = if apart { (after, before + own) } else { (0, after + own) };
    if tree > 0 {
        check_one("the file system of the workspace", journal.workspace.handle(), tree)?;
    }
    check_one(&format!("the file system of `{RUNS}`"), open_folder(journal.run_folder)?, records)
}

fn check_one(what: &str, at: impl AsFd, needed: u64) -> Result<(), Error> {
    // Without an answer of the file system, the write decides.
    let Ok(found) = rustix::fs::fstatvfs(at) else { return Ok(()) };
    let blocks = if rustix::process::geteuid().is_root() { found.f_bfree } else { found.f_bavail };
    let free = blocks.saturating_mul(found.f_frsize);
    if found.f_blocks == 0 || free >= needed {
        return Ok(());
    }
    Err(Error::new(Code::Io, format!("{what} has {free} bytes free, and the change needs {needed}"))
        .detail("free", free)
        .detail("needed", needed)
        .hint("make room, then start again; nothing was written (`nrv runs gc` removes old records)"))
}
