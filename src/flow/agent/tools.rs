//! The tools of agents: names, schemas of their parameters, and the calls that they are.

use serde_json::{Value, json};

use super::handler::Action;
use crate::{
    base::{
        call::{Call, Promise, Run, Strategy, Summon},
        error::{Code, Error, nearest},
        micro::{self, By, Edit, definition},
    },
    flow::{
        Door,
        planner::{Tool, Tools},
    },
    host::Agent,
    system::schema::Schema,
};

/// A tool of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentTool {
    /// Its name.
    pub name: String,
    /// Its purpose, in a sentence.
    pub description: String,
    /// The JSON Schema of its parameters.
    pub schema: Value,
}

impl AgentTool {
    fn new(name: &str, description: &str, required: &[&str], properties: Value) -> Self {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": required, "properties": properties,
        });
        AgentTool { name: name.to_owned(), description: description.to_owned(), schema }
    }

    /// The definition for a model.
    pub fn definition(&self) -> Value {
        json!({"name": self.name, "description": self.description, "parameters": self.schema})
    }
}

/// The tools that an agent has, sorted by name: the standard ones, and of the others those that it was given.
pub fn tools_of(door: &mut dyn Door, agent: &Agent) -> Result<Vec<AgentTool>, Error> {
    let mut tools = fixed();
    let mut adapters = Tools::of(door)?;
    for name in adapters.names().map(str::to_owned).collect::<Vec<_>>() {
        if ["propose", "apply"].iter().any(|phase| agent.has(&format!("dta_{name}_{phase}"))) {
            tools.extend(of_adapter(&adapters.find(door, &name)?));
        }
    }
    tools.retain(|tool| agent.has(&tool.name));
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tools)
}

/// The tools that propose and make the change of an adapter. The host fills in what an invocation has beside `target` and `params`.
fn of_adapter(adapter: &Tool) -> [AgentTool; 2] {
    let glob = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]});
    let target = json!({
        "type": "object", "additionalProperties": false, "required": ["glob"],
        "properties": {"glob": glob, "repo_path": {"type": "string"}},
    });
    let properties = json!({"target": target, "params": adapter.params()});
    // The parameters refer to definitions of the whole schema.
    let defs = adapter.input_schema.get("$defs").filter(|defs| defs.is_object());
    [
        ("propose", "Proposes the change, and names the patch. Changes nothing."),
        ("apply", "Makes the change; its verifier passes, or nothing is changed."),
    ]
    .map(|(phase, effect)| {
        let (name, purpose) = (format!("dta_{}_{phase}", adapter.name), format!("{} {effect}", adapter.summary));
        let mut tool = AgentTool::new(&name, &purpose, &["target", "params"], properties.clone());
        if let Some(defs) = defs {
            tool.schema["$defs"] = defs.clone();
        }
        tool
    })
}

/// The tools that don't depend on the adapters.
fn fixed() -> Vec<AgentTool> {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "array", "items": {"type": "string"}, "minItems": 1});
    let tool = AgentTool::new;
    let mut tools = vec![
        tool("files_glob", "Lists the files that match globs.", &["patterns"], json!({"patterns": texts()})),
        tool("files_read", "Reads a file.", &["path"], json!({"path": text()})),
        tool(
            "files_grep",
            "Finds the lines of files that match a regular expression.",
            &["regex", "patterns"],
            json!({"regex": text(), "patterns": texts()}),
        ),
        tool(
            "summon_servitor",
            "Summons an agent of your own. It has no more tools than you.",
            &[],
            json!({"assignment": text(), "name": text(), "tools": texts()}),
        ),
        tool("dismiss_servitor", "Dismisses an agent that you have summoned.", &["id"], json!({"id": text()})),
        tool(
            "commit",
            "Promises a condition: you are done only if it holds. The assertion is one of file_exists, count, json_valid, tree_unchanged, command.",
            &["description", "assertion"],
            json!({"description": text(), "assertion": {"type": "object"}}),
        ),
        tool("report_done", "Says that your work is done. All of your commitments are looked at then.", &[], json!({})),
        tool("apply_create", "Creates a file.", &["path", "text"], json!({"path": text(), "text": text()})),
        tool(
            "apply_diff",
            "Applies a unified diff to a file.",
            &["path", "unified_diff"],
            json!({"path": text(), "unified_diff": text()}),
        ),
        tool(
            "exec_run",
            "Runs a program without a shell, as far as the policy allows.",
            &["argv"],
            json!({"argv": texts(), "writes": texts()}),
        ),
    ];
    tools.extend(micro::Tool::ALL.into_iter().map(|edit| {
        let defined = definition(edit, By::Line);
        AgentTool {
            name: edit.as_str().to_owned(),
            description: defined["description"].as_str().unwrap_or_default().to_owned(),
            schema: defined["input_schema"].clone(),
        }
    }));
    tools
}

