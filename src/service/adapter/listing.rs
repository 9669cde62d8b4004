//! The files of a target: those that a walk finds, and those that Git tracks although an ignore file covers them.

use super::Context;
use base::{error::Error, path::RepoPath};
use system::{
    git::{self, Tracked},
    workspace::{Globs, Listing},
};

/// Lists the files under the globs of a target. Ignore files have no effect on a tracked file that an adapter looks at.
pub(super) fn list(ctx: &Context<'_>, target: &Globs, looks_at: &Globs) -> Result<Listing, Error> {
    let mut listing = ctx.view.list(target, ctx.threads)?;
    let covered = covered(ctx, (target, looks_at), &listing.paths);
    listing.paths.extend(covered);
    listing.paths.sort_unstable();
    Ok(listing)
}

/// Tracked files that an ignore file covers, beside the listed ones, which are sorted.
pub(super) fn covered(ctx: &Context<'_>, (target, looks_at): (&Globs, &Globs), listed: &[RepoPath]) -> Vec<RepoPath> {
    let workspace = ctx.view.workspace();
    let ignored = workspace.ignore_files();
    let tracked = git::tracked(workspace.root()).unwrap_or_default().into_iter();
    let files = tracked.filter(|(_, tracked)| *tracked == Tracked::File);
    let files = files.filter_map(|(path, _)| RepoPath::parse(&path).ok());
    let wanted = files.filter(|path| target.matches(path) && looks_at.matches(path));
    // The listing has proposed files, so that a proposal for any other removes it or makes it a link.
    let kept = wanted.filter(|path| ctx.view.overlay().get(path).is_none());
    kept.filter(|path| listed.binary_search(path).is_err() && ignored.cover(path)).collect()
}
