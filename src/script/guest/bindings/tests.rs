//! The registry against the engine: every call is sorted and documented. Its example is run by the tests of the reference.

mod llm;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::guest::{bindings, link::Link, run};
use base::{
    call,
    error::{Code, Error, Location},
    frame::{Limits, RunRequest},
};

/// The calls of a script, with their places.
type Asked = Arc<Mutex<Vec<(Option<Location>, call::Call)>>>;

/// A script's result and its calls.
type Ran = (Result<Value, Error>, Vec<(Option<Location>, call::Call)>);

/// A host that answers from one rule and remembers calls.
struct Fake {
    asked: Asked,
    answer: fn(&call::Call) -> Result<Value, Error>,
}

impl Link for Fake {
    fn open(&mut self, at: Option<Location>, call: call::Call) -> Result<u64, Error> {
        self.call(at, call).map(|_| 1)
    }

    fn next(&mut self, _stream: u64) -> Result<Vec<Value>, Error> {
        Ok(vec![json!({"type": "token", "text": "a"}), json!({"type": "completed", "reply": {"text": "a"}})])
    }

    fn close(&mut self, _stream: u64, _taken: u64) -> Result<(), Error> {
        Ok(())
    }

    fn call(&mut self, at: Option<Location>, call: call::Call) -> Result<Value, Error> {
        let answer = (self.answer)(&call);
        self.asked.lock().unwrap().push((at, call));
        answer
    }

    fn print(&mut self, _: &str) {}

    fn interrupted(&mut self) -> Option<Error> {
        None
    }
}

fn limits() -> Limits {
    let (string, array, map) = (None, None, None);
    Limits {
        operations: 1_000_000,
        memory: 1 << 30,
        cpu_s: 10,
        call_depth: 16,
        string,
        array,
        map,
        reply_bytes: 1 << 20,
    }
}

fn request(sources: &[(&str, &str)]) -> RunRequest {
    let text = |one: &(&str, &str)| (one.0.to_owned(), one.1.to_owned());
    let import = |one: &(&str, &str)| (one.0.trim_end_matches(".rhai").to_owned(), one.0.to_owned());
    let imports: std::collections::BTreeMap<_, _> = sources.iter().map(import).collect();
    RunRequest {
        main: sources[0].0.to_owned(),
        sources: sources.iter().map(text).collect(),
        imports: sources.iter().map(|one| (one.0.to_owned(), imports.clone())).collect(),
        args: json!({"n": 3, "deep": {"x": [1]}}),
        run: "r1".to_owned(),
        seed: 42,
        mode: "apply".to_owned(),
    }
}

fn generous(call: &call::Call) -> Result<Value, Error> {
    Ok(match call {
        call::Call::DtaList {} => json!([{"name": "link_updater"}]),
        call::Call::FilesExists { .. } => json!(true),
        call::Call::FilesGlob { .. } | call::Call::FilesGrep { .. } | call::Call::CodeFind(_) => json!(["a"]),
        call::Call::LlmCapabilities { .. } => json!({"models": {"tiny": {"tools": true}}}),
        call::Call::LlmComplete(_) => json!({"text": "[\"red\"]", "value": ["red"]}),
        call::Call::PromptCompose(_) => json!({"text": "# Goal\n", "sha256": "00"}),
        call::Call::FilesRead { .. } | call::Call::FilesSha256 { .. } => json!("text"),
        _ => json!({"size": 1}),
    })
}

fn script(text: &str) -> Ran {
    with(generous, &[("main.rhai", text)])
}

fn with(answer: fn(&call::Call) -> Result<Value, Error>, sources: &[(&str, &str)]) -> Ran {
    let asked = Asked::default();
    let result = run::run(&request(sources), &limits(), Box::new(Fake { asked: asked.clone(), answer })).0;
    let asked = asked.lock().unwrap().clone();
    (result, asked)
}

#[test]
fn a_field_that_is_not_there_is_named_with_the_way_to_ask_for_it() {
    for text in ["args.other", "nrv.llm.complete(#{ prompt: \"x\", max_tokens: 1 }).Label"] {
        let error = script(text).0.unwrap_err();
        let name = text.rsplit('.').next().unwrap();
        assert_eq!(error.message(), format!("the map has no field `{name}`"));
        assert!(error.hint_text().unwrap().contains(&format!("get(\"{name}\")")), "{error:?}");
    }
}

