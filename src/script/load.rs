//! Loads a script with everything that its run needs: the sources of its import graph, hashes, doc, header.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    calls::{module_calls, uses},
    header::{self, Header},
    library::{self, Target},
    session::{Origin, Spare, Worker},
    worker::Stop,
};
use base::{
    error::{Code, Error, Location},
    frame::{Import, Inspection, Limits, RunRequest, Use},
    hash::Sha256,
    path::RepoPath,
};

/// The mark with which some editors begin a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The context of loading scripts.
pub struct Loader<'a> {
    /// The origin of the worker that parses.
    pub origin: Origin<'a>,
    /// The limits of the worker that parses.
    pub limits: &'a Limits,
    /// Reads a source, and decides which files may be read.
    pub read: &'a dyn Fn(&RepoPath) -> Result<String, Error>,
    /// Returns the reason to give up, once there is one.
    pub stop: Stop<'a>,
}

/// A script that can run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The script.
    pub main: RepoPath,
    /// Its text and that of every module that it imports, by name.
    pub sources: BTreeMap<String, String>,
    /// Importing name and literal to imported name.
    pub imports: BTreeMap<String, BTreeMap<String, String>>,
    /// The hash of each source.
    pub hashes: BTreeMap<String, Sha256>,
    /// The `//!` lines of the script.
    pub doc: Option<String>,
    /// Its header; the default one, which permits nothing but reading, if it has none.
    pub header: Header,
    /// Every call in it and in its imports that needs a permission of the header.
    pub uses: Vec<Use>,
    /// The places of the header's keys, by their path such as `permissions.write`.
    pub places: BTreeMap<String, Location>,
    /// True if it only defines functions for others.
    pub is_module: bool,
    /// The warnings.
    pub warnings: Vec<Error>,
    /// The worker that parsed it.
    pub spare: Spare,
}

/// A script that can't run: all of its errors, and the sources to show them in.
#[derive(Clone, Debug, Default)]
pub struct Rejected {
    /// The errors, at least one, file by file.
    pub errors: Vec<Error>,
    /// The warnings.
    pub warnings: Vec<Error>,
    /// The sources that were read.
    pub sources: BTreeMap<String, String>,
}

impl From<Rejected> for Error {
    /// The first error stands for all.
    fn from(rejected: Rejected) -> Self {
        let none = || Error::new(Code::Internal, "a script was rejected without a reason");
        rejected.errors.into_iter().next().unwrap_or_else(none)
    }
}

impl Loaded {
    /// The first line of its documentation, else of its header's description.
    pub fn summary(&self) -> Option<String> {
        summary(self.doc.as_ref(), &self.header)
    }

    /// Makes the request to run it with checked arguments.
    pub fn request(&self, args: Value, run: &str, seed: u64, mode: &str) -> RunRequest {
        RunRequest {
            main: self.main.to_string(),
            sources: self.sources.clone(),
            imports: self.imports.clone(),
            args,
            run: run.to_owned(),
            seed,
            mode: mode.to_owned(),
        }
    }
}

/// The first line of a script's documentation, else of its header's description.
pub(crate) fn summary(doc: Option<&String>, header: &Header) -> Option<String> {
    doc.or(header.description.as_ref())?.lines().next().map(str::to_owned)
}

/// Reads a script and everything that it imports; nothing of it runs.
pub fn load(loader: &Loader<'_>, main: &RepoPath) -> Result<Loaded, Rejected> {
    let mut graph = Graph { loader, worker: None, found: BTreeMap::new(), trail: Vec::new(), errors: Vec::new() };
    let target = Target::File(main.clone());
    graph.visit(&target, None);
    let spare = Spare::new(graph.worker.take());
    let Graph { found, mut errors, .. } = graph;
    let (mut imports, mut sources, mut inspections) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (name, source) in found {
        if !source.imports.is_empty() {
            imports.insert(name.clone(), source.imports);
        }
        sources.insert(name.clone(), source.text);
        inspections.insert(name, source.inspection);
    }
    errors.extend(module_calls(&inspections, &imports));
    let inspection = inspections.get(main.as_str()).cloned().unwrap_or_default();
    if inspection.adapter.is_some() {
        return Err(Rejected { errors: vec![is_adapter(main)], warnings: Vec::new(), sources });
    }
    let header = inspection.header.as_ref().map_or(Ok(Header::default()), header::parse);
    let header = header.unwrap_or_else(|error| {
        let text = sources.get(main.as_str()).map_or("", String::as_str);
        errors.push(header::at(error, &inspection.places, header::place(main, text)));
        Header::default()
    });
    let warnings = inspections.values().flat_map(|one| one.warnings.clone()).collect();
    if !errors.is_empty() {
        return Err(Rejected { errors, warnings, sources });
    }
    let uses = uses(main, &inspections, &imports);
    let hashes = sources.iter().map(|(name, text)| (name.clone(), Sha256::of(text.as_bytes()))).collect();
    let Inspection { doc, places, is_module, .. } = inspection;
    Ok(Loaded { main: main.clone(), sources, imports, hashes, doc, header, uses, places, is_module, warnings, spare })
}

