//! One git commit of exactly what a run changed, with the run's id as a trailer.
//!
//! The user's own git makes it, with the user's configuration: identity, signature, filters. No hook runs unless it is asked for,
//! and then it is confined like a command. A run that is done stays done, whether or not its commit can be made.

mod git;
mod hooks;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::git::Git;
use super::{
    Here,
    arguments::{CommitOptions, CommitRunArguments},
    output::Output,
    runs::latest,
};
use base::{
    change::Stamp,
    error::{Code, Error},
    path::RepoPath,
    text::{counted, escape, first_file, shell_word},
};
use host::{Asked, Finished, Overview, StandingChange, Started, State, standing_changes};
use record::RunFolder;
use system::{
    clock,
    git::{commit_with_line, nested_above},
};

/// The trailer that names the run.
const TRAILER: &str = "Nrv-Run";

/// The longest first line of a message that is made here, in characters.
const LONGEST_SUBJECT: usize = 72;

/// Seconds by which clocks may differ when the commit of a run is searched.
const SKEW: i64 = 86_400;

/// The digits of a commit that are shown.
const SHOWN: usize = 12;

/// A commit that is to be made when its run is done.
pub(super) struct Wish<'a> {
    git: Git<'a>,
    options: &'a CommitOptions,
    /// The first line of the message if the user gives none.
    subject: Option<String>,
}

/// A commit that was made, or the reason that there is none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    /// A commit.
    Made(Made),
    /// None: an earlier one holds the run.
    Before {
        /// Its first digits.
        id: String,
    },
    /// None: every file is as the present commit has it.
    Nothing {
        /// Zero.
        files: usize,
        /// Changed files that git ignores.
        ignored: Vec<RepoPath>,
    },
    /// None, for this reason.
    Failed {
        /// The reason.
        error: Error,
    },
}

/// A commit that was made.
#[derive(Debug, Serialize)]
pub(super) struct Made {
    /// Its full hash.
    id: String,
    /// The branch that it is on; none on a detached `HEAD`.
    branch: Option<String>,
    /// How many files it changes.
    files: usize,
    /// Changed files that git ignores and that are not in it.
    ignored: Vec<RepoPath>,
    /// The reason that the files are still staged as they were before the commit; none if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsettled: Option<Error>,
}

impl<'a> Wish<'a> {
    /// The commit that the options ask for, if they do. Whatever can be known before the run is an error here.
    pub(super) fn of(
        here: &'a Here,
        options: &'a CommitOptions,
        subject: Option<String>,
    ) -> Result<Option<Self>, Error> {
        if options.commit.is_none() {
            return Ok(None);
        }
        let git = Git::open(here)?;
        git.check_ready()?;
        check_options(&git, options)?;
        // Of a resumed run the own files may be staged, and they are not known here.
        Ok(Some(Wish { git, options, subject }))
    }

    /// Refuses to begin where the commit would hold more than the run's changes.
    pub(super) fn check_clean(&self, here: &Here, writes: &[String]) -> Result<(), Error> {
        let staged = self.git.staged()?;
        if !staged.is_empty() {
            return Err(foreign(&staged));
        }
        let changed = host::uncommitted(&here.context, writes)?;
        let Some(named) = first_file(&changed) else { return Ok(()) };
        let names: Vec<&str> = changed.iter().map(RepoPath::as_str).collect();
        Err(Error::new(
            Code::DirtyTree,
            format!("the commit of the run would hold other changes too, which are not committed: {named}"),
        )
        .detail("files", names)
        .hint("commit or stash them, or run without `--commit`"))
    }

    /// The options as words of a command line.
    fn words(&self) -> String {
        let CommitOptions { commit, branch, with_hooks } = self.options;
        let message = commit.as_deref().filter(|message| !message.is_empty());
        let mut words = vec![message.map_or("--commit".to_owned(), |text| format!("--commit={}", shell_word(text)))];
        words.extend(branch.as_ref().map(|name| format!("--branch {}", shell_word(name))));
        words.extend(with_hooks.then(|| "--with-hooks".to_owned()));
        escape(&words.join(" "))
    }

