//! The budgets of a new policy: the defaults, or more where the repository has more files.

use base::text::counted;
use system::{
    policy::Policy,
    workspace::{Globs, Workspace},
};

/// The calls, and the lines of diffs, that a run takes for each file that it reads and changes.
const OF_A_FILE: u64 = 10;

/// The limit of files is a multiple of this number.
const STEP: u64 = 1000;

/// The number of files that scripts may find in a workspace; 0 if they can't be listed.
pub(super) fn files(workspace: &Workspace) -> u64 {
    let listing = Globs::parse(&["**"]).and_then(|all| workspace.list(&all, 1));
    listing.map_or(0, |listing| listing.paths.len() as u64)
}

/// The keys of `[budget]` with their comment, for a repository with this number of files.
pub(super) fn lines(files: u64) -> String {
    let budget = Policy::default().settings().budget.clone();
    // A quarter more, since repositories grow.
    let wanted = (files + files / 4).next_multiple_of(STEP);
    let most = budget.files.max(wanted);
    let (calls, lines) = (budget.calls.max(most * OF_A_FILE), budget.diff_lines.max(most * OF_A_FILE));
    let fit = match files {
        0 => String::new(),
        _ => format!(
            "# They fit a run that reads and changes every file: there {} {} when this was written.\n",
            if files == 1 { "was" } else { "were" },
            counted(files, "file"),
        ),
    };
    format!(
        "# The most that one run may change, and the calls that it may make; a script's header may ask for less.\n\
         {fit}files = {most}\ndiff_lines = {}\ncalls = {}\n",
        grouped(lines),
        grouped(calls)
    )
}

/// A number as TOML and people read it: `50_000`.
fn grouped(n: u64) -> String {
    match n / 1000 {
        0 => n.to_string(),
        more => format!("{}_{:03}", grouped(more), n % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_hold_each_file_with_some_room_and_are_never_below_the_defaults() {
        let small = lines(3500);
        assert!(
            small.contains("there were 3500 files")
                && small.ends_with("files = 5000\ndiff_lines = 50_000\ncalls = 50_000\n"),
            "{small}"
        );
        let large = lines(20_431);
        assert!(large.ends_with("files = 26000\ndiff_lines = 260_000\ncalls = 260_000\n"), "{large}");
        assert!(lines(1).contains("there was 1 file when") && !lines(0).contains("there"));
        assert_eq!((grouped(7), grouped(1_000_002)), ("7".to_owned(), "1_000_002".to_owned()));
    }
}
