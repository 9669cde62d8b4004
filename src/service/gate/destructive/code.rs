//! Code of other languages in a command line: its deletions, and the commands that it runs.

use std::borrow::Cow;

use super::value::UNKNOWN;

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    /// AppleScript, Emacs Lisp, Lua, R, Tcl, Julia and others.
    Other,
}

/// The findings in a text.
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
    "delete file",
    "delete folder",
    "delete-file",
    "delete-directory",
    "rm(",
    ".rm(",
    "Path.rmdir",
    "Path.unlink",
    ".unlink,",
    "POSIX::remove",
    "Sys.remove",
    "rmtree ",
    "remove_all(",
    "RemoveAll(",
    "removeDir(",
    "removeDirectoryRecursive",
    "removeItem(",
    ".deleteDir(",
    "deleteRecursively(",
    "Directory.Delete(",
    "Directory]::Delete(",
    "File.Delete(",
    "File]::Delete(",
    "File::delete",
    "Files.delete",
    "delete-tree",
    "del_dir_r",
    "call delete(",
    "fn.delete(",
    ".clearObjects(",
    ".deleteObjects(",
    ".deleteIndex(",
    ".dropDatabase(",
    ".dropCollection(",
    ".deleteMany(",
];

/// The deepest code in strings of code that is scanned.
const DEPTH: u32 = 3;

/// Calls that delete one file: the text before its name in quotes, and that after it.
const FILE_CALLS: &[(&str, &str)] = &[
    ("File.delete(", ")"),
    ("File.unlink(", ")"),
    ("Path(", ").unlink("),
    ("fs.unlinkSync(", ")"),
    ("os.remove(", ")"),
    ("os.unlink(", ")"),
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
    "shell-command",
    "breakpoint(",
    "os:cmd",
    "callCommand",
    "readProcess",
    "doShellScript",
    "execute",
    "run-program",
    "System.cmd",
    "System.shell",
    "Sys.command",
    "Process(",
    "ProcessBuilder(",
    "(shell ",
    "shell \"",
    "/sh ",
];

/// Calls that run a string as code of the same language.
const EVALUATES: &[&str] = &[
    "exec(",
    "eval",
    "compile(",
    "runsource(",
    "runcode(",
    "Function(",
    "runInThisContext(",
    "runInNewContext(",
    "loadstring(",
    "load(",
    "getattr(",
];

/// Names of functions that delete, or run commands, where code takes them from a module under a name or by a string.
const NAMED: &[&str] =
    &["remove", "removedirs", "rm", "rmSync", "rmdir", "rmdirSync", "rmtree", "truncate", "unlink", "unlinkSync"];

/// The language that a program runs.
pub(super) fn language(program: &str) -> Option<Language> {
    let stem = program.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    Some(match stem {
        "python" | "pypy" | "ipython" | "py" | "pythonw" | "micropython" | "jython" | "bpython" | "sage"
        | "blender" => Language::Python,
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" | "coffee" | "qjs" => Language::Node,
        "perl" => Language::Perl,
        "ruby" | "irb" | "jruby" => Language::Ruby,
        "php" => Language::Php,
        "lua" | "luajit" | "osascript" | "rscript" | "tclsh" | "julia" | "elixir" | "groovy" | "scala" | "guile"
        | "emacs" | "emacsclient" | "r" | "octave" | "octave-cli" | "matlab" | "gnuplot" | "ghc" | "ghci"
        | "runghc" | "kotlin" | "kotlinc" | "swift" | "erl" | "jshell" | "jrunscript" | "racket" | "sbcl" | "clisp"
        | "clojure" | "clj" | "bb" | "raku" | "ocaml" | "crystal" | "janet" | "wish" | "expect" | "dc" => {
            Language::Other
        }
        _ => return None,
    })
}

