//! The parameters of a tool, in each of their spellings: canonical, in camel case, and the short names of plans and handles.

use serde_json::{Map, Value};

use super::{
    Edit, Kind, Tool,
    parameter::{Field, LINE, PATH, Parameter, Row, SELECTOR, row},
};
use crate::{
    error::{self, Code, Error},
    hash::Sha256,
};

/// The tool of a name in snake case or camel case; `not_found` names the nearest.
pub fn tool_of(name: &str) -> Result<Tool, Error> {
    let snake = snake_case(name);
    Tool::ALL.into_iter().find(|tool| tool.as_str() == snake).ok_or_else(|| {
        let error = Error::new(Code::NotFound, format!("there is no edit `{}`", name.escape_debug()));
        let names = || Tool::ALL.into_iter().map(Tool::as_str);
        error.hint(match error::nearest(&snake, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is {}", names().collect::<Vec<_>>().join(", ")),
        })
    })
}

/// A request as far as its parameters are read.
#[derive(Default)]
struct Draft {
    path: Option<String>,
    line: Option<u64>,
    column: Option<u64>,
    selector: Option<String>,
    element: Option<String>,
    name: Option<String>,
    old: Option<String>,
    new: Option<String>,
    nth: Option<u64>,
    relocate: bool,
    line_sha256: Option<Sha256>,
    file_sha256: Option<Sha256>,
    lines: Option<u64>,
}

impl Edit {
    /// Reads the parameters of a tool, in snake case or camel case. `target` may hold a handle, or a path with a line as in
    /// `src/App.tsx:12`; `path`, `line`, `old`, `new`, `from` and `to` are short for the canonical names.
    ///
    /// `invalid_input` names unknown and missing parameters.
    pub fn parse(tool: Tool, params: &Value) -> Result<Self, Error> {
        let Value::Object(params) = params else {
            return Err(wrong(tool, "its parameters are no map".to_owned()));
        };
        let mut draft = Draft::default();
        for (key, value) in params {
            draft.take(tool, key, value)?;
        }
        draft.finish(tool)
    }
}

impl Draft {
    /// Takes a parameter.
    fn take(&mut self, tool: Tool, key: &str, value: &Value) -> Result<(), Error> {
        let snake = snake_case(key);
        if let Some(field) = field_of(row(tool), &snake) {
            return self.set(tool, key, field, value);
        }
        match snake.as_str() {
            // A plan names its tool in each step, or gives a reason.
            "action" | "op" | "tool" => {
                let named = value.as_str().map(tool_of).transpose()?;
                if named == Some(tool) { Ok(()) } else { Err(wrong(tool, format!("`{key}` names another tool"))) }
            }
            "target" => self.target(tool, value),
            "column" => once(tool, key, &mut self.column, number(tool, key, value)?),
            "nth" => once(tool, key, &mut self.nth, number(tool, key, value)?),
            "lines" => once(tool, key, &mut self.lines, number(tool, key, value)?),
            "line_sha256" => once(tool, key, &mut self.line_sha256, hash(tool, key, value)?),
            "file_sha256" => once(tool, key, &mut self.file_sha256, hash(tool, key, value)?),
            "relocate" => match value {
                Value::Bool(given) => {
                    self.relocate = *given;
                    Ok(())
                }
                _ => Err(wrong(tool, format!("`{key}` is neither true nor false"))),
            },
            _ => Err(unknown(tool, key)),
        }
    }

