//! Reads the changes of a command from the overlay's upper layer.
//!
//! A device 0/0 marks a removal. An opaque folder hides its former contents. New folders and modes of folders are not changes:
//! like git, a change set knows files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use super::{
    Context,
    changes::{Candidates, check_survey, special, standing},
    scope::Scope,
};
use base::{error::Error, path::RepoPath};
use system::workspace::{Kind, Seen, Visit, Workspace};

/// The mark of an opaque folder.
const OPAQUE: &str = "user.overlay.opaque";

/// The possible changes, with the folder of the present contents. An unchanged copy from before the start is not a change.
pub(super) fn read(ctx: &Context<'_>, scope: &Scope, upper: &Path, laid: &[Seen]) -> Result<Candidates, Error> {
    let is_laid = |seen: &Seen| {
        let at = laid.binary_search_by(|known| known.path.cmp(&seen.path));
        at.is_ok_and(|at| laid[at] == *seen)
    };
    let folder = Workspace::open(upper)?;
    let survey = folder.survey(ctx.threads, |path, kind| match kind {
        Kind::Folder if scope.is_scratch_folder(path) => Visit::Skip,
        Kind::Folder => Visit::TakeAndEnter,
        Kind::File | Kind::Link | Kind::Other if scope.is_scratch(path) => Visit::Skip,
        Kind::File | Kind::Link | Kind::Other => Visit::Take,
    })?;
    check_survey(&survey)?;
    let tree = ctx.view.workspace();
    let mut found = Candidates { folder, paths: BTreeSet::new(), present: BTreeMap::new() };
    let mut emptied = Vec::new();
    for seen in survey.seen {
        let place = upper.join(seen.path.as_str());
        let below = standing(tree, &seen.path)?;
        let is_laid = is_laid(&seen);
        let was_folder = below.is_some_and(|below| below.kind == Kind::Folder);
        let is_gone = match seen.metadata.kind {
            Kind::Folder => is_opaque(&place)? || !was_folder,
            Kind::File | Kind::Link => {
                found.present.insert(seen.path.clone(), seen.metadata);
                true
            }
            Kind::Other if is_whiteout(&place) => true,
            Kind::Other => return Err(special(&seen.path)),
        };
        if is_gone && was_folder {
            emptied.push(seen.path.clone());
        }
        if is_laid {
            continue;
        }
        if seen.metadata.kind != Kind::Folder || (below.is_some() && !was_folder) {
            found.paths.insert(seen.path);
        }
    }
    found.paths.extend(files_below(ctx, scope, emptied)?);
    // A removed proposal leaves no trace if the tree has no such file.
    let proposed = ctx.view.overlay().iter().filter(|(path, content)| content.is_some() && !scope.is_scratch(path));
    found.paths.extend(proposed.map(|(path, _)| path.clone()));
    Ok(found)
}

/// The files of the tree in folders that were removed or emptied.
fn files_below(ctx: &Context<'_>, scope: &Scope, mut folders: Vec<RepoPath>) -> Result<Vec<RepoPath>, Error> {
    // A folder may stand for all those in it.
    folders.sort();
    folders.dedup_by(|below, above| below.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/')));
    let survey = ctx.view.workspace().survey_below(&folders, ctx.threads, |path, kind| match kind {
        Kind::Folder if scope.is_scratch_folder(path) => Visit::Skip,
        Kind::Folder => Visit::Enter,
        Kind::File | Kind::Link | Kind::Other if scope.is_scratch(path) => Visit::Skip,
        Kind::File | Kind::Link | Kind::Other => Visit::Take,
    })?;
    check_survey(&survey)?;
    Ok(survey.seen.into_iter().map(|seen| seen.path).collect())
}

fn is_whiteout(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|found| found.file_type().is_char_device() && found.rdev() == 0)
}

fn is_opaque(place: &Path) -> Result<bool, Error> {
    let mut value = [0; 8];
    match rustix::fs::lgetxattr(place, OPAQUE, &mut value) {
        Ok(length) => Ok(value.starts_with(b"y") && length == 1),
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::RANGE) => Ok(false),
        Err(errno) => Err(Error::io(format!("`{}` can't be read", place.display()), &errno.into())),
    }
}
