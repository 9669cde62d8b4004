//! On any bytes, the search does not panic, its findings are in order, and redacted text has none.
#![cfg_attr(fuzzing, no_main)]

use nrv::gate::secrets::{Rules, redact, redact_json, scan};
use nrv_fuzz::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    let rules = Rules::built_in();
    for path in ["a.rs", "a.env", "Cargo.lock"] {
        let found = scan(input, Some(path), rules);
        assert!(found.windows(2).all(|two| two[0].end <= two[1].start));
        assert!(found.iter().all(|one| one.start < one.end && one.end <= input.len()));
    }
    let Ok(text) = std::str::from_utf8(input) else { return };
    let redacted = redact(text, rules);
    assert_eq!(redact(&redacted, rules), redacted);
    if let Ok(mut value) = serde_json::from_str::<Value>(text) {
        redact_json(&mut value, rules);
        let once = value.clone();
        redact_json(&mut value, rules);
        assert_eq!(value, once);
    }
});
