//! Links to the machine's Rust toolchain in the home of a test, where a policy looks for it.
#![expect(clippy::disallowed_methods, reason = "tests read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// Makes links to it in this home. Where it lies in folders of the system nothing is needed.
pub(crate) fn link(home: &Path) {
    for (variable, name) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let own = || Some(PathBuf::from(std::env::var_os("HOME")?).join(name));
        let real = std::env::var_os(variable).map(PathBuf::from).or_else(own);
        let link = home.join(name);
        if let Some(real) = real.filter(|real| real.is_dir() && !link.exists()) {
            symlink(real, link).unwrap();
        }
    }
}
