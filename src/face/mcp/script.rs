//! Approved scripts, as clients may run them.

use serde_json::{Value, json};

use super::{run::Answer, wire::Wire};
use base::{
    error::{Code, Error, nearest},
    path::RepoPath,
};
use host::{Asked, Context, Flags, Resumption, Ruling, Started};
use script::{Invocation, Loaded, approval};

/// The kind of values of an argument.
pub(super) enum Completes {
    /// These words.
    Words(Vec<String>),
    /// Names of adapters.
    Adapters,
    /// Paths of the workspace.
    Paths,
}

/// A script that is approved as it is.
pub(super) struct Runnable {
    pub(super) path: String,
    /// Its name and its purpose in a line.
    pub(super) summary: String,
    schema: Value,
}

impl Runnable {
    /// The schema of its arguments, titled by the script.
    pub(super) fn args(&self) -> Value {
        let mut schema = self.schema.clone();
        if let Value::Object(map) = &mut schema {
            map.insert("title".to_owned(), json!(self.path));
            map.remove("$schema");
        }
        schema
    }

    /// The kind of values that an argument takes; none if they are no texts.
    pub(super) fn completes(&self, name: &str) -> Option<Completes> {
        let schema = self.schema["properties"].get(name)?;
        if let Some(words) = schema["enum"].as_array() {
            return Some(Completes::Words(words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()));
        }
        match (schema["type"].as_str(), name) {
            (Some("string") | None, "adapter" | "tool") => Some(Completes::Adapters),
            (Some("string") | None, _) => Some(Completes::Paths),
            _ => None,
        }
    }

    /// The names of its arguments, each with its description and true if it is required.
    pub(super) fn arguments(&self) -> Vec<(String, Option<String>, bool)> {
        let required: Vec<&str> =
            self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = self.schema["properties"].as_object().into_iter().flatten();
        properties
            .map(|(name, schema)| {
                let doc = schema["description"].as_str().map(str::to_owned);
                (name.clone(), doc, required.contains(&name.as_str()))
            })
            .collect()
    }
}

/// The scripts that a client may run: of these, or of all if none is named, those that are approved as they are.
pub(super) fn runnable(context: &Context, named: &[RepoPath]) -> Result<Vec<Runnable>, Error> {
    let text = approval::text(context)?;
    let lock = approval::Lock::of(text.as_deref())?;
    if approval::check_signature(context, text.as_deref().unwrap_or_default()).is_err() {
        return Ok(Vec::new());
    }
    let mut scripts = Vec::new();
    for path in lock.scripts.keys() {
        let Ok(path) = RepoPath::parse(path) else { continue };
        if !named.is_empty() && !named.contains(&path) {
            continue;
        }
        let Ok(loaded) = script::load_script(context, &path) else { continue };
        if approval::Standing::of(&lock, &loaded) == approval::Standing::Approved {
            scripts.push(of(&loaded));
        }
    }
    Ok(scripts)
}

fn of(loaded: &Loaded) -> Runnable {
    let header = &loaded.header;
    let doc = loaded.doc.as_ref().or(header.description.as_ref());
    let summary = doc.and_then(|text| text.lines().next()).or(header.name.as_deref()).unwrap_or_default().to_owned();
    let schema = header.args.clone().unwrap_or_else(|| json!({"type": "object", "additionalProperties": false}));
    Runnable { path: loaded.main.to_string(), summary, schema }
}

/// A request to run a script.
pub(super) struct Request {
    pub(super) script: String,
    pub(super) args: Value,
    pub(super) dry_run: bool,
}

/// Runs an approved script to its end, in a run of its own.
pub(super) fn run(context: &Context, named: &[RepoPath], request: &Request, flags: Flags, wire: &mut Wire) -> Answer {
    let began = RepoPath::parse(&request.script).and_then(|path| {
        if !named.is_empty() && !named.contains(&path) {
            let names: Vec<&str> = named.iter().map(RepoPath::as_str).collect();
            let error = Error::new(Code::PermissionDenied, format!("this server does not run `{path}`"));
            return Err(error.hint(match nearest(&request.script, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it runs {}", names.join(", ")),
            }));
        }
        let loaded = script::load_script(context, &path)?;
        let args = script::complete(&loaded.header, &[], Some(&request.args)).map_err(as_input)?;
        let flags = Flags { dry_run: flags.dry_run || request.dry_run, ..flags };
        let invocation = Invocation { args, flags, locked: true, ..Invocation::default() };
        script::run(context, &loaded, invocation, wire)
    });
    match began {
        Ok(finished) => Answer::of(finished),
        Err(error) => Answer::Failed { run: None, error },
    }
}

/// The error of arguments that are wrong. A client has no options to correct.
fn as_input(error: Error) -> Error {
    let input = Error::new(Code::InvalidInput, error.message());
    error.details().iter().fold(input, |input, (key, value)| input.detail(key, value.clone()))
}

/// Goes on with a run that waits, of a script or of a client's calls.
pub(super) fn resume(context: &Context, run: &str, resumption: Resumption, wire: &mut Wire) -> Answer {
    match script::resume(context, run, resumption, wire) {
        Ok(finished) => Answer::of(finished),
        Err(error) => Answer::Failed { run: Some(run.to_owned()), error },
    }
}

/// Refuses what a run waits for. A script's run is undone; of a client's run the other calls stand.
pub(super) fn decline(context: &Context, run: &str, ruling: &Ruling, wire: &mut Wire) -> Answer {
    let declined =
        context.runs.open(run).and_then(|folder| Started::load(&folder)).and_then(|started| match started.asked {
            Asked::Client { .. } => host::decline(context, run, ruling, wire),
            _ => host::reject(context, run, ruling, wire),
        });
    let error = match declined {
        Ok(finished) => finished.error.unwrap_or_else(|| {
            Error::new(Code::NotApproved, "the person at the client declined, and nothing was changed by the call")
        }),
        Err(error) => error,
    };
    Answer::Failed { run: Some(run.to_owned()), error }
}
