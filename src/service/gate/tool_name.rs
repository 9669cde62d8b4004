//! The actions of a tool, as far as its name tells.

/// Tools that only start commands.
const SHELLS: &[&str] = &[
    "bash",
    "execcommand",
    "executebash",
    "executecommand",
    "localshell",
    "powershell",
    "pwsh",
    "runbash",
    "runcommand",
    "runcommands",
    "runinterminal",
    "runshellcommand",
    "runterminalcmd",
    "runterminalcommand",
    "sh",
    "shell",
    "shellcommand",
    "zsh",
];

/// Words of tools that write the file in their params, whatever the other params are.
const WRITES: &[&str] = &[
    "append",
    "create",
    "delete",
    "edit",
    "editor",
    "mkdir",
    "move",
    "overwrite",
    "patch",
    "remove",
    "rename",
    "replace",
    "rm",
    "touch",
    "truncate",
    "unlink",
    "write",
];

/// Words of tools that rename a file.
const MOVES: &[&str] = &["move", "remove", "rename"];

/// Words of tools that copy a file.
const COPIES: &[&str] = &["copy"];

/// Words of tools that append to a file.
const APPENDS: &[&str] = &["append", "insert"];

/// Words of tools that query a database.
const DATABASES: &[&str] = &[
    "bigquery",
    "clickhouse",
    "database",
    "db",
    "duckdb",
    "mariadb",
    "mssql",
    "mysql",
    "postgres",
    "postgresql",
    "redshift",
    "snowflake",
    "sql",
    "sqlite",
    "supabase",
];

/// The actions of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deeds {
    /// It only starts commands.
    pub(super) starts_commands: bool,
    /// It writes the file in its params.
    pub(super) writes: bool,
    /// It renames a file.
    pub(super) moves: bool,
    /// It copies a file.
    pub(super) copies: bool,
    /// It appends to a file.
    pub(super) appends: bool,
    /// It queries a database.
    pub(super) asks_databases: bool,
}

impl Deeds {
    /// The actions by the name. Of `mcp__server__tool` only the tool's own name counts.
    pub(crate) fn of(tool: &str) -> Self {
        let own = tool.rsplit("__").next().unwrap_or(tool);
        let words = words(own);
        let says = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        Deeds {
            starts_commands: SHELLS.contains(&plain(own).as_str()),
            writes: says(WRITES),
            moves: says(MOVES),
            copies: says(COPIES),
            appends: says(APPENDS),
            asks_databases: self::words(tool).iter().any(|word| DATABASES.contains(&word.as_str())),
        }
    }
}

/// A name in lower case without punctuation: `filePath` and `file_path` are the same.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The words of a name in lower case: those of `MultiEdit` are `multi` and `edit`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || was_lower && c.is_ascii_uppercase() {
            words.push(String::new());
        }
        was_lower = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_s_own_name_says_what_it_does() {
        for name in ["Write", "MultiEdit", "NotebookEdit", "editFiles", "str_replace_editor", "mcp__fs__write_file"] {
            assert!(Deeds::of(name).writes, "{name}");
        }
        for name in ["Read", "credits", "mcp__editor__read_file", "TodoRead", "grep"] {
            assert!(!Deeds::of(name).writes, "{name}");
        }
        assert!(Deeds::of("run_shell_command").starts_commands && !Deeds::of("BashOutput").starts_commands);
        assert!(Deeds::of("mcp__my-postgres__query").asks_databases && !Deeds::of("mcp__adb__query").asks_databases);
    }
}
