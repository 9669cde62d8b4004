//! From a path to everything that a run of it needs: the sources of its import graph, hashes, doc, header.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    error::{Code, Error, Location},
    frame::{Import, Inspection, Limits, RunRequest},
    hash::Sha256,
    path::RepoPath,
    script::{
        header::{self, Header},
        library::{self, Target},
        session::{Origin, Spare, Worker},
    },
    worker::Stop,
};

/// What some editors begin a text with.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// What it takes to load scripts.
pub struct Loader<'a> {
    /// Where the worker that parses comes from.
    pub origin: Origin<'a>,
    /// The limits of the worker that parses.
    pub limits: &'a Limits,
    /// Reads a source; it decides which files may be read.
    pub read: &'a dyn Fn(&RepoPath) -> Result<String, Error>,
    /// Says why to give up, once there is a reason.
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
    /// The worker that parsed it.
    pub spare: Spare,
}

/// A script that can't run: everything wrong with it, and the sources to show it in.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// What is wrong, at least one error, file by file.
    pub errors: Vec<Error>,
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
    /// The request to run it with checked arguments.
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

/// Reads a script and everything that it imports; nothing of it runs.
pub fn load(loader: &Loader<'_>, main: &RepoPath) -> Result<Loaded, Rejected> {
    let mut graph = Graph { loader, worker: None, found: BTreeMap::new(), trail: Vec::new(), errors: Vec::new() };
    let target = Target::File(main.clone());
    let inspection = graph.visit(&target, None);
    let inspection = inspection.unwrap_or_default();
    let header = inspection.header.as_ref().map_or(Ok(Header::default()), header::parse);
    let header = header.unwrap_or_else(|error| {
        let place = graph.found.get(main.as_str()).and_then(|source| header::place(main, &source.text));
        graph.errors.push(match place {
            Some(place) => error.at(place),
            None => error,
        });
        Header::default()
    });
    let spare = Spare::new(graph.worker.take());
    let mut imports = BTreeMap::new();
    let mut sources = BTreeMap::new();
    for (name, source) in graph.found {
        if !source.imports.is_empty() {
            imports.insert(name.clone(), source.imports);
        }
        sources.insert(name, source.text);
    }
    if !graph.errors.is_empty() {
        return Err(Rejected { errors: graph.errors, sources });
    }
    let hashes = sources.iter().map(|(name, text)| (name.clone(), Sha256::of(text.as_bytes()))).collect();
    Ok(Loaded { main: main.clone(), sources, imports, hashes, doc: inspection.doc, header, spare })
}

#[derive(Default)]
struct Source {
    text: String,
    imports: BTreeMap<String, String>,
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
    /// Reads and inspects a source and what it imports; what was met before is not met again.
    fn visit(&mut self, target: &Target, import: Option<&Import>) -> Option<Inspection> {
        let name = target.name().to_owned();
        if self.trail.contains(&name) {
            let from = self.trail.iter().position(|one| *one == name).unwrap_or(0);
            let circle: Vec<_> = self.trail[from..].iter().chain([&name]).map(|one| format!("`{one}`")).collect();
            let error = Error::new(Code::ScriptSyntax, format!("imports form a circle: {}", circle.join(" → ")));
            self.fail(error, import.map(|import| &import.at));
            return None;
        }
        if self.found.contains_key(&name) {
            return None;
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
        let mut inspection = match inspected {
            Ok(inspection) => inspection,
            Err(error) => {
                self.fail(error, import.map(|import| &import.at));
                return None;
            }
        };
        self.errors.append(&mut inspection.errors);
        self.trail.push(name.clone());
        for import in &inspection.imports {
            match library::resolve(&name, &import.literal) {
                Ok(target) => {
                    if let Some(source) = self.found.get_mut(&name) {
                        source.imports.insert(import.literal.clone(), target.name().to_owned());
                    }
                    self.visit(&target, Some(import));
                }
                Err(error) => self.fail(error, Some(&import.at)),
            }
        }
        self.trail.pop();
        Some(inspection)
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
