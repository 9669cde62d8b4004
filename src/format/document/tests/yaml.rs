//! Edits of YAML.

use serde_json::{Value, json};

use super::{
    super::{Document, syntax::Syntax},
    check, malformed, refuses,
};

#[track_caller]
fn edit(text: &str, notation: Value, expected: &str) {
    check(Syntax::Yaml, text, notation, expected);
}

#[test]
fn untouched_bytes_stay() {
    let text = "# head\na:   1.50 # keep\nport: \"80\"\nlist:\n- x\n-   y # c\nanchor: &A {k: v,  j: 0x1F}\nref: *A\nlit: |\n  text\ngone: 1\n";
    let edited = "# head\na:   1.50 # keep\nport: 80\nlist:\n- x\n-   y # c\nanchor: &A {k: v,  j: 0x1F}\nref: *A\nlit: |\n  text\nnew:\n  k:\n  - 1\n";
    edit(text, json!([["set", "/port", 80], ["insert", "/new", {"k": [1]}], ["remove", "/gone"]]), edited);
}

#[test]
fn a_removed_member_takes_its_lines() {
    let text = "a: 1 # one\n# of b\nb:\n  c: |\n    x\n\n  d: 2\n\ne: 3\n";
    edit(text, json!([["remove", "/a"]]), "# of b\nb:\n  c: |\n    x\n\n  d: 2\n\ne: 3\n");
    edit(text, json!([["remove", "/b"]]), "a: 1 # one\n\ne: 3\n");
    edit(text, json!([["remove", "/b/c"]]), "a: 1 # one\n# of b\nb:\n  d: 2\n\ne: 3\n");
    edit(text, json!([["remove", "/b/d"]]), "a: 1 # one\n# of b\nb:\n  c: |\n    x\n\n\ne: 3\n");
    edit(text, json!([["remove", "/b/d"], ["remove", "/b/c"]]), "a: 1 # one\n# of b\nb: {}\n\ne: 3\n");
    edit(text, json!([["remove", "/e"]]), "a: 1 # one\n# of b\nb:\n  c: |\n    x\n\n  d: 2\n\n");
    edit("- a: 1\n  b: 2\n- c\n", json!([["remove", "/0/a"]]), "- b: 2\n- c\n");
    edit("- a: 1\n  b: 2\n- c\n", json!([["remove", "/0/b"]]), "- a: 1\n- c\n");
    edit("- a: 1\n  b: 2\n- c\n", json!([["remove", "/0"]]), "- c\n");
    edit("- a: 1\n- c", json!([["remove", "/1"]]), "- a: 1");
    edit("k:\r\n- a\r\n- b # c\r\n", json!([["remove", "/k/1"]]), "k:\r\n- a\r\n");
    edit("a: 1\n", json!([["remove", "/a"]]), "{}\n");
    edit(
        "x: {a: 1, b: [1, 2]} # c\n",
        json!([["remove", "/x/a"], ["insert", "/x/b/-", "on"]]),
        "x: {b: [1, 2, \"on\"]} # c\n",
    );
}

#[test]
fn an_inserted_member_takes_the_style_of_its_siblings() {
    edit("a: 1", json!([["insert", "/b", "x"]]), "a: 1\nb: x");
    edit(
        "a:\n    b: 1 # c\n\n# end\n",
        json!([["insert", "/a/c", {"d": "no"}]]),
        "a:\n    b: 1 # c\n    c:\n        d: \"no\"\n\n# end\n",
    );
    edit(
        "l:\n  - a\n  - b\n",
        json!([["insert", "/l/0", 0], ["insert", "/l/2", 1], ["insert", "/l/-", {"x": [2], "z": {}}]]),
        "l:\n  - 0\n  - a\n  - 1\n  - b\n  - x:\n      - 2\n    z: {}\n",
    );
    edit("- a: 1\r\n  b: 2\r\n", json!([["insert", "/0/c", null]]), "- a: 1\r\n  b: 2\r\n  c: null\r\n");
    edit("a: |+\n  x\n\n", json!([["insert", "/b", 1]]), "a: |+\n  x\n\nb: 1\n");
    edit("a: {}\nb: []\n", json!([["insert", "/a/x", 1], ["insert", "/b/-", 1]]), "a: {x: 1}\nb: [1]\n");
}

#[test]
fn values_are_replaced() {
    edit(
        "a: 'x' # c\nb:\nc: # d\n  e: 1\n",
        json!([["set", "/a", "it's"], ["set", "/b", 1], ["set", "/c", true]]),
        "a: 'it''s' # c\nb: 1\nc: true # d\n",
    );
}

#[test]
fn a_comment_in_the_head_of_a_block_scalar_stays() {
    edit("a: |  # why\n  80\nb: >-\n  1\n", json!([["set", "/a", 80], ["set", "/b", 1]]), "a: 80  # why\nb: 1\n");
}

