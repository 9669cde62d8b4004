//! The questions by which a server checks a program: its errors before and after a change, and the types that it shows.

use std::collections::BTreeMap;

use lsp_types::{Diagnostic, DiagnosticSeverity};
use serde_json::{Value, json};

use super::{client::Client, edit};
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

/// The most equal questions after a server has cancelled one.
const ATTEMPTS: usize = 10;

impl Client<'_> {
    /// True if the server tells the errors of a file when it is asked.
    pub fn checks(&self) -> bool {
        self.has_diagnostics
    }

    /// The errors of a file of the workspace, as the server sees it.
    pub fn errors(&mut self, path: &RepoPath) -> Result<Errors, Error> {
        let uri = edit::document(&self.ends.root, path).map_err(|why| self.failed(&why))?;
        let params = json!({"textDocument": {"uri": uri}});
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            match self.request("textDocument/diagnostic", params.clone())? {
                Ok(report) => return self.counted(&report),
                // A server that is still at work cancels the question.
                Err(why) => last = why,
            }
            self.settle()?;
        }
        Err(self.failed(&format!("refused `textDocument/diagnostic`: {last}")))
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
