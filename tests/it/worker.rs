//! Scripts in a worker process: their possible actions, and the denied ones.
#![expect(clippy::disallowed_methods, reason = "a test starts a worker by hand")]

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use nrv::{
    base::{
        call::Call,
        error::{Code, Error},
    },
    script::diagnostic,
    system::clock::Stopwatch,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::json;

use crate::support::script::{Script, limits, origin, program};

#[test]
fn a_worker_is_locked_down() {
    let worker = nrv::script::session::Worker::start(origin(&program()), &limits(), &|| None).unwrap();
    let isolation = worker.isolation();
    assert!(isolation.landlock && isolation.seccomp && isolation.missing.is_empty(), "{isolation:?}");
}

#[test]
fn a_worker_has_no_file_of_its_callers() {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" __worker 9>&2 2>/dev/null", crate::repository::nrv()]);
    let mut worker = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(writer).spawn().unwrap();
    // The command keeps its own copy of the pipe's end.
    drop(command);
    let hello = json!({"hello": {"limits": limits()}}).to_string() + "\n";
    worker.stdin.as_mut().unwrap().write_all(hello.as_bytes()).unwrap();
    let mut ready = String::new();
    BufReader::new(worker.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.contains("\"missing\":[]"), "{ready}");
    let mut ends = [PollFd::new(&reader, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut ends, Some(&at_once)).unwrap();
    assert_eq!(ends[0].revents(), PollFlags::HUP, "the worker holds a descriptor of its caller's");
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn a_program_that_is_no_worker_is_told() {
    let program = nrv::system::process::Program::Path("/bin/true".into());
    let error = nrv::script::session::Worker::start(origin(&program), &limits(), &|| None).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Code::ScriptCrashed);
    assert!(error.hint_text().unwrap().contains("main_if_requested"), "{error:?}");
}

#[test]
fn a_script_works_through_the_door() {
    let ran = Script::new("//! Doc.\nlet x = nrv.files.read(\"a\"); print(`${x} ${args.n}`); debug(1); #{ x: x, r: nrv.random.int(1, 6) }")
        .gives(&json!({"x": "files.read", "r": 1}));
    assert_eq!(ran.calls, ["files.read main.rhai:2:19 {\"path\":\"a\"}"]);
    assert_eq!(ran.printed, ["files.read 3", "1"]);
}

#[test]
fn a_stream_goes_through_the_door_and_is_closed() {
    let script = |text: &str| {
        Script::new(text).streams(|nth| match nth {
            1 => vec![json!({"type": "token", "text": "a"}), json!({"type": "token", "text": "b"})],
            _ => vec![json!({"type": "completed", "reply": {"text": "ab"}})],
        })
    };
    let asked = "llm.stream main.rhai:1:9 {\"max_tokens\":9,\"prompt\":\"x\"}";
    let text = "nrv.llm.stream(#{ prompt: \"x\", max_tokens: 9 }, |event| print(event.type)).text";
    let ran = script(text).gives(&json!("ab"));
    assert_eq!(
        (ran.calls, ran.printed.len()),
        (vec![asked.to_owned(), "next".into(), "next".into(), "close 3".into()], 3)
    );
    let text = "for event in nrv.llm.stream(#{ prompt: \"x\", max_tokens: 9 }) { nrv.ui.step(event.text); break; } 1";
    let ran = script(text).gives(&json!(1));
    assert_eq!(ran.calls[1..], ["next", "ui.step main.rhai:1:71 {\"label\":\"a\"}", "close 1"]);
}

#[test]
fn a_long_stream_takes_no_more_memory_than_a_short_one() {
    let text = "let n = 0; for event in nrv.llm.stream(#{ prompt: \"x\", max_tokens: 9 }) { n += 1; } n";
    let ran = Script::new(text).limit(|limits| limits.memory = 32 << 20).streams(|nth| match nth {
        1..=16 => vec![json!({"type": "token", "text": "x".repeat(16_000)}); 256],
        _ => vec![json!({"type": "completed", "reply": {}})],
    });
    assert_eq!(ran.gives(&json!(16 * 256 + 1)).calls.last().unwrap(), "close 4097");
}

