//! Edits of TOML.

use serde_json::{Value, json};

use super::{
    super::{Document, syntax::Syntax},
    check, malformed, refuses,
};

#[track_caller]
fn edit(text: &str, notation: Value, expected: &str) {
    check(Syntax::Toml, text, notation, expected);
}

#[test]
fn untouched_bytes_stay() {
    let text = "# c\n[a]\nx = 0x1F # k\n'q.r'   = [ 1, 2 , ] # t\nd = 1979-05-27 07:32:00Z\n\n[[b]]\ny=1e3";
    let edited =
        "# c\n[a]\nx = 3 # k\n'q.r'   = [ 1, 2 , 3, ] # t\nd = 1979-05-27 07:32:00Z\nn = \"v\"\n\n[[b]]\ny=1e3\nz=true";
    edit(
        text,
        json!([["set", "/a/x", 3], ["insert", "/a/n", "v"], ["insert", "/a/q.r/-", 3], ["insert", "/b/0/z", true]]),
        edited,
    );
}

#[test]
fn a_removed_member_takes_its_lines() {
    let text =
        "a = 1 # one\n# of b\nb = { x = 1, y = 2 }\n\n[t]\nk = 'v'\n# in t\n[t.u]\nz = 1\n\n[v]\nw.x = 1\nw.y = 2\n";
    edit(text, json!([["remove", "/a"]]), &text.replace("a = 1 # one\n", ""));
    edit(text, json!([["remove", "/b"]]), &text.replace("# of b\nb = { x = 1, y = 2 }\n", ""));
    edit(text, json!([["remove", "/b/x"]]), &text.replace("{ x = 1, y = 2 }", "{ y = 2 }"));
    edit(text, json!([["remove", "/t"]]), "a = 1 # one\n# of b\nb = { x = 1, y = 2 }\n\n[v]\nw.x = 1\nw.y = 2\n");
    edit(text, json!([["remove", "/t/u"]]), &text.replace("# in t\n[t.u]\nz = 1\n", ""));
    edit(text, json!([["remove", "/v/w/x"]]), &text.replace("w.x = 1\n", ""));
    edit(text, json!([["remove", "/v"]]), &text.replace("\n[v]\nw.x = 1\nw.y = 2\n", ""));
    edit("[[p]]\na = 1\n\n[[p]]\na = 2\n", json!([["remove", "/p/0"]]), "[[p]]\na = 2\n");
    edit("[[p]]\na = 1\n\n[[p]]\na = 2\n", json!([["remove", "/p/1"]]), "[[p]]\na = 1\n");
}

#[test]
fn an_inserted_member_takes_the_style_of_its_siblings() {
    edit("a=1", json!([["insert", "/b", "x"]]), "a=1\nb=\"x\"");
    edit("", json!([["insert", "/b", 1]]), "b = 1\n");
    edit("# license\n\n# of t\n[t]\n", json!([["insert", "/b", 1]]), "# license\n\nb = 1\n\n# of t\n[t]\n");
    edit(
        "[t]\r\n  a = 1 # c\r\n\r\n# end\r\n",
        json!([["insert", "/t/b", [1, "x"]], ["insert", "/t/c", {"k": 1}]]),
        "[t]\r\n  a = 1 # c\r\n  b = [1, \"x\"]\r\n  c = { k = 1 }\r\n\r\n# end\r\n",
    );
    edit(
        "[t]\na = 1\n\n[u]\nb.c = 1\n",
        json!([["insert", "/w", {"x": 1, "y": {"z": 2}}], ["insert", "/u/b/d", 2]]),
        "[t]\na = 1\n\n[u]\nb.c = 1\nb.d = 2\n\n[w]\nx = 1\ny = { z = 2 }\n",
    );
    edit("[[p]]\na = 1\n", json!([["insert", "/p/-", {"a": 2}]]), "[[p]]\na = 1\n\n[[p]]\na = 2\n");
    edit(
        "x = [\n  1,\n  2, # two\n]\n",
        json!([["insert", "/x/-", 3], ["insert", "/x/0", 0]]),
        "x = [\n  0,\n  1,\n  2, # two\n  3,\n]\n",
    );
}

