//! Data of events, read as it stands in a record.

use serde::de::DeserializeOwned;
use serde_json::{Error, Number, Value};
use serde_path_to_error::Segment;

use base::json;

/// Reads data. A number that canonical JSON can't write exactly stands as a text, wherever a number is expected.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let unreadable = match serde_json::from_str(text) {
        Ok(data) => return Ok(data),
        Err(error) => error,
    };
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return Err(unreadable) };
    loop {
        let place = match serde_path_to_error::deserialize::<_, T>(&value) {
            Ok(data) => return Ok(data),
            Err(error) => pointer(error.path().iter()),
        };
        let Some(member) = value.pointer_mut(&place) else { return Err(unreadable) };
        // Each turn takes one text away.
        let Some(number) = number(member) else { return Err(unreadable) };
        *member = number.into();
    }
}

/// The number for which a text stands in a record.
fn number(member: &Value) -> Option<Number> {
    let number: Number = member.as_str()?.parse().ok()?;
    (json::as_recorded(number.clone().into()) == *member).then_some(number)
}

/// The JSON Pointer of a path.
fn pointer<'s>(path: impl Iterator<Item = &'s Segment>) -> String {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    path.map(|segment| match segment {
        Segment::Map { key } => format!("/{}", escaped(key)),
        Segment::Seq { index } => format!("/{index}"),
        Segment::Enum { variant } => format!("/{}", escaped(variant)),
        Segment::Unknown => String::new(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{Evaluation, RunEnd};

    #[test]
    fn a_text_stands_for_a_number_where_a_number_is_expected_and_nowhere_else() {
        let evaluation = |value: Value| {
            let data =
                json!({"evaluator": "9007199254740993", "passed": true, "value": value, "details": {"n": "1e300"}});
            read::<Evaluation>(&json::as_recorded(data).to_string())
        };
        let read_again = evaluation(json!(1e300)).unwrap();
        assert_eq!((read_again.evaluator.as_str(), read_again.value), ("9007199254740993", 1e300));
        assert_eq!(read_again.details["n"], "1e300");
        for wrong in [json!("1"), json!("x"), json!(""), json!("1e999"), json!(null), json!([])] {
            assert!(evaluation(wrong.clone()).is_err(), "{wrong}");
        }
        assert_eq!(read::<Vec<u64>>(r#"["18446744073709551615", 1, "9007199254740993"]"#).unwrap()[0], u64::MAX);
        assert!(read::<Vec<u64>>(r#"["18446744073709551616"]"#).is_err());
        assert!(read::<RunEnd>("{}").is_err());
    }
}
