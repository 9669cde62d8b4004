//! The shapes of an adapter's input, output and records. Plain data: nothing here reads or decides.

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use base::output::{Counts, Failure, Output, Phase, Verdict};
use base::{
    change::{ChangeSet, Entry},
    error::{Code, Error},
    hash::Sha256,
    path::RepoPath,
};
use system::{
    language_server::Asked,
    workspace::{Globs, Kind, View},
};

/// A request to an adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invocation {
    /// The adapter's name.
    pub tool: String,
    /// The adapter's version.
    pub version: String,
    /// Apply or dry run.
    pub mode: Mode,
    /// The files.
    pub target: Target,
    /// The parameters, by the adapter's own schema.
    pub params: Value,
    /// The limits of the work.
    pub constraints: Constraints,
}

/// Apply or dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Writes nothing; the verifier measures the proposed contents.
    DryRun,
    /// Makes the change and verifies it.
    Apply,
}

/// The files that an adapter works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `.`, or the folder of the workspace that the globs are relative to.
    pub repo_path: String,
    /// One glob or several; `!` excludes.
    pub glob: Patterns,
}

/// One glob, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Patterns {
    /// A single glob.
    One(String),
    /// Several, at least one of them without `!`.
    Many(Vec<String>),
}

/// The limits of an adapter's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// The largest number of files to read; more is an error before anything is read.
    pub max_files: u64,
    /// The time limit of discovery and proposal.
    pub timeout_ms: u64,
    /// The seed of samples; adapters without samples give the same result for every seed.
    pub seed: u64,
}

impl Target {
    /// The target's globs, relative to the workspace's root.
    ///
    /// A `repo_path` other than `.` must be a folder inside the workspace, not a link; else `not_found` or `invalid_path`.
    pub fn globs(&self, view: View<'_>) -> Result<Globs, Error> {
        let patterns = match &self.glob {
            Patterns::One(pattern) => std::slice::from_ref(pattern),
            Patterns::Many(patterns) => patterns,
        };
        if matches!(self.repo_path.as_str(), "." | "./") {
            return Globs::parse(patterns);
        }
        let folder = RepoPath::parse(&self.repo_path)?;
        match view.workspace().stat(&folder)?.map(|metadata| metadata.kind) {
            Some(Kind::Folder) => {}
            Some(kind) => {
                return Err(Error::new(Code::InvalidInput, format!("`{folder}` is a {}, not a folder", kind.noun()))
                    .hint("give `.` or a folder as `target.repo_path`"));
            }
            None => {
                return Err(Error::new(Code::NotFound, format!("the folder `{folder}` does not exist"))
                    .hint("give `.` or a folder as `target.repo_path`"));
            }
        }
        // Refuses globs that leave the folder before the folder's name hides that.
        Globs::parse(patterns)?;
        let beneath = |pattern: &String| match pattern.strip_prefix('!') {
            Some(rest) => format!("!{}", join(&folder, rest)),
            None => join(&folder, pattern),
        };
        Globs::parse(&patterns.iter().map(beneath).collect::<Vec<_>>())
    }
}

fn join(folder: &RepoPath, pattern: &str) -> String {
    let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!');
    let mut literal = String::new();
    for c in folder.chars() {
        if special(c) {
            literal.extend(['[', c, ']']);
        } else {
            literal.push(c);
        }
    }
    format!("{literal}/{}", pattern.trim_start_matches("./"))
}

/// The counts of an adapter.
///
/// A `*` in a name stands for lower-case letters, digits, `_` and `-`: such counts may be missing, all others are always there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted<'a> {
    /// Names and meanings of the counts before a change.
    pub baseline: Vec<(&'a str, &'a str)>,
    /// Names and meanings of the counts of a change.
    pub changes: Vec<(&'a str, &'a str)>,
    /// The count of the baseline that is above zero if the adapter has work to do in a tree; none if only a proposal tells.
    pub work: Option<&'a str>,
}

impl Counted<'_> {
    /// True if the adapter found something to do in the tree of a proposal.
    pub fn has_work(&self, proposal: &Proposal) -> bool {
        let found = self.work.and_then(|name| proposal.baseline.counts.get(name));
        !proposal.changes.is_empty() || found.is_some_and(|found| *found > 0)
    }
}

/// A file and its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileHash {
    /// The file.
    pub path: RepoPath,
    /// The hash of its bytes.
    pub sha256: Sha256,
}

/// The detail of an error that lists the files which the adapter could not read, as [`Skipped`].
pub const SKIPPED: &str = "skipped";

/// A file that the adapter leaves alone because it can't read it as its format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// Its path; with replacement characters if the name is not UTF-8.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// A place that the proposal leaves as it is, for a person to decide on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The file.
    pub path: RepoPath,
    /// The line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The place in the file as its format names it: a JSON Pointer, or the destination of a link.
    pub place: String,
    /// Its kind: a keyword of a schema, the part of a link that is missing, or the reason that a name is left.
    pub kind: String,
    /// The reason that it is left.
    pub reason: String,
    /// The possible corrections, if there are several; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

impl Finding {
    /// Its place in the file, its kind and its reason, as messages have them.
    pub(crate) fn cause(&self) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!("`{}` ", self.place) };
        format!("{place}({}): {}", self.kind, self.reason)
    }
}

