//! Finds the adapters of a workspace, reads them when somebody first asks, and makes them again in the verifier's process.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{
    broken::Broken,
    description::{Description, check_rhai, is_name},
    program::{ProgramAdapter, confine},
    rhai::RhaiAdapter,
    words,
};
use crate::{
    Checked,
    approval::{FILE, PinnedAdapter},
    guest,
    session::{Origin, Worker},
};
use adapter::{
    ADAPTERS, Adapter, Adapters,
    source::{Kind, Program as ProgramSource, Source},
    verify::Request,
};
use base::{
    error::{Code, Error},
    frame::{Inspection, Limits},
    hash::Sha256,
    path::RepoPath,
};
use system::{
    clock::Stopwatch,
    policy::{self, Policy},
    process::{
        Isolation, Program,
        sandbox::{self, Confine},
    },
    workspace::{Globs, Kind as FileKind, Workspace},
};

/// The globs of adapters in Rhai, without definitions for editors.
const FILES: &[&str] = &["dta/*.rhai", "!dta/*.d.rhai"];

/// The folder of adapters.
const FOLDER: &str = "dta/";

/// The ending of adapters in Rhai.
const ENDING: &str = ".rhai";

/// The longest source of an adapter, in bytes: the time to read one grows with its square.
const LONGEST: usize = 256 << 10;

/// The time limit for reading one.
const PATIENCE: Duration = Duration::from_secs(20);

/// How adapters of users are run.
#[derive(Clone, Debug)]
pub struct How {
    /// The program that becomes a worker.
    pub program: Program,
    /// How workers are kept apart.
    pub isolation: Isolation,
    /// The limits of their processes.
    pub limits: Limits,
    /// Threads for listing.
    pub threads: usize,
    /// The policy of programs.
    pub exec: policy::Exec,
    /// The folders in which programs are looked for.
    pub path: String,
    /// The user's home.
    pub home: String,
    /// Globs of the files that nobody reads.
    pub hidden: Vec<String>,
    /// The approved adapters, where only approved ones are used.
    pub pins: Option<BTreeMap<String, PinnedAdapter>>,
}

/// An adapter that was found by its name.
#[derive(Clone, Debug)]
struct Found {
    name: String,
    /// Its file; of a program without a file in the workspace, the policy.
    path: RepoPath,
    /// The table of the policy, if it is a program.
    table: Option<policy::Adapter>,
}

/// Adds the adapters of a workspace: the files beneath `dta/`, and those that the policy names.
pub fn with_own(adapters: Adapters, workspace: &Workspace, policy: &Policy, how: How) -> Result<Adapters, Error> {
    let found = find(workspace, policy, how.threads)?;
    let names = found.iter().map(|one| one.name.clone()).collect();
    let root = workspace.root().to_owned();
    let adapters = if how.pins.is_some() { adapters.approved_only() } else { adapters };
    Ok(adapters.with_later(names, move || read(&root, &found, &how)))
}

/// The name of the adapter that a file is meant to hold; none if it is no file of an adapter.
pub fn name_at(policy: &Policy, path: &RepoPath) -> Option<String> {
    names_at(policy, path).into_iter().next()
}

/// The names of all adapters that a file is meant to be a part of; for the policy, those of its programs.
pub fn names_at(policy: &Policy, path: &RepoPath) -> Vec<String> {
    let is_it = |table: &policy::Adapter| {
        let mut words = table.program.iter().chain(&table.measure_program);
        table.script.as_deref() == Some(path.as_str())
            || words.any(|word| path_of(word).as_ref() == Some(path))
            || !table.program.is_empty() && path.as_str() == policy::FILE
    };
    let named = policy.settings().adapters.named.iter().filter(|(_, table)| is_it(table)).map(|(name, _)| name.clone());
    let in_folder = path.strip_prefix(FOLDER).and_then(|name| name.strip_suffix(ENDING));
    let in_folder = in_folder.filter(|name| !name.contains(['/', '.'])).map(str::to_owned);
    let mut names: Vec<String> = named.collect();
    names.extend(in_folder.filter(|_| names.is_empty()));
    names
}

