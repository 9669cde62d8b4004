//! Sessions: texts one after another in one worker, their proposals, and applying and rolling these back.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nrv::{
    Code, Context, Options, Workspace,
    base::{
        error::Error,
        frame::{CandidateKind, Completion},
        path::RepoPath,
    },
    host::{Answer, Event, Question, Sink, State},
    script::interactive::{Evaluated, Interactive, Start},
    system::clock::Stopwatch,
};
use serde_json::{Value, json};

use crate::support::{script::program, site::Site};

/// So few operations that an endless loop is stopped soon.
const FEW: &str = "[script.limits]\noperations = 300000\n";

/// A sink that answers every question alike, and remembers events and questions.
struct Person {
    answer: Answer,
    told: Vec<String>,
    asked: Vec<String>,
}

impl Person {
    fn who(answer: Answer) -> Self {
        Person { answer, told: Vec::new(), asked: Vec::new() }
    }
}

impl Sink for Person {
    fn event(&mut self, event: Event) {
        match event {
            Event::Print { text } | Event::Notice { text } => self.told.push(text),
            _ => {}
        }
    }

    fn ask(&mut self, question: &Question) -> Answer {
        self.asked.push(question.label.clone());
        self.answer
    }
}

fn context(site: &Site) -> Context {
    let options = Options { program: program(), ..Options::default() };
    Context::new(Workspace::open(&site.root()).unwrap(), options).unwrap()
}

fn dry(context: &Context) -> Interactive<'_> {
    Interactive::start(context, Start::default(), &mut Person::who(Answer::Yes)).unwrap()
}

fn evaluate(session: &mut Interactive<'_>, text: &str) -> Evaluated {
    session.evaluate(text, &mut Person::who(Answer::Yes)).unwrap()
}

#[track_caller]
fn gives(session: &mut Interactive<'_>, text: &str, expected: Value) {
    let evaluated = evaluate(session, text);
    assert_eq!(evaluated.error, None, "{text}");
    assert_eq!(evaluated.shown.unwrap().value, Some(expected), "{text}");
}

#[track_caller]
fn fails(session: &mut Interactive<'_>, text: &str, code: Code, place: Option<(&str, usize, usize)>) -> Error {
    let evaluated = evaluate(session, text);
    let error = evaluated.error.unwrap();
    assert_eq!(error.code(), code, "{text}: {error}");
    let found = error.location().map(|at| (at.path.as_str(), at.line, at.column));
    assert_eq!(found, place, "{text}: {error}");
    if let Some((name, ..)) = place {
        assert!(evaluated.sources.contains_key(name), "{:?}", evaluated.sources.keys());
    }
    error
}

#[test]
fn variables_functions_closures_and_imports_are_kept() {
    let site = Site::new(0);
    site.write("lib/x.rhai", "/// Doubles.\nfn twice(x) { x * 2 }\nexport const N = 7;\n");
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "let a = 20; const B = 1;", Value::Null);
    gives(&mut session, "fn add(x, y) { x + y }", Value::Null);
    gives(&mut session, "let f = |x| add(x, a);", Value::Null);
    gives(&mut session, "import \"lib/x\" as m;", Value::Null);
    gives(&mut session, "fn four(x) { m::twice(m::twice(x)) }", Value::Null);
    gives(&mut session, "[f.call(B), four(3), m::N]", json!([21, 12, 7]));
    gives(&mut session, "fn add(x, y) { x - y }", Value::Null);
    gives(&mut session, "f.call(B)", json!(-19));
    site.write("lib/x.rhai", "fn twice(x) { x * 20 }\n");
    gives(&mut session, "import \"lib/x\" as m; m::twice(1)", json!(20));
}

#[test]
fn an_error_ends_the_text_and_not_the_session() {
    let site = Site::new(0).policy(FEW);
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "fn boom(x) {\n  x.y.z\n}\nlet a = 1;", Value::Null);
    let error = fails(&mut session, "a = 2;\n  boom(#{})", Code::ScriptFailed, Some(("input-1", 2, 5)));
    assert!(error.message().contains("no field `y`"), "{error}");
    gives(&mut session, "a", json!(2));
    fails(&mut session, "nrv.files.raed(\"x\")", Code::ScriptSyntax, Some(("input-4", 1, 11)));
    fails(&mut session, "let b = 1;\nb +", Code::ScriptSyntax, Some(("input-5", 2, 4)));
    fails(&mut session, "\nnrv.files.read(\"nope\")", Code::NotFound, Some(("input-6", 2, 11)));
    let text = "try { nrv.files.read(\"nope\") } catch (e) { a = e.script.path + e.script.line; }";
    gives(&mut session, text, Value::Null);
    fails(&mut session, "nrv.gate.require(false, \"never\")", Code::Blocked, Some(("input-8", 1, 10)));
    fails(&mut session, "loop {}", Code::ScriptLimit, Some(("input-9", 1, 6)));
    fails(&mut session, "import \"nowhere\" as n;", Code::NotFound, Some(("input-10", 1, 8)));
    gives(&mut session, "a", json!("input-71"));
}