#[test]
fn the_host_is_visible_in_functions_modules_and_closures() {
    let ran = Script::new(
        "import \"lib/m\" as m;\nfn f() { nrv.ui.step(\"f\") }\nf(); m::g(); [1].map(|x| nrv.ui.step(`c${args.n}`)); 1",
    )
    .file("lib/m.rhai", "import \"../n\" as n;\nfn g() { n::h(); let k = || nrv.ui.step(\"k\"); k.call() }")
    .file("n.rhai", "fn h() { nrv.ui.step(\"h\") }")
    .gives(&json!(1));
    assert_eq!(
        ran.calls,
        [
            "ui.step main.rhai:2:17 {\"label\":\"f\"}",
            "ui.step n.rhai:1:17 {\"label\":\"h\"}",
            "ui.step lib/m.rhai:2:36 {\"label\":\"k\"}",
            "ui.step main.rhai:3:33 {\"label\":\"c3\"}",
        ]
    );
}

/// The engine waits before it gives up, which has to be permitted.
#[test]
fn a_closure_that_uses_the_value_whose_method_calls_it_is_told_and_does_not_kill_the_process() {
    for text in ["let a = [1]; a.map(|x| x + a.len())", "let m = #{ a: [1], n: 2 }; m.a.map(|x| x + m.n)"] {
        let error = Script::new(text).fails(Code::ScriptFailed, "");
        assert!(error.hint_text().unwrap().contains("copy what it needs"), "{error:?}");
    }
}

#[test]
fn the_shipped_report_module_makes_rows() {
    let output = "#{ baseline: #{ links: 3 }, proposed_changes: #{ files: 2, links: 3 }, applied_changes: #{ files: 0 },\
                  verifier: #{ passed: true, checks: [\"hashes\"] } }";
    Script::new(&format!("import \"std/report\" as report;\nreport::summary({output})")).gives(&json!([
        {"what": "links", "baseline": 3, "proposed": 3, "applied": ""},
        {"what": "files", "baseline": "", "proposed": 2, "applied": 0},
        {"what": "verifier", "baseline": "", "proposed": "", "applied": "passed"},
    ]));
}

#[test]
fn two_runs_send_the_same_frames() {
    let text = "let f = |x| x; let m = #{ b: 1, a: 2 }; for k in m.keys() { nrv.ui.step(`${k} ${f}`); } fn z() {} fn a() {}\n\
                nrv.ui.show([f.name, nrv.random.shuffle([1, 2, 3, 4, 5, 6])]); 1";
    let (one, other) = (Script::new(text).run(), Script::new(text).run());
    assert_eq!((one.calls.len(), one.result), (3, other.result));
    assert_eq!(one.calls, other.calls);
}

#[test]
fn an_endless_loop_ends_at_its_operations() {
    for text in
        ["\nloop {}", "\nlet a = []; a.pad(1000, 1); loop { a.filter(|x| true); }", "\ntry { loop {} } catch {}"]
    {
        let error = Script::new(text).run().result.unwrap_err();
        assert_eq!(
            (error.code(), &error.details()["limit"]),
            (Code::ScriptLimit, &json!("script.limits.operations")),
            "{text}"
        );
        assert_eq!(error.location().unwrap().line, 2, "{text}");
    }
}

#[test]
fn endless_allocation_ends_the_worker_only() {
    for text in [
        "let s = \"x\"; nrv.ui.step(s); loop { s += s; }",
        "nrv.ui.step(\"\"); let a = [1]; loop { a += a; }",
        "nrv.ui.step(\"\"); let a = []; a.pad(9000000000000, 1);",
        "nrv.ui.step(\"\"); blob(9000000000000, 1)",
        "nrv.ui.step(\"\"); let f = |a| a; for i in 0..40 { f = f.curry(f); } 1",
    ] {
        let error = Script::new(text).limit(|limits| limits.memory = 64 << 20).run().result.unwrap_err();
        assert_eq!(error.code(), Code::ScriptCrashed, "{text}: {error:?}");
        assert!(error.message().contains("`main.rhai` ran out of memory"), "{text}: {error:?}");
        assert_eq!(error.location().unwrap().line, 1, "{text}");
        assert_eq!(error.details()["limit"], "script.limits.memory");
    }
}

