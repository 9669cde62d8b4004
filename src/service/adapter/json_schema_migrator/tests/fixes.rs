//! Each kind of fix, proposed and verified.

use super::*;

/// Migrates a file and verifies the result.
#[track_caller]
fn becomes(params: &Value, before: &str, after: &str, counts: Value) {
    file_becomes("a.json", params, before, after, counts);
}

#[track_caller]
pub(super) fn file_becomes(name: &str, params: &Value, before: &str, after: &str, counts: Value) {
    let mut params = params.clone();
    params["formats"] = json!(["json", "jsonc", "json5", "yaml", "toml"]);
    let recorded = Recorded::new(&[(name, before)], &invocation(&params), true);
    let report = recorded.verify();
    assert!(report.passed, "{report:#?}");
    assert_eq!(recorded.text(name), after);
    let manifest: ManifestRecord =
        serde_json::from_slice(&fs::read(recorded.run.path().join("manifest.json")).unwrap()).unwrap();
    let fixes = manifest.counts.iter().filter(|(name, _)| name.starts_with("fixes_"));
    let fixes: Value =
        fixes.map(|(name, count)| (name.trim_start_matches("fixes_").to_owned(), json!(count))).collect();
    assert_eq!(fixes, counts, "{before}");
}

/// The reasons that a file stays as it is.
#[track_caller]
fn stays(params: &Value, before: &str) -> String {
    let folder = tree(&[("a.json", before)]);
    let proposal = propose_in(folder.path(), 1, &invoked(params, "dry-run")).unwrap();
    assert!(proposal.changes.is_empty());
    proposal
        .baseline
        .findings
        .iter()
        .map(|one| format!("{} {}: {}", one.place, one.kind, one.reason))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn members_are_renamed_and_moved() {
    let schema = json!({"type": "object", "required": ["servers"], "additionalProperties": false, "properties": {
        "servers": {"type": "array", "items": {"type": "object", "required": ["port"], "additionalProperties": false,
            "properties": {"port": {"type": "integer"}, "tls": {"type": "object"}}}},
    }});
    let fixes = json!({"rename": {"/server": "servers", "/servers/*/Port": "/servers/*/port"}, "move": {"/servers/*/cert": "/servers/*/tls/cert"}});
    let params = json!({"schema": schema, "fixes": fixes});
    becomes(
        &params,
        "{\"servers\": [ {\"Port\": 1}, {\"port\":2, \"cert\": \"x\"} ]}",
        "{\"servers\": [ {\"port\": 1}, {\"port\":2, \"tls\": {\"cert\": \"x\"}} ]}",
        json!({"rename": 1, "move": 1}),
    );
    let both = "{\"servers\": [], \"server\": 1}";
    let why = stays(&params, both);
    assert!(why.contains("/server rename: both `server` and `servers` exist"), "{why}");
    let mut removing = params.clone();
    removing["fixes"]["remove_unknown"] = json!(true);
    assert_eq!(stays(&removing, both), why.lines().last().unwrap_or_default());
}

#[test]
fn values_are_set_mapped_and_wrapped() {
    let schema = json!({"type": "object", "required": ["v"], "properties": {
        "v": {"const": 2}, "color": {"$ref": "#/$defs/color"}, "level": {"enum": ["low", "high"]}, "tags": {"type": "array", "items": {"type": "string"}},
    }, "$defs": {"color": {"enum": ["gray"]}}});
    let fixes = json!({"set": {"/v": 2}, "enum": {"#/$defs/color": {"grey": "gray"}, "/level": {"1": "low"}}, "wrap_array": true});
    becomes(
        &json!({"schema": schema, "fixes": fixes}),
        "{\"v\": 1, \"color\": \"grey\", \"level\": 1, \"tags\": \"x\"}",
        "{\"v\": 2, \"color\": \"gray\", \"level\": \"low\", \"tags\": [\"x\"]}",
        json!({"set": 1, "enum": 2, "wrap_array": 1}),
    );
}

#[test]
fn an_alternative_is_repaired_if_it_is_the_only_one() {
    let any = |branches: Value| json!({"schema": {"anyOf": branches}, "fixes": {"coerce": true, "remove_unknown": true, "defaults": true}});
    let one =
        any(json!([{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"type": "null"}]));
    becomes(&one, "{\"a\": \"1\"}", "{\"a\": 1}", json!({"coerce": 1}));
    let two = any(
        json!([{"properties": {"x": true}, "additionalProperties": false, "type": "object"}, {"properties": {"y": true}, "additionalProperties": false, "type": "object"}]),
    );
    let why = stays(&two, "{\"x\": 1, \"y\": 2}");
    assert!(why.contains("without members that another one names"), "{why}");
    let kinds = any(json!([
        {"type": "object", "required": ["kind", "n"], "properties": {"kind": {"const": "a"}, "n": {"default": 1}}},
        {"type": "object", "required": ["kind", "m"], "properties": {"kind": {"const": "b"}, "m": {"default": 2}}},
    ]));
    becomes(&kinds, "{\"kind\": \"b\"}", "{\"kind\": \"b\", \"m\": 2}", json!({"defaults": 1}));
}

#[test]
fn a_file_enters_the_chain_at_its_version() {
    let last = json!({"type": "object", "required": ["version", "port"], "additionalProperties": false, "properties": {
        "version": {"const": 3}, "port": {"type": "integer"}, "mode": {"type": "string"},
    }});
    let params = json!({"schema": last, "fixes": {"steps": {"version_member": "/version", "chain": [
        {"from": 1, "to": 2, "fixes": {"rename": {"/Port": "port"}}, "schema": {"required": ["port"]}},
        {"from": 2, "to": 3, "fixes": {"coerce": true, "set": {"/mode": "x"}}},
    ]}, "coerce": true}});
    becomes(
        &params,
        "{\"version\": 1, \"Port\": \"80\"}",
        "{\"version\": 3, \"port\": 80, \"mode\": \"x\"}",
        json!({"steps": 2, "rename": 1, "set": 1, "coerce": 1}),
    );
    becomes(
        &params,
        "{\"version\": 2, \"port\": 80}",
        "{\"version\": 3, \"port\": 80, \"mode\": \"x\"}",
        json!({"steps": 1, "set": 1}),
    );
    assert!(stays(&params, "{\"version\": 1, \"port\": []}").contains("type"));
    assert!(stays(&params, "{\"version\": 7, \"port\": 1}").contains("/version const"));
}

#[test]
fn a_valid_file_is_never_touched() {
    let params = json!({"schema": server(), "fixes": {"defaults": "all", "remove_unknown": "all", "set": {"/note": "x"}, "coerce": true}});
    assert_eq!(stays(&params, "{\"name\": \"a\", \"port\": 1, \"mode\": \"safe\"}"), "");
}

#[test]
fn a_number_becomes_the_text_that_it_is_written_as() {
    let schema = json!({"type": "object", "properties": {"python": {"type": "string"}, "id": {"type": "string", "enum": ["1e5"]}, "all": {"items": {"type": "string"}}}});
    let params = json!({"schema": schema, "fixes": {"coerce": true, "rename": {"/version": "python"}, "move": {"/first": "/id"}}});
    let (before, after) =
        ("version: 3.10\nfirst: 1e5\nall: [1.0, 0755]\n", "python: \"3.10\"\nall: [\"1.0\", \"0755\"]\nid: \"1e5\"\n");
    file_becomes("a.yaml", &params, before, after, json!({"coerce": 4, "rename": 1, "move": 1}));
    becomes(
        &params,
        "{\"python\": 12345678901234567890123}",
        "{\"python\": \"12345678901234567890123\"}",
        json!({"coerce": 1}),
    );
}

#[test]
fn alternatives_within_alternatives_take_no_longer_than_the_file() {
    let list = |more: Value| {
        let mut list = json!({"type": "array", "items": {"$ref": "#/$defs/n"}});
        list.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        list
    };
    let schema = |branches: Value| json!({"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": branches}}});
    let nested = |inner: &str, depth: usize| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    let fixes = json!({"coerce": true, "defaults": true});
    let params = json!({"schema": schema(json!([list(json!({})), {"type": "integer"}])), "fixes": fixes});
    becomes(&params, &nested("\"1\"", 40), &nested("1", 40), json!({"coerce": 1}));
    let both = schema(json!([list(json!({"maxItems": 3})), list(json!({"maxItems": 4})), {"type": "integer"}]));
    let why = stays(&json!({"schema": both, "fixes": fixes}), &nested("\"x\"", 14));
    assert!(why.contains(" limit: "), "{why}");
}

