//! Parses the text of a reply into a type of the program's own.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

use super::{
    Fence,
    error::{Kind, lasting, quoted},
    parse,
};
use base::error::Error;

/// The number of characters of an offending value that are shown.
const SHOWN: usize = 200;

/// Parses a reply as a type.
///
/// Malformed JSON is `malformed_json`. A value of another type is `schema`, with one of `details.violations`: the pointer, the
/// message and the offending value. For a missing field the value is the object that lacks it.
pub fn parse_as<T: DeserializeOwned>(text: &str, fence: Fence) -> Result<T, Error> {
    let value = parse(text, None, fence)?;
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let (pointer, message) = (pointer(error.path()), quoted(&error.inner().to_string()));
        let place = if pointer.is_empty() { String::new() } else { format!(" at `{}`", quoted(&pointer)) };
        let violation = json!({"pointer": pointer, "message": message, "value": shown(&value, &pointer)});
        lasting(Kind::Schema, format!("the reply is not what was asked for{place}: {message}"))
            .detail("violations", vec![violation])
    })
}

/// The JSON Pointer to a place, as far as it is one of the JSON.
fn pointer(path: &Path) -> String {
    let token = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.replace('~', "~0").replace('/', "~1")),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().map_while(token).flat_map(|token| ["/".to_owned(), token]).collect()
}

/// The value at a place; a long one is cut, and is text.
fn shown(value: &Value, pointer: &str) -> Value {
    let Some(part) = value.pointer(pointer) else { return Value::Null };
    let text = part.to_string();
    match text.char_indices().nth(SHOWN) {
        None => part.clone(),
        Some((at, _)) => json!(format!("{}…", &text[..at])),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::{super::error::kind, *};

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Step {
        name: String,
        #[serde(default)]
        limits: BTreeMap<String, u8>,
    }

    #[track_caller]
    fn check(text: &str, pointer: &str, words: &str, value: &Value) {
        let error = parse_as::<Vec<Step>>(text, Fence::Refused).unwrap_err();
        assert_eq!(kind(&error), Some(Kind::Schema), "{error}");
        let violation = &error.details()["violations"][0];
        assert_eq!((&violation["pointer"], &violation["value"]), (&json!(pointer), value), "{error}");
        let message = violation["message"].as_str().unwrap();
        assert!(message.contains(words) && error.message().contains(words), "{error}");
    }

    #[test]
    fn a_reply_becomes_a_type() {
        let steps: Vec<Step> = parse_as("[{\"name\": \"a\", \"limits\": {\"x\": 1}}]", Fence::Refused).unwrap();
        assert_eq!(steps, [Step { name: "a".to_owned(), limits: BTreeMap::from([("x".to_owned(), 1)]) }]);
        assert_eq!(parse_as::<Vec<Step>>("```\n[]\n```", Fence::Allowed).unwrap(), []);
    }

    #[test]
    fn what_is_no_json_is_another_kind_than_what_is_of_another_type() {
        for text in ["", "```\n[]\n```", "[] and more", "[{]"] {
            let error = parse_as::<Vec<Step>>(text, Fence::Refused).unwrap_err();
            assert_eq!(kind(&error), Some(Kind::MalformedJson), "{error}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place_and_its_value() {
        check("{}", "", "expected a sequence", &json!({}));
        check("[{\"name\": \"a\"}, {\"name\": 7}]", "/1/name", "expected a string", &json!(7));
        check("[{\"limits\": {}}]", "/0", "missing field `name`", &json!({"limits": {}}));
        check("[{\"name\": \"a\", \"nmae\": \"b\"}]", "/0/nmae", "unknown field `nmae`", &json!("b"));
        check("[{\"name\": \"a\", \"limits\": {\"x/~\": 300}}]", "/0/limits/x~1~0", "300", &json!(300));
    }

    #[test]
    fn a_long_value_is_cut() {
        let text = json!([{"name": ["é".repeat(1000)]}]).to_string();
        let error = parse_as::<Vec<Step>>(&text, Fence::Refused).unwrap_err();
        let shown = error.details()["violations"][0]["value"].as_str().unwrap();
        assert_eq!(shown.chars().count(), SHOWN + 1);
    }
}
