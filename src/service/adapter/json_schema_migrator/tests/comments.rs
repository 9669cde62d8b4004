//! Comments within values that go, move or are wrapped: those that go with their value are no finding, all others stay.

use super::{fixes::file_becomes, *};

/// Permits fixes; the empty object of the schema accepts every file but one with the old members.
fn params(fixes: &Value, old: &[&str]) -> Value {
    let none: Vec<Value> = old.iter().map(|name| json!({"required": [name]})).collect();
    let properties: serde_json::Map<String, Value> =
        ["a", "b", "v", "keep"].iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let schema = json!({"properties": properties, "additionalProperties": old.is_empty(), "not": {"anyOf": none}});
    let schema = if old.is_empty() { json!({"properties": {"v": {"type": ["array", "integer"]}}}) } else { schema };
    json!({"schema": schema, "fixes": fixes})
}

#[test]
fn comments_in_a_removed_value_go_with_it() {
    let params = params(&json!({"remove_unknown": true}), &["x"]);
    for (name, before, after) in [
        (
            "a.jsonc",
            "{\n  // a\n  \"a\": 1, // one\n  \"x\": { // in\n    /* deep */ \"y\": [\n      1 // item\n      // tail\n    ]\n    // end\n  }, // behind\n  \"b\": 2 // two\n}\n",
            "{\n  // a\n  \"a\": 1, // one\n  \"b\": 2 // two\n}\n",
        ),
        ("b.jsonc", "{\n  \"a\": 1,\n  \"x\": {\n    // nothing\n  }\n}\n", "{\n  \"a\": 1\n}\n"),
        ("c.json5", "{a: 1, x: [ // in\n  {}, // {}\n], /* b */ b: 2}\n", "{a: 1, /* b */ b: 2}\n"),
        ("d.yaml", "a: 1\nx: # in\n  # on\n  y:\n    # deep\n    - 1 # item\nb: 2 # two\n", "a: 1\nb: 2 # two\n"),
        ("e.toml", "a = 1 # one\n\n[x] # in\n# on\ny = [\n  1, # item\n] # behind\n", "a = 1 # one\n"),
        ("f.toml", "a = 1\nx = [\n  1, # item\n  # tail\n]\nb = 2 # two\n", "a = 1\nb = 2 # two\n"),
    ] {
        file_becomes(name, &params, before, after, json!({"remove_unknown": 1}));
    }
}

/// Its line end would be one of the scalar, and parsers differ on it.
#[test]
fn a_block_scalar_does_not_begin_or_stop_to_end_a_file_without_a_line_end() {
    let remove = json!({"schema": {"properties": {"x": false}}, "fixes": {"remove": ["/x"]}});
    let move_away = json!({"schema": {"properties": {"x": false}}, "fixes": {"move": {"/x": "/n/m"}}});
    let add = json!({"schema": {"required": ["n"], "properties": {"n": {"default": 1}}}, "fixes": {"defaults": true}});
    for (text, params) in [
        ("b: |\n  t\nx: 1", &remove),
        ("b: |+\n  t\n# c\nx: 1", &remove),
        ("b: >\n  t\nx: 1", &remove),
        ("x: |\n  t\nb: 1", &move_away),
        ("x: 1\nb: |\n  t", &move_away),
        ("a: 1\nb: |\n  t", &add),
    ] {
        let files = [("a.yaml", text)];
        let dry = propose_in(tree(&files).path(), 1, &invoked(params, "dry-run")).unwrap();
        assert!(dry.changes.is_empty(), "{text:?}");
    }
}

#[test]
fn comments_in_a_replaced_value_go_with_it() {
    let params = params(&json!({"set": {"/v": 1}}), &[]);
    for (name, before, after) in [
        ("a.jsonc", "{\"v\": { // in\n  \"y\": 1\n}, // behind\n\"b\": 2}\n", "{\"v\": 1, // behind\n\"b\": 2}\n"),
        ("b.yaml", "v:\n  y: 1\n  z: 2 # item\n# end\n", "v: 1\n# end\n"),
        ("c.toml", "b = 1\n\n[v]\ny = 1 # item\n", "b = 1\nv = 1\n"),
    ] {
        file_becomes(name, &params, before, after, json!({"set": 1}));
    }
    let root = json!({"schema": {"type": "object"}, "fixes": {"set": {"": {}}}});
    file_becomes("d.json", &root, "[]\n", "{}\n", json!({"set": 1}));
}

