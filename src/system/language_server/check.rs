//! The questions by which a server checks a program: its errors before and after a change, and the types that it shows.

use std::collections::BTreeMap;

use lsp_types::{Diagnostic, DiagnosticSeverity};
use serde_json::{Value, json};

use super::{
    client::{Answer, Client},
    edit,
};
use crate::clock::Stopwatch;
use base::{
    error::Error,
    path::RepoPath,
    text::{escape, shortened},
};

/// The errors of a file: how many there are of a code in a line, which counts from 0.
pub type Errors = BTreeMap<(u32, String), usize>;

/// The most errors of one file that are compared.
const ERRORS: usize = 10_000;

const DIAGNOSTIC: &str = "textDocument/diagnostic";

/// The most equal questions after a server has cancelled one.
const ATTEMPTS: usize = 10;

impl Client<'_> {
    /// True if the server tells the errors of a file when it is asked.
    pub fn checks(&self) -> bool {
        self.has_diagnostics
    }

    /// The errors of files of the workspace, as the server sees them. `told` gets the number of answers.
    pub fn errors(&mut self, paths: &[RepoPath], told: &dyn Fn(usize)) -> Result<BTreeMap<RepoPath, Errors>, Error> {
        let read = |client: &Self, answer: Answer| {
            Ok(match answer {
                Ok(report) => Ok(client.counted(&report)?),
                Err(why) => Err(why),
            })
        };
        let mut found = BTreeMap::new();
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let open: Vec<&RepoPath> = paths.iter().filter(|path| !found.contains_key(*path)).collect();
            let document = |path: &&RepoPath| {
                let uri = edit::document(&self.ends.root, path).map_err(|why| self.failed(&why))?;
                Ok(json!({"textDocument": {"uri": uri}}))
            };
            let params = open.iter().map(document).collect::<Result<Vec<Value>, Error>>()?;
            let known = found.len();
            let answers = self.requests((DIAGNOSTIC, params), &read, &|answered| told(known + answered))?;
            for (path, answer) in open.into_iter().zip(answers) {
                match answer {
                    Ok(errors) => drop(found.insert(path.clone(), errors)),
                    Err(why) => last = why,
                }
            }
            if found.len() == paths.len() {
                return Ok(found);
            }
            // A server that is still at work cancels questions.
            self.settle()?;
        }
        Err(self.rejected(DIAGNOSTIC, &last))
    }

    fn counted(&self, report: &Value) -> Result<Errors, Error> {
        let items: Vec<Diagnostic> = match report.get("items") {
            Some(items) => self.read(items.clone())?,
            None => Vec::new(),
        };
        if items.len() > ERRORS {
            return Err(self.failed(&format!("tells more than {ERRORS} errors of one file")));
        }
        let mut errors = Errors::new();
        for item in items {
            if item.severity.is_none_or(|severity| severity == DiagnosticSeverity::ERROR) {
                let code = item.code.map(|code| serde_json::to_string(&code).unwrap_or_default()).unwrap_or_default();
                *errors.entry((item.range.start.line, escape(&shortened(&code, 100)))).or_default() += 1;
            }
        }
        Ok(errors)
    }

    /// Shows the server another text of a file. Whatever it is asked afterwards is about that text.
    pub fn change(&mut self, path: &RepoPath, language: &str, text: String) -> Result<(), Error> {
        self.open(path, language)?;
        let uri = edit::document(&self.ends.root, path).map_err(|why| self.failed(&why))?;
        let document = json!({"uri": uri, "version": 2});
        let params = json!({"textDocument": document, "contentChanges": [{"text": &text}]});
        self.tell("textDocument/didChange", params);
        self.open.insert(path.clone(), text);
        self.heard = Stopwatch::start();
        Ok(())
    }

    /// The text that the server shows of the thing at a byte of an open file; empty if it shows none.
    pub fn shown(&mut self, path: &RepoPath, at: usize) -> Result<String, Error> {
        let place = self.place(path, at)?;
        let answer = self.request("textDocument/hover", place)?.unwrap_or_default();
        let contents = &answer["contents"];
        Ok(contents["value"].as_str().or(contents.as_str()).unwrap_or_default().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::mpsc};

    use serde_json::Map;

    use super::*;
    use crate::language_server::{
        Caller, Ends,
        client::IN_FLIGHT,
        frame::{self, Frames},
    };

    /// Asks for the errors of files of a server that answers as many requests as wait, the last first, and refuses one of them once.
    fn ask(paths: &[RepoPath]) -> (Result<BTreeMap<RepoPath, Errors>, Error>, Vec<usize>) {
        let (outgoing, messages) = mpsc::channel::<Vec<u8>>();
        let (answers, incoming) = mpsc::sync_channel(64);
        let told = std::cell::RefCell::new(Vec::new());
        let errors = std::thread::scope(|scope| {
            scope.spawn(move || {
                let (mut frames, mut held, mut count) = (Frames::default(), Vec::new(), 0_u32);
                for bytes in messages {
                    frames.add(&bytes);
                    while let Some(message) = frames.next().unwrap() {
                        count += 1;
                        let line = message["id"].as_u64().unwrap();
                        let start = json!({"line": line, "character": 0});
                        let item = json!({"range": {"start": start, "end": start}, "code": 1, "message": "x"});
                        let answer = match message["id"].as_i64() {
                            Some(7) => json!({"id": 7, "error": {"code": -32802, "message": "at work"}}),
                            _ => json!({"id": message["id"], "result": {"kind": "full", "items": [item]}}),
                        };
                        held.push(frame::written(&answer));
                    }
                    if held.len() == IN_FLIGHT || count == 40 || count == 41 {
                        held.drain(..).rev().for_each(|answer| answers.send(answer).unwrap());
                    }
                }
            });
            let ends = Ends { outgoing, incoming, root: Path::new("/w").to_owned() };
            let caller = Caller { timeout_ms: 60_000, pulse: &|| Ok(()), text: &|_| None };
            let mut client = Client::new("fake", ends, caller, Map::new());
            client.errors(paths, &|done| told.borrow_mut().push(done))
        });
        (errors, told.into_inner())
    }

    #[test]
    fn many_requests_wait_at_once_and_each_gets_its_own_answer() {
        let paths: Vec<RepoPath> = (1..=40).map(|n| RepoPath::parse(&format!("f{n:02}.ts")).unwrap()).collect();
        let (errors, told) = ask(&paths);
        let errors = errors.unwrap();
        for (n, path) in (1_u32..).zip(&paths) {
            // The refused one is asked again when the server is silent.
            let line = if n == 7 { 41 } else { n };
            assert_eq!(errors[path], Errors::from([((line, "1".to_owned()), 1)]), "{path}");
        }
        assert_eq!(told.last(), Some(&40));
        assert!(told.is_sorted());
    }
}