#[test]
fn containers_are_replaced() {
    edit("a: 1 # c\nb: x\n", json!([["set", "/a", {"k": [1]}], ["wrap", "/b"]]), "a: # c\n  k:\n    - 1\nb:\n  - x\n");
    edit(
        "- 1 # c\n- 2\n",
        json!([["set", "/0", {"k": 1, "l": 2}], ["set", "/1", {"k": 1, "l": 2}]]),
        "- # c\n  k: 1\n  l: 2\n- k: 1\n  l: 2\n",
    );
    edit("a:\n  b: 1\n  c: 2 # x\nd: |\n  t\n", json!([["set", "/a", ["x"]], ["set", "/d", "z"]]), "a:\n  - x\nd: z\n");
    edit("a:\n  # c\n  b: 1\n  c: 2\n", json!([["wrap", "/a"]]), "a:\n  # c\n  - b: 1\n    c: 2\n");
    edit(
        "a:\n  b:\n    c: |\n      t\n    d: 1 # x\n",
        json!([["move", "/a/b", "/z"]]),
        "a: {}\nz:\n  c: |\n    t\n  d: 1 # x\n",
    );
    edit("a: 1\nb: 2\n", json!([["rename", "/a", "x y"], ["rename", "/b", "on"]]), "x y: 1\n\"on\": 2\n");
}

#[test]
fn plain_scalars_have_the_core_schema() {
    let text = "[no, on, 12:30, 1_000, 0o17, 017, 0x1F, 1e3, .5, -0, ~, Null, TRUE, 2001-01-01, 18446744073709551615, '1', <<, =, 1., +1]";
    let value = json!([
        "no",
        "on",
        "12:30",
        "1_000",
        15,
        17,
        31,
        1e3,
        0.5,
        -0.0,
        null,
        null,
        true,
        "2001-01-01",
        u64::MAX,
        "1",
        "<<",
        "=",
        1.0,
        1
    ]);
    assert_eq!(*Document::parse(Syntax::Yaml, text).expect("well-formed").value(), value);
}

#[test]
fn anchors_aliases_tags_and_merge_keys_are_left_alone() {
    let text = "base: &b {x: 1}\nuse:\n  <<: *b\n  y: 2\nref: *b\ntag: !t {z: 1}\nplain: 1\n";
    let document = Document::parse(Syntax::Yaml, text).expect("well-formed");
    assert_eq!(document.value()["use"], json!({"x": 1, "y": 2}));
    assert_eq!(document.value()["ref"], json!({"x": 1}));
    for pointer in ["/base", "/base/x", "/use", "/use/x", "/ref", "/ref/x", "/tag/z"] {
        refuses(Syntax::Yaml, text, json!([["set", pointer, 7]]), "the ");
    }
    edit(
        text,
        json!([["set", "/plain", 2], ["rename", "/ref", "r"]]),
        &text.replace("plain: 1", "plain: 2").replace("ref:", "r:"),
    );
    edit(text, json!([["set", "/use/y", 3]]), &text.replace("y: 2", "y: 3"));
    let bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    malformed(Syntax::Yaml, bomb, (5, 29), "more than");
}

#[test]
fn malformed_texts_are_refused_with_their_place() {
    malformed(Syntax::Yaml, "a: 1\na: 2\n", (2, 1), "stands twice");
    malformed(Syntax::Yaml, "~: a\n", (1, 1), "no string");
    malformed(Syntax::Yaml, "200: a\n\"200\": b\n", (2, 1), "stands twice");
    malformed(Syntax::Yaml, "a: 1\n---\nb: 1\n", (2, 1), "more than one");
    malformed(Syntax::Yaml, "a: .inf\n", (1, 4), "no JSON value");
    malformed(Syntax::Yaml, "? [a]\n: b\n", (1, 3), "no string");
    assert!(Document::parse(Syntax::Yaml, &"[".repeat(10_000)).is_err());
    assert!(Document::parse(Syntax::Yaml, &"- ".repeat(10_000)).is_err());
    assert!(Document::parse(Syntax::Yaml, "a: &x [*x]\n").is_err());
}

#[test]
fn sections_apart_from_each_other_stay_apart() {
    let text = "on: push\n\nenv:\n  a: 1\n\n# work\njobs:\n  b:\n    c: 1\n";
    let inserted = json!([["insert", "/permissions", {"contents": "read"}], ["insert", "/jobs/b/d", 2]]);
    edit(text, inserted, &format!("{text}    d: 2\n\npermissions:\n  contents: read\n"));
    edit("a: 1\nb: 2\n", json!([["insert", "/c", {"d": 1}]]), "a: 1\nb: 2\nc:\n  d: 1\n");
}
