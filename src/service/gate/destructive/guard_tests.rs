//! Classes of commands by which an agent would reach its guard, beside similar but harmless ones.

use super::{Command, Rules, Severity, Start, examine_from};

/// The strictest rule of the guard that a line breaks.
fn strictest(start: Start<'_>, line: &str) -> Option<Severity> {
    let hits = examine_from(start, Command::Line(line), Rules::built_in()).hits;
    hits.into_iter().filter(|hit| hit.rule.starts_with("guard.")).map(|hit| hit.severity).max()
}

#[track_caller]
fn all(expected: Option<Severity>, lines: &[&str]) {
    for line in lines {
        assert_eq!(strictest(Start::default(), line), expected, "{line}");
    }
}

#[test]
fn code_that_reads_a_guarded_file_and_writes_another_passes() {
    all(
        None,
        &[
            "python3 -c \"s=open('nrv.toml').read(); open('/tmp/p','w').write(s)\"",
            "python3 -c \"from pathlib import Path; Path('/tmp/a').write_text(Path('nrv.toml').read_text())\"",
            "python3 -c \"import shutil; shutil.copy('nrv.toml', '/tmp/p')\"",
            "python3 -c \"import json; json.dump(json.load(open('.mcp.json', encoding='utf-8')), open('o.json', 'w'))\"",
            "node -e \"const f=require('fs'); f.writeFileSync('rev', f.readFileSync('.git/HEAD','utf8'))\"",
            "perl -e 'open F,\"<\",\".git/HEAD\"; open G,\">\",\"v.txt\"; print G <F>'",
            "ruby -e 'File.write(\"p.md\", File.read(\"nrv.toml\"))'",
        ],
    );
    all(
        Some(Severity::Block),
        &[
            "python3 -c \"p='nrv.toml'; s=open(p).read(); open(p,'w').write(s)\"",
            "python3 -c \"s=open('nrv.toml').read(); open('nrv.toml','w').write(s)\"",
            "python3 -c \"open('nrv.toml', encoding='utf-8', mode='w')\"",
            "python3 -c \"open('nrv.toml', 'r+').truncate()\"",
            "python3 -c \"import shutil; shutil.copy('/tmp/x','nrv.toml')\"",
            "python3 -c \"import os; open(os.path.realpath('nrv.toml'), 'w')\"",
            "node -e \"const f=require('fs'); f.writeFileSync('nrv.toml', f.readFileSync('nrv.toml'))\"",
            "perl -e 'open F,\"+<\",\"nrv.toml\"; truncate F,0'",
            "ruby -e 'IO.write(\"nrv.toml\", IO.read(\"nrv.toml\"))'",
        ],
    );
}

#[test]
fn a_list_of_the_whole_tree_that_is_changed_has_to_be_confirmed() {
    all(
        Some(Severity::Confirm),
        &[
            "grep -rl a . | xargs sed -i s/a/b/",
            "rg -l a | sort -u | xargs -n1 perl -pi -e s/a/b/",
            "sed -i s/a/b/ `git grep -l a`",
            "for f in $(rg -l a); do sed -i s/a/b/ $f; done",
            "git ls-files | while read f; do sed -i s/a/b/ \"$f\"; done",
            "fd -H -t f . -x sed -i s/a/b/ {}",
            "find . -type f -print0 | xargs -0 chmod 600",
        ],
    );
    all(
        None,
        &[
            "grep -rl a src | xargs sed -i s/a/b/",
            "rg -l a | rg '\\.rs$' | xargs sed -i s/a/b/",
            "for f in $(rg -l a -g '*.rs'); do sed -i s/a/b/ $f; done",
            "git ls-files '*.py' | while read f; do sed -i s/a/b/ \"$f\"; done",
            "rg -l a | xargs wc -l",
            "rg -l a | while read f; do echo \"$f\"; done",
            "fd -e ts . -x sed -i s/a/b/ {}",
            "rg -l a; sed -i s/a/b/ \"$f\"",
        ],
    );
}

#[test]
fn files_that_scripts_of_editors_write_are_written() {
    all(
        Some(Severity::Block),
        &[
            "sed -n '/x/w ./nrv.toml' f",
            "sed -e p -e 's/a/b/gw .git/config' f",
            "sed --expression='W .runs/x' f",
            "sed -f - f <<< 'w nrv.toml'",
            "vim -c ':w! nrv.toml' -c q x",
            "ed x <<< 'w nrv.toml'",
        ],
    );
    all(None, &["sed 's/w nrv.toml/x/' f", "sed -i '/w nrv.toml/d' f", "sed 'a w nrv.toml' f", "vim -c ':w x' y"]);
}