    /// Takes a handle, or a path with a line.
    fn target(&mut self, tool: Tool, value: &Value) -> Result<(), Error> {
        match value {
            Value::String(text) => match text.rsplit_once(':') {
                Some((path, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) && !line.is_empty() => {
                    once(tool, "path", &mut self.path, path.to_owned())?;
                    let line = line.parse().map_err(|_| wrong(tool, format!("`{line}` is no line number")))?;
                    once(tool, "line", &mut self.line, line)
                }
                _ => {
                    Err(wrong(tool, "`target` is a handle, or a path with a line, such as `src/App.tsx:12`".to_owned()))
                }
            },
            Value::Object(handle) => self.handle(tool, handle),
            _ => Err(wrong(tool, "`target` is a handle, or a path with a line, such as `src/App.tsx:12`".to_owned())),
        }
    }

    /// Takes the place of a handle. What its text and its name are is looked up in the file.
    fn handle(&mut self, tool: Tool, handle: &Map<String, Value>) -> Result<(), Error> {
        for (key, value) in handle {
            match snake_case(key).as_str() {
                "kind" => drop(kind(tool, key, value)?),
                "text" => drop(text(tool, key, value)?),
                "name" => {
                    let name = text(tool, key, value)?;
                    if tool == Tool::AddAriaAttribute {
                        once(tool, "element", &mut self.element, name)?;
                    }
                }
                _ => self.take(tool, key, value)?,
            }
        }
        Ok(())
    }

    fn set(&mut self, tool: Tool, key: &str, field: Field, value: &Value) -> Result<(), Error> {
        match field {
            Field::Line => once(tool, key, &mut self.line, number(tool, key, value)?),
            Field::Path => once(tool, key, &mut self.path, text(tool, key, value)?),
            Field::Selector => once(tool, key, &mut self.selector, text(tool, key, value)?),
            Field::Element => once(tool, key, &mut self.element, text(tool, key, value)?),
            Field::Name => once(tool, key, &mut self.name, text(tool, key, value)?),
            Field::Old => once(tool, key, &mut self.old, literal(tool, key, value)?),
            Field::New => once(tool, key, &mut self.new, literal(tool, key, value)?),
        }
    }

    fn finish(self, tool: Tool) -> Result<Edit, Error> {
        self.check(tool)?;
        let called = |field: Field| {
            let own = if self.selector.is_some() { row(tool).by_selector } else { row(tool).by_line };
            own.iter().find(|one| one.field == field).map_or_else(String::new, |one| format!("`{}`", one.name))
        };
        let has = |field: Field| row(tool).by_line.iter().any(|one| one.field == field);
        let needs_element = has(Field::Element) && self.line.is_some() && self.column.is_none();
        let given = [
            (Field::Name, has(Field::Name), self.name.is_some()),
            (Field::Old, has(Field::Old), self.old.is_some()),
            (Field::Element, needs_element, self.element.is_some()),
            (Field::New, true, self.new.is_some()),
        ];
        if let Some((field, ..)) = given.into_iter().find(|(_, needed, given)| *needed && !given) {
            return Err(wrong(tool, format!("it needs {}", called(field))));
        }
        let Draft { path, line, column, selector, element, name, old, new, nth, relocate, line_sha256, .. } = self;
        Ok(Edit {
            tool,
            path: path.unwrap_or_default(),
            line,
            column,
            selector,
            element,
            name,
            old,
            new: new.unwrap_or_default(),
            nth,
            relocate,
            line_sha256,
            file_sha256: self.file_sha256,
            lines: self.lines,
        })
    }

    /// Checks the address.
    fn check(&self, tool: Tool) -> Result<(), Error> {
        let reason = match (self.line, &self.selector) {
            _ if self.path.is_none() => "it needs `file_path`",
            (_, Some(_)) if tool == Tool::UpdateImport => "an import has no selector",
            (Some(_), Some(_)) => "it takes a line or a selector, not both",
            (None, None) if tool != Tool::UpdateImport => "it needs `line_number` or `selector`",
            _ => return Ok(()),
        };
        Err(wrong(tool, reason.to_owned()))
    }
}

/// The part of a request that a parameter sets by its canonical or short name.
fn field_of(row: &Row, name: &str) -> Option<Field> {
    let common = [PATH, LINE, SELECTOR];
    let mut canonical = common.iter().chain(row.by_line).chain(row.by_selector);
    if let Some(Parameter { field, .. }) = canonical.find(|one| one.name == name) {
        return Some(*field);
    }
    let has = |field: Field| row.by_line.iter().any(|one| one.field == field);
    match name {
        "path" => Some(Field::Path),
        "line" => Some(Field::Line),
        "old" | "from" if has(Field::Old) => Some(Field::Old),
        "new" | "to" => Some(Field::New),
        "name" if has(Field::Name) => Some(Field::Name),
        _ => None,
    }
}

fn once<T>(tool: Tool, key: &str, place: &mut Option<T>, value: T) -> Result<(), Error> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(wrong(tool, format!("`{key}` is given twice, under two names"))),
    }
}

fn text(tool: Tool, key: &str, value: &Value) -> Result<String, Error> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(tool, format!("`{key}` is no text")))
}

/// A text, or a number or boolean of a prop, which models write as such.
fn literal(tool: Tool, key: &str, value: &Value) -> Result<String, Error> {
    match value {
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => text(tool, key, value),
    }
}

fn kind(tool: Tool, key: &str, value: &Value) -> Result<Kind, Error> {
    serde_json::from_value(value.clone()).map_err(|_| wrong(tool, format!("`{key}` is no kind of target")))
}

