//! The questions to a server, one after the other.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender},
    time::Duration,
};

use lsp_types::{
    GotoDefinitionResponse, InitializeResult, Location, WorkspaceEdit,
    request::{GotoDefinition, Initialize, Rename, Request},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{
    Asked, answer,
    edit::{self, Edits, Encoding},
    frame::{self, Frames},
};
use crate::clock::Stopwatch;
use base::{
    error::{Code, Error},
    path::RepoPath,
    text::{escape, shortened},
};

/// The interval between checks for a cancellation.
const TICK: Duration = Duration::from_millis(50);

/// The silence after which a server without announced work is ready.
const QUIET: Duration = Duration::from_millis(300);

/// The silence after which a server that owes an answer is given up.
const SILENCE: Duration = Duration::from_secs(60);

/// The wait for an answer to good-bye.
const GOODBYE: Duration = Duration::from_secs(2);

/// The most definitions of one name.
const LOCATIONS: usize = 100;

/// The most bytes of answers to the requests of a server.
const ANSWERED: usize = 64 << 20;

/// The requests that wait for their answers at the same time.
pub(super) const IN_FLIGHT: usize = 32;

/// The most works that a server announces at once.
const BUSY: usize = 1000;

/// The most equal questions that are asked until two answers are equal.
const ATTEMPTS: usize = 50;

/// The work of a server of rust-analyzer's kind, which tells of it without a token.
const STATUS: &str = "experimental/serverStatus";

/// Characters of a server's error that a message shows.
const SHOWN: usize = 300;

/// The result of a request; the error is the server's.
pub(super) type Answer = Result<Value, String>;

/// A place that defines a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Definition {
    /// A file of the workspace, and the byte at which the name begins.
    Inside(RepoPath, usize),
    /// A file elsewhere, such as one of a library.
    Outside,
    /// A place that does not exist.
    Nowhere,
}

/// The caller's part in a conversation.
#[derive(Clone, Copy)]
pub struct Caller<'c> {
    /// Milliseconds until the server is ended.
    pub timeout_ms: u64,
    /// Returns an error as soon as the conversation has to stop.
    pub pulse: &'c dyn Fn() -> Result<(), Error>,
    /// Returns the text of a file of the workspace; none if it has none.
    pub text: &'c dyn Fn(&RepoPath) -> Option<String>,
}

/// The ends of a conversation on this side.
#[derive(Debug)]
pub struct Ends {
    /// Takes the bytes for the server's standard input.
    pub outgoing: Sender<Vec<u8>>,
    /// Gives the bytes of its standard output.
    pub incoming: Receiver<Vec<u8>>,
    /// The root of the tree as the server sees it.
    pub root: PathBuf,
}

/// A server that can be asked.
pub struct Client<'c> {
    server: &'c str,
    pub(super) ends: Ends,
    caller: Caller<'c>,
    settings: Map<String, Value>,
    frames: Frames,
    next: i64,
    /// Tokens of work that the server does, as text.
    busy: BTreeSet<String>,
    /// The time since its last message.
    pub(super) heard: Stopwatch,
    /// The silence after which it is given up.
    patience: Duration,
    /// Bytes of answers to its own requests.
    answered: usize,
    encoding: Encoding,
    /// The files that the server was shown, with their texts.
    pub(super) open: BTreeMap<RepoPath, String>,
    /// True if it tells errors when it is asked.
    pub(super) has_diagnostics: bool,
}

impl<'c> Client<'c> {
    /// A client of a server that has just started.
    pub fn new(server: &'c str, ends: Ends, caller: Caller<'c>, settings: Map<String, Value>) -> Self {
        Client {
            server,
            ends,
            caller,
            settings,
            frames: Frames::default(),
            next: 0,
            busy: BTreeSet::new(),
            heard: Stopwatch::start(),
            patience: SILENCE,
            answered: 0,
            encoding: Encoding::Utf16,
            open: BTreeMap::new(),
            has_diagnostics: false,
        }
    }

