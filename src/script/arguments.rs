//! A script's arguments: from `--arg K=V` and `--args FILE` to a value that fits the header's schema.

use serde_json::{Map, Value};

use crate::Header;
use base::error::{Code, Error, nearest};
use system::schema::Schema;

/// The most references and branches of a schema that are followed.
const MAX_NESTING: usize = 16;

/// Takes the given arguments, fills in defaults, and checks them against the schema.
///
/// `pairs` are `NAME=VALUE` as typed, and the schema's `type` decides how a value is read. A repeated pair is an array's next
/// item; arrays and objects may be written as JSON. Without a `type` the text is a value of `enum` or `const`, or a value of the
/// first branch of `anyOf` or `oneOf` that accepts it, or a string. `json` is a map; a pair of the same name wins.
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
        let value = Typed { name, text, root: &schema }.value(known.get(name), 0)?;
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
    let compiled = Schema::compile(schema)?;
    let Err(error) = compiled.check(args) else { return Ok(()) };
    let violations = compiled.violations(args);
    let name = violations.first().and_then(|first| first.pointer.split('/').nth(1));
    let message = match name {
        Some(name) => format!("the argument `{name}` is wrong: {error}"),
        None => format!("the arguments are wrong: {error}"),
    };
    let changed = Error::new(Code::Usage, message);
    let changed = error.details().iter().fold(changed, |changed, (key, value)| changed.detail(key, value.clone()));
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<_> =
        required.filter(|name| args.get(name).is_none()).map(|name| format!("--arg {name}=…")).collect();
    let known = "`nrv run SCRIPT --help` shows the script's arguments";
    Err(changed.hint(match missing.as_slice() {
        [] => known.to_owned(),
        missing => format!("add `{}`; {known}", missing.join(" ")),
    }))
}

/// The schema that a local `$ref` leads to, or the schema itself.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    // References that lead in a circle are never at their end.
    for _ in 0..MAX_NESTING {
        let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        match pointer.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// A text that was typed for an argument, and the whole schema that decides its type.
#[derive(Clone, Copy)]
struct Typed<'a> {
    name: &'a str,
    text: &'a str,
    root: &'a Value,
}

