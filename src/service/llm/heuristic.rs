//! A provider without a model: a table of patterns turns a prompt into requests for tools, or refuses.
//!
//! It uses no network, guesses nothing, and is deterministic. A reply is `{"tool_requests": [{"id", "tool", "reason",
//! "inputs_ref"}], "inputs": {ID: …}}`; `inputs_ref` points into it.

use std::collections::BTreeSet;

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use super::{
    capabilities::{Capabilities, Model, Workload},
    client::Orchestrator,
    error::{Kind, lasting},
    event::{Reply, Usage},
    message::Role,
    request::LlmRequest,
};
use base::error::{Code, Error};
use system::net::Cancel;

/// The name of its only model.
const MODEL: &str = "heuristic";

/// One pattern.
#[derive(Debug)]
pub struct Rule {
    /// The name.
    pub name: &'static str,
    /// Its purpose.
    pub doc: &'static str,
    /// The tool that it requests.
    pub tool: &'static str,
    /// The pattern, without regard to case; `HOST` stands for a host, with `from` and `to` as the names of its groups.
    pattern: &'static str,
}

/// Every pattern, sorted by name.
pub const RULES: &[Rule] = &[
    Rule {
        name: "links_from_to",
        doc: "\"Move the links from OLD to NEW\", also with hosts, domains or URLs in place of links.",
        tool: "link_updater",
        pattern: r"\b(?:links?|urls?|hrefs?|hosts?|hostnames?|domains?)\b[^.!?\n]*?\bfrom\s+`?FROM`?,?\s+(?:over\s+)?to\s+`?TO`?",
    },
    Rule {
        name: "links_moved",
        doc: "\"OLD is now NEW\", \"OLD has moved to NEW\", \"OLD -> NEW\".",
        tool: "link_updater",
        pattern: r"`?FROM`?\s*(?:is\s+now|has\s+moved\s+to|moved\s+to|moves\s+to|becomes|became|->|=>|→)\s*`?TO`?",
    },
    Rule {
        name: "links_replace",
        doc: "\"Replace OLD with NEW\", \"replace links to OLD by NEW\".",
        tool: "link_updater",
        pattern: r"\breplace\s+(?:[a-z]+\s+){0,5}?`?FROM`?\s+(?:with|by)\s+(?:[a-z]+\s+){0,3}?`?TO`?",
    },
];

/// Endings of file names that hosts seldom have: `a.md` is rarely a host.
const FILES: &[&str] =
    &["css", "html", "htm", "js", "json", "md", "py", "rs", "svg", "toml", "ts", "txt", "xml", "yaml", "yml"];

/// Answers by [`RULES`].
#[derive(Debug)]
pub struct Heuristic {
    tools: BTreeSet<String>,
    rules: Vec<(&'static Rule, Regex)>,
    negation: Regex,
}

/// The match of a rule.
struct Found {
    at: usize,
    rule: &'static Rule,
    from: String,
    to: String,
}

impl Heuristic {
    /// The provider with the tools that it may request.
    pub fn new(tools: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let compile = |pattern: &str| {
            Regex::new(&format!("(?i){pattern}"))
                .map_err(|error| Error::new(Code::Internal, format!("a pattern of the table is none: {error}")))
        };
        let host = r"(?:https?://)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]+)?";
        let rules = RULES
            .iter()
            .map(|rule| {
                let named = |name: &str| format!("(?P<{name}>{host})");
                let pattern = rule.pattern.replace("FROM", &named("from")).replace("TO", &named("to"));
                Ok((rule, compile(&pattern)?))
            })
            .collect::<Result<_, Error>>()?;
        let negation = compile(r"\b(?:not|never|without|don.t|except|unless)\b")?;
        Ok(Heuristic { tools: tools.into_iter().collect(), rules, negation })
    }

    fn plan(&self, text: &str) -> Result<Value, Error> {
        let mut found: Vec<Found> = Vec::new();
        for (rule, pattern) in &self.rules {
            for captures in pattern.captures_iter(text) {
                if let Some(one) = self.found(rule, &captures, text)?
                    && !found.iter().any(|other| (&other.from, &other.to) == (&one.from, &one.to))
                {
                    found.push(one);
                }
            }
        }
        found.sort_by_key(|one| one.at);
        if found.is_empty() {
            return Err(not_understood());
        }
        let mut inputs = Map::new();
        let mut requests = Vec::new();
        for (index, Found { rule, from, to, .. }) in found.iter().enumerate() {
            let id = format!("T{}", index + 1);
            if !self.tools.contains(rule.tool) {
                let message = format!("this asks for `{}`, which may not be used", rule.tool);
                return Err(lasting(Kind::Refusal, message).hint("approve the tool, or ask for something else"));
            }
            requests.push(json!({
                "id": id, "tool": rule.tool, "reason": format!("`{}`: links to `{from}` are to lead to `{to}`", rule.name),
                "inputs_ref": format!("#/inputs/{id}"),
            }));
            let to = if to.contains("://") { to.clone() } else { format!("https://{to}") };
            inputs.insert(id, json!({"from_hosts": [from], "to_host": to}));
        }
        Ok(json!({"tool_requests": requests, "inputs": inputs}))
    }

