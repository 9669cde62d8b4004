//! Diffs from Rust: the toolkit, and the calls that the command line makes.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::process::Command;

use nrv::{
    Answer, Call, Code, Content, Context, Error, Event, Finished, Flags, Host, Options, Position, Question, Request,
    Silent, Sink, Toolkit, Workspace,
    base::{
        call::{Blob, LineEnds, NamedPatch, PlannedFile, Strategy},
        change::Stamp,
        diff::{self, Side},
        hash::Sha256,
        path::RepoPath,
    },
    face::toolkit,
    host::{Asked, Input},
    service::apply::{ApplyOptions, ApplyOutcome, ApplyStatus, ApplyStrategy},
};

use crate::support::site::Site;

const EDIT: &str = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-hello\n+world\n";

fn project() -> Site {
    let site = Site::new(0);
    site.write("src/main.rs", "hello\n");
    site.write("src/lib.rs", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    site.commit();
    site
}

fn workspace(site: &Site) -> Workspace {
    Workspace::open(&site.root()).unwrap()
}

fn kit(site: &Site) -> Toolkit {
    Toolkit::new(&workspace(site)).unwrap()
}

fn plan(diffs: &[(&str, Option<&str>, &str)]) -> toolkit::ApplyPlan {
    let diff = |(path, checksum, diff): &(&str, Option<&str>, &str)| toolkit::ScaffoldDiff {
        path: (*path).into(),
        checksum: checksum.map(str::to_owned),
        diff: (*diff).to_owned(),
    };
    toolkit::ApplyPlan { diffs: diffs.iter().map(diff).collect() }
}

/// A plan as a program writes it, with the path from a literal and the suffix as a literal.
#[test]
fn a_plan_is_applied_with_backups() -> Result<(), toolkit::ApplyError> {
    let site = project();
    let plan = toolkit::ApplyPlan {
        diffs: vec![toolkit::ScaffoldDiff { path: "src/main.rs".into(), checksum: None, diff: EDIT.into() }],
    };
    let outcomes = kit(&site).apply_plan(&plan, ApplyStrategy::WriteBackup { backup_suffix: ".bak" })?;
    let [ApplyOutcome { path, status, written, backup, .. }] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!((path.as_str(), *status, *written), ("src/main.rs", ApplyStatus::Applied, true));
    assert_eq!(backup.as_ref().map(RepoPath::as_str), Some("src/main.rs.bak"));
    assert_eq!((site.read("src/main.rs"), site.read("src/main.rs.bak")), (b"world\n".to_vec(), b"hello\n".to_vec()));
    let run = site.runs().pop().unwrap();
    assert_eq!((&run["subject"], &run["mode"]), (&"apply a plan".into(), &"apply".into()));
    site.last_ended("done");
    Ok(())
}

/// The current folder belongs to the whole process, so that this one starts itself again in another.
#[test]
fn the_free_function_works_on_the_current_folder() {
    const INSIDE: &str = "NRV_TEST_INSIDE_A_PROJECT";
    if std::env::var_os(INSIDE).is_some() {
        toolkit::apply_plan(&plan(&[("src/main.rs", None, EDIT)]), ApplyStrategy::Write).unwrap();
    } else {
        let site = project();
        let name = "toolkit::the_free_function_works_on_the_current_folder";
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = site.tame(&mut again).env(INSIDE, "1").args(["--exact", name]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(site.read("src/main.rs"), b"world\n");
    }
}

#[test]
fn a_dry_run_refuses_what_writing_refuses_and_leaves_a_patch() {
    let site = project();
    let before = site.tree();
    let right = Sha256::of(b"hello\n").to_string();
    let wrong = "0".repeat(64);
    let kit = kit(&site);
    for (diffs, expected) in [
        (plan(&[("src/main.rs", Some(&right), EDIT)]), None),
        (plan(&[("src/main.rs", Some(&wrong), EDIT)]), Some(Code::StalePreimage)),
        (plan(&[("src/main.rs", Some(&right), EDIT), ("src/main.rs", Some(&right), EDIT)]), Some(Code::StalePreimage)),
        (plan(&[("src/main.rs", None, EDIT), ("src/main.rs", None, EDIT)]), Some(Code::PatchRejected)),
        (plan(&[("../main.rs", None, EDIT)]), Some(Code::InvalidPath)),
    ] {
        let dry = kit.apply_plan(&diffs, ApplyStrategy::DryRun);
        assert_eq!(dry.as_ref().err().map(Error::code), expected);
        assert!(site.tree() == before);
        let Some(code) = expected else {
            assert!(dry.unwrap().iter().all(|outcome| outcome.status == ApplyStatus::Applied && !outcome.written));
            site.git(&["apply", "--check", &site.last_run().join("artifacts/run.patch").display().to_string()]);
            continue;
        };
        let error = kit.apply_plan(&diffs, ApplyStrategy::Write).unwrap_err();
        assert_eq!((error.code(), error.message()), (code, dry.unwrap_err().message()));
        assert!(site.tree() == before);
    }
}

#[test]
fn the_policy_of_the_workspace_holds_for_programs() {
    let site = project().policy("[paths]\nwrite = ['docs/**']\n[confirm]\nmode = 'never'\n");
    let before = site.tree();
    let error = kit(&site).apply_plan(&plan(&[("src/main.rs", None, EDIT)]), ApplyStrategy::Write).unwrap_err();
    assert_eq!(error.code(), Code::PermissionDenied);
    assert!(site.tree() == before);
    // A program's own call is the decision: no person is asked.
    let new = "--- /dev/null\n+++ b/docs/x.md\n@@ -0,0 +1 @@\n+x\n";
    kit(&site).apply_plan(&plan(&[("docs/x.md", None, new)]), ApplyStrategy::Write).unwrap();
}

const PATCH: &str = "From 0000 Mon Sep 17 00:00:00 2001\nSubject: two files\n\n\
    diff --git a/src/main.rs b/src/main.rs\n--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1 +1 @@\n-hello\n+world\n\
    diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -2,3 +2,3 @@\n 3\n-4\n+four\n 5\n";

#[test]
fn a_patch_of_several_files_is_applied_and_taken_back() {
    let site = project();
    let before = site.tree();
    let write = ApplyOptions { strategy: ApplyStrategy::Write, ..ApplyOptions::default() };
    let outcomes = kit(&site).apply_patch(PATCH.as_bytes(), &write).unwrap();
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes[0].warnings.iter().any(|warning| warning.contains("skipped")), "{outcomes:#?}");
    assert_eq!(outcomes[1].hunks[0].offset, 1);
    assert_eq!(site.read("src/lib.rs"), b"1\n2\n3\nfour\n5\n6\n7\n8\n9\n");
    let strict = ApplyOptions { strict: true, reverse: true, ..write };
    assert_eq!(kit(&site).apply_patch(PATCH.as_bytes(), &strict).unwrap_err().code(), Code::InvalidInput);
    let back = ApplyOptions { reverse: true, ..write };
    kit(&site).apply_patch(PATCH.as_bytes(), &back).unwrap();
    assert!(site.tree() == before);
    let one = ApplyOptions { strip: Some(0), ..write };
    assert_eq!(kit(&site).apply_patch(PATCH.as_bytes(), &one).unwrap_err().code(), Code::InvalidInput);
}

/// Patches of git for edits, moves and copies all at once, forwards and back: copies come after changes of their source.
#[test]
fn patches_of_git_with_moves_and_copies_make_the_tree_that_git_saw() {
    const NAMES: [&str; 5] = ["a.txt", "b.txt", "d/c.txt", "d/e f.txt", "ü.txt"];
    let site = Site::new(0);
    let write = ApplyOptions { strategy: ApplyStrategy::Write, strip: Some(1), ..ApplyOptions::default() };
    let (mut state, mut copies) = (7_u64, 0);
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    for _ in 0..25 {
        for (number, name) in NAMES.iter().enumerate() {
            site.write(name, (0..12).map(|line| format!("{number} {line} {}\n", below(3))).collect::<String>());
        }
        site.commit();
        let before = site.tree();
        for _ in 0..3 {
            let (from, to) = (NAMES[below(3)], NAMES[below(5)]);
            let text = String::from_utf8(site.read(from)).unwrap();
            match below(3) {
                0 => site.write(from, text.replacen(" 1\n", " one\n", 1 + below(2))),
                1 => site.write(&format!("copy of {from}"), text),
                _ => site.write(to, text),
            }
        }
        site.git(&["add", "-A"]);
        let patch = site.git(&["diff", "--cached", "-M", "-C", "--find-copies-harder"]);
        let after = site.tree();
        site.git(&["reset", "-q", "--hard"]);
        assert!(site.tree() == before);
        if patch.is_empty() {
            continue;
        }
        copies += patch.matches("\ncopy from ").count();
        kit(&site).apply_patch(patch.as_bytes(), &write).unwrap_or_else(|error| panic!("{error}\n{patch}"));
        assert!(site.tree() == after, "{patch}");
        if !patch.contains("\ncopy from ") {
            site.commit();
            kit(&site).apply_patch(patch.as_bytes(), &ApplyOptions { reverse: true, ..write }).unwrap();
            assert!(site.tree() == before, "{patch}");
        }
        site.git(&["add", "-A"]);
        site.git(&["reset", "-q", "--hard"]);
    }
    assert!(copies > 5, "git saw {copies} copies");
}

/// Answers every question alike and remembers it.
struct Person {
    answer: Answer,
    asked: Vec<Question>,
}

impl Sink for Person {
    fn event(&mut self, _: Event) {}

    fn ask(&mut self, question: &Question) -> Answer {
        self.asked.push(question.clone());
        self.answer
    }
}

/// Makes one call in a run of the command line.
fn perform(site: &Site, call: Call, flags: Flags, sink: &mut dyn Sink) -> Finished {
    let context = Context::new(workspace(site), Options::default()).unwrap();
    let input = Input { name: "plan.json".to_owned(), sha256: Sha256::of(b"") };
    let asked = match &call {
        Call::ApplyPlanned { .. } => Asked::Planned { plan: input },
        _ => Asked::Patch { inputs: vec![input] },
    };
    let flags = Flags { allow_dirty: true, ..flags };
    let mut host = Host::start(&context, Request::apply(&context, asked, &call, flags), sink).unwrap();
    let outcome = host.perform(&Position::nth(1), call, sink);
    host.finish(outcome, &mut Silent).unwrap()
}

fn patch() -> Call {
    Call::ApplyPatch {
        patches: vec![NamedPatch { name: "x.patch".to_owned(), diff: Blob::Text(PATCH.to_owned()) }],
        strip: Some(1),
        reverse: false,
        recount: false,
        strict: false,
        strategy: Strategy::Write,
        line_ends: LineEnds::Diff,
    }
}

#[test]
fn a_person_confirms_what_the_command_line_applies() {
    let site = project();
    let before = site.tree();
    for (answer, code) in [(Answer::No, Code::Blocked), (Answer::Nobody, Code::Suspended)] {
        let mut person = Person { answer, asked: Vec::new() };
        let finished = perform(&site, patch(), Flags::default(), &mut person);
        assert_eq!(finished.error.unwrap().code(), code);
        assert!(site.tree() == before);
        let [question] = &person.asked[..] else { panic!("{:?}", person.asked) };
        assert_eq!((question.label.as_str(), question.files.len()), ("apply", 2));
        assert!(String::from_utf8_lossy(&question.patch).contains("+four"));
    }
    let dry = perform(&site, patch(), Flags { dry_run: true, ..Flags::default() }, &mut Silent);
    assert_eq!((dry.would_ask.len(), dry.files_changed), (1, 2));
    assert!(site.tree() == before);
    let mut person = Person { answer: Answer::Yes, asked: Vec::new() };
    assert_eq!(perform(&site, patch(), Flags::default(), &mut person).error, None);
    assert!(site.tree() != before);
    assert_eq!(site.runs().pop().unwrap()["subject"], "apply plan.json");
}

#[test]
fn a_policy_may_grant_what_the_command_line_applies() {
    let site = project().policy("[confirm]\nmode = 'policy'\nauto = ['apply']\n");
    assert_eq!(perform(&site, patch(), Flags::default(), &mut Silent).error, None);
}

/// A planned file, from texts with modes.
fn planned(path: &str, before: Option<(&str, u32)>, after: Option<(&str, u32)>) -> PlannedFile {
    let content = |(text, mode): (&str, u32)| Content::new(text.into(), mode);
    let (before, after) = (before.map(content), after.map(content));
    let side = |content| Option::as_ref(content).map(Side::from);
    let (bytes, _) = diff::render(&RepoPath::parse(path).unwrap(), side(&before), side(&after)).unwrap();
    let stamp = |content: Option<Content>| content.map(|content| content.stamp());
    PlannedFile { path: path.to_owned(), before: stamp(before), after: stamp(after), diff: Blob::new(bytes) }
}

fn files() -> Vec<PlannedFile> {
    vec![
        planned("src/main.rs", Some(("hello\n", 0o644)), Some(("bye\n", 0o755))),
        planned("src/new.rs", None, Some(("new\n", 0o600))),
        planned("src/lib.rs", Some(("1\n2\n3\n4\n5\n6\n7\n8\n9\n", 0o644)), None),
    ]
}

const YES: Flags = Flags { dry_run: false, yes: true, keep: false, allow_dirty: false };

#[test]
fn what_was_planned_is_made_to_the_bit() {
    let site = project();
    let finished = perform(&site, Call::ApplyPlanned { files: files() }, YES, &mut Silent);
    assert_eq!((finished.error, finished.files_changed), (None, 3));
    let tree = site.tree();
    assert_eq!(tree["src/main.rs"], ('f', 0o755, b"bye\n".to_vec()));
    assert_eq!(tree["src/new.rs"], ('f', 0o600, b"new\n".to_vec()));
    assert!(!tree.contains_key("src/lib.rs"));
}

#[test]
fn every_file_that_changed_since_the_plan_is_named() {
    let site = project();
    for (index, name) in ["src/main.rs", "src/new.rs", "src/lib.rs"].into_iter().enumerate() {
        site.write(name, format!("edited {index}\n"));
    }
    let before = site.tree();
    let finished = perform(&site, Call::ApplyPlanned { files: files() }, YES, &mut Silent);
    let error = finished.error.unwrap();
    assert_eq!((error.code(), error.code().exit_code()), (Code::StalePreimage, 5));
    assert_eq!(error.message(), "`src/main.rs`, `src/new.rs`, `src/lib.rs` changed since the plan was made");
    assert_eq!(error.details()["files"].as_array().unwrap().len(), 3);
    assert!(site.tree() == before);
    let many: Vec<_> = (0..9).map(|n| planned(&format!("n{n}"), Some(("x\n", 0o644)), Some(("y\n", 0o644)))).collect();
    let error = perform(&site, Call::ApplyPlanned { files: many }, YES, &mut Silent).error.unwrap();
    assert!(error.message().ends_with("`n4` and 4 more changed since the plan was made"), "{error}");
}

#[test]
fn an_edited_plan_is_refused() {
    let site = project();
    let before = site.tree();
    let edits: [fn(&mut PlannedFile); 6] = [
        |file| file.diff = Blob::Text(String::new()),
        |file| file.diff = Blob::Text("no diff\n".to_owned()),
        |file| file.after = None,
        |file| file.after.as_mut().unwrap().sha256 = Sha256::of(b""),
        |file| file.after.as_mut().unwrap().mode = 0o4755,
        |file| {
            let Blob::Text(text) = &file.diff else { panic!() };
            file.diff = Blob::Text(text.replace("src/main.rs", "src/other.rs"));
        },
    ];
    for edit in edits {
        let mut files = files();
        edit(&mut files[0]);
        let error = perform(&site, Call::ApplyPlanned { files }, YES, &mut Silent).error.unwrap();
        assert_eq!(error.code(), Code::RecordDamaged, "{error}");
        assert!(site.tree() == before);
    }
    let git = planned(".git/hooks/x", None, Some(("x\n", 0o755)));
    let error = perform(&site, Call::ApplyPlanned { files: vec![git] }, YES, &mut Silent).error.unwrap();
    assert_eq!(error.code(), Code::ProtectedPath);
    let stamp = Stamp { sha256: Sha256::of(b"hello\n"), mode: 0o644, length: 6 };
    assert_eq!(files()[0].before, Some(stamp));
}
