//! The protocol by which coding agents ask before they use a tool: their questions, and the answers in their formats.
//!
//! An answer never permits anything: without an objection the agent follows its own permission rules. Agents differ in their
//! support for asking a person on demand; where that is uncertain, a subject that needs a confirmation is blocked.

use serde_json::{Map, Value, json};

use super::{Decision, Verdict, param_names, tool_name::Deeds, tool_use};
use base::error::{Code, Error};

/// The exit code that blocks; every other code but 0 would let the call through.
pub const BLOCK: u8 = 2;

/// The kinds of agents, by the answers that they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agent {
    /// It asks a person by `permissionDecision` in `hookSpecificOutput`.
    Asking,
    /// It takes the same format, but can't ask a person on demand, and reads a block from stdout as well.
    Denying,
    /// It asks a person by `permission`.
    Editor,
    /// It reads a block from `cancel` on stdout.
    Cancelling,
    /// It blocks by the exit code, and can't ask a person on demand.
    Plain,
}

/// An agent's question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The tool.
    pub tool: String,
    /// The tool's arguments.
    pub params: Value,
    /// The folder in which the agent works, if given.
    pub folder: Option<String>,
    agent: Agent,
}

/// An answer: an exit code, JSON for stdout and a sentence for stderr.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// 0 or [`BLOCK`].
    pub exit_code: u8,
    /// For stdout.
    pub document: Option<Value>,
    /// For stderr.
    pub reason: Option<String>,
}

/// Events before the use of a tool, each with the kind of agent that sends it.
const EVENTS: &[(&str, Agent)] = &[
    ("BeforeTool", Agent::Plain),
    ("PreToolUse", Agent::Asking),
    ("beforeMCPExecution", Agent::Editor),
    ("beforeReadFile", Agent::Plain),
    ("beforeShellExecution", Agent::Editor),
    ("beforeTabFileRead", Agent::Plain),
    ("preToolUse", Agent::Plain),
    ("pre_mcp_tool_use", Agent::Plain),
    ("pre_read_code", Agent::Plain),
    ("pre_run_command", Agent::Plain),
    ("pre_write_code", Agent::Plain),
    ("tool_call", Agent::Cancelling),
];

/// Fields in which agents name the event.
const EVENT: &[&str] = &["hook_event_name", "hookEventName", "hookName", "agent_action_name"];
/// Objects that some agents wrap around the tool and its params.
const AROUND: &[&str] = &["tool_call", "preToolUse", "tool_info"];
const TOOL: &[&str] = &["tool_name", "toolName", "tool", "mcp_tool_name", "name"];
const INPUT: &[&str] = &[
    "tool_input",
    "toolInput",
    "toolArgs",
    "mcp_tool_arguments",
    "arguments",
    "args",
    "params",
    "parameters",
    "input",
];

