//! Commands that print the names of a whole tree's files, or of a kind of them: the files of the guard may be among them.

use super::{
    arguments::Arguments, command::program, guarded::is_pattern_of_guarded, kind::Kind, place::Place, printed::starts,
    written::edits_in_place,
};

/// Options that select files.
const GREP: &[&str] = &["--include"];
const RG: &[&str] = &["--glob", "--iglob", "--type", "-G", "-g", "-t"];
const FD: &[&str] = &["--extension", "--glob", "-e", "-g"];
const FIND: &[&str] = &[
    "-empty",
    "-iname",
    "-ipath",
    "-iregex",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-regex",
    "-size",
    "-wholename",
];
/// Untracked files do not belong to the guard.
const LS_FILES: &[&str] = &["--deleted", "--ignored", "--others", "-d", "-i", "-o"];

/// True if a command prints the names of the whole tree's files, with no option that selects some.
pub(super) fn lists_tree(argv: &[String]) -> bool {
    let Some(first) = argv.first() else { return false };
    let (name, words) = (program(first), &argv[1..]);
    let own = match &*name {
        "rg" | "ag" | "ack" => RG,
        "fd" | "fdfind" => FD,
        _ => &[],
    };
    let valued = [&["-e", "-m", "-A", "-B", "-C", "--regexp", "--max-count"], own].concat();
    let arguments = Arguments::parse(words, &valued);
    let names = ["-l", "-L", "--files-with-matches", "--files-without-match", "--name-only"];
    let names = || names.iter().any(|option| arguments.has_one(option, false));
    let chooses = |options: &[&str]| chooses(words, options);
    // The pattern is first, unless an option gives it.
    let has_pattern = ["-e", "--regexp"].iter().any(|option| arguments.values(option).next().is_some());
    let paths = |skip: usize| arguments.operands.get(skip + usize::from(!has_pattern)..).unwrap_or_default();
    match &*name {
        "grep" | "egrep" | "fgrep" | "ggrep" | "rgrep" => {
            let deep = name == "rgrep" || ["-r", "-R", "--recursive"].iter().any(|one| arguments.has_one(one, false));
            deep && names() && !chooses(GREP) && is_tree(paths(0))
        }
        "rg" | "ag" | "ack" if arguments.has_one("--files", false) => !chooses(RG) && is_tree(&arguments.operands),
        "rg" | "ag" | "ack" => names() && !chooses(RG) && is_tree(paths(0)),
        "git" => match arguments.operands.split_first() {
            Some((&"ls-files", paths)) => !chooses(LS_FILES) && (is_tree(paths) || has_guarded(paths)),
            Some((&"grep", _)) => names() && (is_tree(paths(1)) || has_guarded(paths(1))),
            _ => false,
        },
        // It omits hidden files unless an option includes them; a pattern selects.
        "fd" | "fdfind" => {
            !chooses(FD) && arguments.operands.iter().all(|word| matches!(*word, "." | "" | "f" | "file"))
        }
        "find" | "gfind" | "bfs" => !chooses(FIND) && is_tree(&starts(words).map(String::as_str).collect::<Vec<_>>()),
        _ => false,
    }
}

/// True if some of the options select files among which there is none of the guard.
fn chooses(words: &[String], options: &[&str]) -> bool {
    let of = |at: usize, option: &str| {
        let rest = words[at].strip_prefix(option)?;
        let value = if rest.is_empty() { words.get(at + 1).map_or("", String::as_str) } else { rest };
        let is_one = rest.is_empty() || rest.starts_with('=') || option.len() == 2;
        is_one.then(|| (value.trim_start_matches('='), matches!(option, "--type" | "-t" | "--extension" | "-e")))
    };
    let guards = |(at, (value, is_kind)): &(usize, (&str, bool))| {
        let is_negated = at.checked_sub(1).is_some_and(|at| matches!(words[at].as_str(), "!" | "-not"));
        !is_negated && if *is_kind { may_be_of_guard(&format!("*.{value}")) } else { may_be_of_guard(value) }
    };
    let chosen = (0..words.len()).filter_map(|at| Some((at, options.iter().find_map(|option| of(at, option))?)));
    let (of_guard, others): (Vec<_>, Vec<_>) = chosen.partition(guards);
    // The tests of `find` hold together unless it is told otherwise; all others add files.
    let joins = options == FIND && !words.iter().any(|word| matches!(word.as_str(), "-o" | "-or"));
    !others.is_empty() && (of_guard.is_empty() || joins)
}

/// True if a pattern stands for files of the guard at any depth.
fn may_be_of_guard(pattern: &str) -> bool {
    is_pattern_of_guarded(pattern.trim_start_matches("**/"))
}

fn has_guarded(paths: &[&str]) -> bool {
    paths.iter().any(|path| may_be_of_guard(path))
}

/// True if the paths to search are the whole tree, also if there are none.
fn is_tree(paths: &[&str]) -> bool {
    let is_one = |path: &&str| matches!(Place::of(path), Place::Here | Place::Root | Place::Outside);
    paths.is_empty() || paths.iter().any(is_one)
}

/// True if a word is the output of such a command: `$(grep -rl x .)`.
pub(super) fn prints_tree(word: &str) -> bool {
    let inner = word.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let Some(line) = inner.or_else(|| word.strip_prefix('`')?.strip_suffix('`')) else { return false };
    let words: Vec<String> =
        line.split_ascii_whitespace().map(|word| word.trim_matches(['\'', '"']).to_owned()).collect();
    !line.contains('|') && lists_tree(&words)
}

/// True if a program turns its input into arguments.
pub(super) fn takes_input(program: &str) -> bool {
    matches!(program, "xargs" | "gxargs" | "parallel" | "sudo")
}

/// True if a command reads names from its input and changes those files.
pub(super) fn takes_names(argv: &[String]) -> bool {
    let changes = |word: &String| {
        let kind = Kind::of(&program(word));
        kind.is(Kind::CHANGES) || kind.is(Kind::EDITS) && edits_in_place(argv)
    };
    argv.iter().skip(1).any(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_a_whole_tree_is_told_from_one_of_chosen_files() {
        let lists = |line: &str| lists_tree(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in [
            "grep -rl x .",
            "grep -rlZ x",
            "grep -r -l -e x .",
            "rg -l x",
            "rg -l x .",
            "rg --files",
            "git grep -l x",
            "git ls-files",
            "git ls-files -z",
            "find . -type f",
            "find -type f -print0",
            "grep -Rl x ../",
            "git ls-files *.toml",
            "git grep -l x -- **/*.lock",
            "find . -name *.toml -o -name *.rs",
            "rg -l x -g*.toml -g *.rs",
            "fd -e toml",
        ] {
            assert!(lists(line), "{line}");
        }
        for line in [
            "grep -rl x src",
            "grep -l x a b",
            "grep -rl --include=*.rs x .",
            "rg -l x src tests",
            "rg -l -g *.rs x",
            "rg -l x -trust",
            "rg -tpy -l x",
            "rg x",
            "rg --files src",
            "git grep -l x -- src",
            "git ls-files *.py",
            "git ls-files -o",
            "find . -name *.rs",
            "find src -type f",
            "find . -not -name *.lock -name *.rs",
            "find . -path ./src/* -name *.toml",
            "rg -l x -t rust",
            "ls",
        ] {
            assert!(!lists(line), "{line}");
        }
    }
}
