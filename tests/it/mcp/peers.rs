//! The server held against tools of others: the conformance suite, the inspector, and clients of two SDKs.
//!
//! They belong to the long tier, which takes every version of the protocol over both ways to the server.
#![expect(clippy::disallowed_methods, reason = "tests run programs")]
#![expect(clippy::print_stdout, reason = "what each tool found is of interest")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use crate::{
    repository,
    support::{long, need, site::Site},
};

/// The folder with the tools, the scripts that drive them beside; none if they are not installed.
pub(crate) fn tools() -> Option<&'static Path> {
    static TOOLS: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let folder = repository::root().join("target/mcp");
        if !folder.join("installed").exists() {
            return None;
        }
        for path in repository::files().iter().filter(|path| path.starts_with("tests/mcp/")) {
            let name = path.trim_start_matches("tests/mcp/");
            if [".mjs", ".py", "conformance.json"].iter().any(|end| name.ends_with(end)) {
                fs::copy(repository::root().join(path), folder.join(name)).unwrap();
            }
        }
        Some(folder)
    });
    if !long::is_long() {
        need::skip("long");
        return None;
    }
    if TOOLS.is_none() {
        need::skip("mcp-tools");
    }
    TOOLS.as_deref()
}

/// A workspace with the shipped site, whose policy lets a client be asked.
fn workspace() -> Site {
    let site = Site::empty();
    for path in repository::files().iter().filter(|path| path.starts_with("examples/site/")) {
        let content = fs::read(repository::root().join(path)).unwrap();
        site.write(path.trim_start_matches("examples/site/"), content);
    }
    site
}

/// Runs a script that drives a tool, and shows what it says.
#[track_caller]
fn drives(program: &Path, script: &Path, more: &[&str]) {
    let site = workspace();
    let mut command = Command::new(program);
    command.arg(script).arg(repository::nrv()).arg(site.root()).args(more);
    site.tame(&mut command);
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert!(output.status.success(), "{} {more:?}: {said}", script.display());
}

#[test]
fn the_conformance_suite_finds_nothing() {
    let Some(tools) = tools() else { return };
    drives(Path::new("node"), &tools.join("conformance.mjs"), &[]);
}

#[test]
fn the_inspector_gets_its_answers() {
    let Some(tools) = tools() else { return };
    drives(Path::new("node"), &tools.join("inspector.mjs"), &[]);
}

#[test]
fn the_client_of_typescript_proposes_confirms_applies_and_rolls_back() {
    let Some(tools) = tools() else { return };
    let script = tools.join("clients/client.mjs");
    let all: [&[&str]; 4] = [
        &["stdio", "--era", "old", "--sdk", "1"],
        &["http", "--era", "new", "--sdk", "2"],
        &["http", "--era", "old", "--sdk", "1"],
        &["stdio", "--era", "new", "--sdk", "2"],
    ];
    for more in all {
        drives(Path::new("node"), &script, more);
    }
}

#[test]
fn the_client_of_python_proposes_confirms_applies_and_rolls_back() {
    let Some(tools) = tools() else { return };
    let (python, script) = (tools.join("python/bin/python"), tools.join("clients/client.py"));
    let all: [&[&str]; 4] =
        [&["stdio", "--era", "new"], &["http", "--era", "old"], &["http", "--era", "new"], &["stdio", "--era", "old"]];
    for more in all {
        drives(&python, &script, more);
    }
}

#[test]
fn a_client_of_python_that_is_killed_leaves_the_tree_before_or_after() {
    let Some(tools) = tools() else { return };
    let rounds = long::rounds("NRV_MCP_KILLS", 3, 9).to_string();
    drives(&tools.join("python/bin/python"), &tools.join("clients/kill.py"), &[&rounds]);
}
