//! Can runs do their work here? The workspace is looked at and tried, and a real verifier is started. Nothing is left.

use serde_json::json;

use super::recover::leftovers;
use crate::{Context, Options, call::verifier::ask};
use adapter::verify::{ArtifactRef, Contents, Request};
use base::{
    error::{Code, Error},
    hash::Sha256,
    path::{RepoPath, protected::RUNS},
};
use record::{RunFolder, Runs};
use system::{
    journal::{self, FileSystem},
    workspace::{Kind, Proposed, Workspace},
};

/// How long a verifier of nothing may take.
const TIMEOUT_MS: u64 = 30_000;

/// The adapter whose verifier is asked.
const TOOL: &str = "link_updater";

/// The findings of a probe of a workspace.
#[derive(Debug)]
pub struct WorkspaceProbe {
    /// The folder of records.
    pub records: Result<Records, Error>,
    /// The abilities of the file system; an error if nothing can be written there.
    pub file_system: Result<FileSystem, Error>,
    /// Runs that died and are not recovered.
    pub leftovers: Result<Vec<String>, Error>,
}

/// The state of the folder of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// There is none yet.
    Missing,
    /// Something else has its name.
    NoFolder,
    /// Records can be written.
    Usable {
        /// True if git ignores the folder.
        ignored: bool,
    },
}

/// Looks at a workspace and tries what runs need.
pub fn probe_workspace(workspace: &Workspace) -> WorkspaceProbe {
    let runs = Runs::of(workspace.root());
    let records = records(workspace, &runs);
    let is_usable = matches!(records, Ok(Records::Usable { .. }));
    let file_system = journal::probe(workspace.root(), is_usable.then(|| runs.path()));
    WorkspaceProbe { records, file_system, leftovers: leftovers(&runs) }
}

fn records(workspace: &Workspace, runs: &Runs) -> Result<Records, Error> {
    let path = RepoPath::parse(RUNS)?;
    match workspace.stat(&path)?.map(|found| found.kind) {
        None => return Ok(Records::Missing),
        Some(Kind::Folder) => {}
        Some(_) => return Ok(Records::NoFolder),
    }
    journal::try_writing(runs.path())?;
    let own = workspace.read(&RepoPath::parse(&format!("{RUNS}/.gitignore"))?);
    let hides_itself = own.is_ok_and(|own| own.bytes.split(|byte| *byte == b'\n').any(|line| line == b"*"));
    Ok(Records::Usable { ignored: hides_itself || workspace.ignores(&path) })
}

/// The result of a probe of a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifierProbe {
    /// It works, and it can't read what it was not given.
    Confined,
    /// It works, but it read a file that lies elsewhere.
    Unconfined,
}

/// Starts a verifier as runs do. An error says why it does not work.
pub fn probe_verifier(options: &Options) -> Result<VerifierProbe, Error> {
    let folder = || tempfile::tempdir().map_err(|error| Error::io("no temporary folder can be made", &error));
    let (inside, outside) = (folder()?, folder()?);
    let context = Context::new(Workspace::open(inside.path())?, options.clone())?;
    let run = context.runs.create(0, 0)?;
    let elsewhere = Runs::of(outside.path()).create(0, 0)?;
    let mut request = request(&context, &run)?;
    let report = ask(&context, &request, TIMEOUT_MS, &context.options.cancel)?;
    if !report.passed {
        let reason = report.failures.first().map(|failure| failure.reason.clone()).unwrap_or_default();
        return Err(Error::new(Code::Internal, format!("the verifier does not pass what is right: {reason}")));
    }
    elsewhere.write("secret", b"text")?;
    let secret = elsewhere.path().join("secret");
    request.overlay = vec![Proposed { path: RepoPath::parse("a.txt")?, file: Some(secret), mode: 0o644 }];
    let report = ask(&context, &request, TIMEOUT_MS, &context.options.cancel)?;
    Ok(if report.passed { VerifierProbe::Unconfined } else { VerifierProbe::Confined })
}

/// A request about a tree without pages, in which nothing was changed.
fn request(context: &Context, run: &RunFolder) -> Result<Request, Error> {
    let adapter = context.options.adapters.find(TOOL)?;
    let input = json!({
        "tool": TOOL, "version": adapter.version(), "mode": "dry-run",
        "target": {"repo_path": ".", "glob": "**/*.html"},
        "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"},
        "constraints": {"max_files": 1, "timeout_ms": TIMEOUT_MS, "seed": 0},
    });
    let invocation = adapter::parse(adapter, &input)?;
    let view = context.view();
    let cancel = context.options.cancel.as_ref();
    let proposal = adapter.propose(&adapter::Context::of_tree(view, 1, cancel), &invocation)?;
    let write = |name: &str, bytes: serde_json::Result<Vec<u8>>| {
        let bytes = bytes.map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        run.write(name, &bytes)?;
        Ok::<_, Error>(ArtifactRef { path: name.to_owned(), sha256: Sha256::of(&bytes) })
    };
    Ok(Request {
        tool: TOOL.to_owned(),
        root: context.workspace.root().to_owned(),
        run_folder: run.path().to_owned(),
        baseline: write("baseline.json", serde_json::to_vec(&proposal.baseline_record(&invocation)))?,
        manifest: write("manifest.json", serde_json::to_vec(&proposal.manifest_record(TOOL)))?,
        contents: Contents::Before(run.path().join("packs/none/pre")),
        overlay: Vec::new(),
        hidden: Vec::new(),
        is_later: false,
        threads: 1,
        source: None,
        path: String::new(),
    })
}
