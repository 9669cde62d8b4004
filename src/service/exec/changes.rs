//! Turns possibly changed files into a change set, or into the reason that the command may not have changed them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Context,
    scope::{Scope, hint},
};
use base::{
    change::{Change, ChangeSet, Content, LINK},
    error::{Code, Error},
    path::{RepoPath, protected},
    text::counted,
};
use system::workspace::{Kind, Metadata, Survey, Workspace, parallel_map};

/// The number of files that an error names.
const NAMED: usize = 10;

/// Mode bits that make a program run as another user, and the one that guards a folder.
const SPECIAL_BITS: u32 = 0o7000;

/// The limit of bytes of changed files, before and after together: they are held in memory.
const MAX_BYTES: u64 = 4 << 30;

/// Files that may have changed.
#[derive(Debug)]
pub(super) struct Candidates {
    /// The folder with their present contents.
    pub(super) folder: Workspace,
    /// Their paths.
    pub(super) paths: BTreeSet<RepoPath>,
    /// The existing ones, perhaps among others that did not change.
    pub(super) present: BTreeMap<RepoPath, Metadata>,
}

/// The changes of a command, in the order of the paths, with the pre-images.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) set: ChangeSet,
    pub(super) before: Vec<Option<Content>>,
}

/// The metadata of a file before and after: mode and length of each side.
#[derive(Debug)]
struct Candidate<'a> {
    path: &'a RepoPath,
    before: Option<(u32, u64)>,
    after: Option<(u32, u64)>,
}

/// Compares candidates with the view in which the command was started.
pub(super) fn collect(ctx: &Context<'_>, scope: &Scope, candidates: &Candidates) -> Result<Changes, Error> {
    let paths: Vec<&RepoPath> = candidates.paths.iter().collect();
    let looks = parallel_map(ctx.threads, &paths, |path| look(ctx, candidates, path));
    let looks: Vec<Candidate<'_>> = looks.into_iter().collect::<Result<_, _>>()?;
    let there = looks.into_iter().filter(|look| look.before.is_some() || look.after.is_some());
    let (wanted, stray): (Vec<_>, Vec<_>) = there.partition(|look| scope.may_write(look.path));
    let mut refused = Vec::new();
    for (look, differs) in stray.iter().zip(parallel_map(ctx.threads, &stray, |look| differs(ctx, candidates, look))) {
        if differs? {
            refused.push(look.path.clone());
        }
    }
    check_places(ctx, &refused)?;
    check_length(&wanted)?;
    let mut changes = Vec::new();
    let mut contents = Vec::new();
    for change in parallel_map(ctx.threads, &wanted, |look| compare(ctx, candidates, look)) {
        let Some((change, before)) = change? else { continue };
        check_mode(&change)?;
        changes.push(change);
        contents.push(before);
    }
    let is_protected = |path: &RepoPath| protected::write_refusal_unless(path, ctx.permitted).is_some();
    let protected: Vec<RepoPath> = changes.iter().map(|change| change.path.clone()).filter(is_protected).collect();
    check_places(ctx, &protected)?;
    Ok(Changes { set: ChangeSet::new(changes)?, before: contents })
}

/// Reads the metadata of both sides of a file.
fn look<'a>(ctx: &Context<'_>, candidates: &Candidates, path: &'a RepoPath) -> Result<Candidate<'a>, Error> {
    let seen = |found: &Metadata| (if found.kind == Kind::Link { LINK } else { found.mode }, found.length);
    let before = match ctx.view.overlay().get(path) {
        Some(proposed) => proposed.map(|content| (content.mode, content.bytes.len() as u64)),
        None => match standing(ctx.view.workspace(), path)? {
            Some(found) if found.kind == Kind::Other => return Err(special(path)),
            found => found.filter(|found| found.kind != Kind::Folder).as_ref().map(seen),
        },
    };
    Ok(Candidate { path, before, after: candidates.present.get(path).map(seen) })
}

/// A file before and after, if it changed.
fn compare(
    ctx: &Context<'_>,
    candidates: &Candidates,
    look: &Candidate<'_>,
) -> Result<Option<(Change, Option<Content>)>, Error> {
    let path = look.path;
    let before = look.before.map(|_| ctx.view.read_entry(path)).transpose()?;
    let after = look.after.map(|_| candidates.folder.read_entry(path)).transpose()?;
    if before == after {
        return Ok(None);
    }
    let change = Change { path: path.clone(), before: before.as_ref().map(Content::stamp), after };
    Ok(Some((change, before)))
}

/// True if a file changed that should not have. It may be of any length, so it is read only if its metadata does not tell, and
/// is not held in memory.
fn differs(ctx: &Context<'_>, candidates: &Candidates, look: &Candidate<'_>) -> Result<bool, Error> {
    if look.before != look.after {
        return Ok(true);
    }
    let before = match ctx.view.overlay().get(look.path).flatten() {
        Some(proposed) => proposed.stamp(),
        None => ctx.view.workspace().stamp_entry(look.path)?,
    };
    Ok(before != candidates.folder.stamp_entry(look.path)?)
}