impl Language {
    /// The options that take the next argument.
    pub(super) fn valued(self) -> &'static [&'static str] {
        match self {
            Language::Python => &["-c", "-m", "-W", "-X", "--python-expr"],
            Language::Node => &["-e", "-p", "--eval", "--print", "-r", "--require", "--import", "--loader", "-pe"],
            Language::Perl => &["-e", "-E", "-M", "-I"],
            Language::Ruby => &["-e", "-r", "-I", "-C"],
            Language::Php => &["-r", "-d", "-B", "-R", "-E", "-f"],
            Language::Other => &["-e", "-c", "-l", "-x", "--eval", "-eval", "-batch", "--execute"],
        }
    }

    /// True if the value of an option is code.
    pub(super) fn takes_code(self, name: &str, letter: Option<char>) -> bool {
        match self {
            Language::Python => name == "--python-expr" || !name.starts_with("--") && letter == Some('c'),
            Language::Node => matches!(name, "--eval" | "--print" | "-e" | "-p" | "-pe" | "-ep"),
            Language::Perl => !name.starts_with("--") && matches!(letter, Some('e' | 'E')),
            Language::Ruby => !name.starts_with("--") && letter == Some('e'),
            Language::Other => {
                matches!(name, "--eval" | "-eval" | "--execute" | "-batch" | "-x" | "-c")
                    || !name.starts_with("--") && letter == Some('e')
            }
            Language::Php => !name.starts_with("--") && matches!(letter, Some('r' | 'B' | 'R' | 'E')),
        }
    }
}

/// Scans code.
pub(super) fn scan(text: &str, language: Language) -> Found {
    scan_to(text, language, DEPTH)
}

fn scan_to(text: &str, language: Language, depth: u32) -> Found {
    let mut found = Found::default();
    let text = &*requoted(text, language);
    let (text, files) = match language {
        Language::Python | Language::Node | Language::Ruby if depth == DEPTH => without_files(text),
        _ => (text.into(), Vec::new()),
    };
    let text = &*text;
    found.commands.extend(files.into_iter().map(|file| format!("rm -- '{file}'")));
    let plain = without_strings(text);
    let loose = matches!(language, Language::Perl | Language::Php | Language::Other);
    let other = language == Language::Other;
    let mut deletes = DELETES.iter().filter(|call| (loose || !call.ends_with(' ')) && (other || **call != "rm("));
    let is_call = |call: &&str| match call.ends_with(' ') || matches!(*call, "del(" | "unlink(" | "rm(") {
        true => plain
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '(' | ' ')))
            .any(|piece| piece.trim_start().starts_with(*call)),
        false => plain.contains(*call),
    };
    let named = || strings(text).iter().any(|name| NAMED.binary_search(&&**name).is_ok());
    let by_name = || loose && strings(text).iter().any(|name| matches!(name.as_str(), "unlink" | "rmdir"));
    let indexed = ["[\"\"](", "['']("].iter().any(|index| plain.contains(index))
        || ["getattr(", "Reflect.get("].iter().any(|call| plain.contains(call));
    // `perl -nle unlink`, but not `/unlink/`.
    let bare = || {
        let starts = |at: usize| plain[..at].chars().next_back().is_none_or(|c| " ;{(,\t\n".contains(c));
        let mut found = plain.match_indices("unlink").filter(|(at, _)| starts(*at));
        language == Language::Perl
            && found.any(|(at, name)| plain[at + name.len()..].chars().next().is_none_or(|c| " ;}<)$@\n".contains(c)))
    };
    if deletes.any(is_call) || by_name() || indexed && named() || bare() || imports(&plain, language) {
        found.rules.push("code.delete");
    }
    if depth > 0 && EVALUATES.iter().any(|call| plain.contains(call)) {
        for code in strings(text).iter().filter(|code| code.contains([' ', '('])) {
            let inner = scan_to(code, language, depth - 1);
            found.commands.extend(inner.commands);
            if found.rules.is_empty() {
                found.rules = inner.rules;
            }
        }
    }
    // `open(F, "|ls")`
    let pipes = |line: &String| line.starts_with('|') || line.ends_with('|');
    let opens = || plain.contains("open") && strings(text).iter().any(pipes);
    if indexed || RUNS.iter().any(|call| plain.contains(call)) || opens() {
        found.commands.extend(lines(text));
    }
    found
}

/// The lines that code may pass to a shell: each of its strings, lists of them, and those whose beginning is another string.
pub(super) fn lines(text: &str) -> Vec<String> {
    let strings = strings(text);
    let is_name = |word: &&String| word.len() < 16 && !word.contains([' ', '$', '{', '|']);
    let names: Vec<&String> = strings.iter().filter(is_name).take(4).collect();
    let mut lines = joined_strings(text);
    for line in &strings {
        // `"$x -rf"`, `"#{x} -rf"`, `"{x} -rf"`, `"%s -rf"`, `x + " -rf"`
        let is_open = line.starts_with([' ', '$', '{']) || line.starts_with("#{") || line.starts_with("%s");
        if let Some((_, rest)) = line.split_once(' ').filter(|_| is_open) {
            lines.extend(names.iter().map(|name| format!("{name} {rest}")));
        }
        lines.push(line.trim_matches(['|', ' ']).to_owned());
    }
    lines
}

