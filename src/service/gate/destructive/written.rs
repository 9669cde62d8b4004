//! The files that a command writes, replaces or removes, by its words.

use super::{
    arguments::Arguments,
    guarded,
    kind::Kind,
    place::{self, Place},
};

/// Options of any program whose value is the written file.
const OUTPUTS: &[&str] = &["-o", "-O", "-out", "--out", "--outfile", "--output", "--output-document", "--output-file"];

/// The same of single programs.
const OUTPUTS_OF: &[(&str, &[&str])] = &[
    ("curl", &["-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--stderr", "--etag-save"]),
    ("ssh-keygen", &["-f"]),
    ("wget", &["-a", "--append-output"]),
];

/// Other programs that write some of their operands.
const OTHERS: &[&str] =
    &["git", "dd", "tar", "gtar", "bsdtar", "zip", "unzip", "7z", "ar", "cpio", "logsave", "script", "uniq", "wget"];

/// The files that a command writes or removes.
pub(super) fn written(name: &str, kind: Kind, argv: &[String], valued: &[&str], is_here: bool) -> Vec<String> {
    let own = OUTPUTS_OF.iter().find(|(program, _)| *program == name).map_or(&[][..], |(_, options)| options);
    let mut paths: Vec<String> = outputs(argv, own);
    if name == "curl" && argv.iter().skip(1).any(|word| keeps_name(word)) {
        paths.extend(argv.iter().filter_map(|url| Some(url.rsplit_once('/')?.1.to_owned())));
    }
    let (changes, copies) = (kind.is(Kind::CHANGES), kind.is(Kind::COPIES));
    let known = changes || copies || kind.is(Kind::EDITS);
    if name == "mkdir" {
        return argv.iter().skip(1).filter(|path| guarded::is_in_store(path)).cloned().collect();
    }
    if !known && !OTHERS.contains(&name) {
        return paths;
    }
    let arguments = Arguments::parse(argv.get(1..).unwrap_or_default(), valued);
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    let operands = || arguments.operands.iter().map(|path| (*path).to_owned());
    match name {
        "dd" => paths.extend(arguments.operands.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned)),
        "git" => paths.extend(of_git(&arguments)),
        "tar" | "gtar" | "bsdtar" => paths.extend(of_tar(&arguments)),
        // A new archive; its members follow.
        "zip" => paths.extend(operands().take(1)),
        "ar" => paths.extend(operands().skip(1).take(1)),
        "logsave" => paths.extend(operands().take(1)),
        "script" => paths.extend(operands().next_back()),
        "uniq" => paths.extend(operands().skip(1)),
        "wget" => paths.extend(arguments.operands.iter().filter_map(|url| url.rsplit('/').next()).map(str::to_owned)),
        "unzip" | "7z" | "cpio" => paths.extend(operands().skip(1)),
        _ if changes => paths.extend(operands()),
        _ if kind.is(Kind::EDITS) && edits_in_place(argv) => {
            paths.extend(operands().skip(programs(name, argv, arguments.operands.len())));
        }
        // A link shares the file with its target.
        "cp" | "gcp" if given(&["-l", "--link", "-s", "--symbolic-link"]) => paths.extend(operands()),
        _ => {}
    }
    if copies {
        let is_remote = matches!(name, "rsync" | "scp");
        paths.extend(copied(&arguments, is_remote, is_here));
    }
    paths
}

/// True if an option of `curl` keeps the file name of the server: `-O`, `-sSLO`, `--remote-name-all`.
fn keeps_name(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    word.starts_with("--remote-name") || letters.is_some_and(|letters| letters.contains('O'))
}

/// True if a program changes files in place: `-i`, `-i.bak`, `-pi`, `--in-place`.
pub(super) fn edits_in_place(argv: &[String]) -> bool {
    argv.iter().skip(1).any(|word| match word.strip_prefix("--") {
        Some(long) => long.starts_with("in-place") || long.starts_with("inplace"),
        None => {
            let letters = word.strip_prefix('-').unwrap_or_default();
            letters.split_once('i').is_some_and(|(before, _)| before.bytes().all(|byte| b"0Elnpruswz".contains(&byte)))
        }
    })
}

/// The number of operands that are the program, not files; 0 if an option may give it.
fn programs(name: &str, argv: &[String], operands: usize) -> usize {
    let gives = |word: &String| match word.strip_prefix("--") {
        Some(long) => long.starts_with(['e', 'f']),
        None => word.starts_with('-') && word.contains(['e', 'f']),
    };
    let is_perl = matches!(name, "perl" | "ruby");
    usize::from(operands > 1 && !is_perl && !argv.iter().skip(1).any(gives))
}

