//! Completions and manual pages have every command and flag, and shells can read their completions.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
};

use crate::support::{need, site::Site};

/// Every command with its help, found by asking each for its own.
pub(crate) fn commands(site: &Site) -> Vec<(Vec<String>, String)> {
    let mut waiting = vec![Vec::<String>::new()];
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = site.nrv(&arguments).exits(0).stdout;
        let listed = help.split("\nCommands:\n").nth(1).and_then(|text| text.split("\n\n").next()).unwrap_or_default();
        let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        for name in names.filter(|name| !name.is_empty() && *name != "help") {
            waiting.push([path.as_slice(), &[name.to_owned()]].concat());
        }
        found.push((path, help));
    }
    found
}

/// The long flags in a command's help, without those of all commands.
fn flags(help: &str) -> BTreeSet<String> {
    let own = help.split("\nGlobal options:").next().unwrap_or_default();
    let options = own.split("\nOptions:\n").nth(1).unwrap_or_default();
    let flag = regex::Regex::new(r"^ +(?:-\w, )?--([a-z][a-z-]*)").unwrap();
    options.lines().filter_map(|line| Some(flag.captures(line)?[1].to_owned())).collect()
}

#[test]
fn completions_and_manual_pages_have_every_command_and_flag() {
    let site = Site::empty();
    let commands = commands(&site);
    assert!(commands.len() > 30, "{}", commands.len());
    let completions: Vec<(&str, String)> = ["bash", "elvish", "fish", "powershell", "zsh"]
        .into_iter()
        .map(|shell| (shell, site.nrv(&["completions", shell]).exits(0).stdout))
        .collect();
    for (path, help) in &commands {
        let mut arguments = vec!["man"];
        arguments.extend(path.iter().map(String::as_str));
        let page = site.nrv(&arguments).exits(0).stdout.replace("\\-", "-");
        for flag in flags(help) {
            assert!(page.contains(&format!("--{flag}")), "man {path:?} has no --{flag}");
            for (shell, text) in &completions {
                let spelt = if *shell == "fish" { format!("-l {flag}") } else { format!("--{flag}") };
                assert!(text.contains(&spelt), "{shell} does not know --{flag} of {path:?}");
            }
        }
        for (shell, text) in &completions {
            assert!(path.last().is_none_or(|name| text.contains(name)), "{shell} does not know {path:?}");
        }
    }
}

#[test]
fn what_has_no_page_or_completions_is_told() {
    let site = Site::empty();
    site.nrv(&["man", "rnu"]).exits(2).says("did you mean `run`?");
    site.nrv(&["completions", "tcsh"]).exits(2);
}

#[test]
fn shells_can_read_their_completions() {
    let site = Site::empty();
    let mut n_read = 0;
    for shell in ["bash", "fish", "zsh"] {
        let text = site.nrv(&["completions", shell]).exits(0).stdout;
        site.write("completions", &text);
        let mut command = Command::new(shell);
        let Ok(output) = site.tame(&mut command).args(["-n", "completions"]).stdin(Stdio::null()).output() else {
            need::skip("interpreters");
            continue;
        };
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        n_read += 1;
    }
    assert!(n_read > 0, "no shell is there");
}

/// Checks the words that bash offers after a line.
#[test]
fn bash_completes_a_command_and_a_flag() {
    let site = Site::empty();
    site.write("completions", site.nrv(&["completions", "bash"]).exits(0).stdout);
    let offers = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let script = format!(
            ". ./completions; COMP_WORDS=({line}); COMP_CWORD={}; _nrv nrv '{}' '{}'; echo \"${{COMPREPLY[@]}}\"",
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let mut command = Command::new("bash");
        let output = site.tame(&mut command).args(["-c", &script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(offers("nrv rollb"), "rollback");
    assert_eq!(offers("nrv defin"), "definitions");
    assert_eq!(offers("nrv rollback --keep"), "--keep-later");
}