#[test]
fn a_text_is_whole_or_waits_for_more() {
    let site = Site::new(0);
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "let a = 1;", Value::Null);
    for text in
        ["fn f(x) {", "let x =", "[1, 2", "`a ${a}", "nrv.files.read(", "1 +", "/* so", "if a > 1 {\n  2\n} else"]
    {
        assert!(!session.parse(text).unwrap().complete, "{text}");
    }
    for text in ["", "a", "let x = 1", "fn f(x) { x }", "// so", "`a ${a} b`", "a\n"] {
        let parsed = session.parse(text).unwrap();
        assert!(parsed.complete && parsed.errors.is_empty(), "{text}: {:?}", parsed.errors);
    }
    for text in ["a b", "let x = \"a", "nrv.files.raed(1)", "unknown", "1 + )", "import a as b;"] {
        let parsed = session.parse(text).unwrap();
        assert!(parsed.complete && parsed.errors.len() == 1, "{text}: {:?}", parsed.errors);
        assert_eq!(parsed.errors[0].location().unwrap().path, "input-2");
    }
}

#[test]
fn what_is_proposed_is_seen_applied_and_rolled_back() {
    let site = Site::new(0);
    site.write("a.txt", "one\n");
    site.commit();
    let before = site.tree();
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "let n = 0;", Value::Null);
    evaluate(&mut session, "nrv.apply.write(\"a.txt\", \"two\\n\", nrv.files.sha256(\"a.txt\"));");
    evaluate(&mut session, "nrv.apply.create(\"b.txt\", nrv.files.read(\"a.txt\"));");
    gives(&mut session, "nrv.files.read(\"b.txt\")", json!("two\n"));
    assert_eq!((site.tree(), session.files()), (before.clone(), 2));
    let patch = String::from_utf8(session.diff().unwrap()).unwrap();
    assert!(patch.contains("-one\n+two\n") && patch.contains("+++ b/b.txt"), "{patch}");

    let mut person = Person::who(Answer::No);
    let refused = session.apply(&mut person).unwrap();
    assert_eq!((refused.error.unwrap().code(), person.asked.len()), (Code::Blocked, 1));
    assert_eq!((site.tree(), session.files()), (before.clone(), 2));

    let mut nobody = Person::who(Answer::Nobody);
    assert_eq!(session.apply(&mut nobody).unwrap().error.unwrap().code(), Code::Blocked);
    assert!(nobody.told.iter().any(|text| text.contains("the answer is no")), "{:?}", nobody.told);

    let dry_run = session.run().to_owned();
    let applied = session.apply(&mut Person::who(Answer::Yes)).unwrap();
    assert_eq!((applied.state, applied.files_changed), (State::Done, 2));
    assert_eq!((site.read("b.txt"), session.files()), (b"two\n".to_vec(), 0));
    assert_ne!(session.run(), dry_run);
    let run = json!(session.run());
    gives(&mut session, "n += 1; nrv.run.id", run);
    assert!(session.diff().unwrap().is_empty());
    let error = session.apply(&mut Person::who(Answer::Yes)).unwrap_err();
    assert_eq!(error.code(), Code::InvalidInput);

    let rolled = session.rollback(&mut Person::who(Answer::Yes)).unwrap();
    assert_eq!((rolled.parent, rolled.restored.len()), (applied.run, 2));
    assert_eq!(site.tree(), before);
    assert_eq!(session.rollback(&mut Person::who(Answer::Yes)).unwrap_err().code(), Code::InvalidInput);
    gives(&mut session, "n", json!(1));
    let finished = session.finish(&mut Person::who(Answer::Yes)).unwrap();
    assert_eq!((finished.state, finished.mode.as_str()), (State::Done, "dry-run"));
}

