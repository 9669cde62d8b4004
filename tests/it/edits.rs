//! Micro-edits through the door: scripts, the command line, gates, records, and rollbacks of single edits.
//!
//! The long tier makes 300 random edits of real code in place of 20.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::collections::{BTreeMap, BTreeSet};

use nrv::{
    Call, Code, Context, Flags, Host, Options, Positions, Request, Silent, State, Workspace,
    edit::{Edit, Find, Handle, Kind, Tool},
    host,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{chance::Chance, corpora, long, site::Site};

const CARD: &str = "export const Card = () => (\n  <p className=\"lead p-2\" title=\"Hi\">Hello</p>\n);\n";

fn project() -> Site {
    let site = Site::empty();
    site.write("src/Card.tsx", CARD);
    site.write("src/card.css", ".lead { color: red; }\n");
    site.git(&["init", "-q", "-b", "main"]);
    site.commit();
    site
}

fn script(site: &Site, body: &str) {
    site.script(
        "t.rhai",
        &format!("const WORKFLOW = #{{ name: \"t\", permissions: #{{ write: [\"src/**\"] }} }};\n{body}\n"),
    );
}

#[test]
fn a_script_finds_and_edits() {
    let site = project();
    script(
        &site,
        "let found = nrv.edit.find(#{ kind: \"class\", glob: \"src/*\", name: \"p-2\" });
         let first = nrv.edit.update_class_name(found[0], \"p-2\", \"p-4\");
         nrv.edit.update_text_content(first.target.path + \":2\", \"Hello\", \"Welcome\");
         nrv.edit.make(\"updateStyleValue\", #{ filePath: \"src/card.css\", selector: \".lead\", property: \"color\", oldValue: \"red\", newValue: \"blue\" });
         [found.len(), first.status, first.line, first.column]",
    );
    let ran = site.nrv(&["run", "t.rhai", "--json"]).exits(0).json();
    assert_eq!(ran["result"], json!([1, "applied", 2, 22]));
    let card = CARD.replace("p-2", "p-4").replace("Hello", "Welcome");
    assert_eq!(String::from_utf8(site.read("src/Card.tsx")).unwrap(), card);
    assert_eq!(site.read("src/card.css"), b".lead { color: blue; }\n");
    site.nrv(&["replay", "last"]).exits(0);
    site.nrv(&["runs", "verify", "last"]).exits(0);
    // A later edit of other words on the line is not in the way.
    site.nrv(&["rollback", "last", "--position", "2"]).exits(0);
    assert_eq!(String::from_utf8(site.read("src/Card.tsx")).unwrap(), CARD.replace("Hello", "Welcome"));
    site.nrv(&["rollback", "last"]).exits(0);
    assert_eq!(site.read("src/Card.tsx"), CARD.as_bytes());
}

#[test]
fn what_remains_of_a_run_is_rolled_back_after_one_position() {
    let site = project();
    script(
        &site,
        "nrv.edit.update_class_name(\"src/Card.tsx:2\", \"p-2\", \"p-4\");
         nrv.edit.make(\"updateStyleValue\", #{ filePath: \"src/card.css\", selector: \".lead\", property: \"color\", oldValue: \"red\", newValue: \"blue\" });
         nrv.edit.make(\"updateStyleValue\", #{ filePath: \"src/card.css\", selector: \".lead\", property: \"color\", oldValue: \"blue\", newValue: \"green\" });",
    );
    let before = site.tree();
    // One line is changed twice, which an evaluator objects to; the changes stay.
    let run = site.nrv(&["run", "t.rhai", "--json"]).exits(4).json()["run"].as_str().unwrap().to_owned();
    let positions: Vec<String> = site.nrv(&["rollback", &run, "--position", "9", "--json"]).json()["finished"]["error"]
        ["details"]["positions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| at.as_str().unwrap().to_owned())
        .collect();
    site.nrv(&["rollback", &run, "--position", &positions[2]]).exits(0);
    assert_eq!(site.read("src/card.css"), b".lead { color: blue; }\n");
    // Somebody else's change is not lost.
    site.write("src/card.css", ".lead { color: pink; }\n");
    site.nrv(&["rollback", &run]).exits(5).says("src/card.css");
    site.write("src/card.css", ".lead { color: blue; }\n");
    site.nrv(&["rollback", &run, "--position", &positions[1]]).exits(0);
    let shown = site.nrv(&["rollback", &run, "--dry-run", "--json"]).exits(0).json();
    assert_eq!(shown["restored"], json!(["src/Card.tsx"]));
    site.nrv(&["rollback", &run]).exits(0);
    assert!(site.tree() == before);
    site.nrv(&["rollback", &run]).exits(0).says("already");
    site.nrv(&["runs", "verify", "last"]).exits(0);
}

#[test]
fn edits_of_one_line_are_undone_in_any_order() {
    const PAGE: &str = "<p id=\"i\" class=\"a b c\">One</p>\r\n<p>Two</p>";
    for order in [["1", "2", "3", "4"], ["4", "3", "2", "1"], ["2", "4", "1", "3"], ["3", "1", "4", "2"]] {
        let site = project();
        site.write("src/page.html", PAGE);
        site.commit();
        script(
            &site,
            "nrv.edit.update_class_name(\"src/page.html:1\", \"b\", \"y\");
             nrv.edit.update_class_name(\"src/page.html:1\", \"a\", \"x w\");
             nrv.edit.add_aria_attribute(\"src/page.html:1\", \"p\", \"aria-label\", \"L\");
             nrv.edit.update_text_content(\"src/page.html:1\", \"One\", \"First\");",
        );
        let run = site.nrv(&["run", "t.rhai", "--keep", "--json"]).json()["run"].as_str().unwrap().to_owned();
        let edited = "<p aria-label=\"L\" id=\"i\" class=\"x w y c\">First</p>\r\n<p>Two</p>";
        assert_eq!(String::from_utf8(site.read("src/page.html")).unwrap(), edited);
        for position in order {
            site.nrv(&["rollback", &run, "--position", position]).exits(0);
        }
        assert_eq!(String::from_utf8(site.read("src/page.html")).unwrap(), PAGE, "{order:?}");
    }
}

#[test]
fn an_edit_of_the_same_words_is_in_the_way() {
    let site = project();
    script(
        &site,
        "nrv.edit.update_class_name(\"src/Card.tsx:2\", \"p-2\", \"p-4\");
         nrv.edit.update_class_name(\"src/Card.tsx:2\", \"p-4\", \"p-4 m-4\");",
    );
    let run = site.nrv(&["run", "t.rhai", "--keep", "--json"]).json()["run"].as_str().unwrap().to_owned();
    let after = site.read("src/Card.tsx");
    site.nrv(&["rollback", &run, "--position", "1"]).exits(5).says("changed at position 2 in the same place");
    assert_eq!(site.read("src/Card.tsx"), after);
}

#[test]
fn a_value_that_browsers_run_is_made_with_a_warning() {
    let site = project();
    site.write("src/page.html", "<a href=\"/x\" onclick=\"a()\">One</a>\n");
    site.commit();
    let edit = |name: &str, old: &str, new: &str, more: &[&str]| {
        let path = ["edit", "update_prop_value", "--path", "src/page.html", "--line", "1", "--yes", "--allow-dirty"];
        site.nrv(&[&path[..], &["--name", name, "--old", old, "--new", new], more].concat()).exits(0)
    };
    edit("onclick", "a()", "b()", &[]).says("warning: src/page.html: `onclick` is an event handler");
    edit("href", "/x", "javascript:c()", &[]).says("run as a program: `javascript:`");
    let outcome = edit("href", "javascript:c()", "&#106;avascript:d()", &["--json"]).json();
    assert_eq!(outcome["result"]["warnings"].as_array().map(Vec::len), Some(1), "{outcome:#}");
    assert!(edit("href", "&#106;avascript:d()", "/y", &["--json"]).json()["result"].get("warnings").is_none());
}

#[test]
fn a_dry_run_shows_edits_to_later_edits_and_writes_nothing() {
    let site = project();
    script(
        &site,
        "nrv.edit.update_class_name(\"src/Card.tsx:2\", \"p-2\", \"p-4\");
         nrv.edit.update_class_name(\"src/Card.tsx:2\", \"p-4\", \"p-6\").written",
    );
    let ran = site.nrv(&["run", "t.rhai", "--dry-run", "--json"]).exits(0).json();
    assert_eq!((&ran["result"], &ran["files_changed"]), (&json!(false), &json!(1)));
    assert_eq!(site.read("src/Card.tsx"), CARD.as_bytes());
    let patch = String::from_utf8(site.read(ran["patch"].as_str().unwrap())).unwrap();
    assert!(patch.contains("+  <p className=\"lead p-6\""), "{patch}");
}

#[test]
fn the_command_line_edits_asks_and_names_near_misses() {
    let site = project();
    let edit = ["edit", "update_class_name", "--path", "src/Card.tsx", "--old", "p-2", "--new", "p-4"];
    let with = |more: &[&'static str]| [&edit[..], more].concat();
    site.nrv(&with(&["--line", "2"])).exits(7);
    let resumed = site.nrv(&["resume", "last", "--approve", "c1"]).exits(0);
    assert!(resumed.stdout.contains("p-2 → p-4"), "{resumed:?}");
    assert_eq!(String::from_utf8(site.read("src/Card.tsx")).unwrap(), CARD.replace("p-2", "p-4"));
    site.nrv(&["rollback", "last"]).exits(0);
    site.nrv(&with(&["--line", "1", "--yes"])).exits(5).says("src/Card.tsx:2:22 class: p-2");
    site.nrv(&with(&["--line", "1", "--relocate", "--dry-run", "--yes"])).exits(0);
    site.nrv(&with(&["--selector", "p", "--yes"])).exits(0);
    site.nrv(&[
        "edit",
        "updatePropValue",
        "--target",
        "src/Card.tsx:2",
        "--prop",
        "title",
        "--old",
        "Hi",
        "--new",
        "Ho",
        "--yes",
    ])
    .exits(0);
    let found = site
        .nrv(&["edit", "find", "--kind", "prop", "--glob", "src/*.tsx", "--name", "title", "--json"])
        .exits(0)
        .json();
    assert_eq!((&found[0]["text"], &found[0]["line"]), (&json!("Ho"), &json!(2)));
    let handle = found[0].to_string();
    site.nrv(&[
        "edit",
        "update_prop_value",
        "--target",
        &handle,
        "--prop",
        "title",
        "--old",
        "Ho",
        "--new",
        "Hi",
        "--yes",
    ])
    .exits(0);
    site.nrv(&["edit", "update_import", "--path", "../x.ts", "--old", "a", "--new", "b", "--yes"]).exits(1);
    site.nrv(&["edit", "update_import", "--path", "a.ts", "--line", "x"]).exits(2);
    let tools = site.nrv(&["edit", "tools", "--json"]).exits(0).json();
    assert_eq!(tools.as_array().unwrap().len(), 6);
}

#[test]
fn gates_hold_for_edits() {
    let policy = |site: Site, text: &str| site.policy(text);
    let edit =
        ["edit", "update_class_name", "--path", "src/Card.tsx", "--line", "2", "--old", "p-2", "--new", "p-4", "--yes"];
    let blocked = |text: &str, word: &str| {
        let site = policy(project(), text);
        site.nrv(&edit).exits(3).says(word);
        assert_eq!(site.read("src/Card.tsx"), CARD.as_bytes());
    };
    blocked("[paths]\ndeny = ['src']\n", "src");
    blocked("[gates.tools]\nenabled = true\nallowed = ['apply']\n", "update_class_name");
    blocked("[adapters.update_class_name]\npaths = ['**/*.html']\n", "paths");
    blocked("[gates.diff_size]\nblock_lines = 1\n", "diff");
    let site = policy(project(), "[gates.tools]\nenabled = true\nallowed = ['update_*']\n");
    site.nrv(&edit).exits(0);
    let site = policy(project(), "[budget]\nfiles = 0\n");
    site.nrv(&edit).exits(6);
    let site = project();
    let secret = concat!("AKIA", "QYLPMN5HFIQR7XYA");
    script(&site, &format!("nrv.edit.update_text_content(\"src/Card.tsx:2\", \"Hello\", \"{secret}\")"));
    site.nrv(&["run", "t.rhai"]).exits(7);
}

#[test]
fn under_strict_tools_an_edit_that_is_approved_passes() {
    let html = "<p class=\"p-2\">Hello</p>\n";
    let run = |policy: &str, code: i32| {
        let site = project();
        site.write("src/a.html", html);
        let site = site.policy(policy);
        script(&site, "nrv.edit.update_class_name(\"src/a.html:1\", \"p-2\", \"p-4\");");
        site.nrv(&["run", "t.rhai"]).exits(code);
        assert_eq!(site.read("src/a.html") == html.as_bytes(), code != 0);
        site.nrv(&["replay", "last"]).exits(0);
    };
    run("[adapters]\nstrict_tools = true\n", 0);
    run("[adapters]\nstrict_tools = true\napproved = ['link_updater', 'update_class_name']\n", 0);
    run("[adapters]\nstrict_tools = true\napproved = ['link_updater']\n", 3);
    run("[adapters]\nstrict_tools = true\napproved = ['update_import']\n", 0);
}

#[test]
fn a_run_that_goes_on_notices_other_targets() {
    let site = project();
    let body = "let found = nrv.edit.find(#{ kind: \"class\", glob: \"src/*.tsx\", name: \"p-2\" });
         nrv.gate.confirm(\"edit it\", #{ n: found.len() });
         nrv.edit.update_class_name(found[0], \"p-2\", \"p-4\").line";
    script(&site, body);
    site.nrv(&["run", "t.rhai"]).exits(7);
    site.write("src/Card.tsx", format!("\n{CARD}"));
    site.nrv(&["resume", "last", "--approve", "c1"]).exits(5).says("src/*.tsx");
    site.write("src/Card.tsx", CARD);
    let ran = site.nrv(&["resume", "last", "--approve", "c1", "--json"]).exits(0).json();
    assert_eq!(ran["result"], 2);
}

#[test]
fn lines_of_json_are_answered_without_a_disk() {
    let site = Site::empty();
    let request = json!({"id": 1, "op": "updateTextContent", "args": {"path": "a.html", "line": 1, "old": "a", "new": "b"},
                         "text": "<p>a</p>\n"});
    let other = json!({"id": 2, "op": "update_import", "args": {"path": "a.ts", "line": 1, "old": "a", "new": "b"}, "text": ""});
    let input = format!("{request}\n\n{other}\nx\n");
    let ran = site.nrv_with(&["edit", "--jsonl"], &input).exits(0);
    let answers: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0], json!({"id": 1, "text": "<p>b</p>\n"}));
    assert_eq!((&answers[1]["id"], answers[1]["error"]["code"].as_str()), (&json!(2), Some("stale_preimage")));
    assert!(answers[2]["refused"].is_string() && answers.len() == 3);
    assert!(site.tree().is_empty());
}

#[test]
fn what_an_edit_holds_does_not_stand_in_the_events() {
    let site = project();
    script(
        &site,
        "nrv.edit.find(#{ kind: \"text\", glob: \"src/*\", text: \"Hello\" }); nrv.edit.update_text_content(\"src/Card.tsx:2\", \"Hello\", \"Farewell\"); ()",
    );
    site.nrv(&["run", "t.rhai"]).exits(0);
    let run = site.runs().last().unwrap()["run"].as_str().unwrap().to_owned();
    let events = String::from_utf8(site.read(&format!(".runs/{run}/events.jsonl"))).unwrap();
    assert!(events.contains("\"edit.make\"") && !events.contains("Farewell") && !events.contains("Hello"), "{events}");
}

#[derive(Deserialize)]
struct Case {
    args: Value,
    before: String,
}

/// The programs of the corpus, each once, as a project.
fn real_code() -> Site {
    let site = Site::empty();
    let cases: Vec<Case> = corpora::require("micro-edits/cases");
    let mut known = BTreeSet::new();
    for case in cases {
        let path = case.args["path"].as_str().unwrap();
        if known.insert(case.before.clone()) {
            site.write(&format!("src/{}/{path}", known.len()), &case.before);
        }
    }
    site
}

/// An edit of a target that anybody could want.
fn edit_of(handle: &Handle, n: usize) -> Option<Edit> {
    let (tool, params) = match handle.kind {
        Kind::Class => (Tool::UpdateClassName, json!({"old": handle.text, "new": format!("{} new-{n}", handle.text)})),
        Kind::Element => (Tool::AddAriaAttribute, json!({"attribute": "aria-label", "value": format!("Label {n}")})),
        Kind::Import => (Tool::UpdateImport, json!({"old": handle.text, "new": format!("{}/{n}", handle.text)})),
        Kind::Prop => (Tool::UpdatePropValue, json!({"prop": handle.name, "old": handle.text, "new": format!("{n}")})),
        Kind::Style => {
            (Tool::UpdateStyleValue, json!({"property": handle.name, "old": handle.text, "new": format!("{n}px")}))
        }
        Kind::Text => (Tool::UpdateTextContent, json!({"old": handle.text, "new": format!("{} {n}", handle.text)})),
    };
    let mut params = params;
    params["target"] = json!(handle);
    Edit::parse(tool, &params).ok()
}

/// Makes random edits of a tree, checks each on the bytes, and undoes them one by one in a random order.
#[test]
fn random_edits_of_real_code_change_their_span_and_are_undone_singly() {
    let site = real_code();
    let first = site.tree();
    let context = Context::new(Workspace::open(&site.root()).unwrap(), Options::default()).unwrap();
    let mut chance = Chance(7);
    let files: Vec<&String> = first.keys().filter(|path| first[*path].0 == 'f').collect();
    let mut positions = Positions::default();
    let mut run = Host::start(&context, Request::program(&context, "random edits"), &mut Silent).unwrap();
    let (mut made, mut tools) = (Vec::new(), BTreeMap::new());
    let mut refused = 0;
    // Each rollback reads the whole record, so that time grows with the square.
    let (edits, refusals) = long::pick((20, 120), (300, 600));
    while made.len() < edits || tools.len() < Kind::ALL.len() {
        let kind = one(&Kind::ALL, &mut chance);
        let patterns = vec![(*one(&files, &mut chance)).clone()];
        let find = Find { kind: *kind, patterns, selector: None, text: None, name: None };
        let find = Call::EditFind(Box::new(find));
        let found = run.perform(&positions.take(&find), find, &mut Silent).unwrap();
        let found: Vec<Handle> = serde_json::from_value(found).unwrap();
        if found.is_empty() {
            continue;
        }
        let handle = one(&found, &mut chance);
        let Some(edit) = edit_of(handle, made.len()) else { continue };
        let (before, edit) = (site.read(&handle.path), Call::EditMake(Box::new(edit)));
        let position = positions.take(&edit);
        match run.perform(&position, edit, &mut Silent) {
            Ok(outcome) => {
                let after = site.read(&handle.path);
                only_the_span_differs(&before, &after, &outcome);
                made.push(position.as_str().to_owned());
                *tools.entry(kind.as_str()).or_insert(0) += 1;
            }
            // The same text twice on a line, an attribute that is there, and the like.
            Err(error) => {
                assert!(matches!(error.code(), Code::InvalidInput | Code::StalePreimage), "{error}");
                assert_eq!(site.read(&handle.path), before);
                refused += 1;
                assert!(refused < refusals, "{error}");
            }
        }
    }
    assert_eq!(tools.len(), 6, "{tools:?}");
    let id = run.run_id().to_owned();
    assert_eq!(run.finish(Ok(Value::Null), &mut Silent).unwrap().state, State::Done);
    undo_singly(&context, &id, made, &mut chance);
    assert!(site.tree() == first, "the tree is not what it was");
}

#[track_caller]
fn only_the_span_differs(before: &[u8], after: &[u8], outcome: &Value) {
    let (old, new) = (outcome["before"].as_str().unwrap(), outcome["after"].as_str().unwrap());
    let line = outcome["line"].as_u64().unwrap() as usize;
    let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let lines = |text: &[u8]| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (mut first, mut second) = (lines(before), lines(after));
    assert!(same < before.len() || old == new || after.len() > before.len());
    let (one, other) = (first.remove(line - 1), second.remove(line - 1));
    assert_eq!(first, second);
    let (one, other) = (String::from_utf8(one).unwrap(), String::from_utf8(other).unwrap());
    let places: Vec<usize> = one.match_indices(old).map(|(at, _)| at).collect();
    let is_it = |at: &usize| format!("{}{new}{}", &one[..*at], &one[at + old.len()..]) == other;
    let empty = (0..=one.len()).filter(|at| old.is_empty() && one.is_char_boundary(*at)).collect::<Vec<_>>();
    assert!(places.iter().chain(&empty).any(is_it), "{one:?} {other:?} {outcome}");
}

fn one<'t, T>(all: &'t [T], chance: &mut Chance) -> &'t T {
    &all[chance.below(all.len() as u64) as usize]
}

/// Undoes edits one by one, in a random order. One that a later edit of the same line needs has to wait for that.
fn undo_singly(context: &Context, id: &str, mut open: Vec<String>, chance: &mut Chance) {
    let mut waited = 0;
    while !open.is_empty() {
        let position = open.swap_remove(chance.below(open.len() as u64) as usize);
        let done = host::rollback_position(context, id, &position, Flags::default(), &mut Silent).unwrap();
        match done.finished.error {
            None => assert_eq!(done.restored.len(), 1, "{position}"),
            Some(error) => {
                assert_eq!(error.code(), Code::UndoRefused);
                let by = error.details()["needed_by"].as_str().unwrap();
                assert!(open.iter().any(|other| other == by), "{by} is undone already");
                open.push(position);
                waited += 1;
                assert!(waited < 20_000);
            }
        }
    }
}
