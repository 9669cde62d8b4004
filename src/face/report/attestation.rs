//! The attestation of a run: an in-toto statement in a DSSE envelope, for systems that collect statements about builds and changes.
//!
//! The statement is a [link](https://github.com/in-toto/attestation/blob/main/spec/predicates/link.md). Its subjects are the files that
//! the run left. Its materials are the files and scripts that it began with. Its byproducts are facts of the record.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

use base::{
    change::Stamp,
    error::{Code, Error},
    json,
};
use gate::secrets;
use host::{Asked, Context, Started};
use record::{Record, RunFolder};

/// The type of an envelope's payload.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const LINK: &str = "https://in-toto.io/attestation/link/v0.3";

/// The hashes of each file before and after a run, by path; none: no file.
type Contents = BTreeMap<String, (Option<String>, Option<String>)>;

/// The canonical JSON of the statement about a run that has ended well and changed something, without secrets.
///
/// `record_damaged` if the record is not intact, `invalid_input` if there is nothing to attest.
pub fn statement(context: &Context, folder: &RunFolder) -> Result<String, Error> {
    let nothing = |why: &str| {
        Error::new(Code::InvalidInput, format!("there is nothing to attest of run {}: {why}", folder.id()))
            .hint("attested is what a run that is done has changed")
    };
    let found = record::verify(&context.runs, folder, context.options.threads, &context.options.cancel)?;
    if !found.is_sound() {
        let why = found.findings.first().map_or_else(|| "no head says where it ends".to_owned(), ToString::to_string);
        return Err(Error::new(Code::RecordDamaged, format!("run {} is not attested: {why}", folder.id()))
            .hint("`nrv runs verify` says all that is wrong with its record"));
    }
    let overview = host::overview(context, folder)?;
    if overview.state != "done" {
        return Err(nothing(&format!("it is {}", overview.state)));
    }
    let records = folder.records()?;
    let contents = contents(&records);
    let subjects: Vec<Value> = contents.iter().filter_map(|(path, (_, after))| digest(path, after.as_ref()?)).collect();
    if subjects.is_empty() {
        return Err(nothing("it left no file that it changed"));
    }
    let started = Started::load(folder)?;
    let mut materials: Vec<Value> =
        contents.iter().filter_map(|(path, (before, _))| digest(path, before.as_ref()?)).collect();
    if let Asked::Script { sources, .. } = &started.asked {
        materials.extend(sources.iter().filter_map(|(name, source)| digest(name, &source.sha256.to_string())));
    }
    let removed: Vec<&String> =
        contents.iter().filter(|(_, (_, after))| after.is_none()).map(|(path, _)| path).collect();
    let mut statement = json!({
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": LINK,
        "predicate": {
            "name": overview.subject,
            "command": command(&started.asked),
            "materials": materials,
            "byproducts": byproducts(folder, &records, &started, &removed),
            "environment": {"nrv": started.version, "git_head": started.git_head},
        },
    });
    secrets::redact_json(&mut statement, context.rules.secrets());
    json::canonical(&statement)
}

/// The command that began the run, without what it was given; none of a program that embeds nrv.
fn command(asked: &Asked) -> Vec<&str> {
    match asked {
        Asked::Script { path, .. } => vec!["nrv", "run", path],
        Asked::Session { .. } => vec!["nrv", "repl"],
        Asked::Adapter { tool, .. } => vec!["nrv", "dta", "run", tool],
        Asked::Patch { inputs, .. } => {
            ["nrv", "apply"].into_iter().chain(inputs.iter().map(|input| input.name.as_str())).collect()
        }
        Asked::Edit { tool, .. } => vec!["nrv", "edit", tool.as_str()],
        Asked::Planned { plan } => vec!["nrv", "apply", &plan.name],
        Asked::Rollback { parent, .. } => vec!["nrv", "rollback", parent],
        Asked::Client { .. } => vec!["nrv", "mcp"],
        Asked::Program { .. } => Vec::new(),
    }
}