#[test]
fn a_session_that_applies_changes_at_once_and_takes_everything_back() {
    let site = Site::new(0).policy(FEW);
    let before = site.tree();
    let context = context(&site);
    let start = Start { apply: true, ..Start::default() };
    let mut session = Interactive::start(&context, start, &mut Person::who(Answer::Yes)).unwrap();
    evaluate(&mut session, "nrv.apply.create(\"b.txt\", \"x\\n\");");
    assert_eq!(site.read("b.txt"), b"x\n");
    evaluate(&mut session, "let h = nrv.files.sha256(\"b.txt\"); nrv.apply.write(\"b.txt\", \"y\\n\", h);");
    let patch = String::from_utf8(session.diff().unwrap()).unwrap();
    assert!(patch.contains("+y\n") && !patch.contains("+x"), "{patch}");
    assert_eq!(session.apply(&mut Person::who(Answer::Yes)).unwrap_err().code(), Code::InvalidInput);
    fails(
        &mut session,
        "nrv.attempt(|| { nrv.apply.create(\"c.txt\", \"\"); loop {} })",
        Code::ScriptLimit,
        Some(("input-3", 1, 5)),
    );
    assert!(!site.path("c.txt").exists());
    let parent = session.run().to_owned();
    let rolled = session.rollback(&mut Person::who(Answer::Yes)).unwrap();
    assert_eq!((rolled.parent, site.tree()), (parent, before));
    assert_eq!(session.rollback(&mut Person::who(Answer::Yes)).unwrap_err().code(), Code::InvalidInput);
    gives(&mut session, "h.len", json!(64));
    evaluate(&mut session, "nrv.apply.create(\"d.txt\", \"x\\n\");");
    let finished = session.finish(&mut Person::who(Answer::Yes)).unwrap();
    assert_eq!((finished.state, finished.files_changed), (State::Done, 1));
}

#[test]
fn a_confirmation_that_nobody_gives_is_refused_and_the_session_goes_on() {
    let site = Site::new(0);
    let context = context(&site);
    let start = Start { apply: true, ..Start::default() };
    let mut session = Interactive::start(&context, start, &mut Person::who(Answer::Yes)).unwrap();
    let mut nobody = Person::who(Answer::Nobody);
    let error = session.evaluate("nrv.gate.confirm(\"go?\", 1)", &mut nobody).unwrap().error.unwrap();
    assert_eq!(error.code(), Code::Blocked);
    assert!(nobody.told.iter().any(|text| text.contains("There is no person to confirm `go?`")), "{:?}", nobody.told);
    gives(&mut session, "1", json!(1));
}

/// A sink that stops what runs as soon as it prints.
struct Stopper(Arc<AtomicBool>);

impl Sink for Stopper {
    fn event(&mut self, event: Event) {
        if matches!(event, Event::Print { .. }) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn ask(&mut self, _: &Question) -> Answer {
        Answer::Nobody
    }
}

/// Runs a text and stops it when it prints.
fn stopped(context: &Context, session: &mut Interactive<'_>, text: &str) -> Evaluated {
    session.evaluate(text, &mut Stopper(Arc::clone(&context.options.cancel))).unwrap()
}

#[test]
fn a_wish_to_stop_ends_the_running_text_only() {
    let site = Site::new(0).policy("[script.limits]\noperations = 4000000000\n");
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "let a = 1;", Value::Null);
    let evaluated = stopped(&context, &mut session, "a = 2; loop { a += 1; if a == 9 { print(a); } }");
    let error = evaluated.error.unwrap();
    assert_eq!((error.code(), evaluated.lost), (Code::Cancelled, false), "{error}");
    gives(&mut session, "a > 2", json!(true));
    gives(&mut session, "nrv.files.exists(\"x\")", json!(false));
    let evaluated =
        stopped(&context, &mut session, "nrv.attempt(|| { nrv.apply.create(\"c\", \"\"); print(1); loop {} })");
    assert_eq!((evaluated.error.unwrap().code(), evaluated.lost, session.files()), (Code::Cancelled, false, 0));
    evaluate(&mut session, "nrv.apply.create(\"d\", \"\")");
    assert_eq!(session.files(), 1);
}

#[test]
fn a_worker_that_dies_takes_the_variables_along_and_says_so() {
    let site = Site::new(0).policy("[script.limits]\nmemory = \"64MiB\"\n");
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "let a = 1; fn f() { 1 }", Value::Null);
    let evaluated = evaluate(&mut session, "let b = [0]; loop { b += b; }");
    let error = evaluated.error.unwrap();
    assert_eq!((error.code(), evaluated.lost), (Code::ScriptCrashed, true), "{error}");
    assert!(error.hint_text().unwrap().contains("variables"), "{error:?}");
    fails(&mut session, "a", Code::ScriptSyntax, Some(("input-3", 1, 1)));
    gives(&mut session, "fn g(x) { x.y }", Value::Null);
    fails(&mut session, "\ng(#{})", Code::ScriptFailed, Some(("input-4", 1, 13)));
}

