//! Each kind of fix, proposed and verified.

use super::*;

/// Migrates a file and verifies the result.
#[track_caller]
fn becomes(params: &Value, before: &str, after: &str, counts: Value) {
    let recorded = Recorded::new(&[("a.json", before)], &invocation(params), true);
    let report = recorded.verify();
    assert!(report.passed, "{report:#?}");
    assert_eq!(recorded.text("a.json"), after);
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
    let why = stays(&params, "{\"servers\": [], \"server\": 1}");
    assert!(why.contains("/server rename: both `server` and `servers` exist"), "{why}");
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
