//! The user's git, as they run it, but for hooks and work in the background.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use super::super::Here;
use base::{
    change::Content,
    error::{Code, Error},
    path::RepoPath,
    text::escape,
};
use service::exec;
use system::{
    git::{self, blob_name},
    process::{Captured, Command, Program, capture},
};

/// The time that git has, in milliseconds: a person may have to unlock a key or touch a token.
const PATIENCE_MS: u64 = 600_000;

/// The longest output that is read.
const MAX_OUTPUT: usize = 1 << 30;

/// The variables of git that stay: who commits, and where the settings of the user and the system are. Others name another repository.
const KEPT: &[&str] = &["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG"];

/// Settings that outrank the user's: no watcher, nothing in the background, and no hook.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.verbose=false",
    "i18n.commitEncoding=UTF-8",
    NO_HOOKS,
];

/// The setting without which git runs hooks, and with which it does not tell where they are.
const NO_HOOKS: &str = "core.hooksPath=/dev/null";

/// Lists the files of an index that differ from the present commit.
const STAGED: &[&str] = &["diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-relative"];

/// Files of a repository in the middle of something, and the command that is not finished.
const UNFINISHED: &[(&str, &str)] = &[
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
];

/// Files with which a git command keeps others from changing the repository.
const LOCKS: &[&str] = &["index.lock", "HEAD.lock"];

/// A file as the present commit has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Committed {
    /// Its mode, such as `100644`.
    pub(super) mode: String,
    /// The name of its content.
    pub(super) object: String,
}

/// The user's git in the workspace's folder.
pub(super) struct Git<'a> {
    here: &'a Here,
    program: PathBuf,
    env: BTreeMap<String, String>,
    /// The workspace's folder below the top of the work tree, empty or with a slash at its end.
    prefix: String,
}

impl<'a> Git<'a> {
    /// Finds the program and the repository of the workspace.
    pub(super) fn open(here: &'a Here) -> Result<Self, Error> {
        let options = &here.context.options;
        let root = here.context.workspace.root();
        let program = exec::look_up("git", options.environment.get("PATH"))
            .map_err(|error| error.hint("a commit needs the program `git`; install it, or run without `--commit`"))?;
        let real = program.canonicalize().unwrap_or_else(|_| program.clone());
        if real.starts_with(root) || program.starts_with(root) {
            return Err(Error::new(Code::PermissionDenied, "the program `git` in `PATH` is a file of the workspace")
                .hint("take the folder of the workspace out of `PATH`"));
        }
        git::check_files(root)?;
        let is_kept = |name: &str| !name.starts_with("GIT_") || KEPT.iter().any(|kept| name.starts_with(kept));
        let env = options.environment.iter().filter(|(name, _)| is_kept(name));
        let env = env.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut git = Git { here, program, env, prefix: String::new() };
        git.prefix = git
            .line(&["rev-parse", "--show-prefix"])
            .map_err(|error| error.hint("a commit needs a git repository; `git init` makes one"))?;
        Ok(git)
    }

    /// Runs git with this input; the caller looks at the status.
    fn run(&self, arguments: &[&str], stdin: Vec<u8>) -> Result<Captured, Error> {
        self.run_with(arguments, stdin, None)
    }

    /// Runs git with this input and perhaps another index; the caller looks at the status.
    fn run_with(&self, arguments: &[&str], stdin: Vec<u8>, index: Option<String>) -> Result<Captured, Error> {
        // Paths are what they are; a command that knows no such option gets them with `./` before.
        let literal = (arguments.first() != Some(&"check-ignore")).then_some("--literal-pathspecs");
        // A question for a place changes nothing, so that no hook follows it.
        let asks_place = arguments.starts_with(&["rev-parse", "--git-path"]);
        let settings = SETTINGS.iter().filter(|setting| !(asks_place && **setting == NO_HOOKS));
        let settings = settings.flat_map(|setting| ["-c", setting]);
        let all = literal.into_iter().chain(settings).chain(arguments.iter().copied());
        let mut env = self.env.clone();
        env.extend(index.map(|index| ("GIT_INDEX_FILE".to_owned(), index)));
        let command = Command {
            program: Program::Path(self.program.clone()),
            args: all.map(Into::into).collect(),
            cwd: Some(self.here.context.workspace.root().to_owned()),
            env,
            stdin,
            timeout_ms: PATIENCE_MS,
            max_output: MAX_OUTPUT,
        };
        // It is not interrupted: a lock that it held would stay.
        capture(command, None)
    }

    /// The output of git; its message is the error.
    fn output(&self, arguments: &[&str], stdin: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.output_with(arguments, stdin, None)
    }