/// The destinations of copies: the last operand, or their own names in that folder.
fn copied(arguments: &Arguments<'_>, is_remote: bool, is_here: bool) -> Vec<String> {
    let named = ["-t", "--target-directory", "-destination"].iter().find_map(|option| arguments.values(option).next());
    let (to, from) = match (named, arguments.operands.split_last()) {
        (Some(folder), _) => (folder, arguments.operands.as_slice()),
        (None, Some((to, from))) => (*to, from),
        (None, None) => return Vec::new(),
    };
    // A copy to another machine only reads here.
    if is_remote && to.split('/').next().is_some_and(|host| host.contains(':')) {
        return Vec::new();
    }
    // A copy elsewhere keeps its name, and guards nothing there.
    let is_away = is_here && (Place::of(to) == Place::Temporary || place::is_temporary(to));
    let from: Vec<&str> = from.iter().copied().filter(|from| !is_away || Place::of(from) != Place::Inside).collect();
    let name = |path: &&str| path.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default().to_owned();
    // `cp a.toml b/x.toml` and `cp a.toml b/a.toml.bak` name the copy itself.
    let ending = |name: &str| name.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    let is_folder = |path: &&&str| {
        let (from, to) = (name(path), name(&to));
        to.is_empty()
            || to == ".."
            || to == "."
            || !to.starts_with(&from) && (ending(&from).is_none() || ending(&from) != ending(&to))
    };
    let inside = from.iter().filter(is_folder).map(|path| format!("{}/{}", to.trim_end_matches('/'), name(path)));
    std::iter::once(to.to_owned()).chain(inside).collect()
}

/// The archive that `tar` creates, or the files and the folder into which it unpacks.
fn of_tar(arguments: &Arguments<'_>) -> Vec<String> {
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    let values = |options: [&'static str; 2]| options.into_iter().flat_map(|option| arguments.values(option));
    // `tar cf x.tar src`: the letters come without a dash.
    let old = arguments.operands.first().filter(|letters| !letters.contains(['.', '/']));
    let has = |letter: char| old.is_some_and(|letters| letters.contains(letter));
    let mut paths: Vec<&str> = Vec::new();
    if has('x') || given(&["-x", "--extract", "--get"]) {
        paths.extend(&arguments.operands);
        paths.extend(values(["-C", "--directory"]));
    }
    if has('c') || has('r') || has('u') || given(&["-c", "-r", "-u", "--create", "--append", "--update", "--delete"]) {
        paths.extend(values(["-f", "--file"]));
        paths.extend(arguments.operands.get(1).filter(|_| has('f')));
    }
    paths.into_iter().map(str::to_owned).collect()
}

/// Files of the work tree that git replaces or removes by name.
fn of_git(arguments: &Arguments<'_>) -> Vec<String> {
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    let Some((command, operands)) = arguments.operands.split_first() else { return Vec::new() };
    let replaces = match *command {
        "restore" => !given(&["-S", "--staged"]) || given(&["-W", "--worktree"]),
        "checkout" | "clean" | "merge-file" | "mv" | "rm" | "stash" | "update-index" => true,
        // Into this folder.
        "clone" => return operands.iter().skip(1).map(|path| (*path).to_owned()).collect(),
        _ => false,
    };
    if replaces { operands.iter().map(|path| (*path).to_owned()).collect() } else { Vec::new() }
}

/// The files that options name as output; `own` are the options of this program alone.
fn outputs(argv: &[String], own: &[&str]) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, word) in argv.iter().enumerate().skip(1) {
        if own.contains(&word.as_str()) {
            paths.extend(argv.get(at + 1).cloned());
        }
        let ends = |word: &str| word[1..].starts_with(['o', 'O', '-']) || word.ends_with(['o', 'O']);
        if !word.starts_with('-') || !ends(word) {
            continue;
        }
        if OUTPUTS.contains(&word.as_str()) {
            paths.extend(argv.get(at + 1).cloned());
        } else if let Some((option, value)) = word.split_once('=') {
            let is_one = OUTPUTS.contains(&option) || own.contains(&option);
            paths.extend(is_one.then(|| value.to_owned()));
        } else if let Some(value) = word.strip_prefix("-o").or_else(|| word.strip_prefix("-O")) {
            paths.push(value.to_owned());
        } else if !word.starts_with("--") && word.ends_with(['o', 'O']) {
            paths.extend(argv.get(at + 1).cloned());
        }
    }
    paths
}