/// The call that an action is, of the agent whose tools these are. `invalid_input` if it has no such tool, or the parameters don't fit.
pub(super) fn call_of(agent: &Agent, tools: &[AgentTool], action: &Action) -> Result<Call, Error> {
    let Action { tool: name, params, .. } = action;
    let Some(tool) = tools.iter().find(|tool| tool.name == *name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let error = Error::new(Code::NotFound, format!("you have no tool `{}`", name.escape_debug()));
        return Err(match nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("your tools are {}", names.join(", "))),
        });
    };
    let params = if params.is_null() { json!({}) } else { params.clone() };
    Schema::compile(&tool.schema)?
        .check(&params)
        .map_err(|error| error.within(format!("the parameters of `{name}`")))?;
    let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
    let texts = |key: &str| -> Vec<String> {
        params[key].as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    Ok(match name.as_str() {
        "files_glob" => Call::FilesGlob { patterns: texts("patterns") },
        "files_read" => Call::FilesRead { path: text("path") },
        "files_grep" => Call::FilesGrep { regex: text("regex"), patterns: texts("patterns") },
        "summon_servitor" => {
            let optional = |key: &str| params[key].as_str().map(str::to_owned);
            let tools = params.get("tools").map(|_| texts("tools"));
            Call::AgentSummon(Box::new(Summon {
                name: optional("name"),
                assignment: optional("assignment"),
                tools,
                model: agent.model.clone(),
                ..Summon::default()
            }))
        }
        "dismiss_servitor" => Call::AgentDismiss { id: text("id") },
        "commit" => {
            let commitment =
                Promise { description: text("description"), assertion: params["assertion"].clone(), timeout_ms: None };
            Call::AgentCommit { id: agent.id.clone(), commitment }
        }
        "report_done" => Call::AgentReport { id: agent.id.clone() },
        "apply_create" => Call::ApplyCreate { path: text("path"), text: text("text") },
        "apply_diff" => Call::ApplyDiff {
            path: text("path"),
            unified_diff: Some(text("unified_diff")),
            unified_diff_b64: None,
            checksum: None,
            strategy: Strategy::Write,
        },
        "exec_run" => Call::ExecRun(Box::new(run_of(&texts("argv"), texts("writes"))?)),
        _ => match (micro::Tool::ALL.into_iter().find(|edit| edit.as_str() == name), adapter(name)) {
            (Some(edit), _) => Call::EditMake(Box::new(Edit::parse(edit, &params)?)),
            (None, Some((tool, true))) => Call::DtaRun { tool: tool.to_owned(), input: params },
            (None, Some((tool, false))) => Call::DtaPropose { tool: tool.to_owned(), input: params },
            (None, None) => return Err(Error::new(Code::Internal, format!("`{name}` is no call"))),
        },
    })
}

/// The command of an action.
fn run_of(argv: &[String], writes: Vec<String>) -> Result<Run, Error> {
    let Some((program, args)) = argv.split_first() else {
        return Err(Error::new(Code::InvalidInput, "the command is empty"));
    };
    Ok(Run { program: program.clone(), args: args.to_vec(), writes, ..Run::default() })
}

/// The adapter of a tool, and true if the tool makes the change.
fn adapter(name: &str) -> Option<(&str, bool)> {
    let rest = name.strip_prefix("dta_")?;
    rest.strip_suffix("_apply")
        .map(|tool| (tool, true))
        .or_else(|| rest.strip_suffix("_propose").map(|tool| (tool, false)))
}
