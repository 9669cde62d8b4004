//! The parts of a release: packages of other registries, the action, and a program that needs nothing else.
#![expect(clippy::disallowed_methods, reason = "tests run programs and read files of their own")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    repository,
    support::{need, site::Site},
};

/// A stand-in for the program: it shows its arguments and ends with 7.
const PROGRAM: &str = "#!/bin/sh\necho \"nrv $*\"\n[ \"$1\" != wait ] || exec sleep 60\nexit 7\n";

const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

#[track_caller]
fn output(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.code().unwrap_or(-1), said)
}

/// Writes the packages with the stand-in to a folder.
fn wrapped(folder: &Path) {
    let program = folder.join("program");
    fs::write(&program, PROGRAM).unwrap();
    let pairs = TARGETS.map(|target| format!("{target}={}", program.display()));
    let mut command = Command::new("python3");
    command.arg(repository::root().join("packaging/wrap.py")).arg(folder.join("files")).args(pairs);
    let (code, said) = output(&mut command);
    assert_eq!((code, said.lines().count()), (0, 5), "{said}");
}

/// The names and bytes of the files of a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn packages_have_the_same_bytes_twice() {
    let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    wrapped(one.path());
    wrapped(other.path());
    let made = files(&one.path().join("files"));
    assert_eq!(made, files(&other.path().join("files")));
    let names: Vec<&str> = made.iter().map(|(name, _)| name.as_str()).collect();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(names[0], format!("nrv-{version}-py3-none-manylinux2014_aarch64.musllinux_1_1_aarch64.whl"));
    assert!(names.contains(&format!("nrv-linux-x64-{version}.tgz").as_str()), "{names:?}");
}

#[test]
fn a_wheel_puts_the_program_on_the_path() {
    let pip = repository::root().join("target/ci/bin/pip");
    if !pip.exists() {
        return need::skip("ci-schemas");
    }
    let folder = tempfile::tempdir().unwrap();
    wrapped(folder.path());
    let machine = std::env::consts::ARCH;
    let mut names = files(&folder.path().join("files")).into_iter().map(|(name, _)| name);
    let wheel = names.find(|name| name.ends_with(&format!("_{machine}.whl"))).unwrap();
    let mut install = Command::new(&pip);
    install.args(["install", "-q", "--no-index", "--disable-pip-version-check", "--ignore-installed", "--prefix"]);
    let (code, said) = output(install.arg(folder.path().join("to")).arg(folder.path().join("files").join(wheel)));
    assert_eq!(code, 0, "{said}");
    let program = folder.path().join("to/bin/nrv");
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(output(Command::new(program).args(["run", "x"])), (7, "nrv run x\n".to_owned()));
}

#[test]
fn the_launcher_of_npm_ends_as_the_program_does() {
    if !Command::new("npm").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return need::skip("npm");
    }
    let folder = tempfile::tempdir().unwrap();
    wrapped(folder.path());
    let version = env!("CARGO_PKG_VERSION");
    let machine = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };
    let package = |name: &str| folder.path().join("files").join(format!("{name}-{version}.tgz"));
    let install = |to: &Path, packages: &[&str]| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--offline", "--no-audit", "--no-fund", "--silent", "--omit=optional", "--prefix"]);
        let (code, said) = output(npm.arg(to).args(packages.iter().map(|name| package(name))));
        assert_eq!(code, 0, "{said}");
        to.join("node_modules/.bin/nrv")
    };
    let both = install(&folder.path().join("to"), &[&format!("nrv-linux-{machine}"), "nrv"]);
    assert_eq!(output(Command::new(&both).args(["run", "a b"])), (7, "nrv run a b\n".to_owned()));
    let mut waits = Command::new(&both).arg("wait").stdout(Stdio::piped()).spawn().unwrap();
    // Where the launcher's program speaks, the launcher has started it and listens to signals.
    let mut said = BufReader::new(waits.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "nrv wait");
    let launcher = rustix::process::Pid::from_child(&waits);
    rustix::process::kill_process(launcher, rustix::process::Signal::TERM).unwrap();
    assert_eq!(waits.wait().unwrap().code(), Some(128 + 15));
    let alone = install(&folder.path().join("alone"), &["nrv"]);
    let (code, said) = output(Command::new(alone).arg("run"));
    assert!(code == 1 && said.contains(&format!("@nrv/linux-{machine} is not installed")), "{said}");
}

#[test]
fn a_program_alone_begins_a_workspace_runs_undoes_and_tests() {
    let namespaces = Command::new("unshare").args(["--mount", "--net", "--pid", "--fork", "true"]).output();
    if !namespaces.is_ok_and(|output| output.status.success()) {
        return need::skip("mounts");
    }
    if !Command::new("busybox").arg("true").output().is_ok_and(|output| output.status.success()) {
        return need::skip("busybox");
    }
    let program = repository::nrv();
    let (code, said) = output(Command::new(repository::root().join("packaging/try")).arg(program));
    assert!(code == 0 && said.contains("Cases: 1 held.\n") && said.contains("It works.\n"), "{said}");
}

/// The commands of the action's steps, by their names.
fn steps() -> Vec<(String, String)> {
    let python = repository::root().join("target/ci/bin/python");
    let read = "import json, ruamel.yaml; print(json.dumps(ruamel.yaml.YAML(typ='safe').load(open('action.yml'))))";
    let (code, said) = output(Command::new(python).current_dir(repository::root()).args(["-c", read]));
    assert_eq!(code, 0, "{said}");
    let action: Value = serde_json::from_str(&said).unwrap();
    let steps = action["runs"]["steps"].as_array().unwrap().iter();
    let command = |step: &Value| Some((step["name"].as_str()?.to_owned(), step["run"].as_str()?.to_owned()));
    steps.filter_map(command).collect()
}

