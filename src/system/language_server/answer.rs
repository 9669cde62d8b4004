//! Answers to a server's own requests: a server that waits for one may hang.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::edit;

/// The code of JSON-RPC for a method that does not exist.
const METHOD_NOT_FOUND: i64 = -32601;

/// Settings that hold if the policy has none of their section: without a network a server can't install the types of packages.
/// TypeScript's servers try for a minute, and announce it as work.
const DEFAULTS: &[(&str, &str)] = &[
    ("javascript", r#"{"disableAutomaticTypeAcquisition": true}"#),
    ("js/ts", r#"{"tsserver": {"automaticTypeAcquisition": {"enabled": false}}}"#),
    ("typescript", r#"{"disableAutomaticTypeAcquisition": true}"#),
];

/// The most settings that one request is answered with.
const ITEMS: usize = 1000;

/// The answer to a request of the server.
pub(super) fn answer(
    id: &Value,
    method: &str,
    params: &Value,
    (root, settings): (&Path, &Map<String, Value>),
) -> Value {
    let result = match method {
        "workspace/configuration" => {
            let items = params["items"].as_array().map_or(&[][..], Vec::as_slice);
            items
                .iter()
                .take(ITEMS)
                .map(|item| section(settings, item["section"].as_str().unwrap_or_default()))
                .collect()
        }
        "workspace/workspaceFolders" => json!([{"uri": edit::uri(root), "name": "workspace"}]),
        // It may propose a change as an answer, and in no other way.
        "workspace/applyEdit" => json!({"applied": false}),
        "client/registerCapability"
        | "client/unregisterCapability"
        | "window/workDoneProgress/create"
        | "window/showMessageRequest"
        | "workspace/codeLens/refresh"
        | "workspace/diagnostic/refresh"
        | "workspace/inlayHint/refresh"
        | "workspace/semanticTokens/refresh" => Value::Null,
        _ => {
            let error = json!({"code": METHOD_NOT_FOUND, "message": "the client has no such method"});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The settings of a section, such as `python.analysis`; null if there are none.
fn section(settings: &Map<String, Value>, section: &str) -> Value {
    if section.is_empty() {
        return Value::Object(settings.clone());
    }
    let (first, rest) = section.split_once('.').unwrap_or((section, ""));
    let default = || {
        let (_, text) = DEFAULTS.iter().find(|(of, _)| *of == first)?;
        serde_json::from_str(text).ok()
    };
    let Some(found) = settings.get(first).cloned().or_else(default) else { return Value::Null };
    if rest.is_empty() {
        return found;
    }
    found.pointer(&format!("/{}", rest.replace('.', "/"))).cloned().unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_each_in_its_way() {
        let settings: Map<String, Value> = serde_json::from_value(json!({"a": {"b": {"c": 1}}})).unwrap();
        let asked = |method: &str, params: Value| answer(&json!(7), method, &params, (Path::new("/x"), &settings));
        let items = json!({"items": [{"section": "a.b"}, {"section": "z"}, {}, {"section": "a.b.c"}]});
        assert_eq!(
            asked("workspace/configuration", items)["result"],
            json!([{"c": 1}, null, {"a": {"b": {"c": 1}}}, 1])
        );
        let items = json!({"items": [{"section": "js/ts.tsserver.automaticTypeAcquisition"}, {"section": "python"}]});
        assert_eq!(asked("workspace/configuration", items)["result"], json!([{"enabled": false}, null]));
        assert_eq!(asked("workspace/applyEdit", json!({}))["result"], json!({"applied": false}));
        assert_eq!(asked("workspace/workspaceFolders", Value::Null)["result"][0]["uri"], "file:///x");
        assert_eq!(asked("client/registerCapability", json!({})), json!({"jsonrpc": "2.0", "id": 7, "result": null}));
        assert_eq!(asked("own/thing", json!({}))["error"]["code"], METHOD_NOT_FOUND);
    }
}
