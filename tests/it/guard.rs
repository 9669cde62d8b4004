//! The guard of a coding agent against commands whose words do not tell the files: copies, archives, links, and commits.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use serde_json::{Value, json};

use crate::support::site::{Site, finished};

/// A workspace with a policy, settings of agents and a history, and with folders and archives that hold others of them.
fn site() -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write(".gitignore", "x/\ny/\nz/\nt/\n*.tar\n*.tgz\n*.zip\n*.patch\n*.mbox\n");
    for name in
        [".claude/settings.json", ".cursor/hooks.json", ".mcp.json", "docs/a.md", "src/a.rs", "src/sub/d.rs", "a.png"]
    {
        site.write(name, "{}\n");
    }
    let site = site.policy("[gates.destructive]\ndecision = 'require-confirmation'\n");
    for name in ["nrv.toml", ".claude/settings.json", ".mcp.json", ".git/hooks/pre-commit", "b.md"] {
        site.write(&format!("x/{name}"), "# other\n");
    }
    for name in ["y/nrv.toml", "y/n.md", "y/d/.claude/settings.json", "z/hooks/pre-commit", "z/settings.json"] {
        site.write(name, "# other\n");
    }
    for name in ["t/trusted/a", "t/nrv/trusted/a", "t/state/nrv/trusted/a"] {
        site.write(name, "# other\n");
    }
    for name in [
        "assets/a.svg",
        "dist/a.js",
        "img/b.png",
        "templates/a.html",
        "scripts/a.sh",
        "lib/a.py",
        "public/c",
        "build/d",
        "out/e",
    ] {
        site.write(name, "x\n");
    }
    let packed = |folder: &str| {
        let mut builder = tar::Builder::new(Vec::new());
        builder.append_dir_all(".", site.path(folder)).unwrap();
        builder.into_inner().unwrap()
    };
    let mut gzipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzipped, &packed("x")).unwrap();
    site.write("e.tgz", gzipped.finish().unwrap());
    site.write("../.local/share/a", "x\n");
    // The contents tell the format.
    for (archive, folder) in [("e.tar", "x"), ("e.zip", "x"), ("good.tar", "dist"), ("good.zip", "dist")] {
        site.write(archive, packed(folder));
    }
    site.write("evil.patch", "--- a/nrv.toml\n+++ b/nrv.toml\n@@ -1 +1 @@\n-a\n+b\n");
    site.write(
        "evil.mbox",
        "From a\nSubject: x\n\n---\ndiff --git a/nrv.toml b/nrv.toml\n--- a/nrv.toml\n+++ b/nrv.toml\n",
    );
    site
}

/// The verdicts on lines, with the rules of the guard that they break.
fn verdicts(site: &Site, lines: &[String]) -> Vec<(String, String)> {
    let questions: String = lines.iter().map(|line| format!("{}\n", json!({"id": line, "command": line}))).collect();
    let state = site.root().parent().unwrap().join(".local/state");
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, questions.as_bytes()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let output = site.command(&["gate", "--jsonl"]).env("XDG_STATE_HOME", state).stdin(file).output().unwrap();
    let answers: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len());
    let told = |answer: Value| {
        let text = answer["results"].to_string();
        let rules: Vec<&str> = text.split('"').filter(|word| word.starts_with("guard.")).collect();
        (answer["decision"].as_str().unwrap().to_owned(), rules.join(" "))
    };
    answers.into_iter().map(told).collect()
}