/// The error of running the source of an adapter.
fn is_adapter(main: &RepoPath) -> Error {
    let name = main.file_name().trim_end_matches(".rhai");
    Error::new(Code::InvalidInput, format!("`{main}` is an adapter, not a script")).hint(format!(
        "`nrv test {main}` tries its cases, `nrv dta run {name} --input FILE --dry-run` runs it, and a script uses it as `nrv.dta(\"{name}\")`"
    ))
}

/// Loads the imports of a text that is no file itself.
///
/// `name` is that of the text, and `place` the file whose folder its imports start from.
pub(super) fn load_imports(
    loader: &Loader<'_>,
    name: &str,
    place: &str,
    imports: &[Import],
) -> Result<Imported, Rejected> {
    let mut graph = Graph { loader, worker: None, found: BTreeMap::new(), trail: Vec::new(), errors: Vec::new() };
    graph.follow(name, place, imports);
    let mut imported = Imported::default();
    for (path, source) in graph.found {
        imported.imports.insert(path.clone(), source.imports);
        if path != name {
            imported.sources.insert(path, source.text);
        }
    }
    match graph.errors.is_empty() {
        true => Ok(imported),
        false => Err(Rejected { errors: graph.errors, warnings: Vec::new(), sources: imported.sources }),
    }
}

/// The imports of a text.
#[derive(Debug, Default)]
pub(super) struct Imported {
    /// The text of every module, by name.
    pub(super) sources: BTreeMap<String, String>,
    /// Importing name and literal to imported name.
    pub(super) imports: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Default)]
struct Source {
    text: String,
    imports: BTreeMap<String, String>,
    inspection: Inspection,
}

struct Graph<'a> {
    loader: &'a Loader<'a>,
    worker: Option<Worker>,
    found: BTreeMap<String, Source>,
    /// The sources between the script and the current one.
    trail: Vec<String>,
    errors: Vec<Error>,
}

impl Graph<'_> {
    /// Reads and inspects a source and its imports, each once.
    fn visit(&mut self, target: &Target, import: Option<&Import>) {
        let name = target.name().to_owned();
        if self.trail.contains(&name) {
            let from = self.trail.iter().position(|one| *one == name).unwrap_or(0);
            let circle: Vec<_> = self.trail[from..].iter().chain([&name]).map(|one| format!("`{one}`")).collect();
            let error = Error::new(Code::ScriptSyntax, format!("imports form a circle: {}", circle.join(" → ")))
                .detail("rule", "import_circle")
                .hint("move their shared parts to a module of its own, which imports neither");
            self.fail(error, import.map(|import| &import.at));
            return;
        }
        if self.found.contains_key(&name) {
            return;
        }
        let text = match target {
            Target::Shipped(_, text) => Ok((*text).to_owned()),
            Target::File(path) => (self.loader.read)(path),
        };
        let inspected = text.and_then(|text| {
            // To the parser it would be a character like any other.
            let text = match text.strip_prefix(BYTE_ORDER_MARK) {
                Some(rest) => rest.to_owned(),
                None => text,
            };
            self.found.insert(name.clone(), Source { text: text.clone(), ..Source::default() });
            self.inspect(&name, &text, import.is_none())
        });
        let inspection = match inspected {
            Ok(inspection) => inspection,
            Err(error) => return self.fail(unreadable(error, import), import.map(|import| &import.at)),
        };
        self.errors.extend(inspection.errors.iter().cloned());
        self.follow(&name, &name, &inspection.imports);
        if let Some(source) = self.found.get_mut(&name) {
            source.inspection = inspection;
        }
    }

    /// Reads the imports of a source, which are relative to its place.
    fn follow(&mut self, name: &str, place: &str, imports: &[Import]) {
        self.trail.push(name.to_owned());
        for import in imports {
            match library::resolve(place, &import.literal) {
                Ok(target) => {
                    let source = self.found.entry(name.to_owned()).or_default();
                    source.imports.insert(import.literal.clone(), target.name().to_owned());
                    self.visit(&target, Some(import));
                }
                Err(error) => self.fail(error.detail("rule", "import"), Some(&import.at)),
            }
        }
        self.trail.pop();
    }

    fn inspect(&mut self, name: &str, text: &str, main: bool) -> Result<Inspection, Error> {
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => none.insert(Worker::start(self.loader.origin, self.loader.limits, self.loader.stop)?),
        };
        let inspection = worker.inspect(name, text, main, self.loader.stop);
        if inspection.is_err() {
            self.worker = None;
        }
        inspection
    }

    fn fail(&mut self, error: Error, place: Option<&Location>) {
        self.errors.push(match place {
            Some(place) => error.at(place.clone()),
            None => error,
        });
    }
}

/// The error of an imported file that can't be read. The path that was tried differs from the literal.
fn unreadable(error: Error, import: Option<&Import>) -> Error {
    match import {
        Some(_) if error.code() == Code::NotFound && error.hint_text().is_none() => error.detail("rule", "import").hint(
            "an import is looked for beside the file that it stands in, with `.rhai` at its end; shipped modules begin with `std/`",
        ),
        _ => error,
    }
}
