//! The time to check a script of 1,000 lines, beside the start of the process that parses it.
//!
//! `cargo bench --bench check`.
#![expect(clippy::disallowed_methods, reason = "a bench measures time")]
#![expect(clippy::unwrap_used, reason = "a bench that can't be set up ends")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::time::Instant;

use nrv::{
    base::{frame::Limits, path::RepoPath},
    script::{Loader, load, session::Origin},
    system::process::{Isolation, Program},
};

const LINES: usize = 1000;
const ROUNDS: usize = 31;

/// Ten typical lines of a script.
const PART: &str = r#"
fn part_N(names, limit) {
    let found = [];
    for name in names {
        if name.ends_with(".md") && found.len() < limit {
            found.push(#{ path: name, text: nrv.files.read(name), size: nrv.files.stat(name).size });
        }
    }
    found.map(|file| `${file.path}: ${file.size}`)
}
"#;

fn main() {
    let program = Program::Path(env!("CARGO_BIN_EXE_nrv").into());
    let limits = Limits {
        operations: 1 << 30,
        memory: 1 << 30,
        cpu_s: 60,
        call_depth: 32,
        string: None,
        array: None,
        map: None,
        reply_bytes: Limits::reply_bytes(),
    };
    let parts = LINES / PART.lines().count();
    let long: String = (0..parts).map(|index| PART.replace("part_N", &format!("part_{index}"))).collect();
    let time = |text: &str| {
        let read = |_: &RepoPath| Ok(text.to_owned());
        let origin = Origin { program: &program, isolation: Isolation::Process };
        let loader = Loader { origin, limits: &limits, read: &read, stop: &|| None };
        let mut times: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let watch = Instant::now();
                assert!(load(&loader, &RepoPath::parse("a.rhai").unwrap()).is_ok());
                watch.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (short, long) = (time("1"), time(&long));
    println!(
        "a script of one line {short:.1} ms, of {LINES} lines {long:.1} ms: {:.1} ms more, {:.2} times as long",
        long - short,
        long / short
    );
}
