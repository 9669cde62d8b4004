//! Edits of JSON, JSONC and JSON5.

use serde_json::json;

use super::{super::syntax::Syntax, check, malformed, refuses};

#[test]
fn untouched_bytes_stay() {
    let text = "{\n  // keep\n  \"a\": 1.50, /* x */ \"n\": 1e3,\n  \"port\": \"80\",\n\t\"z\": [1,2 ],\n  \"gone\": 1 // why\n}";
    let edited = "{\n  // keep\n  \"a\": 1.50, /* x */ \"n\": 1e3,\n  \"port\": 80,\n\t\"z\": [1,2 ],\n  \"new\": {\n    \"k\": 1\n  }\n}";
    check(
        Syntax::Jsonc,
        text,
        json!([["set", "/port", 80], ["insert", "/new", {"k": 1}], ["remove", "/gone"]]),
        edited,
    );
}

#[test]
fn a_removed_member_takes_its_comma_and_line() {
    let text = "{\n  \"a\": 1,\n  // of b\n  \"b\": 2, // two\n  \"c\": 3\n}\n";
    check(Syntax::Jsonc, text, json!([["remove", "/a"]]), "{\n  // of b\n  \"b\": 2, // two\n  \"c\": 3\n}\n");
    check(Syntax::Jsonc, text, json!([["remove", "/b"]]), "{\n  \"a\": 1,\n  \"c\": 3\n}\n");
    check(Syntax::Jsonc, text, json!([["remove", "/c"]]), "{\n  \"a\": 1,\n  // of b\n  \"b\": 2 // two\n}\n");
    check(Syntax::Jsonc, text, json!([["remove", "/a"], ["remove", "/b"], ["remove", "/c"]]), "{}\n");
    for (text, edited) in [
        ("[1, 2, 3]", ["[2, 3]", "[1, 3]", "[1, 2]"]),
        ("[1,2,3]", ["[2,3]", "[1,3]", "[1,2]"]),
        ("[ 1, 2, 3 ]", ["[ 2, 3 ]", "[ 1, 3 ]", "[ 1, 2 ]"]),
        (
            "[\r\n\t1,\r\n\t2,\r\n\t3\r\n]\r\n",
            ["[\r\n\t2,\r\n\t3\r\n]\r\n", "[\r\n\t1,\r\n\t3\r\n]\r\n", "[\r\n\t1,\r\n\t2\r\n]\r\n"],
        ),
        ("[1, 2,\n 3]", ["[2,\n 3]", "[1,\n 3]", "[1, 2]"]),
        (
            "[1 // one\n , 2 // two\n , 3 // three\n]",
            ["[2 // two\n , 3 // three\n]", "[1 // one\n , 3 // three\n]", "[1 // one\n , 2 // two\n \n]"],
        ),
        ("[1,\n2,\n3,\n]", ["[\n2,\n3,\n]", "[1,\n3,\n]", "[1,\n2,\n]"]),
    ] {
        for (index, edited) in edited.into_iter().enumerate() {
            check(Syntax::Jsonc, text, json!([["remove", format!("/{index}")]]), edited);
        }
    }
    check(Syntax::Json, "{\n  \"a\": 1\n}", json!([["remove", "/a"]]), "{}");
    check(Syntax::Json, "[ 1 ]", json!([["remove", "/0"]]), "[]");
}

#[test]
fn an_inserted_member_takes_the_style_of_its_siblings() {
    for (text, edited) in [
        ("{\"a\":1}", "{\"a\":1,\"n\":2}"),
        ("{ \"a\": 1 }", "{ \"a\": 1, \"n\": 2 }"),
        ("{\"a\": 1}", "{\"a\": 1, \"n\": 2}"),
        ("{\n    \"a\" : 1\n}\n", "{\n    \"a\" : 1,\n    \"n\" : 2\n}\n"),
        ("{\r\n\t\"a\": 1\r\n}", "{\r\n\t\"a\": 1,\r\n\t\"n\": 2\r\n}"),
        ("{}", "{\n  \"n\": 2\n}"),
        ("{\n}", "{\n  \"n\": 2\n}"),
        ("\u{feff}{\n  \"a\": 1\n}", "\u{feff}{\n  \"a\": 1,\n  \"n\": 2\n}"),
        ("{\n  \"a\": 1, // one\n}", "{\n  \"a\": 1, // one\n  \"n\": 2,\n}"),
        ("{\n  \"a\": 1 // one\n  // end\n}", "{\n  \"a\": 1, // one\n  \"n\": 2\n  // end\n}"),
        ("{ // c\n}", "{ // c\n  \"n\": 2\n}"),
        ("{ /* c */ }", "{ /* c */\n  \"n\": 2\n}"),
        ("{ \"a\": 1 // c\n}", "{ \"a\": 1, // c\n  \"n\": 2\n}"),
    ] {
        check(Syntax::Jsonc, text, json!([["insert", "/n", 2]]), edited);
    }
    let text = "{\n  \"files\": [],\n  \"o\": {},\n  \"l\": [1, 2]\n}";
    check(
        Syntax::Json,
        text,
        json!([["insert", "/files/-", "x"], ["insert", "/o/k", null], ["insert", "/l/0", 0], ["insert", "/l/-", 3]]),
        "{\n  \"files\": [\"x\"],\n  \"o\": {\n    \"k\": null\n  },\n  \"l\": [0, 1, 2, 3]\n}",
    );
    check(
        Syntax::Json,
        "[\n  1\n]",
        json!([["insert", "/0", 0], ["insert", "/1", [{}]]]),
        "[\n  0,\n  [\n    {}\n  ],\n  1\n]",
    );
}