/// The files of the workspace that are programs of adapters, sorted.
pub fn program_files(policy: &Policy) -> Vec<RepoPath> {
    let programs = policy.settings().adapters.named.values().map(|table| &table.program);
    let file = |words: &Vec<String>| words.iter().filter(|word| !word.starts_with('-')).find_map(|word| path_of(word));
    let mut files: Vec<RepoPath> = programs.filter_map(file).collect();
    files.sort();
    files.dedup();
    files
}

/// The findings in the file of an adapter, as `nrv check` tells them.
pub fn check(workspace: &Workspace, (name, path): (&str, &RepoPath), how: &How) -> Checked {
    let mut checked = Checked::unread(path.clone());
    let text = match text(workspace, path) {
        Ok(text) => text,
        Err(error) => return Checked { errors: vec![error], ..checked },
    };
    match inspect(path, &text, how, &mut None) {
        Ok(inspection) if inspection.errors.is_empty() => {
            checked.errors.extend(described(&inspection, &text, name).err());
            checked.errors.extend(built_in(name));
            checked.warnings = inspection.warnings;
        }
        Ok(inspection) => (checked.errors, checked.warnings) = (inspection.errors, inspection.warnings),
        Err(error) => checked.errors.push(error),
    }
    checked.sources.insert(path.to_string(), text);
    checked
}

/// An error if nrv has an adapter of that name.
fn built_in(name: &str) -> Option<Error> {
    ADAPTERS.iter().any(|adapter| adapter.name() == name).then(|| {
        Error::new(Code::InvalidInput, format!("`{name}` is an adapter of nrv, so this one is never used"))
            .hint("give it another name")
    })
}

fn find(workspace: &Workspace, policy: &Policy, threads: usize) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for path in workspace.list(&Globs::parse(FILES)?, threads)?.paths {
        let name = path.trim_start_matches(FOLDER).trim_end_matches(ENDING).to_owned();
        found.push(Found { name, path, table: None });
    }
    for (name, table) in &policy.settings().adapters.named {
        check_keys(policy, name, table)?;
        let (path, table) = match (&table.script, table.program.first()) {
            (Some(script), None) => {
                let key = format!("adapters.{name}.script");
                let wrong = |error: Error| {
                    let message = format!("`{key}` can't be used ({}): {}", policy.origin(&key), error.message());
                    Error::new(Code::InvalidPolicy, message)
                };
                (RepoPath::parse(script).map_err(wrong)?, None)
            }
            (None, Some(_)) => (file_of(workspace, table)?, Some(table.clone())),
            (Some(_), Some(_)) => return Err(both(policy, name)),
            (None, None) => continue,
        };
        found.retain(|one| one.name != *name);
        found.push(Found { name: name.clone(), path, table });
    }
    Ok(found)
}

/// The first word of its command lines that is a file of the workspace; else the policy.
fn file_of(workspace: &Workspace, table: &policy::Adapter) -> Result<RepoPath, Error> {
    let is_file = |path: &RepoPath| matches!(workspace.stat(path), Ok(Some(found)) if found.kind == FileKind::File);
    let mut paths = table.program.iter().chain(&table.measure_program).filter_map(|word| path_of(word));
    paths.find(is_file).map_or_else(|| RepoPath::parse(policy::FILE), Ok)
}

/// The path that a word of a command line has the form of.
fn path_of(word: &str) -> Option<RepoPath> {
    RepoPath::parse(word).ok().filter(|_| word.contains('/'))
}

/// Keys that only programs have say nothing of another adapter.
fn check_keys(policy: &Policy, name: &str, table: &policy::Adapter) -> Result<(), Error> {
    if !table.program.is_empty() {
        return Ok(());
    }
    let keys = [
        ("measure_program", !table.measure_program.is_empty()),
        ("glob", !table.glob.is_empty()),
        ("version", table.version.is_some()),
        ("summary", table.summary.is_some()),
        ("params", table.params.is_some()),
        ("work", table.work.is_some()),
        ("expect", !table.expect.is_empty()),
    ];
    let Some((key, _)) = keys.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let key = format!("adapters.{name}.{key}");
    Err(Error::new(Code::InvalidPolicy, format!("`{key}` is for programs alone ({})", policy.origin(&key)))
        .hint("an adapter in Rhai says this in its `ADAPTER`; a program has the key `program`"))
}

