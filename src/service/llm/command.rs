//! A program as an orchestrator: it reads one request from stdin and writes its reply to stdout, a JSON document a line.
//!
//! The request is `{"version": 1, "key", "request", "wire_schema"?}`; `request` is the canonical one. The program writes any
//! number of `{"token": TEXT}`, and as the end `{"reply": {"text"?, "tool_calls"?, "finish"?, "usage"?, "model"?}}` or
//! `{"error": {"kind", "message", "retriable"?, "retry_after_ms"?}}`. After that it is killed with all its processes.

use std::{
    collections::BTreeMap,
    fmt,
    io::Write,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    capabilities::Capabilities,
    client::Orchestrator,
    error::{Kind, cancelled, lasting, passing, quoted},
    event::{Finish, Reply, Usage},
    message::ToolCall,
    ndjson::Ndjson,
    request::LlmRequest,
    withheld,
};
use base::error::{Code, Error};
use system::{
    net::{Cancel, Secret},
    process::{
        Program,
        sandbox::{self, Confine, Ended, Launch, NotStarted, Output},
    },
};

/// The version of the protocol.
const VERSION: u64 = 1;

/// Milliseconds that a program has to end after a request to stop.
const GRACE_MS: u64 = 500;

/// Bytes of the head, and of the tail, of a program's stderr.
const STDERR_ENDS: usize = 16 << 10;

/// Characters of the tail that an error shows.
const STDERR_SHOWN: usize = 400;

/// The longest reply.
const MAX_REPLY: usize = 64 << 20;

/// A program.
#[derive(Clone, Debug)]
pub struct Command {
    options: CommandOptions,
}

/// The configuration of a program.
#[derive(Clone)]
pub struct CommandOptions {
    /// Its absolute path.
    pub program: PathBuf,
    /// The name by which it is called.
    pub name: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment, except the key.
    pub environment: BTreeMap<String, String>,
    /// The key, and the variable for it.
    pub key: Option<(String, Secret)>,
    /// The program that supervises it.
    pub supervisor: Program,
    /// Its models.
    pub models: Capabilities,
}

/// Shows only the names of the environment.
impl fmt::Debug for CommandOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.environment.keys().collect();
        let CommandOptions { program, args, .. } = self;
        f.debug_struct("CommandOptions")
            .field("program", program)
            .field("args", args)
            .field("environment", &names)
            .finish_non_exhaustive()
    }
}

impl Command {
    /// A program that is started for each request.
    pub fn new(options: CommandOptions) -> Self {
        Command { options }
    }

    fn secret(&self) -> Option<&Secret> {
        self.options.key.as_ref().map(|(_, key)| key)
    }

    fn exchange(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        let no_folder = |error: &std::io::Error| Error::io("no private folder can be made", error);
        let folder = tempfile::tempdir().map_err(|error| no_folder(&error))?;
        let mut input = tempfile::NamedTempFile::new_in(folder.path()).map_err(|error| no_folder(&error))?;
        input.write_all(told(request).to_string().as_bytes()).map_err(|error| no_folder(&error))?;
        let launch = self.launch(request, folder.path().to_owned(), input.path().to_owned());
        let mut lines = Lines {
            name: &self.options.name,
            key: self.secret(),
            on_token,
            text: String::new(),
            ndjson: Ndjson::default(),
            end: None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let of_cancel = Arc::clone(&stop);
        let _listener = cancel.listen(move || of_cancel.store(true, Ordering::Relaxed));
        let mut heard = |bytes: &[u8]| {
            lines.take(bytes)?;
            // Nothing that comes after the end matters.
            stop.fetch_or(lines.end.is_some(), Ordering::Relaxed);
            Ok(())
        };
        let ended = sandbox::launch_heard(&launch, &self.options.supervisor, &stop, &mut |_| Ok(()), &mut heard);
        if cancel.is_cancelled() {
            return Err(cancelled());
        }
        let ended = ended.map_err(|refused| self.not_started(refused))?;
        lines.finish()?;
        match lines.end.take() {
            Some(End::Reply(told)) => lines.reply(request, told),
            Some(End::Error(told)) => Err(told.into_error(&self.options.name)),
            None => Err(self.without_end(&ended)),
        }
    }

    fn launch(&self, request: &LlmRequest, folder: PathBuf, input: PathBuf) -> Launch {
        let CommandOptions { program, name, args, environment, key, .. } = &self.options;
        let mut env = environment.clone();
        env.extend(key.iter().map(|(variable, key)| (variable.clone(), key.text().to_owned())));
        let timeouts = request.timeouts();
        Launch {
            program: program.clone(),
            name: name.clone(),
            args: args.clone(),
            // A relative name must find nothing.
            cwd: folder.clone(),
            env,
            stdin: Some(input),
            timeout_ms: timeouts.total_ms,
            silence_ms: Some(timeouts.read_ms),
            grace_ms: GRACE_MS,
            confine: Confine::Off,
            network: true,
            temporary: folder,
            output: Output { whole: 2 * STDERR_ENDS, ends: STDERR_ENDS, ..Output::default() },
            ..Launch::default()
        }
    }

    fn not_started(&self, refused: NotStarted) -> Error {
        match refused {
            // The error concerns its output.
            NotStarted::Failed(error) if super::error::kind(&error).is_some() => error,
            NotStarted::Failed(error) => error.within(format_args!("`{}`", self.options.name)),
            NotStarted::NoStage(why) => Error::new(Code::Internal, why),
            NotStarted::Unconfined(missing) => Error::new(Code::Internal, missing.join("; ")),
        }
    }

    /// The error of a program that ended with neither a reply nor an error.
    fn without_end(&self, ended: &Ended) -> Error {
        let name = &self.options.name;
        let error = match (ended.timed_out, ended.status, ended.signal) {
            (true, ..) => passing(Kind::Timeout, format!("`{name}` did not answer in time")),
            (false, Some(0), _) => passing(Kind::Truncated, format!("`{name}` ended without a reply")),
            (false, Some(status), _) => lasting(Kind::Server, format!("`{name}` failed with exit code {status}")),
            (false, None, signal) => {
                lasting(Kind::Server, format!("`{name}` was ended by signal {}", signal.unwrap_or_default()))
            }
        };
        let stderr = ended.stderr.tail.as_ref().unwrap_or(&ended.stderr.head);
        let said = withheld::from_text(&String::from_utf8_lossy(stderr), self.secret());
        let said = said.trim();
        let from = said.char_indices().rev().nth(STDERR_SHOWN - 1).map_or(0, |(at, _)| at);
        let error = error.hint("look at what it writes to stderr, and start it by hand");
        if said.is_empty() { error } else { error.detail("stderr", quoted(&said[from..])) }
    }
}

impl Orchestrator for Command {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(self.options.models.clone())
    }

