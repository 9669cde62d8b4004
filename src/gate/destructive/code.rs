//! Code of other languages that a command line carries: what in it deletes, and which commands it runs.

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    /// AppleScript, Lua, R, Tcl, Julia and others.
    Other,
}

/// What a text does.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) rules: Vec<&'static str>,
    pub(super) commands: Vec<String>,
}

/// Calls that delete or overwrite files, in any of the languages.
const DELETES: &[&str] = &[
    "shutil.rmtree",
    "rmtree(",
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.removedirs",
    ".unlink(",
    ".rmdir(",
    "os.truncate",
    "shutil.move",
    "unlinkSync",
    "rmSync",
    "rmdirSync",
    "fs.rm(",
    "fs.rmdir",
    "fs.unlink",
    "promises.rm",
    "promises.unlink",
    "rimraf",
    "removeSync",
    "emptyDirSync",
    "fs.truncate",
    "truncateSync",
    "Deno.remove",
    "FileUtils.rm",
    "FileUtils.remove",
    "File.delete",
    "File.unlink",
    "Dir.rmdir",
    "Dir.delete",
    "Dir.unlink",
    "remove_tree",
    "remove_entry",
    "rm_rf",
    "rm_r(",
    "os.remove(",
    "file.remove",
    "unlink(",
    "fs::remove",
    "del(",
    "deltree",
    "Pathname.rmtree",
    ".rmtree",
    "unlink ",
    "rmdir ",
    "rmdir(",
    "send2trash",
    "file delete",
    ".clearObjects(",
    ".deleteObjects(",
    ".deleteIndex(",
    ".dropDatabase(",
    ".dropCollection(",
    ".deleteMany(",
];

/// Calls that run commands.
const RUNS: &[&str] = &[
    "system",
    "exec",
    "spawn",
    "popen",
    "subprocess",
    "child_process",
    "execSync",
    "qx",
    "`",
    "%x",
    "Open3",
    "passthru",
    "shell_exec",
    "proc_open",
    "do shell script",
    "run(",
    "Deno.Command",
    "Bun.$",
    "os.execute",
    "sh(",
    "pty.",
];

/// The language that a program runs.
pub(super) fn language(program: &str) -> Option<Language> {
    let stem = program.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    Some(match stem {
        "python" | "pypy" | "ipython" | "py" | "pythonw" => Language::Python,
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => Language::Node,
        "perl" => Language::Perl,
        "ruby" | "irb" | "jruby" => Language::Ruby,
        "php" => Language::Php,
        "lua" | "luajit" | "osascript" | "rscript" | "tclsh" | "julia" | "elixir" | "groovy" | "scala" | "guile" => {
            Language::Other
        }
        _ => return None,
    })
}

impl Language {
    /// The options that take the next argument.
    pub(super) fn valued(self) -> &'static [String] {
        use std::sync::LazyLock;
        static VALUED: LazyLock<[Vec<String>; 6]> = LazyLock::new(|| {
            let list = |text: &str| text.split(' ').map(str::to_owned).collect();
            [
                list("-c -m -W -X"),
                list("-e -p --eval --print -r --require -pe"),
                list("-e -E -M -I"),
                list("-e -r -I -C"),
                list("-r -d -B -R -E -f"),
                list("-e -l --eval"),
            ]
        });
        &VALUED[self as usize]
    }

    /// Whether the value of an option is code.
    pub(super) fn takes_code(self, name: &str, letter: Option<char>) -> bool {
        match self {
            Language::Python => !name.starts_with("--") && letter == Some('c'),
            Language::Node => matches!(name, "--eval" | "--print" | "-e" | "-p" | "-pe" | "-ep"),
            Language::Perl => !name.starts_with("--") && matches!(letter, Some('e' | 'E')),
            Language::Ruby | Language::Other => name == "--eval" || !name.starts_with("--") && letter == Some('e'),
            Language::Php => !name.starts_with("--") && matches!(letter, Some('r' | 'B' | 'R' | 'E')),
        }
    }
}

/// Looks through code.
pub(super) fn scan(text: &str, language: Language) -> Found {
    let mut found = Found::default();
    let plain = without_strings(text);
    let loose = matches!(language, Language::Perl | Language::Php | Language::Other);
    let mut deletes = DELETES.iter().filter(|call| loose || !call.ends_with(' '));
    let is_call = |call: &&str| match call.ends_with(' ') || *call == "del(" || *call == "unlink(" {
        true => plain
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '(' | ' ')))
            .any(|piece| piece.trim_start().starts_with(*call)),
        false => plain.contains(*call),
    };
    if deletes.any(is_call) {
        found.rules.push("code.delete");
    }
    if RUNS.iter().any(|call| plain.contains(call)) {
        found.commands = strings(text);
        found.commands.extend(joined_strings(text));
    }
    found
}

/// The text without what stands in quotes, and without comments to the end of the line.
fn without_strings(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(open), _) if open == character => {
                quote = None;
                plain.push(character);
            }
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(character);
                plain.push(character);
            }
            (None, _) => plain.push(character),
        }
    }
    plain
}

/// What stands in quotes, each piece by itself.
pub(super) fn strings(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<(char, String)> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (&mut current, character) {
            (Some((_, piece)), '\\') => piece.extend(characters.next()),
            (Some((open, _)), _) if *open == character => {
                let (_, piece) = current.take().unwrap_or_default();
                if found.len() < 64 && !piece.is_empty() {
                    found.push(piece);
                }
            }
            (Some((_, piece)), _) => piece.push(character),
            (None, '\'' | '"' | '`') => current = Some((character, String::new())),
            // `qx(…)`, `%x{…}`
            (None, 'x') if matches!(characters.as_str().chars().next(), Some('(' | '{' | '[' | '/')) => {
                let close = match characters.next() {
                    Some('(') => ')',
                    Some('{') => '}',
                    Some('[') => ']',
                    _ => '/',
                };
                current = Some((close, String::new()));
            }
            (None, _) => {}
        }
    }
    found
}

/// Lists of strings, each as one line: `["rm", "-rf", "/"]`.
fn joined_strings(text: &str) -> Vec<String> {
    let lists = text.split(['[', '(']).skip(1).map(|rest| rest.split([']', ')']).next().unwrap_or_default());
    lists.map(strings).filter(|words| words.len() > 1).map(|words| words.join(" ")).take(32).collect()
}