#[test]
fn a_member_that_another_requires_gets_its_default() {
    let schema = json!({"type": "object", "properties": {"card": true, "address": {"default": "none"}, "note": {"default": ""}},
        "dependentRequired": {"card": ["address"], "other": ["note"]}});
    let params = json!({"schema": schema, "fixes": {"defaults": true}});
    becomes(&params, "{\"card\": 1}", "{\"card\": 1, \"address\": \"none\"}", json!({"defaults": 1}));
}

#[test]
fn an_empty_pointer_is_the_whole_file() {
    let mapped = json!({"schema": {"enum": ["new"]}, "fixes": {"enum": {"": {"old": "new"}}}});
    becomes(&mapped, "\"old\"\n", "\"new\"\n", json!({"enum": 1}));
    let wrapped = json!({"schema": {"type": "array"}, "fixes": {"wrap_array": [""]}});
    becomes(&wrapped, "{\"a\": 1.50}\n", "[{\"a\": 1.50}]\n", json!({"wrap_array": 1}));
    let set = json!({"schema": {"const": []}, "fixes": {"set": {"": []}}});
    becomes(&set, "1 \n", "[] \n", json!({"set": 1}));
}

#[test]
fn keys_in_headers_and_before_dots_are_those_of_their_tables() {
    let schema = json!({"type": "object", "required": ["new"], "additionalProperties": false, "properties": {
        "new": {"type": "object"}, "list": {"items": {"required": ["n"], "properties": {"n": {"default": 1}}}},
    }});
    let params =
        json!({"schema": schema, "fixes": {"rename": {"/old": "new"}, "remove_unknown": true, "defaults": true}});
    let before = "[old] # here\nx = 1\n\n[old.\"s.t\"]\ny.z = 2\n\n[[list]]\nn = 2\n\n[[list]]\n\n[bad.worse]\nq = 1\n";
    let after = "[new] # here\nx = 1\n\n[new.\"s.t\"]\ny.z = 2\n\n[[list]]\nn = 2\n\n[[list]]\nn = 1\n";
    file_becomes("a.toml", &params, before, after, json!({"rename": 1, "remove_unknown": 1, "defaults": 1}));
    let dotted = json!({"schema": {"properties": {"a": {"required": ["c"], "properties": {"c": {"default": 2}}}}}, "fixes": {"defaults": true}});
    file_becomes("a.toml", &dotted, "a.b = 1\n", "a.b = 1\na.c = 2\n", json!({"defaults": 1}));
}

