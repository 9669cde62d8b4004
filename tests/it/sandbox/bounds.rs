//! Bounds of a program: beyond one, the program is ended by any means, and the reason is reported.

use std::{fs, path::Path, time::Duration};

use nrv::system::{
    clock::Stopwatch,
    process::sandbox::{Bound, Ended, Launch, Unasked},
};
use serde_json::{Value, json};

use super::Cage;
use crate::support::{need, site::wait_until};

/// A bound of memory that programs of a few processes keep.
const MEMORY: u64 = 96 << 20;

/// A bound of processes that a machine bears.
const PROCESSES: u64 = 64;

/// A bound of space on the disk.
const DISK: u64 = 32 << 20;

/// Takes twice the bound in memory of one process, and holds it.
const ALONE: &str = "perl -e '$x = \"a\" x (192 << 20); sleep 60; print \"much\"'";

/// Four processes that take half of the bound each.
const TOGETHER: &str =
    "for i in 1 2 3 4; do perl -e '$x = \"a\" x (24 << 20); $y = $x . \"b\"; sleep 60' & done; wait; echo much";

/// Fills a file that is memory and that no process maps.
const FILE_OF_MEMORY: &str = "perl -e '$fd = syscall(319, my $n = \"m\", 0); open(F, \">&=\", $fd); \
    print F \"a\" x (1 << 20) for 1..192; close F; print \"much\"'";

/// A process that multiplies as fast as it can and never ends by itself.
const BOMB: &str = "perl -e 'while (1) { fork() }'";

/// Files without a name that are mapped and not open.
const MAPPED: &str = "perl -e 'for (1..10) { open(F, \"+>\", \"unnamed\"); unlink \"unnamed\"; syswrite(F, \"x\" x (10 << 20)); \
    syscall(9, 0, 10 << 20, 1, 1, fileno(F), 0); close F; select(undef, undef, undef, 0.1) } sleep 60'";

/// Three times the bound, each in another way.
const FULL: &[&str] = &[
    "head -c 96M /dev/zero > file; sleep 60",
    "for i in $(seq 1 96); do mkdir -p d/$i; head -c 1M /dev/zero > d/$i/f; done; sleep 60",
    "head -c 96M /dev/zero > $TMPDIR/file; sleep 60",
    "exec 3> unnamed; rm unnamed; head -c 96M /dev/zero >&3; sleep 60",
    "exec 3> unnamed; rm unnamed; for i in $(seq 1 48); do head -c 2M /dev/zero >&3; sleep 0.05; done; sleep 60",
    MAPPED,
    "for i in $(seq 1 100000); do : > $i; done; sleep 60",
    "for i in $(seq 1 20000); do : > $TMPDIR/$i; done; sleep 60",
    "head -c 96M /dev/zero > $SHARED/file; sleep 60",
    "(head -c 48M /dev/zero > $SHARED/file; head -c 48M /dev/zero > file; sleep 60) & wait",
];

/// The programs of a user with control groups, and of each one that has none or no namespaces.
fn cages(change: fn(&mut Launch)) -> Vec<Cage> {
    let cages = [Cage::new(), Cage::new().without_namespaces(), Cage::new().unconfined()];
    cages.into_iter().map(|cage| cage.with(change)).collect()
}

/// The same of a user without privileges, who has no control groups here; none where there is no way to be one.
fn plain(change: fn(&mut Launch)) -> Option<Cage> {
    let mut cage = Cage::new().with(change);
    cage.become_plain_user().then_some(cage)
}

fn has_group(ended: &Ended, bound: Bound) -> bool {
    let has = json!(ended.confinement.bounds)[json!(bound).as_str().unwrap()] == "group";
    if !has {
        need::skip("control-groups");
    }
    has
}

#[track_caller]
fn is_ended(ended: &Ended, bound: Bound, within: (Stopwatch, Duration)) {
    assert_eq!(ended.exceeded, Some(bound), "{ended:?}");
    assert!(!super::said(ended).contains("much"), "{ended:?}");
    assert!(within.0.elapsed() < within.1, "{:?}", within.0.elapsed());
}

