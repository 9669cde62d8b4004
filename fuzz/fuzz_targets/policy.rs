//! No text of a policy makes the parser panic, and an accepted policy has a stable hash.
#![cfg_attr(fuzzing, no_main)]

use nrv::system::policy::{FILE, Policy};
use nrv_fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(policy) = Policy::parse(text, FILE) {
        let again = Policy::parse(text, FILE).expect("what was taken once is taken twice");
        assert_eq!(policy.sha256(), again.sha256());
    }
});