/// Judges the lines of a text: those behind `+ ` break a rule of the guard, those behind `- ` none.
#[track_caller]
fn judge(site: &Site, text: &str) {
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("+ ") || line.starts_with("- ")).collect();
    let commands: Vec<String> = lines.iter().map(|line| line[2..].to_owned()).collect();
    let found = verdicts(site, &commands);
    let wrong: Vec<String> = lines
        .iter()
        .zip(&found)
        .filter(|(line, (decision, rules))| {
            let objects = matches!(decision.as_str(), "require-confirmation" | "block") && !rules.is_empty();
            objects != line.starts_with('+')
        })
        .map(|(line, (decision, rules))| format!("{line}: {decision} {rules}"))
        .collect();
    assert!(lines.len() > 20 && wrong.is_empty(), "{} of {}:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}

#[test]
fn guarded_files_that_come_under_untold_names_are_found_and_everyday_copies_pass() {
    judge(&site(), include_str!("guard/brought.txt"));
}

#[test]
fn the_key_of_a_persons_trust_is_neither_read_nor_copied() {
    judge(&site(), include_str!("guard/kept.txt"));
}

#[test]
fn an_agent_does_not_answer_its_own_questions() {
    judge(&site(), include_str!("guard/acts.txt"));
}

/// A workspace with branches: `safe` changes a source, `evil` the policy and the settings of an agent.
fn branched() -> Site {
    let site = site();
    let commit = |branch: &str, files: &[(&str, &str)]| {
        site.git(&["checkout", "-q", "-b", branch, "main"]);
        for (name, text) in files {
            site.write(name, text);
            site.commit();
        }
        site.git(&["tag", &format!("{branch}-tag"), &format!("{branch}~{}", files.len() - 1)]);
    };
    commit("safe", &[("src/a.rs", "other\n")]);
    commit("evil", &[("nrv.toml", "# other\n"), (".claude/settings.json", "[]\n")]);
    site.git(&["branch", "revme", "evil"]);
    site.git(&["checkout", "-q", "main"]);
    site.write("nrv.toml", "# stashed\n");
    site.git(&["stash", "-q"]);
    site.write("src/a.rs", "stashed\n");
    site.git(&["stash", "-q"]);
    for branch in ["main", "safe", "evil"] {
        site.git(&["update-ref", &format!("refs/remotes/origin/{branch}"), branch]);
    }
    let evil = site.git(&["rev-parse", "evil"]);
    site.write(".git/FETCH_HEAD", format!("{}\t\tbranch 'evil' of ../up\n", evil.trim()));
    site
}

#[test]
fn commits_with_another_policy_are_found_where_the_repository_has_them() {
    judge(&branched(), include_str!("guard/commits.txt"));
}

/// A workspace whose policy has a change in no commit, with new settings of an agent.
fn uncommitted() -> Site {
    let site = site();
    site.commit();
    site.write("nrv.toml", "[gates.destructive]\ndecision = 'block'\n");
    site.write(".claude/settings.local.json", "{}\n");
    site.write("src/a.rs", "changed\n");
    site.write("src/new.rs", "new\n");
    site
}

#[test]
fn git_takes_no_uncommitted_or_unlisted_file_of_the_guard_away() {
    judge(&uncommitted(), include_str!("guard/taken.txt"));
}

#[test]
fn git_takes_everything_else_away() {
    let site = uncommitted();
    site.git(&["checkout", "-q", "nrv.toml"]);
    site.write(".git/info/exclude", ".claude/settings.local.json\n.runs\n");
    let lines: Vec<String> = ["git stash", "git stash -u", "git stash push -u -m x"].map(str::to_owned).into();
    let (decision, rules) = ("allow".to_owned(), String::new());
    assert_eq!(verdicts(&site, &lines), vec![(decision, rules); lines.len()]);
}

#[test]
fn the_hook_blocks_everything_under_a_policy_that_nobody_has_trusted() {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    let site = site.policy("[[exec.allow]]\nprefix = ['rm']\n");
    let ask = |trusted: &str| {
        let question = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, question.to_string().as_bytes()).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        finished(site.command(&["gate", "hook"]).env("NRV_TRUSTED_PATHS", trusted).stdin(file).output().unwrap())
    };
    ask("/").exits(0);
    ask("").exits(2).says("nrv trust");
    // A pull that git makes unseen counts like any other change.
    site.write("nrv.toml", "[gates.destructive]\ndecision = 'block'\n");
    ask("").exits(0);
}
