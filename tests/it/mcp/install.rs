//! `nrv mcp install`: the entry of the server in the configuration of clients.
#![expect(clippy::disallowed_methods, reason = "tests look at files")]

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::support::site::Site;

fn json_of(site: &Site, path: &str) -> Value {
    serde_json::from_slice(&site.read(path)).expect("it is JSON")
}

#[test]
fn the_entry_is_written_where_each_client_looks_for_it() {
    let site = Site::new(0);
    let files = [
        ("claude-code", ".mcp.json", "/mcpServers/nrv"),
        ("cursor", ".cursor/mcp.json", "/mcpServers/nrv"),
        ("gemini", ".gemini/settings.json", "/mcpServers/nrv"),
        ("vscode", ".vscode/mcp.json", "/servers/nrv"),
        ("zed", ".zed/settings.json", "/context_servers/nrv"),
    ];
    for (client, path, pointer) in files {
        let shown = site.nrv(&["mcp", "install", "--client", client, "--dry-run"]).exits(0);
        assert!(shown.stdout.contains(&format!("b/{path}")) && !site.path(path).exists(), "{}", shown.stdout);
        // Nobody can be asked here.
        site.nrv(&["mcp", "install", "--client", client]).exits(2);
        site.nrv(&["mcp", "install", "--client", client, "--yes", "--", "--strict-tools"]).exits(0);
        let document = json_of(&site, path);
        let entry = document.pointer(pointer).expect("the entry is there");
        assert_eq!((&entry["command"], &entry["args"]), (&json!("nrv"), &json!(["mcp", "--strict-tools"])), "{client}");
        let before = site.read(path);
        site.nrv(&["mcp", "install", "--client", client, "--yes", "--", "--strict-tools"])
            .exits(0)
            .says("there already");
        assert_eq!(site.read(path), before);
    }
    site.nrv(&["mcp", "install", "--client", "codex", "--yes"]).exits(0);
    assert!(String::from_utf8_lossy(&site.read(".codex/config.toml")).contains("[mcp_servers]\nnrv = {"));
    site.nrv(&["mcp", "install", "--client", "windsurf", "--yes"]).exits(2).says("--user");
    site.nrv(&["mcp", "install", "--client", "none"]).exits(2);
}

#[test]
fn other_settings_stay_byte_for_byte_and_what_can_not_be_read_is_left_alone() {
    let site = Site::new(0);
    let before = "{\n\t// servers of ours\n\t\"servers\": {\n\t\t\"other\": {\"command\": \"x\"}, // kept\n\t},\n\t\"inputs\": [ ],\n}\n";
    site.write(".vscode/mcp.json", before);
    site.nrv(&["mcp", "install", "--client", "vscode", "--yes"]).exits(0);
    let after = String::from_utf8(site.read(".vscode/mcp.json")).expect("it is text");
    let kept: Vec<&str> = before.lines().collect();
    assert!(kept.iter().all(|line| after.lines().any(|other| other == *line)), "{after}");
    for broken in ["{", "[]", "{\"mcpServers\": []}", "\u{0}"] {
        site.write(".mcp.json", broken);
        let ran = site.nrv(&["mcp", "install", "--client", "claude-code", "--yes"]).exits(1);
        assert!(ran.stderr.contains("by hand"), "{}", ran.stderr);
        assert_eq!(site.read(".mcp.json"), broken.as_bytes());
    }
    fs::remove_file(site.path(".mcp.json")).expect("it is there");
    std::os::unix::fs::symlink("/etc/passwd", site.path(".mcp.json")).expect("a link");
    let ran = site.nrv(&["mcp", "install", "--client", "claude-code", "--yes"]);
    assert_ne!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn a_file_of_the_user_is_written_on_demand_and_kept_as_it_was() {
    let site = Site::new(0);
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join(".claude.json");
    fs::write(&file, "{\"numStartups\": 7}\n").expect("it is written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it has a mode");
    let install = |more: &[&str]| {
        let arguments = [&["mcp", "install", "--client", "claude-code", "--user"], more].concat();
        site.command(&arguments).env("HOME", home.path()).status().expect("it runs").code()
    };
    assert_eq!(install(&["--dry-run"]), Some(0));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "{\"numStartups\": 7}\n");
    assert_eq!(install(&["--yes"]), Some(0));
    let document: Value = serde_json::from_str(&fs::read_to_string(&file).expect("it is there")).expect("JSON");
    assert_eq!((&document["numStartups"], &document["mcpServers"]["nrv"]["command"]), (&json!(7), &json!("nrv")));
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    let kept = home.path().join(".claude.json.before-nrv");
    assert_eq!(fs::read_to_string(&kept).expect("it is kept"), "{\"numStartups\": 7}\n");
    assert_eq!(install(&["--yes", "--", "--dry-run"]), Some(0));
    assert_eq!(fs::read_to_string(kept).expect("it is kept"), "{\"numStartups\": 7}\n");
    assert!(!site.path(".mcp.json").exists());
}
