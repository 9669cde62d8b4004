//! Files and folders of other users and groups. The kernel can't copy them up into the layer of the command's writes, since
//! only nrv's own user and group are known there. So the writable ones among them are copied there before the start.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    copy::{copy, imitate, make_folder},
    owner::Own,
    prepared::Prepared,
};
use base::{
    error::Error,
    path::{RepoPath, protected},
};
use system::workspace::{Kind, Metadata, Seen, Visit, Workspace, parallel_map};

/// The bits by which the owner of a folder may list and enter it, so that the command's files can be found.
const FOUND: u32 = 0o500;

/// Copies the writable files of others into the upper layer; returns them as they are there.
///
/// A folder there hides nothing of the tree: the kernel merges both.
pub(super) fn lay(prepared: &Prepared<'_>, upper: &Path) -> Result<Vec<Seen>, Error> {
    let (own, tree, stock) = (Own::of_this_process(), prepared.ctx.view.workspace(), &prepared.stock);
    let has_foreign = stock.has_foreign || stock.files.iter().any(|seen| own.lacks(&seen.metadata));
    if !has_foreign {
        return Ok(Vec::new());
    }
    let (mut files, folders) = parts(prepared, own)?;
    files.extend(stock.files.iter().filter(|seen| own.lacks(&seen.metadata)).cloned());
    let real = |path: &RepoPath| prepared.root.join(path.as_str());
    let may = |seen: &Seen, wanted: u32| own.rights(&real(&seen.path), &seen.metadata) & wanted == wanted;
    files.retain(|seen| seen.metadata.kind == Kind::File && may(seen, 6));
    let mut wanted: BTreeSet<RepoPath> = BTreeSet::new();
    let named = folders.into_iter().filter(|seen| may(seen, 2)).map(|seen| seen.path);
    for path in named.chain(files.iter().filter_map(|seen| seen.path.parent())) {
        wanted.extend(std::iter::successors(Some(path), RepoPath::parent));
    }
    let mut made: Vec<(PathBuf, Metadata)> = Vec::new();
    for path in &wanted {
        // It has vanished since the listing.
        let Some(found) = tree.stat(path)?.filter(Metadata::is_folder) else { continue };
        let place = upper.join(path.as_str());
        if !is_possible(&place) {
            continue;
        }
        make_folder(&place)?;
        // There it is this user's own: its rights are those that this user has in the tree.
        let rights = if own.lacks(&found) { own.rights(&real(path), &found) << 6 } else { found.mode & 0o700 };
        made.push((place, Metadata { mode: found.mode & 0o7077 | rights | FOUND, ..found }));
    }
    let places: Vec<(PathBuf, Seen)> = files
        .into_iter()
        .map(|seen| (upper.join(seen.path.as_str()), seen))
        .filter(|(place, _)| is_possible(place))
        .collect();
    for copied in parallel_map(prepared.ctx.threads, &places, |(place, seen)| copy(tree, place, seen)) {
        copied?;
    }
    for (place, found) in made.iter().rev() {
        imitate(place, found)?;
    }
    let laid = Workspace::open(upper)?.survey(prepared.ctx.threads, |_, kind| match kind {
        Kind::Folder => Visit::Enter,
        Kind::File | Kind::Link | Kind::Other => Visit::Take,
    })?;
    Ok(laid.seen)
}

/// True if the folder of a file was copied.
fn is_possible(place: &Path) -> bool {
    place.parent().is_some_and(Path::is_dir)
}

/// Files of others outside of the tree, except in folders that are written directly, and all folders of others.
fn parts(prepared: &Prepared<'_>, own: Own) -> Result<(Vec<Seen>, Vec<Seen>), Error> {
    let (ctx, scope) = (&prepared.ctx, &prepared.scope);
    let survey = ctx.view.workspace().survey(ctx.threads, |path, kind| match kind {
        _ if protected::is_hidden_folder(path.file_name()) => Visit::Skip,
        Kind::Folder if scope.is_scratch_folder(path) && !ctx.dry_run => Visit::Skip,
        Kind::Folder => Visit::TakeAndEnter,
        Kind::File if scope.is_scratch(path) => Visit::Take,
        Kind::File | Kind::Link | Kind::Other => Visit::Skip,
    })?;
    let foreign = survey.seen.into_iter().filter(|seen| own.lacks(&seen.metadata));
    Ok(foreign.partition(|seen| seen.metadata.kind != Kind::Folder))
}
