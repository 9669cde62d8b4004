//! Tools: the calls of nrv under the names and with the parameters by which models and clients know them.

use serde_json::{Value, json};

use base::{
    call::{Call, LineEnds, Run, Strategy, call_name},
    error::{Code, Error, nearest},
    micro::{self, By, Edit, definition},
};
use system::schema::Schema;

/// A tool: its name, its purpose and the schema of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its purpose, in a sentence.
    pub description: String,
    /// The JSON Schema of its parameters.
    pub schema: Value,
    /// The name of the call that it is, if it is a tool of an MCP server.
    pub served: Option<String>,
}

impl Tool {
    /// A tool whose parameters are a map without others than these.
    pub fn new(name: &str, description: &str, required: &[&str], properties: Value) -> Self {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": required, "properties": properties,
        });
        Tool { name: name.to_owned(), description: description.to_owned(), schema, served: None }
    }

    /// The definition for a model.
    pub fn definition(&self) -> Value {
        json!({"name": self.name, "description": self.description, "parameters": self.schema})
    }

    /// Checks the parameters against the schema; `invalid_input` names the violations.
    pub fn check(&self, params: &Value) -> Result<(), Error> {
        let schema = Schema::compile(&self.schema)?;
        schema.check(params).map_err(|error| error.within(format!("the parameters of `{}`", self.name)))
    }
}

/// The tools for files, diffs and commands, and the micro-edits.
pub fn standard() -> Vec<Tool> {
    let text = || json!({"type": "string"});
    let tool = Tool::new;
    let mut tools = vec![
        tool("files_glob", "Lists the files that match globs.", &["patterns"], json!({"patterns": texts()})),
        tool("files_read", "Reads a file.", &["path"], json!({"path": text()})),
        tool(
            "files_grep",
            "Finds the lines of files that match a regular expression.",
            &["regex", "patterns"],
            json!({"regex": text(), "patterns": texts()}),
        ),
        tool("apply_create", "Creates a file.", &["path", "text"], json!({"path": text(), "text": text()})),
        tool(
            "apply_diff",
            "Applies a unified diff to a file. Its lines get the line ends of the file, unless `line_ends` is `diff`.",
            &["path", "unified_diff"],
            json!({"path": text(), "unified_diff": text(), "line_ends": {"enum": ["diff", "file"], "default": "file"}}),
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
        Tool {
            name: edit.as_str().to_owned(),
            description: defined["description"].as_str().unwrap_or_default().to_owned(),
            schema: defined["input_schema"].clone(),
            served: None,
        }
    }));
    tools
}

/// The tools that propose and make the change of an adapter. The host fills in what an invocation has beside `target` and `params`.
pub fn of_adapter(name: &str, summary: &str, input_schema: &Value) -> [Tool; 2] {
    let glob = json!({"anyOf": [{"type": "string"}, texts()]});
    let target = json!({
        "type": "object", "additionalProperties": false, "required": ["glob"],
        "properties": {"glob": glob, "repo_path": {"type": "string"}},
    });
    let properties = json!({"target": target, "params": input_schema["properties"]["params"]});
    // The parameters refer to definitions of the whole schema.
    let defs = input_schema.get("$defs").filter(|defs| defs.is_object());
    [
        ("propose", "Proposes the change, and names the patch. Changes nothing."),
        ("apply", "Makes the change; its verifier passes, or nothing is changed."),
    ]
    .map(|(phase, effect)| {
        let name = format!("dta_{name}_{phase}");
        let mut tool = Tool::new(&name, &format!("{summary} {effect}"), &["target", "params"], properties.clone());
        if let Some(defs) = defs {
            tool.schema["$defs"] = defs.clone();
        }
        tool
    })
}

/// The tool of an MCP server, from a row of `mcp.tools`. Models know it by the name of its call, with `_` for what no name of a tool may
/// have.
pub fn of_server(server: &str, row: &Value) -> Tool {
    let text = |key: &str| text_of(row, key).unwrap_or_default();
    let call = call_name(server, &text("name"));
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let (name, schema) = (call.chars().map(plain).collect(), row["input_schema"].clone());
    Tool { name, description: text("description"), schema, served: Some(call) }
}

/// The tool of that name. `not_found` names the nearest.
pub fn find<'t>(tools: &'t [Tool], name: &str) -> Result<&'t Tool, Error> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let error = Error::new(Code::NotFound, format!("you have no tool `{}`", name.escape_debug()));
        match nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("your tools are {}", names.join(", "))),
        }
    })
}

/// The call that one of the tools here makes of checked parameters; none for a tool of another name.
pub fn call_of(name: &str, params: &Value) -> Result<Option<Call>, Error> {
    let text = |key: &str| text_of(params, key).unwrap_or_default();
    let texts = |key: &str| texts_of(params, key);
    Ok(Some(match name {
        "files_glob" => Call::FilesGlob { patterns: texts("patterns") },
        "files_read" => Call::FilesRead { path: text("path") },
        "files_grep" => Call::FilesGrep { regex: text("regex"), patterns: texts("patterns") },
        "apply_create" => Call::ApplyCreate { path: text("path"), text: text("text") },
        "apply_diff" => Call::ApplyDiff {
            path: text("path"),
            unified_diff: Some(text("unified_diff")),
            unified_diff_b64: None,
            checksum: text_of(params, "checksum"),
            strategy: Strategy::Write,
            // A model reads and writes lines; it hardly sees how they end.
            line_ends: if params["line_ends"] == "diff" { LineEnds::Diff } else { LineEnds::File },
        },
        "exec_run" => Call::ExecRun(Box::new(run_of(&texts("argv"), texts("writes"))?)),
        "dismiss_servitor" => Call::AgentDismiss { id: text("id") },
        _ => match (micro::Tool::ALL.into_iter().find(|edit| edit.as_str() == name), adapter(name)) {
            (Some(edit), _) => Call::EditMake(Box::new(Edit::parse(edit, params)?)),
            (None, Some((tool, Phase::Apply))) => Call::DtaRun { tool: tool.to_owned(), input: params.clone() },
            (None, Some((tool, Phase::Propose))) => Call::DtaPropose { tool: tool.to_owned(), input: params.clone() },
            (None, None) => return Ok(None),
        },
    }))
}

/// The half of an adapter's work that a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Proposes a change.
    Propose,
    /// Makes a change.
    Apply,
}

/// The adapter of a tool and what the tool does of its work; none if it is no tool of an adapter.
pub fn adapter(name: &str) -> Option<(&str, Phase)> {
    let rest = name.strip_prefix("dta_")?;
    let ends = |suffix, phase| rest.strip_suffix(suffix).map(|tool| (tool, phase));
    ends("_apply", Phase::Apply).or_else(|| ends("_propose", Phase::Propose))
}

/// The text of a parameter.
pub fn text_of(params: &Value, key: &str) -> Option<String> {
    params[key].as_str().map(str::to_owned)
}

/// The texts of a parameter; none at all if it is missing.
pub fn texts_of(params: &Value, key: &str) -> Vec<String> {
    params[key].as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// The schema of a list of texts.
pub fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string"}, "minItems": 1})
}

/// The command of a tool.
fn run_of(argv: &[String], writes: Vec<String>) -> Result<Run, Error> {
    let Some((program, args)) = argv.split_first() else {
        return Err(Error::new(Code::InvalidInput, "the command is empty"));
    };
    Ok(Run { program: program.clone(), args: args.to_vec(), writes, ..Run::default() })
}