#[track_caller]
fn gives(text: &str, expected: &Value) {
    assert_eq!(script(text).0.as_ref(), Ok(expected), "{text}");
}

#[track_caller]
fn fails(text: &str, code: Code, place: (usize, usize), words: &str) -> Error {
    let error = script(text).0.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(
        error.location().map(|at| (at.path.as_str(), at.line, at.column)),
        Some(("main.rhai", place.0, place.1)),
        "{error}"
    );
    assert!(error.message().contains(words), "{error}");
    error
}

#[test]
fn the_registry_is_sorted_and_documented() {
    let names: Vec<_> = bindings::calls().map(|call| (call.receiver, call.name)).collect();
    for namespace in bindings::NAMESPACES {
        assert!(namespace.calls.is_sorted_by_key(|call| call.name), "{}", namespace.receiver);
        assert!(namespace.calls.iter().all(|call| call.receiver == namespace.receiver));
    }
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
    for call in bindings::calls() {
        assert!(call.doc.starts_with(' ') && call.doc.lines().next().unwrap().ends_with('.'), "{}", call.path());
    }
}

#[test]
fn every_example_uses_its_call() {
    for call in bindings::calls() {
        let example = call.example();
        assert!(example.contains(&format!(".{}", call.name)), "{}: {example:?}", call.path());
    }
}

#[test]
fn the_host_is_visible_everywhere() {
    let (result, asked) = with(
        generous,
        &[
            (
                "main.rhai",
                "import \"lib\" as l;\nfn f() { nrv.files.read(`f${args.n}`) }\nlet c = |x| nrv.files.read(x + args.n);\n\
                       f(); c.call(\"c\"); [1].map(|i| nrv.files.read(`m${i}`)); l::g(); l::h(); args.deep.x[0]",
            ),
            (
                "lib.rhai",
                "fn g() { p(); nrv.files.read(\"g\" + args.n) }\nprivate fn p() { nrv.files.read(\"p\") }\n\
                      fn h() { let k = || nrv.files.read(\"k\"); k.call() }\nnrv.files.read(\"top\");",
            ),
        ],
    );
    assert_eq!(result, Ok(json!(1)));
    let places: Vec<_> = asked
        .iter()
        .map(|(at, call)| {
            let call::Call::FilesRead { path } = call else { panic!("{call:?}") };
            let at = at.as_ref().unwrap();
            format!("{path} {}:{}:{}", at.path, at.line, at.column)
        })
        .collect();
    assert_eq!(
        places,
        [
            "top lib.rhai:4:11",
            "f3 main.rhai:2:20",
            "c3 main.rhai:3:23",
            "m1 main.rhai:4:41",
            "p lib.rhai:2:28",
            "g3 lib.rhai:1:25",
            "k lib.rhai:3:31",
        ]
    );
}

#[test]
fn errors_are_maps_that_can_be_caught_and_thrown_again() {
    fn stale(_: &call::Call) -> Result<Value, Error> {
        Err(Error::new(Code::StalePreimage, "`a` changed").detail("found", "x").hint("read it again"))
    }
    let (result, _) = with(stale, &[("main.rhai", "try { nrv.files.read(\"a\") } catch (e) { return e; }")]);
    let place = json!({"path": "main.rhai", "line": 1, "column": 17});
    let map = json!({"code": "stale_preimage", "message": "`a` changed", "details": {"found": "x"}, "hint": "read it again", "script": place});
    assert_eq!(result, Ok(map));
    for text in [
        "\nnrv.files.read(\"a\")",
        "\ntry { nrv.files.read(\"a\") } catch (e) { throw e; }",
        "\ntry { nrv.files.read(\"a\") } catch { throw; }",
        "fn f() {\nnrv.files.read(\"a\") }\n\n f()",
    ] {
        let error = with(stale, &[("main.rhai", text)]).0.unwrap_err();
        assert_eq!(
            (error.code(), error.message(), error.hint_text()),
            (Code::StalePreimage, "`a` changed", Some("read it again"))
        );
        assert_eq!(error.details()["found"], "x");
        assert_eq!(error.location().unwrap().line, 2, "{text}");
    }
}