impl Question {
    /// Reads an agent's message from the hook's stdin. A message that is not understood is an error, and so blocks.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let payload: Map<String, Value> =
            serde_json::from_slice(text).map_err(|error| wrong(&format!("is no JSON object: {error}")))?;
        let event = string(&payload, EVENT)?;
        let mut agent = match event {
            None => Agent::Plain,
            Some(name) => match EVENTS.iter().find(|(known, _)| *known == name) {
                Some((_, agent)) => *agent,
                None => {
                    let what = format!("is about the event `{}`, which comes before no tool", name.escape_debug());
                    return Err(wrong(&what).hint("install the hook for the event before a tool is used"));
                }
            },
        };
        // Agents that take that format and can't ask are recognised by their fields.
        if payload.contains_key("turn_id") || payload.contains_key("tool_call_id") {
            agent = Agent::Denying;
        }
        if payload.contains_key("hookName") {
            agent = Agent::Cancelling;
        }
        let inner = AROUND.iter().find_map(|name| payload.get(*name)?.as_object());
        let (tool, params) = asked(event.unwrap_or_default(), &payload, inner)?;
        if Deeds::of(&tool).starts_commands && !holds_string(&params) {
            return Err(wrong("has no `command`"));
        }
        let roots = ["workspace_roots", "workspaceRoots"].iter().find_map(|name| payload.get(*name)?.get(0)?.as_str());
        let inner_folder = inner.and_then(|inner| inner.get("cwd")?.as_str());
        let folder = string(&payload, &["cwd"])?.or(inner_folder).or(roots).filter(|folder| !folder.is_empty());
        Ok(Question { tool, params, folder: folder.map(str::to_owned), agent })
    }

    /// The same question about real files: `place` rewrites every path. Where `read` knows a file by its new path, the whole
    /// file replaces the pieces of an edit.
    #[must_use]
    pub fn located(mut self, place: &dyn Fn(&str) -> String, read: &dyn Fn(&str) -> Option<String>) -> Self {
        tool_use::locate(&self.tool, &mut self.params, place, read);
        self
    }

    /// The answer in the agent's format.
    pub fn reply(&self, verdict: &Verdict) -> Reply {
        let reason = reason(verdict);
        let permission = |decision: &str| {
            json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason,
            }})
        };
        let document = match (verdict.decision, self.agent) {
            (Decision::Allow, _) => None,
            (Decision::Warn, Agent::Asking) => Some(json!({"systemMessage": reason})),
            (Decision::Warn, _) => None,
            (Decision::RequireConfirmation, Agent::Asking) => Some(permission("ask")),
            (Decision::RequireConfirmation, Agent::Editor) => {
                Some(json!({"permission": "ask", "user_message": reason, "agent_message": reason}))
            }
            (Decision::RequireConfirmation | Decision::Block, agent) => {
                let document = match agent {
                    Agent::Denying => Some(permission("deny")),
                    Agent::Cancelling => Some(json!({"cancel": true, "errorMessage": reason})),
                    Agent::Asking | Agent::Editor | Agent::Plain => None,
                };
                return Reply { exit_code: BLOCK, document, reason: Some(reason) };
            }
        };
        Reply { exit_code: 0, document, reason: None }
    }
}

fn wrong(what: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the hook's input {what}"))
}

/// The first of some fields; an error if it is not a string.
fn string<'a>(map: &'a Map<String, Value>, names: &[&str]) -> Result<Option<&'a str>, Error> {
    let found = names.iter().find_map(|name| Some((*name, map.get(*name).filter(|value| !value.is_null())?)));
    match found {
        Some((name, value)) => value.as_str().map(Some).ok_or_else(|| wrong(&format!("has no string as `{name}`"))),
        None => Ok(None),
    }
}

/// The tool and its params, also of an event that concerns only one kind of tool.
fn asked(
    event: &str,
    payload: &Map<String, Value>,
    inner: Option<&Map<String, Value>>,
) -> Result<(String, Value), Error> {
    let only = |names: &[&str], map: &Map<String, Value>| {
        let kept: Map<String, Value> =
            names.iter().filter_map(|name| Some(((*name).to_owned(), map.get(*name)?.clone()))).collect();
        match kept.values().any(Value::is_string) {
            true => Ok(Value::Object(kept)),
            false => Err(wrong(&format!("has no `{}`", names[0]))),
        }
    };
    let info = inner.unwrap_or(payload);
    match event {
        "beforeShellExecution" => return Ok(("shell".to_owned(), only(&["command"], payload)?)),
        // The content of a file that is read is not written.
        "beforeReadFile" | "beforeTabFileRead" => return Ok(("read".to_owned(), only(&["file_path"], payload)?)),
        "pre_run_command" => return Ok(("run_command".to_owned(), only(&["command_line", "command"], info)?)),
        "pre_read_code" => return Ok(("read_code".to_owned(), only(&["file_path"], info)?)),
        "pre_write_code" => return Ok(("write_code".to_owned(), only(&["file_path", "edits"], info)?)),
        _ => {}
    }
    let tool = string(info, TOOL)?.filter(|name| !name.is_empty());
    let tool = tool.ok_or_else(|| wrong("names no tool: `tool_name` is missing"))?.to_owned();
    let params = INPUT.iter().find_map(|name| info.get(*name)).filter(|params| !params.is_null());
    match params {
        // Some agents write the params, or some of them, as JSON in a string.
        Some(Value::String(text)) => Ok((tool, decoded(text))),
        Some(Value::Object(map)) if inner.is_some() => {
            let decode = |name: &str, value: &Value| match value.as_str() {
                Some(text) if !param_names::is_content(name) => decoded(text),
                Some(_) | None => value.clone(),
            };
            Ok((tool, map.iter().map(|(name, value)| (name.clone(), decode(name, value))).collect()))
        }
        Some(params) => Ok((tool, params.clone())),
        None => Err(wrong("has no params: `tool_input` is missing")),
    }
}

