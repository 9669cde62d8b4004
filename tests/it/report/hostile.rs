//! A record is untrusted: none of its text becomes markup, moves a cursor, or shows a secret.

use serde_json::{Value, json};

use super::{model, page, part, text};
use crate::support::{record::Forged, site::Site};

/// Markup in every form that could get out of a text, an attribute or a title.
pub(super) const MARKUP: &str =
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)><style>*{display:none}</style></title><!--";

/// Characters that move a cursor or turn a text around.
const CONTROLS: &str = "a\u{1b}[2Jb\u{202e}c\u{2066}d\u{7}e\rf";

/// A record in which every text is `evil`.
pub(super) fn record(site: &Site, evil: &str) {
    let asked = json!({
        "kind": "script", "path": evil, "sources": {evil: evil}, "args": {evil: evil, "list": [evil]},
    });
    let mut run = Forged::new(site, &asked, "apply");
    let hash = "ab".repeat(32);
    let result = json!({
        "decision": "block", "gate_name": evil, "reason": evil, "remediation": evil, "triggered_rules": [evil],
        "config_sha256": hash, "input_sha256": hash,
    });
    run.event(
        evil,
        "call",
        json!({
            "call": evil, "args": {"path": evil}, "decision": "block", "results": [result.clone()],
            "error": {"code": "io", "message": evil}, "cost": {evil: 3},
        }),
    );
    let mut other = result.clone();
    other["decision"] = json!("warn");
    run.event(evil, "judged", json!({"decision": "warn", "results": [other], "patch": {"path": evil}, "files": []}));
    run.event(
        evil,
        "call",
        json!({"call": "custom", "args": {"name": evil, "params": {"text": evil}}, "decision": "allow", "reply": 1}),
    );
    run.event(
        evil,
        "confirmation_granted",
        json!({
            "id": evil, "label": evil, "by": evil, "reason": evil, "subject": evil, "policy_sha256": evil,
            "patch_sha256": evil, "expires_at": evil, "shown_by": evil,
        }),
    );
    let verifier = json!({
        "passed": false, "sample_size": 0, "checks": [evil], "failures": [{"check": evil, "path": evil, "reason": evil}], "remarks": [evil],
    });
    run.event(
        evil,
        "dta_verified",
        json!({
            "tool": evil, "after": {}, "output": {
                "tool": evil, "ok": false, "phase": "verify", "baseline": {evil: 1}, "proposed_changes": {evil: 1},
                "applied_changes": {}, "artifacts": [], "verifier": verifier,
            },
        }),
    );
    let line = evil.replace('\n', " ");
    let quoted = format!(
        "diff --git \"a/q\" \"b/q\"\n--- a/q\n+++ b/q\n@@ -1 +1 @@ {line}\n-{line} one\n+{line} two\n\\ {line}\n"
    );
    run.committed(evil, "t1", &[("q", &quoted), (evil, "")]);
    run.event(
        "",
        "undone",
        json!({"transaction": evil, "entries": [{"path": format!("{evil}2"), "before": null, "after": null}]}),
    );
    run.event("", "run_resumed", json!({"approved": {"id": evil, "by": evil, "reason": evil}}));
    run.event("", "dta_failed", json!({"tool": evil, "code": "io", "reason": evil}));
    run.event("", "run_other", json!({"x": evil}));
    let evaluation = json!({"evaluator": evil, "passed": true, "value": 1, "limit": 2, "details": {evil: evil}});
    run.end(site, "failed", &json!({
        "exit_code": 1, "evaluations": [evaluation], "metrics": {evil: 3, "own": evil}, "would_ask": [{"label": evil}],
        "error": {"code": "script_failed", "message": evil, "hint": evil, "script": {"path": evil, "line": 1, "column": 1}},
        "violations": [result],
    }));
}

