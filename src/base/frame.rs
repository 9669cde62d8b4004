//! The protocol between the host and a script's process: one JSON frame a line, each way.
//!
//! The bytes of a long text follow its frame `text` unescaped: as JSON they could be six times as many.
//!
//! The name `invoke` is reserved for functions of a script that the host calls; nothing else may take it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    batch::{Answer, Batch},
    call::Call,
    error::{Error, Location},
};

/// Frame names that a later version uses.
pub const RESERVED: &[&str] = &["invoke"];

/// A frame from the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToWorker {
    /// The first frame: the limits that the worker puts on itself before it reads anything else.
    Hello {
        /// The limits.
        limits: Limits,
    },
    /// Parse a script or module and list its contents; nothing runs.
    Inspect {
        /// The source's path.
        path: String,
        /// Its text.
        source: String,
        /// True for the script itself, which may have a header; false for a module.
        main: bool,
    },
    /// Run the script. Everything that it imports is in `sources`.
    Run(RunRequest),
    /// Begin a session: texts that are evaluated one after another and keep their variables and functions. `main` is its name.
    Interact(RunRequest),
    /// Parse a text as the next of the session; nothing runs.
    Parse {
        /// The text.
        text: String,
    },
    /// Evaluate a text as the next of the session.
    Evaluate(Input),
    /// List the completions at a position of a text that would be the next of the session.
    Complete {
        /// The text.
        text: String,
        /// The place, in bytes.
        cursor: usize,
    },
    /// Keep the proposing functions of an adapter's source; nothing runs yet.
    Adapt {
        /// The source's path.
        path: String,
        /// Its text.
        source: String,
    },
    /// Run one of these functions on a batch of files.
    Work(Batch),
    /// The answer to a call.
    Reply {
        /// The call's id.
        id: u64,
        /// The host's answer.
        outcome: Outcome,
    },
    /// The answer to a call that is a long text; its bytes and a line feed follow.
    Text {
        /// The call's id.
        id: u64,
        /// The number of bytes that follow.
        length: u64,
    },
    /// Stop as soon as possible.
    Cancel {},
}

/// The number of bytes from which a text no longer stands in a frame `reply`.
pub const LONG: usize = 1 << 16;

/// The memory that a map needs beside its entries.
const MAP: u64 = 640;

/// The memory that any other value needs beside its text.
const VALUE: u64 = 32;

/// The largest ratio of memory to bytes that a frame may need. Many short values need much more memory than their text.
const MOST_TIMES: u64 = 4;

/// True if the value of a frame needs no more memory than a frame of so many bytes may need.
pub fn is_modest(line: &[u8], most: u64) -> bool {
    // A frame this short never needs much.
    if line.len() < 1 << 20 {
        return true;
    }
    let mut needs = line.len() as u64;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => at = end_of_text(line, at),
            b'{' => needs += MAP,
            b',' | b'[' => needs += VALUE,
            _ => {}
        }
        at += 1;
    }
    needs <= most.saturating_mul(MOST_TIMES)
}

/// The quotation mark that ends a text, or the end of all.
fn end_of_text(line: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = line.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if line[at] == b'"' {
            return at;
        }
        at += 2;
    }
    line.len()
}

/// A script to run, with everything that it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The script's path in `sources`.
    pub main: String,
    /// Path to text of the script and of every module in its import graph.
    pub sources: BTreeMap<String, String>,
    /// For each source, its imports: the importing path and the literal give the imported path.
    pub imports: BTreeMap<String, BTreeMap<String, String>>,
    /// The checked arguments.
    pub args: Value,
    /// The run's id, `nrv.run.id`.
    pub run: String,
    /// The run's seed, `nrv.run.seed`.
    pub seed: u64,
    /// `dry-run` or `apply`, `nrv.run.mode`.
    pub mode: String,
}

