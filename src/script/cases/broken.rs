//! The check that an adapter's verifier can fail: files that it changed are put back, and it has to notice.

use super::{Check, Tree, copy};
use base::{error::Error, path::RepoPath};
use host::Context;

/// The most files that are put back, one after the other.
const MOST: usize = 8;

/// The name of the check.
const NAME: &str = "measure";

/// Puts each changed file back for a moment and verifies the run again. The host's own checks of hashes notice that; `measure` and
/// `expect` have to notice it too. None if the run changed no file.
pub(super) fn check(place: &Context, run: &str, (input, applied): (&Tree, &Tree)) -> Result<Option<Check>, Error> {
    let changed = input.files().filter_map(|(path, before)| {
        let after = applied.get(path)?;
        (after.sha256 != before.sha256 && !after.is_link() && !before.is_link()).then_some((path, before, after))
    });
    let mut check = None;
    for (path, before, after) in changed.take(MOST) {
        check = Some(Check::holds(NAME));
        copy::put(&place.workspace, path, before)?;
        let noticed = notices(place, run);
        copy::put(&place.workspace, path, after)?;
        if !noticed? {
            return Ok(Some(Check::fails(NAME, cannot_fail(path))));
        }
    }
    Ok(check)
}

fn cannot_fail(path: &RepoPath) -> String {
    format!(
        "`measure` and `expect` can't fail: with `{path}` as it was before the change, they find nothing wrong\n\
         count in `measure` the places that `propose` changes, and expect in `expect` that none is left"
    )
}

/// True if a check beside those of hashes fails.
fn notices(place: &Context, run: &str) -> Result<bool, Error> {
    let verified = host::verify_again(place, &place.runs.open(run)?)?;
    Ok(verified.iter().any(|step| step.is_measured_wrong()))
}