#[test]
fn a_native_stack_overflow_ends_the_worker_only() {
    let text = "let f = |x| x; for i in 0..900000 { let g = f; f = |x| g.call(x); }\nnrv.ui.step(\"built\"); f = 1;";
    let error = Script::new(text)
        .limit(|limits| (limits.memory, limits.operations) = (1 << 30, 1 << 40))
        .run()
        .result
        .unwrap_err();
    assert_eq!(error.code(), Code::ScriptCrashed, "{error:?}");
    assert!(error.details()["stderr"].as_str().unwrap().contains("overflowed its stack"), "{error:?}");
    assert_eq!(error.location().unwrap().line, 2);
}

#[test]
fn a_deep_value_is_refused_or_stopped() {
    let deep = |depth: u32| format!("let a = []; for i in 0..{depth} {{ a = [a]; }}\n");
    let error = Script::new(&format!("{} nrv.ui.show(a)", deep(300))).fails(Code::InvalidInput, "main.rhai:2:9");
    assert!(error.message().contains("96 levels"), "{error}");
    Script::new(&deep(300).replace('\n', "\na")).fails(Code::ScriptFailed, "");
    Script::new(&format!("{} 7", deep(300))).gives(&json!(7));
    let error = Script::new(&deep(20_000)).limit(|limits| limits.cpu_s = 1).fails(Code::ScriptLimit, "");
    assert_eq!(error.details()["limit"], "script.limits.cpu_s");
}

#[test]
fn a_source_can_not_exhaust_the_parser() {
    let interpolated = (0..200).fold("1".to_owned(), |inner, _| format!("`${{{inner}}}`"));
    let switch: String = (0..20_000).map(|i| format!("{i} => {i},")).collect();
    let params: Vec<_> = (0..5_000).map(|i| format!("a{i}")).collect();
    for text in [
        format!("let x = {};", vec!["1"; 20_000].join("+")),
        format!("let x = {}true;", "!".repeat(20_000)),
        format!("{}1{}", "{".repeat(5_000), "}".repeat(5_000)),
        format!("let a = {}1{};", "[".repeat(5_000), "]".repeat(5_000)),
        format!("if false {{}} {}", "else if false {} ".repeat(20_000)),
        format!("let a = #{{}}; a{}", ".a".repeat(5_000)),
        format!("nrv{}", ".a".repeat(5_000)),
        interpolated,
        format!("switch 5 {{ {switch} _ => 0 }}"),
        format!("fn f({}) {{ 1 }} 1", params.join(",")),
        "fn".repeat(10_000),
    ] {
        if let Err(rejected) = Script::new(&text).load() {
            let codes: Vec<_> = rejected.errors.iter().map(Error::code).collect();
            assert!(codes.iter().all(|code| *code == Code::ScriptSyntax), "{}: {codes:?}", &text[..40]);
        }
    }
}

#[test]
fn a_flood_of_output_ends_at_its_operations() {
    let ran = Script::new("loop { print(\"x\"); }").limit(|limits| limits.operations = 10_000).run();
    assert_eq!(ran.result.unwrap_err().code(), Code::ScriptLimit);
    assert!(ran.printed.len() > 100);
}

#[test]
fn what_a_script_prints_is_bounded() {
    let large = "let s = \"\"; s.pad(1500000, \"é\");\n";
    let ran = Script::new(&format!("{large}print(s); 1")).gives(&json!(1));
    let (text, cut) = ran.printed[0].split_once('…').unwrap();
    assert_eq!((text.len(), cut), (1 << 20, " (1951424 more bytes)"));

    let ran = Script::new(&format!("{large}try {{ for i in 0..100 {{ print(s); }} }} catch {{}} 1")).run();
    let error = ran.result.unwrap_err();
    assert_eq!((error.code(), &error.details()["limit"]), (Code::ScriptLimit, &json!("output")), "{error:?}");
    assert_eq!((error.message(), ran.printed.len()), ("the script prints more than 16 MiB", 15));
    assert_eq!(error.location().unwrap().line, 2);
}

