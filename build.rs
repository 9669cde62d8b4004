//! Links debug programs at a fixed address. A position-independent debug build relocates half a million addresses at each start, which
//! takes two thirds of the start, and tests start thousands of programs. Release builds stay position-independent.
#![expect(clippy::disallowed_methods, reason = "cargo tells a build script by variables")]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name, value| env::var(name).is_ok_and(|set| set == value);
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|set| set.split(',').any(|one| one == "crt-static"));
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is("PROFILE", "debug") && is_gnu && !is_static {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}
