//! The bounds of adapters that are programs: counts, time, expectations, and the batches of the verifier.

use serde_json::{Value, json};

use super::{
    program::{COUNTS, NOTHING, SORT, TABLE, answers, fails, invocation, site_of},
    run,
};

#[test]
fn a_program_that_measures_itself_under_another_name_says_so() {
    let remark = |measure: &str| {
        let site = site_of(&format!("{TABLE}measure_program = {measure}\n"), SORT)?;
        site.script("dta/copy.py", SORT);
        site.script("dta/other.py", &format!("{SORT}# another one\n"));
        let output = run(&site, &invocation("dry-run"), &[]).exits(0).json();
        Some(output["verifier"]["remarks"][0].as_str().unwrap_or_default().starts_with("self-measured"))
    };
    for same in ["sort_imports.py", "copy.py"] {
        let Some(is_remarked) = remark(&format!("[\"/usr/bin/python3\", \"-u\", \"dta/{same}\"]")) else { return };
        assert!(is_remarked, "{same}");
    }
    assert_eq!(remark("[\"/usr/bin/python3\", \"dta/other.py\"]"), Some(false));
}

#[test]
fn counts_are_few_and_have_plain_names() {
    let counts = |counts: &str| format!("{{'counts': {counts}}}");
    for (discover, words) in [
        ("{'n%d' % i: 0 for i in range(101)}", "gives more than 100 counts"),
        ("{'unsorted': 0, 'a\\nb': 1}", "names have small letters"),
        ("{'unsorted': 0, '\\x1b[31m': 1}", "names have small letters"),
        ("{'unsorted': 0, 'files_changed': 5}", "which the host gives itself"),
        ("{'unsorted': (1 << 53) + 1}", "counts more than 2⁵³"),
    ] {
        fails(&answers(&counts(discover), NOTHING, COUNTS), "command_failed", &[words]);
        let in_measure = answers(COUNTS, NOTHING, &counts(discover));
        fails(&in_measure, "verification_failed", &[words]);
    }
}

#[test]
fn what_contradicts_the_count_of_work_is_refused() {
    let changes = "{'files': [{'path': f['path'], 'text': 'x'} for f in files]}";
    fails(
        &answers(COUNTS, changes, COUNTS),
        "verification_failed",
        &["`discover` counts no `unsorted`, and `propose` changes 2 files"],
    );
}

#[test]
fn a_file_that_changes_without_work_in_it_is_named() {
    // The shipped program, and a line more at the end of a file that is sorted already.
    let more = SORT.replace(
        "return \"\\n\".join(lines)",
        "return \"\\n\".join(lines) + (\"\" if text.endswith(\"# end\\n\") else \"# end\\n\")",
    );
    assert_ne!(more, SORT);
    fails(&more, "verification_failed", &["work_before_change: 2 files change, and had only 1 `unsorted` before"]);
}

#[test]
fn a_table_states_an_expectation() {
    let with = |relations: &str| site_of(&format!("{TABLE}expect = [{relations}]\n"), SORT);
    let Some(site) = with("\"after.unsorted == 0\", \"after.blocks == baseline.blocks\"") else { return };
    run(&site, &invocation("apply"), &["--yes"]).exits(0);
    for (relations, code, words) in [
        (
            "\"after.unsorted == 0\", \"after.blocks < baseline.blocks\"",
            "verification_failed",
            "`after.blocks < baseline.blocks` does not hold: 2 < 2",
        ),
        ("\"after.lines == 0\"", "verification_failed", "`measure` does not count `lines`"),
        ("\"unsorted == 0\"", "invalid_policy", "neither `after.NAME` nor `baseline.NAME` nor a number"),
    ] {
        let Some(site) = with(relations) else { return };
        let before = site.tree();
        let ran = run(&site, &invocation("apply"), &["--yes"]);
        assert!(ran.code != 0 && ran.stderr.contains(code) && ran.stderr.contains(words), "{ran:?}");
        assert!(site.tree() == before);
    }
}

#[test]
fn the_batches_of_the_verifier_do_not_depend_on_threads() {
    // The first batch of 500 has a group more than its files alone would say.
    let groups = "{'counts': {'unsorted': 0, 'starts': 1, 'groups': len({f['path'][:-4] for f in files})}}";
    let Some(site) = site_of(TABLE, &answers(groups, NOTHING, groups)) else { return };
    for index in 0..1100 {
        site.write(&format!("src/many/{index}.py"), "x\n");
    }
    site.commit();
    let mut input = invocation("dry-run");
    input["constraints"]["max_files"] = json!(5000);
    let counts: Vec<Value> = ["1", "8", "8"]
        .map(|threads| run(&site, &input, &["--threads", threads]).exits(0).json()["baseline"].clone())
        .to_vec();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    // The program is started once a batch of 500, not once a file.
    assert_eq!((&counts[0]["files_scanned"], &counts[0]["starts"]), (&json!(1102), &json!(3)));
}

#[test]
fn its_time_is_that_of_all_starts_together() {
    let program = format!("import time\ntime.sleep(0.6)\n{}", answers(COUNTS, NOTHING, COUNTS));
    let Some(site) = site_of(TABLE, &program) else { return };
    for index in 0..4 {
        site.write(&format!("src/large{index}.py"), vec![b'#'; 3 << 20]);
    }
    site.commit();
    let mut input = invocation("dry-run");
    input["constraints"]["timeout_ms"] = json!(2000);
    let ran = run(&site, &input, &["--threads", "1"]);
    assert!(ran.code != 0 && ran.stderr.contains("took longer than"), "{ran:?}");
}

#[test]
fn the_last_line_of_stderr_is_in_the_message() {
    let program = "import sys\nprint('first', file=sys.stderr)\nraise ValueError('odd \\x1b[31m one')\n";
    let Some(site) = site_of(TABLE, program) else { return };
    let arguments = ["dta", "run", "sort_imports", "--input", "-", "--yes"];
    let ran = site.nrv_with(&arguments, &invocation("apply").to_string());
    assert!(
        ran.stderr.contains("in the phase `discover`: ValueError: odd") && !ran.stderr.contains('\u{1b}'),
        "{ran:?}"
    );
}
