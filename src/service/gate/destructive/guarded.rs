//! The files of an agent's own guard: recognised by name, in any spelling of their paths.

use super::arguments::matches;

/// Names that are guarded at any depth, each with its rule.
pub(super) const NAMES: &[(&str, &str)] = &[
    ("nrv.toml", "guard.policy"),
    ("nrv.lock", "guard.policy"),
    ("nrv.lock.sig", "guard.policy"),
    (".nrv", "guard.policy"),
    (".runs", "guard.records"),
    (".git", "guard.git"),
    (".claude", "guard.agent"),
    (".claude.json", "guard.agent"),
    (".cline", "guard.agent"),
    (".clinerules", "guard.agent"),
    (".codex", "guard.agent"),
    (".continue", "guard.agent"),
    (".cursor", "guard.agent"),
    (".gemini", "guard.agent"),
    (".kimi", "guard.agent"),
    (".kiro", "guard.agent"),
    (".mcp.json", "guard.agent"),
    (".opencode", "guard.agent"),
    (".qwen", "guard.agent"),
    (".roo", "guard.agent"),
    (".windsurf", "guard.agent"),
];

/// Folders that agents keep beside their settings and write as they work.
const WORKING: &[&str] = &["cache", "log", "logs", "plans", "projects", "sessions", "todos", "tmp", "worktrees"];

/// The rule that guards a path; none if it may be written.
pub(super) fn guarded(path: &str) -> Option<&'static str> {
    if !may_be_guarded(path) {
        return None;
    }
    if is_program(path) {
        return Some("guard.program");
    }
    let path = without_commands(path);
    let names = path.split(['/', '\\']).map(|name| name.trim_matches('"'));
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != ".").collect();
    if !names.contains(&"..") {
        return of_names(&names);
    }
    // Behind a link `..` leads elsewhere than written.
    of_names(&names).or_else(|| of_names(&folded(&names)))
}

/// True if a path is that of nrv on the search path, or the output of a command that finds it.
fn is_program(path: &str) -> bool {
    if !path.contains("nrv") {
        return false;
    }
    let finds =
        ["which ", "command -v ", "type -p ", "type -P ", "whence "].iter().any(|command| path.contains(command));
    let mut names = path.rsplit(['/', '\\']);
    let name = names.next().map(|name| name.strip_suffix(".exe").unwrap_or(name));
    let starts = ["/", "~", "$HOME", "${HOME}", "$CARGO_HOME", "${CARGO_HOME", "$GOBIN", "$(brew --prefix)"];
    let is_far = starts.iter().any(|start| path.starts_with(start)) || path.as_bytes().get(1) == Some(&b':');
    finds && path.contains(['(', '`'])
        || name == Some("nrv") && is_far && matches!(names.next(), Some("bin" | "sbin" | ".bin" | "shims" | "Scripts"))
}

/// True if a word has the marks of every path to a guarded file.
pub(super) fn may_be_guarded(word: &str) -> bool {
    word.bytes().any(|byte| byte == b'.') || word.as_bytes().windows(3).any(|three| three == b"nrv")
}

/// The parts of a path without those that `..` cancels.
fn folded<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut left: Vec<&str> = Vec::new();
    for name in names {
        match left.last() {
            Some(last) if *name == ".." && *last != ".." => drop(left.pop()),
            _ => left.push(name),
        }
    }
    left
}

fn of_names(names: &[&str]) -> Option<&'static str> {
    if names.windows(2).any(|pair| is_store(pair[0], pair[1])) {
        return Some("guard.policy");
    }
    for (at, name) in names.iter().enumerate() {
        let rest = &names[at + 1..];
        let next = rest.first().copied().unwrap_or_default();
        if name.eq_ignore_ascii_case(".github") && next.eq_ignore_ascii_case("hooks") {
            return Some("guard.agent");
        }
        let Some((_, id)) = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) else { continue };
        let last = rest.last().copied().unwrap_or_default();
        let is_working = match *id {
            // Leftovers of a killed command, and files that only people read.
            "guard.git" => {
                last.ends_with(".lock") || last.ends_with("_EDITMSG") || last.ends_with("_MSG") || last == "exclude"
            }
            "guard.agent" => WORKING.contains(&next),
            _ => false,
        };
        if !is_working || rest.contains(&"..") {
            return Some(id);
        }
    }
    None
}