#[test]
fn comments_in_a_wrapped_or_moved_value_stay() {
    let wrap = params(&json!({"wrap_array": ["/v"]}), &[]);
    file_becomes(
        "a.yaml",
        &wrap,
        "v:\n  # head\n  y: 1.50 # one\n  z: 2 # last\nb: 1\n",
        "v:\n  # head\n  - y: 1.50 # one\n    z: 2 # last\nb: 1\n",
        json!({"wrap_array": 1}),
    );
    let moving = json!({"schema": {"not": {"required": ["old"]}}, "fixes": {"move": {"/old": "/a/new"}}});
    for (name, before, after) in [
        (
            "b.yaml",
            "old:\n  x: 1 # one\n  y:\n    z: 2 # last\na:\n  b: 1\n",
            "a:\n  b: 1\n  new:\n    x: 1 # one\n    y:\n      z: 2 # last\n",
        ),
        ("c.toml", "old = 1\n\n[a] # why\n", "[a] # why\nnew = 1\n"),
    ] {
        file_becomes(name, &moving, before, after, json!({"move": 1}));
    }
}

#[test]
fn a_comment_that_is_lost_from_a_wrapped_or_moved_value_is_found() {
    let wrap = params(&json!({"wrap_array": ["/v"]}), &[]);
    let moving = json!({"schema": {"not": {"required": ["old"]}}, "fixes": {"move": {"/old": "/new"}}});
    for (params, before, comment) in [
        (wrap.clone(), "v:\n  y: 1.50 # one\n  z: 2\n", " # one"),
        (wrap, "v:\n  y: 1.50 # one\n  z: 2\n", "50"),
        (moving, "old:\n  x: 1 # one\n  y: 2\na: 1\n", " # one"),
    ] {
        let mut params = params;
        params["formats"] = json!(["yaml"]);
        let mut wrong = Recorded::new(&[("a.yaml", before)], &invocation(&params), true);
        let right = wrong.text("a.yaml");
        assert!(wrong.verify().passed && right.contains(comment), "{right}");
        let lossy = right.replacen(comment, if comment == "50" { "5" } else { "" }, 1);
        wrong.replace("a.yaml", &lossy);
        wrong.fails("nothing_else_changed", Some("a.yaml"));
    }
}

#[test]
fn a_table_without_members_gets_its_first_and_loses_its_last() {
    let schema = json!({"properties": {"t": {
        "type": "object", "required": ["m"], "properties": {"m": {"default": 1}}, "additionalProperties": false,
    }}});
    let params = json!({"schema": schema, "fixes": {"defaults": true, "remove_unknown": true}});
    file_becomes("a.toml", &params, "[t]\n\n[u]\nx = 1\n", "[t]\nm = 1\n\n[u]\nx = 1\n", json!({"defaults": 1}));
    let params =
        json!({"schema": {"properties": {"t": {"additionalProperties": false}}}, "fixes": {"remove_unknown": true}});
    file_becomes("b.toml", &params, "[t] # why\nx = 1\n\n[u]\n", "[t] # why\n\n[u]\n", json!({"remove_unknown": 1}));
    let params = json!({"schema": {"properties": {"a": {"type": "array"}}}, "fixes": {"set": {"/a": []}}});
    file_becomes("c.toml", &params, "a = 0\n", "a = []\n", json!({"set": 1}));
}

/// Migrates a file, damages the result, and looks for the failure.
#[track_caller]
fn damage_is_found(name: &str, params: &Value, before: &str, (right, wrong): (&str, &str)) {
    let mut params = params.clone();
    params["formats"] = json!(["jsonc", "yaml", "toml"]);
    let mut recorded = Recorded::new(&[(name, before)], &invocation(&params), true);
    assert_eq!(recorded.text(name), right);
    let report = recorded.verify();
    assert!(report.passed, "{report:#?}");
    recorded.replace(name, wrong);
    recorded.fails("nothing_else_changed", Some(name));
}

#[test]
fn a_comment_beside_another_member_is_found() {
    let adds =
        json!({"schema": {"required": ["d"], "properties": {"d": {"default": true}}}, "fixes": {"defaults": true}});
    for (name, before, right, wrong) in [
        (
            "a.jsonc",
            "{ \"p\": 1 /* p */ }\n",
            "{ \"p\": 1 /* p */, \"d\": true }\n",
            "{ \"p\": 1, \"d\": true /* p */ }\n",
        ),
        (
            "a.jsonc",
            "{ \"p\": 1 /* p */ }\n",
            "{ \"p\": 1 /* p */, \"d\": true }\n",
            "{ \"p\": 1, /* p */ \"d\": true }\n",
        ),
        (
            "a.jsonc",
            "{\n  \"p\": 1 // p\n}\n",
            "{\n  \"p\": 1, // p\n  \"d\": true\n}\n",
            "{\n  \"p\": 1,\n  \"d\": true // p\n}\n",
        ),
        ("a.yaml", "a:\n  b: 1\n  # end\n", "a:\n  b: 1\n  # end\nd: true\n", "a:\n  b: 1\nd: true\n  # end\n"),
        ("a.yaml", "a: 1 # one\n", "a: 1 # one\nd: true\n", "a: 1\nd: true # one\n"),
        ("a.toml", "a = 1 # one\n", "a = 1 # one\nd = true\n", "a = 1\nd = true # one\n"),
        ("a.toml", "a = 1\n\n# of t\n[t]\n", "a = 1\nd = true\n\n# of t\n[t]\n", "a = 1\n# of t\nd = true\n\n[t]\n"),
        (
            "a.toml",
            "a = 1\n\n# loose\n\n[t]\n",
            "a = 1\nd = true\n\n# loose\n\n[t]\n",
            "a = 1\nd = true\n\n# loose\n[t]\n",
        ),
    ] {
        damage_is_found(name, &adds, before, (right, wrong));
    }
}