fn both(policy: &Policy, name: &str) -> Error {
    let key = format!("adapters.{name}.program");
    Error::new(Code::InvalidPolicy, format!("`{key}` can't stand beside `script` ({})", policy.origin(&key)))
        .hint("an adapter is a script or a program")
}

/// Reads all sources by one worker; what can't be read has its error in place of its functions.
fn read(root: &Path, found: &[Found], how: &How) -> Vec<Arc<dyn Adapter>> {
    let mut worker = None;
    let workspace = Workspace::open(root);
    let read = |one: &Found| -> Arc<dyn Adapter> {
        let adapter =
            workspace.as_ref().map_err(Clone::clone).and_then(|workspace| adapter(workspace, one, how, &mut worker));
        adapter.unwrap_or_else(|error| Arc::new(Broken { name: one.name.clone(), error }))
    };
    found.iter().map(read).collect()
}

fn adapter(
    workspace: &Workspace,
    found: &Found,
    how: &How,
    worker: &mut Option<Worker>,
) -> Result<Arc<dyn Adapter>, Error> {
    if let Some(table) = &found.table {
        return program(workspace, found, table, how);
    }
    let text = text(workspace, &found.path)?;
    let inspection = inspect(&found.path, &text, how, worker)?;
    let description = Description { hidden: how.hidden.clone(), ..described(&inspection, &text, &found.name)? };
    let sha256 = Sha256::of(text.as_bytes());
    check_pin(found, (sha256, &[format!("`{}`", found.path)]), how)?;
    let kind = Kind::Rhai { text: text.clone(), limits: how.limits.clone() };
    let source = Source { name: found.name.clone(), path: found.path.to_string(), sha256, kind };
    let made = RhaiAdapter::new(description, source, (text, how.limits.clone()), (how.program.clone(), how.isolation));
    Ok(Arc::new(made))
}

/// An adapter that is a program: all files of the workspace in its command lines belong to its source.
fn program(
    workspace: &Workspace,
    found: &Found,
    table: &policy::Adapter,
    how: &How,
) -> Result<Arc<dyn Adapter>, Error> {
    let mut header =
        json!({"name": found.name, "version": table.version.as_deref().unwrap_or("1.0"), "glob": table.glob});
    let optional = [("summary", &table.summary), ("work", &table.work)];
    for (key, value) in optional.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
        header[key] = json!(value);
    }
    if !table.expect.is_empty() {
        header["expect"] = json!(table.expect);
    }
    if let Some(file) = &table.params {
        let text = text(workspace, &RepoPath::parse(file)?)?;
        let wrong = |error| Error::new(Code::InvalidInput, format!("the schema `{file}` is not JSON: {error}"));
        header["params"] = serde_json::from_str(&text).map_err(wrong)?;
    }
    let files = pinned_files(workspace, &found.name, table)?;
    let path = words::folders_outside(workspace.root(), &how.path);
    let read = readable(how);
    words::check_readable(workspace.root(), &found.name, &read)?;
    for argv in [&table.program, &table.measure_program] {
        words::check(workspace.root(), (&found.name, argv), &files, &path)?;
    }
    let described = ProgramSource {
        header,
        argv: table.program.clone(),
        measure: table.measure_program.clone(),
        files,
        read,
        limits: sandbox::Limits {
            memory: how.exec.memory,
            file_size: how.exec.file_size,
            processes: how.exec.processes,
            disk: how.exec.disk,
            ..sandbox::Limits::default()
        },
        confine: confine(how.exec.sandbox).max(Confine::Auto),
    };
    let sha256 = described.sha256()?;
    // The policy's own pin says nothing of globs and parameters.
    let files: Vec<String> = described.files.keys().map(|file| format!("`{file}`")).collect();
    check_pin(found, (sha256, &files), how)?;
    let source = Source {
        name: found.name.clone(),
        path: found.path.to_string(),
        sha256,
        kind: Kind::Program(Box::new(described.clone())),
    };
    program_adapter((source, &how.hidden), described, (how.program.clone(), path))
}

