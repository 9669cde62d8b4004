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
    [ ! -e "$0.slow" ] || { rm "$0.slow"; sleep 600; }
    n=$(($(wc -l < "$0.open") + 1))
    echo "http://forge.example/$n $2 $3" >> "$0.open"
    [ ! -e "$0.dies" ] || { rm "$0.dies"; kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat); sleep 9; }
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

/// The branches of a fleet in a repository.
fn branches(fleet: &Fleet, name: &str) -> String {
    let folder = fleet.beside("repositories").join(name);
    let list = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["branch", "--format=%(refname:short)", "--list", "nrv/*"])
        .output();
    String::from_utf8(list.unwrap().stdout).unwrap().trim().to_owned()
}

/// Waits until no process works in the folder of a fleet. Children of a killed process end a moment after it, and hold its claim.
fn wait_for_the_last(fleet: &Fleet) {
    let folder = fleet.site.root().parent().unwrap().to_owned();
    let names = |line: Vec<u8>| String::from_utf8_lossy(&line).contains(&*folder.to_string_lossy());
    let works = |process: std::fs::DirEntry| {
        let place = std::fs::read_link(process.path().join("cwd"));
        place.is_ok_and(|place| place.starts_with(&folder))
            || std::fs::read(process.path().join("cmdline")).is_ok_and(names)
    };
    wait_until("the last process has ended", || !std::fs::read_dir("/proc").unwrap().flatten().any(works));
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
    wait_for_the_last(&fleet);
    apply(&fleet, &hash).exits(0);
    assert_eq!(lines(&client, "open").len(), 3);
}

#[test]
fn a_forge_that_fails_leaves_the_request_to_the_next_time() {
    let (fleet, client, hash) = worked(ALLOWED);
    mark(&client, "broken");
    apply(&fleet, &hash).exits(1).says("a: command_failed");
    assert_eq!(lines(&client, "calls").len(), 3, "the others are tried, too");
    let limit = ["fleet", "collect", "plan.jsonl", "--apply", "--approve", &hash, "--limit", "1"];
    fleet.site.nrv(&limit).exits(1).says("2 tasks to push");
    assert_eq!(lines(&client, "calls").len(), 4);
    assert_eq!(branches(&fleet, "a"), "", "nothing is pushed where no request can be looked for");
    std::fs::remove_file(format!("{}.broken", client.display())).unwrap();
    apply(&fleet, &hash).exits(0);
    assert_eq!(lines(&client, "open").len(), 3);
}

#[test]
fn a_client_that_the_policy_does_not_allow_is_not_started() {
    let (fleet, client, hash) = worked("[[exec.allow]]\nprefix = ['CLIENT', ['find', 'close']]\n");
    apply(&fleet, &hash).exits(3).says("`exec.allow`");
    assert_eq!(lines(&client, "calls"), [""; 0]);
    assert_eq!(branches(&fleet, "a"), "", "nothing is pushed either");
    // Nor one that is allowed and not trusted.
    fleet.site.write("nrv.toml", ALLOWED.replace("CLIENT", client.to_str().unwrap()));
    let mut untrusted = fleet.site.command(&["fleet", "collect", "plan.jsonl", "--apply", "--approve", &hash]);
    finished(untrusted.env_remove("NRV_TRUSTED_PATHS").output().unwrap()).exits(3).says("`nrv trust`");
    assert_eq!(lines(&client, "calls"), [""; 0]);
}

#[test]
fn a_client_ends_with_nrv_and_opens_nothing_afterwards() {
    let (fleet, client, hash) = worked(ALLOWED);
    mark(&client, "slow");
    let mut running = fleet.site.start(&["fleet", "collect", "plan.jsonl", "--apply", "--approve", &hash]);
    let slow = PathBuf::from(format!("{}.slow", client.display()));
    wait_until("a request is about to be opened", || !slow.exists());
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    wait_for_the_last(&fleet);
    apply(&fleet, &hash).exits(0);
    assert_eq!(lines(&client, "open").len(), 3);
}