/// The longest string in quotes that a word begins, in characters.
const LONGEST_QUOTE: usize = 4096;

/// The text with plain quotes for those of Perl and Ruby that a word begins: `q(ls)`, `qq{ls}`, `%Q[ls]`.
fn requoted(text: &str, language: Language) -> Cow<'_, str> {
    let marks: &[&str] = match language {
        Language::Perl => &["qq", "q"],
        Language::Ruby => &["%q", "%Q"],
        _ => &[],
    };
    let (mut told, mut rest, mut before) = (String::new(), text, ' ');
    while let Some(next) = rest.chars().next() {
        let quoted =
            marks.iter().filter(|_| !(before.is_alphanumeric() || "_$@%&>".contains(before))).find_map(|mark| {
                let inside = rest.strip_prefix(mark)?.trim_start();
                let open = inside.chars().next().filter(|open| "({[<|!/".contains(*open))?;
                let close = "({[<".find(open).map_or(open, |at| [')', '}', ']', '>'][at]);
                let body = &inside[1..];
                let at = body.char_indices().take(LONGEST_QUOTE).find(|(_, c)| *c == close)?.0;
                Some((&body[..at], &body[at + 1..]))
            });
        let (inside, after) = quoted.unwrap_or(("", &rest[next.len_utf8()..]));
        match quoted {
            Some(_) => told.extend(["'", inside, "'"]),
            None => told.push(next),
        }
        (rest, before) = (after, next);
    }
    if told == text { Cow::Borrowed(text) } else { Cow::Owned(told) }
}

/// The text without the calls that delete one file under a plain name, and the names: they are judged like those of `rm`.
fn without_files(text: &str) -> (Cow<'_, str>, Vec<String>) {
    let (mut told, mut files, mut rest) = (String::new(), Vec::new(), text);
    let next = |rest: &str| FILE_CALLS.iter().filter_map(|call| Some((rest.find(call.0)?, *call))).min();
    while let Some((at, (start, end))) = next(rest).filter(|_| !text.contains("chdir")) {
        let from = at + start.len();
        let is_whole = !rest[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let named = named_file(&rest[from..], end).filter(|_| is_whole);
        let after = named.map_or(from, |(file, length)| {
            files.push(file.to_owned());
            from + length
        });
        told.push_str(&rest[..if named.is_some() { at } else { from }]);
        rest = &rest[after..];
    }
    match files.is_empty() {
        true => (text.into(), files),
        false => ((told + rest).into(), files),
    }
}

/// The name in quotes with which a text begins, if the end of a call follows, and the length of both.
fn named_file<'t>(text: &'t str, end: &str) -> Option<(&'t str, usize)> {
    let quote = text.chars().next().filter(|first| "'\"".contains(*first))?;
    let (name, after) = text[1..].split_once(quote)?;
    let is_plain = !name.is_empty() && !name.contains(['\\', '\'', '"', '{', '$', '%', '*', '\n']);
    (is_plain && after.starts_with(end)).then_some((name, name.len() + 2 + end.len()))
}

fn words(plain: &str) -> impl Iterator<Item = &str> {
    plain.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// True if code takes a function that deletes from a module: `from shutil import rmtree as r`, `const {rm} = require("fs")`.
fn imports(plain: &str, language: Language) -> bool {
    let takes = |taken: &str| words(taken).any(|word| NAMED.binary_search(&word).is_ok());
    plain.split([';', '\n']).any(|statement| match language {
        Language::Python => {
            let from = statement.trim_start().strip_prefix("from ").and_then(|rest| rest.split_once(" import "));
            from.is_some_and(|(module, taken)| matches!(module.trim(), "os" | "shutil") && takes(taken))
        }
        Language::Node if statement.contains("require(") || statement.contains("import") => {
            let inside = statement.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
            inside.is_some_and(|(taken, _)| takes(taken))
        }
        _ => false,
    })
}

/// The text without quoted strings, and without comments to the end of the line.
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

/// The quoted strings, each by itself. An unknown word follows a string that ends in a blank.
pub(super) fn strings(text: &str) -> Vec<String> {
    let ended = |piece: Piece| match piece.text.ends_with(' ') && !piece.text.trim().is_empty() {
        true => format!("{}{UNKNOWN}", piece.text),
        false => piece.text,
    };
    pieces(text).into_iter().map(ended).collect()
}

/// Lists of strings, each as one line: `["rm", "-rf", "/"]`, `'rm', ['-rf', '/']`.
pub(super) fn joined_strings(text: &str) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for piece in pieces(text) {
        match lines.last_mut().filter(|_| piece.is_linked) {
            Some((count, line)) => {
                *count += 1;
                line.push(' ');
                line.push_str(&piece.text);
            }
            None => lines.push((1, piece.text)),
        }
    }
    lines.into_iter().filter(|(count, _)| *count > 1).map(|(_, line)| line).collect()
}

