//! The workflow files of `examples/ci`: they fit the schemas of their services, and their commands work as the page says.
#![expect(clippy::disallowed_methods, reason = "tests run programs and read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;

use crate::{
    repository,
    support::{
        need,
        site::{Ran, Site},
    },
};

/// Each file with the schema of its service, as `check-jsonschema` names it, and the form of its notes.
const FILES: &[(&str, &str, &str)] = &[
    ("azure-pipelines.yml", "azure-pipelines", "sarif"),
    ("bitbucket-pipelines.yml", "bitbucket-pipelines", "gitlab"),
    ("buildkite.yml", "buildkite", "gitlab"),
    ("circleci.yml", "circle-ci", "sarif"),
    ("github.yml", "github-workflows", "github"),
    ("gitlab.yml", "gitlab-ci", "gitlab"),
];

#[test]
fn workflow_files_fit_the_schemas_of_their_services() {
    let program = repository::root().join("target/ci/bin/check-jsonschema");
    if !program.exists() {
        return need::skip("ci-schemas");
    }
    let check = |path: &str, schema: &str| {
        let mut command = Command::new(&program);
        command.args(["--regex-variant", "nonunicode", "--builtin-schema", &format!("vendor.{schema}")]);
        if matches!(schema, "azure-pipelines" | "gitlab-ci") {
            command.args(["--data-transform", schema]);
        }
        let output = command.arg(path).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.success(), said)
    };
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.yml");
    std::fs::write(&wrong, "pipelines: 1\nsteps: 2\njobs: 3\n").unwrap();
    for (file, schema, _) in FILES {
        let path = repository::root().join("examples/ci").join(file);
        let (fits, said) = check(path.to_str().unwrap(), schema);
        assert!(fits, "{file}: {said}");
        assert!(!check(wrong.to_str().unwrap(), schema).0, "the schema of {file} refuses nothing");
    }
}

#[test]
fn every_workflow_file_is_looked_at_and_named_on_the_page() {
    let page = repository::text("examples/ci/README.md").unwrap();
    let files = repository::files();
    let there: BTreeSet<&str> = files
        .iter()
        .filter_map(|path| path.strip_prefix("examples/ci/"))
        .filter(|name| name.ends_with(".yml"))
        .collect();
    assert_eq!(there, FILES.iter().map(|file| file.0).collect());
    for file in there {
        assert!(page.contains(&format!("]({file})")), "{file}");
    }
}

/// The commands of nrv in a workflow file, in their order, without the rest of a pipe or of a line after `||`.
fn commands(file: &str) -> Vec<String> {
    let text = repository::text(&format!("examples/ci/{file}")).unwrap();
    let command = |line: &str| {
        let at = line.find("nrv approve").or_else(|| line.find("nrv run"))?;
        let is_code = !line.trim_start().starts_with('#');
        is_code.then(|| line[at..].split(" || ").next().unwrap_or_default().to_owned())
    };
    text.lines().filter_map(command).collect()
}

/// A repository that uses the example, with one file that has its header and one that has not.
pub(crate) fn repository_of_a_team() -> Site {
    let site = Site::empty();
    let shipped = |path: &str| repository::text(path).unwrap();
    site.write("scripts/bump_header.rhai", shipped("scripts/bump_header.rhai"));
    site.write("headers.json", shipped("examples/ci/headers.json"));
    site.write(".gitignore", ".runs/\nnrv*.json\nnrv-report.html\nnrv.sarif\n");
    site.write("src/a.rs", "// Copyright 2026 Example Ltd.\n// SPDX-License-Identifier: MIT\n\nfn a() {}\n");
    site.write("src/b.rs", "// Copyright 2024 Example Ltd.\n\nfn b() {}\n");
    site.git(&["init", "-q", "-b", "main"]);
    site.commit();
    site.nrv(&["approve", "scripts/bump_header.rhai", "--grant", "review the headers", "--yes"]).exits(0);
    site.commit();
    site
}

/// Runs a line as a service does.
fn shell(site: &Site, line: &str) -> Ran {
    let mut command = Command::new("sh");
    let folder = std::path::Path::new(repository::nrv()).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let output = site.tame(&mut command).env("PATH", path).env("CI", "true").args(["-c", line]).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_commands_of_every_workflow_file_work() {
    for (file, _, form) in FILES {
        let site = repository_of_a_team();
        let before = site.tree();
        let commands = commands(file);
        assert_eq!(commands.len(), 4, "{file}: {commands:?}");
        for line in &commands {
            // 8: the file `src/b.rs` would be changed.
            let expected = if line.starts_with("nrv run ") { 8 } else { 0 };
            let ran = shell(&site, line).exits(expected);
            if line.contains("--annotations") {
                assert!(line.contains(&format!("--annotations {form}")), "{file}: {line}");
                let output = line.split("> ").nth(1);
                let said = output.map_or(ran.stdout, |name| String::from_utf8(site.read(name)).unwrap());
                assert!(said.contains("src/b.rs") && !said.contains("src/a.rs"), "{file}: {said}");
            }
        }
        let run: Value = serde_json::from_slice(&site.read("nrv-run.json")).unwrap();
        assert_eq!(run["result"]["changed"], serde_json::json!(["src/b.rs"]), "{file}");
        assert!(String::from_utf8(site.read("nrv-report.html")).unwrap().contains("</html>"), "{file}");
        let sources = |tree: &crate::support::site::Tree| tree.get("src/b.rs").cloned();
        assert_eq!(sources(&site.tree()), sources(&before), "{file}");
    }
}

#[test]
fn a_script_that_nobody_approved_is_refused_as_the_page_says() {
    let site = repository_of_a_team();
    let text = String::from_utf8(site.read("scripts/bump_header.rhai")).unwrap();
    site.script("scripts/bump_header.rhai", &text.replace("budget: #{ files: 5000", "budget: #{ files: 6000"));
    for line in &commands("github.yml")[..2] {
        shell(&site, line).exits(3);
    }
    shell(&site, &commands("github.yml")[2]).exits(1);
}
