//! The short form of transforms: `replace($A, replace='^a', by=b)`. Its arguments are values of YAML.

use serde_json::{Map, Value};

use super::reader::wrong;
use crate::document::{self, Syntax};
use base::error::Error;

/// The name of the transform and its members, as they stand in the long form.
pub(super) fn read(text: &str) -> Result<(String, Map<String, Value>), Error> {
    let malformed = || wrong(format!("`{text}` is no transform of the form `replace($NAME, replace=…, by=…)`"));
    let (name, rest) = text.trim().split_once('(').ok_or_else(malformed)?;
    let (source, mut rest) = rest.trim_end_matches(')').split_once(',').ok_or_else(malformed)?;
    let name = name.trim();
    let mut members = Map::from_iter([("source".to_owned(), Value::from(source.trim()))]);
    rest = rest.trim();
    while !rest.is_empty() {
        let (key, next) = rest.split_once('=').ok_or_else(malformed)?;
        let (value, next) = argument(next.trim_start()).ok_or_else(malformed)?;
        let (key, is_text) = (key.trim(), matches!(key.trim(), "replace" | "by" | "joinBy" | "toCase"));
        if !keys(name).contains(&key) {
            return Err(wrong(format!("`{key}` is no argument of the transform `{name}`")));
        }
        members.insert(key.to_owned(), self::value(value, is_text).ok_or_else(malformed)?);
        rest = next.trim_start().trim_start_matches(',').trim();
    }
    Ok((name.to_owned(), members))
}

fn keys(name: &str) -> &'static [&'static str] {
    match name {
        "convert" => &["toCase", "separatedBy"],
        "replace" => &["replace", "by"],
        "substring" => &["startChar", "endChar"],
        "rewrite" => &["rewriters", "joinBy"],
        _ => &[],
    }
}

/// An argument, and what follows it.
fn argument(text: &str) -> Option<(&str, &str)> {
    let end = match text.chars().next()? {
        quote @ ('\'' | '"') => text[1..].find(quote)? + 2,
        '[' => text[1..].find(']')? + 2,
        ',' => return None,
        _ => text.find(',').unwrap_or(text.len()),
    };
    Some(text.split_at(end))
}

/// The value of an argument; a number is a text where a text is asked for.
fn value(text: &str, is_text: bool) -> Option<Value> {
    let value = document::read(Syntax::Yaml, text).ok()?.value;
    let is_plain = value.is_number() || value.is_boolean();
    Some(if is_text && is_plain { Value::from(text.trim()) } else { value })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, name: &str, members: &Value) {
        let (found, read) = read(text).unwrap();
        assert_eq!((found.as_str(), &Value::Object(read)), (name, members));
    }

    #[test]
    fn the_short_form_is_the_long_form() {
        let members = json!({"source": "$A", "replace": "^.+", "by": "b, c"});
        check("replace($A, replace='^.+', by=\"b, c\")", "replace", &members);
        let members = json!({"source": "$A", "toCase": "camelCase", "separatedBy": ["dash", "dot"]});
        check(" convert ( $A , toCase=camelCase, separatedBy=[dash, dot])", "convert", &members);
        check(
            "substring($$$A, startChar=1, endChar=-1)",
            "substring",
            &json!({"source": "$$$A", "startChar": 1, "endChar": -1}),
        );
        check("replace($A, replace=a, by=1)", "replace", &json!({"source": "$A", "replace": "a", "by": "1"}));
    }

    #[test]
    fn a_malformed_transform_is_refused() {
        for text in ["replace", "replace($A)", "replace($A, by)", "replace($A, by='a)", "replace($A, with=b)"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
