//! Each kind of fix, proposed and verified.

use super::*;

/// Migrates a file and verifies the result.
#[track_caller]
fn becomes(params: &Value, before: &str, after: &str, counts: Value) {
    file_becomes("a.json", params, before, after, counts);
}

#[track_caller]
fn file_becomes(name: &str, params: &Value, before: &str, after: &str, counts: Value) {
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
    assert!(why.contains("2 repairs fit different alternatives"), "{why}");
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
    let schema = json!({"type": "object", "properties": {"python": {"type": "string"}, "id": {"enum": ["1e5"]}, "all": {"items": {"type": "string"}}}});
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
    becomes(&params, &nested("\"1\"", 60), &nested("1", 60), json!({"coerce": 1}));
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
    let report = Recorded::new(&[("a.json", "1.0")], &invocation(&whole), false).verify();
    let failures: Vec<&str> = report.failures.iter().map(|failure| failure.check.as_str()).collect();
    assert_eq!(failures, ["files_valid"], "{report:#?}");
}
