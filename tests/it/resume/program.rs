//! A program resumes a run of its own: it opens the run again and makes its calls.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use nrv::{
    Call, Calls, Code, Context, CustomCall, Host, Options, Position, Request, Resumption, Silent, State, Workspace,
};
use serde_json::json;

use crate::support::site::{Site, wait_until};

/// Opens a run again whose host was dropped. Another test that is starting a process may hold its lock for a moment more.
fn opened_again<'c>(context: &'c Context, run: &str) -> Host<'c> {
    let mut opened = None;
    wait_until("its lock is free", || {
        match Host::resume(context, run, &context.policy, Resumption::default(), &mut Silent) {
            Ok(host) => opened = Some(host),
            Err(error) => assert_eq!(error.code(), Code::LockTimeout, "{error:?}"),
        }
        opened.is_some()
    });
    opened.unwrap()
}

#[test]
fn a_program_goes_on_with_its_own_calls() {
    let site = Site::new(0);
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let call =
        CustomCall::new("post.send", "sends", json!({}), move |_, _| Ok(json!(count.fetch_add(1, Ordering::Relaxed))));
    let options = Options { calls: Calls::default().with(call).unwrap(), ..Options::default() };
    let context = Context::new(Workspace::open(&site.root()).unwrap(), options).unwrap();
    let send = || Call::Custom { name: "post.send".to_owned(), params: json!({"to": "x"}) };
    let create = |name: &str| Call::ApplyCreate { path: name.to_owned(), text: "x\n".to_owned() };
    let mut host = Host::start(&context, Request::program(&context, "own"), &mut Silent).unwrap();
    let run = host.run_id().to_owned();
    assert_eq!(host.perform(&Position::nth(1), send(), &mut Silent).unwrap(), json!(0));
    let first = host.perform(&Position::nth(2), create("a.txt"), &mut Silent).unwrap();
    // It dies.
    drop(host);
    site.nrv(&["resume", &run]).exits(1).says("the program `own` has to go on with its run itself");
    let mut host = opened_again(&context, &run);
    assert_eq!(host.perform(&Position::nth(1), send(), &mut Silent).unwrap(), json!(0));
    let error = host.perform(&Position::nth(2), create("b.txt"), &mut Silent).unwrap_err();
    assert_eq!((error.code(), &error.details()["position"]), (Code::Diverged, &json!("2")));
    drop(host);
    let mut host = opened_again(&context, &run);
    host.perform(&Position::nth(1), send(), &mut Silent).unwrap();
    assert_eq!(host.perform(&Position::nth(2), create("a.txt"), &mut Silent).unwrap(), first);
    assert_eq!(host.perform(&Position::nth(3), send(), &mut Silent).unwrap(), json!(1));
    let finished = host.finish(Ok(json!("end")), &mut Silent).unwrap();
    assert_eq!((finished.state, made.load(Ordering::Relaxed)), (State::Done, 2));
    site.last_ended("done");
}

#[test]
fn a_run_that_ends_before_it_has_done_what_it_did_is_no_success() {
    let site = Site::new(0);
    let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
    let mut host = Host::start(&context, Request::program(&context, "own"), &mut Silent).unwrap();
    let run = host.run_id().to_owned();
    let create = Call::ApplyCreate { path: "a.txt".to_owned(), text: "x\n".to_owned() };
    host.perform(&Position::nth(1), create, &mut Silent).unwrap();
    drop(host);
    let host = opened_again(&context, &run);
    let finished = host.finish(Ok(json!(1)), &mut Silent).unwrap();
    assert_eq!(finished.error.unwrap().code(), Code::Diverged);
    assert!(!site.path("a.txt").exists(), "what nobody stands for is undone");
}

#[test]
fn another_call_than_the_one_that_it_died_in_leaves_that_unanswered() {
    let site = Site::new(0);
    let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
    let mut host = Host::start(&context, Request::program(&context, "own"), &mut Silent).unwrap();
    let run = host.run_id().to_owned();
    let create = || Call::ApplyCreate { path: "a.txt".to_owned(), text: "x\n".to_owned() };
    host.perform(&Position::nth(1), create(), &mut Silent).unwrap();
    drop(host);
    // It died before the call was recorded.
    let events = site.last_run().join("events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(last.contains("\"kind\":\"call\""), "{last}");
    fs::write(&events, format!("{before}\n")).unwrap();
    let mut host = opened_again(&context, &run);
    let other = Call::ApplyRename { from: "b.txt".to_owned(), to: "c.txt".to_owned(), checksum: "0".to_owned() };
    assert_eq!(host.perform(&Position::nth(1), other, &mut Silent).unwrap_err().code(), Code::Diverged);
    drop(host);
    let mut host = opened_again(&context, &run);
    host.perform(&Position::nth(1), create(), &mut Silent).unwrap();
    assert_eq!(host.finish(Ok(json!(1)), &mut Silent).unwrap().state, State::Done);
    assert_eq!(site.read("a.txt"), b"x\n");
}
