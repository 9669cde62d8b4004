//! Bounds of a run's memory and disk space, and the removal of records on request.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs::{self, File},
    process::Command,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::support::{
    long, need,
    site::{Site, wait_until},
};

/// Text that does not compress, a different one for each number.
fn noise(number: u64, length: usize) -> Vec<u8> {
    let mut state = number;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b'0' + (state >> 58) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// The bytes of the packs of replies.
fn replies(site: &Site) -> u64 {
    site.recorded("*/packs/replies").iter().map(|path| fs::metadata(path).unwrap().len()).sum()
}

#[test]
fn a_file_that_is_larger_than_a_reply_is_refused_before_it_is_read() {
    let site = Site::empty();
    File::create(site.path("zeros.bin")).unwrap().set_len(300 << 20).unwrap();
    site.write(
        "read.rhai",
        "let e = (); try { nrv.files.read(\"zeros.bin\"); } catch (thrown) { e = thrown; }\n\
         nrv.gate.require(e.code == \"unreadable\" && e.details.size == 314572800 && e.details.most == 67108864, `${e}`);\n\
         nrv.files.sha256(\"zeros.bin\")",
    );
    site.nrv(&["run", "read.rhai"]).exits(0);
    assert_eq!(replies(&site), 0);
    site.write("prompt.rhai", "nrv.files.read(\"zeros.bin\")");
    site.nrv(&["run", "prompt.rhai"]).exits(1).says("script.limits.reply_bytes").says("314572800");
}

#[test]
fn a_policy_or_a_lock_that_would_take_much_memory_is_refused_before_it_is_parsed() {
    let site = Site::empty();
    site.nrv(&["check", "nrv.toml"]).exits(1);
    let deep = format!("a = {}", "[".repeat(500_000));
    for (text, words) in [
        (deep.as_str(), "line 1 of `nrv.toml` is nested deeper than 64 levels"),
        (&"#".repeat((512 << 10) + 1), "`nrv.toml` has more than 512 KiB"),
    ] {
        site.write("nrv.toml", text);
        site.nrv(&["check", "nrv.toml"]).exits(1).says(words);
        site.nrv(&["dta", "list"]).exits(1).says(words);
    }
    File::create(site.path("nrv.toml")).unwrap().set_len(900 << 20).unwrap();
    site.nrv(&["dta", "list"]).exits(1).says("has more than 512 KiB");
    site.write("nrv.toml", "#".repeat(512 << 10));
    site.nrv(&["dta", "list"]).exits(0);
    File::create(site.path("nrv.lock")).unwrap().set_len(900 << 20).unwrap();
    site.nrv(&["approve", "--check"]).exits(1).says("`nrv.lock` has more than 1024 KiB");
    site.write("nrv.lock", format!("version = 1\n{deep}"));
    site.nrv(&["approve", "--check"]).exits(1).says("line 2 of `nrv.lock` is nested deeper than 64 levels");
}

#[test]
fn a_path_longer_than_the_system_takes_is_refused_before_anything_looks_at_it() {
    let site = Site::empty();
    site.write("w.rhai", "let p = \"\"; for i in 0..50000 { p += \"a/\"; } nrv.files.exists(p + \"x\")");
    let begun = Instant::now();
    site.nrv(&["run", "w.rhai"]).exits(1).says("is longer than 4095 bytes");
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn a_list_of_more_globs_than_fit_is_refused_before_it_is_compiled() {
    let site = Site::empty();
    let list = "let globs = []; for n in 0..10001 { globs.push(`a${n}/**/*.md`); }\n";
    for call in long::sample(
        [
            "nrv.files.glob(globs)",
            "nrv.commit(#{ description: \"x\", assertion: #{ tree_unchanged: globs } })",
            "nrv.dta(\"link_updater\").propose(#{ target: #{ glob: globs }, params: #{ from_hosts: [\"a.example\"], to_host: \"https://b.example\" } })",
        ],
        3,
    ) {
        site.write("globs.rhai", format!("{list}{call};"));
        site.nrv(&["run", "globs.rhai"]).exits(1).says("has 10001 entries, and may have 10000").says("name folders");
    }
    let globs = vec!["\"a/**/*.md\""; 10_001].join(", ");
    site.write("header.rhai", format!("const WORKFLOW = #{{ name: \"x\", permissions: #{{ write: [{globs}] }} }};"));
    site.nrv(&["run", "header.rhai"]).exits(1).says("`permissions.write` of the script's header has 10001 entries");
}

#[test]
fn a_long_text_of_control_characters_arrives_whole_and_takes_little_room() {
    let site = Site::empty();
    File::create(site.path("zeros.bin")).unwrap().set_len(8 << 20).unwrap();
    site.write("read.rhai", "nrv.files.read(\"zeros.bin\").len()");
    let ran = site.nrv(&["run", "read.rhai", "--json"]).exits(0);
    assert_eq!(ran.json()["result"], 8 << 20);
    assert!(replies(&site) < 1 << 20, "{}", replies(&site));
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn what_is_read_many_times_is_recorded_once() {
    let site = Site::empty();
    site.write("text.txt", noise(1, 3 << 20));
    site.write("read.rhai", "for i in 0..20 { nrv.files.read(\"text.txt\"); } 1");
    site.nrv(&["run", "read.rhai"]).exits(0);
    assert!(replies(&site) < 4 << 20, "{}", replies(&site));
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_record_that_reaches_its_budget_ends_the_run_and_is_sealed() {
    let site = Site::new(0).policy("[budget]\nrecord = \"2MiB\"\n");
    (0..9).for_each(|n| site.write(&format!("{n}.txt"), noise(n, 3 << 19)));
    site.write("read.rhai", "for i in 0..9 { try { nrv.files.read(`${i}.txt`); } catch { } } 1");
    let ran = site.nrv(&["run", "read.rhai", "--json"]).exits(6);
    assert_eq!(ran.json()["error"]["details"]["budget"], "record");
    assert!(replies(&site) < 3 << 20, "{}", replies(&site));
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["replay", "last"]).exits(0);
}

#[test]
fn a_long_file_is_searched_line_by_line() {
    let site = Site::empty();
    let mut text = noise(1, 1 << 20);
    text.push(b'\n');
    let mut text = text.repeat(20);
    text.extend_from_slice("näher needle\r\n\nlast needle".as_bytes());
    site.write("long.txt", &text);
    text.push(0xff);
    site.write("binary.txt", &text);
    site.write("find.rhai", "nrv.files.grep(\"needle\", \"*.txt\")");
    let ran = site.nrv(&["run", "find.rhai", "--json"]).exits(0);
    let expected = serde_json::json!([
        {"path": "long.txt", "line": 21, "column": 7, "text": "näher needle"},
        {"path": "long.txt", "line": 23, "column": 6, "text": "last needle"},
    ]);
    assert_eq!(ran.json()["result"], expected);
}

#[test]
fn what_a_script_sends_at_once_has_a_bound_that_it_is_told() {
    let site = Site::new(0).policy("[script.limits]\nreply_bytes = \"1MiB\"\n");
    site.write(
        "send.rhai",
        "let long = \"x\"; long.pad(2000000, \"x\");\n\
         let many = []; many.pad(600000, 0);\n\
         for value in [long, many] {\n\
         let e = (); try { nrv.ui.show(value); } catch (thrown) { e = thrown; }\n\
         nrv.gate.require(e.code == \"invalid_input\" && e.details.limit == \"script.limits.reply_bytes\", `${e}`);\n\
         }\n\
         long",
    );
    site.nrv(&["run", "send.rhai"]).exits(1).says("at once");
}

#[test]
fn a_signal_ends_what_takes_long() {
    let site = Site::empty();
    File::create(site.path("endless.bin")).unwrap().set_len(60 << 30).unwrap();
    for call in ["nrv.files.sha256(\"endless.bin\")", "nrv.files.stat(\"endless.bin\")"] {
        site.write("long.rhai", call);
        let runs = site.recorded("*/events.jsonl").len();
        let mut running = site.start(&["run", "long.rhai"]);
        wait_until("the run begins", || {
            let events = site.recorded("*/events.jsonl");
            events.len() > runs && fs::read_to_string(events.last().unwrap()).unwrap().contains("worker_started")
        });
        assert!(!running.has_ended());
        running.signal(Signal::TERM);
        let told = Instant::now();
        running.end().exits(130);
        assert!(told.elapsed() < Duration::from_secs(5), "{call}: {:?}", told.elapsed());
        site.nrv(&["runs", "verify", "last"]).exits(0);
    }
}

#[test]
fn only_runs_with_a_lease_are_looked_at_when_another_begins() {
    let site = Site::empty();
    site.write("one.rhai", "1");
    site.nrv(&["run", "one.rhai"]).exits(0);
    let old = site.last_run();
    // An unreadable transaction: every reader reports it.
    fs::write(old.join("journal/t1.json"), "no journal").unwrap();
    let quiet = site.nrv(&["run", "one.rhai"]).exits(0);
    assert!(!quiet.stderr.contains("can't be recovered"), "{quiet:?}");
    // Without the leases nothing is known of the run.
    fs::remove_dir_all(site.path(".runs/locks")).unwrap();
    site.nrv(&["run", "one.rhai"]).exits(0).says("can't be recovered");
    // It has a lease since then.
    site.nrv(&["run", "one.rhai"]).exits(0).says("can't be recovered");
    fs::remove_file(old.join("journal/t1.json")).unwrap();
    site.nrv(&["recover"]).exits(0);
}

#[test]
fn records_of_a_later_version_are_refused_and_left_alone() {
    let site = Site::empty();
    site.write("one.rhai", "1");
    site.nrv(&["run", "one.rhai"]).exits(0);
    site.write(".runs/format", "2\n");
    let before = site.recorded("**/*");
    for arguments in
        [&["run", "one.rhai"][..], &["runs", "list"], &["runs", "show", "last"], &["recover"], &["runs", "gc"]]
    {
        site.nrv(arguments).exits(1).says("this version reads 1");
    }
    assert_eq!(site.recorded("**/*"), before);
    fs::remove_file(site.path(".runs/format")).unwrap();
    site.nrv(&["runs", "list"]).exits(0);
}

#[test]
fn a_change_for_which_there_is_no_room_is_refused_before_it_is_written() {
    let site = Site::empty();
    fs::create_dir(site.path("small")).unwrap();
    let small = site.path("small");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=6m", "none"]).arg(&small).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        return need::skip("mounts");
    }
    let root = small.to_str().unwrap().to_owned();
    fs::write(small.join("old.txt"), "old\n").unwrap();
    fs::write(
        small.join("write.rhai"),
        "const WORKFLOW = #{ name: \"w\", permissions: #{ write: [\"**\"] } };\n\
         let text = \"0123456789abcdef\"; while text.len() < 3000000 { text += text; }\n\
         nrv.apply.create(\"new.txt\", text);",
    )
    .unwrap();
    let ran = site.nrv(&["--root", &root, "run", "write.rhai", "--yes", "--json"]);
    let left = small.join("new.txt").exists();
    Command::new("umount").arg(&small).status().unwrap();
    assert_eq!(ran.json()["error"]["code"], "io", "{ran:?}");
    assert!(ran.json()["error"]["details"]["needed"].as_u64() > ran.json()["error"]["details"]["free"].as_u64());
    assert!(!left);
}

/// A user who runs nothing else meanwhile: the kernel counts the threads of a user.
const LONELY: u32 = 12399;

#[test]
fn where_threads_run_out_a_command_says_so_and_ends() {
    let site = Site::new(12);
    let script = "const WORKFLOW = #{ permissions: #{ write: [\"**/*.html\"] } };\nlet links = nrv.dta(\"link_updater\");\n\
        links.propose(#{ target: #{ glob: [\"**/*.html\"] }, params: #{ from_hosts: [\"old.example.com\"], \
        to_host: \"https://new.example.com\" } }).id";
    site.script("w.rhai", script);
    for entry in walkdir::WalkDir::new(site.root().parent().unwrap()) {
        if std::os::unix::fs::lchown(entry.unwrap().path(), Some(LONELY), Some(LONELY)).is_err() {
            return need::skip("users");
        }
    }
    let mut refused = 0;
    for most in 1..24 {
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "30", "setpriv", "--reuid", &LONELY.to_string(), "--regid", &LONELY.to_string()]);
        command.args(["--clear-groups", "prlimit", &format!("--nproc={most}"), crate::repository::nrv()]);
        command.args(["--threads", "4", "run", "w.rhai", "--dry-run"]);
        let Ok(output) = site.tame(&mut command).output() else {
            return need::skip("users");
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code().is_some_and(|code| ![101, 124, 137].contains(&code)) && !said.contains("panicked"),
            "{most}: {said}"
        );
        refused += u32::from(said.contains("temporarily unavailable") || said.contains("can't be started"));
    }
    assert!(refused > 0, "no limit was felt");
}
