//! What is found and what is not, in data; what holds for every text; and inputs made to take long.

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::error::Code;

/// A key of a form that a rule knows, in pieces so that no other scanner finds it here.
const KEY: &str = concat!("gh", "p_q8mVn2Kx7RtYp3LwZc5HdJ6sFgB9aEuT1oNi");

fn found(text: &str) -> Vec<Found> {
    scan(text.as_bytes(), None, Rules::built_in())
}

/// The rules that find something.
fn ids(text: &str) -> Vec<String> {
    found(text).into_iter().map(|found| found.rule).collect()
}

fn redacted(text: &str) -> String {
    redact(text, Rules::built_in()).into_owned()
}

#[test]
fn every_rule_finds_its_example_and_not_the_other() {
    let mut wrong = Vec::new();
    for (rule, text, found) in rules::examples() {
        let ids = ids(&text);
        if ids.iter().any(|id| id == rule) != found {
            wrong.push(format!("{rule}: {text} gives {ids:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_both_examples_a_pattern_and_an_id_of_its_own() {
    let examples = rules::examples();
    let mut seen = std::collections::BTreeSet::new();
    for (id, what) in Rules::built_in().list() {
        assert!(seen.insert(id), "{id} stands twice");
        assert!(!what.is_empty() && !what.ends_with('.'), "{id}: {what}");
        let has = |which| examples.iter().any(|(rule, _, found)| *rule == id && *found == which);
        assert!(generic::IDS.contains(&id) || has(true) && has(false), "{id} lacks an example");
    }
    assert!(seen.len() > 300);
    Rules::built_in().patterns().for_each(|(id, pattern)| assert!(pattern.is_ok(), "{id}: {pattern:?}"));
}

#[test]
fn names_and_values_of_nobody_in_particular_are_judged() {
    for text in [
        "password = \"mySecretPass123\"",
        "\"AdminPassword\" : \"thisismypassword\"",
        "DB_PASSWORD=hunter2hunter2",
        "curl -u elastic:pQ9wTxu4Fg https://h/",
        "mysql --password=s3cr3tW0rd db",
        "api_token: Zf3D0LXCM3EIMbgJpUNnkRtOfOueHznB",
        "Server=db;User ID=me;Password=s3cr3tW0rd;",
        "- name: API_TOKEN\n  value: Zf3D0LXCM3EIMbgJpUNnkRtOfOueHznB",
        "mongodb+srv://service:CPCdZH5k0F6dxQ9V@example-prince.mongodb.net/",
    ] {
        assert_eq!(found(text).len(), 1, "{text}");
    }
    for text in [
        "password=\"${DB_PASS}\"",
        "const key = process.env.API_KEY",
        "password = \"changeme\"",
        "password: string",
        "token = get_token(user1)",
        "self.token = self.next_token2.clone()",
        "secret_key = os.environ[\"SECRET_KEY\"]",
        "apiKey: your-api-key-here-1234",
        "token = \"xxxxxxxxxxxxxxxxxxxxxxxx\"",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        "kms_key_id: 555ea4a3-d53a-4412-9c66-3a7cb667b0d6",
        "integrity: sha512-q8mVn2Kx7RtYp3LwZc5HdJ6sFgB9aEuT1oNiX4kQvWM==",
        "publicToken = \"9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit\"",
        "postgres://user:$PASSWORD@host/db",
        "-----BEGIN PRIVATE KEY-----\nanything\n-----END PRIVATE KEY-----",
        "key_path = /etc/ssl/private/server1.pem",
    ] {
        assert_eq!(ids(text), [""; 0], "{text}");
    }
}

#[test]
fn a_finding_says_where_it_is_and_shows_nothing() {
    let text = format!("a\nb: {KEY}\n");
    let [one] = &found(&text)[..] else { panic!("one finding") };
    assert_eq!((one.rule.as_str(), one.line, one.column), ("github-pat", 2, 4));
    assert_eq!(&text[one.start..one.end], KEY);
    assert_eq!(one.sha256_prefix, crate::hash::Sha256::of(KEY.as_bytes()).to_string()[..8]);
    assert!(!format!("{one:?}").contains("q8mV"));
}

#[test]
fn an_inline_permission_names_its_rule_and_is_told() {
    let allowed = |comment: &str| found(&format!("x = {KEY} # {comment}\n"))[0].allowed_by.clone();
    assert_eq!(allowed("nrv:allow-secret github-pat: a test"), Some("nrv:allow-secret github-pat".to_owned()));
    assert_eq!(allowed("nrv:allow-secret gitlab-pat"), None);
    assert_eq!(allowed("nrv:allow-secret"), None);
    assert_eq!(found(&format!("# nrv:allow-secret github-pat\nx = {KEY}"))[0].allowed_by, None);
}

#[test]
fn lock_files_hold_hashes_and_still_no_tokens() {
    let hash = "token = \"Zf3D0LXCM3EIMbgJpUNnkRtOfOueHznB\"";
    assert_eq!(scan(hash.as_bytes(), Some("a/Cargo.lock"), Rules::built_in()), []);
    assert_eq!(scan(KEY.as_bytes(), Some("a/Cargo.lock"), Rules::built_in()).len(), 1);
}

#[test]
fn bytes_that_are_no_text_are_searched_too() {
    let bytes = [b"\xff\xfe\0 ", KEY.as_bytes(), b"\0\xff"].concat();
    assert_eq!(scan(&bytes, None, Rules::built_in()).len(), 1);
}

#[test]
fn of_findings_that_overlap_the_most_specific_stays() {
    assert_eq!(ids(&format!("github_token = \"{KEY}\"")), ["github-pat"]);
    assert_eq!(ids(&format!("https://me:{KEY}@github.com/a/b")), ["github-pat"]);
}

#[test]
fn a_teams_rule_is_checked_when_it_is_read() {
    let own = OwnRule {
        id: "acme-key".to_owned(),
        pattern: "acme_[a-z]{8}".to_owned(),
        matches: vec!["x acme_abcdwxyz".to_owned()],
        not_matches: vec!["acme_corp".to_owned()],
        ..OwnRule::default()
    };
    let rules = Rules::with(std::slice::from_ref(&own)).unwrap();
    assert_eq!(scan(b"k: acme_qwertzui", None, &rules)[0].rule, "acme-key");
    let refused = |own: OwnRule| Rules::with(&[own]).unwrap_err();
    for wrong in [
        OwnRule { matches: vec!["acme_1".to_owned()], ..own.clone() },
        OwnRule { not_matches: vec!["acme_abcdwxyz".to_owned()], ..own.clone() },
        OwnRule { pattern: "acme_[".to_owned(), ..own.clone() },
        OwnRule { pattern: "[a-z]{8}".to_owned(), ..own.clone() },
        OwnRule { id: "github-pat".to_owned(), ..own.clone() },
    ] {
        let error = refused(wrong);
        assert_eq!(error.code(), Code::InvalidPolicy);
        assert!(error.hint_text().is_some());
    }
}

#[test]
fn redaction_leaves_everything_else_as_it_was() {
    let text = format!("é {KEY}, \"password\": \"hünter2hünter2\" ü");
    let redacted = redacted(&text);
    assert!(redacted.starts_with("é [redacted github-pat ") && redacted.ends_with("]\" ü"), "{redacted}");
    assert!(redacted.contains("\"password\": \"[redacted generic-password "), "{redacted}");
    assert!(matches!(redact("nothing to see", Rules::built_in()), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn decoded_strings_are_redacted_and_keys_stay() {
    let mut value = json!({
        "password": "hunter2hunter2",
        "command": format!("curl -H \"Authorization: token {KEY}\""),
        "list": [KEY],
        "count": 3,
    });
    redact_json(&mut value, Rules::built_in());
    let text = value.to_string();
    assert!(!text.contains("hunter2") && !text.contains("q8mV"), "{text}");
    assert!(value["password"].as_str().unwrap().starts_with("[redacted generic-password "));
    assert_eq!(value["count"], 3);
    let once = value.clone();
    redact_json(&mut value, Rules::built_in());
    assert_eq!(value, once);
}

/// Hashes, ids and paths of our own records under every key that they have there.
#[test]
fn records_are_not_mistaken_for_secrets() {
    let hash = crate::hash::Sha256::of(b"x").to_string();
    for key in ["sha256", "prev", "hash", "token", "secret", "key", "policy_sha256", "password", "manifest"] {
        let mut value = json!({key: hash, "path": "src/api/token_key1/secrets.rs", "run": "20261121T202000Z-7f3a", "transaction": "1"});
        let before = value.clone();
        redact_json(&mut value, Rules::built_in());
        assert_eq!(value, before);
    }
    assert_eq!(ids(&format!("committed {{\"after\":{{\"sha256\":\"{hash}\"}}}}")), [""; 0]);
}

/// Each once took time that grew faster than the text.
#[test]
fn inputs_made_to_take_long_do_not() {
    let piece = [
        "-eyJ",
        "eyJaaaaaaaa.",
        "ZXlK+",
        "-----BEGIN PRIVATE KEY-----\n",
        "kind: secret\n",
        "password=",
        "ops_eyJ-",
        "sl.-",
        "pk.---",
        "?sv=a&sv=a",
        "Authorization: Basic ",
        "a://b:c",
        "key",
        "token: \"",
        "xapp-1-A-1-",
        "$krb5tgs$1$a",
    ];
    for piece in piece {
        let text = piece.repeat(60_000 / piece.len());
        // Nothing is measured: without its bounds each of these takes minutes.
        scan(text.as_bytes(), None, Rules::built_in());
    }
}

/// Pieces of which texts are made that are near to secrets.
fn near_secrets() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~é\n]{0,12}",
        Just(KEY.to_owned()),
        Just("password=\"".to_owned()),
        Just("token: ".to_owned()),
        Just("https://u:".to_owned()),
        Just("@h/".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("kind: Secret\ndata:\n  a: ".to_owned()),
        Just("eyJhbGciOiJIUzI1NiJ9.".to_owned()),
        "[A-Za-z0-9+/]{20,80}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn redacting_again_changes_nothing(text in near_secrets()) {
        let once = redacted(&text);
        prop_assert_eq!(redacted(&once), once.clone());
        prop_assert_eq!(found(&once), vec![]);
    }

    #[test]
    fn a_key_does_not_stay_whatever_stands_around_it(before in near_secrets(), after in near_secrets()) {
        let once = redacted(&format!("{before} {KEY} {after}"));
        let stays = format!(" {KEY} ");
        prop_assert!(!once.contains(&stays), "{}", once);
    }

    #[test]
    fn findings_are_in_order_and_apart(text in near_secrets()) {
        let found = found(&text);
        prop_assert!(found.windows(2).all(|two| two[0].end <= two[1].start));
        prop_assert!(found.iter().all(|found| found.start < found.end && found.end <= text.len()));
        prop_assert_eq!(scan(text.as_bytes(), None, Rules::built_in()), found);
    }

    #[test]
    fn any_bytes_can_be_searched(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        scan(&bytes, Some("x.env"), Rules::built_in());
    }

    #[test]
    fn lines_and_columns_lead_to_the_secret(before in "[a-z \n]{0,80}") {
        let mut text = before;
        let _ = write!(text, " {KEY}");
        let one = &found(&text)[0];
        let line = text.split('\n').nth(one.line as usize - 1).unwrap();
        prop_assert_eq!(&line[one.column as usize - 1..], KEY);
    }
}