#[test]
fn codes_can_not_be_forged() {
    for code in ["blocked", "budget_exhausted", "verification_failed", "nonsense"] {
        let text = format!("\n  throw #{{ code: \"{code}\", message: \"ha\" }}");
        fails(&text, Code::ScriptFailed, (2, 3), "ha");
    }
}

#[test]
fn a_final_error_can_not_be_caught_or_swallowed() {
    fn blocked(call: &call::Call) -> Result<Value, Error> {
        match call {
            call::Call::FilesRead { .. } => Err(Error::new(Code::Blocked, "no")),
            _ => Ok(Value::Null),
        }
    }
    for text in [
        "\ntry { nrv.files.read(\"a\"); } catch { } nrv.ui.step(\"on\");",
        "\ntry { [1].map(|x| nrv.files.read(\"a\")); } catch { } nrv.ui.step(\"on\");",
        "\nlet a = [1, 2, 3]; a.sort(|x, y| nrv.files.read(\"a\")); nrv.ui.step(\"on\");",
        "\ntry { import \"m\" as m; } catch { } nrv.ui.step(\"on\");",
        "\nfn f() { nrv.files.read(\"a\"); } try { f(); } catch { } try { f(); } catch { } nrv.ui.step(\"on\"); 1",
    ] {
        let (result, asked) = with(blocked, &[("main.rhai", text), ("m.rhai", "\nnrv.files.read(\"a\");")]);
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.location().unwrap().line), (Code::Blocked, 2), "{text}");
        assert_eq!(asked.len(), 1, "{text}");
    }
}

/// The names of a script's calls; the end of an attempt also says if it is kept.
fn names(asked: &[(Option<Location>, call::Call)]) -> Vec<String> {
    let name = |call: &call::Call| match call {
        call::Call::AttemptEnd { keep } => format!("{} {keep}", call.name()),
        other => other.name().to_owned(),
    };
    asked.iter().map(|(_, call)| name(call)).collect()
}

#[test]
fn an_attempt_is_two_calls_around_a_closure() {
    let check = |body: &str, kept: bool, value: Value, error: Value| {
        let (result, asked) = script(&format!("let n = 2; nrv.attempt(|| {{ nrv.ui.step(\"s\"); {body} }})"));
        assert_eq!(result, Ok(json!({"kept": kept, "value": value, "error": error})), "{body}");
        assert_eq!(names(&asked), ["attempt.begin", "ui.step", &format!("attempt.end {kept}")], "{body}");
    };
    check("", true, json!({"size": 1}), Value::Null);
    check("let m = 1;", true, Value::Null, Value::Null);
    check("n += 1; [n]", true, json!([3]), Value::Null);
    check("0", true, json!(0), Value::Null);
    check("n > 2", false, json!(false), Value::Null);
    check("return n == 2; false", true, json!(true), Value::Null);
    check("throw 5", false, Value::Null, json!(5));
    check("throw #{ code: \"blocked\" }", false, Value::Null, json!({"code": "blocked"}));
    gives("let n = 1; nrv.attempt(|| { n = 2; false }); n", &json!(2));
    gives("fn f() { nrv.attempt(|| throw args.n).error } f()", &json!(3));
    let place = json!({"path": "main.rhai", "line": 1, "column": 20});
    let error = json!({"code": "script_failed", "message": "division by zero: 1 / 0", "details": {}, "hint": null, "script": place});
    gives("nrv.attempt(|| { 1 / 0 }).error", &error);
}

#[test]
fn attempts_nest_and_an_error_goes_no_further_than_the_innermost() {
    let text = "nrv.attempt(|| { let i = nrv.attempt(|| { throw 1 }); if !i.kept { nrv.attempt(|| 2).value } else { 3 } }).value";
    let (result, asked) = script(text);
    assert_eq!(result, Ok(json!(2)));
    let ends = ["attempt.begin", "attempt.end false", "attempt.begin", "attempt.end true", "attempt.end true"];
    assert_eq!(names(&asked), [&["attempt.begin"][..], &ends].concat());
}

