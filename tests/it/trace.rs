//! Traces: `--trace` writes the spans of a command for Perfetto, and none of them holds more than the list says.
#![expect(clippy::disallowed_methods, reason = "tests build trees and read traces")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::TcpListener,
    path::PathBuf,
};

use nrv::base::span::ATTRIBUTES;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    repository,
    support::{
        hold::stopped_in_transaction,
        site::{MIGRATE, Site},
    },
};

/// A span of a file, with the titles of those around it.
#[derive(Debug)]
struct Span {
    kind: String,
    title: String,
    around: Vec<String>,
    attributes: BTreeMap<String, Value>,
}

/// The spans of a trace in the order of their ends, and the titles of those that have not ended.
#[track_caller]
fn spans(text: &str) -> (Vec<Span>, Vec<String>) {
    let events: Vec<Value> = serde_json::from_str(text).unwrap();
    let (mut ended, mut open) = (Vec::new(), Vec::<Span>::new());
    let mut last = 0.0;
    for event in &events {
        let word = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let attributes = event["args"].as_object().cloned().unwrap_or_default();
        match event["ph"].as_str().unwrap() {
            "B" => {
                let around = open.iter().map(|span| span.title.clone()).collect();
                let attributes = attributes.into_iter().collect();
                open.push(Span { kind: word("cat"), title: word("name"), around, attributes });
            }
            "E" => {
                let mut span = open.pop().expect("a span that ends has begun");
                span.attributes.extend(attributes);
                ended.push(span);
            }
            other => {
                assert_eq!(other, "M", "{event}");
                continue;
            }
        }
        assert_eq!(event["tid"], 1, "{event}");
        let at = event["ts"].as_f64().unwrap();
        assert!(at >= last, "{event}");
        last = at;
    }
    (ended, open.into_iter().map(|span| span.title).collect())
}

/// The trace that a command has written beside the workspace.
#[track_caller]
fn traced(site: &Site, arguments: &[&str], code: i32) -> String {
    let file = site.root().parent().unwrap().join("trace.json");
    let ran = site.nrv(&[arguments, &["--trace", file.to_str().unwrap()]].concat()).exits(code);
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
    fs::read_to_string(file).unwrap()
}

/// The temporary files in the workspace's root.
fn temporaries(site: &Site) -> Vec<PathBuf> {
    let entries = fs::read_dir(site.root()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(".nrv-")).collect()
}

