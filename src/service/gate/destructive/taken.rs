//! The files of the guard that git takes out of the work tree, or whose changes it takes away, without a revision that replaces them.

use std::path::Path;

use system::git::Bringing;

use super::{
    arguments::{Arguments, matches},
    guarded::guarded,
    place,
    walk::Walk,
};

/// Options that take the next argument.
const VALUED: &[&str] = &["-m", "--message", "--pathspec-from-file", "--orphan"];

impl Walk<'_> {
    /// True if a command of git takes away files of the guard. `words` follow the name of the command.
    pub(super) fn takes_away(&self, command: &str, words: &[String]) -> bool {
        let arguments = Arguments::parse(words, VALUED);
        let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, false));
        match (command, arguments.operands.as_slice()) {
            ("switch", _) if given(&["--orphan"]) => self.leaves(&|_| false),
            ("sparse-checkout", ["set" | "init", kept @ ..]) => {
                let is_cone = !given(&["--no-cone"]);
                self.leaves(&|path| stays(path, kept, is_cone))
            }
            ("stash", operands) if !given(&["-p", "--patch"]) => {
                let first = words.first().map(String::as_str);
                let paths = match first {
                    Some("push") => &operands[1..],
                    Some("save") => &[],
                    Some(word) if !word.starts_with('-') => return false,
                    _ => operands,
                };
                // Those that git ignores go too, such as the records of runs.
                let takes_all = given(&["-a", "--all"]) && paths.is_empty();
                takes_all || self.stashes(paths, given(&["-a", "--all", "-u", "--include-untracked"]))
            }
            _ => false,
        }
    }

    /// True if files of the guard leave the work tree, but for those that stay.
    fn leaves(&self, stays: &dyn Fn(&str) -> bool) -> bool {
        let (Some(disk), Some(root)) = (self.stand.disk, self.stand.root.as_deref()) else { return false };
        // Whole folders are asked for, too, so that files are told apart afterwards.
        let files = (disk.revision)(root, "", Bringing::Nothing, &is_of_guard);
        files.is_some_and(|files| files.iter().any(|path| !stays(path)))
    }

    /// True if a stash takes files of the guard that are new, or their changes.
    fn stashes(&self, paths: &[&str], with_untracked: bool) -> bool {
        let (Some(disk), Some(root)) = (self.stand.disk, self.stand.root.as_deref()) else { return false };
        let folder = self.folder().unwrap_or_default().to_owned();
        let covers = |path: &str| {
            let covers = |spec: &&str| {
                let spec = place::below(&folder, spec.trim_start_matches("./").trim_end_matches('/'));
                matches!(spec.as_str(), "." | "" | ":/") || matches(&spec, path) || Path::new(path).starts_with(&spec)
            };
            paths.is_empty() || paths.iter().any(covers)
        };
        let is_taken = |path: &String| is_of_guard(path) && covers(path);
        (disk.stashed)(root, with_untracked).is_some_and(|paths| paths.iter().any(is_taken))
    }
}

/// True if a path is a file of this workspace's guard, and not one below another folder.
fn is_of_guard(path: &str) -> bool {
    let first = path.trim_end_matches('/').split('/').next().unwrap_or_default();
    guarded(path).is_some_and(|id| id != "guard.git") && (first == ".github" || guarded(first).is_some())
}

/// True if a sparse checkout of these folders, or patterns, keeps a file.
fn stays(path: &str, kept: &[&str], is_cone: bool) -> bool {
    let covers = |spec: &str| {
        let spec = spec.trim_matches('/');
        Path::new(path).starts_with(spec) || matches(spec, path)
    };
    match is_cone {
        true => !path.contains('/') || kept.iter().any(|folder| covers(folder)),
        false => {
            let is_left = kept.iter().filter_map(|spec| spec.strip_prefix('!')).any(covers);
            !is_left && kept.iter().any(|spec| covers(spec))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_checkout_keeps_the_files_that_its_folders_or_patterns_cover() {
        assert!(stays("nrv.toml", &["src"], true) && !stays("nrv.toml", &["src"], false));
        assert!(
            !stays(".claude/settings.json", &["src"], true)
                && stays(".claude/settings.json", &["src", ".claude"], true)
        );
        assert!(stays("nrv.toml", &["/*"], false) && !stays(".claude/a", &["/*", "!/.claude/"], false));
    }
}
