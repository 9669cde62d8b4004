//! The verifier alone finds every other change of a file, and a record that lies.

use super::*;

fn recorded() -> Recorded {
    let files = [
        ("a.jsonc", OLD),
        ("b.json", "{\"name\": \"b\", \"port\": 1, \"mode\": \"fast\"}"),
        ("c.yaml", "name: c # why\nport: '1'\n\nmode: fast\n"),
    ];
    Recorded::new(&files, &invocation(&lenient()), true)
}

const NEW: &str = "{\n  \"name\": \"a\",\n  \"port\": 80, // the old one\n  \"mode\": \"safe\"\n}\n";

#[test]
fn the_change_passes_before_it_is_damaged() {
    let recorded = recorded();
    assert_eq!(recorded.text("a.jsonc"), NEW);
    let report = recorded.verify();
    assert!(report.passed, "{report:#?}");
    let checks = [
        "baseline_intact",
        "manifest_intact",
        "hashes_match",
        "nothing_else_changed",
        "counts_match",
        "files_valid",
        "fixes_allowed",
    ];
    assert_eq!(report.checks, checks);
}

#[test]
fn a_tampered_tree_fails() {
    let tampered = recorded();
    fs::write(tampered.tree.path().join("a.jsonc"), OLD).unwrap();
    tampered.fails("hashes_match", Some("a.jsonc"));
    let tampered = recorded();
    fs::write(tampered.tree.path().join("b.json"), "{\"name\": \"b\", \"port\": 2, \"mode\": \"fast\"}").unwrap();
    tampered.fails("nothing_else_changed", Some("b.json"));
    let tampered = recorded();
    fs::write(tampered.tree.path().join("new.json"), "1").unwrap();
    tampered.fails("nothing_else_changed", Some("new.json"));
}

#[test]
fn a_record_that_lies_fails() {
    for name in ["files", "fixes", "fixes_coerce", "fixes_defaults", "fixes_remove_unknown"] {
        let mut lying = recorded();
        lying.rewrite("manifest.json", |manifest: &mut ManifestRecord| *manifest.counts.get_mut(name).unwrap() += 1);
        lying.fails("counts_match", None);
    }
    for name in ["files_valid", "files_invalid", "violations", "violations_type", "violations_required"] {
        let mut lying = recorded();
        lying.rewrite("baseline.json", |baseline: &mut BaselineRecord| *baseline.counts.get_mut(name).unwrap() += 1);
        lying.fails("counts_match", None);
    }
    let mut lying = recorded();
    lying.rewrite("baseline.json", |baseline: &mut BaselineRecord| {
        baseline.counts.insert("violations_pattern".to_owned(), 1);
    });
    lying.fails("counts_match", None);
    let mut lying = recorded();
    lying.rewrite("manifest.json", |manifest: &mut ManifestRecord| drop(manifest.entries.remove(0)));
    lying.fails("nothing_else_changed", Some("a.jsonc"));
}

#[test]
fn a_file_that_was_missed_or_touched_without_need_fails() {
    let mut missed = recorded();
    let text = "{\"name\": \"b\", \"port\": \"1\", \"mode\": \"fast\"}";
    fs::write(missed.tree.path().join("b.json"), text).unwrap();
    missed.rewrite("baseline.json", |baseline: &mut BaselineRecord| {
        baseline.files[1].sha256 = Sha256::of(text.as_bytes())
    });
    missed.fails("files_valid", Some("b.json"));
    let mut touched = recorded();
    let text = "{\"name\": \"b\", \"port\": 1, \"mode\": \"fast\" }";
    fs::write(touched.run.path().join("pre/0"), text).unwrap();
    touched.rewrite("manifest.json", |manifest: &mut ManifestRecord| {
        let before = manifest.entries[0].before.as_mut().unwrap();
        (before.sha256, before.length) = (Sha256::of(text.as_bytes()), text.len() as u64);
    });
    touched.rewrite("baseline.json", |baseline: &mut BaselineRecord| {
        baseline.files[0].sha256 = Sha256::of(text.as_bytes())
    });
    touched.fails("fixes_allowed", Some("a.jsonc"));
}

#[test]
fn a_wrong_change_fails_though_the_record_agrees_with_it() {
    for (from, to, check) in [
        ("80", "81", "fixes_allowed"),
        ("80", "\"80\"", "files_valid"),
        ("\"a\"", "\"b\"", "fixes_allowed"),
        ("\"safe\"", "\"fast\"", "fixes_allowed"),
        ("\"safe\"", "\"safe\", \"note\": \"none\"", "fixes_allowed"),
        ("\"safe\"", "\"safe\", \"tags\": []", "fixes_allowed"),
        ("\n  \"mode\": \"safe\"", "", "files_valid"),
        ("\"a\"", "\"\\u0061\"", "nothing_else_changed"),
        (" // the old one", "", "nothing_else_changed"),
        ("the old one", "the new one", "nothing_else_changed"),
        ("  \"name\"", "    \"name\"", "nothing_else_changed"),
        ("\"name\": ", "\"name\":", "nothing_else_changed"),
        ("}\n", "} // new\n", "nothing_else_changed"),
        ("80", "8e1", "counts_match"),
    ] {
        let changed = NEW.replacen(from, to, 1);
        assert_ne!(changed, NEW, "{from}");
        let mut wrong = recorded();
        wrong.replace("a.jsonc", &changed);
        let report = wrong.verify();
        let checks: Vec<&str> = report.failures.iter().map(|failure| failure.check.as_str()).collect();
        // `8e1` is `80`: the value is right, and its spelling is new in any case.
        assert!(checks.contains(&check) || (to == "8e1" && report.passed), "{from} {to}: {report:#?}");
    }
    let mut wrong = recorded();
    wrong.replace("c.yaml", "name: c # why\nport: 1\nmode: fast\n");
    wrong.fails("nothing_else_changed", Some("c.yaml"));
    let mut wrong = recorded();
    wrong.replace("c.yaml", "name: c\nport: 1\n\nmode: fast\n");
    wrong.fails("nothing_else_changed", Some("c.yaml"));
    let mut wrong = recorded();
    wrong.replace("c.yaml", "name: 'c' # why\nport: 1\n\nmode: fast\n");
    wrong.fails("nothing_else_changed", Some("c.yaml"));
}