#[track_caller]
fn completes(session: &mut Interactive<'_>, text: &str, start: usize, expected: &[&str]) -> Completion {
    let completion = session.complete(text, text.len()).unwrap();
    let found: Vec<&str> = completion.candidates.iter().map(|one| one.text.as_str()).collect();
    assert_eq!((completion.start, found), (start, expected.to_vec()), "{text}");
    completion
}

#[test]
fn what_could_stand_at_a_place_is_known() {
    let site = Site::new(0);
    site.write("lib/x.rhai", "/// Doubles.\nfn twice(x) { x * 2 }\n");
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "let map = #{ alpha: #{ beta: [#{ gamma: 1 }] } }; let links = nrv.dta(\"x\");", Value::Null);
    gives(
        &mut session,
        "/// Adds.\nfn mapped(x) { x } import \"lib/x\" as module_x; let files = nrv.files;",
        Value::Null,
    );
    completes(&mut session, "nrv.files.r", 10, &["read"]);
    let read = completes(&mut session, "let y = nrv.files.re", 18, &["read"]);
    assert!(read.candidates[0].detail.starts_with("nrv.files.read(path"), "{read:?}");
    completes(&mut session, "nrv.fi", 4, &["files"]);
    completes(&mut session, "files.gr", 6, &["grep"]);
    completes(&mut session, "links.pro", 6, &["propose"]);
    completes(&mut session, "nrv.dta(\"x\").des", 13, &["describe"]);
    completes(&mut session, "map.al", 4, &["alpha"]);
    completes(&mut session, "map.alpha.beta[0].g", 18, &["gamma", "get"]);
    completes(&mut session, "\"a\" + map.alp", 10, &["alpha"]);
    completes(&mut session, "module_x::t", 10, &["twice"]);
    completes(&mut session, "mapp", 0, &["mapped"]);
    completes(&mut session, "nrv.apply.diff(#{ path: \"a\", che", 29, &["checksum"]);
    completes(&mut session, "nrv.apply.plan(#{ diffs: [#{ unified_diff_", 29, &["unified_diff_b64"]);
    completes(&mut session, "`a ${map.al", 9, &["alpha"]);
    let path = completes(&mut session, "nrv.files.read(\"si", 18, &[]);
    assert!(path.in_string && path.form.unwrap().starts_with("nrv.files.read("));
    let all = session.complete("", 0).unwrap().candidates;
    let variables = all.iter().filter(|one| one.kind == CandidateKind::Variable);
    let variables: Vec<_> = variables.map(|one| (one.text.as_str(), one.detail.as_str())).collect();
    let expected =
        [("args", "map"), ("files", "nrv.files"), ("links", "adapter"), ("map", "map of 1"), ("nrv", "host")];
    assert_eq!(variables, expected);
}

#[test]
fn completion_is_fast() {
    let site = Site::new(0);
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "let list = []; for n in 0..20000 { list.push(#{ n: n }); } list.len", json!(20000));
    session.complete("nrv.files.r", 11).unwrap();
    for text in ["nrv.files.r", "list.", "pri"] {
        let took = |session: &mut Interactive<'_>| {
            let watch = Stopwatch::start();
            session.complete(text, text.len()).unwrap();
            watch.elapsed()
        };
        // The machine may be busy with other things; twenty milliseconds of a release build are about this.
        let best = (0..5).map(|_| took(&mut session)).min().unwrap();
        assert!(best < Duration::from_millis(100), "{text}: {best:?}");
    }
}

#[test]
fn a_session_becomes_a_script_that_does_the_same() {
    let site = Site::new(0);
    site.write("a.txt", "one\n");
    site.commit();
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "fn up(x) { x }", Value::Null);
    gives(&mut session, "let text = nrv.files.read(\"a.txt\") // as it is", Value::Null);
    fails(&mut session, "nothing", Code::ScriptSyntax, Some(("input-3", 1, 1)));
    gives(&mut session, "/// Shouts.\nfn up(x) { x.to_upper() }", Value::Null);
    evaluate(&mut session, "nrv.apply.write(\"a.txt\", up(text), nrv.files.sha256(\"a.txt\"))");
    gives(&mut session, "nrv.files.read(\"a.txt\")", json!("ONE\n"));
    let script = session.script(&RepoPath::parse("shout.rhai").unwrap());
    let expected = "//! Made of a session.\n\nconst WORKFLOW = #{\n    name: \"shout\",\n    \
                    permissions: #{ write: [\"a.txt\"] },\n};\n\
                    \nlet text = nrv.files.read(\"a.txt\"); // as it is\n\
                    \n/// Shouts.\nfn up(x) { x.to_upper() }\n\
                    \nnrv.apply.write(\"a.txt\", up(text), nrv.files.sha256(\"a.txt\"));\n\
                    \nnrv.files.read(\"a.txt\")\n";
    assert_eq!(script, expected);
    drop(session);
    site.script("shout.rhai", &script);
    let ran = site.nrv(&["run", "shout.rhai", "--json"]).exits(0);
    assert_eq!(ran.json()["result"], "ONE\n");
    assert_eq!(site.read("a.txt"), b"ONE\n");
}

