//! A repository may bring a `.runs` folder of its own; nrv does not act on its content.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::fs;

use nrv::base::hash::Sha256;
use serde_json::json;

use crate::support::site::Site;

/// Plants a crashed run whose recovery would write `content` to `path`.
fn plant(site: &Site, path: &str, content: &str) {
    let run = ".runs/20200101T000000Z-0001";
    let before = json!({"sha256": Sha256::of(content.as_bytes()), "mode": 0o755, "length": content.len()});
    let intent = json!({
        "place": [1, 1], "undoes": false, "apart": false, "transaction": "t1", "position": "1",
        "entries": [{"path": path, "before": before, "after": null}], "folders": [],
        "prefix": ".nrv-20200101T000000Z-0001-t1-",
    });
    site.write(&format!("{run}/packs/t1/pre/0"), content);
    site.write(&format!("{run}/packs/t1/manifest.json"), "{}");
    site.write(&format!("{run}/journal/t1.json"), intent.to_string());
    fs::create_dir_all(site.path(".runs/locks")).unwrap();
}

#[test]
fn a_planted_journal_writes_nothing() {
    for path in [".git/hooks/post-checkout", "site/planted.html"] {
        let site = Site::new(2);
        plant(&site, path, "#!/bin/sh\necho pwned\n");
        let before = site.tree();
        site.nrv(&["recover"]).exits(4).says("was not written here");
        site.migrate(&["--dry-run"]).exits(0).says("can't be recovered");
        assert!(site.tree() == before);
        assert!(!site.path(path).exists(), "{path}");
        site.migrate(&[]).exits(0);
        assert!(!site.path(path).exists(), "{path}");
    }
}

/// The shared files of runs, for which an attacker's clone may have others.
const SHARED: &[&str] = &["heads.jsonl", "format", "locks/fence", "locks/global", "locks/complete"];

#[test]
fn nothing_is_written_or_read_through_what_runs_share() {
    for name in SHARED {
        for is_link in [true, false] {
            let site = Site::new(2);
            let outside = tempfile::tempdir().unwrap();
            let target = outside.path().join("target");
            fs::write(&target, "theirs\n").unwrap();
            fs::create_dir_all(site.path(".runs/locks")).unwrap();
            let place = site.path(&format!(".runs/{name}"));
            if is_link {
                std::os::unix::fs::symlink(&target, &place).unwrap();
            } else if fs::hard_link(&target, &place).is_err() {
                continue;
            }
            for arguments in [&["recover"][..], &["recover", "--check"], &["runs", "list"], &["rollback", "last"]] {
                site.nrv(arguments).exits(4).says(name).says("of its own");
            }
            site.migrate(&[]).exits(4).says(name);
            assert_eq!(fs::read_to_string(&target).unwrap(), "theirs\n", "{name}");
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        }
    }
}

#[test]
fn a_folder_of_locks_that_lies_elsewhere_is_refused() {
    let site = Site::new(2);
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(site.path(".runs")).unwrap();
    std::os::unix::fs::symlink(outside.path(), site.path(".runs/locks")).unwrap();
    site.migrate(&[]).exits(4).says("locks");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn what_waits_for_its_reader_is_no_record() {
    let site = Site::new(2);
    fs::create_dir(site.path(".runs")).unwrap();
    let (mode, kind) = (rustix::fs::Mode::from(0o600), rustix::fs::FileType::Fifo);
    rustix::fs::mknodat(rustix::fs::CWD, site.path(".runs/format"), kind, mode, 0).unwrap();
    site.nrv(&["runs", "list"]).exits(4).says("format");
    site.nrv(&["recover", "--check"]).exits(4).says("format");
}

#[test]
fn a_folder_whose_name_is_no_id_is_no_run() {
    let site = Site::new(2);
    let id = "20261101T000000Z-$(touch pwned)";
    site.write(&format!(".runs/{id}/events.jsonl"), "");
    site.write(&format!(".runs/locks/{id}.lease"), "");
    site.migrate(&[]).exits(0);
    assert!(!String::from_utf8(site.read(".runs/heads.jsonl")).unwrap().contains("touch"));
}
