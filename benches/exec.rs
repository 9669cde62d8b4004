//! The cost of running a command: its start, with and without confinement, against a bare `posix_spawn`; a long output.
//!
//! `cargo bench --bench exec`. Rounds alternate, so that other work of the machine affects all alike.
#![expect(clippy::disallowed_methods, reason = "a bench measures time and starts programs")]
#![expect(clippy::unwrap_used, reason = "a bench that can't be set up ends")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use nrv::system::process::{
    Program,
    sandbox::{Confine, Ended, Launch, Output, Stage, launch},
};

const ROUNDS: usize = 200;

const BYTES: u64 = 200_000_000;

fn main() {
    starting();
    writing();
}

/// The launch in an empty tree, which is like most outside of temporary folders, and in private folders.
fn order(folder: &Path, confine: Confine, staged: bool) -> Launch {
    let make = |name: &str| {
        let path = folder.join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    };
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec");
    fs::create_dir_all(&root).unwrap();
    let stage = Stage { root: root.clone(), upper: make("upper"), work: make("work"), ..Stage::default() };
    Launch {
        program: "/bin/true".into(),
        name: "true".to_owned(),
        cwd: root,
        timeout_ms: 60_000,
        confine,
        temporary: make("temporary"),
        stage: staged.then_some(stage),
        output: Output { whole: 64 << 10, ends: 16 << 10, ..Output::default() },
        ..Launch::default()
    }
}

fn run(order: &Launch) -> Ended {
    // The installed program, since its size counts.
    let supervisor = Program::Path(env!("CARGO_BIN_EXE_nrv").into());
    launch(order, &supervisor, &AtomicBool::new(false), &mut |_| Ok(())).unwrap()
}

fn bare() {
    let pipes = [Stdio::piped(), Stdio::piped()];
    let [out, err] = pipes;
    let mut command = Command::new("/bin/true");
    command.env_clear().stdin(Stdio::null()).stdout(out).stderr(err);
    assert!(command.output().unwrap().status.success());
}

fn starting() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let ways = [
        ("posix_spawn", None),
        ("without confinement", Some((Confine::Off, false))),
        ("without confinement, on a stage", Some((Confine::Off, true))),
        ("confined", Some((Confine::Require, false))),
        ("confined, on a stage", Some((Confine::Require, true))),
    ];
    let mut times = vec![Vec::with_capacity(ROUNDS); ways.len()];
    for _ in 0..ROUNDS {
        for ((_, way), times) in ways.iter().zip(&mut times) {
            let order = way.map(|(confine, staged)| order(folder.path(), confine, staged));
            let watch = Instant::now();
            match &order {
                None => bare(),
                Some(order) => assert_eq!(run(order).status, Some(0)),
            }
            times.push(watch.elapsed());
        }
    }
    let medians: Vec<Duration> = times
        .into_iter()
        .map(|mut times| {
            times.sort();
            times[ROUNDS / 2]
        })
        .collect();
    for ((name, _), median) in ways.iter().zip(&medians) {
        let more = median.saturating_sub(medians[0]).as_secs_f64() * 1e3;
        println!("/bin/true, {name}: {:.2} ms, {more:.2} ms more", median.as_secs_f64() * 1e3);
    }
}

fn writing() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("file");
    let head = format!("head -c {BYTES} /dev/zero");
    for _ in 0..3 {
        let watch = Instant::now();
        let line = format!("{head} | tee {} | openssl sha256", file.display());
        let known = Command::new("/bin/sh").args(["-c", &line]).output().unwrap();
        let other = watch.elapsed();
        fs::remove_file(&file).unwrap();

        let mut order = order(folder.path(), Confine::Require, true);
        (order.program, order.args) = ("/bin/sh".into(), vec!["-c".to_owned(), head.clone()]);
        order.env.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
        order.output.files = Some((file.clone(), folder.path().join("errors")));
        order.output.stored = u64::MAX;
        let watch = Instant::now();
        let ended = run(&order);
        let own = watch.elapsed();
        assert!(String::from_utf8_lossy(&known.stdout).contains(&ended.stdout.sha256.unwrap().to_string()));
        assert_eq!((fs::metadata(&file).unwrap().len(), ended.stdout.stored), (BYTES, BYTES));
        fs::remove_file(&file).unwrap();
        let ratio = own.as_secs_f64() / other.as_secs_f64();
        println!(
            "200 MB of output: {own:.0?}, `tee | openssl sha256`: {other:.0?}, ratio {ratio:.2}, {} at most",
            memory()
        );
    }
}

/// The peak memory of this process.
fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim().to_owned()
}
