//! Every adapter but `link_updater`, killed at moments that a seed chooses, and two at once.
//!
//! Fifty kills of each: `NRV_CRASH_ROUNDS=50 cargo test --test it crash::adapters -- --nocapture`.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Bench, kill_again_and_again};
use crate::support::{
    hold::stopped_in_transaction,
    need,
    site::{Site, Tree, wait_until},
};

/// The files that an adapter changes in a test.
const FILES: usize = 60;

/// A tree for one adapter, and its result, which plain text says.
struct Task {
    tool: &'static str,
    glob: &'static str,
    params: Value,
    /// The old and the new text of each file that changes.
    texts: fn(usize) -> [String; 2],
    name: fn(usize) -> String,
}

fn migrator() -> Task {
    let schema = json!({
        "type": "object", "required": ["title", "version"],
        "properties": {"title": {"type": "string"}, "version": {"default": 2}, "size": {"type": "integer"}},
    });
    Task {
        tool: "json_schema_migrator",
        glob: "data/**/*.json",
        params: json!({"schema": schema, "fixes": {"defaults": "required", "coerce": true, "rename": {"/name": "/title"}}}),
        texts: |index| {
            let text =
                |name, size: &str, more| format!("{{\n  \"{name}\":  \"{index}\",\n  \"size\": {size}{more}\n}}\n");
            [text("name", &format!("\"{index}\""), ""), text("title", &index.to_string(), ",\n  \"version\": 2")]
        },
        name: |index| format!("data/{}/{index}.json", index % 7),
    }
}

fn fixer() -> Task {
    Task {
        tool: "intra_repo_link_fixer",
        glob: "docs/**/*.md",
        params: json!({}),
        texts: |index| {
            let text =
                |page: &str| format!("# Page {index}\n\n[next]({page}#page-{0}) and `{index}`\n", (index + 1) % FILES);
            let next = (index + 1) % FILES;
            [text(&format!("Page{next}.md")), text(&format!("page{next}.md"))]
        },
        name: |index| format!("docs/page{index}.md"),
    }
}

fn rewriter() -> Task {
    Task {
        tool: "code_rewrite",
        glob: "web/**/*.js",
        params: json!({"pattern": "log($A)", "fix": "trace($A)"}),
        texts: |index| {
            ["log", "trace"].map(|name| format!("run({index}, () => {{\n  {name}({name}({index}));\n}});\n"))
        },
        name: |index| format!("web/{}/{index}.js", index % 7),
    }
}

fn renamer() -> Task {
    Task {
        tool: "rename_refactor",
        glob: "src/**/*.ts",
        params: json!({"from": "limit", "to": "bound"}),
        texts: |index| {
            ["limit", "bound"].map(|name| match index {
                0 => format!("export const {name} = 1;\n"),
                _ => format!("import {{ {name} }} from './m0';\n\nconsole.log({name}, {index});\n"),
            })
        },
        name: |index| format!("src/m{index}.ts"),
    }
}

fn heading_case() -> Task {
    Task {
        tool: "heading_case",
        glob: "docs/**/*.md",
        params: json!({}),
        texts: |index| ["page", "Page"].map(|word| format!("# {word} {index}\n\ntext\n")),
        name: |index| format!("docs/{index}.md"),
    }
}

fn sort_imports() -> Task {
    Task {
        tool: "sort_imports",
        glob: "src/**/*.py",
        params: json!({}),
        texts: |index| {
            let text = |lines: [&str; 2]| format!("import {}\nimport {}\n\nprint({index})\n", lines[0], lines[1]);
            [text(["sys", "json"]), text(["json", "sys"])]
        },
        name: |index| format!("src/m{index}.py"),
    }
}

impl Task {
    /// Writes the files into a site.
    fn write(&self, site: &Site) {
        for index in 0..FILES {
            let [before, after] = (self.texts)(index);
            assert!(before != after);
            site.write(&(self.name)(index), before);
        }
    }

    /// The tree after the adapter.
    fn done(&self, before: &Tree) -> Tree {
        let mut after = before.clone();
        for index in 0..FILES {
            let [_, text] = (self.texts)(index);
            after.get_mut(&(self.name)(index)).expect("the file was written").2 = text.into_bytes();
        }
        after
    }

    /// Writes the invocation beside the workspace.
    fn input(&self, site: &Site, name: &str) {
        let input = json!({
            "tool": self.tool, "version": "1.0", "mode": "apply", "target": {"repo_path": ".", "glob": self.glob},
            "params": self.params, "constraints": {"max_files": 5000, "timeout_ms": 300_000, "seed": 42},
        });
        site.write(name, input.to_string());
    }

