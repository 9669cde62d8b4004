//! Names that make programs run code: variables that a call sets for a command, and files that programs obey by themselves.
#![expect(clippy::disallowed_methods, reason = "tests build trees and run programs")]

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::support::{
    need,
    site::{Ran, Site},
};

/// An interpreter, a variable with which it runs a file of the workspace, and the file.
struct Way {
    program: &'static str,
    args: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    file: (&'static str, &'static str),
}

/// The output of the files when they run.
const RAN: &str = "CODE OF THE TREE";

const WAYS: &[Way] = &[
    Way {
        program: "/usr/bin/python3",
        args: &["-c", "pass"],
        variables: &[("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONPATH", ".")],
        file: ("sitecustomize.py", "print('CODE OF THE TREE')\n"),
    },
    Way {
        program: "/usr/bin/python3",
        args: &["-c", "breakpoint()"],
        variables: &[("PYTHONPATH", "."), ("PYTHONBREAKPOINT", "planted.run")],
        file: ("planted.py", "def run(): print('CODE OF THE TREE')\n"),
    },
    Way {
        program: "perl",
        args: &["-e", "1"],
        variables: &[("PERL5LIB", "."), ("PERL5OPT", "-MPlanted")],
        file: ("Planted.pm", "print \"CODE OF THE TREE\\n\"; 1;\n"),
    },
    Way {
        program: "ruby",
        args: &["-e", "1"],
        variables: &[("RUBYLIB", "."), ("RUBYOPT", "-rplanted")],
        file: ("planted.rb", "puts 'CODE OF THE TREE'\n"),
    },
    Way {
        program: "node",
        args: &["-e", "1"],
        variables: &[("NODE_OPTIONS", "--require ./planted.js")],
        file: ("planted.js", "console.log('CODE OF THE TREE')\n"),
    },
    Way {
        program: "lua",
        args: &["-e", "local a = 1"],
        variables: &[("LUA_INIT", "@planted.lua")],
        file: ("planted.lua", "print('CODE OF THE TREE')\n"),
    },
    Way {
        program: "bash",
        args: &["-c", "true"],
        variables: &[("BASH_ENV", "./planted.sh")],
        file: ("planted.sh", "echo CODE OF THE TREE\n"),
    },
    Way {
        program: "make",
        args: &["-n"],
        variables: &[("MAKEFLAGS", "--eval=$(info CODE OF THE TREE)")],
        file: ("Makefile", "all:\n"),
    },
    Way {
        program: "git",
        args: &["status", "--short"],
        variables: &[("HOME", "planted")],
        file: (
            "planted/.gitconfig",
            "[core]\n fsmonitor = \"echo CODE OF THE TREE; echo CODE OF THE TREE >&2; true\"\n",
        ),
    },
    Way {
        program: "tar",
        args: &["cf", "/dev/null", "planted.sh"],
        variables: &[("TAR_OPTIONS", "--checkpoint=1 --checkpoint-action=exec=./planted.sh")],
        file: ("planted.sh", "#!/bin/sh\necho CODE OF THE TREE\n"),
    },
    Way {
        program: "awk",
        args: &["BEGIN { print ENVIRON[\"AWKPATH\"] }"],
        variables: &[("AWKPATH", "CODE OF THE TREE")],
        file: ("x", ""),
    },
];

fn quoted(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|word| json!(word.as_ref()).to_string()).collect::<Vec<_>>().join(", ")
}

fn site(program: &str, rule: &str) -> Site {
    let site = Site::new(0);
    let policy = format!("[exec]\nenv = ['PATH']\n[[exec.allow]]\nprefix = ['{program}']\n{rule}\n");
    site.policy(&policy)
}