    /// The options as words of `nrv runs commit`.
    fn words_of_runs_commit(&self) -> String {
        let CommitOptions { commit, branch, with_hooks } = self.options;
        let message = commit.as_deref().filter(|message| !message.is_empty());
        let message = message.map(|text| format!(" --message {}", shell_word(text)));
        let branch = branch.as_ref().map(|name| format!(" --branch {}", shell_word(name)));
        let hooks = with_hooks.then(|| " --with-hooks".to_owned());
        escape(&[message, branch, hooks].into_iter().flatten().collect::<String>())
    }

    /// Makes the commit of a run that is done; none for another.
    pub(super) fn carry_out(
        &self,
        here: &Here,
        finished: &Finished,
        out: &mut Output,
    ) -> Result<Option<Outcome>, Error> {
        if finished.mode != "apply" {
            if finished.files_changed > 0 {
                let place = self.options.branch.as_deref().map(|name| format!(" on a new branch {}", escape(name)));
                out.say(&format!("A commit would be made{}.", place.unwrap_or_default()));
            }
            return Ok(None);
        }
        if finished.state == State::Suspended {
            let details = finished.error.as_ref().map(Error::details);
            let id = details.and_then(|details| details.get("confirmation")?.as_str());
            let approve = id.map(|id| format!("--approve {id} ")).unwrap_or_default();
            let words = self.words();
            out.say(&format!("It is not committed yet: `nrv resume {} {approve}{words}` commits it.", finished.run));
        }
        if finished.state == State::Done && finished.files_changed == 0 {
            out.say("No commit was made.");
        }
        if finished.state != State::Done || finished.files_changed == 0 {
            return Ok(None);
        }
        let folder = here.context.runs.open(&finished.run)?;
        Ok(Some(match commit(here, &self.git, &folder, self.options, self.subject.as_deref()) {
            Ok(outcome) => outcome,
            Err(error) => {
                let why = error.hint_text().map(|hint| format!("{hint}; then ")).unwrap_or_default();
                let words = self.words_of_runs_commit();
                let hint = format!("{why}`nrv runs commit {}{words}` commits the changes, which stand", finished.run);
                Outcome::Failed { error: error.hint(hint) }
            }
        }))
    }
}

impl Outcome {
    /// Tells people of it.
    pub(super) fn tell(&self, out: &mut Output) {
        let ignored = match self {
            Outcome::Made(made) => {
                let place = made.branch.as_deref().map_or("a detached HEAD".to_owned(), escape);
                let id = made.id.get(..SHOWN).unwrap_or(&made.id);
                out.say(&format!("Committed {} as {id} on {place}.", counted(made.files, "file")));
                made.unsettled.iter().for_each(|error| out.explain(error));
                &made.ignored
            }
            Outcome::Nothing { ignored, .. } => {
                out.say("No commit was made: nothing that git may hold differs from the present commit.");
                ignored
            }
            Outcome::Before { id } => return out.say(&format!("The run is committed already, as {id}.")),
            Outcome::Failed { error } => return out.explain(error),
        };
        if let Some(named) = first_file(ignored) {
            out.say(&format!("Git ignores {named}, so that the commit does not hold it."));
        }
    }

    /// The exit code of a command that ends with it.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Outcome::Made(made) => made.unsettled.as_ref().map_or(0, |error| error.code().exit_code()),
            Outcome::Before { .. } | Outcome::Nothing { .. } => 0,
            Outcome::Failed { error } => error.code().exit_code(),
        }
    }
}

/// An error for a branch that can't be made, and for hooks that can't be run.
fn check_options(git: &Git<'_>, options: &CommitOptions) -> Result<(), Error> {
    if options.with_hooks && git.is_linked()? {
        return Err(Error::new(Code::InvalidInput, "the hooks of a linked work tree are outside of the workspace")
            .hint("leave `--with-hooks` out, or commit in the main work tree"));
    }
    options.branch.as_deref().map_or(Ok(()), |branch| git.check_new_branch(branch))
}

