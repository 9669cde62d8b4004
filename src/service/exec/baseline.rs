//! The state of the tree before a command starts: metadata of the files that it may change, and special folders.

use super::{Context, owner::Own, scope::Scope};
use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
    text::first_file,
};
use system::workspace::{Kind, Seen, Visit};

/// The tree before the command.
#[derive(Debug, Default)]
pub(super) struct Stock {
    /// Files and links that the command may change.
    pub(super) files: Vec<Seen>,
    /// Scratch folders.
    pub(super) scratch: Vec<RepoPath>,
    /// Files and folders named `.git`, at any depth.
    pub(super) repositories: Vec<RepoPath>,
    /// Folders with the records of runs.
    pub(super) records: Vec<RepoPath>,
    /// True if a folder belongs to another user or group.
    pub(super) has_foreign: bool,
}

impl Stock {
    /// Lists the tree. Of files that the command may not change only the names are needed.
    pub(super) fn take(ctx: &Context<'_>, scope: &Scope) -> Result<Self, Error> {
        let own = Own::of_this_process();
        let survey = ctx.view.workspace().survey(ctx.threads, |path, kind| match kind {
            Kind::File | Kind::Folder if protected::is_hidden_folder(path.file_name()) => Visit::Take,
            Kind::Folder if scope.is_scratch_folder(path) => Visit::Take,
            Kind::Folder => Visit::TakeAndEnter,
            // They come and go beside the files of a transaction, and beside a trace. No command may write one.
            Kind::File | Kind::Link if protected::is_temporary(path.file_name()) => Visit::Skip,
            Kind::File | Kind::Link if scope.may_write(path) && !scope.is_scratch(path) => Visit::Take,
            Kind::File | Kind::Link | Kind::Other => Visit::Skip,
        })?;
        let mut stock = Stock::default();
        for seen in survey.seen {
            let name = seen.path.file_name();
            let is_folder = seen.metadata.kind == Kind::Folder;
            if name.eq_ignore_ascii_case(protected::RUNS) {
                stock.records.extend(is_folder.then_some(seen.path));
            } else if protected::is_hidden_folder(name) && seen.metadata.kind != Kind::Link {
                stock.repositories.push(seen.path);
            } else if is_folder {
                stock.has_foreign |= own.lacks(&seen.metadata);
                stock.scratch.extend(scope.is_scratch_folder(&seen.path).then_some(seen.path));
            } else {
                stock.files.push(seen);
            }
        }
        Ok(stock)
    }

    /// An error if a file that the command may change has changed since: another process wrote it.
    pub(super) fn check(&self, ctx: &Context<'_>, scope: &Scope) -> Result<(), Error> {
        if !scope.is_writable() {
            return Ok(());
        }
        let now = Stock::take(ctx, scope)?.files;
        let changed = differing(&self.files, &now);
        let Some(named) = first_file(&changed) else { return Ok(()) };
        let files: Vec<&str> = changed.iter().map(|path| path.as_str()).collect();
        Err(Error::new(Code::StalePreimage, format!("{named} changed while the command ran"))
            .detail("files", files)
            .hint("nothing of what the command did is kept; run it again"))
    }
}

/// The paths in only one of two sorted lists, and those in both with differences, in their order.
pub(super) fn differing(before: &[Seen], after: &[Seen]) -> Vec<RepoPath> {
    let mut differing = Vec::new();
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let (old, new) = (before.peek(), after.peek());
        let order = match (old, new) {
            (None, None) => return differing,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.path.cmp(&new.path),
        };
        let old = if order.is_le() { before.next() } else { None };
        let new = if order.is_ge() { after.next() } else { None };
        if old != new {
            differing.extend(old.or(new).map(|seen| seen.path.clone()));
        }
    }
}
