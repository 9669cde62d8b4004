//! Guesses: no answer tells a client if a text stands in a file that it may not read, or in a secret that it may not see.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use serde_json::{Value, json};

use crate::support::{
    mcp::{Client, OLD, Word},
    site::Site,
};

/// A token, put together here so that no scanner takes this file for a leak.
fn token() -> String {
    ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat()
}

fn site() -> Site {
    let site = Site::new(1)
        .policy("[paths]\nread_deny = ['hidden/**', '*.env']\n[gates.diff_size]\nwarn_lines = 3\nblock_lines = 4\n");
    site.write("hidden/h.txt", format!("one\ntwo {}\nthree\nfour\n", token()));
    site.write("a.env", format!("KEY={}\n", token()));
    site.write("open.txt", format!("token = \"{}\"\nplain line\n", token()));
    site.commit();
    site
}

/// An answer without the run's id.
fn told(client: &mut Client, name: &str, arguments: Value) -> Value {
    let mut answer = client.tool(name, arguments)["structuredContent"].clone();
    answer.as_object_mut().unwrap().remove("run");
    answer
}

#[test]
fn a_verdict_on_an_edit_confirms_no_guess() {
    let site = site();
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    let (right, wrong) = (token(), token().replace("Kq3", "Zz7"));
    let edit = |client: &mut Client, path: &str, content: String| {
        told(client, "gate_evaluate_edit", json!({"path": path, "content": content}))
    };
    let hash = regex::Regex::new("[0-9a-f]{64}|[0-9a-f]{8}").unwrap();
    let blind = |answer: Value| hash.replace_all(&answer.to_string(), "H").into_owned();
    for path in ["hidden/h.txt", "a.env", "open.txt", "hidden/none.txt", ".git/config", ".runs/heads.jsonl"] {
        for form in ["KEY=T\n", "token = \"T\"\nplain line\n", "one\ntwo T\nthree\nfour\n", "T"] {
            let [one, other] = [&right, &wrong].map(|guess| blind(edit(&mut client, path, form.replace('T', guess))));
            assert_eq!(one, other, "{path} {form}");
        }
    }
    // The number of changed lines says nothing of a hidden file, be it there or not.
    for content in ["one\ntwo\nthree\nfour\n", "1\n2\n3\n4\n", "one\n", "a\nb\nc\n"] {
        let [there, none] = ["hidden/h.txt", "hidden/x.txt"]
            .map(|path| blind(edit(&mut client, path, content.to_owned())).replace(path, "PATH"));
        assert_eq!(there, none, "{content}");
    }
    client.end();
}

#[test]
fn a_search_finds_nothing_in_secrets_and_hidden_files() {
    let site = site();
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    let token = token();
    let parts = (4..token.len()).map(|end| regex::escape(&token[..end]));
    let forms = [
        "Kq3",
        "R1i\"",
        "[A-Z][a-z]3v",
        "ghp_",
        "^token = .{40}\"$",
        "\\w{40}",
        "(?i)kq3vt9",
        "KEY=.",
        "two .",
        "three",
    ];
    for regex in forms.iter().map(|form| (*form).to_owned()).chain(parts) {
        let hits = told(&mut client, "files_grep", json!({"regex": regex, "patterns": ["**"]}));
        let paths: Vec<&str> =
            hits["result"].as_array().unwrap().iter().filter_map(|hit| hit["path"].as_str()).collect();
        assert!(!paths.iter().any(|path| ["open.txt", "a.env", "hidden/h.txt"].contains(path)), "{regex}: {hits}");
    }
    let plain = told(&mut client, "files_grep", json!({"regex": "plain|redacted", "patterns": ["open.txt"]}));
    let lines: Vec<u64> = plain["result"].as_array().unwrap().iter().filter_map(|hit| hit["line"].as_u64()).collect();
    assert_eq!(lines, [1, 2], "{plain}");
    client.end();
}

#[test]
fn a_target_of_an_edit_is_found_in_no_secret() {
    let site = site();
    let (right, wrong) = (token(), token().replace("Kq3", "Zz7"));
    site.write("p.html", format!("<p class=\"{right}\" title=\"{right}\">{right}</p>\n<p class=\"card\">plain</p>\n"));
    site.write("m.js", format!("import a from \"{right}\";\n"));
    site.write("hidden/p.html", "<p class=\"zebra\">x</p>\n");
    site.commit();
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    let mut found = |kind: &str, key: &str, value: &str| {
        let answer = told(&mut client, "edit_find", json!({"kind": kind, "patterns": ["**"], key: value}));
        answer["result"].as_array().map(Vec::len)
    };
    for kind in ["class", "text", "prop", "import", "element"] {
        for (key, form) in [("text", "T"), ("name", "T"), ("selector", "[title=\"T\"]"), ("selector", "[class^=\"T\"]")]
        {
            for length in [7, 12, right.len()] {
                let [one, other] = [&right, &wrong].map(|guess| found(kind, key, &form.replace('T', &guess[..length])));
                assert_eq!(one, other, "{kind} {key} {form} {length}");
            }
        }
    }
    assert_eq!((found("class", "name", "card"), found("class", "name", "zebra")), (Some(1), Some(0)));
    client.end();
}

#[test]
fn an_expression_that_takes_much_memory_is_refused() {
    let site = Site::new(1);
    let mut client = Client::start(&site, &[], OLD, Word::Nobody);
    for regex in ["(?:\\w{900}){900}".to_owned(), "a|".repeat(50_000), "(".repeat(100_000)] {
        client.fails("files_grep", json!({"regex": regex, "patterns": ["**"]}), "invalid_input");
    }
    client.end();
}
