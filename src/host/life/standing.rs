//! The changes of a run that stand, for whoever carries them further.

use super::rollback::standing;
use crate::Context;
use base::{
    change::{Content, Stamp},
    error::{Code, Error},
    path::RepoPath,
    text::first_file,
};
use record::RunFolder;

/// A file that a run changed, and that is as the run left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingChange {
    /// The file.
    pub path: RepoPath,
    /// Its content before the run; none if it did not exist.
    pub before: Option<Content>,
    /// Its state after the run; none if the run removed it.
    pub after: Option<Stamp>,
}

/// The changes of a run, sorted by path, with the positions left out that were undone since.
///
/// `stale_preimage` names the files that changed since the run, and `record_damaged` those whose earlier contents are gone.
pub fn standing_changes(context: &Context, folder: &RunFolder) -> Result<Vec<StandingChange>, Error> {
    let mut restored = standing(context, folder, false)?;
    let changed = restored.changed_since(context, false)?;
    if let Some(named) = first_file(&changed) {
        let names: Vec<&str> = changed.iter().map(RepoPath::as_str).collect();
        return Err(Error::new(Code::StalePreimage, format!("{named} changed since run {}", folder.id()))
            .detail("files", names)
            .hint("commit these files by hand, or roll the run back and run it again"));
    }
    Ok(restored.into_changes().map(|(path, before, after)| StandingChange { path, before, after }).collect())
}
