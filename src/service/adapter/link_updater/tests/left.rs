//! The places in which an old host stands after the move: both sides find each of them, and a record without one fails.

use std::process::Command;

use super::*;
use crate::contract::Finding;

/// A place as the list has it: the path with the line, and the host as written.
fn shown(finding: &Finding) -> String {
    let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{line} {}", finding.path, finding.place)
}

/// Proposes and verifies in both ways; then each record that lacks a place, or has one more, fails.
#[track_caller]
fn check_with(input: &Invocation, files: &[(&str, &[u8])], expected: &[&str]) {
    for applied in [false, true] {
        let recorded = Recorded::new(files, input, applied);
        let baseline: BaselineRecord =
            serde_json::from_slice(&fs::read(recorded.run.path().join("baseline.json")).unwrap()).unwrap();
        let found: Vec<String> = baseline.findings.iter().map(shown).collect();
        assert_eq!(found, expected);
        let report = verify(&LinkUpdater, &recorded.request);
        assert!(report.passed, "{report:#?}");
        let n = baseline.findings.iter().filter(|finding| finding.kind == "old_host").count();
        assert_eq!(baseline.counts.get("left_lines").copied().unwrap_or_default(), n as u64);
        assert_eq!(report.remarks.len(), usize::from(n > 0), "{:?}", report.remarks);
        for at in 0..baseline.findings.len() {
            let mut damaged = Recorded::new(files, input, applied);
            damaged.rewrite::<BaselineRecord>("baseline.json", |record| drop(record.findings.remove(at)));
            damaged.fails("old_hosts_listed", Some(&baseline.findings[at].path));
            let mut damaged = Recorded::new(files, input, applied);
            damaged.rewrite::<BaselineRecord>("baseline.json", |record| {
                record.findings[at].reason.push('!');
            });
            damaged.fails("old_hosts_listed", Some(&baseline.findings[at].path));
        }
    }
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    check_with(&invocation(|_| {}), &files, expected);
}

#[test]
fn every_file_of_the_workspace_is_searched() {
    check(
        &[
            ("a.md", "[a](http://old.example.com/a)\n"),
            ("b.rst", "# B\n\n[b](https://old.example.com/b)\n"),
            ("c/conf.py", "html_baseurl = 'https://old.example.com/'\n# old.example.com\nx = 1\n"),
            ("d.yml", "url: https://old.example.com\n\nother: x\nhosts: [old.example.com, b]\n"),
            ("e.json", "{\"homepage\": \"https:\\/\\/old.example.com\\/\"}"),
            ("Makefile", "open:\n\txdg-open http://OLD.example.COM:8080/x\n"),
            ("f.js", "fetch(`//user:secret@old.example.com/${x}`)"),
            (".github/x.yml", "on: old.example.com\n"),
            ("none.py", "x = 1\n"),
        ],
        &[
            ".github/x.yml:1 old.example.com",
            "Makefile:2 OLD.example.COM:8080",
            "b.rst:3 old.example.com",
            "c/conf.py:1 old.example.com",
            "c/conf.py:2 old.example.com",
            "d.yml:1 old.example.com",
            "d.yml:4 old.example.com",
            "e.json:1 old.example.com",
            "f.js:1 old.example.com",
        ],
    );
}

#[test]
fn files_of_the_target_are_searched_beside_their_links() {
    check(
        &[
            (
                "a.md",
                "[http://old.example.com/a](http://old.example.com/a) http://old.example.com\n\n```sh\n\
                 curl http://old.example.com/b\n```\n`old.example.com` and <!-- http://old.example.com/ -->\n\n    old.example.com\n",
            ),
            (
                "b.html",
                "<p title='http://old.example.com'>\n<a href='http://old.example.com/'>x</a>\n<!--\nold.example.com -->",
            ),
            ("c.html", "<a href='http://old.example.com:8080/'><a href='ftp://old.example.com'>\n"),
            ("d.css", "/* http://old.example.com */ a{b:url(http://old.example.com)}"),
            ("e.txt", "http://old.example.com, and old.example.com"),
            ("f.html", "<select><svg></select><a href='http://old.example.com/'>"),
        ],
        &[
            "a.md:1 old.example.com",
            "a.md:4 old.example.com",
            "a.md:6 old.example.com",
            "a.md:8 old.example.com",
            "b.html:1 old.example.com",
            "b.html:4 old.example.com",
            "c.html:1 old.example.com:8080",
            "d.css:1 old.example.com",
            "e.txt:1 old.example.com",
            "f.html:1 old.example.com",
        ],
    );
}