/// The files of the workspace in the command lines of a program, in Base64 by their words.
fn pinned_files(workspace: &Workspace, name: &str, table: &policy::Adapter) -> Result<BTreeMap<String, String>, Error> {
    let mut files = BTreeMap::new();
    for word in table.program.iter().chain(&table.measure_program) {
        let Some(path) = path_of(word) else { continue };
        match workspace.stat(&path)?.map(|found| found.kind) {
            Some(FileKind::File) => {
                files.insert(word.clone(), BASE64_STANDARD.encode(workspace.read(&path)?.into_bytes()));
            }
            // The file behind it would be neither copied nor pinned.
            Some(FileKind::Link) => {
                let message = format!("the program of `{name}` can't be used: `{path}` is a symbolic link");
                return Err(Error::new(Code::InvalidPath, message)
                    .detail("adapter", name)
                    .hint("links are not followed; name the file itself"));
            }
            Some(_) | None => {}
        }
    }
    Ok(files)
}

/// The existing folders and files that the policy lets commands read.
fn readable(how: &How) -> Vec<PathBuf> {
    let place = |text: &String| match text.strip_prefix('~') {
        Some(rest) => PathBuf::from(format!("{}{rest}", how.home)),
        None => PathBuf::from(text),
    };
    how.exec.read.iter().map(place).filter(|path| path.is_absolute() && path.exists()).collect()
}

fn program_adapter(
    (source, hidden): (Source, &[String]),
    program: ProgramSource,
    (supervisor, path): (Program, String),
) -> Result<Arc<dyn Adapter>, Error> {
    if !is_name(&source.name) {
        return Err(Error::new(
            Code::InvalidInput,
            format!("the adapter `{}` has a name that can't be used", source.name),
        ));
    }
    let description = Description::parse(&program.header, &source.name).map_err(|error| {
        let wrong = Error::new(Code::InvalidPolicy, format!("`[adapters.{}]` can't be used: {}", source.name, error.message()));
        wrong.hint("a program needs `program` and `glob`, and may have `version`, `summary`, `params`, `work`, `expect`, `measure_program`")
    })?;
    let description = Description { hidden: hidden.to_vec(), ..description };
    let params = description.params.to_string();
    Ok(Arc::new(ProgramAdapter { description, params, source, program, supervisor, path }))
}

fn rebuild_program(source: &Source, program: &ProgramSource, request: &Request) -> Result<Arc<dyn Adapter>, Error> {
    if program.sha256()? != source.sha256 {
        return Err(changed(source));
    }
    let path = words::folders_outside(&request.root, &request.path);
    program_adapter((source.clone(), &[]), program.clone(), (Program::ReExec, path))
}

fn changed(source: &Source) -> Error {
    Error::new(Code::RecordDamaged, format!("the source of `{}` is not what its hash says", source.name))
}

/// An error where only approved adapters are used, and this one is not, or has changed since.
fn check_pin(found: &Found, (sha256, files): (Sha256, &[String]), how: &How) -> Result<(), Error> {
    let Some(pins) = &how.pins else { return Ok(()) };
    let Found { name, path, .. } = found;
    let message = match pins.get(name) {
        Some(pin) if pin.sha256 == sha256 && pin.path == path.as_str() => return Ok(()),
        Some(pin) if pin.path != path.as_str() => {
            format!("the adapter `{name}` was approved as `{}`, not as `{path}`", pin.path)
        }
        Some(_) => match files {
            [] => format!("the adapter `{name}` differs from its approval: its table has changed"),
            [file] => format!("the adapter `{name}` differs from its approval: {file} has changed"),
            files => format!(
                "the adapter `{name}` differs from its approval: one of {} or its command line has changed",
                files.join(", ")
            ),
        },
        None => format!("the adapter `{name}` (`{path}`) is not approved"),
    };
    Err(Error::new(Code::NotApproved, message)
        .detail("adapter", name.as_str())
        .hint(format!("review it, approve it with `nrv approve {path}`, and commit `{FILE}`")))
}

