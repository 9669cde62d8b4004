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
