//! Tests of single programs that need more than a rule's words: each gives the rule that a command breaks.

use super::{arguments::Arguments, place::Place};

/// The rule that a command of this program breaks, of those that need more than words.
pub(super) fn check(program: &str, argv: &[String], valued: &[String]) -> Option<&'static str> {
    match program {
        "git" => git(argv, valued),
        "kill" => kill(argv),
        "iptables" | "ip6tables" => firewall(argv),
        _ => None,
    }
}

/// `git checkout` and `git restore` of files.
fn git(argv: &[String], valued: &[String]) -> Option<&'static str> {
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