/// Lines of a text file with the old host, and without it.
#[track_caller]
fn lines(found: &[&str], others: &[&str]) {
    let text: String = found.iter().chain(others).map(|line| format!("{line}\n")).collect();
    let files: &[(&str, &[u8])] = &[("a.py", text.as_bytes())];
    let folder = tree(files);
    let proposal = propose_in(folder.path(), 1, &invocation(|_| {})).unwrap();
    let numbers: Vec<u64> = proposal.baseline.findings.iter().filter_map(|finding| finding.line).collect();
    assert_eq!(numbers, (1..=found.len() as u64).collect::<Vec<_>>(), "{:#?}", proposal.baseline.findings);
    assert!(verify(&LinkUpdater, &Recorded::new(files, &invocation(|_| {}), false).request).passed);
}

#[test]
fn a_host_is_a_word() {
    lines(
        &[
            "OLD.Example.com",
            "at old.example.com.",
            "https://old.example.com./x",
            "http://old.example.com.:80/x",
            "old.example.com:8443",
            "me@old.example.com",
            "https://me:pw@old.example.com/",
            "_old.example.com_ and **old.example.com**",
            "- old.example.com - x",
            "domain=.old.example.com;",
            "?from=http%3A%2F%2Fold.example.com%2Fx",
            "'a\\nold.example.com\\nb'",
            "'\\u002f\\u002fold.example.com'",
            "'\\x2fold.example.com\\x2f'",
            "^https?://old\\.example\\.com/",
            "'^old\\\\.example\\\\.com$'",
            "siehe „old.example.com“",
            "見old.example.com見",
            "a,old.example.com,b",
            "xn--old.example.com notold.example.com old.example.com",
            "file://old.example.com\\x",
            "&lt;old.example.com&gt;",
            "https%253A%252F%252Fold.example.com/y %u002Fold.example.com",
            "/\\Aold.example.com\\z/",
            "\"\\033[1mold.example.com\\e[0m\"",
            "=3Dold.example.com",
            "'\\U0000002Fold.example.com'",
            "\\\\\\\\old.example.com",
            "http://old.example.com.evil.org/?http://old.example.com/",
        ],
        &[
            "docs.old.example.com",
            "notold.example.com not-old.example.com not_old.example.com",
            "docs.old.example.com.evil.org",
            "old.example.com.evil.org",
            "old.example.community old.example.com-cdn.net",
            "old-example.com oldXexample.com old.example.co",
            "http%3A%2F%2Fnotold.example.com",
            "%6fold.example.com",
            "old.example. com",
            "old.example\n.com",
        ],
    );
}

#[test]
fn unusual_files_are_searched_or_named() {
    let wide: Vec<u8> = "\u{feff}a\nhttp://old.example.com/".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let huge = vec![b'a'; (64 << 20) + 1];
    let endless = "old.example.com ".repeat(10_000);
    check_with(
        &invocation(|input| input["target"]["glob"] = json!("docs/**/*.md")),
        &[
            ("docs/a.md", b"<http://old.example.com>"),
            ("b.md", b"<http://old.example.com>"),
            ("c.bin", b"\0\x01old.example.com\0"),
            ("d.bin", b"\0\x01other.example.com\0"),
            ("e.txt", &wide),
            ("f.txt", b"caf\xe9 old.example.com"),
            ("g.log", &huge),
            ("h.min.js", endless.as_bytes()),
            ("ignored/x.py", b"old.example.com"),
            ("i.txt", b"a\r\nb\r\nold.example.com"),
            (".gitignore", b"ignored\n"),
            (".runs/x", b"old.example.com"),
        ],
        &[
            "b.md:1 old.example.com",
            "c.bin old.example.com",
            "e.txt:2 old.example.com",
            "f.txt:1 old.example.com",
            "g.log ",
            "h.min.js:1 old.example.com",
            "i.txt:3 old.example.com",
        ],
    );
}

