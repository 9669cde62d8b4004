//! Converts edits of pieces into edits of the whole file, so that gates see the result.
//!
//! If the result of a piece is uncertain, the pieces are judged as they are.

use serde_json::{Map, Value};

use super::{
    param_names::{AFTER, BEFORE, EDITS, is, is_content},
    tool_name::{Deeds, plain},
};

/// The limit of bytes copied for all pieces; each piece copies the file once.
const MOST_WORK: usize = 1 << 28;

/// Names of contents that replace the whole file.
const WHOLE: &[&str] = &["content", "contents", "filetext", "newcontent"];

/// Names of the option to replace every occurrence of a piece.
const EVERYWHERE: &[&str] = &["allowmultiple", "replaceall"];

/// Replaces the pieces of an edit by the whole file, before and after.
pub(super) fn complete(tool: &str, map: &mut Map<String, Value>, before: &str) {
    let Some(after) = carry_out(Deeds::of(tool), map, before) else { return };
    map.retain(|name, _| !is_content(name) && !is(name, EDITS));
    map.insert("old_string".to_owned(), Value::from(before));
    map.insert("new_string".to_owned(), Value::from(after));
}

/// The content of the file after all pieces; none if that is uncertain.
fn carry_out(deeds: Deeds, map: &Map<String, Value>, before: &str) -> Option<String> {
    let mut pieces: Vec<&Map<String, Value>> = Vec::new();
    if map.keys().any(|name| is_content(name)) {
        pieces.push(map);
    }
    for list in map.iter().filter(|(name, _)| is(name, EDITS)).map(|(_, value)| value) {
        for item in list.as_array()? {
            pieces.push(item.as_object()?);
        }
    }
    if pieces.is_empty() || pieces.len().saturating_mul(before.len()) > MOST_WORK {
        return None;
    }
    pieces.into_iter().try_fold(before.to_owned(), |text, piece| replace(deeds, piece, &text))
}

fn replace(deeds: Deeds, piece: &Map<String, Value>, text: &str) -> Option<String> {
    let (name, after) = piece.iter().find(|(name, value)| is(name, AFTER) && value.is_string())?;
    let after = after.as_str()?;
    let Some(before) = piece.iter().find(|(name, _)| is(name, BEFORE)) else {
        return match WHOLE.contains(&plain(name).as_str()) {
            true if deeds.appends => Some(format!("{text}{after}")),
            true => Some(after.to_owned()),
            false => None,
        };
    };
    let before = before.1.as_str().filter(|before| !before.is_empty() && text.contains(before))?;
    let everywhere = piece.iter().any(|(name, value)| is(name, EVERYWHERE) && *value == Value::Bool(true));
    Some(if everywhere { text.replace(before, after) } else { text.replacen(before, after, 1) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(tool: &str, params: Value, file: &str, expected: Option<&str>) {
        let mut map = params.as_object().unwrap().clone();
        complete(tool, &mut map, file);
        match expected {
            Some(after) => {
                assert_eq!((&map["old_string"], &map["new_string"]), (&json!(file), &json!(after)));
                assert!(!map.contains_key("edits") && !map.contains_key("content"));
            }
            None => assert_eq!(Value::Object(map), params),
        }
    }

    #[test]
    fn pieces_become_the_whole_file() {
        let piece = |old: &str, new: &str| json!({"path": "f", "old_string": old, "new_string": new});
        check("Edit", piece("b", "x"), "a b b", Some("a x b"));
        let mut all = piece("b", "x");
        all["replace_all"] = json!(true);
        check("Edit", all, "a b b", Some("a x x"));
        let edits = json!({"path": "f", "edits": [{"oldText": "a", "newText": "b"}, {"oldText": "b", "newText": "c"}]});
        check("MultiEdit", edits, "a b", Some("c b"));
        check("Write", json!({"path": "f", "content": "new"}), "old", Some("new"));
        check("append_file", json!({"path": "f", "content": "new"}), "old ", Some("old new"));
    }

    #[test]
    fn what_is_not_certain_stays_as_it_is() {
        check("Edit", json!({"path": "f", "old_string": "no", "new_string": "x"}), "a", None);
        check("Edit", json!({"path": "f", "old_string": "", "new_string": "x"}), "a", None);
        check("NotebookEdit", json!({"path": "f", "new_source": "x"}), "a", None);
        check("insert", json!({"path": "f", "insert_line": 1, "insert_text": "x"}), "a", None);
        check("MultiEdit", json!({"path": "f", "edits": [{"old_string": "a", "new_string": "b"}, 1]}), "a", None);
        check("Read", json!({"path": "f"}), "a", None);
        let many = vec![json!({"old_string": "a", "new_string": "a"}); 1 << 9];
        check("MultiEdit", json!({"path": "f", "edits": many}), &"a".repeat((1 << 19) + 1), None);
    }
}