    /// Greets the server, and takes its name and its version.
    pub fn begin(&mut self) -> Result<Asked, Error> {
        let root = edit::uri(&self.ends.root);
        let params = json!({
            "processId": null,
            "clientInfo": {"name": "nrv", "version": env!("CARGO_PKG_VERSION")},
            "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": "workspace"}],
            "initializationOptions": self.settings,
            "capabilities": {
                "general": {"positionEncodings": ["utf-8", "utf-16"]},
                "window": {"workDoneProgress": true},
                "workspace": {
                    "configuration": true,
                    "workspaceFolders": true,
                    "workspaceEdit": {"documentChanges": true},
                    "didChangeConfiguration": {"dynamicRegistration": false},
                },
                "textDocument": {
                    "synchronization": {"dynamicRegistration": false},
                    "rename": {"prepareSupport": false},
                    "definition": {"linkSupport": false},
                    "diagnostic": {},
                    "hover": {"contentFormat": ["plaintext"]},
                    "publishDiagnostics": {},
                },
                "experimental": {"serverStatusNotification": true},
            },
        });
        let result = self.ask(Initialize::METHOD, params)?;
        let result: InitializeResult = self.read(result)?;
        let named = result.capabilities.position_encoding;
        self.encoding = Encoding::parse(named.as_ref().map(lsp_types::PositionEncodingKind::as_str))
            .map_err(|name| self.failed(&format!("counts columns in `{}`, which is not known", escape(&name))))?;
        self.has_diagnostics = result.capabilities.diagnostic_provider.is_some();
        let info = result.server_info.map(|info| (info.name, info.version.unwrap_or_default()));
        let shown = |text: String| escape(&shortened(&text, SHOWN));
        let (name, version) = info.map(|(name, version)| (shown(name), shown(version))).unwrap_or_default();
        self.tell("initialized", json!({}));
        if !self.settings.is_empty() {
            self.tell("workspace/didChangeConfiguration", json!({"settings": self.settings}));
        }
        Ok(Asked { server: self.server.to_owned(), name, version, sha256: None })
    }

    /// Says good-bye. A server that does not answer is ended by the session.
    pub fn end(&mut self) {
        self.patience = GOODBYE;
        if self.ask("shutdown", Value::Null).is_ok() {
            self.tell("exit", Value::Null);
        }
    }

    /// Shows the server a file.
    pub fn open(&mut self, path: &RepoPath, language: &str) -> Result<(), Error> {
        if self.open.contains_key(path) {
            return Ok(());
        }
        let Some(text) = (self.caller.text)(path) else {
            return Err(Error::new(
                Code::Unreadable,
                format!("`{path}` is no text that a language server can be shown"),
            ));
        };
        let uri = edit::document(&self.ends.root, path).map_err(|why| self.failed(&why))?;
        let document = json!({"uri": uri, "languageId": language, "version": VERSION, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
        self.open.insert(path.clone(), text);
        Ok(())
    }

    /// The edits that give the thing at a byte of an open file another name. A settled server is asked until two answers are equal.
    pub fn rename(&mut self, path: &RepoPath, at: usize, to: &str) -> Result<Edits, Error> {
        let mut params = self.place(path, at)?;
        params["newName"] = json!(to);
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                self.settle()?;
            }
            let answer = self.request(Rename::METHOD, params.clone())?;
            let answer = match answer {
                Ok(proposal) => Ok(self.edits(proposal)?),
                Err(why) => Err(why),
            };
            let is_ready = self.busy.is_empty();
            if is_ready && last.as_ref() == Some(&answer) {
                return answer.map_or_else(|why| Err(self.refused(&why)), Ok);
            }
            last = is_ready.then_some(answer);
        }
        Err(self.failed("gave another answer each time that it was asked for a rename"))
    }

    fn edits(&self, proposal: Value) -> Result<Edits, Error> {
        let proposal: Option<WorkspaceEdit> = self.read(proposal)?;
        let text = |path: &RepoPath| match self.open.get(path) {
            Some(text) => Some((text.clone(), Some(VERSION))),
            None => (self.caller.text)(path).map(|text| (text, None)),
        };
        edit::edits(proposal.unwrap_or_default(), &self.ends.root, self.encoding, &text).map_err(|why| self.lied(&why))
    }

    /// The places that define the names at bytes of open files, sorted for each. `told` gets the number of answers.
    pub fn definitions(
        &mut self,
        places: &[(&RepoPath, usize)],
        told: &dyn Fn(usize),
    ) -> Result<Vec<Vec<Definition>>, Error> {
        let places = places.iter().map(|(path, at)| self.place(path, *at)).collect::<Result<Vec<Value>, Error>>()?;
        let read = |client: &Self, answer: Answer| {
            let found = answer.map_err(|why| client.rejected(GotoDefinition::METHOD, &why))?;
            client.defined(client.read(found)?)
        };
        self.requests((GotoDefinition::METHOD, places), &read, told)
    }

    fn defined(&self, found: Option<GotoDefinitionResponse>) -> Result<Vec<Definition>, Error> {
        let locations = match found {
            None => Vec::new(),
            Some(GotoDefinitionResponse::Scalar(one)) => vec![one],
            Some(GotoDefinitionResponse::Array(all)) => all,
            Some(GotoDefinitionResponse::Link(links)) => {
                links.into_iter().map(|link| Location::new(link.target_uri, link.target_selection_range)).collect()
            }
        };
        let one = |location: Location| {
            let Some(path) = edit::file(&self.ends.root, &location.uri) else {
                return if location.uri.as_str().starts_with("file:///") {
                    Definition::Outside
                } else {
                    Definition::Nowhere
                };
            };
            let text = self.open.get(&path).cloned().or_else(|| (self.caller.text)(&path));
            let at = text.and_then(|text| self.encoding.byte(&text, &edit::lines(&text), location.range.start));
            at.map_or(Definition::Nowhere, |at| Definition::Inside(path, at))
        };
        if locations.len() > LOCATIONS {
            return Err(self.failed(&format!("gave more than {LOCATIONS} definitions of one name")));
        }
        let mut found: Vec<Definition> = locations.into_iter().map(one).collect();
        found.sort();
        found.dedup();
        Ok(found)
    }

    pub(super) fn place(&self, path: &RepoPath, at: usize) -> Result<Value, Error> {
        let text = self.open.get(path).filter(|text| text.is_char_boundary(at));
        let text = text.ok_or_else(|| Error::new(Code::Internal, format!("`{path}` is not open")))?;
        let uri = edit::document(&self.ends.root, path).map_err(|why| self.failed(&why))?;
        Ok(json!({"textDocument": {"uri": uri}, "position": self.encoding.position(text, at)}))
    }

    /// Waits until the server has no announced work and is silent.
    pub fn settle(&mut self) -> Result<(), Error> {
        let quiet = Stopwatch::start();
        loop {
            let is_heard = self.hear()?;
            let quiet = quiet.elapsed().min(self.heard.elapsed());
            if self.busy.is_empty() && !is_heard && quiet >= QUIET {
                return Ok(());
            }
            self.check_silence()?;
        }
    }

    fn check_silence(&self) -> Result<(), Error> {
        if self.heard.elapsed() < self.patience {
            return Ok(());
        }
        Err(self.failed(&format!("was silent for {} s", self.patience.as_secs())))
    }

    /// As [`Client::request`]; an error of the server is an error.
    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Error> {
        let answer = self.request(method, params)?;
        answer.map_err(|why| self.rejected(method, &why))
    }

    /// Sends a request and waits for its answer.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Result<Answer, Error> {
        let mut answers = self.requests((method, vec![params]), &|_, answer| Ok(answer), &|_| {})?;
        answers.pop().ok_or_else(|| Error::new(Code::Internal, "a request has no answer"))
    }

    /// Sends requests of one method, some before others are answered, and reads each answer when it comes. `told` gets the number of
    /// answers. Meanwhile the server's own requests are answered.
    pub(super) fn requests<T>(
        &mut self,
        (method, params): (&str, Vec<Value>),
        read: &dyn Fn(&Self, Answer) -> Result<T, Error>,
        told: &dyn Fn(usize),
    ) -> Result<Vec<T>, Error> {
        let total = params.len();
        let mut left = params.into_iter().enumerate();
        let mut waiting = BTreeMap::new();
        let mut found = BTreeMap::new();
        while found.len() < total {
            while waiting.len() < IN_FLIGHT
                && let Some((at, params)) = left.next()
            {
                waiting.insert(self.send_request(method, params), at);
            }
            let (at, answer) = self.answer(&mut waiting)?;
            found.insert(at, read(self, answer)?);
            told(found.len());
        }
        Ok(found.into_values().collect())
    }

    fn send_request(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": self.next, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
        self.heard = Stopwatch::start();
        self.next
    }

    /// The next answer to one of the requests that wait for one.
    fn answer(&mut self, waiting: &mut BTreeMap<i64, usize>) -> Result<(usize, Answer), Error> {
        loop {
            if let Some(mut message) = self.message()? {
                let id = message["id"].as_i64().filter(|_| message.get("method").is_none());
                let Some(at) = id.and_then(|id| waiting.remove(&id)) else {
                    self.take(&message)?;
                    continue;
                };
                let answer = match message.get("error").filter(|error| !error.is_null()) {
                    Some(error) => Err(escape(&shortened(error["message"].as_str().unwrap_or_default(), SHOWN))),
                    None => Ok(message["result"].take()),
                };
                return Ok((at, answer));
            }
            self.wait()?;
            self.check_silence()?;
        }
    }

    /// Takes every message that has come; true if there were any.
    fn hear(&mut self) -> Result<bool, Error> {
        let mut is_heard = false;
        while let Some(message) = self.message()? {
            self.take(&message)?;
            is_heard = true;
        }
        self.wait()?;
        Ok(is_heard)
    }

    /// The next message; none if it has not come yet.
    fn message(&mut self) -> Result<Option<Value>, Error> {
        let message = self.frames.next().map_err(|why| self.failed(&why))?;
        if message.is_some() {
            self.heard = Stopwatch::start();
        }
        Ok(message)
    }

    /// Waits a while for bytes.
    fn wait(&mut self) -> Result<(), Error> {
        (self.caller.pulse)()?;
        match self.ends.incoming.recv_timeout(TICK) {
            Ok(bytes) => self.frames.add(&bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(self.failed("ended before it had answered")),
        }
        Ok(())
    }

    /// Takes a message that is not the awaited answer.
    fn take(&mut self, message: &Value) -> Result<(), Error> {
        let (Some(method), params) = (message["method"].as_str(), &message["params"]) else { return Ok(()) };
        if let Some(id) = message.get("id") {
            let answer = frame::written(&answer::answer(id, method, params, (&self.ends.root, &self.settings)));
            self.answered += answer.len();
            if self.answered > ANSWERED {
                return Err(self.failed("asks more than it can be answered"));
            }
            let _ = self.ends.outgoing.send(answer);
        }
        let is_busy = match method {
            "$/progress" => match params["value"]["kind"].as_str() {
                Some("begin") => Some((params["token"].to_string(), true)),
                Some("end") => Some((params["token"].to_string(), false)),
                _ => None,
            },
            STATUS => Some((STATUS.to_owned(), params["quiescent"] == json!(false))),
            _ => None,
        };
        match is_busy {
            Some((token, true)) => self.busy.insert(token),
            Some((token, false)) => self.busy.remove(&token),
            None => false,
        };
        if self.busy.len() > BUSY {
            return Err(self.failed("announces more work than a server has"));
        }
        Ok(())
    }

    pub(super) fn tell(&self, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
    }

    /// A server that is gone is detected where its answer is awaited.
    fn send(&self, message: &Value) {
        let _ = self.ends.outgoing.send(frame::written(message));
    }

    pub(super) fn read<T: DeserializeOwned>(&self, result: Value) -> Result<T, Error> {
        serde_json::from_value(result).map_err(|error| self.failed(&format!("gave an answer of another form: {error}")))
    }

    /// The error of a server that does not do its work.
    pub(super) fn failed(&self, how: &str) -> Error {
        failed(self.server, how)
    }

    /// The error of a request that the server does not answer.
    pub(super) fn rejected(&self, method: &str, why: &str) -> Error {
        self.failed(&format!("refused `{method}`: {why}"))
    }

    /// The error of a rename that the server does not make.
    fn refused(&self, why: &str) -> Error {
        Error::new(Code::VerificationFailed, format!("the language server `{}` refuses the rename: {why}", self.server))
            .hint("nothing was changed; give the place of the declaration, or rename it by hand")
    }

    /// The error of a proposal that can't be an honest one.
    fn lied(&self, how: &str) -> Error {
        Error::new(Code::VerificationFailed, format!("the language server `{}` {how}", self.server))
            .hint("nothing was changed; look at the server and its version")
    }
}

/// The version in which files are opened.
const VERSION: i32 = 1;

/// The error of a server that does not do its work.
pub fn failed(server: &str, how: &str) -> Error {
    Error::new(Code::CommandFailed, format!("the language server `{server}` {how}"))
        .detail("language_server", server)
        .hint("nothing was changed; start it by hand to see what it lacks, and look at `[exec] read` and `env`")
}
