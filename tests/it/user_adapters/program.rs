//! Adapters that are programs: batches as JSON on stdin, answers as JSON on stdout.
#![expect(clippy::disallowed_methods, reason = "tests look for programs and make files executable")]

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::run;
use crate::support::{
    need,
    site::{Running, Site, wait_until},
};

/// The shipped example.
pub(super) const SORT: &str = include_str!("../../../dta/sort_imports.py");

pub(super) const TABLE: &str = "[adapters.sort_imports]\nprogram = [\"/usr/bin/python3\", \"dta/sort_imports.py\"]\nglob = [\"**/*.py\"]\nversion = \"1.2\"\n\
    summary = \"sort imports\"\nwork = \"unsorted\"\n";

/// A site with two modules, one of which has imports in disorder; none without an interpreter.
pub(super) fn site_of(table: &str, program: &str) -> Option<Site> {
    let has_python = std::path::Path::new("/usr/bin/python3").exists();
    if !has_python {
        need::skip("interpreters");
        return None;
    }
    let site = Site::new(0).policy(table);
    site.write("src/a.py", "import sys\nimport json\n\nprint(1)\n");
    site.write("src/b.py", "import json\nimport sys\n");
    site.script("dta/sort_imports.py", program);
    Some(site)
}

pub(super) fn site() -> Option<Site> {
    site_of(TABLE, SORT)
}

pub(super) fn invocation(mode: &str) -> Value {
    json!({
        "tool": "sort_imports", "version": "1.2", "mode": mode, "target": {"repo_path": ".", "glob": "src/**"}, "params": {},
        "constraints": {"max_files": 100, "timeout_ms": 60_000, "seed": 7},
    })
}