#[test]
fn both_validators_have_to_accept_a_file() {
    let price = json!({"schema": {"properties": {"price": {"multipleOf": 0.01}}}});
    assert_eq!(stays(&price, "{\"price\": 4.02}"), "");
    let recorded = Recorded::new(&[("a.json", "{\"price\": 4.02}")], &invocation(&price), false);
    assert!(recorded.verify().passed, "{:#?}", recorded.verify());
    // Draft 4 has no integer `1.0`; the second validator is lenient.
    let whole = json!({"schema": {"type": "integer"}, "draft": "4", "formats": ["json"]});
    let report = Recorded::new(&[("a.json", "1.0")], &invoked(&whole, "dry-run"), false).verify();
    let failures: Vec<&str> = report.failures.iter().map(|failure| failure.check.as_str()).collect();
    assert_eq!(failures, ["files_valid"], "{report:#?}");
}

const LATEST: &str = "https://json-schema.org/draft/2020-12/schema";

#[test]
fn a_member_that_the_schema_names_is_not_removed() {
    let base = |more: Value| {
        let mut schema = json!({"$schema": LATEST, "unevaluatedProperties": false});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"schema": schema, "fixes": {"remove_unknown": true}})
    };
    let inner = base(json!({"allOf": [{"properties": {"a": {"type": "integer"}}}]}));
    stays(&inner, "{\"a\": \"1\"}");
    becomes(&inner, "{\"a\": 1, \"b\": 2}", "{\"a\": 1}", json!({"remove_unknown": 1}));
    let any = json!([{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}]);
    stays(&base(json!({"anyOf": any})), "{\"a\": \"zz\", \"b\": 5}");
    let kinds = json!([
        {"properties": {"kind": {"const": "a"}, "x": true}, "required": ["kind"]},
        {"properties": {"kind": {"const": "b"}, "y": true}, "required": ["kind"]},
    ]);
    becomes(
        &base(json!({"anyOf": kinds})),
        "{\"kind\": \"a\", \"x\": 1, \"y\": 2}",
        "{\"kind\": \"a\", \"x\": 1}",
        json!({"remove_unknown": 1}),
    );
    for keyword in ["unevaluatedProperties", "additionalProperties"] {
        let mut params = json!({"schema": {"$schema": LATEST, "properties": {"a": {"type": "integer"}}, keyword: {"type": "string"}}, "fixes": {"remove_unknown": true}});
        stays(&params, "{\"a\": 1, \"b\": 5}");
        params["fixes"]["remove_unknown"] = json!("failing");
        becomes(&params, "{\"a\": 1, \"b\": 5}", "{\"a\": 1}", json!({"remove_unknown": 1}));
    }
}

