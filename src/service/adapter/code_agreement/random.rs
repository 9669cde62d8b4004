//! Random patterns and rules, made of pieces of real files, on these files.

use std::{collections::BTreeSet, ops::Range};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Pattern, cases, of_object, of_pattern};
use base::{language::Language, seed::Stream};
use format::code::tree::{self, SyntaxNode};

const STRICTNESSES: [&str; 6] = ["cst", "smart", "ast", "relaxed", "signature", "template"];

/// The longest code that a pattern is made of.
const LONGEST: usize = 200;

#[derive(Deserialize)]
struct Source {
    language: String,
    path: String,
    text: String,
}

/// The number of rounds of a test, which the variable raises.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn pick<T: Copy>(stream: &mut Stream, items: &[T]) -> Option<T> {
    items.get(usize::try_from(stream.below(items.len() as u64)).ok()?).copied()
}

fn chance(stream: &mut Stream, one_in: u64) -> bool {
    stream.below(one_in) == 0
}

/// Code with variables in place of some of its parts.
fn pattern(stream: &mut Stream, text: &str, node: &SyntaxNode<'_>) -> String {
    let inner: Vec<SyntaxNode<'_>> = node.dfs().skip(1).collect();
    let mut holes: Vec<(Range<usize>, String)> = Vec::new();
    for _ in 0..stream.below(4) {
        let index = usize::try_from(stream.below(inner.len().max(1) as u64)).unwrap();
        let Some(part) = inner.get(index) else { continue };
        let name = *["A", "B", "A", "C"].get(usize::try_from(stream.below(4)).unwrap()).unwrap();
        let (range, hole) = match stream.below(8) {
            0 => (part.range(), "$_".to_owned()),
            1 => (part.range(), format!("$${name}")),
            2 => (part.range(), "$$$".to_owned()),
            3 | 4 => {
                // A run of siblings.
                let last = part.next_all().take(usize::try_from(stream.below(6)).unwrap()).last();
                let end = last.map_or(part.range().end, |last| last.range().end);
                (part.range().start..end, format!("$$$M{name}"))
            }
            _ => (part.range(), format!("${name}")),
        };
        if holes.iter().all(|(other, _)| other.end <= range.start || range.end <= other.start) {
            holes.push((range, hole));
        }
    }
    holes.sort_by_key(|(range, _)| range.start);
    let (mut out, mut at) = (String::new(), node.range().start);
    for (range, hole) in holes {
        out.push_str(&text[at..range.start]);
        out.push_str(&hole);
        at = range.end;
    }
    out.push_str(&text[at..node.range().end]);
    out
}

/// A fix with the variables of a pattern.
fn fix(stream: &mut Stream, pattern: &str) -> Option<String> {
    let names: Vec<&str> =
        ["$$$MA", "$$$MB", "$$$MC", "$A", "$B", "$C"].into_iter().filter(|name| pattern.contains(name)).collect();
    let forms = ["(NAME)", "begin\n    NAME\n  end", "NAME\nNAME", "", "x"];
    let form = pick(stream, &forms)?;
    let name = pick(stream, &names);
    if form.contains("NAME") && name.is_none() || chance(stream, 4) {
        return None;
    }
    Some(form.replace("NAME", name.unwrap_or_default()))
}

#[test]
fn random_patterns_give_the_same_edits() {
    let rounds = setting("NRV_CODE_ROUNDS", 12);
    let (mut judged, mut found) = (0, 0);
    let mut languages = BTreeSet::new();
    for source in cases::<Source>("sources") {
        let language = Language::parse(&source.language).unwrap();
        let mut stream = Stream::new(1, &source.path);
        let parsed = tree::parse(language, &source.text, &|| Ok(())).unwrap();
        let is_usable = |node: &SyntaxNode<'_>| (3..LONGEST).contains(&node.range().len());
        let nodes: Vec<SyntaxNode<'_>> = parsed.root().dfs().filter(is_usable).collect();
        for _ in 0..rounds {
            let node = &nodes[usize::try_from(stream.below(nodes.len() as u64)).unwrap()];
            let code = pattern(&mut stream, &source.text, node);
            let fix = fix(&mut stream, &code);
            let is_strict = chance(&mut stream, 2);
            let strictness = pick(&mut stream, &STRICTNESSES).filter(|_| is_strict);
            let kind = node.kind();
            let selector = chance(&mut stream, 4).then_some(&*kind);
            let of = Pattern { pattern: &code, selector, strictness, fix: fix.as_deref() };
            let Ok(pair) = of_pattern(language, of) else { continue };
            if let Some(matches) = pair.matches(&source.path, language, &source.text, &format!("{of:?}")) {
                judged += 1;
                found += matches.len();
                languages.insert(language);
            }
        }
    }
    assert!(languages.len() >= 8 && judged > 40 && found > 40, "{languages:?}: {judged} patterns, {found} matches");
}

