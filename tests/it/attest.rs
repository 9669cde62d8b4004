//! `nrv runs attest`: an in-toto statement about a run in a DSSE envelope, which `ssh-keygen` verifies.
#![expect(clippy::disallowed_methods, reason = "tests run programs and write files")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, process::Command};

use base64::{Engine, prelude::BASE64_STANDARD};
use nrv::base::hash::Sha256;
use serde_json::{Value, json};

use crate::support::{
    keys::Keys,
    site::{MIGRATE, Site},
};

fn decoded(value: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap()
}

#[test]
fn a_statement_names_each_file_as_it_was_and_as_it_is() {
    let site = Site::new(2);
    let before = Sha256::of(&site.read("site/a/p0.html"));
    assert_eq!(site.migrate(&[]).code, 0);
    let envelope: Value = serde_json::from_str(&site.nrv(&["runs", "attest", "last"]).stdout).unwrap();
    assert_eq!(
        (&envelope["payloadType"], &envelope["signatures"]),
        (&json!("application/vnd.in-toto+json"), &json!([]))
    );
    let statement: Value = serde_json::from_slice(&decoded(&envelope["payload"])).unwrap();
    let file = |sha256: Sha256| json!({"name": "site/a/p0.html", "digest": {"sha256": sha256}});
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["subject"].as_array().unwrap().len(), 2);
    assert_eq!(statement["subject"][0], file(Sha256::of(&site.read("site/a/p0.html"))));
    let materials = statement["predicate"]["materials"].as_array().unwrap();
    assert!(materials.contains(&file(before)), "{materials:?}");
    assert!(materials.iter().any(|one| one["name"] == "scripts/migrate_links.rhai"), "{materials:?}");
    let byproducts = &statement["predicate"]["byproducts"];
    assert_eq!(byproducts["verified"], json!([{"tool": "link_updater", "passed": true}]));
    assert_eq!(byproducts["confirmations"], json!([{"label": "review the links", "by": "--yes"}]));
}

#[test]
fn a_signature_is_what_ssh_keygen_verifies() {
    let Some(keys) = Keys::new() else { return };
    let site = Site::new(2);
    site.migrate(&[]);
    let signer = format!("alice@example.com {}\n", keys.public("alice"));
    site.write(".nrv/allowed_signers", &signer);
    let key = keys.path("alice");
    let ran = site.nrv(&["runs", "attest", "last", "--key", key.to_str().unwrap(), "-o", "a.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let envelope: Value = serde_json::from_slice(&site.read("a.json")).unwrap();
    let payload = decoded(&envelope["payload"]);
    let signed = [format!("DSSEv1 28 application/vnd.in-toto+json {} ", payload.len()).as_bytes(), &payload].concat();
    site.write("signed", signed);
    site.write("signed.sig", decoded(&envelope["signatures"][0]["sig"]));
    let mut verify = Command::new("ssh-keygen");
    verify.args(["-q", "-Y", "verify", "-n", "nrv-attest", "-I", "alice@example.com", "-f", ".nrv/allowed_signers"]);
    site.tame(&mut verify).args(["-s", "signed.sig"]).stdin(fs::File::open(site.path("signed")).unwrap());
    assert!(verify.status().unwrap().success());

    let by = |name: &str, file: &str| site.nrv(&["runs", "attest", "--verify", file, "--signer", name]);
    assert_eq!(by("alice@example.com", "a.json").code, 0);
    assert_eq!(by("mallory@example.com", "a.json").code, 4);
    let other = String::from_utf8(payload).unwrap().replace("p0.html", "p9.html");
    let forged = json!({"payload": BASE64_STANDARD.encode(other), "payloadType": envelope["payloadType"], "signatures": envelope["signatures"]});
    site.write("b.json", forged.to_string());
    assert_eq!(by("alice@example.com", "b.json").code, 4);
    let unsigned = json!({"payload": envelope["payload"], "payloadType": envelope["payloadType"], "signatures": []});
    site.write("c.json", unsigned.to_string());
    let ran = by("alice@example.com", "c.json");
    assert!(ran.code == 4 && ran.stderr.contains("it has no signature"), "{ran:?}");
    assert_eq!(by("alice@example.com", "signed").code, 1);
    let ran = site.nrv(&["runs", "attest", "last", "--key", "no-such-key"]);
    assert!(ran.code == 1 && ran.stderr.contains("does not sign") && ran.stdout.is_empty(), "{ran:?}");
}

#[test]
fn only_what_is_done_and_whole_is_attested() {
    let site = Site::new(2);
    site.migrate(&["--dry-run"]);
    let refused = |code: i32, words: &str| {
        let ran = site.nrv(&["runs", "attest", "last", "-o", "x.json"]);
        assert!(ran.code == code && ran.stderr.contains(words), "{ran:?}");
        assert!(!site.path("x.json").exists());
    };
    refused(1, "it left no file that it changed");
    site.nrv(&MIGRATE[..6]);
    refused(1, "it is suspended");
    site.migrate(&[]);
    let events = site.last_run().join("events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(&events, text.replacen("\"seed\":0", "\"seed\":1", 1)).unwrap();
    refused(4, "is not attested");
}
