//! A client of `nrv mcp` that speaks the protocol by hand, over pipes.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{BufRead, BufReader, Write},
    process::{ChildStdout, Stdio},
};

use serde_json::{Value, json};

use super::site::{Ran, Running, Site};

/// The protocol versions with and without questions from the server.
pub(crate) const OLD: &str = "2025-11-25";
pub(crate) const NEW: &str = "2026-07-28";

/// The answer of a client's person to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Accept,
    Decline,
    Cancel,
    /// There is nobody: the client says that it can't ask.
    Nobody,
}

impl Word {
    /// The result of a question.
    pub(crate) fn result(self) -> Value {
        match self {
            Word::Accept => json!({"action": "accept", "content": {"approve": true}}),
            Word::Decline => json!({"action": "decline"}),
            Word::Cancel | Word::Nobody => json!({"action": "cancel"}),
        }
    }

    fn capabilities(self) -> Value {
        if self == Word::Nobody { json!({}) } else { json!({"elicitation": {}}) }
    }
}

/// A client and its server.
pub(crate) struct Client {
    pub(crate) running: Running,
    lines: BufReader<ChildStdout>,
    version: &'static str,
    next: u64,
    pub(crate) word: Word,
    /// The questions that were asked.
    pub(crate) asked: Vec<String>,
    /// The notifications that came.
    pub(crate) told: Vec<Value>,
}

impl Client {
    /// Connects to a server of `site`.
    pub(crate) fn start(site: &Site, arguments: &[&str], version: &'static str, word: Word) -> Self {
        let mut client = Client::silent(site, arguments, version, word);
        if version < NEW {
            let info = json!({"name": "test", "version": "1"});
            let params = json!({"protocolVersion": version, "capabilities": word.capabilities(), "clientInfo": info});
            assert_eq!(client.request("initialize", params)["result"]["protocolVersion"], version);
            client.send(&json!({"method": "notifications/initialized"}));
        }
        client
    }

    /// A server to which nothing was said yet.
    pub(crate) fn silent(site: &Site, arguments: &[&str], version: &'static str, word: Word) -> Self {
        let mut command = site.command(&[&["mcp"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        let lines = BufReader::new(running.0.stdout.take().unwrap());
        Client { running, lines, version, next: 0, word, asked: Vec::new(), told: Vec::new() }
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.running.0.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        self.raw(format!("{message}\n").as_bytes());
    }

    /// The next message; none at the end.
    pub(crate) fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let length = self.lines.read_line(&mut line).unwrap();
        (length > 0).then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Sends a request; returns its id.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.version >= NEW {
            let own = "io.modelcontextprotocol";
            params["_meta"] = json!({
                format!("{own}/protocolVersion"): self.version,
                format!("{own}/clientInfo"): {"name": "test", "version": "1"},
                format!("{own}/clientCapabilities"): self.word.capabilities(),
            });
        }
        let id = self.next;
        self.send(&json!({"id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the answer to a request, and answers questions meanwhile.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.read().unwrap_or_else(|| panic!("the server has gone"));
            match (message.get("method"), message.get("id")) {
                (None, Some(of)) if *of == id => return message,
                (None, _) => self.told.push(message),
                (Some(_), None) => self.told.push(message),
                (Some(_), Some(of)) => {
                    self.asked.push(message["params"]["message"].as_str().unwrap_or_default().to_owned());
                    let reply = json!({"id": of, "result": self.word.result()});
                    self.send(&reply);
                }
            }
        }
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Calls a tool, and answers its questions. The result, or the error of the protocol.
    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let mut result = self.once(name, &arguments, &json!({}));
        while result["resultType"] == "input_required" {
            self.asked.push(result["inputRequests"]["confirm"]["params"]["message"].as_str().unwrap().to_owned());
            let more =
                json!({"requestState": result["requestState"], "inputResponses": {"confirm": self.word.result()}});
            result = self.once(name, &arguments, &more);
        }
        result
    }

    /// Calls a tool once, with more members in its request.
    pub(crate) fn once(&mut self, name: &str, arguments: &Value, more: &Value) -> Value {
        let mut params = json!({"name": name, "arguments": arguments});
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let answer = self.request("tools/call", params);
        answer.get("result").unwrap_or(&answer).clone()
    }

    /// The result of a tool that succeeds.
    #[track_caller]
    pub(crate) fn done(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.tool(name, arguments);
        assert_eq!(result["isError"], false, "{name}: {result}");
        result["structuredContent"]["result"].clone()
    }

    /// The error of a tool that fails with this code.
    #[track_caller]
    pub(crate) fn fails(&mut self, name: &str, arguments: Value, code: &str) -> Value {
        let result = self.tool(name, arguments);
        let error = result["structuredContent"]["error"].clone();
        assert_eq!((&result["isError"], &error["code"]), (&json!(true), &json!(code)), "{name}: {result}");
        error
    }

    /// Closes the connection and waits for the end of the server.
    pub(crate) fn end(mut self) -> Ran {
        drop(self.running.0.stdin.take());
        while self.read().is_some() {}
        self.running.end()
    }
}

/// The run that a result names.
pub(crate) fn run_of(result: &Value) -> String {
    result["structuredContent"]["run"].as_str().unwrap_or_else(|| panic!("no run: {result}")).to_owned()
}

/// The text of a result.
pub(crate) fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