/// Runs a command with these variables.
fn run(site: &Site, way: &Way) -> Ran {
    let env: Vec<String> = way.variables.iter().map(|(name, value)| format!("{name}: {}", json!(value))).collect();
    let body = format!(
        "const WORKFLOW = #{{ permissions: #{{ exec: [\"*\"] }} }};\nlet done = nrv.exec.run(#{{ program: {}, args: [{}], env: #{{ {} }} }});\ndone.stdout + done.stderr\n",
        json!(way.program),
        quoted(way.args),
        env.join(", ")
    );
    site.script("w.rhai", &body);
    site.nrv(&["run", "w.rhai", "--json"])
}

#[test]
fn a_call_makes_no_interpreter_run_a_file_of_the_tree() {
    for way in WAYS {
        let site = site(way.program, "");
        site.write(way.file.0, way.file.1);
        if way.file.0.ends_with(".sh") {
            site.mode(way.file.0, 0o755);
        }
        let mut command = Command::new(way.program);
        site.tame(&mut command).args(way.args).envs(way.variables.iter().copied()).stdin(Stdio::null());
        match command.output() {
            // The variable has the effect for which it is refused.
            Ok(output) => {
                let said = [output.stdout, output.stderr].concat();
                assert!(String::from_utf8_lossy(&said).contains(RAN), "{}: {:?}", way.program, way.variables);
            }
            // Its variables are refused all the same.
            Err(_) => need::skip("interpreters"),
        }
        let ran = run(&site, way);
        assert_eq!(ran.code, 3, "{}: {ran:?}", way.program);
        assert!(ran.stdout.contains("permission_denied") && !ran.stdout.contains(RAN), "{ran:?}");
        assert!(ran.stdout.contains("can't set the variable") && ran.stdout.contains("`env` of its rule"), "{ran:?}");
    }
}

#[test]
fn a_rule_permits_the_variables_that_it_names() {
    let way = &WAYS[0];
    let there = site(way.program, "env = ['PYTHONPATH']");
    there.write(way.file.0, way.file.1);
    let ran = run(&there, way).exits(0);
    assert!(ran.stdout.contains(RAN), "{ran:?}");
    let other = site(way.program, "env = ['PYTHONHOME']");
    assert_eq!(run(&other, way).code, 3);
    let own = Way { variables: &[("PWD", "/")], ..*way };
    assert_eq!(run(&site(way.program, "env = ['PWD']"), &own).code, 3);
}

#[test]
fn variables_that_only_inform_reach_the_command() {
    let informs = "CI DEBUG FORCE_COLOR LANG LC_ALL NODE_ENV NO_COLOR PYTHONUNBUFFERED RUST_BACKTRACE RUST_LOG SOURCE_DATE_EPOCH TZ CARGO_TERM_COLOR GITHUB_SHA";
    let site = site("sh", "");
    let env: Vec<String> = informs.split(' ').map(|name| format!("{name}: \"v\"")).collect();
    let echo: Vec<String> = informs.split(' ').map(|name| format!("${name}")).collect();
    let body = format!(
        "const WORKFLOW = #{{ permissions: #{{ exec: [\"*\"] }} }};\nnrv.exec.run(#{{ program: \"sh\", args: [\"-c\", \"echo {}\"], env: #{{ {} }} }}).stdout\n",
        echo.join(""),
        env.join(", ")
    );
    site.script("w.rhai", &body);
    let ran = site.nrv(&["run", "w.rhai", "--json"]).exits(0).json();
    assert_eq!(ran["result"], json!(format!("{}\n", "v".repeat(informs.split(' ').count()))));
}

/// Creates a file in a run of its own.
fn create(site: &Site, path: &str) -> Ran {
    let body = format!(
        "const WORKFLOW = #{{ permissions: #{{ write: [\"**\"] }} }};\nnrv.apply.create({}, \"made\\n\");\n",
        json!(path)
    );
    site.write("w.rhai", body);
    site.nrv(&["run", "w.rhai", "--json", "--allow-dirty"])
}