#[test]
fn recursion_ends_at_its_depth() {
    let error = Script::new("fn f(x) { f(x + 1) }\ntry { f(1) } catch { 1 }").fails(Code::ScriptLimit, "main.rhai:2:7");
    assert_eq!(error.details()["limit"], "script.limits.call_depth");
}

#[test]
fn sizes_are_bounded_when_asked() {
    for (text, limit) in [("let s = \"x\"; loop { s += s; }", "string"), ("let a = [1]; loop { a += a; }", "array")] {
        let script = Script::new(text).limit(|limits| (limits.string, limits.array) = (Some(1000), Some(1000)));
        let error = script.run().result.unwrap_err();
        assert_eq!(
            (error.code(), &error.details()["limit"]),
            (Code::ScriptLimit, &json!(format!("script.limits.{limit}")))
        );
    }
}

#[test]
fn a_literal_that_is_too_large_names_its_limit() {
    for (text, place, limit) in [
        ("1;\nlet s = \"123456789\";", "main.rhai:2:9", "string"),
        ("1;\nlet a = [1, 2, 3, 4, 5, 6];", "main.rhai:2:25", "array"),
        ("1;\nlet m = #{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 };", "main.rhai:2:45", "map"),
    ] {
        let script =
            Script::new(text).limit(|limits| (limits.string, limits.array, limits.map) = (Some(8), Some(5), Some(5)));
        let error = script.fails(Code::ScriptLimit, place);
        assert_eq!(error.details()["limit"], format!("script.limits.{limit}"), "{text}");
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_a_script() {
    let script = Script::new("\u{feff}//! Doc.\nimport \"m\" as m;\nm::f()").file("m.rhai", "\u{feff}fn f() { 5 }");
    script.gives(&json!(5));
    assert_eq!(script.load().unwrap().doc.as_deref(), Some("Doc."));
}

#[test]
fn imports_stay_in_the_workspace() {
    for (literal, code) in [
        ("/etc/passwd", Code::InvalidPath),
        ("../../x", Code::InvalidPath),
        ("std/nothing", Code::NotFound),
        ("nothing", Code::NotFound),
    ] {
        Script::new(&format!("1;\nimport \"{literal}\" as m;")).fails(code, "main.rhai:2:8");
    }
    Script::new("let p = \"x\";\nimport p + \"y\" as m;").fails(Code::ScriptSyntax, "main.rhai:2:1");
}

#[test]
fn a_circle_of_imports_is_shown() {
    let error = Script::new("import \"a\" as a;")
        .file("a.rhai", "import \"b\" as b;")
        .file("b.rhai", "1;\nimport \"a\" as a;")
        .fails(Code::ScriptSyntax, "b.rhai:2:8");
    assert_eq!(error.message(), "imports form a circle: `a.rhai` → `b.rhai` → `a.rhai`");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let script = Script::new(
        "import \"m\" as m;\nnrv.files.raed(1);\nlet nrv = 1;\nfn read(x) { x }\nconst WORKFLOW = #{ nmae: 1 };",
    )
    .file("m.rhai", "let x = ;");
    let rejected = script.load().unwrap_err();
    let told: Vec<_> = rejected
        .errors
        .iter()
        .map(|error| {
            let place = error.location().unwrap();
            format!("{}:{}:{} {}", place.path, place.line, place.column, error.message())
        })
        .collect();
    assert_eq!(
        told,
        [
            "main.rhai:2:11 `nrv.files.raed` does not exist",
            "main.rhai:3:5 `nrv` is the host's name and can't be redefined",
            "main.rhai:4:4 the function `read` would be called in place of `nrv.files.read`",
            "m.rhai:1:9 unexpected `;`",
            "main.rhai:5:21 `WORKFLOW` is wrong: the field `nmae` is unknown, did you mean `name`?",
        ]
    );
    let shown = diagnostic::render(&rejected.errors[0], &rejected.sources, |line| line.into(), false);
    assert!(
        shown.contains("2 | nrv.files.raed(1);\n  |           ^^^^\n") && shown.contains("did you mean `read`?"),
        "{shown}"
    );
}

#[test]
fn a_loaded_script_carries_its_graph() {
    let script = Script::new("//! Moves.\nconst WORKFLOW = #{ name: \"x\", permissions: #{ write: [\"a/**\"] } };\nimport \"lib/m\" as m;\nimport \"std/report\" as r;")
        .file("lib/m.rhai", "fn f() { 1 }");
    let loaded = script.load().unwrap();
    assert_eq!(loaded.doc.as_deref(), Some("Moves."));
    assert_eq!(loaded.header.ceiling.write, ["a/**"]);
    assert_eq!(loaded.sources.keys().collect::<Vec<_>>(), ["lib/m.rhai", "main.rhai", "nrv:std/report.rhai"]);
    assert_eq!(loaded.imports["main.rhai"]["lib/m"], "lib/m.rhai");
    assert_eq!(loaded.hashes["lib/m.rhai"], nrv::base::hash::Sha256::of(b"fn f() { 1 }"));
}

#[test]
fn a_final_error_can_not_be_caught() {
    let script = Script::new("\ntry { nrv.files.read(\"x\"); } catch { nrv.ui.step(\"on\"); } nrv.ui.step(\"on\");")
        .rule(|_| Err(Error::new(Code::Blocked, "a gate said no").detail("gate", "g").hint("ask")));
    let error = script.fails(Code::Blocked, "main.rhai:2:17");
    assert_eq!((error.hint_text(), &error.details()["gate"]), (Some("ask"), &json!("g")));
    assert_eq!(script.run().calls.len(), 1);
}

#[test]
fn another_error_can_be_caught() {
    Script::new("try { nrv.files.read(\"x\"); } catch (e) { return [e.code, e.script.line]; }")
        .rule(|_| Err(Error::new(Code::NotFound, "no such file")))
        .gives(&json!(["not_found", 1]));
}

#[test]
fn a_script_that_loops_can_be_cancelled() {
    let watch = Stopwatch::start();
    Script::new("loop {}").limit(|limits| limits.operations = u64::MAX).cancel_after(3).fails(Code::Cancelled, "");
    assert!(watch.elapsed_ms() < 2_000);
}

#[test]
fn a_script_in_native_code_is_killed() {
    let watch = Stopwatch::start();
    let text = "let a = []; for i in 0..20000 { a = [a]; }";
    Script::new(text).limit(|limits| limits.operations = u64::MAX).cancel_after(3).fails(Code::Cancelled, "");
    assert!(watch.elapsed_ms() < 4_000);
}

#[test]
fn large_replies_and_values_travel() {
    let script = Script::new("let t = nrv.files.read(\"big\"); nrv.ui.show(t); t.len").rule(|call| {
        Ok(match call {
            Call::FilesRead { .. } => json!("x".repeat(3 << 20)),
            Call::UiShow { value } => json!(value.as_str().unwrap().len()),
            _ => json!(null),
        })
    });
    script.gives(&json!(3 << 20));
}

/// Measures the cost of a host call; `--nocapture` shows it.
#[test]
fn a_host_call_is_cheap() {
    let watch = Stopwatch::start();
    let ran = Script::new("for i in 0..2000 { nrv.ui.step(\"x\"); } 1").gives(&json!(1));
    assert_eq!(ran.calls.len(), 2000);
    let took = watch.elapsed();
    assert!(took.as_micros() / 2000 < 2_000, "{took:?}");
}

/// Measures the cost of a stream's event, from the door to a function of the script.
#[test]
fn an_event_of_a_stream_is_cheap() {
    let text = "let n = 0; nrv.llm.stream(#{ prompt: \"x\", max_tokens: 9 }, |event| if event.type == \"token\" { n += 1; }); n";
    let script = Script::new(text).limit(|limits| limits.operations = 5_000_000).streams(|nth| match nth {
        1..=80 => vec![json!({"type": "token", "text": " word"}); 250],
        _ => vec![json!({"type": "completed", "reply": {}})],
    });
    let watch = Stopwatch::start();
    script.gives(&json!(20_000));
    let took = watch.elapsed();
    assert!(took.as_micros() / 20_000 < 1_000, "{took:?}");
}