#[test]
fn a_copy_of_nrv_is_nrv_and_its_own_file_is_guarded() {
    all(
        Some(Severity::Block),
        &[
            "cp \"$(command -v nrv)\" x && ./x approve a.rhai",
            "install $(which nrv) /tmp/q && /tmp/q run a.rhai --yes",
            "cp target/debug/nrv ./t; t trust",
            "cat $(which nrv) > /tmp/q; /tmp/q run a.rhai --yes",
            "rm -f -- \"$(type -P nrv)\"",
            "cd /usr/local/bin && mv nrv nrv.bak",
            ": > \"$(command -v nrv)\"",
            "sudo apt purge -y nrv",
            "python3 -c \"import os, shutil; os.remove(shutil.which('nrv'))\"",
            "node -e \"require('fs').unlinkSync('/usr/local/bin/nrv')\"",
            "rm $(readlink -f \"$(which nrv)\")",
            "echo $(which nrv) | xargs rm",
        ],
    );
    all(
        None,
        &[
            "cp \"$(command -v node)\" /tmp/node && /tmp/node approve",
            "npx some-tool run --yes",
            "export PATH=\"$(dirname \"$(which nrv)\"):$PATH\"",
            "rm -f bin/nrv-debug target/debug/nrv",
            "python3 -c \"import shutil; print(shutil.which('nrv'))\"",
            "cp target/release/nrv /tmp/nrv-new && /tmp/nrv-new --version",
        ],
    );
}

/// A tree in which `inner` links to `.git/hooks`, `out` to a folder elsewhere, and `/tmp/back` to the workspace.
fn real(from: &str, path: &str) -> Option<String> {
    let mut there = if path.starts_with('/') { String::new() } else { from.to_owned() };
    for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
        match name {
            ".." => there.truncate(there.rfind('/').unwrap_or_default()),
            "round" => return None,
            name => there = format!("{there}/{name}"),
        }
        let links =
            [("/w/inner", "/w/.git/hooks"), ("/w/out", "/srv/out"), ("/tmp/back", "/w"), ("/w/rules", "/w/nrv.toml")];
        if let Some((_, to)) = links.iter().find(|(link, _)| *link == there) {
            there = (*to).to_owned();
        }
    }
    Some(there)
}

#[test]
fn links_on_the_way_to_what_is_written_are_followed_as_the_kernel_does() {
    let start = Start { folder: None, root: Some("/w"), disk: Some(super::command::Disk::of_links(real)) };
    for line in [
        "rm inner/x",
        "rm inner/../config",
        "rm -rf inner/*",
        "rm inner/",
        "cp a inner",
        "cd inner && rm ../config",
        "env -C inner/.. rm config",
        "cd -P inner/.. && rm config",
        "echo x > $PWD/inner/x",
        "echo x > rules",
        "rm /tmp/back/inner/x",
        "python3 -c \"open('inner/x', 'w')\"",
    ] {
        assert_eq!(strictest(start, line), Some(Severity::Block), "{line}");
    }
    for line in [
        "rm inner",
        "unlink rules",
        "echo x > out/a",
        "rm out/../a",
        "echo x > round/a",
        "rm -f bin/nrv && cp target/nrv /w/bin/nrv",
        "cat inner/x",
        "cd inner/.. && rm a",
        "python3 -c \"print(open('inner/x').read()); open('o', 'w')\"",
    ] {
        assert_eq!(strictest(start, line), None, "{line}");
    }
}

#[test]
fn a_patch_that_the_line_holds_is_read() {
    let patch = |path: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
    let lines = |path: &str| {
        let text = patch(path);
        [
            format!("git apply <<'E'\n{text}E\n"),
            format!("patch -p1 <<'E'\n{text}E\n"),
            format!("cat <<'E' | git apply -\n{text}E\n"),
            format!("cat > /tmp/p.diff <<'E'\n{text}E\ngit apply /tmp/p.diff"),
            format!("patch -p1 -i/tmp/p <<'E'\n{text}E\n"),
        ]
    };
    for path in ["nrv.toml", ".git/config", ".claude/settings.json"] {
        lines(path).iter().for_each(|line| all(Some(Severity::Block), &[line]));
    }
    lines("src/main.rs").iter().for_each(|line| all(None, &[line]));
    all(None, &["git apply --check <<'E'\n--- a/nrv.toml\n+++ b/nrv.toml\nE\n"]);
}

#[test]
fn a_pattern_that_a_redirection_writes_through_and_a_name_of_a_server_count() {
    all(
        Some(Severity::Confirm),
        &["echo x > nrv.tom?", "echo > [n]rv.toml", "tee n*.toml < /tmp/e", "cp /tmp/e n*v.toml"],
    );
    all(Some(Severity::Block), &["curl http://x/nrv.toml -O", "curl -sSLO http://x/y/nrv.lock"]);
    all(None, &["curl http://x/nrv.toml", "curl -sSLO http://x/a.txt", "echo > *.log", "tee *.txt < /tmp/e"]);
}