/// The byproducts of a statement: facts of the record, and the files that the run removed.
fn byproducts(folder: &RunFolder, records: &[Record], started: &Started, removed: &[&String]) -> Value {
    let granted = records.iter().filter_map(|record| record.event.confirmation_granted());
    let confirmed: Vec<Value> = granted.map(|granted| json!({"label": granted.label, "by": granted.by})).collect();
    let verified = records.iter().filter_map(|record| record.event.dta_verified());
    let verified: Vec<Value> = verified
        .map(|verified| json!({"tool": verified.output.tool, "passed": verified.output.verifier.passed}))
        .collect();
    let commitments: Vec<Value> = host::commitments(records)
        .iter()
        .map(|one| serde_json::to_value(one).unwrap_or_default())
        .map(|one| json!({"description": one["description"], "holds": one["ok"]}))
        .collect();
    json!({
        "run": folder.id(),
        "record_sha256": records.last().map(|record| &record.hash),
        "policy_sha256": started.policy_sha256,
        "approved": started.is_locked(),
        "seed": started.seed,
        "confirmations": confirmed,
        "verified": verified,
        "commitments": commitments,
        "removed": removed,
    })
}

/// The hashes of each file before and after the run, if they differ.
fn contents(records: &[Record]) -> Contents {
    let mut contents = Contents::new();
    let hash = |side: Option<Stamp>| side.map(|stamp| stamp.sha256.to_string());
    for entry in records.iter().filter_map(|record| record.event.moved()).flat_map(|moved| &moved.entries) {
        let path = entry.path.to_string();
        contents.entry(path).or_insert_with(|| (hash(entry.before), None)).1 = hash(entry.after);
    }
    contents.retain(|_, (before, after)| before != after);
    contents
}

/// A file as statements name it.
fn digest(name: &str, sha256: &str) -> Option<Value> {
    (!name.is_empty()).then(|| json!({"name": name, "digest": {"sha256": sha256}}))
}

/// The bytes to sign for a payload: DSSE's pre-authentication encoding, version 1.
pub fn to_be_signed(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// The envelope of a payload; a signature is the key's fingerprint and what `ssh-keygen -Y sign` wrote.
pub fn envelope(payload: &[u8], signature: Option<(&str, &str)>) -> Value {
    let sign = |(key, text): (&str, &str)| json!({"keyid": key, "sig": BASE64_STANDARD.encode(text)});
    let signatures: Vec<Value> = signature.into_iter().map(sign).collect();
    json!({"payload": BASE64_STANDARD.encode(payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures})
}

/// Payload and signatures of an envelope; `invalid_input` if it is none that holds a statement.
pub fn opened(envelope: &Value) -> Result<(Vec<u8>, Vec<String>), Error> {
    let wrong = |why: &str| Error::new(Code::InvalidInput, format!("it is no attestation: {why}"));
    if envelope.get("payloadType").and_then(Value::as_str) != Some(PAYLOAD_TYPE) {
        return Err(wrong(&format!("its `payloadType` is not {PAYLOAD_TYPE}")));
    }
    let decoded =
        |value: Option<&Value>| BASE64_STANDARD.decode(value.and_then(Value::as_str).unwrap_or_default()).ok();
    let payload = decoded(envelope.get("payload")).ok_or_else(|| wrong("its payload is not base64"))?;
    let is_object = serde_json::from_slice::<Map<String, Value>>(&payload).is_ok();
    if !is_object {
        return Err(wrong("its payload is not a JSON object"));
    }
    let signatures = envelope.get("signatures").and_then(Value::as_array).cloned().unwrap_or_default();
    let texts = signatures.iter().filter_map(|one| String::from_utf8(decoded(one.get("sig"))?).ok()).collect();
    Ok((payload, texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_the_encoding_of_the_specification() {
        assert_eq!(to_be_signed(b"hello"), b"DSSEv1 28 application/vnd.in-toto+json 5 hello");
    }

    #[test]
    fn an_envelope_is_opened_again() {
        let whole = envelope(b"{}", Some(("SHA256:x", "sig")));
        assert_eq!(opened(&whole).unwrap(), (b"{}".to_vec(), vec!["sig".to_owned()]));
        assert!(opened(&envelope(b"[]", None)).is_err() && opened(&json!({"payload": "e30="})).is_err());
    }
}
