//! A private clone of one commit: fetched and checked out by git under bounds, without anybody's configuration, and removed afterwards.

use std::path::PathBuf;

use super::plan::Task;
use crate::{
    base::error::{Code, Error},
    script::remote::{Git, GitSource, Surroundings, hardened},
    service::exec::PrivateFolder,
    system::process::sandbox::{Limits, Unasked},
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
        let git = Git { place: place.path(), limits, surroundings };
        let source = GitSource { url: task.url.clone(), commit: task.commit.clone() };
        let refused = |error: Error| match error.code() {
            Code::Cancelled => error,
            // The bounds.
            Code::InvalidInput => Error::new(Code::InvalidInput, format!("the clone was ended: {}", error.message()))
                .hint("`clone_mb` of `fleet.toml` bounds it"),
            _ => Error::new(Code::Temporary, format!("`{}` can't be cloned: {}", task.url, error.message()))
                .hint("check the address and the commit"),
        };
        let git_folder = git.init(&source, false).map_err(refused)?;
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
        crate::system::plain_file::read(out.as_ref()).map_err(|error| Error::io("the patch can't be read", &error))
    }

    fn run(&self, words: &[&str]) -> Result<String, Error> {
        let root = self.root.display().to_string();
        let mut arguments = vec!["-C".to_owned(), root.clone(), "--work-tree".to_owned(), root];
        arguments.extend(hardened(&self.git_folder));
        arguments.extend(words.iter().map(ToString::to_string));
        self.git.run(arguments)
    }
}