    fn answer(&self, request: &LlmRequest, cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        withheld::from_answer(self.secret(), on_token, |on_token| self.exchange(request, cancel, on_token))
    }
}

/// The message to a program for a request.
fn told(request: &LlmRequest) -> Value {
    let mut told =
        json!({"version": VERSION, "key": request.key(1).request.to_string(), "request": request.canonical()});
    if let (Value::Object(map), Some(schema)) = (&mut told, request.wire_schema()) {
        map.insert("wire_schema".to_owned(), schema.clone());
    }
    told
}

/// One line of a program's output.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Line {
    Token(String),
    Reply(ToldReply),
    Error(ToldError),
}

/// The end of its output.
enum End {
    Reply(ToldReply),
    Error(ToldError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldReply {
    text: Option<String>,
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
    finish: Option<Finish>,
    #[serde(default)]
    usage: Usage,
    model: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldError {
    kind: Kind,
    message: String,
    retriable: Option<bool>,
    retry_after_ms: Option<u64>,
}

impl ToldError {
    fn into_error(self, name: &str) -> Error {
        let may_pass = matches!(self.kind, Kind::Overloaded | Kind::Timeout | Kind::Truncated | Kind::Unreachable);
        let what = format!("`{name}` says: {}", quoted(&self.message));
        match (self.retriable.unwrap_or(may_pass || self.retry_after_ms.is_some()), self.retry_after_ms) {
            (true, Some(ms)) => passing(self.kind, what).detail("retry_after_ms", ms),
            (true, None) => passing(self.kind, what),
            (false, _) => lasting(self.kind, what),
        }
    }
}

/// Reads the output of a program.
struct Lines<'a> {
    name: &'a str,
    key: Option<&'a Secret>,
    on_token: &'a mut dyn FnMut(&str),
    text: String,
    ndjson: Ndjson,
    end: Option<End>,
}

impl Lines<'_> {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut frames = Vec::new();
        self.ndjson.push(bytes, &mut frames)?;
        frames.into_iter().try_for_each(|frame| self.line(&frame.data))
    }

    /// Takes a last line without its line feed.
    fn finish(&mut self) -> Result<(), Error> {
        self.take(b"\n")
    }

    fn line(&mut self, line: &str) -> Result<(), Error> {
        if self.end.is_some() {
            return Ok(());
        }
        let line = serde_json::from_str(line).map_err(|error| {
            lasting(Kind::MalformedJson, format!("`{}` writes a line that is none of its lines: {error}", self.name))
                .detail("excerpt", quoted(&withheld::from_text(line, self.key)))
                .hint("each line of stdout is `{\"token\": …}`, `{\"reply\": …}` or `{\"error\": …}`; write all else to stderr")
        })?;
        match line {
            Line::Token(piece) => {
                self.text.push_str(&piece);
                if self.text.len() > MAX_REPLY {
                    let message = format!("the reply is longer than {} MiB", MAX_REPLY >> 20);
                    return Err(lasting(Kind::Server, message));
                }
                (self.on_token)(&piece);
            }
            Line::Reply(reply) => self.end = Some(End::Reply(reply)),
            Line::Error(error) => {
                let message = withheld::from_text(&error.message, self.key);
                self.end = Some(End::Error(ToldError { message, ..error }));
            }
        }
        Ok(())
    }

    fn reply(self, request: &LlmRequest, told: ToldReply) -> Result<Reply, Error> {
        let ToldReply { text, tool_calls, finish, usage, model } = told;
        if !self.text.is_empty() && text.as_ref().is_some_and(|text| *text != self.text) {
            return Err(lasting(Kind::Server, format!("the tokens of `{}` are not the text of its reply", self.name))
                .hint("leave the text out of the reply, or the tokens"));
        }
        let waits = if tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        Ok(Reply {
            model_requested: request.model().to_owned(),
            model,
            text: text.unwrap_or(self.text),
            reasoning: String::new(),
            value: None,
            tool_calls,
            finish: finish.unwrap_or(waits),
            usage: usage.plausible(),
            ignored: Vec::new(),
        })
    }
}
