//! Judges `link_updater` by the cases of other projects: no wrong change, no byte outside, no link missed, and the verifier
//! agrees each time.

use std::collections::BTreeMap;

use html5gum::{DefaultEmitter, Token, Tokenizer};
use nrv::{adapter::jsonl, base::error::Code};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::support::{answer::answer, corpora};

#[derive(Deserialize)]
struct Case {
    id: String,
    from_hosts: Vec<String>,
    to_host: String,
    html: String,
    urls: Vec<Expected>,
    links_to_update: u64,
    expected_html: Option<String>,
    #[serde(default)]
    zone: Option<String>,
}

#[derive(Deserialize)]
struct Expected {
    tag: String,
    attr: String,
    raw: String,
    required: String,
    #[serde(default)]
    expected: Option<String>,
}

#[test]
fn other_projects_cases_come_out_right() {
    let mut results = BTreeMap::new();
    let mut wrong = Vec::new();
    for name in ["rewrite", "traps"] {
        for case in corpora::require::<Case>(&format!("html-links/{name}")) {
            let result = judge(&case);
            *results.entry((name, result.split(':').next().unwrap().to_owned())).or_insert(0) += 1;
            if !result.starts_with("right") {
                wrong.push(format!("{}: {result}", case.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{results:?}\n{}", wrong.join("\n"));
    report(&results);
}

#[expect(clippy::print_stderr, reason = "shown with --nocapture")]
fn report(results: &BTreeMap<(&str, String), u32>) {
    eprintln!("{results:?}");
}

fn judge(case: &Case) -> String {
    let (html, updates) = match run(case) {
        Ok(result) => result,
        Err(error) => return format!("wrong: {error}"),
    };
    let (before, after) = (flat(&case.html, &case.urls), flat(&html, &case.urls));
    if before.values.len() != after.values.len() {
        return "structure".to_owned();
    }
    let mut may_differ = false;
    for (old, new) in before.values.iter().zip(&after.values) {
        let Some(expected) = case.urls.iter().find(|url| url.raw == *old) else { continue };
        let good = expected.expected.as_ref().is_some_and(|expected| resolve(new).as_ref() == Some(expected));
        let right = match expected.required.as_str() {
            "keep" => old == new,
            "rewrite" => good,
            _ => {
                may_differ = true;
                old == new || good
            }
        };
        if !right {
            return format!("{}: `{old}` became `{new}`", expected.required);
        }
    }
    // A URL in a `style` attribute is a link.
    let is_styled = case.zone.as_deref() == Some("style");
    if is_styled && html != case.html {
        let moved = case.from_hosts.iter().fold(case.html.clone(), |html, from| html.replace(from, &case.to_host));
        return if html == moved { "right".to_owned() } else { format!("bytes: {html:?}") };
    }
    if before.rest != after.rest {
        return "outside: something that is no link changed".to_owned();
    }
    if case.zone.is_some() && html != case.html {
        return "outside: a zone changed".to_owned();
    }
    if !may_differ && updates != case.links_to_update && case.expected_html.is_some() {
        return format!("count: {updates}, not {}", case.links_to_update);
    }
    match &case.expected_html {
        Some(expected) if !may_differ && *expected != html => format!("bytes: {html:?}"),
        Some(_) if may_differ => "right, where either is".to_owned(),
        Some(_) | None => "right".to_owned(),
    }
}

/// The page after the adapter, and the number of moved links. Invalid hosts leave the page as it is.
fn run(case: &Case) -> Result<(String, u64), String> {
    let request = jsonl::Request {
        id: json!(case.id),
        input: json!({
            "tool": "link_updater", "version": "1.0", "mode": "dry-run", "target": {"repo_path": ".", "glob": "**/*.html"},
            "params": {"from_hosts": case.from_hosts, "to_host": case.to_host},
            "constraints": {"max_files": 1, "timeout_ms": 60_000, "seed": 1},
        }),
        files: BTreeMap::from([("page.html".to_owned(), case.html.clone())]),
    };
    match answer("link_updater", &request) {
        Ok(answer) if !answer.output.verifier.passed => Err(format!("{:?}", answer.output.verifier.failures)),
        Ok(answer) => {
            let html = answer.files.get("page.html").cloned().flatten().unwrap_or_else(|| case.html.clone());
            Ok((html, answer.output.proposed_changes["link_updates"]))
        }
        Err(error) if error.code() == Code::InvalidInput => Ok((case.html.clone(), 0)),
        Err(error) => Err(error.to_string()),
    }
}

fn resolve(url: &str) -> Option<String> {
    let base = Url::parse("https://x.invalid/").ok()?;
    base.join(url).ok().map(String::from)
}

/// The URL values of a page in order, and everything else.
struct Flat {
    values: Vec<String>,
    rest: Vec<Value>,
}

fn flat(html: &str, urls: &[Expected]) -> Flat {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut flat = Flat { values: Vec::new(), rest: Vec::new() };
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                flat.rest.push(json!(["tag", name]));
                for (attribute, value) in &tag.attributes {
                    let attribute = String::from_utf8_lossy(attribute).into_owned();
                    let mut value = String::from_utf8_lossy(value).into_owned();
                    if urls.iter().any(|url| (&url.tag, &url.attr) == (&name, &attribute)) {
                        for part in parts(&attribute, &value) {
                            value = value.replacen(&part, "\u{1}", 1);
                            flat.values.push(part);
                        }
                    }
                    flat.rest.push(json!([attribute, value]));
                }
            }
            Token::String(text) => flat.rest.push(json!(["text", String::from_utf8_lossy(&text)])),
            Token::Comment(text) => flat.rest.push(json!(["comment", String::from_utf8_lossy(&text)])),
            Token::EndTag(tag) => flat.rest.push(json!(["end", String::from_utf8_lossy(&tag.name)])),
            Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    flat
}

fn parts(attribute: &str, value: &str) -> Vec<String> {
    let word = |candidate: &str| candidate.split_ascii_whitespace().next().map(str::to_owned);
    match attribute {
        // No case has a comma that belongs to a URL, but for those of `data:`, which has no space after it.
        "srcset" | "imagesrcset" => value.split(", ").filter_map(word).collect(),
        "ping" => value.split_ascii_whitespace().map(str::to_owned).collect(),
        "content" => {
            let url = value.split_once([';', ',']).map_or("", |(_, url)| url.trim_ascii());
            let url = if url.to_ascii_lowercase().starts_with("url") {
                url.split_once('=').map_or("", |(_, url)| url.trim_ascii())
            } else {
                url
            };
            let url = url.trim_matches(['\'', '"']);
            if url.is_empty() { Vec::new() } else { vec![url.to_owned()] }
        }
        _ => vec![value.to_owned()],
    }
}
