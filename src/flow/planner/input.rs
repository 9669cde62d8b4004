//! The input of a request: from the plan itself or from a file, and as the invocation of its adapter.

use serde_json::{Map, Value, json};

use super::{plan::Plan, tools::Tool};
use crate::Door;
use base::{
    call::Call,
    error::{Code, Error},
    hash::Sha256,
    json,
};
use system::schema::Schema;

/// The beginning of a reference into the plan.
const INPUTS: &str = "#/inputs/";

/// An input and its source.
pub(super) struct Input {
    pub(super) value: Value,
    /// The hash of the file that has it; none if the plan has it.
    pub(super) sha256: Option<Sha256>,
}

/// The input in the plan that a reference names; none if it names a file. `invalid_input` if the plan has no such input.
pub(super) fn named<'p>(plan: &'p Plan, reference: &str) -> Result<Option<&'p Value>, Error> {
    if let Some(name) = reference.strip_prefix(INPUTS) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let lacks = || Error::new(Code::InvalidInput, format!("the plan has no input `{}`", name.escape_debug()));
        return plan.inputs.get(&name).map(Some).ok_or_else(lacks);
    }
    if reference.starts_with('#') {
        let wrong = format!("`{}` is no reference to an input", reference.escape_debug());
        return Err(Error::new(Code::InvalidInput, wrong).hint("write `#/inputs/NAME`, or the path of a file"));
    }
    Ok(None)
}

/// Finds the input that a reference names. `invalid_input` if there is none.
pub(super) fn resolve(door: &mut dyn Door, plan: &Plan, reference: &str) -> Result<Input, Error> {
    if let Some(value) = named(plan, reference)? {
        return Ok(Input { value: value.clone(), sha256: None });
    }
    let text = door.perform(Call::FilesRead { path: reference.to_owned() })?;
    let text = text.as_str().unwrap_or_default();
    Ok(Input { value: parsed(reference, text)?, sha256: Some(Sha256::of(text.as_bytes())) })
}

/// The input that a file has. `invalid_input` if it is no JSON.
pub(super) fn parsed(path: &str, text: &str) -> Result<Value, Error> {
    json::parse_distinct(text)
        .map_err(|error| Error::new(Code::InvalidInput, format!("`{}` is no JSON: {error}", path.escape_debug())))
}

/// The invocation in a dry run, with everything that may be left out, checked against the schema of the adapter.
pub(super) fn invocation(tool: &Tool, input: &Value) -> Result<Value, Error> {
    let Value::Object(mut map) = input.clone() else {
        return Err(Error::new(Code::InvalidInput, "the input is no object")
            .hint("it is an invocation: `{\"target\": {\"glob\": …}, \"params\": {…}}`"));
    };
    map.insert("mode".to_owned(), json!("dry-run"));
    fill(&mut map, &[("tool", json!(tool.name)), ("version", json!(tool.version)), ("constraints", json!({}))]);
    if let Some(Value::Object(target)) = map.get_mut("target") {
        fill(target, &[("repo_path", json!("."))]);
    }
    if let Some(Value::Object(constraints)) = map.get_mut("constraints") {
        fill(
            constraints,
            &[("max_files", tool.max_files.clone()), ("timeout_ms", tool.timeout_ms.clone()), ("seed", json!(0))],
        );
    }
    let invocation = Value::Object(map);
    Schema::compile(&tool.input_schema)?.check(&invocation)?;
    Ok(invocation)
}

fn fill(map: &mut Map<String, Value>, values: &[(&str, Value)]) {
    for (key, value) in values {
        map.entry(*key).or_insert_with(|| value.clone());
    }
}
