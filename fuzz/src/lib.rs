//! `fuzz_target!` for all targets. cargo-fuzz sets `--cfg fuzzing`: then it is that of libFuzzer.
//! Any other build only checks the types of a target, and needs no libFuzzer.

#[cfg(fuzzing)]
pub use libfuzzer_sys::fuzz_target;

#[cfg(not(fuzzing))]
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $type:ty| $body:expr) => {
        fn main() {
            let _: fn($type) = |$input: $type| $body;
        }
    };
}
