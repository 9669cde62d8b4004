//! The protected names of the release before records named their rules. Replay judges that release's records by them.
//!
//! Nothing else uses them.

use super::{RepoPath, protected};

/// Names that a run of that release never wrote, as any component of a path.
const NEVER_WRITTEN: &[(&str, &str)] = &[
    (".git", "it holds the repository's history and hooks that run by themselves"),
    (".runs", "it holds the records of runs"),
    ("nrv.toml", "it is the policy that the run is judged by"),
    ("nrv.lock", "it holds the approvals"),
    ("nrv.lock.sig", "it says who approved"),
    (".nrv", "it says whose signatures count"),
    (".bashrc", "a shell runs it when it starts"),
    (".bash_profile", "a shell runs it when it starts"),
    (".profile", "a shell runs it when it starts"),
    (".zshrc", "a shell runs it when it starts"),
    (".zprofile", "a shell runs it when it starts"),
    (".gitconfig", "git runs commands that it names"),
    (".gitmodules", "git fetches what it names"),
    (".ripgreprc", "a search tool takes its options, commands among them, from it"),
    (".mcp.json", "coding agents start the servers that it names"),
    (".vscode", "an editor runs tasks that it names"),
    (".idea", "an editor runs tasks that it names"),
];

/// The reason that a run of that release could not write the path; none if it could.
pub fn write_refusal(path: &RepoPath) -> Option<&'static str> {
    if protected::is_temporary(path.file_name()) {
        return Some("names of that form are kept for open transactions");
    }
    let hit = |name: &str| NEVER_WRITTEN.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    path.components().find_map(hit).map(|(_, reason)| *reason)
}
