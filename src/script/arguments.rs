//! A script's arguments: from `--arg K=V` and `--args FILE` to a value that fits the header's schema.

use serde_json::{Map, Value};

use crate::{
    error::{Code, Error, nearest},
    schema::Schema,
    script::Header,
};

/// Takes what was given, fills in defaults, and checks the whole.
///
/// `pairs` are `NAME=VALUE` as typed, taken as what the schema's `type` says: a repeated one is an array's next item, and
/// arrays and objects may be written as JSON. `json` is a map; a pair of the same name wins.
pub fn complete(header: &Header, pairs: &[String], json: Option<&Value>) -> Result<Value, Error> {
    let none = Map::new();
    let schema = header.args.clone().unwrap_or_else(|| serde_json::json!({"type": "object"}));
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let mut args = match json {
        None => Map::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(_) => return Err(Error::new(Code::Usage, "the arguments are not a JSON object")),
    };
    let mut typed: Map<String, Value> = Map::new();
    for pair in pairs {
        let Some((name, text)) = pair.split_once('=') else {
            return Err(
                Error::new(Code::Usage, format!("the argument `{pair}` has no value")).hint("write `--arg NAME=VALUE`")
            );
        };
        let value = coerce(name, text, known.get(name))?;
        match (typed.get_mut(name), value) {
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
            (Some(_), _) => {
                return Err(Error::new(Code::Usage, format!("the argument `{name}` is given twice")));
            }
            (None, value) => drop(typed.insert(name.to_owned(), value)),
        }
    }
    args.extend(typed);
    refuse_unknown(&args, known, &schema)?;
    fill_in(&mut args, known);
    let args = Value::Object(args);
    check(&args, &schema)?;
    Ok(args)
}

/// Fills in the defaults of properties, also of those inside objects that are there.
fn fill_in(args: &mut Map<String, Value>, known: &Map<String, Value>) {
    for (name, schema) in known {
        if let (false, Some(default)) = (args.contains_key(name), schema.get("default")) {
            args.insert(name.clone(), default.clone());
        }
        if let (Some(Value::Object(inner)), Some(Value::Object(known))) = (args.get_mut(name), schema.get("properties"))
        {
            fill_in(inner, known);
        }
    }
}

fn refuse_unknown(args: &Map<String, Value>, known: &Map<String, Value>, schema: &Value) -> Result<(), Error> {
    let open = |key: &str| schema.get(key).is_some_and(|value| *value != Value::Bool(false));
    if open("additionalProperties") || open("patternProperties") {
        return Ok(());
    }
    let Some(name) = args.keys().find(|name| !known.contains_key(*name)) else { return Ok(()) };
    let error =
        Error::new(Code::Usage, format!("the script has no argument `{name}`")).detail("argument", name.as_str());
    Err(match nearest(name, known.keys().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.hint("it takes none"),
        None => error.hint(format!("it takes {}", known.keys().cloned().collect::<Vec<_>>().join(", "))),
    })
}

fn check(args: &Value, schema: &Value) -> Result<(), Error> {
    let schema = Schema::compile(schema)?;
    let Err(error) = schema.check(args) else { return Ok(()) };
    let violations = schema.violations(args);
    let name = violations.first().and_then(|first| first.pointer.split('/').nth(1));
    let message = match name {
        Some(name) => format!("the argument `{name}` is wrong: {error}"),
        None => format!("the arguments are wrong: {error}"),
    };
    let changed = Error::new(error.code(), message);
    Err(error.details().iter().fold(changed, |changed, (key, value)| changed.detail(key, value.clone())))
}

/// What was typed as what the schema asks for.
fn coerce(name: &str, text: &str, schema: Option<&Value>) -> Result<Value, Error> {
    let json = || serde_json::from_str::<Value>(text);
    match kind(schema) {
        "array" => match json() {
            Ok(array @ Value::Array(_)) => Ok(array),
            _ => {
                let items = schema.and_then(|schema| schema.get("items"));
                coerce(name, text, items).map(|item| Value::Array(vec![item]))
            }
        },
        "integer" => {
            json().ok().filter(|value| value.is_i64() || value.is_u64()).ok_or_else(|| wrong(name, text, "an integer"))
        }
        "number" => json().ok().filter(Value::is_number).ok_or_else(|| wrong(name, text, "a number")),
        "boolean" => json().ok().filter(Value::is_boolean).ok_or_else(|| wrong(name, text, "`true` or `false`")),
        "object" => json().ok().filter(Value::is_object).ok_or_else(|| wrong(name, text, "a JSON object")),
        "null" => json().ok().filter(Value::is_null).ok_or_else(|| wrong(name, text, "`null`")),
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// The type that a schema asks for; of several the first that is not null.
pub(super) fn kind(schema: Option<&Value>) -> &str {
    match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null")
        }
        _ => "string",
    }
}

