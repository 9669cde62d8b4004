//! The two readers of TOML on the whole test suite of TOML: both read it as it says, and disagree on nothing.

use std::{io::Read, path::Path};

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    id: String,
    versions: Vec<String>,
    /// None if the bytes are not UTF-8: both sides refuse those before they read them.
    text: Option<String>,
    value: Option<Value>,
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/corpora/toml-test/suite.jsonl.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A value of the suite as JSON; none for one that JSON does not have. Dates are the texts that `found` has.
fn plain(value: &Value, found: Option<&Value>) -> Option<Value> {
    match (value.get("type").and_then(Value::as_str), value.get("value").and_then(Value::as_str)) {
        (Some("string"), Some(text)) => Some(Value::from(text)),
        (Some("integer"), Some(text)) => Some(Value::from(text.parse::<i64>().unwrap())),
        (Some("float"), Some(text)) => serde_json::Number::from_f64(text.parse().unwrap()).map(Value::Number),
        (Some("bool"), Some(text)) => Some(Value::from(text == "true")),
        (Some(_), Some(_)) => Some(found.filter(|found| found.is_string()).cloned().unwrap_or_default()),
        _ => match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(n, item)| plain(item, found.and_then(|found| found.get(n)))).collect()
            }
            Value::Object(map) => {
                let member = |(name, value): (&String, &Value)| {
                    Some((name.clone(), plain(value, found.and_then(|found| found.get(name)))?))
                };
                map.iter().map(member).collect::<Option<_>>().map(Value::Object)
            }
            _ => panic!("{value}"),
        },
    }
}

#[test]
fn both_readers_read_the_suite_of_toml_alike() {
    let (mut n_valid, mut n_invalid, mut n_beyond) = (0, 0, 0);
    for Case { id, versions, text, value } in cases() {
        let Some(text) = text else { continue };
        let proposer = format::document::Document::parse(format::document::syntax::Syntax::Toml, &text);
        let verifier = audit::document::read(audit::document::Syntax::Toml, &text);
        match (&proposer, &verifier) {
            (Ok(left), Ok(right)) => {
                assert_eq!(*left.value(), right.value, "{id}");
                let scalars = right.atoms.iter().filter(|atom| !atom.is_key);
                scalars.for_each(|atom| assert_eq!(left.text_of(&atom.pointer), text.get(atom.range.clone()), "{id}"));
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(reason)) => panic!("{id}: the verifier refuses it: {reason}"),
            (Err(reason), Ok(_)) => panic!("{id}: the proposer refuses it: {reason}"),
        }
        if !versions.contains(&"1.1".to_owned()) {
            continue;
        }
        let found = verifier.ok().map(|document| document.value);
        match value.map(|value| plain(&value, found.as_ref())) {
            Some(Some(expected)) => {
                assert_eq!(found, Some(expected), "{id}");
                n_valid += 1;
            }
            Some(None) => {
                assert_eq!(found, None, "{id}");
                n_beyond += 1;
            }
            None => {
                assert_eq!(found, None, "{id}");
                n_invalid += 1;
            }
        }
    }
    assert!(n_valid > 200 && n_invalid > 450 && n_beyond > 0, "{n_valid} {n_invalid} {n_beyond}");
}
