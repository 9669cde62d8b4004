//! The protocol by which coding agents ask before they use a tool: what they ask, and how they want to be answered.
//!
//! An answer never permits anything: an agent that goes on without one asks whomever it would have asked. Agents differ in whether
//! they can ask a person on demand; where that is not certain, what needs a confirmation is blocked.

use serde_json::{Map, Value, json};

use super::{Decision, Verdict, tool_use};
use crate::error::{Code, Error};

/// The exit code that blocks; all others but 0 would let the call through.
pub const BLOCK: u8 = 2;

/// How an agent asks a person, if it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// By `permissionDecision` in `hookSpecificOutput`.
    Permission,
    /// By `permission`.
    Plain,
    /// Not on demand.
    Never,
}

/// What an agent asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The tool.
    pub tool: String,
    /// What it is given.
    pub params: Value,
    /// The folder in which the agent works, if it says so.
    pub folder: Option<String>,
    asks: Asks,
}

/// What is answered: an exit code, JSON for stdout and a sentence for stderr.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// 0 or [`BLOCK`].
    pub exit_code: u8,
    /// For stdout.
    pub document: Option<Value>,
    /// For stderr.
    pub reason: Option<String>,
}

/// Events before a tool is used, each with how its agent asks a person.
const EVENTS: &[(&str, Asks)] = &[
    ("BeforeTool", Asks::Never),
    ("PreToolUse", Asks::Permission),
    ("beforeMCPExecution", Asks::Plain),
    ("beforeShellExecution", Asks::Plain),
    ("preToolUse", Asks::Never),
];

const TOOLS: &[&str] = &["tool_name", "toolName", "tool"];
const INPUTS: &[&str] = &["tool_input", "toolInput", "toolArgs", "arguments", "args", "params", "input"];

impl Question {
    /// Reads what an agent writes to the hook's stdin. Whatever is not understood is an error, and so blocks.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let wrong = |what: &str| Error::new(Code::InvalidInput, format!("the hook's input {what}"));
        let payload: Map<String, Value> =
            serde_json::from_slice(text).map_err(|error| wrong(&format!("is no JSON object: {error}")))?;
        let event = payload.get("hook_event_name").and_then(Value::as_str);
        let mut asks = match event {
            None => Asks::Never,
            Some(name) => match EVENTS.iter().find(|(known, _)| *known == name) {
                Some((_, asks)) => *asks,
                None => {
                    let what = format!("is about the event `{}`, which comes before no tool", name.escape_debug());
                    return Err(wrong(&what).hint("install the hook for the event before a tool is used"));
                }
            },
        };
        // An agent that counts turns takes the same format, but does not ask on demand.
        if payload.contains_key("turn_id") {
            asks = Asks::Never;
        }
        let folder = payload.get("cwd").and_then(Value::as_str).map(str::to_owned);
        let first = |names: &[&str]| names.iter().find_map(|name| payload.get(*name));
        if event == Some("beforeShellExecution") {
            let command = payload.get("command").filter(|value| value.is_string());
            let command = command.ok_or_else(|| wrong("has no `command`"))?;
            return Ok(Question { tool: "shell".to_owned(), params: json!({"command": command}), folder, asks });
        }
        let tool = first(TOOLS).and_then(Value::as_str).filter(|name| !name.is_empty());
        let tool = tool.ok_or_else(|| wrong("names no tool: `tool_name` is missing"))?.to_owned();
        let params = match first(INPUTS) {
            // Some agents write the params as a text that is JSON.
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
            Some(Value::Null) | None => return Err(wrong("has no params: `tool_input` is missing")),
            Some(params) => params.clone(),
        };
        Ok(Question { tool, params, folder, asks })
    }

    /// The same question with every path that it edits written anew.
    #[must_use]
    pub fn relocated(mut self, place: &dyn Fn(&str) -> String) -> Self {
        tool_use::relocate(&self.tool, &mut self.params, place);
        self
    }

    /// The answer in the agent's format.
    pub fn reply(&self, verdict: &Verdict) -> Reply {
        let reason = reason(verdict);
        let block = |reason| Reply { exit_code: BLOCK, document: None, reason: Some(reason) };
        let document = match (verdict.decision, self.asks) {
            (Decision::Allow, _) | (Decision::Warn, Asks::Plain | Asks::Never) => None,
            (Decision::Warn, Asks::Permission) => Some(json!({"systemMessage": reason})),
            (Decision::RequireConfirmation, Asks::Permission) => Some(json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": reason,
            }})),
            (Decision::RequireConfirmation, Asks::Plain) => {
                Some(json!({"permission": "ask", "user_message": reason, "agent_message": reason}))
            }
            (Decision::RequireConfirmation, Asks::Never) | (Decision::Block, _) => return block(reason),
        };
        Reply { exit_code: 0, document, reason: None }
    }
}

