//! Budgets of every kind: a limit of N admits exactly N, and the error names the kind, the limit and the request.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use nrv::{
    Calls, Code, Context, CustomCall, Demand, Finished, Flags, Invocation, Options, Program, Silent, State, Workspace,
};
use serde_json::{Value, json};

use crate::support::{
    record::{Line, lines},
    site::{Site, wait_until},
};

/// A call that reserves the amount in its params, and reports half of it as used if they ask for that.
fn work(made: &Arc<AtomicUsize>) -> CustomCall {
    let made = Arc::clone(made);
    let number = |params: &Value, key: &str| params[key].as_u64().unwrap_or_default();
    let demand = move |params: &Value| Demand {
        exec_ms: number(params, "exec_ms"),
        tokens: number(params, "tokens"),
        cost: number(params, "cost"),
        ..Demand::default()
    };
    let handler = move |params: &Value, ctx: &nrv::CustomContext<'_>| {
        made.fetch_add(1, Ordering::Relaxed);
        if params["half"] == true {
            let Demand { exec_ms, tokens, cost, .. } = ctx.spent.get();
            ctx.spent.set(Demand { exec_ms: exec_ms / 2, tokens: tokens / 2, cost: cost / 2, ..Demand::default() });
        }
        Ok(Value::Null)
    };
    CustomCall::new("own.work", "works", json!({}), handler).demands(demand)
}

/// A call that goes on until it is told to stop.
fn endless() -> CustomCall {
    CustomCall::new("own.endless", "never ends by itself", json!({}), |_, ctx| {
        wait_until("it is told to stop", || ctx.cancel.load(Ordering::Relaxed));
        Err(nrv::Error::new(Code::Cancelled, "it was told to stop"))
    })
}

/// Runs a script that may make these calls; returns its outcome, the number of calls, and the record.
fn run(site: &Site, header: &str, body: &str) -> (Finished, usize, Vec<Line>) {
    let made = Arc::default();
    let calls = Calls::default().with(work(&made)).unwrap().with(endless()).unwrap();
    let program = Program::Path(Path::new(crate::repository::nrv()).to_owned());
    let context =
        Context::new(Workspace::open(&site.root()).unwrap(), Options { calls, program, ..Options::default() }).unwrap();
    let permissions = "permissions: #{ calls: [\"own.work\", \"own.endless\"], write: [\"**\"] }";
    site.script("own.rhai", &format!("const WORKFLOW = #{{ name: \"own\", {permissions}, {header} }};\n{body}\n"));
    let flags = Flags { yes: true, ..Flags::default() };
    let finished =
        nrv::run_file(&context, "own.rhai", Invocation { flags, ..Invocation::default() }, &mut Silent).unwrap();
    let records = lines(&context.runs.open("last").unwrap().records().unwrap());
    (finished, made.load(Ordering::Relaxed), records)
}

/// The error of a run that spent a budget: its kind, limit, used and asked.
fn spent(finished: &Finished) -> (&str, f64, f64, f64) {
    let error = finished.error.as_ref().unwrap();
    assert_eq!((error.code(), finished.exit_code()), (Code::BudgetExhausted, 6), "{error}");
    let details = error.details();
    let number = |key: &str| details[key].as_f64().unwrap();
    (details["budget"].as_str().unwrap(), number("limit"), number("used"), number("asked"))
}

#[test]
fn what_a_call_asks_for_is_admitted_exactly_up_to_the_limit() {
    for (header, params, error) in [
        ("exec_s: 3", "#{ exec_ms: 1000 }", ("exec_s", 3.0, 3.0, 1.0)),
        ("tokens: 300", "#{ tokens: 100 }", ("tokens", 300.0, 300.0, 100.0)),
        ("cost: 0.75", "#{ cost: 250000 }", ("cost", 0.75, 0.75, 0.25)),
        ("calls: 3", "#{}", ("calls", 3.0, 3.0, 1.0)),
    ] {
        let body = format!("for n in 0..9 {{ nrv.custom(\"own.work\", {params}); }}");
        let (finished, made, _) = run(&Site::new(0), &format!("budget: #{{ {header} }}"), &body);
        assert_eq!((spent(&finished), made), (error, 3), "{header}");
    }
}

#[test]
fn what_a_call_did_not_take_can_be_had_by_the_next() {
    let body = "for n in 0..9 { nrv.custom(\"own.work\", #{ tokens: 100, half: true }); }\nnrv.run.budget().tokens";
    let (finished, made, records) = run(&Site::new(0), "budget: #{ tokens: 300 }", body);
    // After five calls 250 are used, so that another hundred might be too many.
    assert_eq!((spent(&finished), made), (("tokens", 300.0, 250.0, 100.0), 5));
    let costs: Vec<&Value> = records.iter().filter(|record| record.kind == "call").map(|r| &r.data["cost"]).collect();
    assert_eq!(costs[..5], [&json!({"tokens": 50}); 5]);
}

#[test]
fn the_policy_bounds_the_header_and_without_a_limit_cost_is_not_bounded() {
    let site = Site::new(0).policy("[budget]\ntokens = 100\n");
    let body = "nrv.custom(\"own.work\", #{ tokens: 100, cost: 9000000 });\nnrv.custom(\"own.work\", #{ tokens: 1 });";
    let (finished, made, _) = run(&site, "budget: #{ tokens: 900 }", body);
    assert_eq!((spent(&finished), made), (("tokens", 100.0, 100.0, 1.0), 1));
}

#[test]
fn the_end_of_time_stops_a_call_that_goes_on_and_undoes_the_run() {
    let site = Site::new(0);
    let body = "nrv.apply.create(\"new.txt\", \"text\\n\");\ntry { nrv.custom(\"own.endless\", #{}); } catch { }";
    let (finished, ..) = run(&site, "budget: #{ wall_s: 1 }", body);
    let (kind, limit, ..) = spent(&finished);
    assert_eq!((kind, limit, finished.state, finished.undone), ("wall_s", 1.0, State::Failed, 1));
    assert!(!site.root().join("new.txt").exists());
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

#[test]
fn an_adapter_is_started_as_often_in_a_minute_as_it_may_be() {
    let site = Site::new(2).policy("[adapters.link_updater]\nrate_per_min = 2\n");
    let propose = "nrv.dta(\"link_updater\").propose(#{ target: #{ glob: \"site/**/*.html\" },
        params: #{ from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" } });";
    let (finished, _, records) = run(&site, "", &format!("for n in 0..5 {{ {propose} }}"));
    assert_eq!(spent(&finished), ("adapters.link_updater.rate_per_min", 2.0, 2.0, 1.0));
    let wait = finished.error.as_ref().unwrap().details()["retry_after_ms"].as_u64().unwrap();
    assert!((1..=60_000).contains(&wait), "{wait}");
    assert_eq!(records.iter().filter(|record| record.kind == "dta_proposed").count(), 2);
}

#[test]
fn a_change_that_was_refused_gives_its_budget_back() {
    let body = "let wrong = \"0000000000000000000000000000000000000000000000000000000000000000\";
        for n in 0..5 { try { nrv.apply.write(\"a.txt\", \"b\\n\", wrong); } catch { } }
        nrv.apply.create(\"new.txt\", \"text\\n\");
        nrv.run.budget().files";
    let site = Site::new(0);
    site.write("a.txt", "a\n");
    let (finished, ..) = run(&site, "budget: #{ files: 1 }", body);
    assert_eq!(finished.result, json!({"used": 1, "limit": 1, "left": 0}), "{:?}", finished.error);
}
