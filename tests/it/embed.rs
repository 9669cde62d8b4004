//! nrv inside other programs: the example as it is, and calls and adapters that these tests add.
#![expect(clippy::disallowed_methods, reason = "tests run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use nrv::{
    Adapter, Adapters, Call, Calls, Change, ChangeSet, Code, Content, Context, CustomCall, Error, Finished, Flags,
    Host, Invocation, Options, Policy, Position, Program, Request, Silent, State, Workspace,
    adapter::{
        self,
        contract::{Baseline, Counts, FileHash, Proposal},
        evidence::{Evidence, Measured},
    },
    host,
    script::guest::bindings,
};
use serde_json::{Value, json};

use crate::support::{
    model::server::{Answer, ModelServer},
    record::{Line, lines},
    site::{Site, wait_until},
};

const TIDY: &str = include_str!("../../examples/embed/tidy.rhai");

/// A script that makes one call and returns its result.
fn making(header: &str, call: &str) -> String {
    format!("const WORKFLOW = #{{ name: \"own\", {header} }};\n{call}\n")
}

const PERMITTED: &str = "permissions: #{ calls: [\"tickets.create\"] }";
const CREATE: &str = "nrv.custom(\"tickets.create\", #{ title: \"x\" })";

/// The example's program, which cargo builds with the tests.
fn example() -> PathBuf {
    let path = Path::new(crate::repository::nrv()).with_file_name("examples").join("embed");
    assert!(path.exists(), "build it first: `cargo build --example embed`");
    path
}

/// Three pages: one with too many line feeds, one without any, one as it should be.
fn pages() -> Site {
    let site = Site::new(0);
    site.write("docs/a.md", "# A\n\ntext\n\n\n");
    site.write("docs/b.md", "no heading");
    site.write("docs/c.md", "# C\n");
    site.script("tidy.rhai", TIDY);
    site
}

