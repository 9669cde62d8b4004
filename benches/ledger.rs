//! The time of the record's operations: a call's line, the verification of a large record, a listing of many runs.
//!
//! `cargo bench --bench ledger`. The file system of the records matters: `TMPDIR` chooses it.
#![expect(clippy::disallowed_methods, reason = "a bench measures time and makes folders")]
#![expect(clippy::unwrap_used, reason = "a bench that can't be set up ends")]
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{fs, time::Instant};

use nrv::{
    Call, Context, Host, Options, Position, Request, Silent, Workspace, host,
    record::{self, Chain, Head, Note, RunFolder, Runs, event},
};
use serde_json::{Value, json};

/// The record of a call of some size.
fn data(n: usize, size: usize) -> Value {
    let text: String = "a line of text, é\n".chars().cycle().take(size).collect();
    json!({
        "call": "custom", "args": {"name": "a.b", "params": {"n": n, "path": "site/a/p1.html"}}, "decision": "allow",
        "results": [], "reply": {"text": text, "found": true},
    })
}

fn append(chain: &mut Chain, n: usize, size: usize) {
    let call: event::Call = serde_json::from_value(data(n, size)).unwrap();
    let note = Note::at(&n.to_string(), event::Event::Call(call.into())).draft().unwrap();
    chain.append("2026-11-21T20:20:00.000Z".to_owned(), note).unwrap();
}

fn recording() {
    const CALLS: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let run = Runs::of(folder.path()).create(0, 1).unwrap();
    let mut chain = Chain::open(&run).unwrap();
    let watch = Instant::now();
    (0..CALLS).for_each(|n| append(&mut chain, n, 20));
    println!("a short record is appended in {:.1} µs", watch.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
    let context = Context::new(Workspace::open(folder.path()).unwrap(), Options::default()).unwrap();
    let mut request = Request::program(&context, "bench");
    request.policy = nrv::Policy::parse("[budget]\ncalls = 1000000", "nrv.toml").unwrap();
    let mut host = Host::start(&context, request, &mut Silent).unwrap();
    let watch = Instant::now();
    for n in 0..CALLS {
        let call = Call::UiStep { label: format!("step {n} of many") };
        host.perform(&Position::nth(n as u64 + 1), call, &mut Silent).unwrap();
    }
    println!("a call is judged, answered and recorded in {:.1} µs", watch.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
    let watch = Instant::now();
    host.finish(Ok(Value::Null), &mut Silent).unwrap();
    println!("the run is evaluated and sealed in {:.1} ms", watch.elapsed().as_secs_f64() * 1e3);
}

fn verifying() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::of(folder.path());
    let run: RunFolder = runs.create(0, 1).unwrap();
    let mut chain = Chain::open(&run).unwrap();
    for n in 0..100_000 {
        append(&mut chain, n, [20, 400, 3000][n % 3]);
    }
    runs.add_head(&Head::new(run.id(), chain.tip(), "done")).unwrap();
    let size = fs::metadata(run.path().join("events.jsonl")).unwrap().len() as f64 / 1e6;
    for _ in 0..3 {
        let watch = Instant::now();
        let report = record::verify(&runs, &run, 1, &false.into()).unwrap();
        assert!(report.is_sound() && report.records == 100_000);
        let rate = size / watch.elapsed().as_secs_f64();
        let images = host::damaged_pre_images(&run).len();
        let all = size / watch.elapsed().as_secs_f64();
        println!("a record of {size:.0} MB is verified at {rate:.0} MB/s, with {images} pre-images at {all:.0} MB/s");
    }
}

fn listing() {
    const RUNS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let context = Context::new(Workspace::open(folder.path()).unwrap(), Options::default()).unwrap();
    let host = Host::start(&context, Request::program(&context, "bench"), &mut Silent).unwrap();
    host.finish(Ok(Value::Null), &mut Silent).unwrap();
    let known = host::overviews(&context).unwrap().remove(0);
    let source = context.runs.open(&known.run).unwrap();
    let chain = source.read("events.jsonl").unwrap();
    let last = source.last_record().unwrap().unwrap();
    for n in 0..RUNS {
        let id = format!("20260101T{:02}{:02}{:02}Z-{n:04x}", n / 3600, n / 60 % 60, n % 60);
        fs::create_dir(context.runs.path().join(&id)).unwrap();
        fs::write(context.runs.path().join(&id).join("events.jsonl"), &chain).unwrap();
        let overview = json!(host::Overview { run: id.clone(), kept_until: None, ..known.clone() });
        let head = Head { overview: Some(overview), ..Head::new(&id, (last.seq, &last.hash), "done") };
        context.runs.add_head(&head).unwrap();
    }
    for _ in 0..3 {
        let watch = Instant::now();
        assert_eq!(host::overviews(&context).unwrap().len(), RUNS + 1);
        let list = watch.elapsed().as_secs_f64() * 1e3;
        let watch = Instant::now();
        host::stats(&context, None).unwrap();
        let stats = watch.elapsed().as_secs_f64() * 1e3;
        println!("{RUNS} runs are listed in {list:.0} ms, and taken together in {stats:.0} ms");
    }
    if let Some(keep) = std::env::var_os("NRV_KEEP") {
        fs::rename(folder.keep(), keep).unwrap();
    }
}

fn main() {
    recording();
    verifying();
    listing();
}
