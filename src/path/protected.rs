//! What no run may write or read, whatever the policy says: one list, each entry with its reason.
//!
//! Names are compared without regard to case, at any depth, so that a case-insensitive file system changes nothing.

use super::RepoPath;

/// The folder of run records, in the workspace's root.
pub const RUNS: &str = ".runs";

/// The folder that says whose signatures count, in the workspace's root.
pub const SIGNERS: &str = ".nrv";

/// How the temporary files begin that stand beside a target while a transaction is open.
pub const TEMPORARY: &str = ".nrv-";

/// Names that a run never writes, as any component of a path.
const NEVER_WRITTEN: &[(&str, &str)] = &[
    (".git", "it holds the repository's history and hooks that run by themselves"),
    (RUNS, "it holds the records of runs"),
    ("nrv.toml", "it is the policy that the run is judged by"),
    ("nrv.lock", "it holds the approvals"),
    ("nrv.lock.sig", "it says who approved"),
    (SIGNERS, "it says whose signatures count"),
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

/// Names that a script never reads, as any component of a path.
const NEVER_READ: &[(&str, &str)] =
    &[(".git", "it holds the repository's configuration and credentials"), (RUNS, "it holds the records of runs")];

/// Why a run may not write the path; none if it may, as far as this list goes.
pub fn write_refusal(path: &RepoPath) -> Option<&'static str> {
    if is_temporary(path.file_name()) {
        return Some("names of that form are kept for open transactions");
    }
    refusal(path, NEVER_WRITTEN)
}

/// Why a script may not read the path; none if it may, as far as this list goes.
pub fn read_refusal(path: &RepoPath) -> Option<&'static str> {
    refusal(path, NEVER_READ)
}

/// True for the name of a temporary file of a transaction.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

/// Folders that no listing enters.
pub fn is_hidden_folder(name: &str) -> bool {
    NEVER_READ.iter().any(|(known, _)| name.eq_ignore_ascii_case(known))
}

fn refusal(path: &RepoPath, list: &[(&'static str, &'static str)]) -> Option<&'static str> {
    let hit = |name: &str| list.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    path.components().find_map(hit).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_at_any_depth_and_in_any_case() {
        for path in
            [".git/x.html", "a/.GIT/config", ".runs/x", "NRV.toml", "a/.vscode/tasks.json", "a/.nrv-1-2", ".nrv/x"]
        {
            assert!(write_refusal(&RepoPath::parse(path).unwrap()).is_some(), "{path}");
        }
        for path in [".gitignore", "git/x", "a.git/x", "runs/x", ".github/workflows/ci.yml"] {
            assert!(write_refusal(&RepoPath::parse(path).unwrap()).is_none(), "{path}");
        }
    }

    #[test]
    fn policy_is_readable_but_records_are_not() {
        assert!(read_refusal(&RepoPath::parse("nrv.toml").unwrap()).is_none());
        assert!(read_refusal(&RepoPath::parse("sub/.Git/config").unwrap()).is_some());
    }
}