#[test]
fn files_that_programs_obey_by_themselves_are_not_written() {
    let site = Site::new(0);
    for path in [
        ".envrc",
        "a/.zshenv",
        ".vimrc",
        ".claude/settings.json",
        ".cursor/hooks.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".husky/pre-commit",
        ".ssh/config",
        ".githooks/x",
        ".github/hooks/x.json",
        "x.code-workspace",
        ".ENVRC",
        ".envrc.",
        "ENVRC~1",
        ".git\u{200c}/x",
        "a/mirror/HEAD",
        ".cargo/config.toml",
        ".devcontainer/devcontainer.json",
        ".mcp.json",
    ] {
        let ran = create(&site, path);
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (3, &json!("protected_path")), "{path:?}: {ran:?}");
        assert!(!site.path(path).exists());
    }
    for path in
        ["AGENTS.md", ".github/workflows/x.yml", ".editorconfig", "package.json", ".gitattributes", "src/config.toml"]
    {
        create(&site, path).exits(0);
    }
}

#[test]
fn a_policy_permits_a_protected_file_by_its_exact_path() {
    let site = Site::new(0).policy("[paths]\nallow_protected = ['.envrc', '.vscode/settings.json']\n");
    for path in [".envrc", ".vscode/settings.json"] {
        create(&site, path).exits(0);
        assert_eq!(site.read(path), b"made\n");
        site.nrv(&["rollback", "last"]).exits(0);
        assert!(!site.path(path).exists());
    }
    for path in ["a/.envrc", ".vscode/tasks.json", ".git/hooks/x", "nrv.toml", ".vscode"] {
        assert_eq!(create(&site, path).code, 3, "{path}");
    }
    let refused = create(&site, ".zshenv");
    assert!(refused.stdout.contains("paths.allow_protected"), "{refused:?}");
    site.write("nrv.toml", "[paths]\nallow_protected = ['.git/config']\n");
    let ran = site.nrv(&["run", "w.rhai"]);
    assert!(ran.code == 1 && ran.stderr.contains("line 2 of `nrv.toml`"), "{ran:?}");
}

#[test]
fn a_command_changes_a_protected_file_only_if_the_policy_permits_it() {
    let body = "const WORKFLOW = #{ permissions: #{ write: [\"**\"], exec: [\"*\"] } };\n\
        nrv.exec.run(#{ program: \"sh\", args: [\"-c\", \"echo made > .envrc\"], writes: [\".envrc\"] }).changed\n";
    let rule = "[[exec.allow]]\nprefix = ['sh']\n";
    let refused = Site::new(0).policy(rule);
    refused.script("w.rhai", body);
    let ran = refused.nrv(&["run", "w.rhai", "--json"]).exits(3);
    assert!(ran.stdout.contains("protected_path") && ran.stdout.contains("paths.allow_protected"), "{ran:?}");
    let permitted = Site::new(0).policy(&format!("paths.allow_protected = ['.envrc']\n{rule}"));
    permitted.script("w.rhai", body);
    assert_eq!(permitted.nrv(&["run", "w.rhai", "--json"]).exits(0).json()["result"], json!([".envrc"]));
    assert_eq!(fs::read(permitted.path(".envrc")).unwrap(), b"made\n");
}

#[test]
fn a_link_brings_no_protected_file_from_elsewhere() {
    let site = Site::new(0).policy("[[exec.allow]]\nprefix = ['ln']\n");
    site.write("planted/hooks/x.json", "{}");
    let body = "const WORKFLOW = #{ permissions: #{ write: [\"**\"], exec: [\"*\"] } };\n\
        nrv.exec.check(#{ program: \"ln\", args: [\"-s\", \"planted\", \".github\"], writes: [\"**\"] });\n";
    site.script("w.rhai", body);
    let ran = site.nrv(&["run", "w.rhai", "--json"]).exits(3);
    assert!(ran.stdout.contains("protected_path") && !site.path(".github").exists(), "{ran:?}");
}
