//! The command line: its refusals, its messages, and its end when the output is closed.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]

use std::{fs::OpenOptions, process::Stdio};

use serde_json::{Value, json};

use crate::support::site::{NEW, OLD, Site, invocation};

#[test]
fn exit_code_is_for_dry_runs() {
    let site = Site::new(2);
    site.migrate(&["--exit-code"]).exits(2).says("--dry-run");
    let input = invocation("site/**/*.html", OLD, NEW).to_string();
    let arguments = ["dta", "run", "link_updater", "--input", "-", "--exit-code"];
    site.nrv_with(&arguments, &input).exits(2).says("--dry-run");
    assert_eq!(site.runs(), [] as [Value; 0]);
}

#[test]
fn a_seed_is_one_that_json_can_hold() {
    let site = Site::new(1);
    site.script("s.rhai", "nrv.run.seed");
    for (seed, code) in [("9007199254740992", 0), ("9007199254740993", 2), ("-1", 2), ("x", 2)] {
        let ran = site.nrv(&["run", "s.rhai", "--json", &format!("--seed={seed}")]).exits(code);
        match code {
            0 => assert_eq!(ran.json()["result"].to_string(), seed),
            _ => drop(ran.says("--seed")),
        }
    }
}

#[test]
fn output_that_can_not_be_written_is_a_failure() {
    let site = Site::new(1);
    for arguments in [&["dta", "list"][..], &["runs", "list", "--json"], &["--help"], &["run", "--help"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = site.command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = site.command(arguments).stdout(Stdio::from(writer)).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.is_empty()), (Some(0), true), "{arguments:?}");
    }
}

#[test]
fn a_bad_line_does_not_end_the_stream() {
    let site = Site::new(1);
    let input = site.root().parent().unwrap().join("requests");
    std::fs::write(&input, b"{\"id\": 1, \"x\": \"\xff\"}\nno json\n\r\n{\"id\": 3, \"y\": 1}").unwrap();
    let mut command = site.command(&["dta", "run", "link_updater", "--jsonl"]);
    let output = command.stdin(std::fs::File::open(&input).unwrap()).output().unwrap();
    let answers: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = answers.iter().map(|answer| (&answer["id"], &answer["error"]["code"])).collect();
    let code = json!("invalid_input");
    assert_eq!(told, [(&json!(null), &code), (&json!(null), &code), (&json!(3), &code)]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_dry_run_that_failed_names_no_patch() {
    let site = Site::new(2);
    site.script("s.rhai", "throw \"no\";");
    assert_eq!(site.nrv(&["run", "s.rhai", "--dry-run"]).exits(1).stdout, "");
}

#[test]
fn a_folder_with_a_broken_policy_still_tells_what_needs_none() {
    let site = Site::new(1);
    site.write("nrv.toml", "not toml");
    for arguments in [&["completions", "fish"][..], &["man"], &["dta", "describe", "link_updater"], &["init"]] {
        site.nrv(arguments).exits(0);
    }
    for arguments in [&["runs", "list"][..], &["recover"]] {
        site.nrv(arguments).exits(0);
    }
    site.nrv(&["dta", "list"]).exits(1).says("is not TOML");
}