#[test]
fn values_move_and_keep_their_bytes() {
    let text = "{\n  \"a\": {\n    \"b\": {\n      \"n\": 1.50, // c\n      \"m\": [ ]\n    }\n  },\n  \"z\": 1\n}";
    check(
        Syntax::Jsonc,
        text,
        json!([["move", "/a/b", "/b"], ["rename", "/z", "y"], ["wrap", "/y"], ["set", "/b/m", 7]]),
        "{\n  \"a\": {},\n  \"y\": [1],\n  \"b\": {\n    \"n\": 1.50, // c\n    \"m\": 7\n  }\n}",
    );
    check(Syntax::Json, "[1.0,[2]]", json!([["move", "/0", "/0/-"], ["wrap", ""]]), "[[[2,1.0]]]");
}

#[test]
fn a_comment_behind_a_value_moves_along() {
    let text = "{\n  \"a\": 1, // a\n  \"s\": {\n    \"b\": 2 // b\n  }\n}\n";
    let moved = "{\n  \"s\": {\n    \"b\": 2, // b\n    \"a\": 1 // a\n  }\n}\n";
    check(Syntax::Jsonc, text, json!([["move", "/a", "/s/a"]]), moved);
    let moved = "{\n  \"a\": 1, // a\n  \"s\": {},\n  \"c\": 2 // b\n}\n";
    check(Syntax::Jsonc, text, json!([["move", "/s/b", "/c"]]), moved);
    check(Syntax::Jsonc, "{\"a\": 1, \"s\": {}} // x", json!([["move", "/a", "/s/a"]]), "{\"s\": {\"a\": 1}} // x");
    let (text, moved) = ("a: 1  # a\ns:\n  b: 2\n", "s:\n  b: 2\n  a: 1  # a\n");
    check(Syntax::Yaml, text, json!([["move", "/a", "/s/a"]]), moved);
    let (text, moved) = ("a = 1 # a\n\n[s]\nb = 2\n", "[s]\nb = 2\na = 1 # a\n");
    check(Syntax::Toml, text, json!([["move", "/a", "/s/a"]]), moved);
}

#[test]
fn a_wrapped_value_stands_on_the_lines_of_other_arrays() {
    let text = "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ],\n  \"c\": {\n    \"d\": 1.50\n  }\n}\n";
    let broken = text
        .replace("\"a\": 1,", "\"a\": [\n    1\n  ],")
        .replace("\"c\": {\n    \"d\": 1.50\n  }", "\"c\": [\n    {\n      \"d\": 1.50\n    }\n  ]");
    check(Syntax::Json, text, json!([["wrap", "/a"], ["wrap", "/c"]]), &broken);
    check(Syntax::Yaml, "a: x # a\nb: [1]\n", json!([["wrap", "/a"]]), "a: [x] # a\nb: [1]\n");
    check(Syntax::Yaml, "a: 'x'\nb: 1\n", json!([["set", "/b", "1"]]), "a: 'x'\nb: '1'\n");
    check(Syntax::Json5, "{a: 'x', b: 1}", json!([["set", "/b", "y"]]), "{a: 'x', b: 'y'}");
}

#[test]
fn the_root_is_replaced() {
    check(Syntax::Jsonc, "// a\n1 // b\n", json!([["set", "", {"a": []}]]), "// a\n{\n  \"a\": []\n} // b\n");
}

#[test]
fn an_edit_that_cannot_be_made_refuses_all() {
    for (edit, reason) in [
        (json!(["set", "/x", 1]), "no such place"),
        (json!(["insert", "/a", 1]), "such a member"),
        (json!(["insert", "/l/9", 1]), "beyond the end"),
        (json!(["remove", ""]), "no parent"),
        (json!(["remove", "/l/01"]), "no such place"),
        (json!(["rename", "/a", "l"]), "has a member"),
        (json!(["move", "/l", "/l/0"]), "no such place"),
        (json!(["set", "a", 1]), "begins with"),
        (json!(["insert", "/a/b", 1]), "neither"),
    ] {
        refuses(Syntax::Json, "{\"a\": 1, \"l\": [1]}", json!([["set", "/l/0", 2], edit]), reason);
    }
}

#[test]
fn malformed_texts_are_refused_with_their_place() {
    for (text, place, reason) in [
        ("{\"a\": 1,\n \"a\": 2}", (2, 2), "stands twice"),
        ("[1,]", (1, 3), "no trailing commas"),
        ("[NaN]", (1, 2), "no value of JSON"),
        ("[01]", (1, 2), "no value of JSON"),
        ("[1e400]", (1, 2), "too large"),
        ("[\"\t\"]", (1, 3), "malformed"),
        ("['a']", (1, 2), "not expected"),
        ("// c\n1", (1, 1), "not expected"),
        ("", (1, 1), "ends"),
        ("[1 2]", (1, 4), "not expected"),
        ("{\"a\" 1}", (1, 6), "after a name"),
        ("1 1", (1, 3), "after the value"),
    ] {
        malformed(Syntax::Json, text, place, reason);
    }
    malformed(Syntax::Json, &"[".repeat(10_000), (1, 128), "nested deeper");
    malformed(Syntax::Jsonc, "/* c", (1, 1), "no end");
}