/// A string in code.
struct Piece {
    text: String,
    /// True if only a comma and brackets stand between it and the one before.
    is_linked: bool,
}

/// The strings in code, the first of them if there are many.
fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut current: Option<(char, Piece)> = None;
    let (mut between, mut last) = (String::new(), ' ');
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let close = match (character, characters.as_str().chars().next()) {
            ('\'' | '"' | '`', _) => Some(character),
            // `qx(…)`, `%x{…}`, `qw(…)`, `%w[…]`
            ('x', Some(open)) if matches!(last, 'q' | '%') => closing(open),
            ('w', Some(open)) if matches!(last, 'q' | '%') => closing(open),
            _ => None,
        };
        last = character;
        match (&mut current, close) {
            (Some((_, piece)), _) if character == '\\' => piece.text.extend(characters.next()),
            (Some((open, _)), _) if *open == character => {
                found.extend(current.take().map(|(_, piece)| piece).filter(|piece| !piece.text.is_empty()));
                if found.len() >= 64 {
                    return found;
                }
            }
            (Some((_, piece)), _) => piece.text.push(character),
            (None, Some(close)) => {
                if matches!(character, 'x' | 'w') {
                    characters.next();
                }
                let between_them = between.replace("args", "");
                let is_linked = between_them.chars().all(|c| " \t\n,[](){}:".contains(c))
                    && (between.contains(',') || !between.is_empty() && between.trim().is_empty());
                between.clear();
                current = Some((close, Piece { text: String::new(), is_linked }));
            }
            (None, None) => between.push(character),
        }
    }
    found
}

fn closing(open: char) -> Option<char> {
    Some(match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '/' => '/',
        _ => return None,
    })
}

/// A text with `\n`, `\x41`, `\101` and other escapes decoded.
pub(super) fn unescaped(text: &str) -> String {
    let Some((before, mut rest)) = text.split_once('\\') else { return text.to_owned() };
    let mut plain = before.to_owned();
    loop {
        let (radix, skip, most) = match rest.as_bytes() {
            [b'x', ..] => (16, 1, 2),
            [b'0'..=b'7', ..] => (8, 0, 4),
            _ => (10, 0, 0),
        };
        let digits = rest.bytes().skip(skip).take(most).take_while(|byte| char::from(*byte).is_digit(radix)).count();
        let number = u32::from_str_radix(rest.get(skip..skip + digits).unwrap_or_default(), radix).ok();
        let told = number.and_then(char::from_u32);
        let (shown, taken) = match (told, rest.chars().next()) {
            (Some(told), _) => (told, skip + digits),
            (None, Some('n')) => ('\n', 1),
            (None, Some('t')) => ('\t', 1),
            (None, Some('r')) => ('\r', 1),
            (None, Some('\\')) => ('\\', 1),
            (None, _) => ('\\', 0),
        };
        plain.push(shown);
        let (next, left) = match rest[taken..].split_once('\\') {
            Some((next, left)) => (next, Some(left)),
            None => (&rest[taken..], None),
        };
        plain.push_str(next);
        let Some(left) = left else { return plain };
        rest = left;
    }
}

/// The files that a program of `awk` writes; none unless it names each in one string.
pub(super) fn redirected(program: &str) -> Option<Vec<String>> {
    if program.contains('|') || program.contains("system") {
        return None;
    }
    let pieces =
        program.split('>').skip(1).map(|piece| piece.split(['}', ';', '\n']).next().unwrap_or_default().trim());
    let path = |piece: &str| {
        let inner = piece.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains(['"', '\\'])).then(|| inner.to_owned())
    };
    pieces.filter(|piece| !piece.is_empty()).map(path).collect()
}
