//! Change requests by the client of a forge: each once, however often it is tried, and closed again.

use super::{delivered::FORM, *};
use crate::support::site::finished;

/// A client of a forge whose open requests are lines of a file: the branch and the repository.
const CLIENT: &str = r#"#!/bin/sh
echo "$@" >> "$0.calls"
[ ! -e "$0.broken" ] || { echo "HTTP 502" >&2; exit 1; }
touch "$0.open"
case $1 in
find) sed -n "s|^\(http[^ ]*\) $2 $3\$|\1|p" "$0.open" ;;
open)
    n=$(($(wc -l < "$0.open") + 1))
    echo "http://forge.example/$n $2 $3" >> "$0.open"
    [ ! -e "$0.dies" ] || { rm "$0.dies"; kill -9 $PPID; sleep 9; }
    printf 'Opening %s: %s\n\nhttp://forge.example/%s\n' "$2" "$4" "$n" ;;
close) sed -i "\|^$2 |d" "$0.open" ;;
esac
"#;

const REQUEST: &str = "[request]\n\
    find = ['CLIENT', 'find', '{repository}', '{branch}']\n\
    open = ['CLIENT', 'open', '{repository}', '{branch}', '{subject}']\n\
    close = ['CLIENT', 'close', '{request}']\npause_s = 0\n";

/// A fleet whose tasks are done, whose policy allows the client; the client, and the hash of the patches.
fn worked(policy: &str) -> (Fleet, PathBuf, String) {
    use std::os::unix::fs::PermissionsExt;
    let fleet = Fleet::new();
    for name in ["a", "b", "c"] {
        fleet.repository(name, &[("x.md", "old.example.com\n"), (name, "")]);
    }
    let client = fleet.beside("forge");
    std::fs::write(&client, CLIENT).unwrap();
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    let client_name = client.to_str().unwrap();
    fleet.site.write("nrv.toml", policy.replace("CLIENT", client_name));
    fleet.site.nrv(&["trust", "--yes"]).exits(0);
    let form = FORM.replace("commit = {", "[commit]\n").replace(" }", "").replace(", message", "\nmessage");
    let form = form.replace(", author", "\nauthor");
    fleet.plan(&format!("{form}\n{}", REQUEST.replace("CLIENT", client_name))).exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
    let hash = fleet.collected(&[])["patches"].as_str().unwrap().to_owned();
    (fleet, client, hash)
}

const ALLOWED: &str = "[[exec.allow]]\nprefix = ['CLIENT', ['find', 'open', 'close']]\n";

fn apply(fleet: &Fleet, hash: &str) -> Ran {
    fleet.site.nrv(&["fleet", "collect", "plan.jsonl", "--apply", "--approve", hash])
}

/// The lines of a file of the client.
fn lines(client: &Path, end: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{}.{end}", client.display())).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn mark(client: &Path, end: &str) {
    std::fs::write(format!("{}.{end}", client.display()), "").unwrap();
}

#[test]
fn a_request_is_opened_once_and_closed() {
    let (fleet, client, hash) = worked(ALLOWED);
    apply(&fleet, &hash).exits(0).says("3 branches pushed and requested.");
    assert_eq!(lines(&client, "open").len(), 3);
    let open: Vec<String> = lines(&client, "calls").into_iter().filter(|call| call.starts_with("open")).collect();
    assert!(open[0].ends_with("repositories/a nrv/links Move the links"), "{open:?}");
    apply(&fleet, &hash).exits(0).says("0 branches pushed and requested, 3 before.");
    assert_eq!(lines(&client, "calls").iter().filter(|call| call.starts_with("open")).count(), 3);
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(0).says("3 branches removed");
    assert_eq!(lines(&client, "open"), [""; 0]);
    // What was taken back can be requested again.
    apply(&fleet, &hash).exits(0);
    assert_eq!(lines(&client, "open").len(), 3);
}

#[test]
fn a_request_whose_client_was_killed_with_nrv_is_found_again() {
    let (fleet, client, hash) = worked(ALLOWED);
    mark(&client, "dies");
    let ran = apply(&fleet, &hash);
    assert_eq!(ran.code, -1, "{ran:?}");
    assert_eq!(lines(&client, "open").len(), 1, "it was opened");
    apply(&fleet, &hash).exits(0);
    assert_eq!(lines(&client, "open").len(), 3);
}

#[test]
fn a_forge_that_fails_leaves_the_request_to_the_next_time() {
    let (fleet, client, hash) = worked(ALLOWED);
    mark(&client, "broken");
    apply(&fleet, &hash).exits(1).says("a: command_failed");
    assert_eq!(lines(&client, "calls").len(), 3, "the others are tried, too");
    std::fs::remove_file(format!("{}.broken", client.display())).unwrap();
    apply(&fleet, &hash).exits(0);
    assert_eq!(lines(&client, "open").len(), 3);
}

#[test]
fn a_client_that_the_policy_does_not_allow_is_not_started() {
    let (fleet, client, hash) = worked("[[exec.allow]]\nprefix = ['CLIENT', ['find', 'close']]\n");
    apply(&fleet, &hash).exits(3).says("`exec.allow`");
    assert_eq!(lines(&client, "calls"), [""; 0]);
    let branches = Command::new("git")
        .arg("-C")
        .arg(fleet.beside("repositories").join("a"))
        .args(["branch", "--list", "nrv/*"])
        .output();
    assert_eq!(branches.unwrap().stdout, b"", "nothing is pushed either");
    // Nor one that is allowed and not trusted.
    fleet.site.write("nrv.toml", ALLOWED.replace("CLIENT", client.to_str().unwrap()));
    let mut untrusted = fleet.site.command(&["fleet", "collect", "plan.jsonl", "--apply", "--approve", &hash]);
    finished(untrusted.env_remove("NRV_TRUSTED_PATHS").output().unwrap()).exits(3).says("`nrv trust`");
    assert_eq!(lines(&client, "calls"), [""; 0]);
}
