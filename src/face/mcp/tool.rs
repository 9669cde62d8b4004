//! The tools of the server: names, schemas and hints, made from the registries, and the work that a request to one of them is.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use rmcp::model::{Tool as Wire, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::{run::Work, script::Runnable};
use base::{
    call::{Call, Command, Strategy, Summon},
    error::{Code, Error},
    micro::{Find, Kind},
};
use flow::tool::{self, Phase, Tool, text_of, texts};
use host::{Context, describe_adapter};
use system::schema::Schema;

/// The tools that are no call of a run.
pub(super) const RUN_SCRIPT: &str = "run_script";
pub(super) const ROLLBACK: &str = "rollback";
pub(super) const RUN_OPEN: &str = "run_open";
pub(super) const RUN_CLOSE: &str = "run_close";

/// The effect of a tool, as its hints tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// It only reads.
    Reads,
    /// It changes the state of the run, nothing else.
    Manages,
    /// It changes files, or starts programs.
    Acts,
}

/// A tool that is offered.
pub(super) struct Offer {
    pub(super) tool: Tool,
    /// As clients are told of it.
    pub(super) wire: Wire,
    /// The schema of its parameters, compiled when it is first needed.
    schema: OnceLock<Result<Schema, Error>>,
}

impl Offer {
    /// Checks the parameters of a request; `invalid_input` names the violations.
    pub(super) fn check(&self, params: &Value) -> Result<(), Error> {
        let schema = self.schema.get_or_init(|| Schema::compile(&self.tool.schema));
        let checked = schema.as_ref().map_err(Clone::clone)?.check(params);
        checked.map_err(|error| error.within(format!("the parameters of `{}`", self.tool.name)))
    }
}

/// The tools of a workspace under its policy, sorted by name.
pub(super) fn offers(context: &Context, scripts: &[Runnable]) -> Result<Vec<Offer>, Error> {
    let mut offers: Vec<Offer> = tool::standard().into_iter().map(standard).collect();
    offers.extend(own().into_iter().map(|(tool, effect, result)| offer(tool, effect, result)));
    offers.push(offer(run_script(scripts), Effect::Acts, schema_of("finished")));
    let approved = context.policy.settings().adapters.approved.as_ref();
    for adapter in context.options.adapters.all() {
        if approved.is_some_and(|list| !list.iter().any(|name| name == adapter.name())) || adapter.check().is_err() {
            continue;
        }
        let described = describe_adapter(adapter, &context.policy)?;
        let [propose, apply] = tool::of_adapter(adapter.name(), adapter.summary(), &described["input_schema"]);
        offers.push(offer(propose, Effect::Reads, json!({"type": "object"})));
        offers.push(offer(applying(apply), Effect::Acts, described["output_schema"].clone()));
    }
    offers.sort_by(|one, other| one.tool.name.cmp(&other.tool.name));
    Ok(offers)
}

/// The work that a request to a tool is; the parameters are checked. None for a tool that is no work of a run.
pub(super) fn work_of(name: &str, params: &Value) -> Result<Option<Work>, Error> {
    if let Some((adapter, Phase::Apply)) = tool::adapter(name)
        && let Some(proposal) = text_of(params, "proposal")
    {
        if params.get("target").is_some() || params.get("params").is_some() {
            return Err(Error::new(
                Code::InvalidInput,
                "a proposal is applied as it is, without `target` and `params`",
            ));
        }
        return Ok(Some(Work::Apply { tool: adapter.to_owned(), proposal }));
    }
    let text = |key: &str| text_of(params, key).unwrap_or_default();
    let call = match name {
        "edit_find" => Call::EditFind(Box::new(find_of(params)?)),
        "apply_plan" => Call::ApplyPlan {
            plan: params["plan"].clone(),
            strategy: Strategy::Write,
            strict: params["strict"].as_bool().unwrap_or_default(),
        },
        "gate_evaluate_command" => Call::GateEvaluateCommand { command: command_of(&params["command"]) },
        "gate_evaluate_tool_use" => {
            Call::GateEvaluateToolUse { tool: text("tool"), params: params.get("params").cloned().unwrap_or_default() }
        }
        "gate_evaluate_edit" => Call::GateEvaluateEdit {
            path: text("path"),
            content: text("content"),
            diff_lines: params["diff_lines"].as_u64().unwrap_or_default(),
        },
        "summon_servitor" => Call::AgentSummon(Box::new(Summon {
            name: text_of(params, "name"),
            assignment: text_of(params, "assignment"),
            ..Summon::default()
        })),
        RUN_OPEN => return Ok(Some(Work::Open)),
        _ => match tool::call_of(name, params)? {
            Some(call) => call,
            None => return Ok(None),
        },
    };
    Ok(Some(Work::Call(Box::new(call))))
}

