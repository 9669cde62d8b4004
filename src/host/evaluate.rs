//! `nrv.gate.evaluate_*`: what the gates say of something that nobody does yet.

use serde_json::Value;

use super::Host;
use crate::{
    call::Command,
    diff,
    error::{Code, Error},
    gate::{self, Edit, Subject, Verdict, destructive},
    path::RepoPath,
};

impl Host<'_> {
    pub(super) fn evaluate_command(&self, command: &Command) -> Result<Value, Error> {
        let command = match command {
            Command::Argv(argv) => destructive::Command::Argv(argv),
            Command::Line(line) => destructive::Command::Line(line),
        };
        reply(&gate::evaluate_command(command, &self.policy, &self.rules))
    }

    pub(super) fn evaluate_tool_use(&self, tool: &str, params: &Value) -> Result<Value, Error> {
        reply(&gate::evaluate_tool_use(tool, params, &self.policy, &self.rules))
    }

    /// The file as the run sees it says what is new, and how many lines change; a caller may only say more.
    pub(super) fn evaluate_edit(&self, path: &str, content: &str, diff_lines: u64) -> Result<Value, Error> {
        let current = RepoPath::parse(path).ok().and_then(|path| self.view().read(&path).ok());
        let before = current.as_ref().map_or(&[][..], |content| &content.bytes);
        let counted = diff::count(before, content.as_bytes()).total();
        let edit = Edit {
            path: path.into(),
            before: before.into(),
            after: content.as_bytes().into(),
            diff_lines: counted.max(diff_lines),
        };
        let subject = Subject::Edit { edit: &edit, run_lines_so_far: self.budget.lines() };
        reply(&gate::decide(&subject, &self.policy, &self.rules))
    }
}

fn reply(verdict: &Verdict) -> Result<Value, Error> {
    serde_json::to_value(verdict).map_err(|error| Error::new(Code::Internal, error.to_string()))
}
