//! Set-id files in scratch folders: where a command can make them, they lose the set-id bit when it has ended.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, os::unix::fs::PermissionsExt};

use crate::support::site::Site;

const LINE: &str =
    "mkdir -p target/deep; cp /usr/bin/id target/deep/id; chmod 4755 target/deep/id; chmod 6755 target/old";

fn site(sandbox: &str, line: &str, check: bool) -> Site {
    let site = Site::empty();
    site.write("target/old", "old\n");
    site.write(
        "nrv.toml",
        format!("[exec]\nsandbox = \"{sandbox}\"\nscratch = [\"target/**\"]\n[[exec.allow]]\nprefix = [\"sh\"]\n"),
    );
    let call = if check { "check" } else { "run" };
    site.write(
        "w.rhai",
        format!(
            "const WORKFLOW = #{{ permissions: #{{ exec: [\"*\"] }} }};\n\
             nrv.exec.{call}(#{{ program: \"sh\", args: [\"-c\", \"{line}\"] }});\n"
        ),
    );
    site
}

fn bits(site: &Site, name: &str) -> u32 {
    fs::metadata(site.path(name)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_command_without_a_sandbox_leaves_no_set_id_file_in_scratch() {
    for (line, check, code) in [(LINE.to_owned(), false, 0), (format!("{LINE}; exit 1"), true, 1)] {
        let site = site("off", &line, check);
        let ran = site.nrv(&["run", "w.rhai", "--yes"]);
        assert_eq!(
            (ran.code == 0, bits(&site, "target/deep/id"), bits(&site, "target/old")),
            (code == 0, 0o755, 0o755)
        );
        assert!(ran.stderr.contains("`target/deep/id` (and 1 more)"), "{ran:?}");
        let record = fs::read_to_string(site.last_run().join("events.jsonl")).unwrap();
        assert!(record.contains("\"set_id_cleared\":[\"target/deep/id\",\"target/old\"]"), "{record}");
        let shown = site.nrv(&["runs", "report", "last"]).stdout;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("set-id bits cleared of `target/deep/id`, `target/old`"), "{shown}");
    }
}

#[test]
fn a_confined_command_makes_none() {
    for sandbox in ["auto", "require"] {
        let site = site(sandbox, LINE, false);
        let ran = site.nrv(&["run", "w.rhai", "--yes"]).exits(0);
        assert_eq!((bits(&site, "target/deep/id"), bits(&site, "target/old")), (0o755, 0o644), "{ran:?}");
    }
}

#[test]
fn the_command_of_a_commitment_leaves_none_either() {
    let site = site("off", "true", false);
    let policy = String::from_utf8(site.read("nrv.toml")).unwrap();
    let commitment = r#"
[[commitments]]
description = "tests"
assertion = { command = { program = "sh", args = ["make.sh"] } }
"#;
    site.write("nrv.toml", policy + commitment);
    site.write("make.sh", LINE);
    site.nrv(&["run", "w.rhai", "--yes"]).exits(0);
    assert_eq!((bits(&site, "target/deep/id"), bits(&site, "target/old")), (0o755, 0o755));
}
