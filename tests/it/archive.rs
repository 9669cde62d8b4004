//! Records that are exported, imported and removed.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    io::{Read, Write},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde_json::{Value, json};

use crate::support::{
    hold::{PATIENT, held_script, stopped_in_transaction},
    site::{MIGRATE, Site, Tree},
};

/// A site with one run, exported; the tree before the run.
fn exported(contents: bool) -> (Site, String, Tree) {
    let site = Site::new(4);
    let before = site.tree();
    site.migrate(&[]).exits(0);
    let run = site.runs()[0]["run"].as_str().unwrap().to_owned();
    let more: &[&str] = if contents { &["--with-contents"] } else { &[] };
    site.nrv(&[&["runs", "export", &run, "-o", "run.nrv-run"], more].concat()).exits(0);
    (site, run, before)
}

/// Moves a run's record out of the way, as on another machine that has the tree only.
fn forget(site: &Site) {
    fs::remove_dir_all(site.path(".runs")).unwrap();
}

/// The files of an export with their contents.
fn unpacked(site: &Site) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(site.path("run.nrv-run")).unwrap()));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (String::from_utf8(entry.path_bytes().into_owned()).unwrap(), bytes)
    });
    entries.collect()
}

fn packed(site: &Site, files: &[(String, Vec<u8>)], kind: tar::EntryType) {
    let file = fs::File::create(site.path("run.nrv-run")).unwrap();
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    for (index, (name, bytes)) in files.iter().enumerate() {
        let mut header = tar::Header::new_ustar();
        // The crate refuses names that climb; an attacker's would not.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(if index == files.len() - 1 { kind } else { tar::EntryType::Regular });
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append(&header, bytes.as_slice()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap().flush().unwrap();
}

#[test]
fn a_run_that_was_exported_with_contents_can_be_verified_and_rolled_back_elsewhere() {
    let (site, run, before) = exported(true);
    let shown = site.nrv(&["runs", "show", &run, "--canonical"]).exits(0).stdout;
    forget(&site);
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(0).says(&run);
    site.nrv(&["runs", "verify", &run]).exits(0);
    assert_eq!(site.nrv(&["runs", "show", &run, "--canonical"]).exits(0).stdout, shown);
    fs::remove_file(site.path("run.nrv-run")).unwrap();
    site.nrv(&["rollback", &run]).exits(0).says("4 files");
    assert!(site.tree() == before);
}

#[test]
fn without_contents_nothing_of_the_workspaces_files_goes_along() {
    let (site, run, _) = exported(false);
    for (name, bytes) in unpacked(&site) {
        assert!(!String::from_utf8_lossy(&bytes).contains("a page of text"), "{name}");
        assert!(!name.contains("/pre/") && !name.ends_with("replies") && !name.ends_with("patch"), "{name}");
    }
    forget(&site);
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(0);
    let report = site.nrv(&["runs", "verify", &run, "--json"]).exits(0).json();
    assert_eq!((&report["sound"], &report["damaged_pre_images"]), (&json!(true), &json!([])));
    assert!(report["left_out"].as_u64().unwrap() > 0);
    let held = site.tree();
    site.nrv(&["rollback", &run]).exits(1).says("--with-contents");
    assert!(site.tree() == held);
    site.nrv(&["runs", "export", &run, "--with-contents", "-o", "again"]).exits(1).says("are not here");
    assert!(!site.path("again").exists());
    site.nrv(&["runs", "export", &run, "-o", "again"]).exits(0);
    assert_eq!(site.read("again"), site.read("run.nrv-run"));
}

#[test]
fn an_import_with_contents_replaces_one_without_them() {
    let (site, run, before) = exported(true);
    site.nrv(&["runs", "export", &run, "-o", "poor.nrv-run"]).exits(0);
    forget(&site);
    site.nrv(&["runs", "import", "poor.nrv-run"]).exits(0);
    site.nrv(&["runs", "import", "poor.nrv-run"]).exits(1).says("with the contents that it lacks");
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(0);
    site.nrv(&["runs", "import", "poor.nrv-run"]).exits(1).says("there is a run");
    assert!(site.recorded(".import-*").is_empty());
    let report = site.nrv(&["runs", "verify", &run, "--json"]).exits(0).json();
    assert_eq!((&report["sound"], &report["left_out"]), (&json!(true), &json!(0)));
    fs::remove_file(site.path("run.nrv-run")).unwrap();
    fs::remove_file(site.path("poor.nrv-run")).unwrap();
    site.nrv(&["rollback", &run]).exits(0);
    assert!(site.tree() == before);
}

#[test]
fn a_run_that_waits_is_exported_so_that_it_goes_on_elsewhere() {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("a.rhai", "const WORKFLOW = #{ permissions: #{ write: [\"**\"] } };\nnrv.apply.create(\"b.txt\", \"b\\n\");\nnrv.gate.confirm(\"go on\", #{});\nnrv.apply.create(\"c.txt\", \"c\\n\");");
    site.commit();
    site.nrv(&["run", "a.rhai"]).exits(7);
    for (more, contents) in [(&[][..], true), (&["--without-contents"], false), (&["--with-contents"], true)] {
        let arguments = [&["runs", "export", "last", "-o", "run.nrv-run", "--json"], more].concat();
        assert_eq!(site.nrv(&arguments).exits(0).json()["contents"], contents, "{more:?}");
        if !contents {
            fs::remove_file(site.path("run.nrv-run")).unwrap();
            continue;
        }
        let kept = site.path("run.nrv-run");
        fs::rename(&kept, site.path("kept.nrv-run")).unwrap();
    }
    forget(&site);
    site.nrv(&["runs", "import", "kept.nrv-run"]).exits(0);
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(site.path("b.txt").exists() && site.path("c.txt").exists());
}

#[test]
fn records_are_removed_by_their_ids() {
    let site = Site::new(4);
    site.migrate(&[]).exits(0);
    let run = site.runs()[0]["run"].as_str().unwrap().to_owned();
    site.nrv(&["runs", "remove", &run]).exits(2).says("there is no person to ask");
    site.nrv(&["runs", "remove", &run, "nothing", "--yes"]).exits(1).says("there is no run `nothing`");
    site.nrv(&["runs", "remove", "last", "--dry-run"]).exits(0).says("1 run would be removed");
    assert_eq!(site.runs().len(), 1);
    let removed = site.nrv(&["runs", "remove", &run, "last", "--yes", "--json"]).exits(0).json();
    assert_eq!((&removed["removed"][0]["run"], removed["removed"].as_array().unwrap().len()), (&json!(run), 1));
    assert!(site.runs().is_empty());
    site.nrv(&["rollback", &run]).exits(1).says("there is no run");
}

#[test]
fn nothing_is_overwritten_by_an_export_or_an_import() {
    let (site, run, _) = exported(true);
    site.nrv(&["runs", "export", &run, "-o", "run.nrv-run"]).exits(1).says("none is overwritten");
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(1).says("there is a run");
    site.nrv(&["runs", "verify", &run]).exits(0);
    assert!(site.recorded(".import-*").is_empty());
}

#[test]
fn an_export_that_was_altered_is_not_taken_in() {
    type Alter = fn(&mut Vec<(String, Vec<u8>)>);
    let cases: [(&str, i32, tar::EntryType, Alter); 11] = [
        ("was altered", 4, tar::EntryType::Regular, |files| {
            let events = files.iter_mut().find(|(name, _)| name == "events.jsonl").unwrap();
            events.1 = String::from_utf8_lossy(&events.1).replace("site/a", "site/b").into_bytes();
        }),
        ("is missing", 4, tar::EntryType::Regular, |files| files.retain(|(name, _)| !name.ends_with("/patch"))),
        ("ends at record", 4, tar::EntryType::Regular, |files| {
            let events = files.iter_mut().find(|(name, _)| name == "events.jsonl").unwrap();
            events.1.truncate(events.1.len() - 1);
            let end = events.1.iter().rposition(|byte| *byte == b'\n').unwrap();
            events.1.truncate(end + 1);
        }),
        ("no file of a record", 1, tar::EntryType::Regular, |files| {
            files.push(("packs/../../x".into(), b"x".to_vec()))
        }),
        ("no file of a record", 1, tar::EntryType::Regular, |files| files.push(("/tmp/x".into(), b"x".to_vec()))),
        ("no file of a record", 1, tar::EntryType::Regular, |files| {
            files.push(("journal/t.json".into(), b"x".to_vec()))
        }),
        ("no file of a record", 1, tar::EntryType::Symlink, |files| files.push(("packs/x".into(), Vec::new()))),
        ("pre/0: the pre-image of", 4, tar::EntryType::Regular, |files| {
            files.iter_mut().find(|(name, _)| name == "packs/t1/pre/0").unwrap().1.push(b' ');
        }),
        ("`packs/t1/pre/1` is missing", 4, tar::EntryType::Regular, |files| {
            files.retain(|(name, _)| name != "packs/t1/pre/1");
        }),
        ("is in it twice", 1, tar::EntryType::Regular, |files| {
            let twice = files.last().unwrap().clone();
            files.push(twice);
        }),
        ("does not begin with", 1, tar::EntryType::Regular, |files| drop(files.remove(0))),
    ];
    for (index, (words, code, kind, alter)) in cases.into_iter().enumerate() {
        let (site, ..) = exported(true);
        forget(&site);
        let mut files = unpacked(&site);
        alter(&mut files);
        packed(&site, &files, kind);
        let ran = site.nrv(&["runs", "import", "run.nrv-run"]);
        assert!(ran.code == code && ran.stderr.contains(words), "case {index}: {ran:?}");
        assert!(site.runs().is_empty(), "case {index}");
        assert!(site.recorded(".import-*").is_empty(), "case {index}");
    }
}

#[test]
fn a_file_that_no_record_names_is_not_taken_in() {
    let (site, run, _) = exported(true);
    let mut files = unpacked(&site);
    for name in ["artifacts/added.txt", "packs/t1/pre/99", "packs/t9/pre/0", "dta/x.json", "confirmations/c9.json"] {
        files.push((name.to_owned(), b"added".to_vec()));
    }
    packed(&site, &files, tar::EntryType::Regular);
    forget(&site);
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(0).says(&run);
    assert!(site.path(&format!(".runs/{run}/packs/t1/pre/0")).exists());
    let is_added = |path: &std::path::PathBuf| fs::read(path).is_ok_and(|bytes| bytes == b"added");
    assert_eq!(site.recorded("**/*").iter().filter(|path| is_added(path)).count(), 0);
    site.nrv(&["runs", "verify", &run]).exits(0);
    site.nrv(&["rollback", &run]).exits(0);
}

#[test]
fn an_export_of_a_later_form_is_refused_by_name() {
    let (site, _, _) = exported(false);
    let mut files = unpacked(&site);
    let mut about: Value = serde_json::from_slice(&files[0].1).unwrap();
    (about["format"], about["new"]) = (json!(2), json!(true));
    files[0].1 = serde_json::to_vec(&about).unwrap();
    packed(&site, &files, tar::EntryType::Regular);
    forget(&site);
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(1).says("the form 2");
}

#[test]
fn an_export_that_is_cut_off_is_not_taken_in() {
    let (site, ..) = exported(true);
    forget(&site);
    let whole = site.read("run.nrv-run");
    for length in [0, 1, 10, whole.len() / 4, whole.len() / 2, whole.len() * 3 / 4] {
        site.write("run.nrv-run", &whole[..length]);
        site.nrv(&["runs", "import", "run.nrv-run"]).exits(1).says("no export of a run: ");
        assert!(site.runs().is_empty() && site.recorded(".import-*").is_empty(), "{length}");
    }
}

#[test]
fn an_export_that_would_unpack_to_more_than_records_may_take_is_refused() {
    let (site, ..) = exported(true);
    forget(&site);
    let mut files = unpacked(&site);
    files.push(("artifacts/zeros".into(), vec![0; 4 << 20]));
    packed(&site, &files, tar::EntryType::Regular);
    assert!(fs::metadata(site.path("run.nrv-run")).unwrap().len() < 1 << 20);
    let site = site.policy("[retention]\nsize = \"3MiB\"\n");
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(1).says("retention.size");
    assert!(site.runs().is_empty() && site.recorded(".import-*").is_empty());
    site.write("run.nrv-run", "no archive");
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(1).says("no export of a run");
}

#[test]
fn a_run_that_was_known_here_with_another_end_is_not_taken_in() {
    let (site, run, _) = exported(true);
    let heads = String::from_utf8(site.read(".runs/heads.jsonl")).unwrap();
    forget(&site);
    let mut head: Value = serde_json::from_str(heads.lines().last().unwrap()).unwrap();
    head["hash"] = json!("0".repeat(64));
    head.as_object_mut().unwrap().remove("check");
    site.write(".runs/heads.jsonl", format!("{head}\n"));
    site.nrv(&["runs", "import", "run.nrv-run"]).exits(4).says("another end").says(&run);
}

/// Gives a run an id of an earlier time, as if it had been made then.
fn age(site: &Site, run: &str) -> String {
    let old = format!("20200101T000000Z{}", &run[run.len() - 5..]);
    fs::rename(site.path(".runs").join(run), site.path(".runs").join(&old)).unwrap();
    let heads = String::from_utf8(site.read(".runs/heads.jsonl")).unwrap();
    let unchecked = heads.lines().map(|line| {
        let mut head: Value = serde_json::from_str(&line.replace(run, &old)).unwrap();
        head.as_object_mut().unwrap().remove("check");
        format!("{head}\n")
    });
    site.write(".runs/heads.jsonl", unchecked.collect::<String>());
    old
}

#[test]
fn old_records_are_removed_and_those_that_are_needed_stay() {
    let site = Site::new(4).policy(PATIENT);
    site.migrate(&[]).exits(0);
    let old = age(&site, site.runs()[0]["run"].as_str().unwrap());
    site.migrate(&["--dry-run"]).exits(0);
    let runs = site.runs();
    assert_eq!(runs[0]["kept_until"], "2020-01-31T00:00:00.000Z");
    let dry = site.nrv(&["runs", "gc", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((&dry["removed"][0]["run"], &dry["removed"][0]["beyond"]), (&json!(old), &json!("age")));
    assert_eq!(site.runs().len(), 2);
    let done = site.nrv(&["runs", "gc", "--json"]).exits(0).json();
    assert_eq!(done, dry);
    assert!(done["freed"].as_u64().unwrap() > 0 && done["kept"] == 1);
    assert_eq!(site.runs().len(), 1);
    let heads = String::from_utf8(site.read(".runs/heads.jsonl")).unwrap();
    assert!(heads.lines().any(|line| line.contains(&old) && line.contains("\"expired\"")));
    site.nrv(&["runs", "verify", "last"]).exits(0);
    site.nrv(&["runs", "gc"]).exits(0).says("0 runs removed");
}

#[test]
fn the_time_to_look_through_many_records_grows_with_their_number_only() {
    let site = Site::new(0);
    let ids = (0..3000).map(|n| format!("20200101T{:02}{:02}00Z-{n:04x}", n / 60 % 24, n % 60));
    let mut heads = String::new();
    for id in ids {
        fs::create_dir_all(site.path(".runs").join(&id)).unwrap();
        heads += &format!("{}\n", json!({"run": id, "seq": 1, "hash": "0", "state": "done"}));
    }
    site.write(".runs/heads.jsonl", heads);
    let clock = std::time::Instant::now();
    site.nrv(&["runs", "gc", "--dry-run"]).exits(0).says("3000 runs would be removed");
    // Reading all heads for each of them takes minutes.
    assert!(clock.elapsed().as_secs() < 15, "{:?}", clock.elapsed());
}

#[test]
fn the_oldest_go_when_all_together_take_too_much_room() {
    let site = Site::new(4).policy("[retention]\nsize = 1\n");
    site.migrate(&[]).exits(0);
    site.migrate(&["--dry-run"]).exits(0);
    let done = site.nrv(&["runs", "gc", "--json"]).exits(0).json();
    assert_eq!((&done["kept"], &done["removed"][1]["beyond"]), (&json!(0), &json!("size")));
    assert!(site.runs().is_empty() && site.recorded("locks/*.lease").is_empty());
}

#[test]
fn a_run_that_is_going_on_or_has_something_to_recover_is_not_removed() {
    let site = Site::new(200).policy("[retention]\nsize = 1\n");
    let before = site.tree();
    let running = stopped_in_transaction(&site, &MIGRATE, || site.reset(&before));
    let listed = site.runs();
    let lock = &listed[0]["lock"];
    assert_eq!(lock["process"], running.0.id());
    assert!(lock["paths"] == json!([""]) && lock["fence"].as_u64().unwrap() > 0, "{lock}");
    let shown = site.nrv(&["runs", "list"]).exits(0).stdout;
    assert!(shown.contains(&format!("is going on in process {} and holds . (claim", running.0.id())), "{shown}");
    site.nrv(&["runs", "gc"]).exits(0).says("0 runs removed");
    running.signal(rustix::process::Signal::KILL);
    running.end();
    site.nrv(&["runs", "gc"]).exits(0).says("0 runs removed");
    site.nrv(&["recover"]).exits(0);
    assert!(site.tree() == before);
    assert!(site.runs()[0]["lock"].is_null());
    site.nrv(&["runs", "gc"]).exits(0).says("1 run removed");
}

#[test]
fn a_run_that_waits_for_a_confirmation_is_not_removed() {
    let site = Site::new(4).policy("[retention]\nsize = 1\n");
    site.script("asks.rhai", &held_script("nrv.gate.confirm(\"go on?\", #{});", "", "1"));
    site.nrv(&["run", "asks.rhai"]).exits(7);
    site.nrv(&["runs", "gc"]).exits(0).says("0 runs removed");
    assert_eq!(site.runs().len(), 1);
}