#[test]
fn a_trace_has_the_steps_of_each_call_inside_the_call_and_each_call_inside_its_run() {
    let site = Site::new(4);
    let (spans, open) = spans(&traced(&site, &MIGRATE, 0));
    assert!(open.is_empty(), "{open:?}");
    let page = repository::text("docs/tracing.md").unwrap();
    for span in &spans {
        let step = ["gates", "service", "record"].contains(&span.kind.as_str());
        match span.kind.as_str() {
            "command" => assert!(span.around.is_empty(), "{span:?}"),
            "check" | "run" => assert_eq!(span.around, ["nrv"], "{span:?}"),
            "call" => assert_eq!(span.around, ["nrv", "run"], "{span:?}"),
            _ => assert_eq!(span.around[..2], ["nrv", "run"], "{span:?}"),
        }
        assert!(!step || span.around.len() > 2, "{span:?}");
        assert!(page.contains(&format!("`{}`", span.kind)), "docs/tracing.md lacks the kind of {span:?}");
    }
    let named = |kind: &str| spans.iter().filter(|span| span.kind == kind).collect::<Vec<_>>();
    let run = &named("run")[0].attributes;
    let expected = json!({"run": site.last_run().file_name().unwrap().to_str(), "mode": "apply", "resumed": false,
        "state": "done", "files": 4, "lines": run["lines"]});
    assert_eq!(json!(run), expected);
    let transaction = named("transaction")[0];
    assert_eq!(transaction.around, ["nrv", "run", "dta.apply", "dta", "commit"]);
    assert_eq!((&transaction.attributes["transaction"], &transaction.attributes["files"]), (&json!("t1"), &json!(4)));
    let calls: Vec<&str> = named("call").iter().map(|span| span.title.as_str()).collect();
    assert!(calls.contains(&"dta.propose") && calls.contains(&"dta.apply"), "{calls:?}");
    let kinds: BTreeSet<&str> = spans.iter().map(|span| span.kind.as_str()).collect();
    for kind in
        ["judge", "reserve", "permit", "verify", "prepare", "sync", "replace", "propose", "start", "finish", "seal"]
    {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
}

#[test]
fn every_attribute_is_described() {
    let page = repository::text("docs/tracing.md").unwrap();
    let missing: Vec<_> = ATTRIBUTES.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn no_text_of_a_script_its_files_or_its_environment_stands_in_a_trace() {
    // In pieces, so that no scanner takes this file for a leak. The second word has the form of no secret.
    let words = [["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat(), "quietcanary".to_owned()];
    for word in &words {
        let site = Site::new(0).policy(&format!("[[exec.allow]]\nprefix = [\"{word}\"]\n"));
        let header = "const WORKFLOW = #{ name: \"leak\", permissions: #{ write: [\"**\"], calls: [\"mine\"] }, args: #{ \
                      type: \"object\", properties: #{ more: #{ type: \"string\" } } } };";
        let body = "let word = args.more;
nrv.ui.step(word); nrv.files.read(word + \".txt\"); nrv.run.metric(word, 1);
nrv.gate.evaluate_command(word + \" x\");
try { nrv.custom(word, #{ a: word }); } catch (e) {}
try { nrv.dta(word).run(#{ target: #{ glob: word }, params: #{} }); } catch (e) {}
try { nrv.files.read(\"no/\" + word); } catch (e) {}
nrv.apply.create(\"c-\" + word + \".txt\", word);
throw word;";
        site.write(&format!("{word}.txt"), word);
        site.script("leak.rhai", &format!("{header}\n{body}\n"));
        let file = site.root().parent().unwrap().join("trace.json");
        let more = format!("more={word}");
        let arguments = ["run", "leak.rhai", "--yes", "--keep", "--arg", &more, "--trace", file.to_str().unwrap()];
        let output = site.command(&arguments).env("CANARY", word).output().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains(word.as_str()), "{text}");
        let (spans, _) = spans(&text);
        let run = &spans.iter().find(|span| span.kind == "run").unwrap().attributes;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(run["error"].is_string() && run["state"] == "failed", "{run:?} {stderr}");
        let failed =
            |title: &str| spans.iter().any(|span| span.title == title && span.attributes.contains_key("error"));
        assert!(failed("files.read"), "{spans:?}");
    }
}

#[test]
fn a_trace_in_the_tree_is_no_part_of_the_run() {
    let site = Site::new(2);
    let list = "nrv.files.glob(\"**\").filter(|path| path.contains(\"trace\") || path.contains(\".nrv\")).len()";
    let header = "const WORKFLOW = #{ name: \"all\", permissions: #{ write: [\"**\"] } };";
    site.script("all.rhai", &format!("{header}\nnrv.apply.create(\"new.txt\", \"new\\n\");\n{list}"));
    let recorded = |more: &[&str]| {
        let ran = site.nrv(&[&["run", "all.rhai", "--yes", "--json", "--dry-run"], more].concat()).exits(0);
        assert_eq!(ran.json()["result"], 0);
        site.nrv(&["runs", "show", "last", "--canonical"]).exits(0).stdout
    };
    assert_eq!(recorded(&[]), recorded(&["--trace", "trace.json"]));
    site.nrv(&["run", "all.rhai", "--yes", "--allow-dirty", "--trace", "trace.json"]).exits(0);
    let (_, open) = spans(&String::from_utf8(site.read("trace.json")).unwrap());
    assert!(open.is_empty() && temporaries(&site).is_empty());
}

#[test]
fn a_trace_that_can_not_be_written_is_an_error_before_the_run() {
    let site = Site::new(1);
    for (place, code, words) in [
        (".git/trace.json", 3, "no place for a trace"),
        ("nrv.toml", 3, "no place for a trace"),
        ("no/trace.json", 1, "can't be written"),
        ("site", 1, "is a folder"),
        ("-", 2, "stdout can't hold a trace"),
    ] {
        site.migrate(&["--trace", place]).exits(code).says(words);
    }
    site.migrate(&["--trace", "/dev/full"]).exits(1).says("can't be written");
    assert!(site.runs().is_empty());
    let piped = site.nrv(&["run", MIGRATE[1], "--help", "--trace", "/dev/stderr"]).exits(0);
    assert!(piped.stderr.contains("\"process_name\""), "{piped:?}");
}

#[test]
fn a_process_that_is_ended_leaves_the_spans_so_far() {
    let site = Site::new(40);
    let before = site.tree();
    let arguments = [&MIGRATE[..], &["--trace", "trace.json"]].concat();
    let running = stopped_in_transaction(&site, &arguments, || {
        temporaries(&site).iter().for_each(|path| fs::remove_file(path).unwrap());
        site.reset(&before);
    });
    // Both wait for the process to go on.
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.signal(Signal::CONT);
    running.end().exits(-1);
    let text = String::from_utf8(site.read("trace.json")).unwrap();
    // The form permits that the bracket is missing.
    let (_, open) = spans(&format!("{text}]"));
    assert_eq!(open[..3], ["nrv", "run", "dta.apply"], "{open:?}");
    assert!(temporaries(&site).is_empty());
    site.nrv(&["recover"]).exits(0);
}

/// The variables of other programs name a collector.
#[test]
fn no_span_is_sent_anywhere() {
    let site = Site::new(1);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut command = site.command(&MIGRATE);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url).env("OTEL_EXPORTER_OTLP_TIMEOUT", "1000");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}