#[test]
fn the_steps_of_the_action_run_an_approved_script_and_write_its_report() {
    if !repository::root().join("target/ci/bin/python").exists() {
        return need::skip("ci-schemas");
    }
    let site = crate::ci::repository_of_a_team();
    let runner = tempfile::tempdir().unwrap();
    let [path, outputs] = ["path", "outputs"].map(|name| runner.path().join(name));
    let run = |script: &str, apply: &str| {
        let mut codes = Vec::new();
        for (name, step) in steps() {
            let mut command = Command::new("bash");
            let added = fs::read_to_string(&path).unwrap_or_default();
            let searched = format!("{}:{}", added.trim().replace('\n', ":"), std::env::var("PATH").unwrap());
            site.tame(&mut command).env("CI", "true").env("PATH", searched).env("RUNNER_TEMP", runner.path());
            command.env("GITHUB_PATH", &path).env("GITHUB_OUTPUT", &outputs).env("PROGRAM", repository::nrv());
            command.env("SCRIPT", script).env("ARGS", "headers.json").env("APPLY", apply);
            let (code, said) = output(command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step]));
            codes.push((name, code, said));
        }
        codes
    };
    let looked = run("scripts/bump_header.rhai", "false");
    let codes: Vec<i32> = looked.iter().map(|(_, code, _)| *code).collect();
    assert_eq!(codes, [0, 0, 8, 0, 0], "{looked:?}");
    assert!(looked[3].2.contains("src/b.rs"), "{looked:?}");
    assert_eq!(fs::read_to_string(&outputs).unwrap(), "exit-code=8\n");
    assert!(fs::read_to_string(runner.path().join("nrv-report.html")).unwrap().contains("</html>"));
    let document: Value = serde_json::from_slice(&fs::read(runner.path().join("nrv-run.json")).unwrap()).unwrap();
    assert_eq!(document["result"]["changed"], serde_json::json!(["src/b.rs"]));
    assert_eq!(run("scripts/bump_header.rhai", "true")[2].1, 0);
    assert!(String::from_utf8_lossy(&site.read("src/b.rs")).contains("2026"));
}

#[test]
fn a_release_that_is_not_what_its_checksum_says_is_not_installed() {
    let site = Site::empty();
    let (_, install) = steps_of_examples().remove(0);
    let name = "nrv-0.1.0-x86_64-unknown-linux-musl";
    site.write(&format!("{name}/nrv"), PROGRAM);
    let archive = site.path("nrv-release.tar.gz");
    let mut tar = Command::new("tar");
    tar.current_dir(site.path(".")).arg("-czf").arg(&archive).arg(name);
    assert_eq!(output(&mut tar).0, 0);
    let sum = output(Command::new("sha256sum").arg(&archive)).1;
    let sum = sum.split(' ').next().unwrap();
    let bin = site.path("bin");
    fs::create_dir(&bin).unwrap();
    let run = |sum: &str| {
        let mut shell = Command::new("sh");
        shell
            .current_dir(site.path("."))
            .env("NRV_URL", format!("file://{}", archive.display()))
            .env("NRV_SHA256", sum);
        output(shell.args(["-ec", &install.replace("/usr/local/bin", bin.to_str().unwrap())]))
    };
    assert_ne!(run(&"0".repeat(64)).0, 0);
    assert!(!bin.join("nrv").exists());
    assert_eq!(run(sum).0, 0);
    assert!(bin.join("nrv").exists());
}

/// The command by which each workflow file of `examples/ci` installs nrv.
fn steps_of_examples() -> Vec<(String, String)> {
    let files = repository::files();
    let files = files.iter().filter(|path| path.starts_with("examples/ci/") && path.ends_with(".yml"));
    let install = |path: &String| {
        let text = repository::text(path).unwrap();
        let line = text.lines().find(|line| line.contains("curl -"))?;
        Some((path.clone(), line[line.find("curl")?..].replace("sudo ", "")))
    };
    files.filter_map(install).collect()
}

#[test]
fn every_workflow_file_installs_a_release_in_the_same_way() {
    let steps = steps_of_examples();
    assert_eq!(steps.len(), 6);
    assert!(steps.iter().all(|(_, command)| *command == steps[0].1), "{steps:?}");
}

/// The files of a package, a line each.
fn listed_in_package(package: &str) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository::root()).args([
        "package",
        "--list",
        "--allow-dirty",
        "--offline",
        "--quiet",
        "--package",
    ]);
    let output = cargo.arg(package).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Crates include files from the top of the repository, to which links in their folders lead.
#[test]
fn packages_have_what_their_links_lead_to() {
    let included = [
        ("nrv-host", "life/init/migrate_links.rhai"),
        ("nrv-script", "scripts/migrate_links.rhai"),
        ("nrv-script", "stdlib/agents.rhai"),
        ("nrv-service", "prompt/templates/prompt.jinja"),
    ];
    for (package, file) in included {
        let listed = listed_in_package(package);
        assert!(listed.lines().any(|path| path == file), "{package} lacks {file}: {listed}");
        assert!(listed.lines().all(|path| !path.contains(".test/") && !path.contains(".llm/")), "{listed}");
    }
}

#[test]
fn the_crate_has_what_it_is_made_of_and_no_fixtures() {
    let listed = listed_in_package("nrv");
    let mut bytes = 0;
    for path in listed.lines() {
        let size = fs::metadata(repository::root().join(path)).map_or(0, |file| file.len());
        assert!(size < 600_000, "{path} has {size} bytes");
        bytes += size;
    }
    assert!(listed.lines().any(|path| path == "src/main.rs") && bytes < 12_000_000, "{bytes}");
    assert!(listed.lines().all(|path| !path.starts_with("tests/") && !path.contains(".test/")), "{listed}");
}
