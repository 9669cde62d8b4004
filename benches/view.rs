//! The time of a command's view of a tree with 20,000 files: listing, set-up and reading back, beside the same command in an
//! empty tree.
//!
//! `cargo bench --bench view`. The file system of the tree matters: `TMPDIR` chooses it.
#![expect(clippy::disallowed_methods, reason = "a bench measures time and makes folders")]
#![expect(clippy::unwrap_used, reason = "a bench that can't be set up ends")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{collections::BTreeMap, fs, path::Path, sync::atomic::AtomicBool, time::Instant};

use nrv::{
    base::call::Run,
    service::exec::{Context, prepare},
    system::{
        policy::{Exec, Sandbox},
        process::{Critical, Program},
        workspace::{Overlay, View, Workspace},
    },
};

const ROUNDS: usize = 15;

/// Milliseconds of preparing and of running a shell's command, the median of several.
fn measure(root: &Path, script: &str, writes: &[&str], way: &str) -> (f64, f64) {
    let environment: BTreeMap<String, String> = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
    let exec = Exec { sandbox: Sandbox::Auto, ..Exec::default() };
    let overlay = Overlay::new();
    let workspace = Workspace::open(root).unwrap();
    let supervisor = Program::Path(env!("CARGO_BIN_EXE_nrv").into());
    let writes = writes.iter().map(|glob| (*glob).to_owned()).collect();
    let args = vec!["-c".to_owned(), script.to_owned()];
    let run = Run { program: "sh".to_owned(), args, writes, ..Run::default() };
    let (mut preparing, mut running) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let context = Context {
            variables: &[],
            permitted: &[],
            view: View::new(&workspace, &overlay),
            exec: &exec,
            environment: &environment,
            supervisor: &supervisor,
            run: "bench",
            from_workspace: false,
            discard: false,
            dry_run: false,
            timeout_ms: 60_000,
            threads: std::thread::available_parallelism().map_or(2, usize::from),
            cancel: &AtomicBool::new(false),
            critical: &Critical::default(),
            output: None,
        };
        let watch = Instant::now();
        let prepared = prepare(context, &run).unwrap();
        preparing.push(watch.elapsed().as_secs_f64() * 1e3);
        let watch = Instant::now();
        let done = match way {
            "copy" => prepared.run_on_copy(&mut |_| Ok(())).unwrap(),
            _ => prepared.run(&mut |_| Ok(())).unwrap(),
        };
        running.push(watch.elapsed().as_secs_f64() * 1e3);
        assert_eq!(done.ended.status, Some(0));
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    (median(preparing), median(running))
}

fn main() {
    let empty = tempfile::tempdir().unwrap();
    let tree = tempfile::tempdir().unwrap();
    for n in 0..20_000 {
        let folder = tree.path().join(format!("d{}/e{}", n / 1000, n / 20 % 50));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("file{n}.txt")), format!("line {n}\n").repeat(50)).unwrap();
    }
    let change = "for f in d1/e1/*; do echo x >> $f; done";
    let show = |what: &str, root: &Path, script: &str, writes: &[&str], way: &str| {
        let (preparing, running) = measure(root, script, writes, way);
        println!("{what}: prepared in {preparing:.1} ms, run in {running:.1} ms");
    };
    show("an empty tree, nothing to write", empty.path(), "true", &[], "view");
    show("an empty tree", empty.path(), "true", &["**"], "view");
    show("20,000 files, nothing to write", tree.path(), "true", &[], "view");
    show("20,000 files", tree.path(), "true", &["**"], "view");
    show("20,000 files, 20 of them changed", tree.path(), change, &["**"], "view");
    show("20,000 files, 20 of them changed, on a copy", tree.path(), change, &["**"], "copy");
}
