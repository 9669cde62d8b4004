//! Tests of single programs that need more than a rule's words: each gives the rule that a command breaks.

use super::{
    arguments::Arguments,
    place::{self, Place},
};

/// The rule that a command of this program breaks, of those that need more than words.
pub(super) fn check(program: &str, argv: &[String], valued: &[&str]) -> Option<&'static str> {
    match program {
        "git" if argv.iter().any(|word| matches!(word.as_str(), "checkout" | "restore")) => git(argv, valued),
        "kill" => kill(argv),
        "iptables" | "ip6tables" => firewall(argv),
        "mv" | "gmv" => moves(argv, valued).then_some("files.move-system"),
        "cp" | "gcp" | "ln" | "sed" | "gsed" | "perl" | "ruby" | "tar" | "bsdtar" => {
            edits(program, argv, valued).then_some("files.edit-system")
        }
        _ => None,
    }
}

/// Whether a program that no rule names is tested here.
pub(super) fn knows(program: &str) -> bool {
    matches!(program, "kill" | "tar" | "bsdtar")
}

/// `git checkout` and `git restore` of files.
fn git(argv: &[String], valued: &[&str]) -> Option<&'static str> {
    let arguments = Arguments::parse(&argv[1..], valued);
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    match arguments.operands.split_first()? {
        (&"checkout", operands) => {
            if given(&["-b", "-B", "--orphan", "-t", "--track", "-p", "--patch", "--detach", "-h", "--help"]) {
                return None;
            }
            let paths = argv.iter().any(|word| word == "--") && !operands.is_empty();
            let whole =
                operands.iter().any(|operand| Place::of(operand) == Place::Root || matches!(*operand, ":/" | ":"));
            let from_file = given(&["--pathspec-from-file"]);
            (paths || whole || from_file || operands.len() > 1).then_some("git.checkout-paths")
        }
        (&"restore", operands) => {
            let staged = given(&["-S", "--staged"]) && !given(&["-W", "--worktree"]);
            let has_paths = !operands.is_empty() || given(&["--pathspec-from-file"]);
            (has_paths && !staged && !given(&["-h", "--help"])).then_some("git.restore")
        }
        _ => None,
    }
}

/// Whether an operand is in a folder of the system, or one itself.
fn is_system(path: &&str) -> bool {
    matches!(Place::of(path), Place::System | Place::Root) && path.starts_with('/') && !place::is_temporary(path)
}

/// Whether `mv` takes something from the system, everything from here, or puts something into the system.
fn moves(argv: &[String], valued: &[&str]) -> bool {
    let arguments = Arguments::parse(&argv[1..], valued);
    let Some((to, from)) = arguments.operands.split_last() else { return false };
    let is_kept = |path: &&str| matches!(Place::of(path), Place::System | Place::Root);
    !from.is_empty() && (from.iter().any(is_kept) || is_system(to))
}

/// Whether a program writes into a folder of the system.
fn edits(program: &str, argv: &[String], valued: &[&str]) -> bool {
    let arguments = Arguments::parse(&argv[1..], valued);
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    let operands = arguments.operands.as_slice();
    match program {
        "sed" | "gsed" => {
            let files = if given(&["-e", "-f", "--expression", "--file"]) { 0 } else { 1 };
            given(&["-i", "--in-place"]) && operands.iter().skip(files).any(is_system)
        }
        "perl" | "ruby" => given(&["-i"]) && operands.iter().any(is_system),
        "tar" | "bsdtar" => {
            let old = operands.first().is_some_and(|letters| letters.contains('x') && !letters.contains(['.', '/']));
            let folders = ["-C", "--directory"].map(|option| arguments.values(option).any(|path| is_system(&path)));
            (old || given(&["-x", "--extract", "--get"])) && folders.contains(&true)
        }
        // The last operand is where it goes.
        _ => match arguments.values("-t").chain(arguments.values("--target-directory")).next() {
            Some(folder) => is_system(&folder),
            None => operands.len() > 1 && operands.last().is_some_and(is_system),
        },
    }
}

/// `kill` of every process, or of the first.
fn kill(argv: &[String]) -> Option<&'static str> {
    let words: Vec<&str> = argv.iter().skip(1).map(String::as_str).collect();
    let signal = usize::from(words.first().is_some_and(|word| word.starts_with('-') && words.len() > 1));
    let signal = if words.first().is_some_and(|word| matches!(*word, "-s" | "-n" | "--signal")) { 2 } else { signal };
    let targets = words.get(signal..).unwrap_or_default();
    targets.iter().any(|word| matches!(*word, "1" | "-1" | "0")).then_some("system.kill-all")
}

/// A rule of the firewall that closes everything.
fn firewall(argv: &[String]) -> Option<&'static str> {
    let has = |names: &[&str]| argv.iter().any(|word| names.contains(&word.as_str()));
    let closes = has(&["DROP", "REJECT"]) && has(&["-A", "-I", "--append", "--insert"]);
    let narrow =
        ["-s", "-d", "-p", "-m", "-i", "-o", "--source", "--dport", "--protocol", "--destination", "--sport", "!"];
    (closes && !has(&narrow)).then_some("network.firewall-all")
}
