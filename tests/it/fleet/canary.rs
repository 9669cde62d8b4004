//! Tasks that are tried first, and fleets that stop.

use super::*;

/// A fleet of so many repositories, of which some are broken.
fn planned(tasks: usize, broken: &[usize], more: &str) -> Fleet {
    let fleet = Fleet::new();
    for n in 0..tasks {
        let text = if broken.contains(&n) { "broken\n" } else { "old.example.com\n" };
        fleet.repository(&format!("r{n}"), &[("x.md", text), (&n.to_string(), "")]);
    }
    fleet.plan(more).exits(0);
    fleet
}

#[test]
fn canaries_are_done_first_and_the_others_after_a_yes() {
    let fleet = planned(6, &[], "");
    let canary = ["fleet", "work", "plan.jsonl", "--canary", "2"];
    // Nobody can be asked here.
    let asked = fleet.site.nrv(&canary).exits(2).says("no person to ask here to do the other 4 tasks");
    assert!(asked.stderr.contains("r0: 1 file changed") && asked.stderr.contains("r3: 1 file changed"), "{asked:?}");
    assert!(asked.stdout.contains("changed        2"), "{asked:?}");
    assert!(fleet.status().starts_with("2 of 6 tasks done, 0 begun, 4 open"), "{}", fleet.status());
    fleet.site.nrv(&[&canary[..], &["--yes"]].concat()).exits(0).says("r5: 1 file changed");
    assert!(fleet.status().starts_with("6 of 6 tasks done"), "{}", fleet.status());
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--yes"]).exits(2);
}

#[test]
fn after_a_canary_that_fails_nothing_else_is_begun() {
    let fleet = planned(6, &[3], "");
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--canary", "2", "--yes"]).exits(1).says("were not begun");
    assert!(fleet.status().starts_with("2 of 6 tasks done, 0 begun, 4 open"), "{}", fleet.status());
}

#[test]
fn an_engine_does_the_canaries_alone() {
    let fleet = planned(6, &[], "");
    let submit = ["fleet", "submit", "plan.jsonl", "--canary", "2", "--dry-run", "--engine"];
    for (engine, words) in [
        ("parallel", ["seq 0 1 ", " --index {} --canary 2'"]),
        ("slurm", ["--array=0-1%8", " --take-over --canary 2\n"]),
        ("hyperqueue", ["--array 0-1 ", " --take-over --canary 2\n"]),
        ("actions", ["index: [0, 1]", " --each 1 --canary 2\n"]),
    ] {
        let ran = fleet.site.nrv(&[&submit[..], &[engine]].concat()).exits(0);
        let text = std::fs::read_to_string(ran.stdout.trim()).unwrap();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    for (index, name) in [("0", "r0"), ("1", "r3")] {
        let work = ["fleet", "work", "plan.jsonl", "--canary", "2", "--index", index];
        fleet.site.nrv(&work).exits(0).says(&format!("{name}: 1 file changed"));
    }
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--canary", "2", "--index", "2"]).exits(2);
}

#[test]
fn a_fleet_stops_after_too_many_failures_and_goes_on_with_a_larger_bound() {
    let fleet = planned(10, &[1, 2, 3], "max_failures = '10%'\n");
    fleet
        .site
        .nrv(&["fleet", "work", "plan.jsonl"])
        .exits(6)
        .says("2 of its tasks have failed, and `max_failures` is 1");
    assert!(fleet.status().starts_with("3 of 10 tasks done"), "{}", fleet.status());
    // Whichever worker comes next, also for a task that would not fail.
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--index", "9"]).exits(6);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--index", "0"]).exits(0).says("as was found before");
    fleet.plan("max_failures = 2\n").exits(0);
    assert!(fleet.status().starts_with("3 of 10 tasks done"), "the tasks are the same: {}", fleet.status());
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(6).says("3 of its tasks have failed");
    fleet.plan("max_failures = 3\n").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(1).says("r9: 1 file changed");
    assert!(fleet.status().starts_with("10 of 10 tasks done"), "{}", fleet.status());
}

#[test]
fn a_canary_that_another_worker_has_is_waited_for() {
    let fleet = planned(4, &[], "");
    let plan = String::from_utf8(fleet.site.read("plan.jsonl")).unwrap();
    let first: Value = serde_json::from_str(plan.lines().nth(1).unwrap()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let claim =
        format!("{{\"attempt\":1,\"failures\":0,\"boot\":\"x\",\"folder\":\"/nonexistent\",\"made_ms\":{now}}}");
    let claims = fleet.beside("store").join("claims");
    std::fs::create_dir_all(&claims).unwrap();
    std::fs::write(claims.join(format!("{}-1", first["id"].as_str().unwrap())), claim).unwrap();
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--canary", "2", "--yes"]).exits(75).says("were not begun");
    assert!(fleet.status().starts_with("1 of 4 tasks done, 1 begun, 2 open"), "{}", fleet.status());
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--canary", "0"]).exits(2);
}

#[test]
fn a_repaired_fleet_does_not_stop_for_failures_of_before() {
    let fleet = planned(3, &[0], "max_failures = 0\n");
    let ran = fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--json"]).exits(6);
    assert_eq!(ran.json().as_array().map(Vec::len), Some(1), "what was done is told: {ran:?}");
    fleet.repository("r0", &[("x.md", "old.example.com\n")]);
    fleet.plan("max_failures = 0\n").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0).says("r2: 1 file changed");
}