fn find_of(params: &Value) -> Result<Find, Error> {
    serde_json::from_value(params.clone()).map_err(|error| Error::new(Code::InvalidInput, error.to_string()))
}

fn command_of(command: &Value) -> Command {
    match command {
        Value::Array(words) => {
            Command::Argv(words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect())
        }
        line => Command::Line(line.as_str().unwrap_or_default().to_owned()),
    }
}

/// A tool that agents have, too.
fn standard(mut tool: Tool) -> Offer {
    let (effect, result) = match tool.name.as_str() {
        "files_glob" => (Effect::Reads, texts()),
        "files_read" => (Effect::Reads, json!({"type": "string"})),
        "files_grep" => (Effect::Reads, json!({"type": "array", "items": {"type": "object"}})),
        "apply_create" => (Effect::Acts, schema_of("apply_outcome")),
        "apply_diff" => {
            let doc = "The SHA-256 that the file must have, in hexadecimal.";
            tool.schema["properties"]["checksum"] = json!({"type": "string", "description": doc});
            (Effect::Acts, schema_of("apply_outcome"))
        }
        "exec_run" => (Effect::Acts, schema_of("exec_outcome")),
        _ => (Effect::Acts, schema_of("edit_outcome")),
    };
    let result = if result == texts() { json!({"type": "array", "items": {"type": "string"}}) } else { result };
    offer(tool, effect, result)
}

/// The tools that agents do not have, each with its effect and the schema of its result.
fn own() -> Vec<(Tool, Effect, Value)> {
    [changing(), judging(), managing()].concat()
}

fn text() -> Value {
    json!({"type": "string"})
}

fn map() -> Value {
    json!({"type": "object"})
}

fn maps() -> Value {
    json!({"type": "array", "items": map()})
}

/// The tools that are about changes of files.
fn changing() -> Vec<(Tool, Effect, Value)> {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    let (plan, _) = described(schema_of("apply_plan"));
    let find = Tool::new(
        "edit_find",
        "Finds the targets of micro-edits, as handles.",
        &["kind", "patterns"],
        json!({"kind": {"enum": kinds}, "patterns": texts(), "selector": text(), "text": text(), "name": text()}),
    );
    let plan = Tool::new(
        "apply_plan",
        "Applies the diffs of a plan in their order, all or none.",
        &["plan"],
        json!({"plan": plan, "strict": {"type": "boolean"}}),
    );
    let rollback = Tool::new(
        ROLLBACK,
        "Undoes exactly what a run changed, or the change at one of its positions. Refuses if a later change is in the way.",
        &["run"],
        json!({"run": text(), "position": text(), "keep_later": {"type": "boolean"}}),
    );
    vec![(find, Effect::Reads, maps()), (plan, Effect::Acts, maps()), (rollback, Effect::Acts, map())]
}

/// The tools that ask the gates.
fn judging() -> Vec<(Tool, Effect, Value)> {
    let command = Tool::new(
        "gate_evaluate_command",
        "Returns the verdict of the gates on a command: a line for a shell, or a program and its arguments. Runs nothing.",
        &["command"],
        json!({"command": {"anyOf": [text(), {"type": "array", "items": text()}]}}),
    );
    let tool = Tool::new(
        "gate_evaluate_tool_use",
        "Returns the verdict of the gates on the use of a tool. Uses nothing.",
        &["tool"],
        json!({"tool": text(), "params": {}}),
    );
    let edit = Tool::new(
        "gate_evaluate_edit",
        "Returns the verdict of the gates on an edit: a file and its new content. Writes nothing.",
        &["path", "content"],
        json!({"path": text(), "content": text(), "diff_lines": {"type": "integer", "minimum": 0}}),
    );
    [command, tool, edit].map(|tool| (tool, Effect::Reads, schema_of("verdict"))).to_vec()
}

