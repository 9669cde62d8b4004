//! The output of a command, where its arguments and its input tell it.

use super::{
    arguments::Arguments,
    code::unescaped,
    place::{self, Place},
    value::{LETTER, UNKNOWN, Value},
};

/// The output of a command; none if only its execution tells.
pub(super) fn text_of(name: &str, arguments: &[String], input: Option<&Value>) -> Option<String> {
    let is_told = |word: &String| !word.contains(UNKNOWN) && !word.contains("$(");
    let known = || arguments.iter().all(is_told);
    match name {
        ":" | "true" | "false" => Some(String::new()),
        "yes" => Some(format!("{}\n", arguments.first().map_or("y", String::as_str))),
        "echo" if known() => {
            let options = |word: &&String| matches!(word.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en");
            let options = arguments.iter().take_while(options).count();
            Some(unescaped(&arguments[options..].join(" ")))
        }
        "printf" if known() => {
            let (format, values) = arguments.split_first()?;
            if values.is_empty() || !format.contains('%') {
                return Some(unescaped(format));
            }
            Some(unescaped(&formatted(format, values)))
        }
        // `tee` passes its input on.
        "cat" | "tee" if name == "tee" || arguments.iter().all(|word| word == "-") => match input {
            Some(Value::Text(text)) => Some(text.clone()),
            Some(Value::Output { .. }) | None => None,
        },
        "cat" if arguments.iter().all(|word| word == "/dev/null") => Some(String::new()),
        "which" | "command" | "type" | "whence" => located(name, arguments),
        "basename" if known() && matches!(arguments.len(), 1 | 2) && !arguments[0].starts_with('-') => {
            let name = arguments[0].trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let end = arguments.get(1).map_or("", String::as_str);
            Some(name.strip_suffix(end).filter(|rest| !rest.is_empty()).unwrap_or(name).to_owned())
        }
        "mktemp" if known() => Some(temporary(arguments)),
        "find" | "gfind" => cached(arguments).cloned(),
        "git" => place_of_git(arguments),
        _ => None,
    }
}

/// The folder of git that `git rev-parse --git-dir` and its like print, or a file there.
fn place_of_git(arguments: &[String]) -> Option<String> {
    let words: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| !word.starts_with("--path-format=")).collect();
    match words.as_slice() {
        ["rev-parse", "--git-dir" | "--git-common-dir" | "--absolute-git-dir"] => Some(".git".to_owned()),
        ["rev-parse", "--git-path", path] => Some(format!(".git/{path}")),
        _ => None,
    }
}

/// A format of `printf` with its values; widths and precisions are left out.
fn formatted(format: &str, values: &[String]) -> String {
    let (mut told, mut values) = (String::new(), values.iter());
    loop {
        let left = values.len();
        let mut pieces = format.split('%');
        told.push_str(pieces.next().unwrap_or_default());
        while let Some(piece) = pieces.next() {
            let piece = piece.trim_start_matches(|one: char| one.is_ascii_digit() || "-+ #.*'".contains(one));
            match piece.chars().next() {
                Some(letter) => {
                    told.push_str(values.next().map_or("", String::as_str));
                    told.push_str(&piece[letter.len_utf8()..]);
                }
                // `%%`
                None => {
                    told.push('%');
                    told.push_str(pieces.next().unwrap_or_default());
                }
            }
        }
        if values.len() == 0 || values.len() == left || told.len() > 4096 {
            return told;
        }
    }
}

/// The place of a program, which is unknown here: its name counts.
fn located(name: &str, arguments: &[String]) -> Option<String> {
    let is_shown = name != "command" || arguments.iter().any(|word| matches!(word.as_str(), "-v" | "-V"));
    let found = arguments.iter().find(|word| !word.starts_with('-')).filter(|_| is_shown)?;
    Some(if found.contains('/') { found.clone() } else { format!("/usr/bin/{found}") })
}

/// The output of `mktemp`, with a sign for each random letter.
fn temporary(arguments: &[String]) -> String {
    let path = template(arguments);
    let end = path.rfind("XXX").map_or(path.len(), |at| at + 3);
    let from = path[..end].trim_end_matches('X').len();
    let letters: String = std::iter::repeat_n(LETTER, end - from).collect();
    [&path[..from], &letters, &path[end..]].concat()
}