fn embed(site: &Site, more: &[&str]) -> (i32, String, String) {
    let root = site.root().display().to_string();
    let mut command = Command::new(example());
    let output = site.tame(&mut command).args([&root, "tidy.rhai"]).args(more).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A call that counts how often it was made, and a call that only reads.
fn calls(made: &Arc<AtomicUsize>) -> Calls {
    let made = Arc::clone(made);
    let params = json!({
        "type": "object", "additionalProperties": false, "required": ["title"],
        "properties": {"title": {"type": "string"}},
    });
    let create = CustomCall::new("tickets.create", "opens a ticket", params, move |_, ctx| {
        Ok(json!({"number": made.fetch_add(1, Ordering::Relaxed) + 1, "at": ctx.position.as_str()}))
    });
    let list = CustomCall::new("tickets.list", "lists tickets", json!({}), |_, ctx| Ok(json!({"dry": ctx.dry_run})));
    Calls::default().with(create).unwrap().with(list.read_only().without_permission()).unwrap()
}

fn options(adapters: Adapters, calls: Calls) -> Options {
    Options { adapters, calls, program: Program::Path(example()), ..Options::default() }
}

fn context(site: &Site, options: Options) -> Context {
    Context::new(Workspace::open(&site.root()).unwrap(), options).unwrap()
}

/// Runs a script that makes calls, inside this process; returns the outcome, the number of calls with an effect, and the record.
fn run_with(site: &Site, text: &str, flags: Flags) -> (Finished, usize, Vec<Line>) {
    site.script("own.rhai", text);
    let made = Arc::default();
    let context = context(site, options(Adapters::default(), calls(&made)));
    let invocation = Invocation { flags, ..Invocation::default() };
    let finished = nrv::run_file(&context, "own.rhai", invocation, &mut Silent).unwrap();
    let records = lines(&context.runs.open("last").unwrap().records().unwrap());
    (finished, made.load(Ordering::Relaxed), records)
}

#[track_caller]
fn fails(text: &str, code: Code, words: &str, hint: &str) -> Error {
    let (finished, made, _) = run_with(&Site::new(0), text, Flags::default());
    let error = finished.error.unwrap();
    assert_eq!((error.code(), made), (code, 0), "{error}");
    assert!(error.message().contains(words), "{error}");
    assert!(error.hint_text().unwrap_or_default().contains(hint), "{error:?}");
    error
}

#[test]
fn the_example_runs_a_script_that_uses_its_own_adapter_and_call() {
    let site = pages();
    let (code, stdout, stderr) = embed(&site, &[]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let pages = ["docs/a.md", "docs/b.md", "docs/c.md"].map(|page| String::from_utf8(site.read(page)).unwrap());
    assert_eq!(pages, ["# A\n\ntext\n", "no heading\n", "# C\n"]);
    for line in [
        "The verifier of `final_newline` passed and counted {\"files\":2,\"wrong\":0}",
        "Ticket 1: \"docs/b.md has no heading\"",
        "2 files changed and verified by final_newline.",
        "The script says {\"files\":2,\"tickets\":[1]}",
        "There are 3 pages.",
    ] {
        assert!(stdout.contains(line), "{line:?} is not in: {stdout}");
    }
    let runs = site.runs();
    let mut subjects: Vec<_> = runs.iter().map(|run| run["subject"].as_str().unwrap()).collect();
    subjects.sort_unstable();
    assert_eq!(subjects, ["count pages", "tidy.rhai"]);
    for run in &runs {
        site.nrv(&["runs", "verify", run["run"].as_str().unwrap()]).exits(0);
    }
}

#[test]
fn a_dry_run_of_the_example_changes_nothing_and_opens_no_ticket() {
    let site = pages();
    let before = site.tree();
    let (code, stdout, _) = embed(&site, &["--dry-run"]);
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("2 files would change") && stdout.contains("\"tickets\":[0]"), "{stdout}");
    assert!(!stdout.contains("Ticket"), "{stdout}");
    assert!(site.tree() == before);
}

/// An adapter of the example's name that proposes another change: it alters the end of every page and the text before it.
struct Liar;

impl Adapter for Liar {
    fn name(&self) -> &str {
        "final_newline"
    }

    fn version(&self) -> &str {
        "1.0"
    }

    fn summary(&self) -> &str {
        "cut every page off"
    }

    fn params_schema(&self) -> &str {
        "{}"
    }

    fn counts(&self) -> adapter::contract::Counted<'_> {
        adapter::contract::Counted::default()
    }

    fn domain(&self) -> Vec<&str> {
        vec!["**/*.md"]
    }

    fn propose(&self, ctx: &adapter::Context<'_>, input: &adapter::contract::Invocation) -> Result<Proposal, Error> {
        let paths = ctx.view.list(&input.target.globs(ctx.view)?, 1)?.paths;
        let mut baseline = Baseline::default();
        let mut changes = Vec::new();
        for path in paths {
            let before = ctx.view.read(&path)?;
            baseline.files.push(FileHash { path: path.clone(), sha256: before.sha256 });
            let after = Some(Content::new(b"cut off\n".to_vec(), before.mode));
            changes.push(Change { path, before: Some(before.stamp()), after });
        }
        Ok(Proposal { baseline, counts: Counts::new(), changes: ChangeSet::new(changes)? })
    }

    /// It would pass everything, but the verifier's process uses another one.
    fn measure(
        &self,
        _: &adapter::Context<'_>,
        _: &adapter::contract::Invocation,
        _: &Evidence<'_>,
    ) -> Result<Measured, Error> {
        Ok(Measured::default())
    }
}

fn liar() -> Adapters {
    Adapters::default().with(Liar).unwrap()
}

/// One call of the adapter, as a program makes it without a script.
fn apply(context: &Context) -> Finished {
    let flags = Flags { yes: true, ..Flags::default() };
    let mut host = Host::start(context, Request { flags, ..Request::program(context, "tidy") }, &mut Silent).unwrap();
    let input = json!({"target": {"glob": "docs/**"}, "params": {}});
    let call = Call::DtaRun { tool: "final_newline".to_owned(), input };
    let outcome = host.perform(&Position::nth(1), call, &mut Silent);
    host.finish(outcome, &mut Silent).unwrap()
}

#[test]
fn a_wrong_proposal_of_an_own_adapter_is_undone_by_its_verifiers_process() {
    let site = pages();
    let before = site.tree();
    let finished = apply(&context(&site, options(liar(), Calls::default())));
    let error = finished.error.unwrap();
    assert_eq!((finished.state, error.code()), (State::Failed, Code::VerificationFailed));
    assert!(error.message().contains("ends_match: `docs/a.md` something before its end is different"), "{error}");
    assert!(site.tree() == before);
    site.last_ended("failed");
}

