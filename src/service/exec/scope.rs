//! The files that a command may change, and those outside of the tree.

use base::{
    error::{Code, Error},
    path::{RepoPath, protected},
};
use system::workspace::Globs;

/// The writable files of a command, and its scratch.
#[derive(Debug)]
pub(super) struct Scope {
    writes: Option<Globs>,
    scratch: Option<Scratch>,
}

/// Files that commands write outside of the tree.
#[derive(Debug)]
struct Scratch {
    files: Globs,
    /// Folders that are scratch as a whole, except for exclusions.
    folders: Option<Globs>,
    /// The exclusions of the globs with `!`.
    excluded: Option<Globs>,
    /// The folders among them with full names.
    named: Vec<RepoPath>,
}

impl Scope {
    /// Takes the globs of a call, those of the policy, and the protected paths that it permits.
    pub(super) fn parse(writes: &[String], scratch: &[String], permitted: &[String]) -> Result<Self, Error> {
        let writes = if writes.is_empty() { None } else { Some(Globs::parse(writes)?) };
        for prefix in writes.iter().flat_map(Globs::prefixes) {
            let Ok(path) = RepoPath::parse(&prefix) else { continue };
            if let Some(reason) = protected::folder_refusal(&path, permitted) {
                return Err(Error::new(
                    Code::ProtectedPath,
                    format!("`{path}` in the command's `writes` is protected: {reason}"),
                )
                .detail("path", path.as_str())
                .hint(hint(&path)));
            }
        }
        let scratch = if scratch.is_empty() { None } else { Some(Scratch::parse(scratch)?) };
        Ok(Scope { writes, scratch })
    }

    /// True if the command may change anything.
    pub(super) fn is_writable(&self) -> bool {
        self.writes.is_some()
    }

    /// True if the command may change the file, by its `writes`.
    pub(super) fn may_write(&self, path: &RepoPath) -> bool {
        self.writes.as_ref().is_some_and(|globs| globs.matches(path))
    }

    /// True if the file is not part of the tree.
    pub(super) fn is_scratch(&self, path: &RepoPath) -> bool {
        self.scratch.as_ref().is_some_and(|scratch| scratch.files.matches(path))
    }

    /// True if the folder can never hold a part of the tree.
    pub(super) fn is_scratch_folder(&self, folder: &RepoPath) -> bool {
        self.scratch.as_ref().is_some_and(|scratch| scratch.has_folder(folder))
    }

    /// The scratch folders whose full names the policy gives, existing or not; none is inside another.
    pub(super) fn named_scratch(&self) -> Vec<RepoPath> {
        let Some(scratch) = &self.scratch else { return Vec::new() };
        let lies_in_another = |folder: &RepoPath| {
            std::iter::successors(folder.parent(), RepoPath::parent).any(|above| scratch.has_folder(&above))
        };
        scratch.named.iter().filter(|folder| scratch.has_folder(folder) && !lies_in_another(folder)).cloned().collect()
    }
}

impl Scratch {
    fn parse(globs: &[String]) -> Result<Self, Error> {
        let files = Globs::parse(globs)?;
        let (excluded, included): (Vec<&String>, Vec<&String>) = globs.iter().partition(|glob| glob.starts_with('!'));
        let excluded: Vec<&str> = excluded.iter().filter_map(|glob| glob.strip_prefix('!')).collect();
        let folders: Vec<&str> = included.iter().filter_map(|glob| glob.strip_suffix("/**")).collect();
        let some = |globs: &[&str]| if globs.is_empty() { Ok(None) } else { Globs::parse(globs).map(Some) };
        let mut named = Vec::new();
        for folder in &folders {
            if let [prefix] = Globs::parse(&[folder])?.prefixes().as_slice()
                && let (Ok(path), Ok(same)) = (RepoPath::parse(prefix), RepoPath::parse(folder))
                && path == same
            {
                named.push(path);
            }
        }
        named.sort();
        named.dedup();
        Ok(Scratch { files, folders: some(&folders)?, excluded: some(&excluded)?, named })
    }

    fn has_folder(&self, folder: &RepoPath) -> bool {
        // A part of it may belong to the tree, which must not be written without a check.
        let is_torn = |excluded: &Globs| excluded.prefixes().iter().any(|prefix| meet(folder, prefix));
        self.folders.as_ref().is_some_and(|globs| globs.matches(folder))
            && !self.excluded.as_ref().is_some_and(is_torn)
            && protected::folder_refusal(folder, &[]).is_none()
    }
}

/// The advice for a protected path.
pub(super) fn hint(path: &RepoPath) -> &'static str {
    match protected::lasting_refusal(path) {
        Some(_) => "leave it out: no run may change it",
        None => "leave it out, or permit files of it by their exact paths with `paths.allow_protected` of `nrv.toml`",
    }
}

/// True if one of two paths is at or beneath the other; `""` is the root.
fn meet(a: &str, b: &str) -> bool {
    let lies_at = |below: &str, above: &str| {
        below.strip_prefix(above).is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with('/'))
    };
    lies_at(a, b) || lies_at(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(writes: &[&str], scratch: &[&str]) -> Result<Scope, Error> {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>();
        Scope::parse(&owned(writes), &owned(scratch), &[])
    }

    #[track_caller]
    fn check(scratch: &[&str], folder: &str, expected: bool) {
        let scope = scope(&[], scratch).unwrap();
        assert_eq!(scope.is_scratch_folder(&RepoPath::parse(folder).unwrap()), expected, "{scratch:?} {folder}");
    }

    #[test]
    fn a_scratch_folder_is_one_that_a_glob_takes_whole() {
        check(&["target/**"], "target", true);
        check(&["./target/**"], "target", true);
        check(&["**/node_modules/**"], "node_modules", true);
        check(&["**/node_modules/**"], "a/b/node_modules", true);
        check(&["target/**"], "a/target", false);
        check(&["target/*.o"], "target", false);
        check(&["target"], "target", false);
        check(&["**"], "src", false);
        check(&["*/**"], ".git", false);
    }

    #[test]
    fn a_folder_of_which_something_is_kept_is_no_scratch_folder() {
        check(&["target/**", "!target/keep/**"], "target", false);
        check(&["target/**", "!**/*.md"], "target", false);
        check(&["target/**", "!src/x"], "target", true);
    }

    #[test]
    fn folders_named_in_full_are_known_before_they_exist() {
        let scope = scope(&[], &["target/**", "./a/out/**", "**/node_modules/**", "target/debug/**", "*.log"]).unwrap();
        assert_eq!(scope.named_scratch().iter().map(RepoPath::as_str).collect::<Vec<_>>(), ["a/out", "target"]);
    }

    #[test]
    fn what_is_protected_can_not_be_asked_for() {
        for glob in [".git/**", "nrv.toml", "a/.vscode/*", ".runs/x"] {
            assert_eq!(scope(&[glob], &[]).unwrap_err().code(), Code::ProtectedPath, "{glob}");
        }
        assert!(scope(&["**", "!x"], &[]).is_ok());
        assert_eq!(scope(&["../x"], &[]).unwrap_err().code(), Code::InvalidPath);
    }
}
