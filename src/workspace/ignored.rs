//! Does git leave a path alone? Asked of the ignore files, without git.

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::{
    Workspace,
    walk::{exclude_file, repository_of, unfit},
};
use crate::path::RepoPath;

impl Workspace {
    /// True if the ignore files of the workspace, and those of the repository that it lies in, exclude a folder.
    ///
    /// A user's own ignore file does not count: others don't have it.
    pub fn ignores(&self, folder: &RepoPath) -> bool {
        let (real, repository) = match repository_of(self.root()) {
            Some(places) => places,
            None => (self.root().to_owned(), self.root().to_owned()),
        };
        let target = real.join(folder.as_str());
        // The nearest file that says anything has the last word.
        let nearest_first = real.ancestors().take_while(|folder| folder.starts_with(&repository));
        let files = nearest_first.map(|folder| (folder, folder.join(".gitignore")));
        let exclude = (repository.as_path(), exclude_file(&repository));
        for (base, file) in files.chain([exclude]) {
            match rules(base, &file).matched_path_or_any_parents(&target, true) {
                Match::None => {}
                found => return found.is_ignore(),
            }
        }
        false
    }
}

/// What a file says; one that is missing or can't be read says nothing.
fn rules(base: &std::path::Path, file: &std::path::Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(base);
    if unfit(file).is_none() {
        let _ = builder.add(file);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(above: &str, own: &str, expected: bool) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("sub");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        fs::write(folder.path().join(".gitignore"), above).unwrap();
        fs::write(root.join(".gitignore"), own).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        assert_eq!(workspace.ignores(&RepoPath::parse(".runs").unwrap()), expected, "{above:?} {own:?}");
    }

    #[test]
    fn any_pattern_that_excludes_the_folder_counts() {
        for own in [".runs", ".runs/", "/.runs/\r\n", "x\n.r*/", ".*", "*", "**/.runs"] {
            check("", own, true);
            assert!(
                own.starts_with('/') || {
                    check(own, "", true);
                    true
                }
            );
        }
        for own in ["", "# .runs", "runs/", "sub/.runs", ".runs/*.json", ".runs\n!.runs/"] {
            check("", own, false);
        }
        check("sub/.runs", "", true);
        check(".runs", "!.runs", false);
    }
}
