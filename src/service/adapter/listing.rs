//! The files of a target: those that a walk finds, and those that Git tracks although an ignore file covers them.

use super::{Context, contract::Skipped};
use base::{
    error::{Code, Error},
    path::RepoPath,
};
use system::{
    git::{self, Tracked},
    workspace::Globs,
};

/// Git's index, where it is named as a file that can't be read.
pub(super) const INDEX: &str = ".git/index";

/// The files of a target.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Files of a walk that the adapter looks at, sorted.
    pub(super) walked: Vec<RepoPath>,
    /// Further files that it looks at: tracked ones that an ignore file covers.
    pub(super) covered: Vec<RepoPath>,
    /// The number of files under the target that it does not look at.
    pub ignored: u64,
    /// Files whose names are not UTF-8; and the index, if it can't be read.
    pub skipped: Vec<Skipped>,
}

impl Listed {
    /// Takes all files that the adapter looks at, sorted.
    pub fn take_paths(&mut self) -> Vec<RepoPath> {
        let mut paths = std::mem::take(&mut self.walked);
        paths.append(&mut self.covered);
        paths.sort_unstable();
        paths
    }
}

/// Lists the files under the globs of a target. Ignore files have no effect on a tracked file that an adapter looks at.
pub fn list(ctx: &Context<'_>, target: &Globs, looks_at: &Globs) -> Result<Listed, Error> {
    let listing = ctx.view.list(target, ctx.threads)?;
    let nameless = listing.unnameable.into_iter();
    let mut skipped: Vec<Skipped> =
        nameless.map(|path| Skipped { path, reason: "its name is not UTF-8".to_owned() }).collect();
    let covered = match covered(ctx, (target, looks_at), &listing.paths) {
        // The run may go on without git.
        Err(error) if error.code() == Code::DirtyTree => {
            let reason = "it can't be read, so tracked files that ignore files cover are not looked at".to_owned();
            skipped.push(Skipped { path: INDEX.to_owned(), reason });
            Vec::new()
        }
        covered => covered?,
    };
    let (walked, others): (Vec<_>, Vec<_>) = listing.paths.into_iter().partition(|path| looks_at.matches(path));
    Ok(Listed { walked, covered, ignored: others.len() as u64, skipped })
}

/// Tracked files that an ignore file covers, beside the listed ones, which are sorted.
fn covered(
    ctx: &Context<'_>,
    (target, looks_at): (&Globs, &Globs),
    listed: &[RepoPath],
) -> Result<Vec<RepoPath>, Error> {
    let workspace = ctx.view.workspace();
    let ignored = workspace.ignore_files();
    let tracked = git::tracked(workspace.root())?.into_iter();
    let files = tracked.filter(|(_, tracked)| *tracked == Tracked::File);
    let files = files.filter_map(|(path, _)| RepoPath::parse(&path).ok());
    let wanted = files.filter(|path| target.matches(path) && looks_at.matches(path));
    // The listing has proposed files, so that a proposal for any other removes it or makes it a link.
    let kept = wanted.filter(|path| ctx.view.overlay().get(path).is_none());
    Ok(kept.filter(|path| listed.binary_search(path).is_err() && ignored.cover(path)).collect())
}
