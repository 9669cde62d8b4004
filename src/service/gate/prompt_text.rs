//! The texts that a request sends to a model, under whatever name.
//!
//! Unlike the params of a tool, nothing in it is an edit: lines that a diff removes are sent to the model all the same.

use std::borrow::Cow;

use serde_json::Value;

use super::parts::Text;
use base::call::Ask;

/// The texts of a request, each with its name, and the strings inside texts that are JSON themselves.
pub(super) fn texts(ask: &Ask) -> Vec<Text<'static>> {
    let mut found = Vec::new();
    collect(serde_json::to_value(ask).unwrap_or_default(), None, &mut found);
    found
}

fn collect(value: Value, name: Option<&str>, found: &mut Vec<Text<'static>>) {
    match value {
        Value::String(text) => {
            if text.trim_start().starts_with(['{', '['])
                && let Ok(inner) = serde_json::from_str(&text)
            {
                collect(inner, name, found);
            }
            found.push(of(name, text));
        }
        Value::Array(items) => items.into_iter().for_each(|item| collect(item, name, found)),
        Value::Object(map) => {
            for (name, value) in map {
                collect(value, Some(&name), found);
                found.push(of(None, name));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn of(place: Option<&str>, text: String) -> Text<'static> {
    let place = place.map(|name| Cow::Owned(name.to_owned()));
    Text { place, after: text.into_bytes().into(), ..Text::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{Decision, Rules, Subject, decide},
        *,
    };
    use base::call::Call;
    use system::policy::{FILE, Policy};

    /// A made-up token, in pieces.
    fn token() -> String {
        ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat()
    }

    fn decision(ask: Ask, policy: &str) -> Decision {
        let policy = Policy::parse(policy, FILE).unwrap();
        let calls = [Call::LlmComplete(Box::new(ask.clone())), Call::LlmStream(Box::new(ask))];
        let subject = |call| Subject::Call { call, adapters: &[], calls: &[], tool: None };
        let [one, other] = calls.each_ref().map(|call| decide(&subject(call), &policy, Rules::built_in()).decision);
        assert_eq!(one, other);
        one
    }

    fn asks() -> Vec<Ask> {
        let diff = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-token = \"{}\"\n+token = 1\n", token());
        let call = json!({"name": "t", "arguments": json!({"deep": {"a": token()}}).to_string()});
        vec![
            Ask { prompt: Some(format!("use {}", token())), ..Ask::default() },
            Ask { prompt: Some(diff), ..Ask::default() },
            Ask { messages: vec![json!({"role": "user", "content": token()})], ..Ask::default() },
            Ask { messages: vec![json!({"role": "assistant", "tool_calls": [call]})], ..Ask::default() },
            Ask { schema: Some(json!({"properties": {"a": {"const": token()}}})), ..Ask::default() },
            Ask { schema: Some(json!({"properties": {token(): {}}})), ..Ask::default() },
            Ask { tools: vec![json!({"name": "t", "description": token()})], ..Ask::default() },
            Ask { stop: vec![token()], ..Ask::default() },
        ]
    }

    #[test]
    fn a_secret_anywhere_in_a_request_needs_a_confirmation() {
        for ask in asks() {
            assert_eq!(decision(ask.clone(), ""), Decision::RequireConfirmation, "{ask:?}");
            assert_eq!(decision(ask, "[gates.secrets]\ndecision = 'block'"), Decision::Block);
        }
        let harmless = Ask { prompt: Some("say hi".to_owned()), max_tokens: Some(9), ..Ask::default() };
        assert_eq!(decision(harmless, ""), Decision::Allow);
    }
}