#[test]
fn all_removes_what_no_subschema_names() {
    let params = |schema: Value| json!({"schema": schema, "fixes": {"remove_unknown": "all", "coerce": true}});
    let inner = params(
        json!({"properties": {"a": {"type": "integer"}}, "allOf": [{"properties": {"b": {"type": "integer"}}}]}),
    );
    becomes(
        &inner,
        "{\"a\": \"1\", \"b\": 2, \"c\": 3}",
        "{\"a\": 1, \"b\": 2}",
        json!({"coerce": 1, "remove_unknown": 1}),
    );
    let condition = params(json!({
        "properties": {"kind": {"type": "string"}}, "if": {"properties": {"kind": {"const": "x"}}},
        "then": {"properties": {"b": {"type": "integer"}}},
    }));
    becomes(&condition, "{\"kind\": \"x\", \"b\": \"2\"}", "{\"kind\": \"x\", \"b\": 2}", json!({"coerce": 1}));
    let nested = params(json!({
        "properties": {"o": {"properties": {"a": true}}}, "anyOf": [{"properties": {"o": {"properties": {"b": true}}}}],
        "required": ["n"], "allOf": [{"properties": {"n": {"type": "integer"}}}],
    }));
    becomes(
        &nested,
        "{\"o\": {\"a\": 1, \"b\": 1, \"c\": 1}, \"n\": \"1\"}",
        "{\"o\": {\"a\": 1, \"b\": 1}, \"n\": 1}",
        json!({"coerce": 1, "remove_unknown": 1}),
    );
}