/// The tools that are about the run itself.
fn managing() -> Vec<(Tool, Effect, Value)> {
    let summon = Tool::new(
        "summon_servitor",
        "Summons an agent in the record of the run. Without a name it gets one.",
        &[],
        json!({"assignment": text(), "name": text()}),
    );
    let about = "Dismisses an agent, with those that it has summoned.";
    let dismiss = Tool::new("dismiss_servitor", about, &["id"], json!({"id": text()}));
    let open = Tool::new(RUN_OPEN, "Opens a run. Every tool takes its id as `run`.", &[], json!({}));
    let close = Tool::new(RUN_CLOSE, "Ends a run and seals its record.", &["run"], json!({"run": text()}));
    let opened = json!({"type": "object", "required": ["run"], "properties": {"run": text(), "mode": text()}});
    vec![
        (summon, Effect::Manages, map()),
        (dismiss, Effect::Manages, map()),
        (open, Effect::Manages, opened),
        (close, Effect::Manages, schema_of("finished")),
    ]
}

/// The tool that runs approved scripts, with the schema of the arguments of each.
fn run_script(scripts: &[Runnable]) -> Tool {
    let list: Vec<String> = scripts.iter().map(|script| format!("{}: {}", script.path, script.summary)).collect();
    let args: Vec<Value> = scripts.iter().map(Runnable::args).collect();
    let paths: Vec<&str> = scripts.iter().map(|script| script.path.as_str()).collect();
    let script = if paths.is_empty() { json!({"type": "string"}) } else { json!({"enum": paths}) };
    let args = if args.is_empty() { json!({"type": "object"}) } else { json!({"anyOf": args}) };
    let description = match list.as_slice() {
        [] => "Runs an approved script. None is approved here.".to_owned(),
        list => format!("Runs an approved script.\n{}", list.join("\n")),
    };
    let properties = json!({"script": script, "args": args, "dry_run": {"type": "boolean"}});
    Tool::new(RUN_SCRIPT, &description, &["script"], properties)
}

/// The tool of an adapter that applies: a proposal, or what it proposes now.
fn applying(mut tool: Tool) -> Tool {
    let doc =
        "The id of a proposal of this run, which is applied as it was shown. Leave `target` and `params` out then.";
    tool.schema["properties"]["proposal"] = json!({"type": "string", "description": doc});
    tool.schema["required"] = json!([]);
    tool
}

fn offer(mut tool: Tool, effect: Effect, result: Value) -> Offer {
    let annotations = match effect {
        Effect::Reads => ToolAnnotations::new().read_only(true).destructive(false).idempotent(true),
        Effect::Manages => ToolAnnotations::new().read_only(false).destructive(false).idempotent(false),
        Effect::Acts => ToolAnnotations::new().read_only(false).destructive(true).idempotent(false),
    };
    let doc = "The run that the call belongs to, as `run_open` named it.";
    if tool.schema["properties"].get("run").is_none() && tool.name != RUN_OPEN {
        tool.schema["properties"]["run"] = json!({"type": "string", "description": doc});
    }
    let input = tool.schema.as_object().cloned().unwrap_or_default();
    let (result, defs) = described(result);
    let mut output = json!({
        "type": "object",
        "properties": {
            "run": {"type": "string", "description": "The run in whose record the call stands."},
            "result": result,
            "error": {"type": "object", "description": "The reason for which the call failed."},
        },
    });
    if let Some(defs) = defs {
        output["$defs"] = defs;
    }
    let output: Map<String, Value> = output.as_object().cloned().unwrap_or_default();
    let mut wire = Wire::new(tool.name.clone(), Cow::Owned(tool.description.clone()), Arc::new(input));
    wire.output_schema = Some(Arc::new(output));
    wire.annotations = Some(annotations.open_world(effect == Effect::Acts && tool.name == "exec_run"));
    Offer { tool, wire, schema: OnceLock::new() }
}

/// A schema as a part of another, and its definitions, which belong to the whole.
fn described(mut schema: Value) -> (Value, Option<Value>) {
    let Value::Object(map) = &mut schema else { return (schema, None) };
    map.remove("$schema");
    map.remove("$id");
    let defs = map.remove("$defs");
    (schema, defs)
}

/// A published schema.
fn schema_of(name: &str) -> Value {
    super::resource::schema(name).unwrap_or_else(|| json!({"type": "object"}))
}