#[test]
fn memory_of_all_processes_is_bounded() {
    for cage in cages(|launch| launch.limits.memory = Some(MEMORY)) {
        for line in [ALONE, TOGETHER] {
            let watch = Stopwatch::start();
            let ended = cage.run(line);
            // Where the processes are not counted together, the kernel refuses the first one's request.
            let is_refused = super::said(&ended).contains("Out of memory");
            if !(line == ALONE && is_refused) {
                is_ended(&ended, Bound::Memory, (watch, Duration::from_secs(10)));
            }
        }
    }
}

#[test]
fn files_that_are_memory_are_counted_by_a_control_group() {
    for cage in cages(|launch| launch.limits.memory = Some(MEMORY)) {
        let watch = Stopwatch::start();
        let ended = cage.run(FILE_OF_MEMORY);
        if has_group(&ended, Bound::Memory) {
            is_ended(&ended, Bound::Memory, (watch, Duration::from_secs(10)));
        }
    }
}

#[test]
fn a_program_within_its_bounds_is_left_alone() {
    let all = |launch: &mut Launch| {
        let limits = &mut launch.limits;
        (limits.memory, limits.processes, limits.disk) = (Some(MEMORY), Some(PROCESSES), Some(DISK));
    };
    for cage in cages(all) {
        // A cache of files is not its memory, and a rewritten file takes no more space.
        let line = "for i in 1 2 3 4 5 6 7 8; do head -c 24M /dev/zero > file; sleep 0.1; done; cat file > /dev/null; echo well";
        let ended = cage.run(line);
        assert_eq!((ended.exceeded, ended.status, super::said(&ended).as_str()), (None, Some(0), "well\n"));
    }
}

#[test]
fn without_a_control_group_memory_is_looked_at_and_that_is_told() {
    let Some(cage) = plain(|launch| launch.limits.memory = Some(MEMORY)) else { return };
    let (confinement, ended) = cage.run_apart(TOGETHER);
    assert_eq!((&confinement["state"], &confinement["isolated"]), (&json!("partial"), &json!(true)), "{confinement}");
    assert_eq!(confinement["bounds"]["memory"], "watch");
    assert!(confinement["missing"].to_string().contains("memory: "), "{confinement}");
    assert_eq!((&ended["exceeded"], &ended["stdout"]), (&json!("memory"), &json!("")), "{ended}");
    let (_, ended) = cage.run_apart(ALONE);
    assert!(ended["stderr"].to_string().contains("Out of memory"), "{ended}");
}

#[test]
fn what_is_shared_counts_once() {
    let shared = "perl -e '$x = \"a\" x (30 << 20); for (1..4) { unless (fork) { sleep 1; exit } } 1 while wait > 0; print \"well\"'";
    let Some(cage) = plain(|launch| launch.limits.memory = Some(MEMORY)) else { return };
    let (_, ended) = cage.run_apart(shared);
    assert_eq!((&ended["exceeded"], &ended["stdout"]), (&Value::Null, &json!("well")), "{ended}");
}

#[test]
fn a_bound_that_nobody_asked_for_is_no_reason_not_to_start() {
    let require = |launch: &mut Launch| {
        launch.confine = nrv::system::process::sandbox::Confine::Require;
        launch.limits.memory = Some(MEMORY);
    };
    let Some(cage) = plain(require) else { return };
    let (refused, _) = cage.run_apart("echo started");
    assert!(refused["refused"].to_string().contains("memory: "), "{refused}");
    let cage = cage.with(|launch| launch.limits.unasked = Unasked { memory: true, processes: true });
    let (confinement, ended) = cage.run_apart("echo started");
    assert_eq!((&confinement["state"], &ended["stdout"]), (&json!("partial"), &json!("started\n")));
}

