//! All processes of a program are gone when it has ended, when its time is over, and when its host dies.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use nrv::system::{
    clock::Stopwatch,
    process::sandbox::{Confine, Ended, launch},
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use super::{Cage, nrv, said};
use crate::support::site::wait_until;

/// A tree of processes that ignores everything that can be ignored: it forks, leaves its group and session, holds the pipes.
/// Each writes a line again and again, and holds a pipe open as long as it lives, at most as long as the test.
const STUBBORN: &str = "trap '' TERM HUP INT; exec 9> \"$ALIVE/held\"; \
    beat() { trap '' TERM HUP INT; while [ -e \"$ALIVE\" ]; do echo $1 >> \"$ALIVE/beat\"; sleep 0.02; done; }; \
    beat child & \
    (beat orphan &) ; \
    (setsid sh -c 'trap \"\" TERM HUP INT; (while [ -e \"$ALIVE\" ]; do echo session >> \"$ALIVE/beat\"; sleep 0.02; done) & :' &) ; \
    echo started; ";

/// The cages in which trees of processes are tried, each with a folder of its own to write to, and the end of the pipe in it.
fn cages() -> Vec<(Cage, File)> {
    [Cage::new(), Cage::new().without_namespaces(), Cage::new().unconfined()]
        .into_iter()
        .map(|cage| {
            let alive = cage.path("alive");
            fs::create_dir(&alive).unwrap();
            let pipe = alive.join("held");
            mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            let held = rustix::fs::open(pipe, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
            let cage = cage.with(|launch| {
                launch.env.insert("ALIVE".to_owned(), alive.display().to_string());
                launch.write.push(alive);
                (launch.timeout_ms, launch.grace_ms) = (700, 200);
            });
            (cage, File::from(held.unwrap()))
        })
        .collect()
}

/// Checks that every process was there, and that none is any more.
#[track_caller]
fn all_are_gone(cage: &Cage, held: &File) {
    let beats = fs::read_to_string(cage.path("alive/beat")).unwrap();
    for name in ["child", "orphan", "session"] {
        assert!(beats.contains(name), "{name} was never there");
    }
    let watch = Stopwatch::start();
    wait_for_the_last(held);
    assert!(watch.elapsed() < Duration::from_secs(1), "somebody lived on for {:?}", watch.elapsed());
}

/// Waits until nobody holds the pipe, which has an end only then.
#[track_caller]
fn wait_for_the_last(mut held: &File) {
    wait_until("nobody is alive", || matches!(held.read(&mut [0]), Ok(0)));
}

#[test]
fn a_stubborn_tree_is_gone_when_its_time_is_over() {
    for (cage, held) in cages() {
        let watch = Stopwatch::start();
        let ended = cage.run(&format!("{STUBBORN} while :; do sleep 1; done"));
        assert!(ended.timed_out && ended.signal == Some(9) && ended.status.is_none(), "{ended:?}");
        assert_eq!(said(&ended), "started\n");
        assert!(watch.elapsed() < Duration::from_secs(4), "{:?}", watch.elapsed());
        all_are_gone(&cage, &held);
    }
}

#[test]
fn what_a_program_leaves_behind_is_gone_when_it_has_ended() {
    for (cage, held) in cages() {
        let ended = cage.run(&format!("{STUBBORN} sleep 0.3; exit 4"));
        assert_eq!((ended.status, ended.timed_out), (Some(4), false));
        all_are_gone(&cage, &held);
    }
}

#[test]
fn processes_that_take_turns_at_living_are_gone_at_once() {
    // Each starts the next one and ends, so a search finds few of them alive. Some leave their group each time.
    for leave in ["", "setpgrp; "] {
        let turns = format!("perl -e 'while (1) {{ {leave}exit if fork }}'");
        let line = format!("for i in $(seq 1 20); do {turns} & done; sleep 0.3; echo said");
        for (cage, _) in cages() {
            let ended = cage.with(|launch| launch.timeout_ms = 60_000).run(&line);
            assert_eq!((said(&ended).as_str(), ended.timed_out), ("said\n", false), "{ended:?}");
            assert!(ended.duration_ms < 4000, "{}", ended.duration_ms);
        }
    }
}

#[test]
fn a_cancelled_program_is_told_to_end() {
    for (cage, _) in cages() {
        let cancel = AtomicBool::new(false);
        let mut ready = |_: &_| {
            cancel.store(true, Ordering::Relaxed);
            Ok(())
        };
        cage.fresh();
        let ended = launch(&cage.order("sleep 600"), &nrv(), &cancel, &mut ready).unwrap();
        assert_eq!((ended.cancelled, ended.timed_out, ended.signal), (true, false, Some(15)));
    }
}

#[test]
fn one_that_ends_when_it_is_told_ends_as_it_likes() {
    for (cage, _) in cages() {
        // However busy the machine is, the shell has time to hear of it.
        let cage = cage.with(|launch| launch.grace_ms = 20_000);
        let ended = cage.run("trap 'echo bye; exit 9' TERM; while :; do sleep 0.01; done");
        assert_eq!((ended.status, ended.timed_out, said(&ended).contains("bye\n")), (Some(9), true, true));
    }
}

#[test]
fn nothing_outlives_a_host_that_is_killed() {
    for (cage, held) in cages() {
        let cage = cage.with(|launch| launch.timeout_ms = 600_000);
        let mut host = cage.host(&format!("{STUBBORN} while :; do sleep 1; done")).spawn().unwrap();
        let mut confinement = String::new();
        BufReader::new(host.stdout.as_mut().unwrap()).read_line(&mut confinement).unwrap();
        let beats = || fs::read_to_string(cage.path("alive/beat")).unwrap_or_default();
        wait_until("all are there", || ["child", "orphan", "session"].iter().all(|name| beats().contains(name)));
        host.kill().unwrap();
        host.wait().unwrap();
        wait_for_the_last(&held);
    }
}

#[test]
fn nothing_outlives_a_supervisor_that_is_killed() {
    for (cage, held) in cages() {
        let cage = cage.with(|launch| {
            launch.timeout_ms = 600_000;
            launch.limits.processes = Some(256);
        });
        let mut host = cage.host(&format!("{STUBBORN} while :; do sleep 1; done")).spawn().unwrap();
        let mut confinement = String::new();
        let mut said = BufReader::new(host.stdout.take().unwrap());
        said.read_line(&mut confinement).unwrap();
        let beats = || fs::read_to_string(cage.path("alive/beat")).unwrap_or_default();
        wait_until("all are there", || ["child", "orphan", "session"].iter().all(|name| beats().contains(name)));
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", host.id())).unwrap();
        let supervisor = rustix::process::Pid::from_raw(children.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
        let mut error = String::new();
        said.read_line(&mut error).unwrap();
        assert!(error.contains("supervises"), "{error}");
        host.wait().unwrap();
        let in_namespaces = cage.launch.stage.is_some() && cage.launch.confine != Confine::Off;
        // Else no process is left that knows the others.
        if in_namespaces || confinement.contains("\"processes\":\"group\"") {
            all_are_gone(&cage, &held);
        }
    }
}

#[test]
fn the_first_process_can_not_be_ended_by_the_program() {
    let ended = Cage::new().run("kill -9 1; kill -TERM 1; kill -STOP 1; kill -9 -1; echo alive");
    assert_eq!((ended.status, said(&ended).contains("alive")), (Some(0), true), "{ended:?}");
}

#[test]
fn no_file_is_larger_than_it_may_be() {
    for cage in [Cage::new(), Cage::new().without_namespaces(), Cage::new().unconfined()] {
        let cage = cage.with(|launch| launch.limits.file_size = Some(1 << 20));
        let said = said(&cage.run("head -c 3000000 /dev/zero > large; ls -l large | cut -d' ' -f5"));
        assert!(said.contains("1048576\n"), "{said}");
    }
}

#[test]
fn use_of_the_machine_is_told() {
    let ended: Ended = Cage::new().run("perl -e '$x = \"a\" x (100 << 20); $i++ while $i < 3000000'");
    assert!(ended.peak_bytes > 100 << 20 && ended.peak_bytes < 1 << 30, "{ended:?}");
    assert!(ended.cpu_ms > 10 && ended.duration_ms > 10, "{ended:?}");
}

#[test]
fn a_shell_sees_that_its_children_end() {
    for cage in [Cage::new(), Cage::new().without_namespaces(), Cage::new().unconfined()] {
        let ended = cage.run("grep SigBlk /proc/self/status; for i in 1 2 3 4; do sleep 0.1 & done; wait; echo done");
        let said = String::from_utf8(ended.stdout.head).unwrap();
        assert_eq!((ended.status, said.as_str()), (Some(0), "SigBlk:\t0000000000000000\ndone\n"));
    }
}

#[test]
fn nothing_that_the_machine_keeps_is_left() {
    // 16 MiB of shared memory, a queue of messages and a semaphore, which no other process uses.
    let make = format!(
        "perl -e '$n = 0; $n += syscall({}, 0, 16 << 20, 01600) >= 0; $n += syscall({}, 0, 01600) >= 0; \
         $n += syscall({}, 0, 1, 01600) >= 0; print $n'",
        libc::SYS_shmget,
        libc::SYS_msgget,
        libc::SYS_semget
    );
    let owned = || {
        let lists = ["shm", "msg", "sem"].map(|kind| fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap());
        lists.iter().flat_map(|list| list.lines().skip(1)).count()
    };
    let before = owned();
    assert_eq!(said(&Cage::new().run(&make)), "3");
    assert_eq!(said(&Cage::new().without_namespaces().run(&make)), "0");
    assert_eq!(owned(), before);
}