#[test]
fn a_host_that_stays_is_left_at_old_origins_only() {
    let input = invocation(|input| {
        input["params"] = json!({"from_hosts": ["http://old.example.com"], "to_host": "https://old.example.com"});
    });
    check_with(
        &input,
        &[
            ("a.md", b"<http://old.example.com/a> <https://old.example.com/b>\n"),
            ("b.py", b"'https://old.example.com' old.example.com\n'http://old.example.com/'\n'//old.example.com'\n"),
            ("c.py", b"'HTTP://me@old.example.com:80'\n'http://old.example.com:81'\n'http://me:x@y@old.example.com'"),
        ],
        &["b.py:2 old.example.com", "c.py:1 old.example.com:80"],
    );
}

#[test]
fn hosts_of_any_kind_are_found() {
    let input = invocation(|input| {
        let hosts = ["b\u{fc}cher.example", "localhost:8080", "http://[::1]", "127.0.0.1", "http://."];
        input["params"] = json!({"from_hosts": hosts, "to_host": "https://new.example.com"});
    });
    check_with(
        &input,
        &[(
            "a.py",
            "bücher.example\nXN--bcher-kva.example\nBÜCHER.example\nbucher.example\nlocalhost\nmylocalhost localhost.x\n\
             http://[::1]/\n[::12]\n127.0.0.1:80\n127.0.0.10\n"
                .as_bytes(),
        )],
        &[
            "a.py:1 bücher.example",
            "a.py:2 XN--bcher-kva.example",
            "a.py:3 BÜCHER.example",
            "a.py:5 localhost",
            "a.py:7 [::1]",
            "a.py:9 127.0.0.1:80",
        ],
    );
}

#[test]
fn more_places_than_a_list_holds_are_counted() {
    let text = "old.example.com\n".repeat(1500);
    let files: &[(&str, &[u8])] = &[("a.py", text.as_bytes()), ("b.py", text.as_bytes())];
    let mut recorded = Recorded::new(files, &invocation(|_| {}), false);
    let report = verify(&LinkUpdater, &recorded.request);
    assert!(report.passed && report.remarks[0].contains("2 files (3000 lines)"), "{report:#?}");
    recorded.rewrite::<BaselineRecord>("baseline.json", |record| {
        assert_eq!((record.findings.len(), record.counts["left_lines"]), (2000, 3000));
        record.counts.insert("left_lines".to_owned(), 2000);
    });
    recorded.fails("counts_match", None);
}

#[test]
fn a_change_after_the_proposal_is_told() {
    let files: &[(&str, &[u8])] = &[("a.html", A), ("b.py", b"old.example.com\n")];
    let recorded = Recorded::new(files, &invocation(|_| {}), true);
    fs::write(recorded.tree.path().join("b.py"), "new.example.com\n").unwrap();
    let report = verify(&LinkUpdater, &recorded.request);
    assert!(report.passed, "{report:#?}");
    assert_eq!(report.remarks, ["1 place with the old host changed after the proposal"]);
    fs::write(recorded.tree.path().join("c.py"), "old.example.com\n").unwrap();
    recorded.fails("old_hosts_listed", Some("c.py"));
    // In a file of the target nothing can have changed.
    let mut recorded = Recorded::new(&[("a.html", b"<!-- old.example.com -->")], &invocation(|_| {}), true);
    recorded.rewrite::<BaselineRecord>("baseline.json", |record| {
        let more = Finding { line: Some(2), ..record.findings[0].clone() };
        record.findings.push(more);
    });
    recorded.fails("old_hosts_listed", Some("a.html"));
}

