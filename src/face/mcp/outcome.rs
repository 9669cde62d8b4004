//! Answers as clients get them: structured, and as text; without secrets.

use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::{Value, json};

use super::{
    resource::of_path,
    wire::{redact, redacted},
};
use base::error::Error;
use gate::Rules;

/// The result of a call that was answered; without a text of its own, the reply is the text.
pub(super) fn replied(run: &str, reply: Value, text: Option<String>, rules: &Rules) -> CallToolResult {
    let mut whole = json!({"run": run, "result": reply});
    redact(&mut whole, rules);
    let text = match (text, &whole["result"]) {
        (Some(text), _) => redacted(&text, rules),
        (None, Value::String(text)) => text.clone(),
        (None, Value::Null) => "done".to_owned(),
        (None, value) => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    let links = links(Some(run), &whole["result"]);
    let mut result = CallToolResult::structured(whole);
    result.content = [ContentBlock::text(text)].into_iter().chain(links).collect();
    result
}

/// The result of a call that failed, or waits. The text says what to do next.
pub(super) fn failed(run: Option<&str>, error: &Error, rules: &Rules) -> CallToolResult {
    let mut whole = json!({"error": error});
    if let Some(run) = run {
        whole["run"] = json!(run);
    }
    redact(&mut whole, rules);
    let said = &whole["error"];
    let of = |key: &str| said[key].as_str().unwrap_or_default();
    let mut text = format!("{}: {}", of("code"), of("message"));
    if let Some(hint) = said["hint"].as_str() {
        text.push_str(&format!("\n{hint}"));
    }
    if let Some(run) = run {
        text.push_str(&format!("\nrun {run}"));
    }
    let links = links(run, &said["details"]);
    let mut result = CallToolResult::structured_error(whole);
    result.content = [ContentBlock::text(text)].into_iter().chain(links).collect();
    result
}

/// Links to the diffs that a value names.
fn links(run: Option<&str>, value: &Value) -> Vec<ContentBlock> {
    let named = value["patch"].as_str().map(|path| match run {
        // A reply names it in its run's folder.
        Some(run) if path.starts_with("artifacts/") => format!(".runs/{run}/{path}"),
        _ => path.to_owned(),
    });
    let link = |uri: String| {
        ContentBlock::resource_link(
            Resource::new(uri, "diff").with_description("The change as a unified diff.").with_mime_type("text/x-diff"),
        )
    };
    named.as_deref().and_then(of_path).map(link).into_iter().collect()
}