#[test]
fn members_are_renamed_and_moved() {
    let text = "[a]\nx = 0x10 # c\n[a.b]\n[c]\n'd'.e = 1\n";
    edit(
        text,
        json!([["rename", "/a", "z z"], ["rename", "/c/d", "f"], ["move", "/a/x", "/c/x"]])
            .as_array()
            .map(|edits| json!([edits[2], edits[0], edits[1]]))
            .unwrap_or_default(),
        "[\"z z\"]\n[\"z z\".b]\n[c]\n'f'.e = 1\nx = 0x10 # c\n",
    );
    edit("a = 'x'\n", json!([["set", "/a", "y"], ["wrap", "/a"]]), "a = [\"y\"]\n");
    edit("a = 'x' # c\n", json!([["wrap", "/a"]]), "a = ['x'] # c\n");
}

#[test]
fn tables_come_and_go() {
    edit("[a.b]\n", json!([["insert", "/a/x", 1]]), "[a]\nx = 1\n\n[a.b]\n");
    edit("# c\n[a.b]\nx = 1\n", json!([["remove", "/a/b"]]), "a = {}\n\n# c\n");
    edit("x = 1\n\n[[p]]\na = 1\n", json!([["remove", "/p/0"]]), "x = 1\np = []\n");
    edit("[a]\nx = 1\n\n[b]\n", json!([["set", "/a", {"y": 2}]]), "[a]\ny = 2\n\n[b]\n");
    edit("[a] # c\nx = 1\n[a.b]\n", json!([["wrap", "/a"]]), "[[a]] # c\nx = 1\n[a.b]\n");
    edit(
        "[[p]]\na = 1\n# two\n[[p]]\na = 2\n",
        json!([["insert", "/p/1", {"a": 3}], ["set", "/p/0", {"b": 1}]]),
        "[[p]]\nb = 1\n[[p]]\na = 3\n\n# two\n[[p]]\na = 2\n",
    );
}

#[test]
fn impossible_edits_are_refused() {
    refuses(Syntax::Toml, "a = 1\n", json!([["set", "/a", null]]), "no null");
    refuses(Syntax::Toml, "a = 1\n", json!([["set", "/a", u64::MAX]]), "no integer");
    refuses(Syntax::Toml, "[a]\nx = 1\n[b]\n", json!([["move", "/a", "/b/a"]]), "a block");
    refuses(Syntax::Toml, "a = { b.c = 1 }\n", json!([["wrap", "/a/b"]]), "a block");
}

#[test]
fn dates_are_strings() {
    let document =
        Document::parse(Syntax::Toml, "a = 1979-05-27 07:32:00Z\nb = [07:32:00, 1979-05-27]\n").expect("well-formed");
    assert_eq!(*document.value(), json!({"a": "1979-05-27T07:32:00Z", "b": ["07:32:00", "1979-05-27"]}));
}

#[test]
fn malformed_texts_are_refused_with_their_place() {
    malformed(Syntax::Toml, "a = 1\na = 2\n", (2, 1), "duplicate key");
    malformed(Syntax::Toml, "a = nan\n", (1, 1), "no JSON value");
    assert!(Document::parse(Syntax::Toml, &format!("a = {}", "[".repeat(10_000))).is_err());
    assert!(Document::parse(Syntax::Toml, &format!("a{} = 1", ".a".repeat(10_000))).is_err());
    assert!(Document::parse(Syntax::Toml, &format!("[a{}]", ".a".repeat(10_000))).is_err());
}

#[test]
fn a_short_object_stands_on_one_line_beside_pairs() {
    let text = "[package]\nname = \"x\"\n\n[package.metadata.docs]\nall = true\n";
    let inserted =
        json!([["insert", "/package/edition", {"workspace": true}], ["insert", "/lints", {"workspace": true}]]);
    let pair = text.replace("\"x\"\n", "\"x\"\nedition = { workspace = true }\n");
    edit(text, inserted, &format!("{pair}\n[lints]\nworkspace = true\n"));
    edit("a.c = 2\n", json!([["remove", "/a/c"]]), "a = {}\n");
    edit("\u{feff}a = 1\nb = 2\n", json!([["remove", "/a"]]), "\u{feff}b = 2\n");
}
