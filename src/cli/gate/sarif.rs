//! Findings as SARIF 2.1.0, which code hosts and editors show beside the lines.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gate::{Decision, Finding, Gate};

/// One run over some files: each with a gate and what that found.
pub(super) fn document<'a>(found: impl Iterator<Item = (&'a str, &'a dyn Gate, &'a [Finding])>) -> Value {
    let mut rules = BTreeMap::new();
    let mut results = Vec::new();
    for (path, gate, findings) in found {
        for finding in findings {
            let id = format!("{}/{}", gate.name(), finding.rule);
            results.push(result(path, &id, finding));
            rules.entry(id).or_insert_with(|| (gate.doc(), finding.remediation.clone()));
        }
    }
    let rule = |(id, (doc, help)): (&String, &(&str, String))| {
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

fn result(path: &str, id: &str, finding: &Finding) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri(path)}});
    if let Some(place) = &finding.place {
        physical["region"] = json!({"startLine": place.line, "startColumn": place.column});
    }
    let mut result = json!({
        "ruleId": id,
        "level": level(finding.decision),
        "message": {"text": format!("{}.", finding.reason)},
        "locations": [{"physicalLocation": physical}],
    });
    if finding.decision == Decision::Allow {
        // It is permitted beside the finding, or by the policy.
        let is_inline = finding.reason.ends_with(&format!("nrv:allow-secret {}", finding.rule));
        let kind = if is_inline { "inSource" } else { "external" };
        result["suppressions"] = json!([{"kind": kind, "justification": finding.reason}]);
    }
    result
}

fn level(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "note",
        Decision::Warn => "warning",
        Decision::RequireConfirmation | Decision::Block => "error",
    }
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => (byte as char).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(escaped).collect()
}