    /// Kills runs of the adapter again and again.
    fn killed(&self, site: Site) {
        self.write(&site);
        self.input(&site, "../input.json");
        site.commit();
        let before = site.tree();
        let after = self.done(&before);
        let command = ["dta", "run", self.tool, "--input", "../input.json", "--yes"];
        kill_again_and_again(&Bench::of(site, &command, before, after), FILES);
    }
}

#[test]
fn a_migration_of_json_killed_at_any_moment_changed_everything_or_nothing() {
    migrator().killed(Site::new(0));
}

#[test]
fn a_rename_killed_at_any_moment_changed_everything_or_nothing() {
    renamer().killed(Site::new(0));
}

#[test]
fn a_repair_of_links_killed_at_any_moment_changed_everything_or_nothing() {
    fixer().killed(Site::new(0));
}

#[test]
fn a_rewriting_of_code_killed_at_any_moment_changed_everything_or_nothing() {
    rewriter().killed(Site::new(0));
}

#[test]
fn an_adapter_in_rhai_killed_at_any_moment_changed_everything_or_nothing() {
    let site = Site::new(0);
    site.write("dta/heading_case.rhai", include_str!("../../../dta/heading_case.rhai"));
    heading_case().killed(site);
}

#[test]
fn an_adapter_that_is_a_program_killed_at_any_moment_changed_everything_or_nothing() {
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return need::skip("interpreters");
    }
    let site = Site::new(0).policy(
        "[adapters.sort_imports]\nprogram = [\"/usr/bin/python3\", \"dta/sort_imports.py\"]\nglob = [\"src/**/*.py\"]\n\
         version = \"1.0\"\nsummary = \"sort imports\"\nwork = \"unsorted\"\n",
    );
    site.write("dta/sort_imports.py", include_str!("../../../dta/sort_imports.py"));
    sort_imports().killed(site);
}

#[test]
fn two_adapters_on_disjoint_globs_both_succeed() {
    let site = Site::new(0);
    let (one, two) = (migrator(), fixer());
    for (task, name) in [(&one, "../one.json"), (&two, "../two.json")] {
        task.write(&site);
        task.input(&site, name);
    }
    site.commit();
    let before = site.tree();
    let after = two.done(&one.done(&before));
    let run = |tool: &str, name: &str| site.start_heard(&["dta", "run", tool, "--input", name, "--yes"]);
    for _ in 0..2 {
        let (first, second) = (run(one.tool, "../one.json"), run(two.tool, "../two.json"));
        first.end().exits(0);
        second.end().exits(0);
        assert!(site.tree() == after);
        site.reset(&before);
    }
}

#[test]
fn an_adapter_on_an_overlapping_glob_waits_for_the_lock() {
    let site = Site::new(0).policy("[run]\nlock_wait_ms = 60000\n");
    let one = migrator();
    one.write(&site);
    one.input(&site, "../one.json");
    let two =
        Task { params: json!({"schema": {"required": ["kind"]}, "fixes": {"set": {"/kind": "page"}}}), ..migrator() };
    two.input(&site, "../two.json");
    site.commit();
    let before = site.tree();
    let command =
        |name: &'static str| ["dta", "run", "json_schema_migrator", "--input", name, "--yes", "--allow-dirty"];
    let first = stopped_in_transaction(&site, &command("../one.json"), || site.reset(&before));
    let mut second = site.start_heard(&command("../two.json"));
    // Its record begins, and then it wants the lock.
    let begun = || site.recorded("*/events.jsonl").len();
    wait_until("the second run has begun", || begun() == 2 || second.has_ended());
    assert_eq!(site.recorded("*/journal/*.json").len(), 1, "the first run alone changes files");
    assert!(!second.has_ended(), "the second run waits: {:?}", second.end());
    first.signal(Signal::CONT);
    first.end().exits(0);
    second.end().exits(0);
    let mut after = one.done(&before);
    for index in 0..FILES {
        let bytes = &mut after.get_mut(&(one.name)(index)).expect("the file was written").2;
        let text = String::from_utf8_lossy(bytes).replace("\"version\": 2", "\"version\": 2,\n  \"kind\": \"page\"");
        *bytes = text.into_bytes();
    }
    assert!(site.tree() == after, "both edits are there");
}
