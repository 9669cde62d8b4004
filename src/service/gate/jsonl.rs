//! The gates as a JSON Lines service, one request and one answer a line, for programs that ask often.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD as STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Edit, Rules, Subject, Text, Verdict, decide,
    destructive::{Command, Start},
};
use base::{
    diff,
    error::{Code, Error},
};
use system::policy::Policy;

/// A line of input: a command, the use of a tool, an edit of a file, or a text without a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Returned in the answer.
    #[serde(default)]
    pub id: Value,
    /// A line for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A program and its arguments; judged in place of `command` if both are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// A tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tool's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// A file that is edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its new content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The same in Base64, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
    /// Its present content; without it, all of the text is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The least number of changed lines, if the requester knows of more than the diff has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_lines: Option<u64>,
}

/// A line of output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The request's.
    pub id: Value,
    /// The verdict of the gates.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Judges the subject of a request, without any look-up on the disk.
pub fn answer(request: &Request, policy: &Policy, rules: &Rules) -> Result<Answer, Error> {
    answer_from(Start::default(), request, policy, rules)
}

/// Judges the subject of a request. Commands begin where `start` says, and only its function makes look-ups.
pub fn answer_from(start: Start<'_>, request: &Request, policy: &Policy, rules: &Rules) -> Result<Answer, Error> {
    let decided =
        |subject: Subject<'_>| Ok(Answer { id: request.id.clone(), verdict: decide(&subject, policy, rules) });
    match request {
        Request { tool: Some(name), params, command: None, argv: None, path: None, text: None, b64: None, .. } => {
            let params = params.as_ref().unwrap_or(&Value::Null);
            decided(Subject::ToolUse { name, params, start })
        }
        Request { argv: Some(argv), tool: None, params: None, path: None, text: None, b64: None, .. } => {
            decided(Subject::Command { command: Command::Argv(argv), start })
        }
        Request { command: Some(line), tool: None, params: None, path: None, text: None, b64: None, .. } => {
            decided(Subject::Command { command: Command::Line(line), start })
        }
        Request { command: None, argv: None, tool: None, params: None, path, .. } => {
            let after = content(request)?;
            let before = Cow::Borrowed(request.before.as_deref().unwrap_or_default().as_bytes());
            let Some(path) = path else {
                return decided(Subject::Text { text: &Text { before, after, ..Text::default() } });
            };
            let diff_lines = diff::count(&before, &after).total().max(request.diff_lines.unwrap_or_default());
            let edit = Edit { path: Cow::Borrowed(path), before, after, diff_lines };
            decided(Subject::Edit { edit: &edit, run_lines_so_far: 0 })
        }
        _ => Err(Error::new(Code::InvalidInput, "the request asks about several things at once").hint(FORMS)),
    }
}

/// The forms of a request.
const FORMS: &str = "give `command` or `argv`, or `tool` with `params`, or `path` with `text` or `b64`";

fn content(request: &Request) -> Result<Cow<'_, [u8]>, Error> {
    match (&request.text, &request.b64) {
        (Some(text), None) => Ok(Cow::Borrowed(text.as_bytes())),
        (None, Some(text)) => STANDARD.decode(text).map(Cow::Owned).map_err(|error| {
            Error::new(Code::InvalidInput, format!("`b64` is no Base64: {error}"))
                .hint("use the standard alphabet with padding")
        }),
        (Some(_), Some(_)) => Err(Error::new(Code::InvalidInput, "`text` and `b64` exclude each other").hint(FORMS)),
        (None, None) => Err(Error::new(Code::InvalidInput, "the request asks about nothing").hint(FORMS)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decision(request: Value) -> Result<super::super::Decision, String> {
        let request: Request = serde_json::from_value(request).map_err(|error| error.to_string())?;
        let answer =
            answer(&request, &Policy::default(), Rules::built_in()).map_err(|error| error.message().to_owned())?;
        assert_eq!(answer.id, request.id);
        Ok(answer.verdict.decision)
    }

    #[test]
    fn each_kind_of_request_is_answered() {
        use super::super::Decision::{Allow, Block, Warn};
        assert_eq!(decision(json!({"id": 1, "command": "ls"})), Ok(Allow));
        assert_eq!(decision(json!({"id": 1, "argv": ["ls", "-l"]})), Ok(Allow));
        assert_eq!(decision(json!({"id": 1, "tool": "x"})), Ok(Allow));
        assert_eq!(decision(json!({"id": 1, "path": "nrv.toml", "text": ""})), Ok(Block));
        assert_eq!(decision(json!({"id": 1, "path": "a", "b64": "/w=="})), Ok(Allow));
        assert_eq!(decision(json!({"id": 1, "path": "a", "text": "", "diff_lines": 301})), Ok(Warn));
        assert_eq!(decision(json!({"id": 1, "text": "a"})), Ok(Allow));
    }

    #[test]
    fn a_requester_may_say_that_more_lines_change_but_not_fewer() {
        use super::super::Decision::{Allow, Warn};
        let text = "x\n".repeat(301);
        assert_eq!(decision(json!({"id": 1, "path": "a", "text": text, "diff_lines": 1})), Ok(Warn));
        assert_eq!(decision(json!({"id": 1, "path": "a", "text": text, "before": "x\n".repeat(300)})), Ok(Allow));
    }

    #[test]
    fn a_request_that_is_unclear_is_refused() {
        for request in [
            json!({"id": 1}),
            json!({"id": 1, "command": "ls", "tool": "x"}),
            json!({"id": 1, "path": "a"}),
            json!({"id": 1, "path": "a", "text": "", "b64": ""}),
            json!({"id": 1, "path": "a", "b64": "?"}),
            json!({"id": 1, "comand": "ls"}),
        ] {
            assert!(decision(request.clone()).is_err(), "{request}");
        }
    }
}