/// `nrv runs commit`: makes the commit of a run that is over.
pub(super) fn commit_run(here: &Here, arguments: &CommitRunArguments, out: &mut Output) -> Result<u8, Error> {
    let run = match arguments.run.as_str() {
        // A rollback can be committed, too.
        "last" => latest(here, |run| run.state == State::Done.as_str())?,
        run => run.to_owned(),
    };
    let folder = here.context.runs.open(&run)?;
    let overview = host::overview(&here.context, &folder)?;
    let is_done = overview.state == State::Done.as_str() && overview.mode == "apply";
    if !is_done {
        let state = if overview.mode == "apply" { overview.state.as_str() } else { "a dry run" };
        return Err(Error::new(Code::InvalidInput, format!("run `{}` is {state}, and is not committed", overview.run))
            .hint("a run is committed that is done and changed files; `nrv runs list` shows the runs"));
    }
    let git = Git::open(here)?;
    git.check_ready()?;
    let mut options = arguments.options();
    if let Some(branch) = options.branch.take() {
        // A commit that was killed has made and checked it out.
        options.branch = if git.is_on(&branch)? { None } else { Some(branch) };
    }
    let options = &options;
    check_options(&git, options)?;
    let outcome = match commit_of(here, &overview.run) {
        Some(id) => {
            if let Ok(changes) = standing_changes(&here.context, &folder) {
                git.settle_left(&changes.into_iter().map(|change| change.path).collect(), &id)?;
            }
            git.forget_index(&overview.run)?;
            Outcome::Before { id }
        }
        None => commit(here, &git, &folder, options, Some(&subject_of(here, &overview)))?,
    };
    if out.is_json() {
        out.document(&outcome);
    }
    outcome.tell(out);
    Ok(outcome.exit_code())
}

/// The first line of the message for a run: the first line of its script's documentation, else what the run was.
pub(super) fn subject_of(here: &Here, run: &Overview) -> String {
    let started = here.context.runs.open(&run.run).and_then(|folder| Started::load(&folder));
    let summary = match started.map(|started| started.asked) {
        Ok(Asked::Script { path, sources, .. }) => sources.get(&path).and_then(|source| summary(&source.text)),
        _ => None,
    };
    let of_run = || if run.is_rollback { capitalised(&run.subject) } else { format!("Run {}", run.subject) };
    summary.unwrap_or_else(of_run)
}

/// The first line of a script's documentation.
fn summary(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("//!"))?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The newest commit that names a run, with its digits that are shown; none if there is none or history can't be read.
pub(super) fn commit_of(here: &Here, run: &str) -> Option<String> {
    let context = &here.context;
    let started = run.split('-').next().and_then(clock::parse_compact)?;
    let since = i64::try_from(started / 1000).ok()? - SKEW;
    let line = format!("{TRAILER}: {run}");
    let (root, options) = (context.workspace.root(), &context.options);
    let found = commit_with_line(root, &line, since, &options.environment_of_git(), &options.cancel).ok()??;
    Some(found.get(..SHOWN).unwrap_or(&found).to_owned())
}

/// Commits the changes of a run that stand.
fn commit(
    here: &Here,
    git: &Git<'_>,
    folder: &RunFolder,
    options: &CommitOptions,
    subject: Option<&str>,
) -> Result<Outcome, Error> {
    let changes = standing_changes(&here.context, folder)?;
    check_nested(here, &changes)?;
    let ignored = git.ignored(&changes.iter().map(|change| change.path.clone()).collect())?;
    let paths: BTreeSet<RepoPath> =
        changes.iter().map(|change| change.path.clone()).filter(|path| !ignored.contains(path)).collect();
    let own: BTreeSet<String> = paths.iter().map(|path| git.below_top(path)).collect();
    let staged = git.staged()?;
    let others: BTreeSet<String> = staged.difference(&own).cloned().collect();
    if !others.is_empty() {
        return Err(foreign(&others));
    }
    // A staged content that is not in the tree would be lost.
    let unlike: BTreeSet<String> = git.unstaged()?.intersection(&staged).cloned().collect();
    if !unlike.is_empty() {
        return Err(foreign(&unlike));
    }
    let index = git.index(folder.id())?;
    let files = index.stage(&paths)?;
    let ignored: Vec<RepoPath> = ignored.into_iter().collect();
    if files.is_empty() {
        return Ok(Outcome::Nothing { files: 0, ignored });
    }
    let beside: BTreeSet<String> = files.difference(&own).cloned().collect();
    if let Some(named) = first_file(&beside.iter().collect::<Vec<_>>()) {
        return Err(Error::new(
            Code::DirtyTree,
            format!("the commit would remove {named}, which the run did not change"),
        )
        .detail("files", beside.iter().map(String::as_str).collect::<Vec<_>>())
        .hint("bring it back, or commit its removal first"));
    }
    check_before(git, &changes, &files)?;
    let mut message = with_trailer(&message(options, subject), &format!("{TRAILER}: {}", folder.id()));
    if options.with_hooks {
        message = hooks::run(here, git, (folder.id(), &index.place), &message)?;
    }
    let (id, branch) = index.commit(&message, options.branch.as_deref())?;
    let unsettled = git.settle(&paths).err().map(|error| {
        Error::new(error.code(), format!("the commit is made, but its files are staged as before: {}", error.message()))
            .hint(format!(
                "`nrv runs commit {}` completes the index; a commit before that would undo the run",
                folder.id()
            ))
    });
    if let Err(error) = standing_changes(&here.context, folder) {
        tracing::warn!("the commit may hold another change, since a file was written meanwhile: {}", error.message());
    }
    Ok(Outcome::Made(Made { id, branch, files: files.len(), ignored, unsettled }))
}

