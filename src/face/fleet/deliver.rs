//! From approved patches to branches: each patch becomes one commit on a branch of its repository, once, and can be taken back.

use serde::{Deserialize, Serialize};

use super::{
    clone::Clone as Cloned,
    collect::Row,
    manifest::CommitForm,
    plan::Task,
    result::{self, Part},
    work::Worker,
};
use crate::{
    base::{
        error::{Code, Error},
        hash::Sha256,
        json,
    },
    script::remote::Git,
    service::exec::PrivateFolder,
};

/// A branch that was pushed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// The task.
    pub task: Sha256,
    /// The name of the branch.
    pub branch: String,
    /// The commit on it.
    pub commit: String,
}

impl Worker<'_> {
    /// Pushes the patch of a task as a commit on a new branch. False if that was done before.
    ///
    /// `stale_preimage` if the repository has another branch of that name, and `temporary` if it can't be reached.
    pub fn deliver(&self, task: &Task, row: &Row, form: &CommitForm) -> Result<(Delivered, bool), Error> {
        let key = key(task.id);
        let before = self.delivered(task.id)?;
        if let Some(before) = before.filter(|_| matches!(self.store.get(&taken_back(task.id)), Ok(None))) {
            return Ok((before, false));
        }
        let sha256 =
            row.outcome.patch.ok_or_else(|| Error::new(Code::Internal, "a task without a patch is delivered"))?;
        let patch = result::part(self.store, &row.outcome, Part::Patch, sha256)?;
        let folder = PrivateFolder::make("fleet")?;
        let surroundings = self.surroundings();
        let clone = Cloned::make(task, self.head.clone_mb, &folder, &surroundings)?;
        let commit = clone.commit(&patch, form)?;
        clone.push(&task.url, &commit, &form.branch)?;
        let delivered = Delivered { task: task.id, branch: form.branch.clone(), commit };
        self.store.create(&key, json::canonical(&delivered)?.as_bytes())?;
        Ok((delivered, true))
    }

    /// The branch that was pushed for a task; none if none was.
    pub fn delivered(&self, task: Sha256) -> Result<Option<Delivered>, Error> {
        let Some(bytes) = self.store.get(&key(task))? else { return Ok(None) };
        let delivered: Option<Delivered> = serde_json::from_slice(&bytes).ok();
        delivered.filter(|delivered| delivered.task == task).map(Some).ok_or_else(|| {
            Error::new(Code::RecordDamaged, format!("the object `{}` of the store is damaged", key(task)))
        })
    }

    /// Removes the branch of a task, if it is as it was pushed; false if it is gone already.
    ///
    /// `stale_preimage` if others have committed on it.
    pub fn take_back(&self, task: &Task, delivered: &Delivered) -> Result<bool, Error> {
        let folder = PrivateFolder::make("fleet")?;
        let surroundings = self.surroundings();
        let git = Git { place: folder.path(), limits: super::resolve::LIMITS, surroundings: &surroundings };
        let is_removed = Cloned::remove(&git, &task.url, &delivered.commit, &delivered.branch)?;
        self.store.create(&taken_back(task.id), b"")?;
        Ok(is_removed)
    }
}

/// The key that says that a branch was removed, so that it can be pushed again.
fn taken_back(task: Sha256) -> String {
    format!("taken-back/{task}")
}

fn key(task: Sha256) -> String {
    format!("delivered/{task}")
}
