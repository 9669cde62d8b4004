//! The changes that a dry run proposes.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Context, change::patch::Patch};
use base::{
    change::{ChangeSet, Content, Entry, Stamp},
    diff::Stat,
    error::Error,
    path::RepoPath,
};
use gate::GateResult;
use system::{
    journal::{Target, check_case, preflight},
    workspace::{Overlay, View, parallel_map},
};

/// A file of a dry run's patch.
#[derive(Clone, Debug)]
pub(crate) struct Previewed {
    /// The stamp of the file on the disk; none if the file does not exist.
    pub(crate) before: Option<Stamp>,
    /// The content that the latest step would write; none if the file would not exist.
    pub(crate) after: Option<Content>,
    /// Its part of the patch with its size; none if it has to be rendered again, because several steps would change it.
    pub(crate) part: Option<(Arc<[u8]>, Stat)>,
}

/// The changes that a dry run proposes, laid over the tree.
pub(crate) struct Draft<'a> {
    pub(crate) context: &'a Context,
    pub(crate) overlay: Overlay,
    pub(crate) proposed: BTreeMap<RepoPath, Previewed>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Draft { context, overlay: Overlay::default(), proposed: BTreeMap::new() }
    }

    /// The tree as the run sees it: in a dry run with what it proposes laid over it.
    pub(crate) fn view(&self) -> View<'_> {
        View::new(&self.context.workspace, &self.overlay)
    }

    /// Checks that a transaction could write a change: what is promised must not fail later.
    pub(crate) fn check_targets(&self, changes: &ChangeSet) -> Result<(), Error> {
        // What an earlier step of this dry run proposed is not on the disk, nor is what lies where it removed a file.
        let is_proposed = |path: &RepoPath| self.proposed.contains_key(path);
        let folders = |path: &RepoPath| std::iter::successors(path.parent(), RepoPath::parent);
        let on_disk =
            |target: &Target<'_>| !is_proposed(target.path) && !folders(target.path).any(|folder| is_proposed(&folder));
        let targets: Vec<_> = Target::of(changes).into_iter().filter(on_disk).collect();
        let check = |target: &Target<'_>| preflight(&self.context.workspace, target);
        parallel_map(self.context.options.threads, &targets, check).into_iter().collect::<Result<(), _>>()?;
        check_case(&self.context.workspace, &targets)
    }

    /// Lays a change over what the run sees, and adds it to the run's patch.
    pub(crate) fn preview(&mut self, changes: &ChangeSet, patch: &Patch) {
        self.overlay.add(changes);
        for (change, (part, stat)) in changes.changes().iter().zip(patch.parts()) {
            let mut previewed = Previewed {
                before: change.before,
                after: change.after.clone(),
                part: Some((Arc::from(part), stat.clone())),
            };
            if let Some(earlier) = self.proposed.remove(&change.path) {
                previewed = Previewed { before: earlier.before, part: None, ..previewed };
            }
            // What a later step takes back is as it is on the disk.
            if previewed.before == previewed.after.as_ref().map(Content::stamp) {
                continue;
            }
            self.proposed.insert(change.path.clone(), previewed);
        }
    }
}

/// The result of a dry run, file by file, of which a plan is made.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    pub(crate) entries: Vec<Entry>,
    pub(crate) patch: Patch,
    pub(crate) results: Vec<GateResult>,
}

impl Preview {
    /// Files, and lines added and removed together.
    pub(crate) fn size(&self) -> (usize, u64) {
        (self.entries.len(), self.patch.stats.iter().map(|stat| stat.lines.total()).sum())
    }
}