/// The template of `mktemp`, in its folder.
fn template(arguments: &[String]) -> String {
    let arguments = Arguments::parse(arguments, &["-p", "--suffix"]);
    let folder = arguments.values("-p").chain(arguments.values("--tmpdir")).next();
    match (arguments.operands.first(), folder) {
        (None, folder) => format!("{}/tmp.XXXXXXXXXX", folder.unwrap_or("/tmp")),
        (Some(template), Some(folder)) => format!("{folder}/{template}"),
        (Some(template), None) if arguments.has_one("-t", false) || arguments.has_one("--tmpdir", false) => {
            format!("/tmp/{template}")
        }
        (Some(template), None) => (*template).to_owned(),
    }
}

/// The name of an existing file that commands choose, as far as their words tell it: `find target -name app | head -1`.
pub(super) fn chosen(stages: &[Vec<String>]) -> Option<String> {
    let (first, rest) = stages.split_first()?;
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let takes_lines = |argv: &Vec<String>| match argv.split_first() {
        // Neither may cut a name.
        Some((name, words)) if matches!(name.as_str(), "head" | "tail") => {
            words.iter().all(|word| is_number(word.trim_start_matches("-n").trim_start_matches('-')) || word == "-n")
        }
        Some((name, words)) if matches!(name.as_str(), "sort" | "uniq") => {
            words.iter().all(|word| matches!(word.as_str(), "-r" | "-V" | "-u" | "-n" | "-rV" | "-Vr" | "-f"))
        }
        _ => false,
    };
    if !rest.iter().all(takes_lines) || first.iter().any(|word| word.contains(UNKNOWN) || word.contains("$(")) {
        return None;
    }
    let (name, words) = first.split_first()?;
    match name.as_str() {
        "which" | "command" | "type" | "whence" => located(name, words),
        "ls" => listed(words),
        "find" | "gfind" => sought(words),
        "readlink" | "realpath" => match words {
            [option, path] if option == "-f" || option == "-e" => Some(path.clone()),
            [path] if name == "realpath" => Some(path.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The path that `ls` shows: a pattern, or any with `-d`.
fn listed(words: &[String]) -> Option<String> {
    let (options, paths): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    let is_plain = options.iter().all(|option| option[1..].bytes().all(|letter| b"1dtrASvU".contains(&letter)));
    let is_pattern = |path: &String| path.contains('*') || path.contains('?');
    let whole = |path: &String| is_pattern(path) || options.iter().any(|option| option.contains('d'));
    match paths.as_slice() {
        [path] if is_plain && whole(path) => Some((*path).clone()),
        _ => None,
    }
}

/// The path of the only name that `find` looks for.
fn sought(words: &[String]) -> Option<String> {
    let tests = ["-name", "-type", "-maxdepth", "-mindepth", "-perm", "-executable", "-L"];
    let is_test = |word: &&String| !word.starts_with('-') || tests.contains(&word.as_str());
    let is_told = words.iter().all(|word| is_test(&word)) && !words.iter().any(|word| word == "!" || word == ",");
    let start = match starts(words).collect::<Vec<_>>().as_slice() {
        [] => ".",
        [one] => one.as_str(),
        _ => return None,
    };
    let name = words.get(words.iter().position(|word| word == "-name")? + 1)?;
    is_told.then(|| format!("{}/{name}", start.trim_end_matches('/')))
}

/// The only name that `find` looks for below here, if it is one of dependencies or caches.
pub(super) fn cached(arguments: &[String]) -> Option<&String> {
    let is_down =
        |start: &&String| matches!(Place::of(start), Place::Inside | Place::Cache | Place::Temporary) || *start == ".";
    let chosen = arguments.iter().any(|word| matches!(word.as_str(), "-o" | "-or" | "!" | "-not" | ","));
    let name = arguments.get(arguments.iter().position(|word| word == "-name")? + 1)?;
    (place::is_cache(name) && !chosen && starts(arguments).all(|start| is_down(&start))).then_some(name)
}

/// The folders where `find` begins.
pub(super) fn starts(arguments: &[String]) -> impl Iterator<Item = &String> {
    let words = arguments.iter().skip_while(|word| matches!(word.as_str(), "-H" | "-L" | "-P"));
    words.take_while(|word| !word.starts_with(['-', '(', '!']))
}

/// True if a program prints data from the network.
pub(super) fn fetches(name: &str) -> bool {
    [
        "curl",
        "wget",
        "fetch",
        "http",
        "https",
        "aria2c",
        "lynx",
        "nc",
        "ncat",
        "netcat",
        "socat",
        "iwr",
        "irm",
        "invoke-webrequest",
    ]
    .contains(&name)
}