#[test]
fn processes_that_multiply_are_ended() {
    let all = |launch: &mut Launch| launch.limits.processes = Some(PROCESSES);
    for cage in cages(all) {
        let watch = Stopwatch::start();
        is_ended(&cage.run(BOMB), Bound::Processes, (watch, Duration::from_secs(6)));
    }
    let Some(cage) = plain(all) else { return };
    for cage in [cage.same(), cage.without_namespaces()] {
        let (_, ended) = cage.run_apart(BOMB);
        assert_eq!(ended["exceeded"], "processes", "{ended}");
        assert!(ended["duration_ms"].as_u64() < Some(6000), "{ended}");
    }
}

#[test]
fn many_processes_that_take_all_the_time_are_ended_too() {
    // Hundreds of them leave hardly any time to the process that counts them.
    let Some(cage) = plain(|launch| launch.limits.processes = Some(400)) else { return };
    let (_, ended) = cage.with(|launch| launch.timeout_ms = 20_000).run_apart(BOMB);
    assert_eq!(ended["exceeded"], "processes", "{ended}");
}

#[test]
fn a_user_who_has_nothing_else_has_a_limit_of_processes() {
    let Some(cage) = plain(|launch| launch.limits.processes = Some(PROCESSES)) else { return };
    let line = "awk '/Max processes/ { print $3 }' /proc/self/limits; cut -d/ -f2 /proc/loadavg";
    let (confinement, ended) = cage.without_namespaces().run_apart(line);
    assert_eq!(confinement["bounds"]["processes"], "watch");
    let said = ended["stdout"].as_str().unwrap().replace(' ', "\n");
    let numbers: Vec<u64> = said.lines().filter_map(|line| line.parse().ok()).collect();
    let (limit, others) = (numbers[0], numbers[1]);
    // Others come and go between the two looks.
    assert!((PROCESSES..others + PROCESSES + 500).contains(&limit), "{numbers:?}");
}

#[test]
fn the_disk_is_bounded_whatever_is_written() {
    for line in FULL {
        let shared = tempfile::tempdir_in("/var/tmp").unwrap();
        // Earlier files do not count.
        fs::write(shared.path().join("old"), vec![1; 2 * DISK as usize]).unwrap();
        let cage = Cage::in_folder(Path::new("/var/tmp")).with(|launch| {
            launch.limits.disk = Some(DISK);
            launch.env.insert("SHARED".to_owned(), shared.path().display().to_string());
            launch.write.push(shared.path().to_owned());
        });
        let written = fs::metadata(shared.path().join("old")).unwrap().modified().unwrap();
        let is_over = |past: Duration| past >= Duration::from_millis(1);
        wait_until("the next millisecond has begun", || written.elapsed().is_ok_and(is_over));
        let ended = cage.run(line);
        assert_eq!(ended.exceeded, Some(Bound::Disk), "{line}: {ended:?}");
    }
}

#[test]
fn groups_are_gone_when_their_programs_are() {
    let cage = Cage::new().with(|launch| launch.limits.processes = Some(PROCESSES));
    let ended = cage.run("cat /proc/self/cgroup");
    if !has_group(&ended, Bound::Processes) {
        return;
    }
    let text = super::said(&ended);
    let name = text.lines().find_map(|line| Some(line.split_once("nrv-")?.1.to_owned())).unwrap();
    crate::support::site::wait_until("it is gone", || {
        let found = walkdir::WalkDir::new("/sys/fs/cgroup").into_iter().flatten();
        !found.into_iter().any(|entry| entry.file_name().to_str() == Some(&format!("nrv-{name}")))
    });
}

#[test]
fn a_program_does_not_leave_its_group() {
    let cage =
        Cage::new().with(|launch| (launch.limits.memory, launch.limits.processes) = (Some(MEMORY), Some(PROCESSES)));
    let leave = "for f in $(find /sys/fs/cgroup -name tasks -o -name cgroup.procs -o -name '*.max' -o -name '*limit_in_bytes' 2> /dev/null); \
        do echo 0 > $f && echo left $f; done; ls /sys/fs/cgroup && echo seen";
    let said = super::said(&cage.run(leave));
    assert!(!said.contains("left") && !said.contains("seen"), "{said}");
}
