//! The names of the params of tools, by meaning.
//!
//! Tools of different programs use different names. They are compared without regard to case and punctuation.

use super::tool_name::plain;

/// Strings that are judged as commands; a list is judged as a command's words.
pub(super) const COMMANDS: &[&str] = &["bash", "cmd", "command", "commandline", "program", "script", "shellcommand"];

/// Lists of strings, each of which is judged as a command.
pub(super) const MANY_COMMANDS: &[&str] = &["cmds", "commands", "scripts"];

/// The words that follow a command.
pub(super) const ARGUMENTS: &[&str] = &["arguments", "args", "argv"];

/// The folder in which a command starts.
pub(super) const FOLDERS: &[&str] = &["cwd", "directory", "dirpath", "workdir", "workingdir", "workingdirectory"];

/// Statements for a database.
pub(super) const STATEMENTS: &[&str] = &["sql", "sqlquery", "sqlstatement"];

/// Names that may hold statements too, if the tool is for databases.
pub(super) const QUERIES: &[&str] = &["queries", "query", "statement", "statements"];

/// The file, or files, to edit or read.
pub(super) const PATHS: &[&str] = &[
    "absolutepath",
    "file",
    "filename",
    "filepath",
    "filepaths",
    "files",
    "notebookpath",
    "path",
    "paths",
    "targetfile",
];

/// The new text.
pub(super) const AFTER: &[&str] = &[
    "codeedit",
    "content",
    "contents",
    "filetext",
    "inserttext",
    "newcontent",
    "newsource",
    "newstr",
    "newstring",
    "newtext",
    "text",
];

/// The text that it replaces.
pub(super) const BEFORE: &[&str] = &["oldcontent", "oldsource", "oldstr", "oldstring", "oldtext"];

/// Several such pieces.
pub(super) const EDITS: &[&str] = &["edits"];

/// The target of a move or copy.
pub(super) const TARGETS: &[&str] = &["destination", "newpath", "to"];

/// The source of a move or copy.
pub(super) const SOURCES: &[&str] = &["from", "oldpath", "source"];

/// True if a name is one of those, in any spelling.
pub(crate) fn is(name: &str, known: &[&str]) -> bool {
    known.contains(&plain(name).as_str())
}

/// True for the name of a new text, or of the text that it replaces.
pub(super) fn is_content(name: &str) -> bool {
    is(name, AFTER) || is(name, BEFORE)
}
