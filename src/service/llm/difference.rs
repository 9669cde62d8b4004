//! The differences between two values, and the nearest of several values.

use serde::Serialize;
use serde_json::Value;

/// The number of characters of a value that are shown.
const SHOWN: usize = 80;

/// One place where two values differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    /// JSON Pointer to the place.
    pub(super) pointer: String,
    /// The recorded value; none if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recorded: Option<String>,
    /// The present value; none if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<String>,
    /// An upper bound of the bytes of the longer value that are not in the other: without the common beginning and end.
    #[serde(skip)]
    unlike: usize,
}

/// Every place where two values differ, in order.
pub(super) fn between(recorded: &Value, asked: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(Some(recorded), Some(asked), &mut String::new(), &mut found);
    found
}

fn walk(recorded: Option<&Value>, asked: Option<&Value>, pointer: &mut String, found: &mut Vec<Difference>) {
    let mut step = |name: &str, recorded: Option<&Value>, asked: Option<&Value>| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        walk(recorded, asked, pointer, found);
        pointer.truncate(length);
    };
    match (recorded, asked) {
        (Some(one), Some(other)) if one == other => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let names: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            names.into_iter().for_each(|name| step(name, one.get(name), other.get(name)));
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            (0..one.len().max(other.len())).for_each(|at| step(&at.to_string(), one.get(at), other.get(at)));
        }
        (Some(Value::String(one)), Some(Value::String(other))) => {
            let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
            // A little of the common text before it, so that the place can be found.
            let from = same.saturating_sub(SHOWN / 4);
            let cut = |text: &str| Some(shown(&text.chars().skip(from).collect::<String>()));
            let unlike = unlike(one.as_bytes(), other.as_bytes());
            found.push(Difference { pointer: pointer.clone(), recorded: cut(one), asked: cut(other), unlike });
        }
        (one, other) => {
            let [one, other] = [one, other].map(|value| value.map(Value::to_string));
            let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            let unlike = length(&one).max(length(&other));
            let [recorded, asked] = [one, other].map(|text| text.map(|text| shown(&text)));
            found.push(Difference { pointer: pointer.clone(), recorded, asked, unlike });
        }
    }
}

fn unlike(one: &[u8], other: &[u8]) -> usize {
    let shorter = one.len().min(other.len());
    let first = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let last = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    one.len().max(other.len()) - (first + last).min(shorter)
}

fn shown(text: &str) -> String {
    match text.chars().nth(SHOWN) {
        None => text.to_owned(),
        Some(_) => text.chars().take(SHOWN).chain(['…']).collect(),
    }
}

/// The value that differs in the fewest places, of equals the one whose texts are most alike, with the places.
pub(crate) fn nearest<'a, T>(
    asked: &Value,
    recorded: impl IntoIterator<Item = (T, &'a Value)>,
) -> Option<(T, Vec<Difference>)> {
    let compared = recorded.into_iter().map(|(name, value)| (name, between(value, asked)));
    compared.min_by_key(|(_, differences)| {
        (differences.len(), differences.iter().map(|difference| difference.unlike).sum::<usize>())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_have_their_place_and_both_sides() {
        let recorded = json!({"a/b": [1, {"x": "same text, old end"}], "gone": true, "kept": null});
        let asked = json!({"a/b": [1, {"x": "same text, new end"}, 2], "kept": null, "new": 0.5});
        let text = |text: &str| Some(text.to_owned());
        let difference = |pointer: &str, recorded, asked| (pointer.to_owned(), recorded, asked);
        let found = between(&recorded, &asked).into_iter();
        assert_eq!(
            found.map(|one| (one.pointer, one.recorded, one.asked)).collect::<Vec<_>>(),
            [
                difference("/a~1b/1/x", text("same text, old end"), text("same text, new end")),
                difference("/a~1b/2", None, text("2")),
                difference("/gone", text("true"), None),
                difference("/new", None, text("0.5")),
            ]
        );
    }

    #[test]
    fn long_texts_are_shown_where_they_differ() {
        let (one, other) = (format!("{0}one{0}", "x".repeat(1000)), "x".repeat(1000) + "other");
        let found = between(&json!(one), &json!(other));
        assert!(found[0].recorded.as_ref().unwrap().contains("xone") && found[0].asked.as_ref().unwrap().len() < 90);
    }

    #[test]
    fn the_nearest_differs_least() {
        let values = [json!({"a": 1, "b": 1}), json!({"a": 2, "b": 3}), json!({"a": 2, "b": 1})];
        let (name, differences) = nearest(&json!({"a": 2, "b": 2}), values.iter().enumerate()).unwrap();
        assert_eq!((name, differences.len()), (1, 1));
        let prompts = [json!("the file ABC, and what was wrong before"), json!("the file ABC"), json!("the folder")];
        assert_eq!(nearest(&json!("the file ABD"), prompts.iter().enumerate()).unwrap().0, 1);
        assert!(nearest(&json!(1), Vec::<((), &Value)>::new()).is_none());
    }
}
