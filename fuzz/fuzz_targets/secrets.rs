//! Whatever bytes there are: the search does not panic, its findings are in order, and a redacted text has none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nrv::gate::secrets::{Rules, redact, scan};

fuzz_target!(|input: &[u8]| {
    let rules = Rules::built_in();
    let found = scan(input, None, rules);
    assert!(found.windows(2).all(|two| two[0].end <= two[1].start));
    if let Ok(text) = std::str::from_utf8(input) {
        let redacted = redact(text, rules);
        assert_eq!(redact(&redacted, rules), redacted);
    }
});
