//! Commands that are ready to start.

use std::{fs, path::PathBuf};

use super::{
    Context,
    baseline::Stock,
    environment,
    program::{self, Found, Program},
    scope::Scope,
};
use base::{
    call,
    error::{Code, Error},
    path::{RepoPath, protected},
};
use system::workspace::Kind;

/// A prepared command.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(super) ctx: Context<'a>,
    pub(super) run: call::Run,
    pub(super) program: Program,
    /// The workspace's root without links on the way.
    pub(super) root: PathBuf,
    pub(super) cwd: Option<RepoPath>,
    pub(super) scope: Scope,
    pub(super) stock: Stock,
}

/// Checks the call, finds the program and lists the files that the command may change. The caller holds the lock on them.
///
/// A program's path with a slash is relative to the workspace's root unless absolute. The working folder does not matter, as
/// for all paths of a call.
pub fn prepare<'a>(ctx: Context<'a>, run: &call::Run) -> Result<Prepared<'a>, Error> {
    let root = fs::canonicalize(ctx.view.workspace().root())
        .map_err(|error| Error::io("the workspace's root can't be found", &error))?;
    let cwd = working_folder(&ctx, run.cwd.as_deref())?;
    environment::check(&run.env, ctx.variables)?;
    if let Some(argument) = run.args.iter().find(|argument| argument.contains('\0')) {
        let message = format!("the argument `{}` holds a NUL byte", argument.escape_debug());
        return Err(Error::new(Code::InvalidInput, message).hint("no program can be given such an argument"));
    }
    let scope = Scope::parse(&run.writes, &ctx.exec.scratch, ctx.permitted)?;
    let program = program::find(&ctx, &root, &run.program, environment::passed_on(&ctx).get("PATH"))?;
    let stock = Stock::take(&ctx, &scope)?;
    Ok(Prepared { ctx, run: run.clone(), program, root, cwd, scope, stock })
}

/// The folder that a command runs in; if none, the root.
fn working_folder(ctx: &Context<'_>, cwd: Option<&str>) -> Result<Option<RepoPath>, Error> {
    let Some(text) = cwd.filter(|text| !matches!(*text, "" | "." | "./")) else { return Ok(None) };
    let path = RepoPath::parse(text)?;
    if let Some(reason) = protected::read_refusal(&path) {
        return Err(Error::new(Code::ProtectedPath, format!("a command can't run in `{path}`: {reason}")));
    }
    let is_proposed = || {
        let mut proposed = ctx.view.overlay().iter().filter(|(_, content)| content.is_some());
        proposed.any(|(file, _)| file.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/')))
    };
    match ctx.view.workspace().stat(&path)?.map(|found| found.kind) {
        Some(Kind::Folder) => Ok(Some(path)),
        None if is_proposed() => Ok(Some(path)),
        None => Err(Error::new(Code::NotFound, format!("the folder `{path}` does not exist"))
            .hint("give `cwd` as a folder of the workspace, relative to its root")),
        Some(Kind::Link) => Err(Error::new(Code::InvalidPath, format!("`{path}` is or goes through a symbolic link"))
            .hint("links are not followed; name the folder itself")),
        Some(Kind::File | Kind::Other) => Err(Error::new(Code::InvalidInput, format!("`{path}` is no folder"))
            .hint("give `cwd` as a folder of the workspace, relative to its root")),
    }
}

impl Prepared<'_> {
    /// The program that will be run.
    pub fn program(&self) -> &Found {
        &self.program.found
    }

    /// Missing scratch folders whose full names the policy gives. The owner of the tree creates them before the command runs,
    /// or their contents are discarded. A dry run discards them in any case, and needs none.
    pub fn missing_scratch(&self) -> Result<Vec<RepoPath>, Error> {
        let named = if self.ctx.dry_run { Vec::new() } else { self.scope.named_scratch() };
        let known = |folder: &RepoPath| self.stock.scratch.contains(folder);
        Ok(named.into_iter().filter(|folder| !known(folder)).collect())
    }

    /// The scratch folders that the command writes directly. In a dry run there are none: they are in the view.
    pub fn scratch(&self) -> Result<Vec<RepoPath>, Error> {
        if self.ctx.dry_run {
            return Ok(Vec::new());
        }
        let mut folders = self.stock.scratch.clone();
        for folder in self.missing_scratch()? {
            // It was made since then.
            let is_there = self.ctx.view.workspace().stat(&folder)?.is_some_and(|found| found.kind == Kind::Folder);
            folders.extend(is_there.then_some(folder));
        }
        folders.sort();
        Ok(folders)
    }
}
