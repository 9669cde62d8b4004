//! Fixes that contradict each other are refused before any file is read.

use super::*;

#[track_caller]
fn refused(fixes: &Value, message: &str) {
    let files = [("schemas/a.json", "{}"), ("a.json", "{\"a\": 1}")];
    let input = invocation(&json!({"schema": {"properties": {"c": {"enum": ["a"]}}}, "fixes": fixes}));
    let error = propose_in(tree(&files).path(), 1, &input).unwrap_err();
    assert_eq!(error.code(), Code::InvalidInput, "{fixes}: {error}");
    assert!(error.message().contains(message), "{fixes}: {error}");
    assert!(error.hint_text().is_some(), "{fixes}: {error}");
}

fn accepted(fixes: &Value) {
    let input = invoked(&json!({"schema": true, "fixes": fixes}), "dry-run");
    propose_in(tree(&[("a.json", "{}")]).path(), 1, &input).unwrap();
}

#[test]
fn fixes_at_pointers_do_not_meet() {
    for fixes in [
        json!({"rename": {"/a": "b", "/b": "c"}}),
        json!({"rename": {"/a": "b", "/b": "a"}}),
        json!({"rename": {"/a": "z", "/b": "z"}}),
        json!({"rename": {"/*/a": "z", "/x/b": "z"}}),
        json!({"rename": {"/a": "b", "/a/x": "y"}}),
        json!({"rename": {"/a": "b"}, "move": {"/b": "/c"}}),
        json!({"rename": {"/a": "b"}, "move": {"/a": "/c"}}),
        json!({"rename": {"/a": "b"}, "move": {"/c": "/b"}}),
        json!({"rename": {"/a": "b"}, "set": {"/b": 1}}),
        json!({"rename": {"/a": "b"}, "set": {"/a": 1}}),
        json!({"rename": {"/a": "b"}, "enum": {"/a": {"x": "y"}}}),
        json!({"move": {"/a": "/m", "/m": "/z"}}),
        json!({"move": {"/a": "/m", "/b": "/m/x"}}),
        json!({"move": {"/a/b": "/c", "/a": "/d"}}),
        json!({"move": {"/a": "/m"}, "set": {"/m": 1}}),
        json!({"set": {"/o": {}, "/o/a": 1}}),
        json!({"set": {"/*/a": 1, "/o/a": 2}}),
        json!({"set": {"/o": {}}, "wrap_array": ["/o/a"]}),
        json!({"set": {"/o": "x"}, "enum": {"/o": {"x": "y"}}}),
        json!({"wrap_array": ["/o"], "enum": {"/o": {"x": "y"}}}),
        json!({"enum": {"/*": {"x": "y"}, "/o": {"y": "z"}}}),
    ] {
        refused(&fixes, "contradict");
    }
    for fixes in [
        json!({"rename": {"/server": "servers", "/servers/*/Port": "port"}}),
        json!({"rename": {"/a": "b"}, "enum": {"/b": {"x": "y"}}, "wrap_array": ["/c"], "set": {"/b2": 1}}),
        json!({"rename": {"/a": "b"}, "wrap_array": ["/b"], "set": {"/b/x": 1}}),
        json!({"move": {"/a": "/m/x", "/b": "/m/y"}}),
        json!({"wrap_array": ["/o", "/o/*/p"], "enum": {"/o/*": {"x": "y"}}}),
        json!({"set": {"/o/a": 1, "/o/b": 2}}),
    ] {
        accepted(&fixes);
    }
}

#[test]
fn a_fix_that_can_never_be_made_is_refused() {
    refused(&json!({"move": {"/a": "/a/b"}}), "one of which is inside the other");
    refused(&json!({"move": {"/a/b": "/a"}}), "one of which is inside the other");
    refused(&json!({"move": {"/arr/*": "/f/x*"}}), "number of places");
    refused(&json!({"rename": {"/a": "a"}}), "the same name");
    refused(&json!({"rename": {"/a": "/o/a"}}), "not a name in the same object");
    refused(&json!({"enum": {"#/properties/nope": {"x": "y"}}}), "not in the schema");
    refused(&json!({"enum": {"/c": {"1": "x", " 1": "y"}}}), "two new values of 1");
}

#[test]
fn steps_are_a_chain() {
    let chain = |steps: Value| json!({"steps": {"version_member": "/version", "chain": steps}});
    refused(&chain(json!([{"from": 1, "to": 2}, {"from": 5, "to": 6}])), "is followed by one from 5");
    refused(&chain(json!([{"from": 1, "to": 2}, {"from": 2, "to": 1}])), "leads back");
    refused(&chain(json!([{"from": 1, "to": 1}])), "leads back");
    refused(&chain(json!([{"from": 1, "to": 2, "fixes": {"set": {"/version": 3}}}])), "contradict");
    refused(
        &chain(json!([{"from": 1, "to": 2, "fixes": {"coerce": true}}, {"from": 2, "to": 3}])),
        "the step from 1 to 2 has fixes by the schema and no schema",
    );
}

#[test]
fn a_schema_that_would_change_is_refused() {
    let files = [
        ("s.json", "{\"properties\": {\"a\": {\"type\": \"integer\"}}, \"additionalProperties\": false}"),
        ("x.json", "{\"a\": 1, \"b\": 2}"),
    ];
    let params = json!({"schema": "s.json", "fixes": {"remove_unknown": true}});
    let error = propose_in(tree(&files).path(), 1, &invoked(&params, "dry-run")).unwrap_err();
    assert_eq!((error.code(), error.hint_text().unwrap().contains("`!s.json`")), (Code::InvalidInput, true), "{error}");
}

#[test]
fn a_schema_that_can_not_be_used_is_refused_with_a_next_step() {
    let refused = |schema: Value, message: &str| {
        let input = invocation(&json!({"schema": schema}));
        let error = propose_in(tree(&[("a.json", "{}")]).path(), 1, &input).unwrap_err();
        assert!(error.message().contains(message) && error.hint_text().is_some(), "{error} {:?}", error.hint_text());
    };
    refused(json!({"$ref": "#"}), "leads back to itself at `#`");
    let circle = json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}});
    refused(circle, "leads back to itself at `#/$defs/a`");
    refused(json!({"pattern": "("}), "is not a regular expression");
    refused(json!({"pattern": "(a{1000}){1000}"}), "is too large");
    refused(json!({"pattern": "(?=a)b"}), "linear time");
    refused(json!({"type": 5}), "is not a JSON Schema");
    refused(json!({"$schema": "https://example.com/mine"}), "no known draft");
    refused(json!({"$ref": "#/$defs/none"}), "can't be followed");
    refused(json!("nope.json"), "nope.json");
    let list = json!({"$ref": "#/$defs/list", "$defs": {"list": {"properties": {"next": {"$ref": "#/$defs/list"}}}}});
    propose_in(tree(&[("a.json", "{}")]).path(), 1, &invocation(&json!({"schema": list}))).unwrap();
}
