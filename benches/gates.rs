//! The cost of the gates: of all together on commands, tools and edits of several sizes, and of loading the rules.
//!
//! `cargo bench --bench gates` prints a table; arguments choose rows by a part of their names.
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock, its arguments and the sources")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use nrv::{
    gate::{
        Rules,
        jsonl::{self, Request},
    },
    system::policy::Policy,
};
use serde_json::{Value, json};

/// The time for measuring a row.
const PATIENCE: Duration = Duration::from_secs(2);

/// Keywords by which rules on secrets find candidates.
const KEYWORDS: &[&str] = &[
    "password",
    "api_key",
    "token",
    "secret",
    "aws_access_key_id",
    "AKIA",
    "ghp_",
    "xoxb-",
    "sk_live_",
    "eyJ",
    "Bearer",
    "-----BEGIN",
    "client_secret",
    "authorization:",
    "postgres://",
    "AccountKey=",
    "heroku",
    "datadog",
    "npm_",
    "glpat-",
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let mut rows = rows();
    let policy = Policy::default();
    let first = [("rules on commands", json!({"command": "ls"})), ("rules on secrets", json!({"text": "a = 1"}))];
    println!("| | median | p99 | aim |\n|---|---|---|---|");
    for (name, request) in first {
        let started = Instant::now();
        black_box(answer(&request_of(request), &policy));
        println!("| {name}, loaded | {} | | |", shown(started.elapsed()));
    }
    rows.retain(|(name, ..)| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())));
    for (name, aim, request) in rows {
        let (median, late) = measured(&request_of(request), &policy);
        println!("| {name} | {} | {} | {aim} |", shown(median), shown(late));
    }
}

/// The rows, each with a name, a target and a request.
fn rows() -> Vec<(&'static str, &'static str, Value)> {
    let code = sources(1 << 20);
    let before = code.replacen("fn ", "pub fn ", 1);
    let small = &code[..floor(&code, 2 << 10)];
    let bare = keywords(310 << 10, |word, _| format!("{word} "));
    let assigned = keywords(310 << 10, |word, n| format!("{word} = \"${{NAME_{n}}}\" # {word}\n"));
    let settings = keywords(2 << 10, |word, n| format!("{word}: value-{n}\n"));
    let line =
        long("cargo test --workspace --all-features 2>&1 | tee target/log-1.txt && ls -la target | grep -v '^d' ; ");
    let found = long("rm -rf build/a && git push --force origin topic && find . -name '*.o' -delete ; ");
    let script = format!("bash -s <<'EOF'\n{}EOF\n", long("if [ -f a.txt ]; then mv a.txt b.txt; fi\n"));
    let argv: Vec<String> =
        std::iter::once("touch").chain(long("file-name.txt ").split_whitespace()).map(str::to_owned).collect();
    let tool = json!({"file_path": "src/a.rs", "old_string": small, "new_string": small.replace("let", "let mut")});
    vec![
        ("command of 2 KB, nothing found", "50 µs", json!({"command": line})),
        ("command of 2 KB, all of it destructive", "50 µs", json!({"command": found})),
        ("command of 2 KB, a script for a shell", "50 µs", json!({"command": script})),
        ("command of 2 KB, as words", "50 µs", json!({"argv": argv})),
        ("edit of 2 KB, code", "50 µs", json!({"path": "src/a.rs", "text": small})),
        ("edit of 2 KB, settings full of keywords", "50 µs", json!({"path": "a.yaml", "text": settings})),
        ("tool `Edit` of 2 KB", "", json!({"tool": "Edit", "params": tool})),
        ("edit of 1 MB, a new file of code", "15 ms", json!({"path": "src/a.rs", "text": code})),
        ("edit of 1 MB, one line changes", "15 ms", json!({"path": "src/a.rs", "text": code, "before": before})),
        ("edit of 310 KB of bare keywords", "50 ms", json!({"path": "a.txt", "text": bare})),
        ("edit of 310 KB of assignments", "50 ms", json!({"path": "a.py", "text": assigned})),
    ]
}

/// The median and the 99th percentile.
fn measured(request: &Request, policy: &Policy) -> (Duration, Duration) {
    let (started, mut took) = (Instant::now(), Vec::new());
    while took.len() < 20 || started.elapsed() < PATIENCE {
        let one = Instant::now();
        black_box(answer(black_box(request), policy));
        took.push(one.elapsed());
    }
    took.sort_unstable();
    (took[took.len() / 2], took[took.len() * 99 / 100])
}

fn answer(request: &Request, policy: &Policy) -> jsonl::Answer {
    jsonl::answer(request, policy, Rules::built_in()).expect("it is a request")
}

fn request_of(request: Value) -> Request {
    serde_json::from_value(request).expect("it is a request")
}

fn shown(time: Duration) -> String {
    match time.as_micros() {
        0..1_000 => format!("{:.1} µs", time.as_secs_f64() * 1e6),
        _ => format!("{:.2} ms", time.as_secs_f64() * 1e3),
    }
}

fn long(piece: &str) -> String {
    piece.repeat((2 << 10) / piece.len())
}

fn keywords(length: usize, piece: impl Fn(&str, usize) -> String) -> String {
    let mut text = String::with_capacity(length + 64);
    for n in 0.. {
        text.push_str(&piece(KEYWORDS[n % KEYWORDS.len()], n));
        if text.len() >= length {
            break;
        }
    }
    text
}

/// The program's own sources, one after the other.
fn sources(length: usize) -> String {
    let (mut text, mut folders) = (String::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")]);
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).expect("the sources are here");
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&std::fs::read_to_string(path).expect("sources are UTF-8"));
            }
        }
    }
    text.truncate(floor(&text, length));
    text
}

/// The largest boundary of a character up to a length.
fn floor(text: &str, length: usize) -> usize {
    (0..=length.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}
