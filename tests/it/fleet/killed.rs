//! Workers that are killed, raced and started twice: each task is once in the result, and the result is that of one machine.

use std::{process::Stdio, time::Duration};

use super::*;
use crate::support::{chance::Chance, long};

/// Starts a worker over all tasks.
fn start(fleet: &Fleet) -> std::process::Child {
    let mut command = fleet.site.command(&["fleet", "work", "plan.jsonl", "--store", "../killed"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn killed_workers_leave_the_results_of_one_machine() {
    let (tasks, kills) = long::pick((6, 2), (2000, 300));
    let fleet = Fleet::new();
    for n in 0..tasks {
        let text = if n % 7 == 3 { "broken\n".to_owned() } else { format!("see old.example.com/{n}\n") };
        fleet.repository(&format!("r{n:04}"), &[("docs/x.md", text.as_str()), ("y.md", "old.example.com\n")]);
    }
    fleet.plan("").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(1);
    let expected = fleet.results(&[]);
    assert_eq!(expected.0.len(), tasks);
    // Two workers at a time, each killed at another moment of its work.
    let mut chance = Chance(7);
    for _ in 0..kills / 2 {
        let mut workers = [start(&fleet), start(&fleet)];
        for worker in &mut workers {
            chance.pause(Duration::from_millis(440));
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
    }
    let mut workers = [start(&fleet), start(&fleet)];
    for worker in &mut workers {
        worker.wait().unwrap();
    }
    // What the last kills had begun is finished by whoever comes next.
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--store", "../killed"]).exits(1);
    assert!(fleet.results(&["--store", "../killed"]) == expected, "the results differ");
    let done = std::fs::read_dir(fleet.beside("killed").join("done")).unwrap().count();
    assert_eq!(done, tasks);
}

#[test]
fn a_repository_that_can_not_be_reached_is_tried_again_and_then_recorded() {
    let fleet = Fleet::new();
    fleet.repository("a", &[("x.md", "old.example.com\n")]);
    fleet.repository("b", &[("x.md", "old.example.com\n")]);
    fleet.plan("retries = 9\n").exits(0);
    fleet.site.write("resting.jsonl", fleet.site.read("plan.jsonl"));
    fleet.plan("retries = 2\nretry_pause_s = 0\n").exits(0);
    let away = fleet.beside("away");
    let repository = fleet.beside("repositories").join("a");
    std::fs::rename(&repository, &away).unwrap();
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(75).says("a: not done now");
    assert!(fleet.status().starts_with("1 of 2 tasks done, 1 begun, 0 open"), "{}", fleet.status());
    fleet.site.nrv(&["fleet", "collect", "plan.jsonl"]).exits(75);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--task", "a"]).exits(75);
    // The first attempt and two more.
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--task", "a"]).exits(75).says("a: failed: temporary");
    assert_eq!(fleet.collected(&[])["groups"][0]["code"], "temporary");
    let rests = ["fleet", "work", "resting.jsonl", "--task", "a", "--store", "../resting"];
    fleet.site.nrv(&rests).exits(75).says("not done now");
    fleet.site.nrv(&rests).exits(75).says("a: it rests after a failure until");
    // Another store knows nothing of that, and there it comes back in time.
    let elsewhere = ["fleet", "work", "plan.jsonl", "--store", "../other"];
    fleet.site.nrv(&elsewhere).exits(75);
    std::fs::rename(&away, &repository).unwrap();
    fleet.site.nrv(&elsewhere).exits(0).says("a: 1 file changed");
}
