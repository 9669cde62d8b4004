//! A private clone of one commit: fetched and checked out by git under bounds, without anybody's configuration, and removed afterwards.

use std::{collections::BTreeMap, path::PathBuf};

use super::{changes, form::CommitForm, plan::Task};
use base::{
    change::{Entry, Stamp},
    diff,
    error::{Code, Error},
    path::RepoPath,
};
use script::remote::{Git, GitSource, Surroundings, hardened};
use service::exec::PrivateFolder;
use system::{
    plain_file,
    process::sandbox::{Limits, Unasked},
};

/// Names at the top of a commit that nrv keeps for itself: a repository could plant records and locks.
const RESERVED: &[&str] = &[".runs"];

/// A clone.
pub(super) struct Clone<'a> {
    place: &'a PrivateFolder,
    git: Git<'a>,
    git_folder: String,
    /// The folder of its files.
    pub(super) root: PathBuf,
}

impl<'a> Clone<'a> {
    /// Fetches and checks out the commit of a task, in a private folder.
    ///
    /// `temporary` if the repository can't be reached, and `invalid_input` if it is more than the bounds let in, or plants records.
    pub(super) fn make(
        task: &Task,
        megabytes: u64,
        place: &'a PrivateFolder,
        surroundings: &'a Surroundings<'a>,
    ) -> Result<Self, Error> {
        let bytes = megabytes.saturating_mul(1 << 20);
        let limits = Limits {
            memory: Some(2 << 30),
            file_size: Some(bytes),
            processes: None,
            disk: Some(bytes),
            unasked: Unasked { memory: true, processes: true },
        };
        let git = Git { place, limits, surroundings };
        let source = GitSource { url: task.url.clone(), commit: task.commit.clone() };
        let refused = |error: Error| match error.code() {
            Code::Cancelled => error,
            // The bounds.
            Code::InvalidInput => Error::new(Code::InvalidInput, format!("it can't be cloned: {}", error.message()))
                .hint("`clone_mb` of `fleet.toml` bounds it"),
            _ => Error::new(Code::Temporary, format!("`{}` can't be cloned: {}", task.url, error.message()))
                .hint("check the address and the commit"),
        };
        let git_folder = git.init(&source.commit, false).map_err(refused)?;
        git.fetch(&git_folder, &source).map_err(refused)?;
        let root = place.path().join("tree");
        let clone = Clone { place, git, git_folder, root };
        clone.run(&["checkout", "--quiet", "--force", "--detach", &task.commit]).map_err(|error| {
            match error.code() {
                // What was fetched can't be checked out now or later.
                Code::NotFound => {
                    Error::new(Code::InvalidInput, format!("it can't be checked out: {}", error.message()))
                }
                _ => refused(error),
            }
        })?;
        match RESERVED.iter().find(|name| clone.root.join(name).symlink_metadata().is_ok()) {
            None => Ok(clone),
            Some(name) => {
                Err(Error::new(Code::InvalidInput, format!("the commit holds `{name}`, where nrv keeps records"))
                    .hint("remove it from the repository, and ignore it"))
            }
        }
    }