    /// The output of git, perhaps with another index; its message is the error.
    fn output_with(&self, arguments: &[&str], stdin: Vec<u8>, index: Option<String>) -> Result<Vec<u8>, Error> {
        let done = self.run_with(arguments, stdin, index)?;
        if done.status == Some(0) && !done.truncated {
            return Ok(done.stdout);
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let said = said.trim().trim_start_matches("fatal: ").trim_start_matches("error: ");
        let why = match (done.timed_out, said) {
            (true, _) => "it took too long".to_owned(),
            (false, "") => match done.status {
                Some(status) => format!("it ended with status {status}"),
                None => "it was ended by a signal".to_owned(),
            },
            (false, said) => {
                let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
                escape(&lines.join("; "))
            }
        };
        let name = arguments.first().copied().unwrap_or_default();
        Err(Error::new(Code::CommandFailed, format!("`git {name}` failed: {why}")))
    }

    /// The first line of git's output.
    fn line(&self, arguments: &[&str]) -> Result<String, Error> {
        let bytes = self.output(arguments, Vec::new())?;
        Ok(String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned())
    }

    /// The text that git answers with, if it succeeds and there is one.
    fn answer(&self, arguments: &[&str]) -> Result<Option<String>, Error> {
        let done = self.run(arguments, Vec::new())?;
        let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        Ok((done.status == Some(0) && !text.is_empty()).then_some(text))
    }

    /// The path of a file below the top of the work tree.
    pub(super) fn below_top(&self, path: &RepoPath) -> String {
        format!("{}{path}", self.prefix)
    }

    /// The path of a file of the repository itself, or of a hook, relative to the workspace or absolute.
    pub(super) fn place(&self, name: &str) -> Result<String, Error> {
        self.line(&["rev-parse", "--git-path", name])
    }

    /// True if the workspace is the top of the work tree.
    pub(super) fn is_top(&self) -> bool {
        self.prefix.is_empty()
    }

    /// An error if nothing can be committed now: no identity, or another command that is not finished.
    pub(super) fn check_ready(&self) -> Result<(), Error> {
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            self.line(&["var", who])
                .map_err(|error| error.hint("`git config user.name` and `git config user.email` have to name you"))?;
        }
        let root = self.here.context.workspace.root();
        for file in LOCKS {
            let place = self.place(file)?;
            if root.join(&place).exists() {
                return Err(Error::new(Code::DirtyTree, format!("another git command holds `{place}`"))
                    .hint("try again when it has ended; if it was killed, remove that file"));
            }
        }
        for (file, command) in UNFINISHED {
            if root.join(self.place(file)?).exists() {
                return Err(Error::new(Code::DirtyTree, format!("a {command} is not finished here"))
                    .hint(format!("finish it, or take it back with `git {command} --abort`")));
            }
        }
        Ok(())
    }