#[test]
fn no_markup_of_a_record_survives_on_the_page() {
    let site = Site::new(0);
    record(&site, MARKUP);
    let page = page(&site);
    // Wherever it stands, it stands as text.
    for word in ["<script", "<img", "onerror=alert(2)>", "</title><!--", "<style>*", "\"'>"] {
        assert!(!page.contains(word), "{word} survived");
    }
    assert_eq!((page.matches("<style").count(), page.matches("</title>").count()), (1, 1));
    assert!(page.matches("&lt;script&gt;").count() > 30, "{page}");
    for tag in page.split('<').skip(1).filter_map(|tag| tag.split('>').next()) {
        let names: String = tag.split('"').step_by(2).collect();
        assert!(!names.contains(" on") && !names.contains(" style"), "{tag}");
    }
    model(&site);
}

#[test]
fn controls_and_turned_text_are_visible_on_the_page_and_in_the_text() {
    let site = Site::new(0);
    record(&site, CONTROLS);
    for shown in [page(&site), text(&site)] {
        let hidden =
            |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let found: Vec<char> = shown.chars().filter(|c| hidden(*c)).collect();
        assert!(found.is_empty(), "{found:?} in {shown}");
        assert!(shown.contains("a\\u{1b}[2Jb\\u{202e}c\\u{2066}d\\u{7}e"), "{shown}");
    }
}

#[test]
fn anchors_and_commands_hold_nothing_of_a_record() {
    let site = Site::new(0);
    let mut run = Forged::script(&site);
    run.event(1, "confirmation_pending", json!({"id": "c1; rm -rf ~", "label": "x", "subject": "x"}));
    let error = json!({"code": "suspended", "message": "waits", "details": {"confirmation": "c1; rm -rf ~"}});
    run.end(&site, "suspended", &json!({"exit_code": 7, "error": error}));
    let report = model(&site);
    let commands: Vec<&Value> = report["next"].as_array().into_iter().flatten().map(|next| &next["command"]).collect();
    assert!(commands.iter().all(|command| !command.to_string().contains("rm")), "{commands:?}");
    let site = Site::new(0);
    record(&site, "#\" id=\"x");
    for href in page(&site).split("href=\"").skip(1) {
        let target = href.split('"').next().unwrap_or_default();
        assert!(target.starts_with('#') && target[1..].chars().all(|c| c.is_ascii_alphanumeric()), "{target}");
    }
}

#[test]
fn a_name_in_a_record_leads_to_no_other_file() {
    let site = Site::new(0);
    site.write("outside.patch", part("f", "@@ -1 +1 @@\n-x\n+outside\n"));
    let mut run = Forged::script(&site);
    for path in ["../../outside.patch", "artifacts/../../../outside.patch", "/etc/passwd"] {
        run.event(1, "judged", json!({"decision": "allow", "results": [], "files": [], "patch": {"path": path}}));
    }
    run.event(
        1,
        "committed",
        json!({"transaction": "../../..", "entries": [{"path": "f", "before": null, "after": null}]}),
    );
    run.event(1, "confirmation_pending", json!({"id": "../run"}));
    run.end(&site, "done", &json!({}));
    assert!(!page(&site).contains("outside"));
    assert_eq!(model(&site)["changes"]["files"].as_array().map(Vec::len), Some(1));
}

#[test]
fn secrets_in_patches_and_values_stay_out_of_every_form_of_the_report() {
    let site = Site::new(0);
    let secret = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
    let script = format!(
        "const WORKFLOW = #{{ name: \"leak\", permissions: #{{ write: [\"**\"] }} }};\n\
         nrv.ui.step(\"token {secret}\");\nnrv.apply.create(\"notes/new.txt\", \"token = {secret}\\n\");\n"
    );
    site.script("leak.rhai", &script);
    site.nrv(&["run", "leak.rhai", "--yes"]).exits(0);
    let patch = site.last_run().join("packs/t1/patch");
    #[expect(clippy::disallowed_methods, reason = "a test looks into the record")]
    let exact = std::fs::read_to_string(patch).expect("a patch");
    assert!(exact.contains(&secret), "the pack holds exact bytes");
    for shown in [page(&site), text(&site), model(&site).to_string()] {
        assert!(!shown.contains(&secret) && !shown.contains(&secret[10..30]), "{shown}");
    }
    assert!(page(&site).contains("[redacted "), "{}", page(&site));
}