/// The next text of a session, with its imports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The text.
    pub text: String,
    /// Path to text of every module in its import graph.
    pub sources: BTreeMap<String, String>,
    /// Importing path and literal to imported path; the session's name is that of the text itself.
    pub imports: BTreeMap<String, BTreeMap<String, String>>,
    /// The id of the run that its calls belong to.
    pub run: String,
}

/// The contents of a text of a session, found without running it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parsed {
    /// False if more text could make it whole: a bracket or a string is open, or an operand is missing.
    pub complete: bool,
    /// Its errors, if it is complete.
    pub errors: Vec<Error>,
    /// Every `import`, in the order of the text.
    pub imports: Vec<Import>,
    /// The functions that it defines, in the order of the text.
    pub functions: Vec<Definition>,
    /// The bytes of a `WORKFLOW` at its top level.
    pub header: Option<(usize, usize)>,
    /// The end of its last statement in bytes, and true if that needs a `;` before another one; none if there is no statement.
    pub last: Option<(usize, bool)>,
}

/// A function in a text of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// The number of its parameters.
    pub params: usize,
    /// Its bytes in the text, with its doc comment.
    pub bytes: (usize, usize),
}

/// The result of a text of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evaluated {
    /// The value of its last expression.
    Value(Shown),
    /// The reason if there is none.
    Error(Error),
}

/// A value of a script in its display form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// Its type: `()`, `bool`, `int`, `float`, `char`, `string`, `array`, `map`, `function`, or that of an object of the host.
    pub kind: String,
    /// The value, if JSON can hold it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub value: Option<Value>,
    /// The value as text, if JSON can't hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A value that is present, which may be null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The completions at a position of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// The start of the bytes that a candidate replaces; they end at the position.
    pub start: usize,
    /// The candidates, sorted by text.
    pub candidates: Vec<Candidate>,
    /// The form of the host call whose arguments hold the position, such as `nrv.files.read(path: string)`.
    pub form: Option<String>,
    /// True if the position is in a string, where a path may be meant; there are no candidates then.
    pub in_string: bool,
}

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The text to insert.
    pub text: String,
    /// Its kind.
    pub kind: CandidateKind,
    /// A type or a form, such as `string?` or `nrv.files.read(path: string)`; of a variable its type, with a short value.
    pub detail: String,
    /// Its purpose, in a sentence; empty if undocumented.
    pub doc: String,
}

/// The kind of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateKind {
    /// A call or a property of the host, or a part of its interface.
    Call,
    /// A field of a map.
    Field,
    /// A function of the session, of a module or of the language.
    Function,
    /// A word of the language.
    Keyword,
    /// An imported module.
    Module,
    /// A variable or a constant of the session.
    Variable,
}

/// The limits of a script's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Engine operations in all.
    pub operations: u64,
    /// Bytes of address space beyond those at the process's start.
    pub memory: u64,
    /// Seconds of processor time.
    pub cpu_s: u64,
    /// Nested function calls.
    pub call_depth: usize,
    /// Bytes of a string; none: bounded by `memory` only.
    pub string: Option<usize>,
    /// Items of an array; none: bounded by `memory` only.
    pub array: Option<usize>,
    /// Entries of a map; none: bounded by `memory` only.
    pub map: Option<usize>,
    /// Bytes of a call, and of its reply.
    #[serde(default = "Limits::reply_bytes")]
    pub reply_bytes: u64,
}

impl Limits {
    /// The default limit of the bytes of a call, and of its reply.
    pub const fn reply_bytes() -> u64 {
        64 << 20
    }
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The reply's value.
    Ok(Value),
    /// The reason if there is none.
    Error(Error),
}

