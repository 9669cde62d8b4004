//! SSH keys of people who sign.
#![expect(clippy::disallowed_methods, reason = "tests make keys")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::need;

/// A folder with keys that `ssh-keygen` made. None if there is no such program.
pub(crate) struct Keys(tempfile::TempDir);

impl Keys {
    /// Keys of two people.
    pub(crate) fn new() -> Option<Self> {
        let keys = Keys(tempfile::tempdir().unwrap());
        keys.make("alice", "ed25519")?;
        keys.make("mallory", "ed25519")?;
        Some(keys)
    }

    /// The file of a key.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a key of a kind.
    pub(crate) fn make(&self, name: &str, kind: &str) -> Option<()> {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", kind, "-N", "", "-C", name, "-f"]).arg(self.path(name));
        let made = command.stdin(Stdio::null()).status();
        if made.is_err() {
            need::skip("keys");
        }
        made.ok().map(|status| assert!(status.success()))
    }

    /// The line of a key for `allowed_signers`, without the name.
    pub(crate) fn public(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap().trim().to_owned()
    }

    /// Makes `FILE.sig` beside a file.
    pub(crate) fn sign(&self, name: &str, namespace: &str, file: &Path) {
        let _ = fs::remove_file(file.with_extension("json.sig"));
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-Y", "sign", "-n", namespace, "-f"]).arg(self.path(name)).arg(file);
        assert!(command.stdin(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    }
}