#[test]
fn a_script_can_be_loaded_and_its_functions_called() {
    let site = Site::new(0);
    site.write("tools/lib.rhai", "fn one() { 1 }\n");
    let text = "//! Doc.\nconst WORKFLOW = #{ name: \"x\" };\nimport \"lib\" as lib;\nfn two() { lib::one() + 1 }\nfn bad() {\n  1.x\n}\ntwo()\n";
    site.write("tools/x.rhai", text);
    let context = context(&site);
    let mut session = dry(&context);
    gives(&mut session, "let a = 1;", Value::Null);
    let path = RepoPath::parse("tools/x.rhai").unwrap();
    let loaded = session.load(&path, &mut Person::who(Answer::Yes)).unwrap();
    assert_eq!((loaded.error, loaded.shown.unwrap().value), (None, Some(json!(2))));
    gives(&mut session, "two() + a", json!(3));
    fails(&mut session, "bad()", Code::ScriptFailed, Some(("tools/x.rhai", 6, 5)));
    site.write("tools/args.rhai", "fn f(m) { m.x }\n\nlet n = args.name;\n");
    let loaded = session.load(&RepoPath::parse("tools/args.rhai").unwrap(), &mut Person::who(Answer::Yes)).unwrap();
    let hint = loaded.error.unwrap().hint_text().unwrap().to_owned();
    assert!(hint.contains("a session has no arguments"), "{hint}");
    for text in ["f(#{})", "let my_args = #{}; my_args.name"] {
        let error = evaluate(&mut session, text).error.unwrap();
        assert!(error.hint_text().unwrap().contains("get("), "{text}: {error:?}");
    }
    let script = session.script(&RepoPath::parse("y.rhai").unwrap());
    assert!(!script.contains("name: \"x\""), "{script}");
    let missing = session.load(&RepoPath::parse("nope.rhai").unwrap(), &mut Person::who(Answer::Yes)).unwrap();
    assert_eq!(missing.error.unwrap().code(), Code::NotFound);
}

#[test]
fn the_record_holds_the_texts_and_a_session_is_replayed_but_not_resumed() {
    let site = Site::new(0);
    let context = context(&site);
    let mut session = dry(&context);
    evaluate(&mut session, "let a = nrv.files.exists(\"x\");");
    evaluate(&mut session, "nrv.attempt(|| { nrv.files.exists(\"y\"); throw 1 });");
    fails(&mut session, "let key = \"AKIAIOSFODNN7EXAMPLZ\"; throw 7", Code::ScriptFailed, Some(("input-3", 1, 35)));
    session.reset(&mut Person::who(Answer::Yes)).unwrap();
    fails(&mut session, "a", Code::ScriptSyntax, Some(("input-1", 1, 1)));
    session.finish(&mut Person::who(Answer::Yes)).unwrap();
    let runs = context.runs.list().unwrap();
    let records = crate::support::record::lines(&context.runs.open(&runs[0]).unwrap().records().unwrap());
    let texts: Vec<_> = records.iter().filter(|one| one.kind == "input").map(|one| one.data["name"].clone()).collect();
    assert_eq!(texts, ["input-1", "input-2", "input-3"]);
    assert!(records.iter().any(|one| one.kind == "input_failed" && one.data["error"]["code"] == "script_failed"));
    assert!(!format!("{records:?}").contains("AKIAIOSFODNN7EXAMPLZ"));
    assert!(site.nrv(&["runs", "show", &runs[0]]).exits(0).stdout.contains("input-2"));
    site.nrv(&["runs", "verify", &runs[0]]).exits(0);
    site.nrv(&["replay", &runs[0]]).exits(0);
    let resumed = site.nrv(&["resume", &runs[0]]);
    assert_eq!(resumed.code, 1, "{resumed:?}");
}
