//! A machine that gives programs no namespace and no overlay, as many containers do: what works there, and what is refused.
#![expect(clippy::disallowed_methods, reason = "tests run programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::process::Command;

use serde_json::Value;

use crate::support::{
    need,
    site::{Ran, Site, finished},
};

/// A script whose command changes a file.
const COMMANDS: &str = "const WORKFLOW = #{ permissions: #{ exec: [\"sh\"], write: [\"*.txt\"] } };
nrv.exec.check(#{ program: \"sh\", args: [\"-c\", \"echo more >> a.txt; ls -a > b.txt\"], writes: [\"*.txt\"] });
";

/// A policy that lets it run, with a line more.
const POLICY: &str = "[[exec.allow]]\nprefix = [\"sh\", \"-c\"]\nwrites = [\"**\"]\n";

/// Runs nrv without any right and where no namespace can be made.
fn jailed(site: &Site, arguments: &[&str]) -> Ran {
    let line = "echo 0 >/proc/sys/user/max_user_namespaces && \
                exec setpriv --bounding-set -all --inh-caps -all --no-new-privs \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", line, "sh", crate::repository::nrv()]).args(arguments);
    site.tame(&mut command);
    finished(command.output().unwrap())
}

fn can_jail() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "setpriv", "--bounding-set", "-all", "true"]);
    let can = command.output().is_ok_and(|output| output.status.success());
    if !can {
        need::skip("namespaces");
    }
    can
}

#[test]
fn commands_work_on_a_copy_where_no_namespace_can_be_made() {
    if !can_jail() {
        return;
    }
    let site = Site::new(0).policy(POLICY);
    site.write("a.txt", "a\n");
    site.script("run.rhai", COMMANDS);
    let before = site.tree();
    jailed(&site, &["run", "run.rhai", "--yes"]).exits(0);
    assert_eq!(site.read("a.txt"), b"a\nmore\n");
    let seen = String::from_utf8(site.read("b.txt")).unwrap();
    assert!(seen.contains("a.txt") && !seen.contains(".git\n"), "it worked on a copy without `.git`: {seen}");
    jailed(&site, &["runs", "verify", "last"]).exits(0);
    jailed(&site, &["rollback", "last"]).exits(0);
    assert_eq!(site.tree(), before);
    site.write("nrv.toml", format!("exec.sandbox = \"require\"\n{POLICY}"));
    site.commit();
    let before = site.tree();
    jailed(&site, &["run", "run.rhai", "--yes"]).exits(3).says("can't be confined in full here");
    assert_eq!(site.tree(), before);
}

#[test]
fn the_doctor_says_what_is_missing_there_and_what_it_means() {
    if !can_jail() {
        return;
    }
    let site = Site::new(0);
    let document: Value = jailed(&site, &["doctor", "--json"]).exits(0).json();
    let checks = document["checks"].as_array().cloned().unwrap_or_default();
    let warned: Vec<&Value> = checks.iter().filter(|check| check["level"] == "warn").collect();
    let names: Vec<&str> = warned.iter().filter_map(|check| check["check"].as_str()).collect();
    assert!(names.contains(&"user_namespaces") && names.contains(&"sandbox"), "{document:#}");
    let found = warned.iter().find(|check| check["check"] == "user_namespaces").unwrap();
    assert!(found["found"].as_str().unwrap_or_default().contains("a copy of the tree"), "{found:#}");
    assert!(found["advice"].as_str().unwrap_or_default().contains("user.max_user_namespaces"), "{found:#}");
}