#[test]
fn denied_files_are_named_and_not_read() {
    let folder = tree(&[("a.html", A), (".env", b"X=old.example.com"), ("k/x.pem", b"")]);
    let (workspace, overlay) = (Workspace::open(folder.path()).unwrap(), Overlay::default());
    let (cancel, globs) = (AtomicBool::new(false), [".env*".to_owned(), "**/*.pem".to_owned()]);
    let hidden = system::policy::Hidden::new(&globs).unwrap();
    let ctx = Context::of_tree(View::new(&workspace, &overlay), 1, &cancel);
    let ctx = Context { hidden: Some(&hidden), ..ctx };
    let proposal = LinkUpdater.propose(&ctx, &invocation(|_| {})).unwrap();
    let found: Vec<_> = proposal.baseline.findings.iter().map(|one| (one.path.as_str(), one.kind.as_str())).collect();
    assert_eq!(found, [(".env", "unread"), ("k/x.pem", "unread")]);
    let mut recorded = Recorded::new(&[("a.html", A), (".env", b"X=old.example.com")], &invocation(|_| {}), true);
    recorded.request.hidden = globs.to_vec();
    // The record was made without a policy, so that it names the line.
    recorded.fails("old_hosts_listed", Some(".env"));
    recorded.rewrite::<BaselineRecord>("baseline.json", |record| {
        record.counts.retain(|name, _| !name.starts_with("left"));
        let reason = "`paths.read_deny` covers it, so that it may hold the old host".to_owned();
        let (kind, place) = ("unread".to_owned(), String::new());
        record.findings[0] = Finding { line: None, place, kind, reason, ..record.findings[0].clone() };
    });
    assert!(verify(&LinkUpdater, &recorded.request).passed);
}

#[test]
fn what_git_tracks_is_searched_or_named() {
    let old: &[u8] = b"old.example.com";
    let recorded = Recorded::new(&[("a.html", A)], &invocation(|_| {}), true);
    let folder = recorded.tree.path();
    for path in ["out/x.py", "out/y.py", "gone/a.py", "gone/b.py"] {
        fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
        fs::write(folder.join(path), old).unwrap();
    }
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "out/x.py", "gone"]);
    git(&["update-index", "--skip-worktree", "gone/a.py", "gone/b.py"]);
    git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", "1".repeat(40))]);
    fs::remove_dir_all(folder.join("gone")).unwrap();
    fs::write(folder.join(".gitignore"), "out\n").unwrap();
    let proposal = propose_in(folder, 1, &invocation(|_| {})).unwrap();
    let found: Vec<(String, &str)> =
        proposal.baseline.findings.iter().map(|finding| (shown(finding), finding.reason.as_str())).collect();
    let expected = [
        ("gone/a.py ", "a sparse checkout left out 2 files, which may hold the old host"),
        ("out/x.py:1 old.example.com", "the old host stands here, and the target leaves the file out"),
        ("sub ", "its repository is not checked out and may hold the old host"),
    ];
    assert_eq!(found, expected.map(|(place, reason)| (place.to_owned(), reason)));
    // The record was made before.
    for path in ["gone/a.py", "out/x.py", "sub"] {
        recorded.fails("old_hosts_listed", Some(path));
    }
    let mut recorded = recorded;
    recorded.rewrite::<BaselineRecord>("baseline.json", |record| {
        record.findings = proposal.baseline.findings.clone();
        record.counts.extend([("left_files".to_owned(), 1), ("left_lines".to_owned(), 1)]);
    });
    assert!(verify(&LinkUpdater, &recorded.request).passed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_sides_find_the_same(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "old.example.com", "OLD.", "example", ".com", ".", "-", "_", "\\", "%2F", "%", "n", "u002f", "x2f", "//", "http:", "https:", "[::1]",
                "@", ":80", ":", " ", "\n", "ü", "a", "bücher.example", "xn--bcher-kva.example", "é", "2", "\"", "\\.",
            ]),
            0..40,
        ),
        stays in any::<bool>(),
        is_page in any::<bool>(),
    ) {
        let text = parts.concat();
        let to = if stays { "https://old.example.com:8443" } else { "https://new.example.com" };
        let input = invocation(|input| {
            input["params"] = json!({"from_hosts": ["http://old.example.com", "bücher.example", "http://[::1]"], "to_host": to});
        });
        let path = if is_page { "a.html" } else { "a.py" };
        let files: &[(&str, &[u8])] = &[(path, text.as_bytes())];
        let report = verify(&LinkUpdater, &Recorded::new(files, &input, false).request);
        prop_assert!(report.passed, "{text:?}\n{report:#?}");
    }
}