fn number(tool: Tool, key: &str, value: &Value) -> Result<u64, Error> {
    // Some models write 12.0.
    let whole = |number: f64| {
        let is_whole = number.fract() == 0.0 && (1.0..=9_007_199_254_740_992.0).contains(&number);
        is_whole.then(|| format!("{number:.0}").parse::<u64>().ok()).flatten()
    };
    let number = value.as_u64().or_else(|| value.as_f64().and_then(whole)).filter(|number| *number > 0);
    number.ok_or_else(|| wrong(tool, format!("`{key}` is no whole number from 1 on")))
}

fn hash(tool: Tool, key: &str, value: &Value) -> Result<Sha256, Error> {
    serde_json::from_value(value.clone()).map_err(|_| wrong(tool, format!("`{key}` is no SHA-256 hash")))
}

fn unknown(tool: Tool, key: &str) -> Error {
    let known: Vec<&str> = [PATH, LINE, SELECTOR]
        .iter()
        .chain(row(tool).by_line)
        .chain(row(tool).by_selector)
        .map(|one| one.name)
        .chain(["nth", "relocate", "target"])
        .collect();
    let error = wrong(tool, format!("it has no parameter `{}`", key.escape_debug()));
    match error::nearest(&snake_case(key), known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// An error with the parameters that the tool takes.
fn wrong(tool: Tool, reason: String) -> Error {
    let names = |first: &[&Parameter], own: &[Parameter]| {
        let all: Vec<&str> = first.iter().copied().chain(own).map(|one| one.name).collect();
        all.join(", ")
    };
    let Row { by_line, by_selector, .. } = row(tool);
    let address: &[&Parameter] = if tool == Tool::UpdateImport { &[&PATH] } else { &[&PATH, &SELECTOR] };
    Error::new(Code::InvalidInput, format!("`{}` can't be used so: {reason}", tool.as_str())).hint(format!(
        "its parameters are {}; or {}",
        names(&[&PATH, &LINE], by_line),
        names(address, by_selector)
    ))
}

/// A name in camel case as one in snake case.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn parsed(tool: &str, params: &Value) -> Edit {
        Edit::parse(tool_of(tool).unwrap(), params).unwrap()
    }

    #[track_caller]
    fn refused(tool: &str, params: &Value, word: &str) {
        let error = tool_of(tool).and_then(|tool| Edit::parse(tool, params)).unwrap_err();
        let said = format!("{} ({})", error.message(), error.hint_text().unwrap_or_default());
        assert!(said.contains(word), "{said}");
    }

    #[test]
    fn every_spelling_means_the_same() {
        let canonical =
            json!({"file_path": "a.tsx", "line_number": 3, "old_class_name": "p-2", "new_class_name": "p-4"});
        let camel = json!({"filePath": "a.tsx", "lineNumber": 3.0, "oldClassName": "p-2", "newClassName": "p-4"});
        let short = json!({"path": "a.tsx", "line": 3, "old": "p-2", "new": "p-4"});
        let plan = json!({"action": "updateClassName", "target": "a.tsx:3", "from": "p-2", "to": "p-4"});
        let handle = json!({"target": {"path": "a.tsx", "line": 3}, "old": "p-2", "new": "p-4"});
        let first = parsed("update_class_name", &canonical);
        for other in [camel, short, plan, handle] {
            assert_eq!(parsed("updateClassName", &other), first);
        }
        let aria = json!({"path": "a", "line": 1, "element": "b", "name": "aria-label", "value": "x"});
        let edit = parsed("addAriaAttribute", &aria);
        assert_eq!((edit.name.as_deref(), edit.new.as_str()), (Some("aria-label"), "x"));
    }

    #[test]
    fn wrong_parameters_are_named() {
        let class = |more: Value| {
            let mut params = json!({"path": "a", "line": 1, "old": "a", "new": "b"});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            params
        };
        refused("update_class_nam", &json!({}), "did you mean `update_class_name`?");
        refused("update_class_name", &class(json!({"selector": "a"})), "not both");
        refused("update_class_name", &class(json!({"oldClas": "a"})), "did you mean `old_class`?");
        refused("update_class_name", &class(json!({"from": "a"})), "given twice");
        refused("update_class_name", &class(json!({"line": 0})), "`line` is no whole number");
        refused("update_class_name", &json!({"path": "a", "line": 1, "old": "a"}), "`new_class_name`");
        refused("update_class_name", &json!({"path": "a", "old": "a", "new": "b"}), "`line_number` or `selector`");
        refused("update_prop_value", &json!({"path": "a", "line": 1, "old": "a", "new": "b"}), "`prop`");
        refused("update_import", &json!({"path": "a", "selector": "a", "old": "a", "new": "b"}), "no selector");
        refused("update_import", &json!([]), "no map");
    }
}