#[test]
fn a_program_that_does_not_know_the_adapter_passes_nothing() {
    let site = pages();
    let before = site.tree();
    let plain = Program::Path(crate::repository::nrv().into());
    let finished = apply(&context(&site, Options { program: plain, ..options(liar(), Calls::default()) }));
    let error = finished.error.unwrap();
    assert_eq!(error.code(), Code::VerificationFailed);
    assert!(error.message().contains("main_if_requested_with"), "{error}");
    assert!(site.tree() == before);
}

#[test]
fn a_page_that_was_tampered_with_is_found_by_the_own_verifier() {
    let site = pages();
    assert_eq!(embed(&site, &[]).0, 0);
    let context = context(&site, options(liar(), Calls::default()));
    let run = &context.runs.list().unwrap().into_iter().find(|run| site.path(&format!(".runs/{run}/dta")).exists());
    let folder = context.runs.open(run.as_ref().unwrap()).unwrap();
    let verify = || host::verify_again(&context, &folder).unwrap().remove(0).verifier;
    assert!(verify().passed);
    site.write("docs/a.md", "# A\n\ntext");
    let verdict = verify();
    let failed: Vec<&str> = verdict.failures.iter().map(|failure| failure.check.as_str()).collect();
    assert!(!verdict.passed && failed.contains(&"ends_match") && failed.contains(&"hashes_match"), "{failed:?}");
}

#[test]
fn a_call_is_made_and_recorded_after_its_intent() {
    let (finished, made, records) = run_with(&Site::new(0), &making(PERMITTED, CREATE), Flags::default());
    assert_eq!((&finished.result, made), (&json!({"number": 1, "at": "1"}), 1), "{:?}", finished.error);
    let own: Vec<_> = records.iter().filter(|record| record.position == "1").collect();
    let args = json!({"name": "tickets.create", "params": {"title": "x"}});
    let kinds: Vec<&str> = own.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds, ["intent", "call"]);
    assert!(own.iter().all(|record| record.data["call"] == "custom" && record.data["args"] == args), "{own:#?}");
    assert_eq!(own[1].data["reply"], finished.result);
}

#[test]
fn a_call_needs_the_headers_permission_and_the_policys_approval() {
    let hint = "add `permissions: #{ calls: [\"tickets.create\"] }` to the script's `WORKFLOW`";
    let words = "not permitted by the script's header";
    fails(&making("", CREATE), Code::PermissionDenied, words, hint);
    let caught = making("", &format!("try {{ {CREATE} }} catch {{ }} 1"));
    fails(&caught, Code::PermissionDenied, words, hint);
    let (finished, ..) = run_with(&Site::new(0), &making("", "nrv.custom(\"tickets.list\", #{})"), Flags::default());
    assert_eq!(finished.result, json!({"dry": false}));
    let site = Site::new(0).policy("[calls]\napproved = [\"tickets.list\"]\n");
    let (finished, made, _) = run_with(&site, &making(PERMITTED, CREATE), Flags::default());
    let error = finished.error.unwrap();
    assert_eq!((error.code(), finished.state, made), (Code::NotApproved, State::Failed, 0));
    assert!(error.message().contains("line 2 of `nrv.toml`"), "{error}");
}

#[test]
fn params_that_do_not_fit_are_refused_with_a_pointer() {
    let call = "nrv.custom(\"tickets.create\", #{ title: 5 })";
    let error = fails(&making(PERMITTED, call), Code::InvalidInput, "`/title`: must be a string", "opens a ticket");
    assert_eq!(error.details()["violations"][0]["pointer"], "/title");
    assert_eq!(error.location().unwrap().line, 2);
}

#[test]
fn an_unknown_call_names_the_nearest() {
    let call = "nrv.custom(\"tickets.craete\", #{})";
    fails(&making(PERMITTED, call), Code::NotFound, "`tickets.craete`", "did you mean `tickets.create`?");
}