/// Refuses files in repositories within the repository: git takes none of them.
fn check_nested(here: &Here, changes: &[StandingChange]) -> Result<(), Error> {
    let (root, mut seen) = (here.context.workspace.root(), BTreeMap::new());
    let found = changes.iter().find_map(|change| nested_above(root, &change.path, &mut seen));
    found.map_or(Ok(()), |folder| {
        Err(Error::new(Code::DirtyTree, format!("`{folder}` is a repository of its own, which the commit can't hold"))
            .hint("commit there by hand"))
    })
}

/// A message with a trailer, in the last paragraph if that has others.
fn with_trailer(message: &str, trailer: &str) -> String {
    let message = message.trim_end();
    let last = message.rsplit_once("\n\n").map_or("", |(_, last)| last);
    let is_trailer = |line: &str| {
        let name = line.split_once(": ").map_or("", |(name, _)| name);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let gap = if !last.is_empty() && last.lines().all(is_trailer) { "\n" } else { "\n\n" };
    format!("{message}{gap}{trailer}\n")
}

/// The message that the user gives, or one of the subject.
fn message(options: &CommitOptions, subject: Option<&str>) -> String {
    match options.commit.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => message.to_owned(),
        None => {
            let subject = subject.unwrap_or("Run nrv").trim().trim_end_matches('.');
            subject.chars().take(LONGEST_SUBJECT).collect()
        }
    }
}

/// Refuses a commit that would hold changes from before the run: each earlier content has to be that of the present commit.
fn check_before(git: &Git<'_>, changes: &[StandingChange], files: &BTreeSet<String>) -> Result<(), Error> {
    let (committed, has_modes) = (git.committed()?, git.has_modes()?);
    let mut others = Vec::new();
    for StandingChange { path, before, .. } in changes.iter().filter(|one| files.contains(&git.below_top(&one.path))) {
        let is_same = match (before, committed.get(path)) {
            (None, None) => true,
            (Some(before), Some(known)) => {
                is_mode(&known.mode, &before.stamp(), has_modes) && git.is_of(path, before, &known.object)?
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        if !is_same {
            others.push(path);
        }
    }
    let Some(named) = first_file(&others) else { return Ok(()) };
    let names: Vec<&str> = others.iter().map(|path| path.as_str()).collect();
    let message = format!(
        "{named} differed from the present commit before the run, so that a commit would hold other changes too"
    );
    Err(Error::new(Code::DirtyTree, message)
        .detail("files", names)
        .hint("commit by hand the changes that belong together"))
}

/// True if a file has the mode that git's tree gives it; where git takes no executable bits from the tree, they don't count.
fn is_mode(known: &str, stamp: &Stamp, has_modes: bool) -> bool {
    match (stamp.is_link(), stamp.mode & 0o100 != 0) {
        (true, _) => known == "120000",
        (false, _) if !has_modes => known.starts_with("100"),
        (false, true) => known == "100755",
        (false, false) => known == "100644",
    }
}

/// The error of a repository where other changes are staged.
fn foreign(staged: &BTreeSet<String>) -> Error {
    let names: Vec<&str> = staged.iter().map(String::as_str).collect();
    let more = if names.len() > 1 { format!(" and {} more", names.len() - 1) } else { String::new() };
    let first = names.first().map(|name| escape(name)).unwrap_or_default();
    Error::new(Code::DirtyTree, format!("changes are staged that are not of the run: `{first}`{more}"))
        .detail("files", names)
        .hint("commit them, or take them back with `git restore --staged .`")
}
