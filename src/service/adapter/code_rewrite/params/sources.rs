//! The texts of rules, utilities and tests, from the tree. They are read and not interpreted.

use std::collections::BTreeSet;

use super::wire::{Params, Paths};
use crate::Context;
use base::{
    change::Content,
    error::{Code, Error},
    path::RepoPath,
};
use system::workspace::{Globs, Kind};

/// The largest number of files with rules.
const MOST_FILES: usize = 5_000;

/// The largest file with rules, in bytes.
const LARGEST: u64 = 4 << 20;

/// The files that the parameters name.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Texts of rules.
    pub(crate) rules: Vec<String>,
    /// Texts of utility rules.
    pub(crate) utils: Vec<String>,
    /// Texts of tests, with those of the snapshots beside them.
    pub(crate) tests: Vec<String>,
    /// The paths of all of them.
    pub(crate) files: BTreeSet<RepoPath>,
}

impl Sources {
    /// Reads all of them; `not_found` names a path where nothing is.
    pub(crate) fn read(ctx: &Context<'_>, params: &Params) -> Result<Self, Error> {
        let mut sources = Sources::default();
        sources.rules = sources.texts(ctx, &params.rules, "rules")?;
        sources.utils = sources.texts(ctx, &params.utils, "utils")?;
        sources.tests = sources.texts(ctx, &params.tests, "tests")?;
        Ok(sources)
    }

    fn texts(&mut self, ctx: &Context<'_>, paths: &Paths, name: &str) -> Result<Vec<String>, Error> {
        let mut files = BTreeSet::new();
        for path in paths.list() {
            files.extend(within(ctx, path, name)?);
        }
        if files.len() > MOST_FILES {
            let many = format!("`params.{name}` has {} files, more than {MOST_FILES}", files.len());
            return Err(Error::new(Code::InvalidInput, many).hint("name the folders of the rules that you need"));
        }
        let texts = files.iter().map(|path| text(ctx, path)).collect::<Result<Vec<_>, _>>()?;
        self.files.extend(files);
        Ok(texts)
    }

    /// `invalid_input` if a change would alter one of them: the verifier reads them again.
    pub(in super::super) fn check_unchanged<'a>(
        &self,
        mut changed: impl Iterator<Item = &'a RepoPath>,
    ) -> Result<(), Error> {
        match changed.find(|path| self.files.contains(*path)) {
            None => Ok(()),
            Some(path) => {
                Err(Error::new(Code::InvalidInput, format!("the rules would change the file of rules `{path}`"))
                    .hint(format!("exclude it: add `!{path}` to `target.glob`")))
            }
        }
    }
}

/// The files at a path: itself, or all `.yml` and `.yaml` beneath it.
fn within(ctx: &Context<'_>, text: &str, name: &str) -> Result<Vec<RepoPath>, Error> {
    let path = RepoPath::parse(text.trim_end_matches('/'))?;
    let is_known = |path: &RepoPath| ctx.view.overlay().get(path).is_some_and(|content| content.is_some());
    if is_known(&path) {
        return Ok(vec![path]);
    }
    match ctx.view.workspace().stat(&path)?.map(|found| found.kind) {
        Some(Kind::File) => return Ok(vec![path]),
        Some(Kind::Folder) | None => {}
        Some(kind) => {
            return Err(Error::new(Code::InvalidInput, format!("`{path}` of `params.{name}` is a {}", kind.noun()))
                .hint("name a file or a folder"));
        }
    }
    let globs = ["yml", "yaml"].map(|ending| format!("{}/**/*.{ending}", Globs::literal(&path)));
    let found = ctx.view.list(&Globs::parse(&globs)?, ctx.threads)?.paths;
    if found.is_empty() {
        return Err(Error::new(
            Code::NotFound,
            format!("`params.{name}` names `{path}`, where no `.yml` or `.yaml` file is"),
        )
        .hint("name a file or a folder of the workspace; files that git ignores do not count"));
    }
    Ok(found)
}

fn text(ctx: &Context<'_>, path: &RepoPath) -> Result<String, Error> {
    let unreadable =
        |reason: &str| Error::new(Code::Unreadable, format!("`{path}` {reason}")).detail("path", path.as_str());
    let content = ctx.view.read_within(path, LARGEST)?.map(Content::into_bytes);
    let bytes = content.ok_or_else(|| unreadable("is larger than 4 MiB, too large for a file of rules"))?;
    String::from_utf8(bytes).map_err(|_| unreadable("is not UTF-8"))
}
