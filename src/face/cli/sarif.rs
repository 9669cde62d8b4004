//! Findings as SARIF 2.1.0, which code hosts and editors show beside the lines.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// A finding in a file.
pub(super) struct Hit<'a> {
    /// The file, if it is about one.
    pub(super) path: Option<&'a str>,
    /// The rule, such as `check/unknown_call`.
    pub(super) rule: String,
    /// The purpose of the rule.
    pub(super) doc: String,
    /// The advice of the rule.
    pub(super) help: String,
    /// The finding, in a sentence without its period.
    pub(super) message: &'a str,
    /// `note`, `warning` or `error`.
    pub(super) level: &'static str,
    /// Line and column, both from 1, columns in characters.
    pub(super) place: Option<(u64, u64)>,
    /// The last line, if it is about several.
    pub(super) end_line: Option<u64>,
    /// The place of its suppression: `inSource` or `external`.
    pub(super) suppressed: Option<&'static str>,
}

/// Makes one SARIF run over some files.
pub(super) fn document<'a>(hits: impl Iterator<Item = Hit<'a>>) -> Value {
    let mut rules = BTreeMap::new();
    let mut results = Vec::new();
    for hit in hits {
        results.push(result(&hit));
        rules.entry(hit.rule).or_insert((hit.doc, hit.help));
    }
    let rule = |(id, (doc, help)): (&String, &(String, String))| {
        json!({
            "id": id,
            "shortDescription": {"text": format!("The rule `{id}`.")},
            "fullDescription": {"text": doc},
            "help": {"text": help},
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "nrv",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(hit: &Hit<'_>) -> Value {
    let location = |path: &str| {
        let mut physical = json!({"artifactLocation": {"uri": uri(path)}});
        if let Some((line, column)) = hit.place {
            physical["region"] = json!({"startLine": line, "startColumn": column});
            if let Some(end) = hit.end_line {
                physical["region"]["endLine"] = json!(end);
            }
        }
        json!({"physicalLocation": physical})
    };
    let mut result = json!({
        "ruleId": hit.rule,
        "level": hit.level,
        "message": {"text": format!("{}.", hit.message)},
        "locations": hit.path.map(location).into_iter().collect::<Vec<_>>(),
    });
    if let Some(kind) = hit.suppressed {
        result["suppressions"] = json!([{"kind": kind, "justification": hit.message}]);
    }
    result
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => (byte as char).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(escaped).collect()
}
