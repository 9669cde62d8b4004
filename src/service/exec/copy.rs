//! The view for kernels without overlays: a copy of the tree in a private folder.
//!
//! It holds the files of the tree, ignored ones too, with their modes and times, but neither `.git` nor `.runs`. Through links
//! to these, an unconfined command would write into the real ones, and a copy of a history is large. Scratch folders are links
//! to the real ones. In a dry run they are copies, since nothing written there may stay.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File, FileTimes, Permissions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{
    Context,
    baseline::differing,
    changes::{Candidates, check_survey, special},
    prepared::Prepared,
    private_folder::{Desk, failed},
    scope::Scope,
    stage,
};
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
};
use system::{
    process::sandbox::{Laid, Laying},
    workspace::{Kind, Metadata, Seen, Survey, Visit, Workspace, parallel_map},
};

/// A copy of the tree with the run's proposals.
#[derive(Debug)]
pub(super) struct Copy {
    folder: Workspace,
    /// Its files before the start of the command.
    stock: Vec<Seen>,
    /// The differences from the tree, a sentence each without final period.
    pub(super) missing: Vec<String>,
}

impl Copy {
    /// Copies the tree.
    pub(super) fn make(prepared: &Prepared<'_>, desk: &Desk) -> Result<Self, Error> {
        let (ctx, scope) = (&prepared.ctx, &prepared.scope);
        let root = desk.folder("tree")?;
        let linked: BTreeSet<RepoPath> = prepared.scratch()?.into_iter().collect();
        let survey = ctx.view.workspace().survey(ctx.threads, |path, kind| match kind {
            _ if protected::is_hidden_folder(path.file_name()) => Visit::Skip,
            Kind::Folder if linked.contains(path) => Visit::Take,
            Kind::Folder => Visit::TakeAndEnter,
            Kind::File | Kind::Link => Visit::Take,
            Kind::Other => Visit::Skip,
        })?;
        let mut folders = Vec::new();
        let mut files = Vec::new();
        for seen in &survey.seen {
            let place = root.join(seen.path.as_str());
            if linked.contains(&seen.path) {
                symlink(prepared.root.join(seen.path.as_str()), &place).map_err(|error| failed(&place, &error))?;
            } else if seen.metadata.kind == Kind::Folder {
                make_folder(&place)?;
                folders.push((place, seen.metadata));
            } else {
                files.push((place, seen));
            }
        }
        let tree = ctx.view.workspace();
        for copied in parallel_map(ctx.threads, &files, |(place, seen)| copy(tree, place, seen)) {
            copied?;
        }
        for laid in stage::proposed(prepared, desk)? {
            lay(&root, &laid)?;
        }
        // Modes and times last, innermost first: creating a file in a folder changes its time and needs write permission.
        for (place, metadata) in folders.iter().rev().filter(|(place, _)| place.is_dir()) {
            imitate(place, metadata)?;
        }
        let folder = Workspace::open(&root)?;
        let stock = survey_copy(ctx, scope, &folder)?.seen;
        Ok(Copy { folder, stock, missing: missing(&survey) })
    }

    /// Its path.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.root().to_owned()
    }

    /// The possible changes in it, by the metadata of files.
    pub(super) fn read(self, ctx: &Context<'_>, scope: &Scope) -> Result<Candidates, Error> {
        let survey = survey_copy(ctx, scope, &self.folder)?;
        check_survey(&survey)?;
        if let Some(seen) = survey.seen.iter().find(|seen| seen.metadata.kind == Kind::Other) {
            return Err(special(&seen.path));
        }
        let paths = differing(&self.stock, &survey.seen).into_iter().collect();
        let present = survey.seen.into_iter().map(|seen| (seen.path, seen.metadata)).collect();
        Ok(Candidates { folder: self.folder, paths, present })
    }
}