#[test]
fn what_ends_a_script_ends_it_in_an_attempt_too() {
    fn fails(call: &call::Call) -> Result<Value, Error> {
        match call {
            call::Call::FilesRead { path } if path == "blocked" => Err(Error::new(Code::Blocked, "no")),
            call::Call::FilesRead { .. } => Err(Error::new(Code::LockTimeout, "held")),
            call::Call::AttemptEnd { keep: false } => Err(Error::new(Code::UndoRefused, "changed")),
            _ => Ok(Value::Null),
        }
    }
    for (body, code, n_calls) in [
        ("nrv.files.read(\"blocked\")", Code::Blocked, 2),
        ("nrv.files.read(\"locked\")", Code::LockTimeout, 2),
        ("let e = (); try { nrv.files.read(\"locked\") } catch (x) { e = x; } throw e", Code::LockTimeout, 2),
        ("false", Code::UndoRefused, 2),
        ("fn_that_is_not()", Code::UndoRefused, 2),
        ("loop { }", Code::ScriptLimit, 1),
    ] {
        let text = format!("try {{ nrv.attempt(|| {{ {body} }}); }} catch {{ }} nrv.ui.step(\"on\");");
        let (result, asked) = with(fails, &[("main.rhai", &text)]);
        assert_eq!(result.unwrap_err().code(), code, "{body}");
        assert_eq!(asked.len(), n_calls, "{body}: {:?}", names(&asked));
    }
    // A closure may do something about a lock itself.
    let text = "nrv.attempt(|| { let n = 0; try { nrv.files.read(\"locked\"); } catch { n = 7; } n }).value";
    assert_eq!(with(fails, &[("main.rhai", text)]).0, Ok(json!(7)));
}

#[test]
fn errors_of_the_script_say_where() {
    fails("let a = 1;\n  nowhere(a)", Code::ScriptFailed, (2, 3), "`nowhere` does not exist");
    let error = fails("fn collect(x) { x } colect(1)", Code::ScriptFailed, (1, 21), "`colect` does not exist");
    assert_eq!(error.hint_text(), Some("did you mean `collect`?"));
    let error =
        fails("let d = [nrv.dta(\"x\")];\nd[0].propse(#{})", Code::ScriptFailed, (2, 6), "`propse` does not exist");
    assert_eq!(error.hint_text(), Some("did you mean `propose`?"));
    let error =
        fails("nrv.files.read(5)", Code::ScriptFailed, (1, 11), "`nrv.files.read` can't be called with an integer");
    assert_eq!(error.hint_text(), Some("its form is `nrv.files.read(path: string)`"));
    fails("1 / 0", Code::ScriptFailed, (1, 3), "division by zero");
    fails("let m = #{}; m.x", Code::ScriptFailed, (1, 16), "x");
    fails("throw \"oh\"", Code::ScriptFailed, (1, 1), "oh");
    fails("throw #{ a: 1 }", Code::ScriptFailed, (1, 1), "the script threw `{\"a\":1}`");
    fails("nrv.ui.show(|x| x)", Code::InvalidInput, (1, 8), "a function can't be written as JSON");
    fails("1 + #{}", Code::ScriptFailed, (1, 3), "`+` is not defined between an integer and a map");
    let error = script("|x| x").0.unwrap_err();
    assert!(error.message().contains("result can't be returned: a function"), "{error}");
}

#[test]
fn what_the_engine_refuses_is_told_in_words_of_scripts() {
    for (text, message, hint) in [
        ("[3, \"a\"].sort()", "elements of different types cannot be sorted", "list.sort(|a, b| …)"),
        ("let t = \"abc\"; t.find(\"b\")", "`find` can't be called with a string and a string", ""),
        ("\"12\".to_int()", "`to_int` can't be called with a string", ""),
        ("let t = \"a\"; t.replace(1, #{})", "`replace` can't be called with a string, an integer and a map", ""),
        ("let t = \"a\"; t.trim(1)", "`trim` can't be called with a string and an integer", ""),
        ("let t = \"a\"; t.trim().len", "the value before `.len` is `()`, which is nothing", "such as `trim`"),
        ("let t = \"a\"; t.trim().len()", "`len` can't be called with `()`", "such as `trim`"),
        ("\"a\".size", "a string has no property `size`", ""),
    ] {
        let error = script(text).0.unwrap_err();
        assert_eq!(error.message(), message, "{text}");
        assert!(error.hint_text().unwrap_or_default().contains(hint), "{text}: {error:?}");
    }
}