/// A rule object about nodes of the kinds of a file.
fn object(stream: &mut Stream, kinds: &[String], patterns: &[String], depth: u64) -> Value {
    let mut rule = serde_json::Map::new();
    let kind = |stream: &mut Stream| json!(kinds[usize::try_from(stream.below(kinds.len() as u64)).unwrap()]);
    rule.insert("kind".to_owned(), kind(stream));
    if chance(stream, 3) {
        let pattern = &patterns[usize::try_from(stream.below(patterns.len() as u64)).unwrap()];
        rule.remove("kind");
        rule.insert("pattern".to_owned(), json!(pattern));
    }
    if chance(stream, 5) {
        rule.insert("nthChild".to_owned(), json!({"position": "2n+1", "reverse": chance(stream, 2)}));
    }
    if depth == 0 {
        return Value::Object(rule);
    }
    let relations = ["inside", "has", "precedes", "follows"];
    if let Some(key) = pick(stream, &relations)
        && !chance(stream, 4)
    {
        let mut relation = object(stream, kinds, patterns, depth - 1);
        match stream.below(3) {
            0 => relation["stopBy"] = json!("end"),
            1 => relation["stopBy"] = object(stream, kinds, patterns, 0),
            _ => {}
        }
        rule.insert(key.to_owned(), relation);
    }
    let any =
        |stream: &mut Stream| -> Vec<Value> { (0..2).map(|_| object(stream, kinds, patterns, depth - 1)).collect() };
    match stream.below(5) {
        0 => drop(rule.insert("not".to_owned(), object(stream, kinds, patterns, depth - 1))),
        1 => {
            rule.remove("kind");
            rule.remove("pattern");
            rule.insert("any".to_owned(), Value::Array(any(stream)));
        }
        _ => {}
    }
    Value::Object(rule)
}

#[test]
fn random_rules_give_the_same_matches() {
    let rounds = setting("NRV_CODE_ROUNDS", 12);
    let (mut judged, mut found) = (0, 0);
    for source in cases::<Source>("sources") {
        let language = Language::parse(&source.language).unwrap();
        let mut stream = Stream::new(2, &source.path);
        let parsed = tree::parse(language, &source.text, &|| Ok(())).unwrap();
        let nodes: Vec<SyntaxNode<'_>> = parsed.root().dfs().filter(SyntaxNode::is_named).collect();
        let kinds: BTreeSet<String> = nodes.iter().map(|node| node.kind().into_owned()).collect();
        let kinds: Vec<String> = kinds.into_iter().collect();
        let small: Vec<&SyntaxNode<'_>> = nodes.iter().filter(|node| (3..60).contains(&node.range().len())).collect();
        for _ in 0..rounds {
            let patterns: Vec<String> = (0..3)
                .filter_map(|_| Some(pick(&mut stream, &small)?).map(|node| pattern(&mut stream, &source.text, node)))
                .collect();
            let rule = object(&mut stream, &kinds, &patterns, 2);
            let Ok(pair) = of_object(language, &rule, None) else { continue };
            if let Some(matches) = pair.matches(&source.path, language, &source.text, &rule.to_string()) {
                judged += 1;
                found += matches.len();
            }
        }
    }
    assert!(judged > 20 && found > 20, "{judged} rules, {found} matches");
}
