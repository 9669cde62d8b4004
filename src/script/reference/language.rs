//! The language, as far as scripts need it: a page in parts, with the tables that follow from the code.

use base::error::Code;

/// The reserved words, which can't be names, sorted.
pub const RESERVED: &[&str] = &[
    "Fn",
    "as",
    "async",
    "await",
    "break",
    "call",
    "case",
    "catch",
    "const",
    "continue",
    "curry",
    "debug",
    "default",
    "do",
    "else",
    "eval",
    "export",
    "false",
    "fn",
    "for",
    "go",
    "goto",
    "if",
    "import",
    "in",
    "is",
    "is_def_fn",
    "is_def_var",
    "is_shared",
    "let",
    "loop",
    "match",
    "module",
    "new",
    "nil",
    "null",
    "package",
    "print",
    "private",
    "protected",
    "public",
    "return",
    "shared",
    "spawn",
    "static",
    "super",
    "switch",
    "sync",
    "this",
    "thread",
    "throw",
    "true",
    "try",
    "type_of",
    "until",
    "use",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// The page: `## Title` begins a part.
const PAGE: &str = include_str!("language.md");

/// A part of the language.
#[derive(Debug)]
pub struct Topic {
    /// Its title in small letters.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its text as Markdown.
    pub text: String,
}

/// The parts in the order of the page.
pub(super) fn topics() -> Vec<Topic> {
    let page = PAGE.replace("{codes}", &codes()).replace("{words}", &words());
    let part = |part: &str| {
        let (title, text) = part.split_once('\n').unwrap_or((part, ""));
        Topic { name: title.to_lowercase(), title: title.to_owned(), text: format!("{}\n", text.trim()) }
    };
    page.strip_prefix("## ").unwrap_or(&page).split("\n## ").map(part).collect()
}

fn codes() -> String {
    let row = |code: &Code| {
        let caught = match code {
            Code::VerificationFailed => "in an attempt",
            code if code.is_final() => "no",
            _ => "yes",
        };
        format!("| `{code}` | {caught} | {} | {} |\n", code.exit_code(), code.doc())
    };
    let rows: String = Code::ALL.iter().map(row).collect();
    format!("| code | can be caught | exit code | meaning |\n|---|---|---|---|\n{}", rows.trim_end())
}

fn words() -> String {
    RESERVED.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
