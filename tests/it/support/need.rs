//! Abilities of a machine that some tests need: a test without one says that it is skipped, or fails where it is required.
//!
//! The variable `NRV_REQUIRE` lists the needs whose absence fails a test, separated by commas; `all` names every one. `.ci/run`
//! sets it to all that the machine provides. Unit tests of the library include this file, too.
#![expect(clippy::disallowed_methods, reason = "tests read the environment")]

use std::io::Write;

/// Every need, with the reason for which a machine may lack it.
pub(crate) const NEEDS: &[(&str, &str)] = &[
    ("browser", "there is no Chromium; `apt-get install chromium` brings it"),
    ("bucket", "no server of buckets is installed; `tests/bucket/install` brings it"),
    ("busybox", "there is no busybox; `apt-get install busybox-static` brings it"),
    ("casefold", "no file system here folds the case of names, or `chattr` is missing"),
    ("ci-schemas", "`check-jsonschema` is not installed; `tests/ci/install` brings it"),
    ("control-groups", "no control group can be made here"),
    ("go", "there is no Go; `apt-get install golang-go` brings it"),
    ("immutable", "this user or file system has no immutable files"),
    ("interpreters", "an interpreter is not installed"),
    ("keys", "there is no `ssh-keygen`; `apt-get install openssh-client` brings it"),
    ("llmock", "llmock is not installed; `tests/llm/install llmock` brings it"),
    ("long", "it belongs to the long tier; `NRV_LONG=1` runs it"),
    ("mcp-tools", "the tools of others are not installed; `tests/mcp/install` brings them"),
    ("model-server", "no model server is installed; `tests/llm/install` brings it"),
    ("mounts", "this user may not mount a file system"),
    ("namespaces", "no user namespace can be made here, or `unshare` or `setpriv` is missing"),
    ("npm", "there is no npm, or it reaches no registry"),
    ("parallel", "there is no GNU parallel; `apt-get install parallel` brings it"),
    ("slurm", "only root can make a cluster, with `slurmctld`, `slurmd`, `slurm-client`, `munge` and `iproute2`"),
    ("smollm2", "the model is not installed; `tests/llm/install smollm2` brings it"),
    ("terminal", "there is no `script` that makes a terminal; `apt-get install bsdutils` brings it"),
    ("users", "only root can become another user, with `setpriv`, `prlimit` and `timeout`"),
];

/// Says that a test, or a part of it, is skipped for want of a need. Panics if `NRV_REQUIRE` names the need.
///
/// The message goes past the capture of the test harness, so that it also shows for a test that passes.
#[track_caller]
pub(crate) fn skip(need: &str) {
    let (_, reason) = NEEDS.iter().find(|(name, _)| *name == need).expect("a need is listed in `NEEDS`");
    let required = std::env::var("NRV_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| name == need || name == "all");
    assert!(!is_required, "`NRV_REQUIRE` names `{need}`, but {reason}");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("skipped: {test} needs `{need}`: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr takes a line");
}