/// A frame from the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromWorker {
    /// The worker is locked down and listens.
    Ready {
        /// Its sandbox.
        isolation: Isolation,
    },
    /// The contents of an inspected source.
    Inspected(Inspection),
    /// The script makes a host call.
    Call {
        /// Counts from 1.
        id: u64,
        /// Where in the script.
        at: Option<Location>,
        /// The call.
        call: Call,
    },
    /// The script opens a stream of the host; the reply has its number.
    Open {
        /// Counts with those of calls.
        id: u64,
        /// Where in the script.
        at: Option<Location>,
        /// The call.
        call: Call,
    },
    /// The script waits for events of a stream; the reply is a list of all that are there, empty after the last.
    Next {
        /// Counts with those of calls.
        id: u64,
        /// The stream.
        stream: u64,
    },
    /// The script needs no more events of a stream.
    Close {
        /// Counts with those of calls.
        id: u64,
        /// The stream.
        stream: u64,
        /// The number of its events that the script has read.
        taken: u64,
    },
    /// The script printed a line.
    Print {
        /// The line.
        text: String,
    },
    /// The contents of a text of the session.
    Parsed(Parsed),
    /// The result of a text of the session.
    Evaluated(Evaluated),
    /// The completions at a position of it.
    Completed(Completion),
    /// The answer of an adapter to a batch.
    Worked(Answer),
    /// The script ended; its last expression.
    Done {
        /// The result.
        result: Value,
    },
    /// The script failed.
    Failed {
        /// Why, with the place.
        error: Error,
    },
}

/// The parts of the worker's sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Isolation {
    /// True if Landlock denies every file.
    pub landlock: bool,
    /// True if seccomp allows only the calls of a computation.
    pub seccomp: bool,
    /// The missing parts, each with its consequence; empty if none is missing.
    pub missing: Vec<String>,
}

/// The contents of a source, found without running it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// The source's path.
    pub path: String,
    /// The `//!` lines at its head.
    pub doc: Option<String>,
    /// The literal `WORKFLOW`, as JSON; none if there is none.
    pub header: Option<Value>,
    /// The literal `ADAPTER`, as JSON; none if it is no adapter.
    #[serde(default)]
    pub adapter: Option<Value>,
    /// Every `import`, in the order of the text.
    pub imports: Vec<Import>,
    /// Every call that needs a permission of the header, in the order of the text.
    #[serde(default)]
    pub uses: Vec<Use>,
    /// The places of the header's keys, by their path such as `permissions.write`.
    #[serde(default)]
    pub places: BTreeMap<String, Location>,
    /// True if it only defines functions for others: it has no header, and nothing in it runs.
    #[serde(default)]
    pub is_module: bool,
    /// The functions that it defines, sorted by name.
    #[serde(default)]
    pub functions: Vec<Function>,
    /// Every call of a function of a module, in the order of the text.
    #[serde(default)]
    pub module_calls: Vec<ModuleCall>,
    /// Likely mistakes; the source can run nevertheless.
    #[serde(default)]
    pub warnings: Vec<Error>,
    /// Everything wrong with it; empty if it can run.
    pub errors: Vec<Error>,
}

/// A call that needs a permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Use {
    /// The list of `permissions` that has to cover it: `calls`, `exec`, `llm`, `network` or `write`.
    pub permission: String,
    /// The path, program, provider, host or name, if it is written there.
    pub value: Option<String>,
    /// The call, such as `nrv.apply.create`.
    pub call: String,
    /// Where.
    pub at: Location,
    /// The function that it stands in.
    #[serde(default)]
    pub within: Option<String>,
    /// True if the need for it is uncertain: its receiver or argument is known only at run time, or no known call reaches its
    /// function.
    #[serde(default)]
    pub possible: bool,
}

/// A function that a source defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The names of its parameters.
    pub params: Vec<String>,
    /// True if only the source itself may call it.
    pub is_private: bool,
    /// The functions of the source that it calls, sorted.
    pub calls: Vec<String>,
    /// Where.
    pub at: Location,
}

/// A call of a function of an imported module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleCall {
    /// The literal of the import.
    pub import: String,
    /// The name of the import in the source.
    pub alias: String,
    /// The function.
    pub name: String,
    /// The number of arguments.
    pub given: usize,
    /// The function that it stands in.
    #[serde(default)]
    pub within: Option<String>,
    /// Where.
    pub at: Location,
}

/// An `import` with a literal path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// The literal as written.
    pub literal: String,
    /// Where.
    pub at: Location,
}
