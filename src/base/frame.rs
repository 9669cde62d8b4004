//! What travels between the host and a script's process: one JSON frame a line, each way.
//!
//! Behind a frame `text` come the bytes of a long text as they are: as JSON they could be six times as many.
//!
//! The name `invoke` is kept for functions of a script that the host calls; nothing else may take it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::base::{
    call::Call,
    error::{Error, Location},
};

/// Frame names that a later version uses.
pub const RESERVED: &[&str] = &["invoke"];

/// What the host sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToWorker {
    /// The first frame: the limits that the worker puts on itself before it reads anything else.
    Hello {
        /// The limits.
        limits: Limits,
    },
    /// Parse a script or module and say what is in it; nothing runs.
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
    /// Say what could stand at a place of a text that would be the next of the session.
    Complete {
        /// The text.
        text: String,
        /// The place, in bytes.
        cursor: usize,
    },
    /// The answer to a call.
    Reply {
        /// The call's id.
        id: u64,
        /// What the host said.
        outcome: Outcome,
    },
    /// The answer to a call that is a long text; its bytes and a line feed follow.
    Text {
        /// The call's id.
        id: u64,
        /// How many bytes follow.
        length: u64,
    },
    /// Stop as soon as possible.
    Cancel {},
}

/// How many bytes a text may have that stands in a frame `reply`.
pub const LONG: usize = 1 << 16;

/// What a map needs of memory beside what is in it.
const MAP: u64 = 640;

/// What any other value needs beside its text.
const VALUE: u64 = 32;

/// How many times more memory than bytes a frame may need. Short values in large numbers need much more than their text.
const MOST_TIMES: u64 = 4;

/// True if what a frame holds needs no more memory than a frame of so many bytes may need.
pub fn is_modest(line: &[u8], most: u64) -> bool {
    // Whatever is in it, it is not much.
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
    /// Importing path and literal to imported path: what each `import` in each source means.
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

/// The next text of a session, with what it imports.
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

/// What a text of a session holds, found without running it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parsed {
    /// False if more text could make it whole: a bracket or a string is open, or an operand is missing.
    pub complete: bool,
    /// What is wrong with it, if it is whole.
    pub errors: Vec<Error>,
    /// Every `import`, in the order of the text.
    pub imports: Vec<Import>,
    /// The functions that it defines, in the order of the text.
    pub functions: Vec<Definition>,
    /// The bytes of a `WORKFLOW` at its top level.
    pub header: Option<(usize, usize)>,
    /// The end of its last statement in bytes, and whether that needs a `;` if another one follows; none if there is none.
    pub last: Option<(usize, bool)>,
}

/// A function in a text of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// How many parameters it has.
    pub params: usize,
    /// Its bytes in the text, with its doc comment.
    pub bytes: (usize, usize),
}

/// What came of a text of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evaluated {
    /// The value of its last expression.
    Value(Shown),
    /// Why there is none.
    Error(Error),
}

/// A value of a script as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// Its type: `()`, `bool`, `int`, `float`, `char`, `string`, `array`, `map`, `function`, or that of an object of the host.
    pub kind: String,
    /// The value, if JSON can hold it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub value: Option<Value>,
    /// The value in words, if JSON can't hold it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A value that is given, which may be null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// What could stand at a place of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// The byte of the text from which on a candidate replaces what is there up to the place.
    pub start: usize,
    /// What could stand there, sorted by text.
    pub candidates: Vec<Candidate>,
    /// The form of the call of the host in whose arguments the place is, such as `nrv.files.read(path: string)`.
    pub form: Option<String>,
    /// True if the place is in a string, where a path may be meant; there are no candidates then.
    pub in_string: bool,
}

/// One of the things that could stand at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// What would stand there.
    pub text: String,
    /// What it is.
    pub kind: CandidateKind,
    /// A type or a form, such as `string?` or `nrv.files.read(path: string)`; of a variable its type, with a short value.
    pub detail: String,
    /// What it is for, in a sentence; empty if nobody has written it.
    pub doc: String,
}

/// What a candidate is.
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

/// What a script's process may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Engine operations in all.
    pub operations: u64,
    /// Bytes of address space beyond what the process starts with.
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
    /// Bytes of what a call sends, and of what it gives back.
    #[serde(default = "Limits::reply_bytes")]
    pub reply_bytes: u64,
}

impl Limits {
    /// The bytes of a call, and of its reply, where nobody says otherwise.
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
    /// Why there is none.
    Error(Error),
}

/// What the worker sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromWorker {
    /// The worker is locked down and listens.
    Ready {
        /// What it is locked down with.
        isolation: Isolation,
    },
    /// What an inspected source holds.
    Inspected(Inspection),
    /// The script asks the host for something.
    Call {
        /// Counts from 1.
        id: u64,
        /// Where in the script.
        at: Option<Location>,
        /// What it asks.
        call: Call,
    },
    /// The script asks the host for a stream; the reply has its number.
    Open {
        /// Counts with those of calls.
        id: u64,
        /// Where in the script.
        at: Option<Location>,
        /// What it asks.
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
        /// How many of its events the script has seen.
        taken: u64,
    },
    /// The script printed a line.
    Print {
        /// The line.
        text: String,
    },
    /// What a text of the session holds.
    Parsed(Parsed),
    /// What came of a text of the session.
    Evaluated(Evaluated),
    /// What could stand at a place of it.
    Completed(Completion),
    /// The script ended; its last expression.
    Done {
        /// The result.
        result: Value,
    },
    /// The script did not end well.
    Failed {
        /// Why, with the place.
        error: Error,
    },
}

/// What keeps the worker in its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Isolation {
    /// True if Landlock denies every file.
    pub landlock: bool,
    /// True if seccomp allows only what a computation needs.
    pub seccomp: bool,
    /// What is missing, and what that means; empty if nothing is.
    pub missing: Vec<String>,
}

/// What a source holds, found without running it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// The source's path.
    pub path: String,
    /// The `//!` lines at its head.
    pub doc: Option<String>,
    /// The literal `WORKFLOW`, as JSON; none if there is none.
    pub header: Option<Value>,
    /// Every `import`, in the order of the text.
    pub imports: Vec<Import>,
    /// Every call that needs a permission of the header, in the order of the text.
    #[serde(default)]
    pub uses: Vec<Use>,
    /// Where the keys of the header stand, by their path such as `permissions.write`.
    #[serde(default)]
    pub places: BTreeMap<String, Location>,
    /// True if it only defines what others use: it has no header, and nothing in it runs.
    #[serde(default)]
    pub is_module: bool,
    /// The functions that it defines, sorted by name.
    #[serde(default)]
    pub functions: Vec<Function>,
    /// Every call of a function of a module, in the order of the text.
    #[serde(default)]
    pub module_calls: Vec<ModuleCall>,
    /// What is likely not meant so; it can run.
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
    /// True if it may be needed and may not: what it is called on, or what it is given, is only known when it runs, or it stands in a
    /// function that nobody is seen to call.
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
    /// What the import is called in the source.
    pub alias: String,
    /// The function.
    pub name: String,
    /// How many arguments it is given.
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
    /// What is written.
    pub literal: String,
    /// Where.
    pub at: Location,
}