    /// The meaning of a match; none if it is about files, an error if the sentence forbids something.
    fn found(&self, rule: &'static Rule, captures: &Captures<'_>, text: &str) -> Result<Option<Found>, Error> {
        let (Some(whole), Some(from), Some(to)) = (captures.get(0), captures.name("from"), captures.name("to")) else {
            return Ok(None);
        };
        let (from, to) = (from.as_str().to_lowercase(), to.as_str().to_lowercase());
        if [&from, &to].into_iter().any(|host| host.rsplit('.').next().is_some_and(|end| FILES.contains(&end))) {
            return Ok(None);
        }
        let breaks = |c: char| matches!(c, '!' | '?' | '\n');
        let start = text[..whole.start()].rfind(breaks).map_or(0, |at| at + 1);
        let end = text[whole.end()..].find(breaks).map_or(text.len(), |at| whole.end() + at);
        if self.negation.is_match(&text[start..end]) {
            return Err(not_understood());
        }
        Ok(Some(Found { at: whole.start(), rule, from, to }))
    }
}

fn not_understood() -> Error {
    let known: Vec<&str> = RULES.iter().map(|rule| rule.doc).collect();
    lasting(Kind::Refusal, "without a model this is not understood")
        .hint(format!("configure a model, or say it as one of these: {}", known.join(" ")))
}

impl Orchestrator for Heuristic {
    fn capabilities(&self) -> Result<Capabilities, Error> {
        let model = Model { workloads: Some(BTreeSet::from([Workload::Chat])), tools: Some(false), ..Model::default() };
        Ok(Capabilities::new([(MODEL.to_owned(), model)]))
    }

    /// Answers the last message of the user.
    fn answer(&self, request: &LlmRequest, _cancel: &Cancel, on_token: &mut dyn FnMut(&str)) -> Result<Reply, Error> {
        let asked = request.messages().iter().rev().find(|message| message.role == Role::User);
        let plan = self.plan(asked.map_or("", |message| message.content.as_str()))?;
        let text = plan.to_string();
        on_token(&text);
        let usage = Usage { input_tokens: Some(0), cached_tokens: None, output_tokens: Some(0) };
        Ok(Reply { usage, ..Reply::of_text(MODEL, text) })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::error::kind, *};

    fn heuristic() -> Heuristic {
        Heuristic::new(["link_updater".to_owned()]).unwrap()
    }

    #[track_caller]
    fn plans(text: &str, expected: &[(&str, &str)]) {
        let plan = heuristic().plan(text).unwrap();
        let inputs = plan["inputs"].as_object().unwrap().values();
        let moves: Vec<_> = inputs
            .map(|input| (input["from_hosts"][0].as_str().unwrap(), input["to_host"].as_str().unwrap()))
            .collect();
        assert_eq!(moves, expected, "{text}");
    }

    #[track_caller]
    fn refuses(text: &str) {
        assert_eq!(kind(&heuristic().plan(text).unwrap_err()), Some(Kind::Refusal), "{text}");
    }

    #[test]
    fn moves_of_links_are_understood() {
        let one = &[("old.example.com", "https://new.example.com")];
        for text in [
            "Move all links from old.example.com to new.example.com.",
            "update every URL in the docs from `OLD.example.com` to `https://new.example.com`, please",
            "Please change our domain from old.example.com to new.example.com",
            "old.example.com is now new.example.com",
            "The docs are wrong: old.example.com has moved to new.example.com!",
            "links: old.example.com -> new.example.com",
            "replace old.example.com with new.example.com",
            "Replace all links to old.example.com by links to new.example.com",
        ] {
            plans(text, one);
        }
        plans(
            "Move links from a.example to b.example:8080. Also c.example becomes http://d.example",
            &[("a.example", "https://b.example:8080"), ("c.example", "http://d.example")],
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "",
            "Write me a poem",
            "Move the links from a.md to b.md",
            "rename src/main.rs to src/app.rs",
            "Don't move links from old.example.com to new.example.com",
            "Move the links from old.example.com to new.example.com, but not those of the blog",
            "Move links to new.example.com",
        ] {
            refuses(text);
        }
    }

    #[test]
    fn only_tools_that_may_be_used_are_requested() {
        let none = Heuristic::new([]).unwrap();
        let error = none.plan("replace a.example with b.example").unwrap_err();
        assert!(error.message().contains("`link_updater`"), "{error}");
    }

    #[test]
    fn a_request_refers_to_its_inputs() {
        let plan = heuristic().plan("replace a.example with b.example").unwrap();
        let request = &plan["tool_requests"][0];
        assert_eq!((&request["id"], &request["tool"]), (&json!("T1"), &json!("link_updater")));
        let pointer = request["inputs_ref"].as_str().unwrap().trim_start_matches('#');
        assert_eq!(plan.pointer(pointer).unwrap()["from_hosts"], json!(["a.example"]));
    }

    #[test]
    fn rules_are_sorted_and_documented() {
        assert!(RULES.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(RULES.iter().all(|rule| rule.doc.ends_with('.')));
    }
}
