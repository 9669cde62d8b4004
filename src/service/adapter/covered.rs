//! Files that git tracks although an ignore file covers them, so that a listing lacks them.

use super::Context;
use base::path::RepoPath;
use system::{
    git::{self, Tracked},
    workspace::Globs,
};

/// Those under the globs of a target and of an adapter, beside the listed ones, which are sorted.
pub(super) fn files(ctx: &Context<'_>, (target, looks_at): (&Globs, &Globs), listed: &[RepoPath]) -> Vec<RepoPath> {
    let workspace = ctx.view.workspace();
    let ignored = workspace.ignore_files();
    let tracked = git::tracked(workspace.root()).unwrap_or_default().into_iter();
    let files = tracked.filter(|(_, tracked)| *tracked == Tracked::File);
    let files = files.filter_map(|(path, _)| RepoPath::parse(&path).ok());
    let wanted = files.filter(|path| target.matches(path) && looks_at.matches(path));
    wanted.filter(|path| listed.binary_search(path).is_err() && ignored.cover(path)).collect()
}