/// What the gates say, in sentences.
fn reason(verdict: &Verdict) -> String {
    let strictest = verdict.remarks().filter(|result| result.decision == verdict.decision);
    let sentence = |result: &super::GateResult| {
        let advice = result.remediation.as_ref().map(|advice| format!(" ({advice})")).unwrap_or_default();
        format!("nrv, gate `{}`: {}{advice}.", result.gate_name, result.reason)
    };
    strictest.map(sentence).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::{Rules, evaluate_tool_use};
    use super::*;
    use crate::policy::Policy;

    fn answered(payload: Value) -> Reply {
        let question = Question::parse(payload.to_string().as_bytes()).unwrap();
        question.reply(&evaluate_tool_use(&question.tool, &question.params, &Policy::default(), Rules::built_in()))
    }

    /// A question of the kind `event` about something that is never allowed.
    fn protected(event: &str) -> Value {
        json!({"hook_event_name": event, "tool_name": "Write", "tool_input": {"file_path": ".git/config", "content": "x"}})
    }

    /// A question about something that a person may allow.
    fn outside(event: &str) -> Value {
        json!({"hook_event_name": event, "tool_name": "Write", "tool_input": {"file_path": "/srv/x", "content": "x"}})
    }

    #[test]
    fn what_is_allowed_is_answered_by_silence() {
        for event in ["PreToolUse", "preToolUse", "BeforeTool", "beforeMCPExecution"] {
            let payload = json!({"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "ls"}});
            assert_eq!(answered(payload), Reply::default());
        }
    }

    #[test]
    fn what_is_blocked_has_exit_code_2_and_a_reason() {
        for event in ["PreToolUse", "preToolUse", "BeforeTool", "beforeMCPExecution"] {
            let reply = answered(protected(event));
            assert_eq!((reply.exit_code, &reply.document), (2, &None));
            assert!(reply.reason.unwrap().contains("`.git/config` is protected"));
        }
    }

    #[test]
    fn a_person_is_asked_where_the_agent_is_known_to_ask() {
        let reply = answered(outside("PreToolUse"));
        let output = &reply.document.as_ref().unwrap()["hookSpecificOutput"];
        assert_eq!((reply.exit_code, &output["permissionDecision"]), (0, &json!("ask")));
        assert_eq!(output["hookEventName"], "PreToolUse");
        assert!(output["permissionDecisionReason"].as_str().unwrap().contains("outside of the workspace"));
        assert_eq!(answered(outside("beforeMCPExecution")).document.unwrap()["permission"], "ask");
        for event in ["BeforeTool", "preToolUse"] {
            assert_eq!(answered(outside(event)).exit_code, BLOCK);
        }
        let mut counted = outside("PreToolUse");
        counted["turn_id"] = json!("t1");
        assert_eq!(answered(counted).exit_code, BLOCK);
    }

    #[test]
    fn a_warning_is_told_without_a_decision() {
        let content = "x\n".repeat(301);
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Write",
            "tool_input": {"file_path": "a", "content": content}});
        let reply = answered(payload);
        let document = reply.document.unwrap();
        assert!(document["systemMessage"].as_str().unwrap().contains("301 lines"));
        assert_eq!((reply.exit_code, document.get("hookSpecificOutput")), (0, None));
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for payload in [
            "",
            "[]",
            "{}",
            r#"{"tool_name": "Bash"}"#,
            r#"{"tool_name": "", "tool_input": {}}"#,
            r#"{"tool_input": {"command": "ls"}}"#,
            r#"{"hook_event_name": "beforeShellExecution"}"#,
            r#"{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}}"#,
        ] {
            assert!(Question::parse(payload.as_bytes()).is_err(), "{payload}");
        }
    }

    #[test]
    fn other_forms_of_a_question_are_read() {
        let tool = |payload: Value| {
            let question = Question::parse(payload.to_string().as_bytes()).unwrap();
            (question.tool, question.params)
        };
        let command = json!({"command": "ls"});
        let expected = |name: &str| (name.to_owned(), command.clone());
        assert_eq!(tool(json!({"hook_event_name": "beforeShellExecution", "command": "ls"})), expected("shell"));
        assert_eq!(tool(json!({"toolName": "bash", "toolArgs": command.to_string()})), expected("bash"));
        assert_eq!(tool(json!({"tool": "bash", "params": command})), expected("bash"));
    }

    #[test]
    fn paths_are_written_anew_wherever_they_stand() {
        let patch = "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch";
        let payload =
            json!({"tool_name": "t", "tool_input": {"file_path": "a", "list": [{"path": "a"}], "input": patch}});
        let question = Question::parse(payload.to_string().as_bytes()).unwrap();
        let params = question.relocated(&|path| format!("sub/{path}")).params;
        assert_eq!((&params["file_path"], &params["list"][0]["path"]), (&json!("sub/a"), &json!("sub/a")));
        assert!(params["input"].as_str().unwrap().contains("*** Update File: sub/a\n-x\n"));
    }
}
