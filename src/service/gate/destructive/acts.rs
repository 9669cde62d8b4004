//! The acts of a person: each command of nrv with its verdict when an agent types it.
//!
//! A test of the command line compares the table with the commands that exist, so that a new one has to be judged here.

use super::arguments::Arguments;

/// The verdict on a command of nrv.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A person decides by it. Only a rehearsal is free.
    Person,
    /// A person decides by one of these options.
    With(&'static [&'static str]),
    /// It changes the records of runs.
    Records,
    /// It undoes a change that a person may have approved.
    Rollback,
    /// It decides nothing in the place of a person, for this reason.
    Excused(&'static str),
}

const ASKS: Act = Act::Excused("it asks a person on a terminal, and `--yes` is an act of its own");
const READS: Act = Act::Excused("it only reads");
const OWN: Act = Act::Excused("it writes new files of the workspace, which decide nothing");

/// The commands, sorted.
const ACTS: &[(&str, Act)] = &[
    ("add", Act::Person),
    ("apply", ASKS),
    ("approve", Act::Person),
    ("check", READS),
    ("completions", READS),
    ("dag run", ASKS),
    ("definitions", OWN),
    ("docs", READS),
    ("doctor", READS),
    ("dta describe", READS),
    ("dta list", READS),
    ("dta new", OWN),
    ("dta run", ASKS),
    ("dta verify", READS),
    ("edit", ASKS),
    ("fleet collect", Act::With(&["--apply", "--approve"])),
    ("fleet plan", OWN),
    ("fleet rollback", Act::Person),
    ("fleet status", READS),
    ("fleet submit", Act::Excused("it hands approved scripts to an engine, and pushes nothing")),
    ("fleet work", Act::Excused("it works in private clones, and `fleet collect` applies the results")),
    ("gate", READS),
    ("gate command", READS),
    ("gate edit", READS),
    ("gate explain", READS),
    ("gate hook", READS),
    ("gate tool", READS),
    ("hooks install", Act::Person),
    ("hooks remove", Act::Person),
    ("hooks status", READS),
    ("init", Act::Excused("it replaces nothing, and the policy that it writes permits no program")),
    ("llm capabilities", READS),
    ("llm ping", READS),
    ("llm probe", READS),
    ("llm record", OWN),
    ("man", READS),
    // Its client answers the questions, and an agent that starts it is the client.
    ("mcp", Act::Person),
    ("mcp approve", Act::Person),
    ("mcp install", Act::Person),
    ("new", OWN),
    ("plan", OWN),
    ("planner plan", OWN),
    ("planner validate", READS),
    ("recover", Act::Excused("it finishes or undoes what a person had started")),
    ("repl", ASKS),
    ("replay", READS),
    ("resume", Act::With(&["--approve", "--reply"])),
    ("rollback", Act::Rollback),
    ("run", ASKS),
    ("runs agents", READS),
    ("runs attest", Act::Person),
    ("runs commit", Act::Person),
    ("runs export", OWN),
    ("runs gc", Act::Records),
    ("runs import", Act::Person),
    ("runs list", READS),
    ("runs remove", Act::Records),
    ("runs report", OWN),
    ("runs show", READS),
    ("runs stats", READS),
    ("runs verify", READS),
    ("scripts", READS),
    ("test", Act::Excused("it works in private copies")),
    ("trust", Act::Person),
    ("verify", READS),
];

/// Options of nrv that take the next argument.
pub const VALUED: &[&str] = &[
    "--against",
    "--annotations",
    "--approve",
    "--arg",
    "--args",
    "--backup",
    "--baseline",
    "--branch",
    "--budget",
    "--by",
    "--canary",
    "--case",
    "--client",
    "--color",
    "--compare",
    "--content",
    "--each",
    "--element",
    "--engine",
    "--filter",
    "--findings",
    "--folder",
    "--from",
    "--glob",
    "--goal",
    "--grant",
    "--host",
    "--http",
    "--image",
    "--index",
    "--index-env",
    "--input",
    "--jobs",
    "--key",
    "--kind",
    "--licence",
    "--limit",
    "--line",
    "--line-ends",
    "--message",
    "--model",
    "--name",
    "--new",
    "--nth",
    "--old",
    "--output",
    "--params",
    "--path",
    "--policy",
    "--position",
    "--provider",
    "--reason",
    "--record-llm",
    "--reject",
    "--replay-llm",
    "--reply",
    "--repositories",
    "--root",
    "--script",
    "--seed",
    "--selector",
    "--signer",
    "--since",
    "--source",
    "--state",
    "--store",
    "--strip",
    "--target",
    "--task",
    "--text",
    "--threads",
    "--tls-cert",
    "--tls-key",
    "--token-file",
    "--trace",
    "--verify",
    "--volume",
    "-m",
    "-o",
    "-p",
];

/// The verdict on a command, by its words; none if it is not known.
pub fn act(words: &[&str]) -> Option<Act> {
    let of = |words: &[&str]| {
        let name = words.join(" ");
        ACTS.binary_search_by_key(&name.as_str(), |(known, _)| known).ok().map(|at| ACTS[at].1)
    };
    of(words.get(..2).unwrap_or_default()).or_else(|| of(words.get(..1)?))
}

/// True if a command of nrv is an act of a person: `Person`, or with one of its options, or with `--yes`.
pub(super) fn is_of_person(arguments: &Arguments<'_>) -> bool {
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    let rehearses = arguments.is_rehearsal() || arguments.has_free(&["--check", "--list", "--show", "--status"]);
    let only_shows = matches!(arguments.operands.get(1), Some(&("check" | "list" | "show" | "status")));
    match act(&arguments.operands) {
        Some(Act::Person) => !rehearses && !only_shows,
        Some(Act::With(options)) => given(options) || given(&["--yes", "-y"]) && !rehearses,
        Some(_) | None => given(&["--yes", "-y"]) && !rehearses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(ACTS.is_sorted_by_key(|(name, _)| name) && VALUED.is_sorted());
    }
}