    /// An error if a branch of that name can't be made.
    pub(super) fn check_new_branch(&self, name: &str) -> Result<(), Error> {
        // Git expands names such as `@{-1}`.
        if name.starts_with('-') || self.answer(&["check-ref-format", "--branch", name])?.as_deref() != Some(name) {
            return Err(Error::new(Code::InvalidInput, format!("`{}` is no name of a branch", escape(name)))
                .hint("`git check-ref-format --help` has the rules"));
        }
        let refs = self.output(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"], Vec::new())?;
        let refs = String::from_utf8_lossy(&refs);
        let is_above = |one: &str, other: &str| other.strip_prefix(one).is_some_and(|rest| rest.starts_with('/'));
        let other = refs.lines().find(|other| *other == name || is_above(name, other) || is_above(other, name));
        other.map_or(Ok(()), |other| {
            let message = match other == name {
                true => format!("there is a branch `{}` already", escape(name)),
                false => format!("the branch `{}` leaves no room for `{}`", escape(other), escape(name)),
            };
            Err(Error::new(Code::InvalidInput, message)
                .hint("give another name, or switch to that branch and leave `--branch` out"))
        })
    }

    /// True if this branch is checked out, such as by a commit that was killed.
    pub(super) fn is_on(&self, branch: &str) -> Result<bool, Error> {
        Ok(self.answer(&["symbolic-ref", "--quiet", "HEAD"])?.as_deref() == Some(&format!("refs/heads/{branch}")))
    }

    /// True in a work tree that is linked to the repository of another one.
    pub(super) fn is_linked(&self) -> Result<bool, Error> {
        Ok(self.line(&["rev-parse", "--git-dir"])? != self.line(&["rev-parse", "--git-common-dir"])?)
    }

    /// The staged files that differ from the present commit, from the top of the work tree.
    pub(super) fn staged(&self) -> Result<BTreeSet<String>, Error> {
        Ok(names(&self.output(STAGED, Vec::new())?))
    }

    /// The files that git ignores and does not track.
    pub(super) fn ignored(&self, paths: &BTreeSet<RepoPath>) -> Result<BTreeSet<RepoPath>, Error> {
        let dotted: Vec<String> = paths.iter().map(|path| format!("./{path}")).collect();
        let done = self.run(&["check-ignore", "-z", "--stdin"], joined(dotted.iter().map(String::as_str)))?;
        let path = |name: &String| RepoPath::parse(name.trim_start_matches("./")).ok();
        match done.status {
            Some(0 | 1) => Ok(names(&done.stdout).iter().filter_map(path).collect()),
            _ => Err(Error::new(Code::CommandFailed, "`git check-ignore` failed").hint("make `git status` work here")),
        }
    }

    /// The files that the present commit has below the workspace.
    pub(super) fn committed(&self) -> Result<BTreeMap<RepoPath, Committed>, Error> {
        if !self.has_commit()? {
            return Ok(BTreeMap::new());
        }
        let output = self.output(&["ls-tree", "-r", "-z", "HEAD"], Vec::new())?;
        let row = |row: &String| {
            let (about, path) = row.split_once('\t')?;
            let mut words = about.split(' ');
            let (mode, _, object) = (words.next()?, words.next()?, words.next()?);
            Some((RepoPath::parse(path).ok()?, Committed { mode: mode.to_owned(), object: object.to_owned() }))
        };
        Ok(names(&output).iter().filter_map(row).collect())
    }

    /// True if git stores this content of a file under that name, after its conversions.
    pub(super) fn is_of(&self, path: &RepoPath, content: &Content, object: &str) -> Result<bool, Error> {
        if blob_name(&content.bytes, object).as_deref() == Some(object) {
            return Ok(true);
        }
        let (arguments, bytes) = (["hash-object", "--stdin", "--path", path.as_str()], content.bytes.to_vec());
        let found = self.output(&arguments, bytes)?;
        Ok(String::from_utf8_lossy(&found).trim() == object)
    }

    /// Begins an index of its own with the present commit, so that nobody's index is touched before the commit is made.
    pub(super) fn index(&self, run: &str) -> Result<Index<'_>, Error> {
        let index = self.unmade_index(run)?;
        index.remove();
        if self.has_commit()? {
            index.output(&["read-tree", "HEAD"], Vec::new())?;
        }
        Ok(index)
    }

    fn unmade_index(&self, run: &str) -> Result<Index<'_>, Error> {
        let place = self.place(&format!("nrv-index-{run}"))?;
        Ok(Index { git: self, path: self.here.context.workspace.root().join(&place), place })
    }

    /// Removes the index that a killed commit of a run left.
    pub(super) fn forget_index(&self, run: &str) -> Result<(), Error> {
        self.unmade_index(run).map(drop)
    }

    fn has_commit(&self) -> Result<bool, Error> {
        Ok(self.answer(&["rev-parse", "--quiet", "--verify", "HEAD"])?.is_some())
    }

    /// True if git takes executable bits from the tree.
    pub(super) fn has_modes(&self) -> Result<bool, Error> {
        Ok(self.answer(&["config", "--type=bool", "--get", "core.fileMode"])?.as_deref() != Some("false"))
    }

    /// Sets the entries of files in the user's index to those of the present commit.
    pub(super) fn settle(&self, paths: &BTreeSet<RepoPath>) -> Result<(), Error> {
        let arguments = ["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.output(&arguments, joined(paths.iter().map(RepoPath::as_str))).map(drop)
    }

    /// Sets those entries of files to the present commit that are still as before this commit, which holds them: of a run that was
    /// killed when its commit was made.
    pub(super) fn settle_left(&self, paths: &BTreeSet<RepoPath>, commit: &str) -> Result<(), Error> {
        let staged = self.staged()?;
        if paths.iter().all(|path| !staged.contains(&self.below_top(path))) {
            return Ok(());
        }
        let before = match self.answer(&["rev-parse", "--quiet", "--verify", &format!("{commit}^")])? {
            Some(before) => before,
            None => self.line(&["hash-object", "-t", "tree", "--stdin"])?,
        };
        let since = names(&self.output(&[STAGED, &[before.as_str()]].concat(), Vec::new())?);
        let is_left = |path: &&RepoPath| {
            let name = self.below_top(path);
            staged.contains(&name) && !since.contains(&name)
        };
        let left: BTreeSet<RepoPath> = paths.iter().filter(is_left).cloned().collect();
        if left.is_empty() { Ok(()) } else { self.settle(&left) }
    }

    /// The files of the user's index that differ from the tree, from the top of the work tree.
    pub(super) fn unstaged(&self) -> Result<BTreeSet<String>, Error> {
        let arguments = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-relative"];
        Ok(names(&self.output(&arguments, Vec::new())?))
    }

    /// Makes a branch at the present commit and switches to it; what `HEAD` was. No file changes.
    fn switch(&self, branch: &str) -> Result<Left, Error> {
        let left = Left {
            branch: self.answer(&["symbolic-ref", "--quiet", "HEAD"])?,
            commit: self.answer(&["rev-parse", "--quiet", "--verify", "HEAD"])?,
        };
        if left.commit.is_some() {
            self.output(&["branch", "--no-track", branch, "HEAD"], Vec::new())?;
        }
        let switched = self.output(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")], Vec::new());
        if switched.is_err() && left.commit.is_some() {
            self.remove_branch(branch);
        }
        switched.map(|_| left)
    }

    /// Switches back after a commit that failed, and removes the branch.
    fn switch_back(&self, left: &Left, branch: &str) {
        let head = match (&left.branch, &left.commit) {
            (Some(name), _) => self.output(&["symbolic-ref", "HEAD", name], Vec::new()),
            (None, Some(commit)) => self.output(&["update-ref", "--no-deref", "HEAD", commit], Vec::new()),
            (None, None) => Ok(Vec::new()),
        };
        match head {
            Ok(_) if left.commit.is_some() => self.remove_branch(branch),
            Ok(_) => {}
            Err(error) => tracing::warn!("{error}"),
        }
    }

    /// Removes a branch on which nothing was committed.
    fn remove_branch(&self, branch: &str) {
        if let Err(error) = self.output(&["branch", "--quiet", "-D", branch], Vec::new()) {
            tracing::warn!("{error}");
        }
    }
}

/// An index of the present commit, in which the files of one run are staged. It is removed when it is dropped.
pub(super) struct Index<'g> {
    git: &'g Git<'g>,
    path: PathBuf,
    /// Its path, relative to the workspace or absolute.
    pub(super) place: String,
}

