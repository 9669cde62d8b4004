//! The tools as language models are told of them, and the schemas of their parameters.

use serde_json::{Map, Value, json};

use super::{
    Tool,
    parameter::{Field, LINE, PATH, Parameter, Row, SELECTOR, row},
};
use crate::error::{Code, Error};

/// The address of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// A line.
    #[default]
    Line,
    /// A selector; for imports the file alone.
    Selector,
}

impl By {
    /// The address of a name; `invalid_input` if there is none.
    pub fn parse(name: &str) -> Result<Self, Error> {
        match name {
            "line" => Ok(By::Line),
            "selector" => Ok(By::Selector),
            _ => Err(Error::new(Code::InvalidInput, format!("`{}` is no address of targets", name.escape_debug()))
                .hint("it is `line` or `selector`")),
        }
    }
}

/// The tools as models are told of them: `{name, description, input_schema}`, sorted by name.
pub fn definitions(by: By) -> Vec<Value> {
    Tool::ALL.into_iter().map(|tool| definition(tool, by)).collect()
}

/// One tool as models are told of it.
pub fn definition(tool: Tool, by: By) -> Value {
    let row = row(tool);
    let address = match (by, tool) {
        (By::Line, _) => "The target is on the given line.",
        (By::Selector, Tool::UpdateImport) => "The path has to occur in one import of the file.",
        (By::Selector, _) => "A selector finds the target.",
    };
    let description = format!(
        "{}. {address} Changes one place on one line, and nothing else. Fails if the present text is not there.",
        row.purpose
    );
    json!({"name": tool.as_str(), "description": description, "input_schema": parameters(row, by)})
}

/// The JSON Schema of a tool's parameters, by line or by selector.
pub fn schema(tool: Tool) -> Value {
    let row = row(tool);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("Parameters of {}", tool.as_str()),
        "description": format!("{}. Changes one place on one line, and nothing else.", row.purpose),
        "oneOf": [parameters(row, By::Line), parameters(row, By::Selector)],
    })
}

fn parameters(row: &Row, by: By) -> Value {
    let (address, own) = match (by, row.tool) {
        (By::Line, _) => (Some(LINE), row.by_line),
        (By::Selector, Tool::UpdateImport) => (None, row.by_selector),
        (By::Selector, _) => (Some(SELECTOR), row.by_selector),
    };
    let all: Vec<&Parameter> = [&PATH].into_iter().chain(address.as_ref()).chain(own).collect();
    let properties: Map<String, Value> =
        all.iter().map(|one| (one.name.to_owned(), property(one))).chain(nth(by)).collect();
    let required: Vec<&str> = all.iter().map(|one| one.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The parameter that chooses one of several matches.
fn nth(by: By) -> Option<(String, Value)> {
    let doc = match by {
        By::Line => "The number of the match on the line, from 1, if there are several.",
        By::Selector => "The number of the match in the file, from 1, if there are several.",
    };
    Some(("nth".to_owned(), json!({"type": "integer", "minimum": 1, "description": doc})))
}

fn property(parameter: &Parameter) -> Value {
    match parameter.field {
        Field::Line => json!({"type": "integer", "minimum": 1, "description": parameter.doc}),
        Field::Path | Field::Selector | Field::Element | Field::Name | Field::Old | Field::New => {
            json!({"type": "string", "description": parameter.doc})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_has_the_canonical_parameters() {
        let required = |tool, by| definition(tool, by)["input_schema"]["required"].clone();
        assert_eq!(
            required(Tool::UpdateClassName, By::Line),
            json!(["file_path", "line_number", "old_class_name", "new_class_name"])
        );
        assert_eq!(
            required(Tool::UpdateClassName, By::Selector),
            json!(["file_path", "selector", "old_class", "new_class"])
        );
        assert_eq!(required(Tool::UpdateImport, By::Selector), json!(["file_path", "old_path", "new_path"]));
        assert_eq!(
            required(Tool::AddAriaAttribute, By::Line),
            json!(["file_path", "line_number", "element", "attribute", "value"])
        );
        assert_eq!(definitions(By::Line).len(), 6);
        for by in [By::Line, By::Selector] {
            assert!(definitions(by).iter().all(|one| one["input_schema"]["additionalProperties"] == false));
        }
    }
}