/// Applies with this program and expects a code and words; the tree stays as it was.
#[track_caller]
pub(super) fn fails(program: &str, code: &str, words: &[&str]) {
    let Some(site) = site_of(TABLE, program) else { return };
    let before = site.tree();
    let ran = run(&site, &invocation("apply"), &["--yes"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    for word in [&[code], words].concat() {
        assert!(ran.stderr.contains(word) || ran.stdout.contains(word), "`{word}`: {ran:?}");
    }
    assert!(site.tree() == before, "{ran:?}");
}

/// A program that answers each phase with these expressions.
pub(super) fn answers(discover: &str, propose: &str, measure: &str) -> String {
    format!(
        "import json, sys, os\nrequest = json.load(sys.stdin)\nfiles = request['files']\nphase = request['phase']\n\
         if phase == 'discover':\n    reply = {discover}\nelif phase == 'propose':\n    reply = {propose}\nelse:\n    reply = {measure}\n\
         json.dump(reply, sys.stdout)\n"
    )
}

pub(super) const COUNTS: &str = "{'counts': {'unsorted': 0}}";
pub(super) const NOTHING: &str = "{'files': []}";

#[test]
fn it_applies_is_verified_and_says_who_measured() {
    let Some(site) = site() else { return };
    let before = site.tree();
    let output = run(&site, &invocation("dry-run"), &[]).exits(0).json();
    assert_eq!((&output["ok"], &output["applied_changes"]["files"]), (&json!(true), &json!(0)));
    assert!(site.tree() == before);
    let output = run(&site, &invocation("apply"), &["--yes"]).exits(0).json();
    assert_eq!(output["baseline"]["unsorted"], 1);
    assert_eq!(site.read("src/a.py"), b"import json\nimport sys\n\nprint(1)\n");
    let remark = output["verifier"]["remarks"][0].as_str().unwrap();
    assert!(remark.starts_with("self-measured"), "{remark}");
    let ran = site.nrv(&["dta", "verify", "last"]).exits(0);
    assert!(ran.stdout.contains("self-measured"), "{ran:?}");
    let report = site.nrv(&["runs", "show", "last"]).exits(0);
    assert!(report.stdout.contains("self-measured"), "{report:?}");
    let started = site.nrv(&["runs", "show", "last", "--json"]).exits(0).stdout;
    assert!(started.contains("dta/sort_imports.py"), "{started}");
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn another_program_may_measure() {
    let table = format!("{TABLE}measure_program = [\"/usr/bin/python3\", \"dta/measure.py\"]\n");
    let Some(site) = site_of(&table, SORT) else { return };
    site.script("dta/measure.py", &format!("{SORT}# the program that measures\n"));
    let output = run(&site, &invocation("apply"), &["--yes"]).exits(0).json();
    assert_eq!(output["verifier"].get("remarks"), None);
    site.script("dta/measure.py", &answers(COUNTS, NOTHING, "{'counts': {'unsorted': 1}}"));
    let ran = run(&site, &invocation("apply"), &["--yes"]);
    assert!(ran.code == 4 && ran.stderr.contains("the baseline says 0 for `unsorted`"), "{ran:?}");
}

#[test]
fn a_file_with_an_interpreter_line_is_a_program() {
    let table = TABLE.replace("\"/usr/bin/python3\", ", "");
    let program = SORT.replace("#!/usr/bin/env python3", "#!/usr/bin/python3");
    let Some(site) = site_of(&table, &program) else { return };
    run(&site, &invocation("apply"), &["--yes"]).exits(0);
}

#[test]
fn it_is_listed_with_its_table() {
    let Some(site) = site() else { return };
    let described = site.nrv(&["dta", "describe", "sort_imports", "--json"]).exits(0).json();
    assert_eq!((&described["version"], &described["domain"]), (&json!("1.2"), &json!(["**/*.py"])));
    let site = site.policy(&TABLE.replace("glob = [\"**/*.py\"]\n", ""));
    let ran = site.nrv(&["dta", "describe", "sort_imports"]);
    assert!(
        ran.code != 0 && ran.stderr.contains("invalid_policy") && ran.stderr.contains("adapters.sort_imports"),
        "{ran:?}"
    );
    let site = site.policy(&format!("{TABLE}script = \"dta/x.rhai\"\n"));
    let ran = site.nrv(&["dta", "list"]);
    assert!(ran.code != 0 && ran.stderr.contains("can't stand beside `script`"), "{ran:?}");
}

#[test]
fn its_failures_have_codes() {
    fails(
        "import sys\nprint('why', file=sys.stderr)\nsys.exit(3)\n",
        "command_failed",
        &["ended with status 3", "why"],
    );
    fails("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "command_failed", &["was ended by signal 11"]);
    fails("print('no json')\n", "command_failed", &["something else than its reply", "no json"]);
    fails("import sys\nsys.stdout.write('x' * (40 << 20))\n", "command_failed", &["wrote more than 32 MiB"]);
    fails("import sys\nsys.stdout.buffer.write(b'{\"counts\": \\xff')\n", "command_failed", &["that are not UTF-8"]);
    fails(
        "print('{\"counts\": {\"unsorted\": 1, \"unsorted\": 0}}')\n",
        "command_failed",
        &["the count `unsorted` is there twice"],
    );
    fails(&answers(NOTHING, NOTHING, COUNTS), "command_failed", &["another phase's reply"]);
    fails(
        &answers("{'counts': {'unsorted': -1}}", NOTHING, COUNTS),
        "command_failed",
        &["something else than its reply"],
    );
    fails(
        &answers(COUNTS, "{'files': [{'path': '../x', 'text': 'y'}]}", COUNTS),
        "command_failed",
        &["`../x`, which it was not asked"],
    );
    fails(&answers("{'error': 'not today'}", NOTHING, COUNTS), "command_failed", &["refuses `discover`: not today"]);
}

#[test]
fn what_it_proposes_is_checked() {
    let grows = "{'files': [{'path': f['path'], 'text': f['text'] + 'x'} for f in files]}";
    fails(&answers(COUNTS, grows, COUNTS), "verification_failed", &["is not idempotent"]);
    fails(
        &answers("{'counts': {'unsorted': 5}}", NOTHING, COUNTS),
        "verification_failed",
        &["the baseline says 5 for `unsorted`"],
    );
    fails(
        &answers("{'counts': {'unsorted': 1}}", NOTHING, "{'counts': {'unsorted': 1}}"),
        "verification_failed",
        &["`unsorted` is 1 after the change"],
    );
}

/// Writes Latin-1 as UTF-8; refuses batches beyond their bound.
const LATIN: &str = "import base64, json, sys\nstdin = sys.stdin.read()\nrequest = json.loads(stdin)\nfiles = request['files']\n\
    bytes_of = lambda f: f['text'].encode() if 'text' in f else base64.b64decode(f['b64'])\n\
    is_latin = lambda f: 'b64' in f and b'\\0' not in bytes_of(f)\n\
    if len(stdin) > (4 << 20) + 4096:\n    reply = {'error': 'too long: %d' % len(stdin)}\n\
    elif request['phase'] == 'propose':\n    reply = {'files': [{'path': f['path'], 'text': bytes_of(f).decode('latin-1')} for f in files if is_latin(f)]}\n\
    else:\n    reply = {'counts': {'unsorted': sum(map(is_latin, files)), 'bytes': sum(len(bytes_of(f)) for f in files)}}\n\
    json.dump(reply, sys.stdout)\n";

#[test]
fn files_that_are_not_utf_8_travel_in_base64() {
    let Some(site) = site_of(TABLE, LATIN) else { return };
    site.write("src/latin.py", b"a = '\xe9\xe8'\n");
    site.write("src/binary.py", b"\0\xff");
    site.commit();
    let before = site.tree();
    let output = run(&site, &invocation("apply"), &["--yes"]).exits(0).json();
    assert_eq!((&output["baseline"]["files_scanned"], &output["baseline"]["files_skipped"]), (&json!(4), &json!(0)));
    assert_eq!((&output["baseline"]["unsorted"], &output["applied_changes"]["files"]), (&json!(1), &json!(1)));
    assert_eq!(site.read("src/latin.py"), "a = 'éè'\n".as_bytes());
    site.nrv(&["rollback", "last"]).exits(0);
    assert!(site.tree() == before);
    // And a text becomes bytes.
    let back =
        "{'files': [{'path': f['path'], 'b64': 'Iv8K'} for f in files if 'text' in f and f['path'].endswith('a.py')]}";
    let latin = "{'counts': {'unsorted': sum('text' in f and f['path'].endswith('a.py') for f in files)}}";
    site.script("dta/sort_imports.py", &answers(latin, back, latin));
    run(&site, &invocation("apply"), &["--yes"]).exits(0);
    assert_eq!(site.read("src/a.py"), b"\"\xff\n");
    site.nrv(&["rollback", "last"]).exits(0);
    let request = json!({"id": 1, "input": invocation("dry-run"), "files": {"src/a.py": "x\n"}});
    let ran = site.nrv_with(&["dta", "run", "sort_imports", "--jsonl"], &format!("{request}\n"));
    assert!(ran.stdout.contains("is not UTF-8") || ran.stderr.contains("is not UTF-8"), "{ran:?}");
    // A patch can't show a binary file.
    fails(
        &answers(
            "{'counts': {'unsorted': 2}}",
            "{'files': [{'path': f['path'], 'b64': 'AP8='} for f in files]}",
            COUNTS,
        ),
        "unreadable",
        &["`src/a.py` would be binary"],
    );
    fails(
        &answers(COUNTS, "{'files': [{'path': f['path'], 'b64': '?'} for f in files]}", COUNTS),
        "command_failed",
        &["not Base64"],
    );
}

#[test]
fn batches_are_bounded_as_they_are_encoded() {
    let Some(site) = site_of(TABLE, LATIN) else { return };
    for index in 0..3 {
        site.write(&format!("src/lines{index}.py"), vec![b'\n'; 1 << 20]);
        site.write(&format!("src/bytes{index}.py"), [[0xff].repeat(3 << 19), vec![0]].concat());
    }
    site.commit();
    let output = run(&site, &invocation("dry-run"), &[]).exits(0).json();
    assert_eq!(output["baseline"]["files_scanned"], 8);
    assert_eq!(output["baseline"]["bytes"].as_u64().unwrap(), 3 * ((1 << 20) + (3 << 19) + 1) + 56);
}

#[test]
fn a_program_behind_a_link_is_refused() {
    let Some(site) = site_of(TABLE, SORT) else { return };
    std::fs::rename(site.path("dta/sort_imports.py"), site.path("dta/real.py")).unwrap();
    std::os::unix::fs::symlink("real.py", site.path("dta/sort_imports.py")).unwrap();
    let before = site.tree();
    let ran = run(&site, &invocation("apply"), &["--yes"]).exits(1);
    assert!(
        ran.stderr.contains("invalid_path") && ran.stderr.contains("`dta/sort_imports.py` is a symbolic link"),
        "{ran:?}"
    );
    assert!(site.tree() == before);
}

#[test]
fn it_ends_with_its_time() {
    let Some(site) = site_of(TABLE, "import time\ntime.sleep(600)\n") else { return };
    let mut input = invocation("apply");
    input["constraints"]["timeout_ms"] = json!(700);
    let ran = run(&site, &input, &["--yes"]);
    assert!(ran.code != 0 && ran.stderr.contains("took longer than"), "{ran:?}");
}

#[test]
fn it_sees_neither_the_tree_nor_the_network_and_writes_nothing() {
    let secret = "{'error': 'read ' + open('ROOT/src/b.py').read()}";
    let tries = "[__import__('os').path.exists('ROOT/nrv.toml'), __import__('os').environ.get('HOME')]";
    let Some(site) = site_of(TABLE, SORT) else { return };
    let root = site.root().display().to_string();
    for (expression, words) in [
        (secret, vec!["command_failed", "ended with status 1"]),
        ("{'error': open('/etc/passwd').read()}", vec!["command_failed", "ended with status 1"]),
        ("{'error': open('/etc/shadow').read()}", vec!["command_failed", "ended with status 1"]),
        ("{'error': open('/etc/ssl/private/key.pem').read()}", vec!["command_failed", "ended with status 1"]),
        ("{'error': str(open('ROOT/made', 'w'))}", vec!["command_failed", "ended with status 1"]),
        (
            "{'error': str(__import__('socket').create_connection(('127.0.0.1', 9), 1))}",
            vec!["command_failed", "ended with status 1"],
        ),
        (&format!("{{'error': str({tries})}}"), vec!["command_failed", "None"]),
    ] {
        site.script("dta/sort_imports.py", &answers(&expression.replace("ROOT", &root), NOTHING, COUNTS));
        let ran = run(&site, &invocation("apply"), &["--yes"]);
        assert!(ran.code != 0 && words.iter().all(|word| ran.stderr.contains(word)), "{expression}: {ran:?}");
        assert!(!site.path("made").exists() && !ran.stderr.contains("import json"), "{ran:?}");
        assert!(!ran.stderr.contains("root:"), "{ran:?}");
    }
}

#[test]
fn it_waits_until_the_policy_is_trusted() {
    let Some(site) = site() else { return };
    let mut command = site.command(&["dta", "run", "sort_imports", "--input", "input.json", "--yes"]);
    std::fs::write(site.path("input.json"), invocation("dry-run").to_string()).unwrap();
    let output = command.env_remove("NRV_TRUSTED_PATHS").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(3) && stderr.contains("no person has trusted it"), "{stderr}");
}

#[test]
fn in_ci_its_files_are_those_that_were_approved() {
    let Some(site) = site() else { return };
    std::fs::write(site.path("input.json"), invocation("dry-run").to_string()).unwrap();
    let in_ci = || {
        let output =
            site.command(&["dta", "run", "sort_imports", "--input", "input.json"]).env("CI", "true").output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = in_ci();
    assert!(code == 3 && stderr.contains("not_approved"), "{stderr}");
    site.nrv(&["approve", "dta/sort_imports.py", "--yes"]).exits(0);
    site.commit();
    let (code, stderr) = in_ci();
    assert_eq!(code, 0, "{stderr}");
    site.script("dta/sort_imports.py", &SORT.replace("sorted(", "list("));
    let (code, stderr) = in_ci();
    assert!(code == 3 && stderr.contains("differs from its approval"), "{stderr}");
}

#[test]
fn a_verifier_that_takes_too_long_leaves_no_private_folder() {
    let mark = tempfile::Builder::new().prefix("here-").tempfile().unwrap();
    let mark = mark.path().file_name().unwrap().to_str().unwrap();
    let Some(site) = site_of(TABLE, &waits_in("measure", mark)) else { return };
    let mut input = invocation("apply");
    input["constraints"]["timeout_ms"] = json!(3000);
    run(&site, &input, &["--yes"]).exits(4).says("took longer than");
    assert_eq!(in_private_folders(&[Path::new("/tmp")], mark), [] as [PathBuf; 0]);
}

/// The shipped example, which makes a file of its own in a phase and then does not come to an end.
fn waits_in(phase: &str, file: &str) -> String {
    format!(
        "import io, json, os, sys, time\ntext = sys.stdin.read()\nif json.loads(text)['phase'] == '{phase}':\n    \
         open(os.environ['TMPDIR'] + '/{file}', 'w').close()\n    time.sleep(600)\nsys.stdin = io.StringIO(text)\n{SORT}"
    )
}

/// The files of that name in private folders, those of the verifier among them, which knows no `TMPDIR`.
fn in_private_folders(places: &[&Path], file: &str) -> Vec<PathBuf> {
    let is_private = |entry: &walkdir::DirEntry| {
        entry.depth() != 1 || entry.file_name().to_str().is_some_and(|name| name.starts_with("nrv-"))
    };
    let entries = |place: &&Path| walkdir::WalkDir::new(place).max_depth(3).into_iter().filter_entry(is_private);
    let found = places.iter().flat_map(entries).filter_map(Result::ok).filter(|entry| entry.file_name() == file);
    found.map(walkdir::DirEntry::into_path).collect()
}

#[test]
fn the_recovery_of_a_killed_run_removes_the_private_folders_of_its_programs() {
    for phase in ["discover", "propose", "measure"] {
        let mark = tempfile::Builder::new().prefix("here-").tempfile().unwrap();
        let mark = mark.path().file_name().unwrap().to_str().unwrap();
        let Some(site) = site_of(TABLE, &waits_in(phase, mark)) else { return };
        let temporary = site.root().with_file_name("temporary");
        std::fs::create_dir(&temporary).unwrap();
        site.write("../input.json", invocation("apply").to_string());
        let mut command = site.command(&["dta", "run", "sort_imports", "--input", "../input.json", "--yes"]);
        let mut running = Running(command.env("TMPDIR", &temporary).spawn().unwrap());
        let marked = || in_private_folders(&[&temporary, Path::new("/tmp")], mark);
        wait_until("the program was started", || !marked().is_empty() || running.has_ended());
        assert!(!running.has_ended());
        running.signal(Signal::KILL);
        running.end();
        let recovered = site.command(&["recover"]).env("TMPDIR", &temporary).output().unwrap();
        assert!(recovered.status.success(), "{recovered:?}");
        assert_eq!(marked(), [] as [PathBuf; 0], "{phase}");
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{phase}");
    }
}