#[test]
fn a_dry_run_makes_only_calls_that_read() {
    let dry = Flags { dry_run: true, ..Flags::default() };
    let (finished, made, _) = run_with(&Site::new(0), &making(PERMITTED, CREATE), dry);
    let error = finished.error.unwrap();
    assert_eq!((error.code(), made), (Code::Blocked, 0));
    assert!(error.message().contains("not made in a dry run"), "{error}");
    let (finished, _, records) = run_with(&Site::new(0), &making("", "nrv.custom(\"tickets.list\", #{})"), dry);
    assert_eq!(finished.result, json!({"dry": true}));
    assert!(records.iter().all(|record| record.kind != "intent"));
}

#[test]
fn calls_are_paid_for_before_they_are_made() {
    let header = format!("{PERMITTED}, budget: #{{ calls: 2 }}");
    let script = making(&header, &format!("{CREATE}; {CREATE}; {CREATE}"));
    let (finished, made, _) = run_with(&Site::new(0), &script, Flags::default());
    assert_eq!((finished.error.unwrap().code(), made), (Code::BudgetExhausted, 2));
}

#[test]
fn a_handler_that_panics_fails_the_run_which_is_undone_and_sealed() {
    let site = Site::new(2);
    let before = site.tree();
    let panics = CustomCall::new("tickets.panic", "panics", json!({}), |_, _| panic!("no tracker"));
    let context = context(&site, options(Adapters::default(), Calls::default().with(panics).unwrap()));
    let header = "permissions: #{ calls: [\"tickets.panic\"], write: [\"site/**\"] }";
    let change = "let links = nrv.dta(\"link_updater\");
links.apply(links.propose(#{ target: #{ glob: \"site/**/*.html\" },
    params: #{ from_hosts: [\"old.example.com\"], to_host: \"https://new.example.com\" } }));
nrv.custom(\"tickets.panic\", #{})";
    site.script("own.rhai", &making(header, change));
    let flags = Flags { yes: true, ..Flags::default() };
    let finished =
        nrv::run_file(&context, "own.rhai", Invocation { flags, ..Invocation::default() }, &mut Silent).unwrap();
    let error = finished.error.unwrap();
    assert_eq!((error.code(), finished.state, finished.undone), (Code::Internal, State::Failed, 2), "{error}");
    assert!(error.message().contains("`tickets.panic` panicked: no tracker"), "{error}");
    assert!(before.iter().all(|file| site.tree().iter().any(|now| now == file)));
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

#[test]
fn nrv_itself_adds_no_calls() {
    let site = Site::new(0);
    site.script("own.rhai", &making(PERMITTED, CREATE));
    let ran = site.nrv(&["run", "own.rhai"]).exits(1).says("there is no call `tickets.create`");
    ran.says("this program adds no calls to nrv's own");
}

#[test]
fn nrvs_own_names_can_not_be_taken() {
    for namespace in bindings::NAMESPACES.iter().filter_map(|namespace| namespace.receiver.strip_prefix("nrv.")) {
        let namespace = namespace.split('(').next().unwrap();
        let call = CustomCall::new(format!("{namespace}.x"), "collides", json!({}), |_, _| Ok(Value::Null));
        assert_eq!(Calls::default().with(call).unwrap_err().code(), Code::InvalidInput, "{namespace}");
    }
}

/// Runs a script on a thread of this process.
fn on_a_thread(text: &str, policy: &str, cancelled: bool) -> (Finished, Vec<Line>) {
    let site = Site::new(0).policy(policy);
    site.script("own.rhai", text);
    let made = Arc::default();
    let options = Options { isolation: nrv::entry::THREAD, ..options(Adapters::default(), calls(&made)) };
    let cancel = Arc::clone(&options.cancel);
    let context = context(&site, Options { program: Program::Path("/bin/false".into()), ..options });
    let finished = crossbeam::thread::scope(|scope| {
        scope.spawn(|_| {
            let started =
                || site.recorded("*/events.jsonl").first().is_some_and(|path| path.metadata().unwrap().len() > 900);
            if cancelled {
                wait_until("the script runs", started);
                cancel.store(true, Ordering::Relaxed);
            }
        });
        nrv::run_file(&context, "own.rhai", Invocation::default(), &mut Silent).unwrap()
    });
    (finished.unwrap(), lines(&context.runs.open("last").unwrap().records().unwrap()))
}

#[test]
fn a_script_on_a_thread_does_what_it_does_in_a_process_and_the_record_says_what_is_given_up() {
    let text =
        making(PERMITTED, &format!("print(1); let f = |x| {CREATE}.number + x; [f.call(1), nrv.random.int(1, 9)]"));
    let (on_thread, records) = on_a_thread(&text, "", false);
    let (in_process, _, _) = run_with(&Site::new(0), &text, Flags::default());
    assert_eq!((&on_thread.error, &on_thread.result), (&None, &in_process.result));
    let started = records.iter().find(|record| record.kind == "worker_started").unwrap();
    let isolation = &started.volatile["isolation"];
    assert_eq!((&isolation["landlock"], &isolation["seccomp"]), (&json!(false), &json!(false)));
    assert!(isolation["missing"][0].as_str().unwrap().contains("ends the program"), "{isolation}");
}

#[test]
fn a_script_on_a_thread_keeps_to_the_engines_limits() {
    let policy = "[script.limits]\noperations = 100_000\n";
    let error = on_a_thread(&making("", "loop { }"), policy, false).0.error.unwrap();
    assert_eq!((error.code(), &error.details()["limit"]), (Code::ScriptLimit, &json!("script.limits.operations")));
    let (finished, _) = on_a_thread(&making("", "fn f(x) { f(x + 1) } f(0)"), policy, false);
    assert_eq!(finished.error.unwrap().details()["limit"], "script.limits.call_depth");
    let (finished, _) = on_a_thread(&making("", "throw 1"), policy, false);
    assert_eq!(finished.error.unwrap().code(), Code::ScriptFailed);
}

#[test]
fn a_script_on_a_thread_can_be_cancelled() {
    let (finished, _) = on_a_thread(&making("", "loop { }"), "[script.limits]\noperations = 50_000_000_000\n", true);
    assert_eq!((finished.error.unwrap().code(), finished.state), (Code::Cancelled, State::Cancelled));
}

#[test]
fn a_policy_may_be_given_in_place_of_the_files() {
    let site = Site::new(0).policy("[budget]\ncalls = 0\n");
    let policy = Policy::parse("[budget]\ncalls = 1\n", "the program's policy").unwrap();
    let workspace = Workspace::open(&site.root()).unwrap();
    let context = Context::with_policy(workspace, policy, Options::default()).unwrap();
    let mut host = Host::start(&context, Request::program(&context, "look"), &mut Silent).unwrap();
    let look = || Call::FilesExists { path: "nrv.toml".to_owned() };
    assert_eq!(host.perform(&Position::nth(1), look(), &mut Silent), Ok(json!(true)));
    let outcome = host.perform(&Position::nth(2), look(), &mut Silent);
    let finished = host.finish(outcome, &mut Silent).unwrap();
    assert_eq!(finished.error.unwrap().code(), Code::BudgetExhausted);
    assert_eq!(site.runs()[0]["subject"], "look");
}

#[test]
fn a_service_of_ones_own_is_asked_over_http_and_answers_with_events() {
    let path = example().with_file_name("service");
    let ask = |answer: Answer| {
        let server = ModelServer::answering(answer);
        let output = Command::new(&path).args([&server.base_url("own"), "Sing."]).output().unwrap();
        let asked: Value = serde_json::from_str(&server.asked()[0].body).unwrap();
        assert_eq!(asked, json!({"model": "own-1", "prompt": "Sing."}));
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let events =
        ["data: {\"text\": \"la \"}\n\n", ":\n\ndata: {\"text\": \"la\"}\n\n", "event: end\ndata: {\"tokens\": 2}\n\n"];
    for answer in [Answer::stream(&events), Answer::drop_by_drop(&events)] {
        assert_eq!(ask(answer), (Some(0), "la la\n2 tokens\n".to_owned(), String::new()));
    }
    let (code, _, stderr) = ask(Answer::begun(&events[..1]));
    assert!(code != Some(0) && stderr.starts_with("model_unavailable: "), "{stderr}");
    let (code, _, stderr) = ask(Answer::stream(&["event: busy\ndata: {}\n\n"]));
    assert!(code != Some(0) && stderr.contains("the service is busy"), "{stderr}");
}
