//! What a tool does, as far as its name says.

/// Tools that do nothing but start commands.
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

/// Words of tools that write the file that they name, whatever else they are given.
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

/// Words of tools by which a file gets another name.
const MOVES: &[&str] = &["move", "remove", "rename"];

/// Words of tools that make a second file like the first.
const COPIES: &[&str] = &["copy"];

/// Words of tools that add to what a file holds.
const APPENDS: &[&str] = &["append", "insert"];

/// Words of tools that ask a database.
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

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deeds {
    /// It starts commands and does nothing else.
    pub(super) starts_commands: bool,
    /// It writes the file that it names.
    pub(super) writes: bool,
    /// It gives a file another name.
    pub(super) moves: bool,
    /// It makes a copy of a file.
    pub(super) copies: bool,
    /// It adds to a file.
    pub(super) appends: bool,
    /// It asks a database.
    pub(super) asks_databases: bool,
}

impl Deeds {
    /// What the name says. Of `mcp__server__tool` only the tool's own name says what is done.
    pub(super) fn of(tool: &str) -> Self {
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