/// Refuses changes that would not fit into memory.
fn check_length(wanted: &[Candidate<'_>]) -> Result<(), Error> {
    let sides = wanted.iter().flat_map(|look| [look.before, look.after]).flatten();
    let bytes = sides.map(|(_, length)| length).fold(0, u64::saturating_add);
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let message =
        format!("the command changed files of {bytes} bytes together, before and after, and that is too much");
    Err(Error::new(Code::Unreadable, message)
        .detail("bytes", bytes)
        .detail("limit", MAX_BYTES)
        .hint("name what is no part of the tree in `scratch` of `[exec]`, or change less at once"))
}

/// Refuses changes of files that the command may not change, if there are any.
fn check_places(ctx: &Context<'_>, paths: &[RepoPath]) -> Result<(), Error> {
    let refused = |path| Some((path, protected::write_refusal_unless(path, ctx.permitted)?));
    if let Some((path, reason)) = paths.iter().find_map(refused) {
        return Err(Error::new(
            Code::ProtectedPath,
            format!("the command changed `{path}`, which is protected: {reason}"),
        )
        .detail("path", path.as_str())
        .hint(format!("nothing of what it did is kept; {}", hint(path))));
    }
    if paths.is_empty() {
        return Ok(());
    }
    let named: Vec<&str> = paths.iter().take(NAMED).map(|path| path.as_str()).collect();
    let more = match paths.len() - named.len() {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more file")),
    };
    let shown = named.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let message = format!("the command changed {shown}{more}, which its `writes` do not name");
    let such = new_folder(ctx, paths).map_or(String::new(), |folder| format!(", such as `{folder}/**`"));
    Err(Error::new(Code::PermissionDenied, message).detail("files", named).hint(format!(
        "nothing of what it did is kept; add a glob to the call's `writes`, or to `scratch` in `[exec]` if these files are no part \
         of the tree{such}",
    )))
}

/// The folder that a command made for all these files, as programs do for a cache.
fn new_folder(ctx: &Context<'_>, paths: &[RepoPath]) -> Option<RepoPath> {
    let (first, others) = paths.split_first()?;
    let above = first.as_str().match_indices('/').filter_map(|(at, _)| RepoPath::parse(&first.as_str()[..at]).ok());
    let holds_all = |folder: &RepoPath| {
        let mut others = others.iter();
        others.all(|path| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/')))
    };
    above.take_while(holds_all).find(|folder| matches!(standing(ctx.view.workspace(), folder), Ok(None)))
}

/// Refuses mode bits that no change should set unnoticed.
fn check_mode(change: &Change) -> Result<(), Error> {
    let special = |mode: u32| mode & SPECIAL_BITS;
    let Some(after) = change.after.as_ref().filter(|after| !after.is_link()) else { return Ok(()) };
    let before = change.before.filter(|before| !before.is_link()).map_or(0, |before| special(before.mode));
    if special(after.mode) & !before == 0 {
        return Ok(());
    }
    let message = format!("the command gave `{}` the mode {:o}", change.path, after.mode);
    Err(Error::new(Code::Unwritable, message)
        .detail("path", change.path.as_str())
        .hint("setuid, setgid and sticky bits can't be set by a run"))
}

/// Refuses names that no change set can hold, and unreadable folders.
pub(super) fn check_survey(survey: &Survey) -> Result<(), Error> {
    if let Some(name) = survey.unnameable.first() {
        return Err(Error::new(Code::InvalidPath, format!("the command changed `{name}`, whose name is not UTF-8"))
            .detail("path", name.as_str())
            .hint("have it named otherwise, or name it in `scratch` of `[exec]` if it is no part of the tree"));
    }
    if let Some(folder) = survey.unreadable.first() {
        return Err(Error::new(
            Code::Unreadable,
            format!("the command left the folder `{folder}`, which can't be read"),
        )
        .detail("path", folder.as_str())
        .hint("have it leave its folders readable"));
    }
    Ok(())
}

/// The metadata of a file of the tree at another tree's path; none also if a folder on the way no longer leads there.
pub(super) fn standing(tree: &Workspace, path: &RepoPath) -> Result<Option<Metadata>, Error> {
    match tree.stat(path) {
        // A folder in the other tree is a link in this one.
        Err(error) if error.code() == Code::InvalidPath => Ok(None),
        result => result,
    }
}

/// An error for a file that no change set can hold.
pub(super) fn special(path: &RepoPath) -> Error {
    Error::new(Code::Unwritable, format!("the command left `{path}`, which is neither a file nor a symbolic link"))
        .detail("path", path.as_str())
        .hint("devices, pipes and sockets can't be kept: have it removed, or name it in `scratch` of `[exec]`")
}
