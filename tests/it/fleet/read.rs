//! Repositories of this machine that a fleet reads: no setting of theirs counts, and no file of theirs is waited at.

use super::{delivered::form, *};

/// Settings by which git refuses to read a repository, reads less of it, or starts a program.
const SETTINGS: &[(&str, &str)] = &[
    ("core.bare", "maybe"),
    ("core.repositoryFormatVersion", "9"),
    ("extensions.strange", "1"),
    ("pack.threads", "-3"),
    ("core.compression", "-2"),
    ("transfer.hideRefs", "refs"),
    ("uploadpack.packObjectsHook", "/nowhere/program"),
    ("include.path", "/dev/zero"),
];

fn pipe(path: &Path) {
    let _ = std::fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn repositories_of_every_form_are_read_without_their_settings() {
    let forms = ["settings", "config", "bare", "packed", "worktree", "linked", "objects", "refs", "packed-refs"];
    let fleet = Fleet::new();
    for name in forms {
        fleet.repository(name, &[("a.md", "old.example.com\n")]);
        let own = fleet.beside("repositories").join(name).join(".git");
        match name {
            "settings" => {
                let text: String = SETTINGS
                    .iter()
                    .filter_map(|(key, value)| {
                        key.split_once('.').map(|(table, key)| format!("[{table}]\n{key} = {value}\n"))
                    })
                    .collect();
                std::fs::write(own.join("config"), text).unwrap();
            }
            "config" => pipe(&own.join("config")),
            _ => form(&fleet, name),
        }
    }
    fleet.plan("").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
    assert_eq!(fleet.status(), format!("{0} of {0} tasks done, 0 begun, 0 open\n", forms.len()));
}

#[test]
fn a_repository_that_can_not_be_read_is_refused_with_the_reason() {
    for (name, why) in [
        ("HEAD", "its `HEAD` can't be read: it is not a plain file"),
        ("refs/heads/main", "its `refs/heads/main` can't be read: it is not a plain file"),
        ("packed-refs", "its `packed-refs` can't be read: it is not a plain file"),
        ("reftable", "its references are in no files"),
    ] {
        let fleet = Fleet::new();
        fleet.repository("a", &[("a.md", "old.example.com\n")]);
        let own = fleet.beside("repositories/a/.git");
        let _ = std::fs::remove_file(own.join("refs/heads/main"));
        match name {
            "reftable" => std::fs::create_dir(own.join(name)).unwrap(),
            _ => pipe(&own.join(name)),
        }
        fleet.plan("").exits(75).says(why);
    }
    let fleet = Fleet::new();
    let commit = fleet.repository("a", &[("a.md", "old.example.com\n")]);
    fleet.plan("").exits(0);
    let object = fleet.beside("repositories/a/.git/objects").join(&commit[..2]).join(&commit[2..]);
    pipe(&object);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(75).says("is no plain file");
}
