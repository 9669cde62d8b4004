//! `nrv fleet`: one workflow over many repositories, in private clones, with one result a task.
#![expect(clippy::disallowed_methods, reason = "tests build trees and end processes")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod bucket;
mod canary;
mod delivered;
mod engines;
mod hostile;
mod https;
mod killed;
mod read;
mod real;
mod requests;
mod slurm;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::support::site::{Ran, Site, wait_until};

/// A workflow that moves links.
const LINKS: &str = "//! Moves links.
const WORKFLOW = #{ name: \"links\", permissions: #{ write: [\"**/*.md\"] },
    args: #{ type: \"object\", properties: #{ from: #{ type: \"string\" }, glob: #{ type: \"string\", \"default\": \"**/*.md\" } } } };
for path in nrv.files.glob(args.glob) {
    let text = nrv.files.read(path);
    let made = nrv.text.replace_all(text, args.from, \"new.example.com\");
    if text.contains(\"broken\") { throw `${path} is broken`; }
    if made != text { nrv.apply.write(path, made, nrv.files.sha256(path)); }
}
";

/// A fleet: a workspace with an approved script, and a folder of repositories beside it.
struct Fleet {
    site: Site,
}

impl Fleet {
    fn new() -> Self {
        let site = Site::empty().with_own_temporary();
        site.git(&["init", "-q", "-b", "main"]);
        site.git(&["config", "user.name", "A Person"]);
        site.git(&["config", "user.email", "person@example.org"]);
        site.write(".gitignore", ".runs/\n");
        site.write("nrv.toml", "");
        site.script("links.rhai", LINKS);
        site.nrv(&["approve", "links.rhai", "--yes"]).exits(0);
        Fleet { site }
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.site.root().with_file_name(name)
    }

    /// Makes a repository of these files; its commit.
    fn repository(&self, name: &str, files: &[(&str, &str)]) -> String {
        let folder = self.beside("repositories").join(name);
        for (path, text) in files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        commit(&folder)
    }

    /// Writes the manifest, whose repositories are those beside the workspace, and plans it.
    fn plan(&self, more: &str) -> Ran {
        self.plan_of("store = \"../store\"", more)
    }

    /// As `plan`, with another store.
    fn plan_of(&self, store: &str, more: &str) -> Ran {
        let manifest =
            format!("name = \"links\"\n{store}\nscript = \"links.rhai\"\nargs = {{ from = \"old.example.com\" }}\n");
        let mut names: Vec<String> = std::fs::read_dir(self.beside("repositories"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let list: String = names.iter().map(|name| format!("../repositories/{name}\n")).collect();
        self.site.write("fleet.toml", format!("{manifest}{more}"));
        self.site.write("list", list);
        self.site.nrv(&["fleet", "plan", "--repositories", "list"])
    }

    fn status(&self) -> String {
        self.site.nrv(&["fleet", "status", "plan.jsonl"]).exits(0).stdout
    }

    fn collected(&self, arguments: &[&str]) -> Value {
        let ran = self.site.nrv(&[&["fleet", "collect", "plan.jsonl", "--json"], arguments].concat());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
    }

    /// The outcomes by task, without what differs from attempt to attempt, and the bytes of the patches.
    fn results(&self, arguments: &[&str]) -> (Vec<Value>, BTreeMap<String, Vec<u8>>) {
        let folder = self.beside("collected");
        let _ = std::fs::remove_dir_all(&folder);
        let mut collected = self.collected(&[&["-o", folder.to_str().unwrap()], arguments].concat());
        assert_eq!(collected["missing"], json!([]));
        let rows = collected["rows"].as_array_mut().unwrap();
        for row in rows.iter_mut() {
            row["outcome"].as_object_mut().unwrap().remove("volatile");
        }
        let patches = std::fs::read_dir(folder.join("patches")).unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        });
        (rows.clone(), patches.collect())
    }
}

/// Commits all of a folder, as a repository of its own; the commit.
fn commit(folder: &Path) -> String {
    let git = |arguments: &[&str]| {
        let made = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(made.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    if !folder.join(".git").exists() {
        git(&["init", "-q", "-b", "main"]);
    }
    git(&["add", "--force", "--all"]);
    git(&["commit", "-q", "-m", "files"]);
    git(&["rev-parse", "HEAD"])
}

/// Kinds of outcomes by the name of the task.
fn kinds(collected: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    collected["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(&row["name"]), text(&row["outcome"]["kind"])))
        .collect()
}

#[test]
fn each_repository_is_changed_in_a_clone_and_its_patch_applies() {
    let fleet = Fleet::new();
    fleet.repository(
        "a",
        &[("docs/x.md", "see old.example.com\n"), ("docs/y.md", "old.example.com\r\n"), ("z.txt", "old.example.com\n")],
    );
    fleet.repository("b", &[("x.md", "nothing\n")]);
    fleet.repository("c", &[("x.md", "old.example.com\n"), ("y.md", "broken\n")]);
    fleet.repository("d", &[("x.md", "old.example.com\n"), ("y.md", "also broken\n")]);
    fleet.plan("").exits(0).says("4 tasks of `links`");
    let again = fleet.site.read("plan.jsonl");
    fleet.plan("").exits(0);
    assert!(fleet.site.read("plan.jsonl") == again, "the same inputs give the same bytes");
    assert!(fleet.status().starts_with("0 of 4 tasks done, 0 begun, 4 open"), "{}", fleet.status());
    assert_eq!(fleet.collected(&[])["missing"], json!(["a", "b", "c", "d"]));
    let worked = fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(1);
    assert!(worked.stderr.contains("a: 2 files changed") && worked.stderr.contains("b: nothing to do"), "{worked:?}");
    assert!(fleet.status().starts_with("4 of 4 tasks done"), "{}", fleet.status());

    let folder = fleet.beside("collected");
    let collected = fleet.collected(&["-o", folder.to_str().unwrap()]);
    let expected = [("a", "changed"), ("b", "nothing"), ("c", "failed"), ("d", "failed")];
    assert_eq!(kinds(&collected), expected.map(|(name, kind)| (name.to_owned(), kind.to_owned())));
    let groups = collected["groups"].as_array().unwrap();
    assert_eq!((groups.len(), &groups[0]["tasks"]), (1, &json!(["c", "d"])), "{groups:?}");
    assert!(groups[0]["at"].as_str().unwrap().starts_with("links.rhai:"), "{groups:?}");
    let page = std::fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(page.contains("reports/a.html") && page.contains("patches/a.patch") && page.contains("2 × "), "{page}");
    assert!(std::fs::read_to_string(folder.join("reports/c.html")).unwrap().contains("is broken"));
    // The repository itself is as it was, and takes the patch.
    let repository = fleet.beside("repositories").join("a");
    assert_eq!(std::fs::read(repository.join("docs/y.md")).unwrap(), b"old.example.com\r\n");
    let applied =
        Command::new("git").current_dir(&repository).arg("apply").arg(folder.join("patches/a.patch")).status();
    assert!(applied.unwrap().success());
    assert_eq!(std::fs::read(repository.join("docs/y.md")).unwrap(), b"new.example.com\r\n");
    assert_eq!(std::fs::read(repository.join("z.txt")).unwrap(), b"old.example.com\n");
}

#[test]
fn a_task_that_is_done_stays_done_and_other_inputs_are_another_task() {
    let fleet = Fleet::new();
    fleet.repository("a", &[("x.md", "old.example.com\n")]);
    fleet.plan("").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--task", "a"]).exits(0);
    let first = fleet.results(&[]);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--index", "0"]).exits(0).says("as was found before");
    assert_eq!(fleet.results(&[]), first);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--index", "1"]).exits(2).says("the plan has 1 task");
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--index-env", "NOT_SET"]).exits(2);
    fleet.repository("a", &[("x.md", "old.example.com twice\n")]);
    fleet.plan("").exits(0);
    assert!(fleet.status().starts_with("0 of 1 task done"), "{}", fleet.status());
    // Somebody else edits objects of the store.
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
    let results = std::fs::read_dir(fleet.beside("store").join("results")).unwrap();
    for result in results {
        std::fs::write(result.unwrap().path().join("patch"), "diff --git a/x.md b/x.md\n").unwrap();
    }
    fleet.site.nrv(&["fleet", "collect", "plan.jsonl"]).exits(4).says("the task `a`");
}

#[test]
fn a_task_has_the_same_record_at_another_time_however_large_it_is() {
    let fleet = Fleet::new();
    let pages: Vec<(String, String)> = (0..80)
        .map(|n| (format!("docs/a-page-with-a-long-name-{n}.md"), "<https://old.example.com/x>\n".to_owned()))
        .collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    fleet.repository("a", &pages);
    let args = "args = { from = ['old.example.com'], to = 'https://new.example.com', glob = ['**/*.md'] }";
    fleet.site.write("fleet.toml", format!("name = 'links'\nstore = '../store'\nscript = 'std:migrate_all_links'\n{args}\n[[repository]]\npath = '../repositories/a'\n"));
    fleet.site.nrv(&["fleet", "plan"]).exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0).says("a: 80 files changed");
    let first = fleet.results(&[]);
    // Git keeps times in seconds.
    let second = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let begun = second();
    wait_until("another second has begun", || second() > begun);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl", "--store", "../other"]).exits(0);
    assert!(fleet.results(&["--store", "../other"]) == first, "the records differ");
}

#[test]
fn what_can_not_be_planned_says_why() {
    let fleet = Fleet::new();
    fleet.repository("a", &[("x.md", "old.example.com\n")]);
    fleet.plan("[[repository]]\nurl = 'https://user:word@example.com/x'\n").exits(1).says("a user or a password");
    fleet.plan("[[repository]]\npath = '../missing'\n").exits(1).says("can't be found");
    fleet
        .plan("[[repository]]\npath = '../repositories/a'\nname = 'b'\nbranch = 'other'\n")
        .exits(1)
        .says("has no `refs/heads/other`");
    let branch =
        |name: &str| format!("[[repository]]\npath = '../repositories/a'\nname = '{name}'\nbranch = 'other'\n");
    fleet.plan(&[branch("b"), branch("c")].concat()).exits(1).says("(nor can `c` be planned)");
    let twice = "[[repository]]\npath = '../repositories/a'\nname = 'again'\nargs = { glob = '*.md' }\n";
    fleet.plan(&[delivered::FORM, twice].concat()).exits(1).says("the same branch of the same repository");
    fleet.plan("policy = 'missing.toml'\n").exits(1).says("missing.toml");
    fleet.plan("args = { x = 1 }\n").exits(1).says("fleet.toml");
    fleet.site.write("links.rhai", format!("{LINKS}\n// edited\n"));
    fleet.plan("").exits(3).says("not_approved");
}

#[test]
fn a_shard_writes_in_its_part_alone() {
    let fleet = Fleet::new();
    fleet.repository("a", &[("one/x.md", "old.example.com\n"), ("two/x.md", "old.example.com\n")]);
    let shards = "[[repository]]\npath = '../repositories/a'\nname = 'parts'\nshards = ['one/**', 'two/**']\n";
    fleet.plan(&format!("shard_arg = 'glob'\n{shards}")).exits(0).says("3 tasks");
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
    let (_, patches) = fleet.results(&[]);
    let text = |name: &str| String::from_utf8(patches[name].clone()).unwrap();
    assert!(text("parts-1.patch").contains("one/x.md") && !text("parts-1.patch").contains("two/x.md"));
    assert_eq!(format!("{}{}", text("parts-1.patch"), text("parts-2.patch")), text("a.patch"));
    // A script that does not keep to its part is refused.
    fleet.plan(shards).exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(3).says("permission_denied");
}

#[test]
fn an_edited_plan_is_refused_and_so_are_two_tasks_of_one_name() {
    let fleet = Fleet::new();
    fleet.repository("a", &[("x.md", "old.example.com\n")]);
    fleet.plan("").exits(0);
    let plan = String::from_utf8(fleet.site.read("plan.jsonl")).unwrap();
    for (from, to) in [
        ("\"name\":\"a\"", "\"name\":\"../../../escaped\""),
        ("\"fleet\":\"links\"", "\"fleet\":\"x\\ntouch injected\""),
        ("\"retries\":3", "\"retries\":0"),
        ("\"store\":\"../store\"", "\"store\":\"../elsewhere\""),
    ] {
        assert!(plan.contains(from), "{from}");
        fleet.site.write("edited.jsonl", plan.replace(from, to));
        for command in ["work", "status", "collect"] {
            fleet.site.nrv(&["fleet", command, "edited.jsonl"]).exits(1).says("of the plan is wrong");
        }
    }
    fleet
        .plan("[[repository]]\npath = '../repositories/a'\nname = 'A'\nargs = { glob = '*.md' }\n")
        .exits(1)
        .says("two tasks have the name");
    fleet.plan("store = 's3://bucket'\n").exits(1);
}

#[test]
fn one_repository_that_can_not_be_worked_keeps_no_other_from_its_result() {
    let fleet = Fleet::new();
    for name in ["a", "c"] {
        fleet.repository(name, &[("x.md", "old.example.com\n")]);
    }
    // The patch of this one can't be made: git is to read the page in an encoding that it does not have.
    fleet.repository(
        "b",
        &[("x.md", "old.example.com\n"), (".gitattributes", "docs/*.md working-tree-encoding=UTF-16\n")],
    );
    let makes = "const WORKFLOW = #{ permissions: #{ write: [\"docs/**\"] } };\nnrv.apply.create(\"docs/new.md\", \"new\\n\");\n";
    fleet.site.script("links.rhai", makes);
    fleet.site.nrv(&["approve", "links.rhai", "--yes"]).exits(0);
    fleet.site.write("fleet.toml", "name = 'new'\nstore = '../store'\nscript = 'links.rhai'\n");
    fleet.site.write("list", "../repositories/a\n../repositories/b\n../repositories/c\n");
    fleet.site.nrv(&["fleet", "plan", "--repositories", "list"]).exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]);
    let collected = fleet.collected(&[]);
    let found: BTreeMap<String, String> = kinds(&collected).into_iter().collect();
    assert_eq!(
        (found["a"].as_str(), found["b"].as_str(), found["c"].as_str()),
        ("changed", "failed", "changed"),
        "{collected:#}"
    );
}

#[test]
fn an_outcome_that_its_record_does_not_bear_out_is_damaged() {
    let fleet = Fleet::new();
    for name in ["a", "b"] {
        fleet.repository(name, &[("x.md", "old.example.com\n"), (name, "")]);
    }
    fleet.plan("").exits(0);
    fleet.site.nrv(&["fleet", "work", "plan.jsonl"]).exits(0);
    let folder = fleet.beside("store").join("done");
    let done: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let whole = std::fs::read_to_string(&done[0]).unwrap();
    let mut outcome: Value = serde_json::from_str(&whole).unwrap();
    for edit in ["more files", "no record"] {
        match edit {
            "more files" => outcome["files_changed"] = json!(999),
            _ => drop(outcome["volatile"].as_object_mut().unwrap().remove("record")),
        }
        std::fs::write(&done[0], outcome.to_string()).unwrap();
        fleet.site.nrv(&["fleet", "collect", "plan.jsonl"]).exits(4).says("record_damaged");
        outcome = serde_json::from_str(&whole).unwrap();
    }
    std::fs::write(&done[0], &whole).unwrap();
    let folder = fleet.beside("collected");
    fleet.site.nrv(&["fleet", "collect", "plan.jsonl", "-o", folder.to_str().unwrap()]).exits(0);
    fleet
        .site
        .nrv(&["fleet", "collect", "plan.jsonl", "-o", folder.to_str().unwrap()])
        .exits(1)
        .says("not an empty folder");
    // A pipe is no object.
    std::fs::remove_file(&done[0]).unwrap();
    assert!(Command::new("mkfifo").arg(&done[0]).status().unwrap().success());
    fleet.site.nrv(&["fleet", "collect", "plan.jsonl"]).exits(4).says("it is not a plain file");
}