#[test]
fn a_comment_of_a_removed_member_that_stays_and_one_of_another_that_goes_are_found() {
    let removes = params(&json!({"remove_unknown": true}), &["x"]);
    let (yaml, right) = ("a: 1 # one\n# of x\nx: 2\n# of b\nb: 3\n", "a: 1 # one\n# of b\nb: 3\n");
    for wrong in [
        "a: 1 # one\n# of x\n# of b\nb: 3\n",
        "a: 1 # one\nb: 3\n",
        "a: 1\n# of b\nb: 3\n",
        "a: 1 # one\n\n# of b\n\nb: 3\n",
    ] {
        damage_is_found("a.yaml", &removes, yaml, (right, wrong));
    }
    let (toml, right) = ("a = 1\n# of x\nx = 2 # two\n# of b\nb = 3\n", "a = 1\n# of b\nb = 3\n");
    for wrong in
        ["a = 1\n# of x\n# of b\nb = 3\n", "a = 1 # two\n# of b\nb = 3\n", "a = 1\nb = 3\n", "# of b\na = 1\nb = 3\n"]
    {
        damage_is_found("a.toml", &removes, toml, (right, wrong));
    }
    let (jsonc, right) =
        ("{\n  // head\n  \"x\": 1,\n  /* of b */ \"b\": 2\n}\n", "{\n  // head\n  /* of b */ \"b\": 2\n}\n");
    for wrong in [
        "{\n  /* of b */ \"b\": 2\n}\n",
        "{\n  // head\n  \"b\": 2 /* of b */\n}\n",
        "{ // head\n  /* of b */ \"b\": 2\n}\n",
    ] {
        damage_is_found("a.jsonc", &removes, jsonc, (right, wrong));
    }
    let sets = params(&json!({"set": {"/v": 1}}), &[]);
    damage_is_found("a.yaml", &sets, "v: | # why\n  x\n", ("v: 1 # why\n", "v: 1\n"));
    let banner = ("# licence\nx: 1\nb: 2\n", "# licence\nb: 2\n", "b: 2\n");
    damage_is_found("a.yaml", &removes, banner.0, (banner.1, banner.2));
}

#[test]
fn a_comment_that_a_moved_member_leaves_behind_is_found() {
    let moving = json!({"schema": {"not": {"required": ["old"]}}, "fixes": {"move": {"/old": "/a/new"}}});
    let (before, right) =
        ("k: 0\n# of old\nold: 1 # one\na:\n  b: 1\n", "k: 0\na:\n  b: 1\n  # of old\n  new: 1 # one\n");
    for wrong in [
        "k: 0\n# of old\na:\n  b: 1\n  new: 1 # one\n",
        "k: 0 # one\na:\n  b: 1\n  # of old\n  new: 1\n",
        "k: 0\na:\n  # of old\n  b: 1\n  new: 1 # one\n",
        "k: 0\na:\n  b: 1\n  new: 1 # one\n",
    ] {
        damage_is_found("a.yaml", &moving, before, (right, wrong));
    }
}

#[test]
fn a_changed_anchor_or_alias_beside_an_edit_is_found() {
    let schema = json!({"properties": {"use": {"properties": {"y": {"type": "integer"}}}}});
    let coerces = json!({"schema": schema, "fixes": {"coerce": true}});
    let before = "b: &b {x: 1}\nc: &c {x: 1}\nuse:\n  <<: *b\n  y: '2'\n";
    let right = before.replace("'2'", "2");
    for (from, to) in [("*b", "*c"), ("&c ", ""), ("<<: *b", "x: 1")] {
        damage_is_found("a.yaml", &coerces, before, (&right, &right.replace(from, to)));
    }
    let schema = json!({"properties": {"a": {"required": ["q"], "properties": {"q": {"default": 1}}}}});
    let adds = json!({"schema": schema, "fixes": {"defaults": true}});
    let right = "a = { b.c = 1, q = 1 }\n";
    for wrong in ["a = { b = { c = 1 }, q = 1 }\n", "a.b.c = 1\na.q = 1\n", "a = { b.'c' = 1, q = 1 }\n"] {
        damage_is_found("a.toml", &adds, "a = { b.c = 1 }\n", (right, wrong));
    }
}