/// A setting that the adapter read from a file of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The parameter that it stands for.
    pub name: String,
    /// The folder of the files that it holds for; `.` is the workspace.
    pub below: String,
    /// Its value.
    pub value: String,
    /// The file that says so.
    pub path: String,
    /// The reason that it is not certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// The measurements before a change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// The counts.
    pub counts: Counts,
    /// Every file that was read, sorted by path.
    pub files: Vec<FileHash>,
    /// Files that were left alone, sorted by path. Those that were read are in `files` too.
    pub skipped: Vec<Skipped>,
    /// The places that the proposal leaves, sorted.
    pub findings: Vec<Finding>,
    /// The settings that were read from files of the tree, sorted.
    pub settings: Vec<Setting>,
    /// The engine that the adapter took, if it has several.
    pub engine: Option<Engine>,
}

/// One of several ways of an adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Its name.
    pub name: String,
    /// The language server that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Asked>,
}

/// The findings of an adapter and its proposed change.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The measurements before the change.
    pub baseline: Baseline,
    /// The size of the change: `files`, and the adapter's own counts.
    pub counts: Counts,
    /// The change.
    pub changes: ChangeSet,
}

/// The artefact `baseline.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineRecord {
    /// The request.
    pub input: Invocation,
    /// The counts.
    pub counts: Counts,
    /// Every file that was read.
    pub files: Vec<FileHash>,
    /// Files that were left alone.
    pub skipped: Vec<Skipped>,
    /// The places that the proposal leaves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The settings that were read from files of the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// The engine that the adapter took, if it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// The hash of the adapter's source, if a user wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Sha256>,
}

/// The artefact that lists the changes: the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestRecord {
    /// The adapter's name.
    pub tool: String,
    /// Every changed file, sorted by path.
    pub entries: Vec<Entry>,
    /// The size of the change: `files`, and the adapter's own counts.
    pub counts: Counts,
}

impl Proposal {
    /// The artefact that the verifier judges against.
    pub fn baseline_record(&self, input: &Invocation) -> BaselineRecord {
        BaselineRecord {
            input: input.clone(),
            counts: self.baseline.counts.clone(),
            files: self.baseline.files.clone(),
            skipped: self.baseline.skipped.clone(),
            findings: self.baseline.findings.clone(),
            settings: self.baseline.settings.clone(),
            engine: self.baseline.engine.clone(),
            adapter: None,
        }
    }

    /// The manifest of the change.
    pub fn manifest_record(&self, tool: &str) -> ManifestRecord {
        ManifestRecord { tool: tool.to_owned(), entries: self.changes.entries(), counts: self.counts.clone() }
    }

    /// The output of a run that ended in `phase`; `applied_changes` are zeros in a dry run.
    pub fn output(&self, input: &Invocation, phase: Phase, verifier: Verdict) -> Output {
        let applied = |(name, count): (&String, &u64)| match phase {
            Phase::DryRun => (name.clone(), 0),
            Phase::Apply | Phase::Verify => (name.clone(), *count),
        };
        Output {
            tool: input.tool.clone(),
            ok: verifier.passed,
            phase,
            baseline: self.baseline.counts.clone(),
            proposed_changes: self.counts.clone(),
            applied_changes: self.counts.iter().map(applied).collect(),
            undone: false,
            run: None,
            artifacts: Vec::new(),
            verifier,
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests build trees")]
mod tests {
    use serde_json::json;

    use super::*;
    use system::workspace::{Overlay, Workspace};

    fn target(repo_path: &str, glob: Value) -> Target {
        serde_json::from_value(json!({"repo_path": repo_path, "glob": glob})).unwrap()
    }

    #[test]
    fn the_invocation_is_exact() {
        let wire = json!({
            "tool": "link_updater", "version": "1.0", "mode": "dry-run",
            "target": {"repo_path": ".", "glob": "site/**/*.html"}, "params": {},
            "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 42},
        });
        let input: Invocation = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&input).unwrap(), wire);
        let mut more = wire;
        more["constraints"]["max"] = json!(1);
        assert!(serde_json::from_value::<Invocation>(more).is_err());
    }

    #[test]
    fn globs_lie_beneath_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a[1]/b")).unwrap();
        std::fs::write(folder.path().join("f"), "").unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let overlay = Overlay::default();
        let view = View::new(&workspace, &overlay);
        let globs = target("./a[1]/", json!(["**/*.html", "!b/**"])).globs(view).unwrap();
        let matches = |path: &str| globs.matches(&RepoPath::parse(path).unwrap());
        assert!(matches("a[1]/x.html") && !matches("a[1]/b/x.html") && !matches("a1/x.html") && !matches("x.html"));
        for (repo_path, code) in
            [("none", Code::NotFound), ("f", Code::InvalidInput), ("../x", Code::InvalidPath), ("/", Code::InvalidPath)]
        {
            assert_eq!(target(repo_path, json!("*")).globs(view).unwrap_err().code(), code, "{repo_path}");
        }
        assert_eq!(target("a[1]", json!("../*")).globs(view).unwrap_err().code(), Code::InvalidPath);
    }
}
