//! Servers that don't do their work: bounded, refused, recorded, and the tree stays as it was.
#![expect(clippy::disallowed_methods, reason = "tests remove files")]

use super::{error, result, run, site, unapproved};

#[test]
fn a_server_that_can_not_be_begun_with_is_an_error_that_says_why() {
    for (mode, more, words) in [
        ("refuses", "", "ended before it had answered"),
        ("silent", "timeout_ms = 1500\n", "took longer than"),
        ("twice", "", "has several tools `search`"),
        ("lacks", "", "has no tool `search`"),
        ("endless", "", "lists more than 2000 tools"),
    ] {
        let site = unapproved(mode, more);
        let ran = site.nrv(&["mcp", "approve", "--yes"]).exits(1);
        assert!(ran.stderr.contains(words), "{mode}: {}", ran.stderr);
        assert!(!site.path("nrv.lock").exists(), "{mode}");
    }
    let site = unapproved("refuses", "");
    site.nrv(&["mcp", "approve", "--yes"]).exits(1).says("no licence");
    site.write("nrv.toml", "[mcp.servers.fake]\ncommand = [\"no-such-program\"]\ntools = [\"a\"]\n");
    site.nrv(&["mcp", "approve", "--yes"]).exits(1).says("the MCP server `fake`: ");
}

#[test]
fn what_a_server_writes_is_bounded() {
    for (query, words) in [
        ("large", "wrote a message of more than 16777216 bytes"),
        ("many", "wrote more than 262144 values for one request"),
        ("deep", "wrote a message of more than 96 levels"),
        ("floods", "wrote more than 10000 messages for one request"),
        ("pings", "wrote more than 10000 messages for one request"),
        ("prints", "wrote a text that is no message of the protocol"),
    ] {
        let site = site("honest", "");
        let before = site.tree();
        let text =
            format!("nrv.apply.create(\"a.txt\", \"a\\n\");\nfake.invoke(\"search\", #{{ query: \"{query}\" }})");
        let error = error(run(&site, &text, &[]), 1);
        assert!(error["message"].as_str().is_some_and(|message| message.contains(words)), "{query}: {error}");
        site.nrv(&["runs", "verify", "last"]).exits(0);
        site.nrv(&["replay", "last"]).exits(0);
        std::fs::remove_dir_all(site.path("scripts")).expect("it was written");
        assert!(site.tree() == before, "{query}");
    }
}

#[test]
fn a_server_that_broke_a_rule_is_started_again() {
    let site = site("honest", "");
    let text = "try { fake.invoke(\"search\", #{ query: \"prints\" }) } catch { }\nfake.invoke(\"search\", #{ query: \"a\" }).text";
    assert_eq!(result(run(&site, text, &[])), "found a");
}

#[test]
fn a_server_that_closes_its_output_is_not_waited_for() {
    let site = site("honest", "");
    let started = std::time::Instant::now();
    let error = error(run(&site, "fake.invoke(\"search\", #{ query: \"closes\" })", &[]), 1);
    assert!(error["message"].as_str().is_some_and(|words| words.contains("ended before it had answered")), "{error}");
    assert!(started.elapsed().as_secs() < 30);
}

#[test]
fn nobody_answers_the_questions_of_a_server() {
    let site = site("honest", "");
    let text = result(run(&site, "fake.invoke(\"search\", #{ query: \"asks\" }).text", &[]));
    let answers: Vec<&str> = text.as_str().unwrap_or_default().split(',').collect();
    // Sampling, roots, a form and a method of its own; the last one is a ping.
    assert_eq!((answers.len(), answers[0], answers[3], answers[4]), (5, "refused", "refused", "{}"), "{text}");
    assert!(!answers[1].contains("file:") && !answers[2].contains("accept"), "{text}");
}

#[test]
fn a_reply_that_is_too_large_for_a_script_is_refused() {
    let site = site("honest", "[script.limits]\nreply_bytes = 300\n");
    let text = "let query = \"x\"; query.pad(100, 'x');\nfake.invoke(\"search\", #{ query: query })";
    let error = error(run(&site, text, &[]), 1);
    assert!(error["message"].as_str().is_some_and(|words| words.contains("the reply")), "{error}");
}