    /// The difference between the commit and these files as they are now, as git writes it: whole hashes, binary contents, no renames.
    pub(super) fn patch(&self, paths: &[String]) -> Result<Vec<u8>, Error> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let list = self.place.write("paths", (paths.join("\0") + "\0").as_bytes())?;
        let out = self.place.path().join("patch");
        let (list, out) = (list.display().to_string(), out.display().to_string());
        let from = format!("--pathspec-from-file={list}");
        self.run(&["--literal-pathspecs", "add", "--force", "--all", &from, "--pathspec-file-nul"])?;
        let to = format!("--output={out}");
        let form = ["--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv"];
        let prefixes = ["--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers", "--unified=3"];
        self.run(&[&["diff", "--cached", &to][..], &form, &prefixes].concat())?;
        plain_file::read(out.as_ref()).map_err(|error| Error::io("the patch can't be read", &error))
    }

    /// Makes a commit of a patch on top of the clone's, which has the same hash each time; its hash.
    ///
    /// `record_damaged` if the patch does not make these changes, byte for byte.
    pub(super) fn commit(&self, patch: &[u8], entries: &[Entry], form: &CommitForm) -> Result<String, Error> {
        let patch = self.place.write("applied.patch", patch)?.display().to_string();
        self.run(&["apply", "--cached", "--whitespace=nowarn", &patch]).map_err(|error| match error.code() {
            Code::NotFound => Error::new(Code::PatchRejected, format!("the patch does not apply: {}", error.message())),
            _ => error,
        })?;
        self.check(entries)?;
        let line = |words: &[&str]| self.run(words).map(|text| text.trim().to_owned());
        let (tree, parent) = (line(&["write-tree"])?, line(&["rev-parse", "HEAD"])?);
        // The time of the commit that it follows: another attempt makes the same commit.
        let time = line(&["show", "--no-patch", "--format=%cd", "--date=raw", "HEAD"])?;
        let who = format!("{} {time}", form.author);
        let text =
            format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{}\n", form.message.trim_end());
        let object = self.place.write("commit", text.as_bytes())?.display().to_string();
        line(&["hash-object", "-t", "commit", "-w", "--no-filters", "--", &object])
    }

    /// Checks that the index differs from the commit by these changes and no others.
    fn check(&self, entries: &[Entry]) -> Result<(), Error> {
        let out = self.place.path().join("staged");
        let to = format!("--output={}", out.display());
        self.run(&["diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", &to, "HEAD"])?;
        let staged = plain_file::read(&out).map_err(|error| Error::io("the difference can't be read", &error))?;
        let mut expected: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        let mut kept: Vec<(&RepoPath, &Stamp)> = Vec::new();
        for (entry, before, after) in diff::seen(entries) {
            let modes = expected.entry(entry.path.as_str()).or_default();
            modes.0 = before.map_or(modes.0, |side| side.0);
            modes.1 = after.map_or(modes.1, |side| side.0);
            kept.extend(after.map(|side| (&entry.path, side.1)));
        }
        if staged_modes(&staged).as_ref() != Some(&expected) {
            return Err(changes::other("it changes other files, or their modes"));
        }
        if kept.is_empty() {
            return Ok(());
        }
        // Git writes the files as it does for a person, with the line ends that the repository's attributes say.
        let list: Vec<&str> = kept.iter().map(|(path, _)| path.as_str()).collect();
        let list = self.place.write("kept", (list.join("\0") + "\0").as_bytes())?.display().to_string();
        let from = format!("--pathspec-from-file={list}");
        self.run(&["--literal-pathspecs", "restore", "--worktree", &from, "--pathspec-file-nul"])?;
        kept.iter().try_for_each(|(path, stamp)| self.check_file(path, stamp))
    }

    /// Checks the contents of a file.
    fn check_file(&self, path: &RepoPath, stamp: &Stamp) -> Result<(), Error> {
        let unread = |error: &std::io::Error| Error::io(format!("`{path}` can't be read"), error);
        let bytes = match stamp.is_link() {
            true => std::fs::read_link(self.root.join(path.as_str()))
                .map(|target| target.into_os_string().into_encoded_bytes())
                .map_err(|error| unread(&error))?,
            false => plain_file::open_beneath(&self.root, path.as_str())
                .and_then(|file| plain_file::all(&file, plain_file::LONGEST))
                .map_err(|error| unread(&error))?,
        };
        match diff::is_content(&bytes, stamp) {
            true => Ok(()),
            false => Err(changes::other(&format!("`{path}` gets other contents"))),
        }
    }

    /// A bundle of git with a commit as a branch, for those who have the commit that it follows. The same commit gives the same bytes.
    pub(super) fn bundle(&self, commit: &str, branch: &str) -> Result<Vec<u8>, Error> {
        let name = format!("refs/heads/{branch}");
        self.run(&["update-ref", &name, commit])?;
        let file = self.place.path().join("bundle");
        self.run(&[
            "-c",
            "pack.threads=1",
            "bundle",
            "create",
            "--quiet",
            &file.display().to_string(),
            &name,
            "^HEAD",
        ])?;
        plain_file::read(&file).map_err(|error| Error::io("the bundle can't be read", &error))
    }

    /// Pushes a commit to a branch that is not there, or is at that commit.
    ///
    /// `stale_preimage` if the branch is at another commit.
    pub(super) fn push(&self, url: &str, commit: &str, form: &CommitForm) -> Result<(), Error> {
        let branch = &form.branch;
        let name = format!("refs/heads/{branch}");
        if self.has(url, (branch, commit))? {
            return Ok(());
        }
        let lease = format!("--force-with-lease={name}:");
        let options = form.push_options.iter().map(|option| format!("--push-option={option}"));
        let words: Vec<String> =
            ["push", "--quiet", "--no-verify", &lease].map(str::to_owned).into_iter().chain(options).collect();
        let to = format!("{commit}:{name}");
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["--", url, &to]).collect();
        let pushed = self.run(&words);
        pushed.map(drop).or_else(|error| self.not_pushed(url, (branch, commit), error))
    }

    /// True if a branch is at the commit that was pushed; false if it is gone.
    ///
    /// `stale_preimage` if the branch is at another commit.
    pub(super) fn is_there(git: &Git<'_>, url: &str, commit: &str, branch: &str) -> Result<bool, Error> {
        let found = git.list(url, &format!("refs/heads/{branch}"));
        let found = found.map_err(|error| Error::new(Code::Temporary, error.message().to_owned()))?;
        match found.split_once('\t').map(|(found, _)| found) {
            None => Ok(false),
            Some(found) if found != commit => {
                Err(Error::new(Code::StalePreimage, format!("`{branch}` has other commits on it by now")))
            }
            Some(_) => Ok(true),
        }
    }

    /// Removes a branch that is at the commit that was pushed.
    pub(super) fn remove(git: &Git<'_>, url: &str, commit: &str, branch: &str) -> Result<(), Error> {
        let name = format!("refs/heads/{branch}");
        let git_folder = git.init(commit, true)?;
        let mut arguments = hardened(&git_folder);
        let lease = format!("--force-with-lease={name}:{commit}");
        arguments.extend(["push", "--quiet", "--no-verify", &lease, "--", url, &format!(":{name}")].map(str::to_owned));
        git.run(arguments).map(drop).or_else(|error| match Clone::is_there(git, url, commit, branch)? {
            false => Ok(()),
            true => Err(Error::new(Code::Temporary, error.message().to_owned())),
        })
    }

    /// The commit of a branch of a repository; none if there is no such branch.
    fn branch(&self, url: &str, branch: &str) -> Result<Option<String>, Error> {
        let rows = self.git.list(url, &format!("refs/heads/{branch}"));
        let rows = rows.map_err(|error| Error::new(Code::Temporary, error.message().to_owned()))?;
        Ok(rows.split_once('\t').map(|(commit, _)| commit.to_owned()))
    }

    /// True if a repository has a branch at that commit.
    pub(super) fn has(&self, url: &str, (branch, commit): (&str, &str)) -> Result<bool, Error> {
        Ok(self.branch(url, branch)?.is_some_and(|found| found == commit))
    }

    fn not_pushed(&self, url: &str, (branch, commit): (&str, &str), error: Error) -> Result<(), Error> {
        Err(match self.branch(url, branch) {
            // The push came through, and its answer was lost.
            Ok(Some(found)) if found == commit => return Ok(()),
            Ok(Some(_)) => {
                Error::new(Code::StalePreimage, format!("the repository has a branch `{branch}` at another commit"))
            }
            _ if error.code() == Code::Cancelled => error,
            _ => Error::new(Code::Temporary, format!("the branch can't be pushed: {}", error.message())),
        })
    }

    fn run(&self, words: &[&str]) -> Result<String, Error> {
        let root = self.root.display().to_string();
        let mut arguments = vec!["-C".to_owned(), root.clone(), "--work-tree".to_owned(), root];
        arguments.extend(hardened(&self.git_folder));
        arguments.extend(words.iter().map(ToString::to_string));
        self.git.run(arguments)
    }
}

/// The modes before and after of each file in the output of `git diff --raw -z`; none if it can't be read.
fn staged_modes(text: &[u8]) -> Option<BTreeMap<&str, (u32, u32)>> {
    let mut parts = text.split(|byte| *byte == 0).map(std::str::from_utf8);
    let mut modes = BTreeMap::new();
    loop {
        let row = parts.next()?.ok()?;
        if row.is_empty() {
            return Some(modes);
        }
        let mut words = row.strip_prefix(':')?.split(' ').map(|mode| u32::from_str_radix(mode, 8));
        modes.insert(parts.next()?.ok()?, (words.next()?.ok()?, words.next()?.ok()?));
    }
}