#[test]
fn errors_in_modules_carry_the_modules_path() {
    for (main, expected) in [
        ("import \"m\" as m;\nm::f(0)", ("m.rhai", 2)),
        ("import \"m\" as m;\n[0].map(|x| m::f(x))", ("m.rhai", 2)),
        ("import \"bad\" as m;", ("bad.rhai", 1)),
    ] {
        let sources = [("main.rhai", main), ("m.rhai", "fn f(x) {\n  1 / x\n}"), ("bad.rhai", "throw 1;")];
        let error = with(generous, &sources).0.unwrap_err();
        let place = error.location().unwrap();
        assert_eq!((place.path.as_str(), place.line), expected, "{main}: {error}");
    }
}

#[test]
fn limits_are_errors_that_name_them() {
    for (text, limit) in [
        ("loop { }", "operations"),
        ("let a = [1, 2, 3, 4]; loop { a.filter(|x| x > 9); }", "operations"),
        ("try { loop { } } catch { 1 }", "operations"),
        ("fn f(x) { f(x + 1) } try { f(0) } catch { 1 }", "call_depth"),
    ] {
        let error = script(text).0.unwrap_err();
        assert_eq!(error.code(), Code::ScriptLimit, "{text}");
        assert_eq!(error.details()["limit"], format!("script.limits.{limit}"), "{text}");
        assert!(error.location().is_some(), "{text}");
    }
}

#[test]
fn time_and_exit_do_not_exist() {
    for text in [
        "timestamp()",
        "sleep(1)",
        "sleep(0.5)",
        "Fn(\"sleep\").call(1)",
        "exit()",
        "exit(3)",
        "Fn(\"timestamp\").call()",
    ] {
        let error = script(text).0.unwrap_err();
        assert!(error.message().contains("clock") || error.message().contains("exit"), "{text}: {error}");
    }
    assert!(script("let e = \"eval\"; Fn(e).call(\"1\")").0.is_err());
}

#[test]
fn chance_comes_from_the_seed() {
    let text = "[nrv.random.int(1, 6), nrv.random.int(-9, 9), nrv.random.sample([1, 2, 3, 4], 2), nrv.random.shuffle([1, 2, 3, 4, 5])]";
    assert_eq!(script(text), script(text));
    gives("nrv.random.int(7, 7)", &json!(7));
    gives("let a = [1, 2, 3]; nrv.random.shuffle(a); a", &json!([1, 2, 3]));
    gives("nrv.random.int(-9223372036854775807 - 1, 9223372036854775807).type_of()", &json!("i64"));
    fails("nrv.random.int(2, 1)", Code::InvalidInput, (1, 12), "no integer from 2 to 1");
    fails("nrv.random.sample([1], 2)", Code::InvalidInput, (1, 12), "2 of 1 items");
}

#[test]
fn a_run_knows_itself() {
    gives("[nrv.run.id, nrv.run.seed, nrv.run.mode]", &json!(["r1", 42, "apply"]));
}

#[test]
fn arguments_stay_as_they_are() {
    for text in
        ["args.deep.x.push(2)", "fn f() { args.deep.x.push(2) } f()", "let f = || args.deep.x.push(2); f.call()"]
    {
        let error = script(text).0.unwrap_err();
        assert!(error.message().contains("constant"), "{text}: {error}");
    }
    gives("let a = args; a.deep.x.push(2); [a.deep.x, args.deep.x]", &json!([[1, 2], [1]]));
}

#[test]
fn a_closure_is_named_alike_in_every_run() {
    let text = "let f = |x| x + 1; let g = |x| x + 2; [`${f}`, f.name, g.name]";
    assert_eq!(script(text), script(text));
    assert!(script(text).0.is_ok());
}
