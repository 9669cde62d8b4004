//! Tests of findings and non-findings, as data; properties of every text; and inputs made to take long.

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use base::error::Code;

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

/// Each rule with a text, and true if the rule must find something there.
fn examples() -> Vec<(String, String, bool)> {
    let plain = |text: &String| text.replace('·', "").replace('⏎', "\n");
    let of = |(id, _): (&str, &str)| {
        let described = describe(id).unwrap();
        let found = described.examples.iter().map(|text| (id.to_owned(), plain(text), true)).collect::<Vec<_>>();
        let others = described.counterexamples.iter().map(|text| (id.to_owned(), plain(text), false));
        found.into_iter().chain(others).collect::<Vec<_>>()
    };
    Rules::built_in().list().flat_map(of).collect()
}

#[test]
fn no_example_is_found_as_it_is_shown() {
    let all = Rules::built_in().list().filter_map(|(id, _)| describe(id)).flat_map(|described| described.examples);
    let shown: Vec<String> = all.filter(|text| !ids(text).is_empty()).collect();
    assert!(shown.is_empty(), "\n{}", shown.join("\n"));
}

#[test]
fn every_rule_finds_its_example_and_not_the_other() {
    let mut wrong = Vec::new();
    for (rule, text, found) in examples() {
        let ids = ids(&text);
        if ids.contains(&rule) != found {
            wrong.push(format!("{rule}: {text} gives {ids:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_both_examples_a_pattern_and_an_id_of_its_own() {
    let mut seen = std::collections::BTreeSet::new();
    for (id, what) in Rules::built_in().list() {
        assert!(seen.insert(id), "{id} stands twice");
        assert!(!what.is_empty() && !what.ends_with('.'), "{id}: {what}");
        let described = describe(id).unwrap();
        assert!(!described.examples.is_empty() && !described.counterexamples.is_empty(), "{id} lacks an example");
    }
    assert_eq!(describe("no such rule"), None);
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
        // Near to harmless texts, and secrets all the same.
        "setenv(\"API_TOKEN\", \"9F86D081884C7D659A2FEAA0C55AD015\")",
        "put(\"pass\", \"passw0rd#99x\")",
        "db_password: prod_db_password_2024",
        "mysql --password s3cretword then more",
        "<password>kJ8-mQ2-vXz9</password>",
        "'password', 'kJ8-mQ2-vXz9'",
        "path = projects/a; password = kJ8-mQ2-vXz9",
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
fn keys_of_entries_texts_that_code_appends_and_well_known_passwords_are_none() {
    for text in [
        "const cacheKey = \"aK3vT9wZx2LmN8rB5cYdH7jP\";",
        "partition_key = \"tenant9Zx2Lm_id\"",
        "turnstileSiteKey = \"0x4AAAAAAABkMYinukE8nzYS\"",
        "<div data-key=\"aK3vT9wZx2LmN8rB5cYdH7jP\"></div>",
        "req.Header.Set(\"Authorization\", \"Bearer \"+accessToken)",
        "params = append(params, \"password=\"+args.Password)",
        "export MINIO_ROOT_PASSWORD=minio123",
        "postgresql://authenticator:postgres@127.0.0.1:5432/postgres",
    ] {
        assert_eq!(ids(text), [""; 0], "{text}");
    }
    for text in [
        "const cacheApiKey = \"aK3vT9wZx2LmN8rB5cYdH7jP\";",
        "storageAccessKey = \"aK3vT9wZx2LmN8rB5cYdH7jP\"",
        "encryptionKey = \"aK3vT9wZx2LmN8rB5cYdH7jP\"",
        "storageKey = \"aK3vT9wZx2LmN8rB5cYdH7jPaK3vT9wZx2LmN8rB5cYdH7jPq2\"",
        "req.Header.Set(\"Authorization\", \"Bearer eIdWHQqRfFmvP5LDDhIGx\")",
        "export MINIO_ROOT_PASSWORD=Vb7kQz91xT",
    ] {
        assert_ne!(ids(text), [""; 0], "{text}");
    }
}

/// Frequent texts of real code, settings and manuals, by kind.
#[test]
fn what_only_looks_like_an_assignment_is_none() {
    for text in [
        // Lists and arguments: the next item is not a value of the one before, unless it is in quotes and looks like one.
        "compile(source='pass', filename='?', mode='exec')",
        "timeit(stmt=\"pass\", setup=\"pass\", timer=default_timer)",
        "scrypt(b'password', salt=b'salt', n=2)",
        "# can be \"trust\", \"md5\", \"password\", \"scram-sha-256\",",
        "'gss_krb5_lucid_key', 'gss_krb5_rfc1964_keydata',",
        "'USERPWD', 'HTTP200ALIASES', 'FILE',",
        "('http', 'user:password', 'localhost:22'),",
        "--mount type=bind,src=$(pwd),dst=/checkout2",
        "dir=$(cd \"$dir\" && pwd) || failed2",
        "nntp.command($user, $pass)->response == CMD_OK2",
        // Sentences.
        "Problem: cannot pass \"dict.Myfunc\" around",
        "to pass \"the_repository\" and then",
        "instead of the --username and --password options of it",
        "the <pass> column2 says",
        "%sudo ALL=(root) NOPASSWD: /bin/systemctl restart x",
        "  _password: DEPRECATED: For more, see below",
        // Types, numbers and identifiers.
        "pub const ILL_FORMED_PASSWORD: NTSTATUS = 0xC000006B_u32 as _;",
        "pub const A_PASS: D3DKMT_DEFRAG_ESCAPE_OPERATION = 3i32;",
        "pub Password: super::super::super::Win32::Foundation::UNICODE_STRING,",
        "'Test2::Event::Pass' => '1.302103',",
        "self._private_key_pkcs12 = pkcs12_val",
        "let s:netrw_passwd= g:netrw_passwd",
        "if password == provided_password2:",
        "client_auth = ClientAuthDetails::resolve(",
        "self._auth = utils.ClientAuthentication(",
        "'proxy_pass': 'CLOUDSDK_PROXY_PASSWORD',",
        // Values that tell that they are not secret.
        "password = 'notasecret'",
        "--oracle-password=fakepassword --x",
        "<password>proxypass</password>",
        "mount -o user=myname,pass=mypasswd /mnt",
        "--sasl-password=projects/123/secrets/my-secret/versions/1",
        "password: your@login",
        "http://foo:bar@localhost/",
        "https://abc:xyz@example.com",
        "http://user:pass%20pass@complex.url.com/path",
        "http://login-on-proxy:passwd-on-proxy@proxy-host.com:80",
        "[protocol://][user[:password]@]proxyhost[:port]",
        "cvs://:pserver:anoncvs@sources.redhat.com:/cvs/src",
        "Authorization: Basic dXNlcm5hbWU6cGFzc3dvcmQ=",
        "Authorization: Bearer access_token",
        "BASIC_AUTH = \"dXNlcm5hbWU6cGFzc3dvcmQ=\"",
        // Public values.
        "https://codecov.io/gh/a/b/graph/badge.svg?token=Z92NHFQ70G",
        "key: \"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1Olb3zMAFFxXKHiIkQO5cJ3Yhl5i6UPp+IhuteBJbuHcA5UogKo0EWtlWwW6KSaKoTNEYL7JlCQiVnkhBktUgg==\"",
        "key = 'AAAAB3NzaC1yc2EAAAADAQABAAAB...ZrPg+DZJIwPab2wPlveLh+ut1Lxs5QTR/9QfEa7'",
        "nextPageToken: eav1OzQB0OM8rLdGXOEsyQWSG",
        "\"access_token\": \"2YotnFZFEjr1zCsicMWpAA\"",
        // Pieces of base64.
        "AAAxuAGDAR4Q89/EAAMzYFAsIBAJDnI5DpI5DrI2RocwUBwgEAkOMjkOUjaHNrA7AxIAAATEzNvOBAml184QCZXAFAcAAAJCs6JCu6GRoBQHA/",
    ] {
        assert_eq!(ids(text), [""; 0], "{text}");
    }
}

#[test]
fn values_on_the_next_line_are_found() {
    for text in [
        "api_token: |\n  Zf3D0LXCM3EIMbgJpUNnkRtOfOueHznB\n",
        "api_token: >-\n    Zf3D0LXCM3EIMbgJpUNnkRtOfOueHznB\n",
        "password: |\n  kJ8-mQ2-vXz9\n",
    ] {
        assert_eq!(found(text).len(), 1, "{text}");
    }
    assert_eq!(ids("password: |\n  what to say about it\n"), [""; 0]);
}

/// Misses and false alarms of widely used lists of patterns.
#[test]
fn known_defects_of_other_scanners_are_not_ours() {
    let body = "Kq3vT9wZx2LmN8rB5cYdH7jP4sFgA6uEoR1i";
    for (rule, text) in [
        ("github-fine-grained-pat", format!("github_{}_11{body}{body}{body}", "pat")),
        ("slack-bot-token", format!("xox{}-263594206564-2343594206574-{}", "b", &body[..24])),
        (
            "private-key",
            format!("-----BEGIN OPENSSH {0} KEY-----\n{body}{body}\n-----END OPENSSH {0} KEY-----", "PRIVATE"),
        ),
    ] {
        assert_eq!(ids(&text), [rule], "{text}");
    }
    for text in ["password=\"${DB_PASS}\"", "password: $DB_PASS", "PASSWORD={{ db.pass }}"] {
        assert_eq!(ids(text), [""; 0], "{text}");
    }
}

#[test]
fn a_finding_says_where_it_is_and_shows_nothing() {
    let text = format!("a\nb: {KEY}\n");
    let [one] = &found(&text)[..] else { panic!("one finding") };
    assert_eq!((one.rule.as_str(), one.line, one.column), ("github-pat", 2, 4));
    assert_eq!(&text[one.start..one.end], KEY);
    assert_eq!(one.sha256_prefix, base::hash::Sha256::of(KEY.as_bytes()).to_string()[..8]);
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
    let hash = base::hash::Sha256::of(b"x").to_string();
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
        // The worst input of a fuzzer: values that are examined from each of the names within them.
        "sengridAPIToken=SG._-0\u{1}\0kqq=zdzrl4r=dh4oenToken=idAPITokefToken=",
        "access_FwoGZXIvYXdztoken=38bb.particle.iyyyb3417d317decyyyccc6898c8030s_token=38bb7b318cc6898c80317ddt0s317decyy",
    ];
    for piece in piece {
        let text = piece.repeat(60_000 / piece.len());
        // Nothing is measured: without its bounds each of these takes minutes.
        scan(text.as_bytes(), None, Rules::built_in());
    }
}

/// Pieces that combine into texts near to secrets.
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
