//! Backups: a copy of each changed file beside it, as a file of the same change.

use std::collections::BTreeMap;

use super::draft::Draft;
use base::{
    error::{Code, Error},
    path::RepoPath,
};

/// Checks the suffix of the names of backups.
pub(super) fn check_suffix(suffix: &str) -> Result<(), Error> {
    if suffix.is_empty() || suffix.contains(['/', '\0']) {
        let message = format!("`{}` is no suffix for backups", suffix.escape_debug());
        return Err(Error::new(Code::InvalidInput, message).hint("give the end of a file's name, such as `.bak`"));
    }
    Ok(())
}

/// Adds a backup of every changed or removed file; returns the backups' paths, by the path of the file.
///
/// `unwritable` if a file is there already: an older backup may hold the last copy of somebody's work.
pub(super) fn make(draft: &mut Draft<'_>, suffix: &str) -> Result<BTreeMap<RepoPath, RepoPath>, Error> {
    let mut backups = BTreeMap::new();
    for (path, content) in draft.replaced() {
        let backup = RepoPath::parse(&format!("{path}{suffix}"))?;
        if draft.is_taken(&backup)? {
            return Err(Error::new(Code::Unwritable, format!("the backup `{backup}` of `{path}` exists already"))
                .detail("path", backup.as_str())
                .hint("move it away, or choose another suffix"));
        }
        draft.merge(vec![(backup.clone(), None)], vec![(backup.clone(), Some(content))], None, None);
        backups.insert(path, backup);
    }
    Ok(backups)
}