/// All files of the copy that are not scratch.
fn survey_copy(ctx: &Context<'_>, scope: &Scope, folder: &Workspace) -> Result<Survey, Error> {
    folder.survey(ctx.threads, |path, kind| match kind {
        Kind::Folder if scope.is_scratch_folder(path) => Visit::Skip,
        Kind::Folder => Visit::Enter,
        // A link in place of a scratch folder.
        Kind::Link if scope.is_scratch_folder(path) => Visit::Skip,
        Kind::File | Kind::Link | Kind::Other if scope.is_scratch(path) => Visit::Skip,
        Kind::File | Kind::Link | Kind::Other => Visit::Take,
    })
}

/// The things that a copy lacks.
fn missing(survey: &Survey) -> Vec<String> {
    let mut missing = Vec::new();
    if !survey.unnameable.is_empty() {
        missing.push("files whose names are not UTF-8 are not in the copy that the command worked on".to_owned());
    }
    if let Some(folder) = survey.unreadable.first() {
        missing.push(format!("`{folder}` can't be read and is not in the copy that the command worked on"));
    }
    missing
}

/// Copies one file or link.
#[expect(clippy::disallowed_methods, reason = "a private copy outside of the tree")]
pub(super) fn copy(tree: &Workspace, place: &Path, seen: &Seen) -> Result<(), Error> {
    let made = |error: io::Error| failed(place, &error);
    let content = match seen.metadata.kind {
        Kind::Link => tree.read_entry(&seen.path).map(Some),
        _ => Ok(None),
    };
    match content {
        Ok(Some(link)) if link.is_link() => {
            return symlink(OsStr::from_bytes(&link.bytes), place).map_err(made);
        }
        Ok(_) => {}
        Err(error) if error.code() == Code::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut file = File::create(place).map_err(made)?;
    match tree.copy_into(&seen.path, &mut file) {
        Ok(metadata) => imitate(place, &metadata),
        // It has vanished since the listing.
        Err(error) if error.code() == Code::NotFound => fs::remove_file(place).map_err(made),
        Err(error) => Err(error),
    }
}

/// Gives a copy the mode and the time of its original: builds compare times.
#[expect(clippy::disallowed_methods, reason = "a private copy outside of the tree")]
pub(super) fn imitate(place: &Path, metadata: &Metadata) -> Result<(), Error> {
    let failed = |error: io::Error| failed(place, &error);
    let since = |nanoseconds: i128| u64::try_from(nanoseconds).ok().map(Duration::from_nanos);
    let modified: Option<SystemTime> = since(metadata.modified_ns).and_then(|since| UNIX_EPOCH.checked_add(since));
    if let Some(modified) = modified {
        let times = FileTimes::new().set_modified(modified);
        File::open(place).and_then(|file| file.set_times(times)).map_err(failed)?;
    }
    fs::set_permissions(place, Permissions::from_mode(metadata.mode)).map_err(failed)
}

/// Writes one proposed file over the copy.
#[expect(clippy::disallowed_methods, reason = "a private copy outside of the tree")]
fn lay(root: &Path, laid: &Laid) -> Result<(), Error> {
    let place = root.join(&laid.path);
    let failed = |error: io::Error| failed(&place, &error);
    match fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    if laid.what != Laying::Gone
        && let Some(folder) = place.parent()
    {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    match &laid.what {
        Laying::Gone => {
            // The folders that this empties are removed too, as in the tree.
            let above = place.ancestors().skip(1).take_while(|folder| *folder != root);
            above.map(fs::remove_dir).take_while(Result::is_ok).for_each(drop);
            Ok(())
        }
        Laying::Link(target) => symlink(target, &place).map_err(failed),
        Laying::File(from, mode) => {
            fs::copy(from, &place).map_err(failed)?;
            fs::set_permissions(&place, Permissions::from_mode(*mode)).map_err(failed)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a private copy outside of the tree")]
pub(super) fn make_folder(place: &Path) -> Result<(), Error> {
    fs::create_dir(place).map_err(|error| failed(place, &error))
}