/// Runs a command that is killed after git's first push.
fn run_to_death(fleet: &Fleet, arguments: &[&str]) {
    use std::os::unix::fs::PermissionsExt;
    let (pid, bin) = (fleet.beside("pid"), fleet.beside("bin"));
    let path = std::env::var("PATH").unwrap();
    let text = format!(
        "#!/bin/sh\nPATH='{path}'\ngit \"$@\"\ncode=$?\ncase \" $* \" in *' push '*)\n\
         until [ -s '{0}' ]; do sleep 0.05; done; kill -9 $(cat '{0}'); sleep 5;; esac\nexit $code\n",
        pid.display()
    );
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("git"), text).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut running = fleet.site.command(arguments).env("PATH", format!("{}:{path}", bin.display())).spawn().unwrap();
    std::fs::write(&pid, running.id().to_string()).unwrap();
    assert!(!running.wait().unwrap().success());
    std::fs::remove_file(pid).unwrap();
    wait_for_the_last(fleet);
}

#[test]
fn a_push_or_a_removal_after_which_nrv_was_killed_is_taken_back_and_goes_on() {
    let (fleet, client, hash) = worked(ALLOWED);
    run_to_death(&fleet, &["fleet", "collect", "plan.jsonl", "--apply", "--approve", &hash]);
    assert_eq!((branches(&fleet, "a").as_str(), lines(&client, "open").len()), ("nrv/links", 0));
    // It is not known to be pushed, and is taken back nevertheless.
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(0).says("1 branch removed");
    assert_eq!(branches(&fleet, "a"), "");
    apply(&fleet, &hash).exits(0).says("3 branches pushed and requested");
    apply(&fleet, &hash).exits(0).says("0 branches pushed and requested, 3 before");
    // Killed when the branch is removed: it is gone, and its request was closed.
    run_to_death(&fleet, &["fleet", "rollback", "plan.jsonl"]);
    apply(&fleet, &hash).exits(5).says("it was taken back in part");
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(0).says("2 branches removed, 1 before");
    assert_eq!(lines(&client, "open"), [""; 0]);
    apply(&fleet, &hash).exits(0).says("3 branches pushed and requested");
}

#[test]
fn a_request_of_a_branch_that_is_gone_is_closed() {
    let (fleet, client, hash) = worked(ALLOWED);
    apply(&fleet, &hash).exits(0);
    let folder = fleet.beside("repositories").join("a");
    assert!(
        Command::new("git").arg("-C").arg(folder).args(["branch", "-D", "-q", "nrv/links"]).status().unwrap().success()
    );
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(0).says("2 branches removed, 1 before");
    assert_eq!(lines(&client, "open"), [""; 0]);
    let elsewhere = ["fleet", "rollback", "plan.jsonl", "--store", "../elsewhere"];
    fleet.site.nrv(&elsewhere).exits(1).says("no branch of this plan");
}

#[test]
fn a_request_of_others_is_not_closed() {
    let (fleet, client, hash) = worked(ALLOWED);
    apply(&fleet, &hash).exits(0);
    let own = lines(&client, "open");
    let folder = fleet.beside("repositories").canonicalize().unwrap().join("a");
    let theirs = format!("http://forge.example/99 {} nrv/links", folder.display().to_string().trim_start_matches('/'));
    assert!(own[0].ends_with(theirs.split_once(' ').unwrap().1), "{own:?}");
    std::fs::write(format!("{}.open", client.display()), format!("{}\n{theirs}\n", own.join("\n"))).unwrap();
    fleet.site.nrv(&["fleet", "rollback", "plan.jsonl"]).exits(0).says("3 branches removed");
    assert_eq!(lines(&client, "open"), [theirs]);
}

#[test]
fn a_secret_of_the_client_is_not_told() {
    let (fleet, client, hash) = worked(ALLOWED);
    std::fs::write(&client, "#!/bin/sh\necho \"bad token $FORGE_TOKEN\" >&2; exit 1\n").unwrap();
    let mut command = fleet.site.command(&["fleet", "collect", "plan.jsonl", "--apply", "--approve", &hash]);
    let ran = finished(command.env("FORGE_TOKEN", "canary-1234").output().unwrap()).exits(1).says("bad token [key]");
    assert!(!format!("{ran:?}").contains("canary"), "{ran:?}");
    let found = Command::new("grep").args(["-r", "canary"]).arg(fleet.beside("store")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}