impl Typed<'_> {
    /// The text as a value of the type that a schema asks for.
    fn value(self, schema: Option<&Value>, depth: usize) -> Result<Value, Error> {
        let schema = schema.map(|schema| resolved(schema, self.root));
        let chosen = schema.filter(|schema| schema.get("type").is_none() && depth < MAX_NESTING);
        if let Some(value) = chosen.and_then(|schema| self.listed(schema).or_else(|| self.of_branch(schema, depth))) {
            return Ok(value);
        }
        let json = |fits: fn(&Value) -> bool, expected: &str| {
            serde_json::from_str::<Value>(self.text).ok().filter(fits).ok_or_else(|| self.wrong(expected))
        };
        match kind(schema) {
            "array" => json(Value::is_array, "an array").or_else(|_| {
                let items = schema.and_then(|schema| schema.get("items")).filter(|_| depth < MAX_NESTING);
                self.value(items, depth + 1).map(|item| Value::Array(vec![item]))
            }),
            "integer" => json(|value| value.is_i64() || value.is_u64(), "an integer"),
            "number" => json(Value::is_number, "a number"),
            "boolean" => json(Value::is_boolean, "`true` or `false`"),
            "object" => json(Value::is_object, "a JSON object"),
            "null" => json(Value::is_null, "`null`"),
            _ => Ok(Value::String(self.text.to_owned())),
        }
    }

    /// The value of `enum` or `const` that was typed, as a string or as JSON.
    fn listed(self, schema: &Value) -> Option<Value> {
        let listed = || schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
        let json = serde_json::from_str::<Value>(self.text).ok();
        let text = listed().find(|value| value.as_str() == Some(self.text));
        text.or_else(|| listed().find(|value| Some(*value) == json.as_ref())).cloned()
    }

    /// The text as a value of the first branch of `anyOf` or `oneOf`, if that branch accepts it.
    fn of_branch(self, schema: &Value, depth: usize) -> Option<Value> {
        let branches = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
        let mut values = branches.filter_map(|branch| {
            let value = self.value(Some(branch), depth + 1).ok()?;
            let mut alone = Map::from_iter([("allOf".to_owned(), Value::Array(vec![branch.clone()]))]);
            for key in ["$schema", "$defs", "definitions"] {
                alone.extend(self.root.get(key).map(|value| (key.to_owned(), value.clone())));
            }
            Schema::compile(&Value::Object(alone)).ok().filter(|schema| schema.accepts(&value)).map(|_| value)
        });
        values.next()
    }

    fn wrong(self, expected: &str) -> Error {
        let Typed { name, text, .. } = self;
        Error::new(Code::Usage, format!("the argument `{name}` must be {expected}, not `{text}`"))
            .detail("argument", name)
            .detail("pointer", format!("/{}", name.replace('~', "~0").replace('/', "~1")))
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
        fails(
            &[],
            None,
            Code::Usage,
            "the arguments are wrong: the field `to` is missing \
             (add `--arg to=…`; `nrv run SCRIPT --help` shows the script's arguments)",
        );
        let json = json!({"to": "x", "from": ["a", 1]});
        fails(
            &[],
            Some(json),
            Code::Usage,
            "the argument `from` is wrong: `/from/1`: must be a string, not a number \
             (`nrv run SCRIPT --help` shows the script's arguments)",
        );
        fails(&[], Some(json!([])), Code::Usage, "the arguments are not a JSON object ()");
    }

    /// Checks the value of a text under an argument's schema, or the code of its error.
    #[track_caller]
    fn becomes(schema: Value, text: &str, expected: Result<Value, Code>) {
        let defs =
            json!({"count": {"type": "integer"}, "again": {"$ref": "#/$defs/count"}, "loop": {"$ref": "#/$defs/loop"}});
        let args = json!({"type": "object", "properties": {"x": schema}, "$defs": defs});
        let header = Header { args: Some(args), ..Header::default() };
        let found = complete(&header, &[format!("x={text}")], None);
        assert_eq!(found.map(|args| args["x"].clone()).map_err(|error| error.code()), expected, "{text}");
    }

    #[test]
    fn references_in_the_schema_are_followed() {
        becomes(json!({"$ref": "#/$defs/count"}), "3", Ok(json!(3)));
        becomes(json!({"$ref": "#/$defs/again"}), "3", Ok(json!(3)));
        becomes(json!({"$ref": "#/$defs/count"}), "x", Err(Code::Usage));
        becomes(json!({"type": "array", "items": {"$ref": "#/$defs/count"}}), "3", Ok(json!([3])));
    }

    #[test]
    fn listed_values_keep_their_type() {
        let list = json!({"enum": ["a", 1, "2", 2, true, null]});
        for (text, value) in
            [("a", json!("a")), ("1", json!(1)), ("2", json!("2")), ("true", json!(true)), ("null", json!(null))]
        {
            becomes(list.clone(), text, Ok(value));
        }
        becomes(list, "b", Err(Code::Usage));
        becomes(json!({"const": 7}), "7", Ok(json!(7)));
    }

    #[test]
    fn the_first_branch_that_takes_the_text_decides() {
        let either =
            json!({"anyOf": [{"$ref": "#/$defs/count"}, {"type": "boolean"}, {"type": "string", "minLength": 2}]});
        for (text, value) in [("3", json!(3)), ("true", json!(true)), ("two", json!("two"))] {
            becomes(either.clone(), text, Ok(value));
        }
        becomes(either, "x", Err(Code::Usage));
        becomes(json!({"oneOf": [{"type": "integer", "maximum": 5}, {"type": "string"}]}), "7", Ok(json!("7")));
    }

    #[test]
    fn a_script_without_arguments_takes_none() {
        let error = complete(&Header::default(), &["a=1".to_owned()], None).unwrap_err();
        assert_eq!(error.hint_text(), Some("it takes none"));
        assert_eq!(complete(&Header::default(), &[], None).unwrap(), json!({}));
    }
}