#[test]
fn nothing_is_removed_without_need_in_a_chain_of_steps() {
    let schema = json!({
        "$schema": LATEST, "properties": {"c": {"type": "integer", "default": 3}, "version": {"const": 2}}, "required": ["version"],
        "allOf": [{"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["c"]}], "unevaluatedProperties": false,
    });
    let fixes = json!({"remove_unknown": true, "defaults": true, "steps": {"version_member": "/version", "chain": [{"from": 1, "to": 2}]}});
    becomes(
        &json!({"schema": schema, "fixes": fixes}),
        "{\"version\": 1, \"a\": 1, \"b\": \"x\"}",
        "{\"version\": 2, \"a\": 1, \"b\": \"x\", \"c\": 3}",
        json!({"steps": 1, "defaults": 1}),
    );
}

#[test]
fn the_last_step_has_the_schema_of_the_parameters() {
    let schema = json!({"required": ["version"], "properties": {"version": {"const": 3}, "x": {"type": "string"}}});
    let own = json!({"properties": {"y": {"type": "integer"}}});
    let params = json!({"schema": schema, "fixes": {"steps": {"version_member": "/version", "chain": [
        {"from": 1, "to": 2, "schema": own, "fixes": {"coerce": true}}, {"from": 2, "to": 3, "fixes": {"coerce": true}},
    ]}}});
    becomes(
        &params,
        "{\"version\": 1, \"x\": 1, \"y\": \"2\"}",
        "{\"version\": 3, \"x\": \"1\", \"y\": 2}",
        json!({"steps": 2, "coerce": 2}),
    );
    let deep = json!({"schema": {"required": ["x"]}, "fixes": {"set": {"/x": 1}, "steps": {"version_member": "/meta/version", "chain": [{"from": null, "to": 2}]}}});
    assert!(stays(&deep, "{}").contains("the object of the version is missing"));
}

#[test]
fn each_value_is_mapped_once_and_in_the_schema_itself() {
    let map = |schema: Value, map: Value| json!({"schema": schema, "fixes": {"enum": map, "coerce": true}});
    let color = json!({"properties": {"c": {"enum": ["b", "c"]}, "n": {"type": "integer"}}});
    let chain = map(color, json!({"#/properties/c": {"a": "b", "b": "c"}}));
    becomes(&chain, "{\"c\": \"a\"}", "{\"c\": \"b\"}", json!({"enum": 1}));
    let swap = map(
        json!({"properties": {"c": {"enum": ["a", "b"]}, "n": {"type": "integer"}}}),
        json!({"#/properties/c": {"a": "b", "b": "a"}}),
    );
    becomes(&swap, "{\"c\": \"a\", \"n\": \"1\"}", "{\"c\": \"b\", \"n\": 1}", json!({"enum": 1, "coerce": 1}));
    let twice = map(
        json!({"properties": {"c": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"enum": ["x"]}}}),
        json!({"#/properties/c": {"a": "x"}, "#/$defs/c": {"a": "y"}}),
    );
    assert!(stays(&twice, "{\"c\": \"a\"}").contains("different values"));
    let files = [
        ("schemas/a.json", "{\"properties\": {\"c\": {\"enum\": [\"red\"]}, \"o\": {\"$ref\": \"b.json\"}}}"),
        ("schemas/b.json", "{\"properties\": {\"c\": {\"type\": \"string\"}}}"),
        ("x.json", "{\"c\": \"rot\", \"o\": {\"c\": \"rot\"}}"),
    ];
    let params = json!({"schema": "schemas/a.json", "fixes": {"enum": {"#/properties/c": {"rot": "red"}}}});
    let recorded = Recorded::new(&files, &invocation(&params), true);
    assert!(recorded.verify().passed, "{:#?}", recorded.verify());
    assert_eq!(recorded.text("x.json"), "{\"c\": \"red\", \"o\": {\"c\": \"rot\"}}");
}

#[test]
fn a_fix_that_a_file_does_not_admit_leaves_it_whole() {
    let params = |fixes: Value| json!({"schema": {"required": ["f"]}, "fixes": fixes});
    let moved = params(json!({"move": {"/arr/0": "/f"}}));
    assert!(stays(&moved, "{\"arr\": [1]}").contains("only members of objects move"));
    let gathered = params(json!({"move": {"/*/port": "/f/*"}}));
    becomes(&gathered, "{\"a\": {\"port\": 1}}", "{\"a\": {}, \"f\": {\"a\": 1}}", json!({"move": 1}));
    let removed = json!({"schema": {"properties": {"b": true}, "additionalProperties": false}, "fixes": {"rename": {"/a": "b"}, "remove_unknown": true}});
    assert!(stays(&removed, "{\"a\": 1, \"b\": 2}").contains("both `a` and `b` exist"));
}

#[test]
fn items_are_set_at_indexes_that_exist() {
    let set = |at: &str| json!({"schema": {"properties": {"n": {"type": "integer"}}}, "fixes": {"coerce": true, "set": {at: 5}}});
    for at in ["/arr/1", "/arr/+0", "/arr/00", "/arr/-"] {
        becomes(&set(at), "{\"n\": \"1\", \"arr\": [1]}", "{\"n\": 1, \"arr\": [1]}", json!({"coerce": 1}));
    }
    becomes(&set("/arr/0"), "{\"n\": \"1\", \"arr\": [1]}", "{\"n\": 1, \"arr\": [5]}", json!({"coerce": 1, "set": 1}));
}

#[test]
fn no_digit_of_a_number_is_lost() {
    let params = |kind: &str, mode: Value| json!({"schema": {"properties": {"v": {"type": kind}}}, "fixes": {"coerce": mode, "rename": {"/w": "v"}}});
    let text = params("string", json!(true));
    for number in ["12345678901234567890123", "18446744073709551617", "0.1234567890123456789", "1.10", "1.0"] {
        let [before, renamed, after] =
            [format!("{{\"v\": {number}}}"), format!("{{\"w\": {number}}}"), format!("{{\"v\": \"{number}\"}}")];
        becomes(&text, &before, &after, json!({"coerce": 1}));
        becomes(
            &json!({"schema": {"required": ["v"], "properties": {"v": {"type": "string"}}}, "fixes": text["fixes"]}),
            &renamed,
            &after,
            json!({"coerce": 1, "rename": 1}),
        );
    }
    let number = params("number", json!(true));
    for text in
        ["9007199254740993.0", "9007199254740993e0", "12345678901234567890.5", "0.1234567890123456789012", "1e-400"]
    {
        assert!(stays(&number, &format!("{{\"v\": \"{text}\"}}")).contains("type"), "{text}");
    }
    let item = params("number", json!("array"));
    becomes(&item, "{\"v\": [1.5]}", "{\"v\": 1.5}", json!({"coerce": 1}));
    assert!(stays(&item, "{\"v\": [12345678901234567890123]}").contains("type"));
    becomes(&params("array", json!("array")), "{\"v\": 1.10}", "{\"v\": [1.10]}", json!({"wrap_array": 1}));
}

#[test]
fn an_alternative_is_not_reached_by_removing_what_another_one_names() {
    let forms = json!([
        {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"], "additionalProperties": false},
        {"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false},
    ]);
    let params = |fixes: Value| json!({"schema": {"properties": {"source": {"anyOf": forms}}}, "fixes": fixes});
    let why = stays(&params(json!({"remove_unknown": true})), "{\"source\": {\"url\": 5}}");
    assert!(why.contains("without members that another one names"), "{why}");
    becomes(
        &params(json!({"remove_unknown": true, "coerce": true})),
        "{\"source\": {\"url\": 5, \"x\": 1}}",
        "{\"source\": {\"url\": \"5\"}}",
        json!({"coerce": 1, "remove_unknown": 1}),
    );
}

#[test]
fn defaults_have_the_order_of_the_required_members() {
    let schema =
        json!({"required": ["z", "a"], "properties": {"a": {"default": 1}, "b": {"default": 2}, "z": {"default": 3}}});
    let params = json!({"schema": schema, "fixes": {"defaults": "all"}});
    becomes(&params, "{\"x\": 0}", "{\"x\": 0, \"z\": 3, \"a\": 1, \"b\": 2}", json!({"defaults": 3}));
}

#[test]
fn an_empty_object_is_wrapped() {
    for wrap in [json!(true), json!(["/c"])] {
        let params = json!({"schema": {"properties": {"c": {"type": "array"}}}, "fixes": {"wrap_array": wrap}});
        becomes(&params, "{\"c\": {}}", "{\"c\": [{}]}", json!({"wrap_array": 1}));
        file_becomes("a.toml", &params, "c = {}\n", "c = [{}]\n", json!({"wrap_array": 1}));
    }
}

#[test]
fn two_fixes_may_meet_at_one_value() {
    let array = |items: Value, fixes: Value| json!({"schema": {"properties": {"a": {"type": "array", "items": items}}}, "fixes": fixes});
    let modes = json!({"coerce": "array"});
    becomes(
        &array(json!({"type": "string"}), modes.clone()),
        "{\"a\": 5}",
        "{\"a\": [\"5\"]}",
        json!({"wrap_array": 1, "coerce": 1}),
    );
    becomes(
        &array(json!({"type": "integer"}), modes),
        "{\"a\": \"5\"}",
        "{\"a\": [5]}",
        json!({"wrap_array": 1, "coerce": 1}),
    );
    let both = json!({"coerce": true, "wrap_array": true});
    becomes(
        &array(json!({"type": "integer"}), both),
        "{\"a\": \"5\"}",
        "{\"a\": [5]}",
        json!({"wrap_array": 1, "coerce": 1}),
    );
    let object = json!({"type": "object", "required": ["q"], "properties": {"q": {"default": 1}}});
    becomes(
        &array(object, json!({"wrap_array": true, "defaults": true})),
        "{\"a\": {\"z\":1}}",
        "{\"a\": [{\"z\":1, \"q\":1}]}",
        json!({"wrap_array": 1, "defaults": 1}),
    );
    becomes(
        &array(json!({"type": "array"}), json!({"wrap_array": true})),
        "{\"a\": 1}",
        "{\"a\": [[1]]}",
        json!({"wrap_array": 2}),
    );
}

#[test]
fn many_changes_are_proven_at_once() {
    let item = json!({"required": ["d"], "additionalProperties": false, "properties": {"a": {"type": "integer"}, "d": {"default": 1}}});
    let params =
        json!({"schema": {"items": item}, "fixes": {"coerce": true, "defaults": true, "remove_unknown": true}});
    let file = |item: &str| format!("[{}]", vec![item; 500].join(","));
    becomes(
        &params,
        &file("{\"a\": \"1\", \"b\": 2}"),
        &file("{\"a\": 1, \"d\": 1}"),
        json!({"coerce": 500, "defaults": 500, "remove_unknown": 500}),
    );
}