fn text(workspace: &Workspace, path: &RepoPath) -> Result<String, Error> {
    let content = workspace.read(path)?;
    if content.bytes.len() > LONGEST {
        let message = format!("`{path}` has more than {} KiB", LONGEST >> 10);
        return Err(Error::new(Code::ScriptLimit, message).hint("an adapter is a file of some functions, without data"));
    }
    String::from_utf8(content.into_bytes())
        .map_err(|_| Error::new(Code::ScriptSyntax, format!("the adapter `{path}` is not UTF-8")))
}

fn inspect(path: &RepoPath, text: &str, how: &How, worker: &mut Option<Worker>) -> Result<Inspection, Error> {
    let mut living = match worker.take() {
        Some(living) => living,
        None => Worker::start(Origin { program: &how.program, isolation: how.isolation }, &how.limits, &|| None)?,
    };
    let watch = Stopwatch::start();
    let late = || {
        (watch.elapsed() > PATIENCE).then(|| {
            let message = format!("the adapter `{path}` took longer than {} s to be read", PATIENCE.as_secs());
            Error::new(Code::ScriptLimit, message).hint("make its functions fewer and shorter; nothing of it was run")
        })
    };
    // A worker that a source has killed is not used again.
    let inspection = living.inspect(path.as_str(), text, true, &late)?;
    *worker = Some(living);
    Ok(inspection)
}

/// The description in a source without errors.
fn described(inspection: &Inspection, text: &str, name: &str) -> Result<Description, Error> {
    let path = inspection.path.as_str();
    if !is_name(name) {
        return Err(Error::new(Code::InvalidInput, format!("the adapter `{path}` has a name that can't be used"))
            .hint("begin with a letter and go on with letters, digits and `_`, in lower case"));
    }
    if let Some(error) = inspection.errors.first() {
        return Err(error.clone());
    }
    let Some(header) = &inspection.adapter else {
        return Err(Error::new(Code::ScriptSyntax, format!("`{path}` is no adapter: it has no constant `ADAPTER`"))
            .detail("rule", "header")
            .hint("write `const ADAPTER = #{ name: …, version: …, glob: … };`"));
    };
    check_rhai(header)
        .and_then(|()| Description::parse(header, name))
        .map_err(|error| crate::header::at(error, &inspection.places, crate::header::place_of("ADAPTER", path, text)))
}

/// A script that runs an adapter with the arguments of a case: `target` and `params`.
pub fn case_script(name: &str) -> String {
    format!(
        "const WORKFLOW = #{{ args: #{{ type: \"object\", properties: #{{ target: #{{ type: \"object\" }}, params: #{{ type: \"object\" }} }}, \
         required: [\"target\", \"params\"] }}, permissions: #{{ write: [\"**\"] }} }};\nlet own = nrv.dta({name:?});\n\
         own.apply(own.propose(#{{ target: args.target, params: args.params }})).applied_changes\n"
    )
}

/// Makes an adapter of its source, in the verifier's process.
pub fn rebuild(source: &Source, request: &Request) -> Result<Arc<dyn Adapter>, Error> {
    let (text, limits) = match &source.kind {
        Kind::Rhai { text, limits } => (text, limits),
        Kind::Program(program) => return rebuild_program(source, program, request),
    };
    if Sha256::of(text.as_bytes()) != source.sha256 {
        return Err(changed(source));
    }
    let description = described(&guest::read(&source.path, text), text, &source.name)?;
    let how = (Program::ReExec, Isolation::Process);
    Ok(Arc::new(RhaiAdapter::new(description, source.clone(), (text.clone(), limits.clone()), how)))
}