/// True if two parts of a path lead into the folder of a person's trust.
fn is_store(name: &str, next: &str) -> bool {
    // `${XDG_STATE_HOME:-$HOME/.local/state}/nrv`
    let is_state = name.trim_end_matches('}') == "state" || name.contains("XDG_STATE_HOME");
    next == "nrv" && is_state || name == "nrv" && next == "trusted"
}

/// True if an absolute path, or one of a home, leads into the folder of a person's trust.
pub(crate) fn is_in_store(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    let told = |names: &[&str]| names.windows(2).any(|pair| is_store(pair[0], pair[1]));
    told(&names) || told(&folded(&names))
}

/// True if code, without the joints between pieces of a path, names that folder.
pub(super) fn names_store(whole: &str) -> bool {
    ["state/nrv", "statenrv", "nrv/trusted", "nrvtrusted"].iter().any(|sign| whole.contains(sign))
        || whole.contains("xdg_state_home") && whole.contains("nrv")
}

/// A path without the output of commands in it: `$(cat .git/HEAD)/x` is not a path below `.git`.
fn without_commands(path: &str) -> std::borrow::Cow<'_, str> {
    if !path.contains("$(") {
        return path.into();
    }
    let (mut plain, mut open, mut rest) = (String::new(), 0_usize, path.chars().peekable());
    while let Some(character) = rest.next() {
        match character {
            '$' if rest.peek() == Some(&'(') => plain.push('$'),
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ if open == 0 => plain.push(character),
            _ => {}
        }
    }
    plain.into()
}

/// True if a shell pattern may match a guarded file.
pub(super) fn is_pattern_of_guarded(path: &str) -> bool {
    if !path.contains(['*', '?', '[']) {
        return false;
    }
    let path = path.trim_end_matches('/');
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let name = if folder.is_empty() { path.trim_start_matches('/') } else { name };
    // They are in the folder of the workspace, which may be the one above.
    if !folder.split('/').all(|name| matches!(name, "." | "..") || name.is_empty() || name.contains(['$', '`'])) {
        return false;
    }
    // A set of characters, and any one, match any number here.
    let (mut pattern, mut inside) = (String::new(), false);
    for character in name.chars() {
        match character {
            '[' => inside = true,
            ']' if inside => {
                inside = false;
                pattern.push('*');
            }
            '?' => pattern.push('*'),
            _ if inside => {}
            other => pattern.push(other.to_ascii_lowercase()),
        }
    }
    let is_told = pattern.bytes().any(|byte| byte.is_ascii_alphanumeric());
    is_told
        && NAMES.iter().any(|(known, _)| pattern.starts_with('.') == known.starts_with('.') && matches(&pattern, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_guarded_at_any_depth_and_in_any_case() {
        for path in [
            "nrv.toml",
            "./NRV.TOML",
            "$PWD/nrv.lock",
            "$(pwd)/.runs/x",
            "../x/.git/hooks/pre-commit",
            ".claude/settings.json",
            "~/.codex/config.toml",
            ".github/hooks/nrv.json",
            "a\\.git\\config",
            ".claude/plans/../settings.json",
            ".claude/plans/x/../../settings.json",
            ".claude\\plans\\..\\settings.json",
            ".github/workflows/../hooks/a.json",
            "x/../nrv.toml",
            ".git/../x",
            "~/.local/state/nrv/trusted/x",
            "$XDG_STATE_HOME/nrv",
            "${XDG_STATE_HOME:-$HOME/.local/state}/nrv/trusted",
            "/srv/nrv/./trusted/x",
            "nrv/x/../trusted",
        ] {
            assert!(guarded(path).is_some(), "{path}");
        }
        for path in [
            ".gitignore",
            "nrv.toml.bak",
            ".git/index.lock",
            ".git/COMMIT_EDITMSG",
            ".github/workflows/x.yml",
            "src/nrv.rs",
            ".claude/plans/x.md",
            "$(cat .git/HEAD)",
            "x.git",
            "../.claude/plans/x.md",
            "src/../.github/workflows/x.yml",
            "src/nrv/mod.rs",
            "src/trusted/nrv",
            "state/x/nrv",
        ] {
            assert_eq!(guarded(path), None, "{path}");
        }
    }

    #[test]
    fn a_pattern_that_may_stand_for_a_guarded_file_is_one() {
        for path in ["nrv.*", "*.lock", "nrv.tom?", "[mn]rv.toml", ".cl*"] {
            assert!(is_pattern_of_guarded(path), "{path}");
        }
        for path in ["*", "*.log", "nrv.toml", "src/*.rs", ".[!.]*"] {
            assert!(!is_pattern_of_guarded(path), "{path}");
        }
    }
}
