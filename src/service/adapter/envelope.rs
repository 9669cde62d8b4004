//! The JSON Schemas of an adapter's input and output, from its parameters and counts.

use serde_json::{Map, Value, json};

use super::{Adapter, contract::Counted, survey};
use base::error::{Code, Error};

/// The counts of a [`survey`](survey::survey).
pub const SURVEYED: [(&str, &str); 3] = [
    (survey::FILES_SCANNED, "Files that were read as their format."),
    (survey::FILES_SKIPPED, "Files that were left alone, each with a reason in the baseline artefact."),
    (survey::FILES_IGNORED, "Files under the glob that are not looked at, by their name."),
];

/// The number of changed files.
pub const FILES: (&str, &str) = ("files", "Changed files.");

/// The schema of an invocation. `internal` if the adapter's schema of parameters is no JSON object.
pub fn input_schema(adapter: &dyn Adapter) -> Result<Value, Error> {
    let mut params: Value =
        serde_json::from_str(adapter.params_schema()).ok().filter(Value::is_object).ok_or_else(|| {
            let wrong = format!("the schema of the parameters of `{}` is no JSON object", adapter.name());
            Error::new(Code::Internal, wrong)
        })?;
    // Its references are from the root of the schema.
    let definitions = params.as_object_mut().and_then(|params| params.remove("$defs"));
    let name = json!({"type": "string", "minLength": 1});
    let number = |least: u64| json!({"type": "integer", "minimum": least, "maximum": 9_007_199_254_740_992_u64});
    let mut schema = closed(json!({
        "tool": {"const": adapter.name()},
        "version": {"const": adapter.version()},
        "mode": {"enum": ["dry-run", "apply"]},
        "target": closed(json!({
            "repo_path": {
                "type": "string", "minLength": 1,
                "description": "`.`, or a folder of the workspace beneath which the globs are.",
            },
            "glob": {
                "description": "One glob or several; `!` excludes.",
                "anyOf": [name, {"type": "array", "minItems": 1, "items": name}],
            },
        })),
        "params": params,
        "constraints": closed(json!({"max_files": number(1), "timeout_ms": number(1), "seed": number(0)})),
    }));
    head(&mut schema, adapter, "input");
    if let Some(definitions) = definitions {
        schema["$defs"] = definitions;
    }
    Ok(schema)
}

/// The schema of an output.
pub fn output_schema(adapter: &dyn Adapter) -> Value {
    let Counted { baseline, changes, .. } = adapter.counts();
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let changes = counts(&changes);
    let mut failure = closed(json!({
        "check": {"type": "string"}, "path": {"type": "string"}, "reason": {"type": "string"},
    }));
    failure["required"] = json!(["check", "reason"]);
    let mut remarks = texts.clone();
    remarks["description"] = json!(
        "Other facts, such as samples that redirect, or a program that measured itself; left out if there are none."
    );
    let mut verifier = closed(json!({
        "passed": {"type": "boolean"},
        "checks": texts,
        "sample_size": {"type": "integer", "minimum": 0, "description": "Links tried over the network."},
        "failures": {"type": "array", "items": failure},
        "remarks": remarks,
    }));
    optional(&mut verifier, "remarks");
    let mut schema = closed(json!({
        "tool": {"const": adapter.name()},
        "ok": {"type": "boolean"},
        "phase": {"enum": ["dry-run", "apply", "verify"]},
        "baseline": counts(&baseline),
        "proposed_changes": changes,
        "applied_changes": changes,
        "undone": {
            "type": "boolean",
            "description": "True if the change was made and undone; `applied_changes` are zeros then. Left out otherwise.",
        },
        "run": {
            "type": "string",
            "description": "The run: the artefacts stand below `.runs/RUN`. Outside of a run there is none.",
        },
        "artifacts": texts,
        "verifier": verifier,
    }));
    optional(&mut schema, "run");
    optional(&mut schema, "undone");
    head(&mut schema, adapter, "output");
    schema
}

fn head(schema: &mut Value, adapter: &dyn Adapter, side: &str) {
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(format!("{}: {side}", adapter.name()));
    schema["description"] = json!(format!("The {side} of the adapter `{}`: {}.", adapter.name(), adapter.summary()));
}

/// An object with exactly these members, all required.
fn closed(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}

fn optional(schema: &mut Value, name: &str) {
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|required| required != name);
    }
}

fn counts(counts: &[(&str, &str)]) -> Value {
    let row = |(name, meaning): &(&str, &str)| {
        let count = json!({"type": "integer", "minimum": 0, "description": meaning});
        (name.to_owned().to_owned(), count)
    };
    let (open, named): (Vec<_>, Vec<_>) = counts.iter().partition(|(name, _)| name.contains('*'));
    let mut schema = closed(named.into_iter().map(row).collect::<Map<_, _>>().into());
    let patterns =
        open.into_iter().map(row).map(|(name, count)| (format!("^{}$", name.replace('*', "[a-z0-9_-]+")), count));
    let patterns: Map<_, _> = patterns.collect();
    if !patterns.is_empty() {
        schema["patternProperties"] = patterns.into();
    }
    schema
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests read and bless shipped files")]
mod tests {
    use std::{fs, path::Path};

    use super::{super::ADAPTERS, *};

    /// With `NRV_BLESS` the schemas are written anew.
    #[test]
    fn the_shipped_schemas_are_those_of_the_adapters() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schemas");
        for adapter in ADAPTERS {
            let sides = [("input", input_schema(*adapter).unwrap()), ("output", output_schema(*adapter))];
            for (side, schema) in sides {
                let path = folder.join(format!("{}.{side}.schema.json", adapter.name()));
                if std::env::var_os("NRV_BLESS").is_some() {
                    fs::write(&path, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
                }
                let shipped: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap_or_default()).unwrap();
                assert_eq!(shipped, schema, "{}: NRV_BLESS=1 writes it anew", path.display());
            }
        }
    }

    #[test]
    fn counts_with_a_star_may_be_missing() {
        let schema = counts(&[("files", "Files."), ("fixes_*", "Fixes.")]);
        assert_eq!(schema["required"], json!(["files"]));
        assert!(schema["patternProperties"]["^fixes_[a-z0-9_-]+$"].is_object(), "{schema}");
    }
}