/// The list or object that a text encodes as JSON, else the text.
fn decoded(text: &str) -> Value {
    let value = serde_json::from_str(text).ok();
    value.filter(|value: &Value| value.is_object() || value.is_array()).unwrap_or_else(|| Value::from(text))
}

fn holds_string(params: &Value) -> bool {
    match params {
        Value::String(_) => true,
        Value::Array(items) => items.iter().any(holds_string),
        Value::Object(map) => map.values().any(holds_string),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The reasons of the gates, in sentences.
fn reason(verdict: &Verdict) -> String {
    let strictest = verdict.remarks().filter(|result| result.decision == verdict.decision);
    let sentence = |result: &super::GateResult| {
        let said = format!("nrv, gate `{}`: {}", result.gate_name, result.reason);
        // Rows for the policy stand in lines of their own.
        match result.remediation.as_deref().map(|advice| advice.split_once(". To permit ").unwrap_or((advice, ""))) {
            None => format!("{said}."),
            Some((advice, "")) => format!("{said} ({advice})."),
            Some((advice, rows)) => format!("{said} ({advice}). To permit {rows}"),
        }
    };
    strictest.map(sentence).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Rules, evaluate_tool_use},
        *,
    };
    use system::policy::Policy;

    fn answered(payload: Value) -> Reply {
        let question = Question::parse(payload.to_string().as_bytes()).unwrap();
        question.reply(&evaluate_tool_use(&question.tool, &question.params, &Policy::default(), Rules::built_in()))
    }

    /// A question of the kind `event` about an action that is never allowed.
    fn protected(event: &str) -> Value {
        json!({"hook_event_name": event, "tool_name": "Write", "tool_input": {"file_path": ".git/config", "content": "x"}})
    }

    /// A question about an action that a person may allow.
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
    fn the_row_that_would_permit_a_command_stands_in_lines_of_its_own() {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git reset --hard"}});
        let document = answered(payload).document.unwrap();
        let reason = document["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
        let (sentence, row) = reason.split_once('\n').unwrap();
        assert!(
            sentence.ends_with(". To permit just this, add to `nrv.toml` and trust that with `nrv trust`:"),
            "{sentence}"
        );
        assert!(
            row.starts_with(
                "[[gates.destructive.allow]]\nrule = \"git.reset\"\ncommand = [\"git\", \"reset\", \"--hard\"]"
            ),
            "{row}"
        );
    }

    #[test]
    fn agents_that_do_not_go_by_the_exit_code_are_told_on_stdout_too() {
        let mut payload = protected("PreToolUse");
        payload["turn_id"] = json!("t1");
        let reply = answered(payload);
        let output = &reply.document.unwrap()["hookSpecificOutput"];
        assert_eq!((reply.exit_code, &output["permissionDecision"]), (2, &json!("deny")));
        let call = json!({"toolName": "write_to_file", "parameters": {"path": ".git/config", "content": "[1]"}});
        let reply = answered(json!({"hookName": "PreToolUse", "workspaceRoots": ["/w"], "preToolUse": call}));
        assert_eq!((reply.exit_code, &reply.document.unwrap()["cancel"]), (2, &json!(true)));
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
        for field in ["turn_id", "tool_call_id"] {
            let mut deaf = outside("PreToolUse");
            deaf[field] = json!("t1");
            assert_eq!(answered(deaf).exit_code, BLOCK);
        }
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
            r#"{"hook_event_name": "beforeReadFile", "content": "x"}"#,
            r#"{"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#,
            r#"{"hookEventName": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#,
            r#"{"hook_event_name": 5, "tool_name": "Bash", "tool_input": {"command": "ls"}}"#,
            r#"{"cwd": 5, "tool_name": "Bash", "tool_input": {"command": "ls"}}"#,
            r#"{"tool_name": "Bash", "tool_input": {}}"#,
            r#"{"tool_name": "Bash", "tool_input": {"command": 5}}"#,
            r#"{"agent_action_name": "pre_run_command", "tool_info": {"cwd": "/w"}}"#,
            r#"{"agent_action_name": "post_run_command", "tool_info": {"command_line": "ls"}}"#,
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
        assert_eq!(tool(json!({"tool_call": {"name": "bash", "input": command}})), expected("bash"));
        let run = json!({"command_line": "ls", "cwd": "/w"});
        let asked = tool(json!({"agent_action_name": "pre_run_command", "tool_info": run}));
        assert_eq!(asked, ("run_command".to_owned(), json!({"command_line": "ls"})));
        let call = json!({"mcp_server_name": "s", "mcp_tool_name": "bash", "mcp_tool_arguments": command});
        assert_eq!(tool(json!({"agent_action_name": "pre_mcp_tool_use", "tool_info": call})), expected("bash"));
        let lists = json!({"toolName": "run_commands", "parameters": {"commands": "[\"ls\"]"}});
        let asked = tool(json!({"hookName": "PreToolUse", "preToolUse": lists}));
        assert_eq!(asked.1, json!({"commands": ["ls"]}));
        let shown = tool(json!({"hook_event_name": "beforeReadFile", "file_path": "a", "content": "x"}));
        assert_eq!(shown.1, json!({"file_path": "a"}));
    }

    #[test]
    fn the_folder_of_the_agent_is_known() {
        let folder = |payload: Value| Question::parse(payload.to_string().as_bytes()).unwrap().folder;
        let mut payload = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "workspace_roots": ["/r"]});
        assert_eq!(folder(payload.clone()), Some("/r".to_owned()));
        payload["cwd"] = json!("/w");
        assert_eq!(folder(payload), Some("/w".to_owned()));
        let info = json!({"command_line": "ls", "cwd": "/w"});
        assert_eq!(folder(json!({"agent_action_name": "pre_run_command", "tool_info": info})), Some("/w".to_owned()));
    }

    #[test]
    fn paths_are_written_anew_wherever_they_stand() {
        let patch = "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch";
        let input = json!({"file_path": "a", "list": [{"path": "a"}], "files": ["a"], "input": patch});
        let payload = json!({"tool_name": "t", "tool_input": input});
        let question = Question::parse(payload.to_string().as_bytes()).unwrap();
        let params = question.located(&|path| format!("sub/{path}"), &|_| None).params;
        assert_eq!((&params["file_path"], &params["list"][0]["path"]), (&json!("sub/a"), &json!("sub/a")));
        assert_eq!(params["files"], json!(["sub/a"]));
        assert!(params["input"].as_str().unwrap().contains("*** Update File: sub/a\n-x\n"));
    }

    #[test]
    fn an_edit_is_one_of_the_whole_file_where_that_is_known() {
        let input = json!({"file_path": "a", "old_string": "x", "new_string": "y"});
        let payload = json!({"tool_name": "Edit", "tool_input": input});
        let question = Question::parse(payload.to_string().as_bytes()).unwrap();
        let read = |path: &str| (path == "/a").then(|| "w = x\n".to_owned());
        let params = question.located(&|path| format!("/{path}"), &read).params;
        assert_eq!(params, json!({"file_path": "/a", "old_string": "w = x\n", "new_string": "w = y\n"}));
    }
}