impl Index<'_> {
    fn output(&self, arguments: &[&str], stdin: Vec<u8>) -> Result<Vec<u8>, Error> {
        let index = self.path.to_string_lossy().into_owned();
        self.git.output_with(arguments, stdin, Some(index))
    }

    /// Stages files as they are in the tree; all files that then differ from the present commit, from the top of the work tree.
    pub(super) fn stage(&self, paths: &BTreeSet<RepoPath>) -> Result<BTreeSet<String>, Error> {
        let staged = joined(paths.iter().map(RepoPath::as_str));
        self.output(&["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], staged)?;
        Ok(names(&self.output(STAGED, Vec::new())?))
    }

    /// Commits what is staged; the commit, and its branch.
    pub(super) fn commit(&self, message: &str, branch: Option<&str>) -> Result<(String, Option<String>), Error> {
        let git = self.git;
        let left = branch.map(|branch| git.switch(branch)).transpose()?;
        let mut arguments = vec!["commit", "--quiet", "--no-verify", "--cleanup=whitespace", "--file=-"];
        if git.answer(&["config", "--type=bool", "--get", "format.signOff"])?.as_deref() == Some("true") {
            arguments.push("--signoff");
        }
        // A signal to nrv waits: git would commit later, when nobody completes the index.
        let _section = git.here.context.options.critical.entered();
        let made = self.output(&arguments, message.as_bytes().to_vec());
        if let (Err(_), Some(left), Some(branch)) = (&made, left, branch) {
            git.switch_back(&left, branch);
        }
        made.map_err(|error| error.hint("make `git commit` work here"))?;
        let id = git.line(&["rev-parse", "HEAD"])?;
        Ok((id, git.answer(&["symbolic-ref", "--quiet", "--short", "HEAD"])?))
    }

    #[expect(clippy::disallowed_methods, reason = "this file is git's, not the user's")]
    fn remove(&self) {
        let lock = self.path.with_extension("lock");
        [&self.path, &lock].into_iter().for_each(|file| drop(std::fs::remove_file(file)));
    }
}

impl Drop for Index<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

/// `HEAD` before another branch was made.
struct Left {
    /// The branch; none on a detached `HEAD`.
    branch: Option<String>,
    /// The commit; none before the first one.
    commit: Option<String>,
}

/// Names that end with a zero byte.
fn names(bytes: &[u8]) -> BTreeSet<String> {
    let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Names with a zero byte after each.
fn joined<'n>(names: impl Iterator<Item = &'n str>) -> Vec<u8> {
    names.flat_map(|name| name.bytes().chain([0])).collect()
}
