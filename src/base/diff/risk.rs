//! Ranks the files of a change by risk, so that a short list shows the riskiest first.
//!
//! The order is a pure function of paths and of a patch. Gates judge; this does not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Stat, parts};

/// Lines of one file from which its change is large.
const LARGE: usize = 500;

/// Files that builds, tests and package managers run, or whose commands they run.
const RUNS: &[&str] = &[
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "build.rs",
    "cmakelists.txt",
    "composer.json",
    "conftest.py",
    "containerfile",
    "docker-compose.yml",
    "dockerfile",
    "flake.nix",
    "gemfile",
    "gulpfile.js",
    "jenkinsfile",
    "justfile",
    "makefile",
    "meson.build",
    "noxfile.py",
    "package.json",
    "pyproject.toml",
    "rakefile",
    "setup.cfg",
    "setup.py",
    "sitecustomize.py",
    "tox.ini",
];

/// Files that package managers write.
const LOCKED: &[&str] = &[
    "bun.lock",
    "cargo.lock",
    "composer.lock",
    "deno.lock",
    "flake.lock",
    "gemfile.lock",
    "go.sum",
    "package-lock.json",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// File extensions of shell scripts.
const SCRIPTS: &[&str] = &["bash", "bat", "cmd", "fish", "ksh", "ps1", "sh", "zsh"];

/// The reason that a file's change needs review, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It is or becomes a symbolic link.
    Link,
    /// It becomes executable, or is created so.
    Executable,
    /// A build, a test, a package manager or a service runs it or its commands.
    Runs,
    /// Its name or that of a folder begins with a dot.
    Hidden,
    /// It is a shell script.
    Script,
    /// It is removed.
    Removed,
    /// It is new.
    New,
    /// A package manager writes it.
    Locked,
    /// It is binary.
    Binary,
    /// Very many of its lines change.
    Large,
}

impl Mark {
    /// The word that people see.
    pub fn word(self) -> &'static str {
        match self {
            Mark::Link => "link",
            Mark::Executable => "executable",
            Mark::Runs => "runs by itself",
            Mark::Hidden => "hidden",
            Mark::Script => "script",
            Mark::Removed => "removed",
            Mark::New => "new",
            Mark::Locked => "lock file",
            Mark::Binary => "binary",
            Mark::Large => "large",
        }
    }
}

/// The marks of a file by its path and its part of a patch, the strongest first.
pub fn marks(path: &str, part: &[u8]) -> Vec<Mark> {
    let mut marks = marks_of_path(path);
    let mut lines = 0;
    let mut in_hunk = false;
    for line in part.split(|byte| *byte == b'\n') {
        in_hunk |= line.starts_with(b"@@");
        if in_hunk {
            lines += usize::from(matches!(line.first(), Some(b'+' | b'-')));
            continue;
        }
        let mode = |word: &[u8]| line.starts_with(word);
        if mode(b"new file mode ") {
            marks.push(Mark::New);
        } else if mode(b"deleted file mode ") {
            marks.push(Mark::Removed);
        } else if mode(b"Binary files ") || mode(b"GIT binary patch") {
            marks.push(Mark::Binary);
        }
        if mode(b"new file mode 120") || mode(b"new mode 120") {
            marks.push(Mark::Link);
        } else if mode(b"new file mode 100755") || mode(b"new mode 100755") {
            marks.push(Mark::Executable);
        }
    }
    if lines >= LARGE {
        marks.push(Mark::Large);
    }
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// The marks that a path alone gives, the strongest first.
pub fn marks_of_path(path: &str) -> Vec<Mark> {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or_default();
    let ends = |ending: &str| name.rsplit_once('.').is_some_and(|(_, found)| found == ending);
    let is_of_service = [".github/", ".circleci/", ".buildkite/", ".gitlab/", ".woodpecker/"]
        .iter()
        .any(|folder| lower.starts_with(folder) || lower.contains(&format!("/{folder}")));
    let runs = RUNS.contains(&name)
        || is_of_service
        || [".gitlab-ci.yml", ".travis.yml", ".pre-commit-config.yaml"].contains(&name)
        || ["gradle", "mk", "pth"].into_iter().any(ends);
    let marks = [
        (Mark::Runs, runs),
        (Mark::Hidden, lower.split('/').any(|part| part.starts_with('.'))),
        (Mark::Script, SCRIPTS.iter().any(|ending| ends(ending))),
        (Mark::Locked, LOCKED.contains(&name)),
    ];
    marks.into_iter().filter(|(_, holds)| *holds).map(|(mark, _)| mark).collect()
}

/// Puts the files with marks first; the others keep their order after them.
pub fn sort_by_risk<T>(files: &mut [T], marks: impl Fn(&T) -> &[Mark]) {
    files.sort_by(|one, other| {
        let key = |file| {
            let marks = marks(file);
            (marks.is_empty(), marks)
        };
        key(one).cmp(&key(other))
    });
}

/// The files of a patch with their marks, in the order of risk.
pub fn marked<'s>(stats: &'s [Stat], patch: &[u8]) -> Vec<(&'s Stat, Vec<Mark>)> {
    let parts: BTreeMap<String, &[u8]> =
        parts(patch).into_iter().filter_map(|part| Some((part.path()?, part.bytes))).collect();
    let marked = stats.iter().map(|stat| {
        let part = parts.get(stat.path.as_str()).copied().unwrap_or_default();
        (stat, marks(&stat.path, part))
    });
    let mut marked: Vec<_> = marked.collect();
    sort_by_risk(&mut marked, |file| &file.1);
    marked
}

/// The number of files of each kind: each counts once, by its strongest mark.
pub fn counted<'m>(files: impl Iterator<Item = &'m [Mark]>) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<Option<Mark>, u64> = BTreeMap::new();
    for marks in files {
        *counts.entry(marks.first().copied()).or_default() += 1;
    }
    let unmarked = counts.remove(&None).map(|n| ("changed".to_owned(), n));
    let marked = counts.into_iter().filter_map(|(mark, n)| Some((mark?.word().to_owned(), n)));
    marked.chain(unmarked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_and_its_path_say_what_wants_a_look() {
        let new =
            b"diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new mode 120000\n";
        assert_eq!(marks("tools/run.sh", new), [Mark::Executable, Mark::Script, Mark::New]);
        assert_eq!(marks("a", b"diff --git a/a b/a\nold mode 100644\nnew mode 120000\n"), [Mark::Link]);
        assert_eq!(
            marks("docs/a.md", b"--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-deleted file mode 1\n+x\n"),
            []
        );
        assert_eq!(marks_of_path(".github/workflows/ci.yml"), [Mark::Runs, Mark::Hidden]);
        assert_eq!(marks_of_path("web/package-lock.json"), [Mark::Locked]);
        let large = format!("@@ -1 +1 @@\n{}", "+x\n".repeat(LARGE));
        assert_eq!(marks("a", large.as_bytes()), [Mark::Large]);
    }

    #[test]
    fn the_strongest_come_first_and_the_rest_keep_their_order() {
        let mut files = ["z.md", "b.md", "Makefile", "run.sh", ".env", "a.md"].map(|path| (path, marks_of_path(path)));
        sort_by_risk(&mut files, |file| &file.1);
        assert_eq!(files.map(|file| file.0), ["Makefile", ".env", "run.sh", "z.md", "b.md", "a.md"]);
    }
}