fn wrong(name: &str, text: &str, expected: &str) -> Error {
    Error::new(Code::Usage, format!("the argument `{name}` must be {expected}, not `{text}`"))
        .detail("argument", name)
        .detail("pointer", format!("/{}", name.replace('~', "~0").replace('/', "~1")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn header() -> Header {
        let schema = json!({
            "type": "object",
            "properties": {
                "from": {"type": "array", "items": {"type": "string"}},
                "counts": {"type": "array", "items": {"type": "integer"}},
                "to": {"type": "string"},
                "glob": {"type": "string", "default": "site/**"},
                "n": {"type": ["integer", "null"], "minimum": 2},
                "ratio": {"type": "number"},
                "deep": {"type": "object", "properties": {"x": {"default": 1}, "y": {}}},
                "yes": {"type": "boolean"},
            },
            "required": ["to"],
        });
        Header { args: Some(schema), ..Header::default() }
    }

    #[track_caller]
    fn gives(pairs: &[&str], json: Option<Value>, expected: Value) {
        let pairs: Vec<_> = pairs.iter().map(|&pair| pair.to_owned()).collect();
        assert_eq!(complete(&header(), &pairs, json.as_ref()).unwrap(), expected);
    }

    #[track_caller]
    fn fails(pairs: &[&str], json: Option<Value>, code: Code, expected: &str) {
        let pairs: Vec<_> = pairs.iter().map(|&pair| pair.to_owned()).collect();
        let error = complete(&header(), &pairs, json.as_ref()).unwrap_err();
        let text = format!("{error} ({})", error.hint_text().unwrap_or_default());
        assert_eq!((error.code(), text.as_str()), (code, expected));
    }

    #[test]
    fn text_becomes_what_the_schema_asks_for() {
        gives(
            &[
                "to=1",
                "from=a",
                "from=b",
                "n=3",
                "ratio=1.5",
                "yes=true",
                "deep={\"y\": 2}",
                "counts=[1, 2]",
                "counts=3",
            ],
            None,
            json!({"to": "1", "from": ["a", "b"], "n": 3, "ratio": 1.5, "yes": true, "deep": {"x": 1, "y": 2},
                "counts": [1, 2, 3], "glob": "site/**"}),
        );
        gives(&["to=a=b"], Some(json!({"to": "x", "n": null})), json!({"to": "a=b", "n": null, "glob": "site/**"}));
    }

    #[test]
    fn what_does_not_fit_says_so() {
        fails(&["to"], None, Code::Usage, "the argument `to` has no value (write `--arg NAME=VALUE`)");
        fails(&["to=1", "to=2"], None, Code::Usage, "the argument `to` is given twice ()");
        fails(&["to=1", "n=many"], None, Code::Usage, "the argument `n` must be an integer, not `many` ()");
        fails(&["to=1", "counts=x"], None, Code::Usage, "the argument `counts` must be an integer, not `x` ()");
        fails(&["to=1", "form=x"], None, Code::Usage, "the script has no argument `form` (did you mean `from`?)");
        fails(&[], None, Code::InvalidInput, "the arguments are wrong: the field `to` is missing ()");
        let json = json!({"to": "x", "from": ["a", 1]});
        fails(
            &[],
            Some(json),
            Code::InvalidInput,
            "the argument `from` is wrong: `/from/1`: must be a string, not a number ()",
        );
        fails(&[], Some(json!([])), Code::Usage, "the arguments are not a JSON object ()");
    }

    #[test]
    fn a_script_without_arguments_takes_none() {
        let error = complete(&Header::default(), &["a=1".to_owned()], None).unwrap_err();
        assert_eq!(error.hint_text(), Some("it takes none"));
        assert_eq!(complete(&Header::default(), &[], None).unwrap(), json!({}));
    }
}
