//! The folder into which a command brings files whose names its words do not tell, and the places that it takes them from.

use super::{arguments::Arguments, command::program, place, value::UNKNOWN};

/// The number of folders that are cut off if only the last name stays.
pub(super) const FLAT: usize = usize::MAX;

/// The things that a command brings into a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Brought {
    /// The folder, or the new name of a single thing.
    pub(super) into: String,
    pub(super) from: Vec<Source>,
    /// True if `into` is the new name, even if there is a folder of that name.
    pub(super) is_exact: bool,
    /// True if only the names count: a link brings no more.
    pub(super) links: bool,
    /// True if whole folders come.
    pub(super) is_deep: bool,
}

/// A place from which things come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// One thing, or those that a pattern matches, under their own names.
    Entry(String),
    /// One thing from elsewhere, by the path under which it arrives.
    Named(String),
    /// The contents of a folder.
    Contents(String),
    /// The members of an archive, and the number of folders that are cut off their names.
    Archive(String, usize),
    /// Unknown ones.
    Unknown,
}

/// Programs that copy, move or link, with the options that make them take whole folders; `*` if they always do.
const COPIERS: &[(&str, &[&str])] = &[
    ("bindfs", &["*"]),
    ("copy-item", &["-recurse"]),
    ("cp", &["-r", "-R", "-a", "--recursive", "--archive"]),
    ("cpdup", &["*"]),
    ("ditto", &["*"]),
    ("gcp", &["-r", "-R", "-a", "--recursive", "--archive"]),
    ("ginstall", &[]),
    ("gmv", &["*"]),
    ("install", &[]),
    ("ln", &["*"]),
    ("mount", &["*"]),
    ("move-item", &["*"]),
    ("mv", &["*"]),
    ("rsync", &["-r", "-a", "--recursive", "--archive"]),
    ("scp", &["-r"]),
];

/// Those of them that bring the contents of a folder, and not the folder.
const POURERS: &[&str] = &["bindfs", "cpdup", "ditto", "mount"];

/// Programs that unpack archives: the words one of which they need, and the options that name the folder.
const UNPACKERS: &[(&str, &[&str], &[&str])] = &[
    ("7z", &["x", "e"], &["-o"]),
    ("7za", &["x", "e"], &["-o"]),
    ("7zr", &["x", "e"], &["-o"]),
    ("7zz", &["x", "e"], &["-o"]),
    ("ar", &["x"], &["--output"]),
    ("atool", &["-x", "--extract"], &["-X", "--extract-to"]),
    ("aunpack", &[], &["-X", "--extract-to"]),
    ("dtrx", &[], &[]),
    ("funzip", &[], &[]),
    ("jar", &["xf", "xvf", "-xf", "-xvf", "x", "fx", "--extract"], &["-C", "--dir"]),
    ("ouch", &["decompress", "d"], &["-d", "--dir"]),
    ("patool", &["extract"], &["--outdir"]),
    ("pax", &["-r"], &[]),
    ("unar", &[], &["-o", "-output-directory"]),
    ("unrar", &["x", "e"], &["-op"]),
    ("unzip", &[], &["-d"]),
];

/// Commands that fetch files from elsewhere: the words that begin them, and the options that name the folder; `*` if it is the
/// last operand.
const FETCHERS: &[(&str, &[&str], &[&str])] = &[
    ("aws", &["s3", "cp"], &["*"]),
    ("aws", &["s3", "mv"], &["*"]),
    ("aws", &["s3", "sync"], &["*"]),
    ("degit", &[], &["*"]),
    ("docker", &["cp"], &["*"]),
    ("gh", &["run", "download"], &["-D", "--dir"]),
    ("gsutil", &["cp"], &["*"]),
    ("gsutil", &["rsync"], &["*"]),
    ("kubectl", &["cp"], &["*"]),
    ("podman", &["cp"], &["*"]),
    ("rclone", &["copy"], &["*"]),
    ("rclone", &["copyto"], &["*"]),
    ("rclone", &["move"], &["*"]),
    ("rclone", &["moveto"], &["*"]),
    ("rclone", &["sync"], &["*"]),
    ("s3cmd", &["get"], &["*"]),
    ("s3cmd", &["sync"], &["*"]),
    ("tiged", &[], &["*"]),
    ("unison", &[], &["*"]),
];

/// The things that a command brings under names that its words do not tell; none if there are none.
pub(super) fn brought(name: &str, argv: &[String], valued: &[&str]) -> Option<Brought> {
    if matches!(name, "tar" | "gtar" | "bsdtar" | "star") {
        return unpacked_by_tar(argv);
    }
    if name == "cpio" {
        return unpacked_by_cpio(argv);
    }
    if let Some((_, deep)) = COPIERS.iter().find(|(known, _)| *known == name) {
        return copied(name, deep, &Arguments::parse(&argv[1..], valued));
    }
    if let Some((_, words, options)) = UNPACKERS.iter().find(|(known, ..)| *known == name) {
        return unpacked(name, argv, words, options);
    }
    let mut fetchers = FETCHERS.iter().filter(|(known, ..)| *known == name);
    fetchers.find_map(|(_, words, options)| fetched(argv, words, options))
}

/// True if a command may bring such things, judged by its name alone.
pub(super) fn knows(name: &str) -> bool {
    matches!(name, "tar" | "gtar" | "bsdtar" | "star" | "cpio")
        || COPIERS.iter().any(|(known, _)| *known == name)
        || UNPACKERS.iter().chain(FETCHERS).any(|(known, ..)| *known == name)
}

fn copied(name: &str, deep: &[&str], arguments: &Arguments<'_>) -> Option<Brought> {
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, true));
    if matches!(name, "install" | "ginstall") && given(&["-d", "--directory"]) {
        return None;
    }
    let named = ["-t", "--target-directory", "-destination"].iter().find_map(|option| arguments.values(option).next());
    let (into, from) = match (named, arguments.operands.split_last()) {
        (Some(folder), _) => (folder, arguments.operands.as_slice()),
        (None, Some((to, from))) if !from.is_empty() => (*to, from),
        // `ln -s ../x` brings it here.
        (None, Some((to, _))) if name == "ln" => (".", std::slice::from_ref(to)),
        // A list that only the run tells stands before it.
        (None, Some((to, from))) if name == "cp" => (*to, from),
        (None, _) => return None,
    };
    let is_deep = deep == ["*"] || given(deep);
    let keeps_path = match name {
        "cp" | "gcp" => given(&["--parents"]),
        "rsync" => given(&["-R", "--relative"]),
        _ => false,
    };
    let source = |path: &&str| {
        let last = last_name(path);
        if keeps_path {
            let kept = path.rsplit("/./").next().unwrap_or_default().trim_start_matches('/');
            let is_plain = !is_open(kept) && !kept.split('/').any(|name| matches!(name, "" | "." | ".."));
            return if is_plain { Source::Named(kept.to_owned()) } else { Source::Unknown };
        }
        let is_remote =
            matches!(name, "rsync" | "scp") && path.split('/').next().is_some_and(|host| host.contains(':'));
        let pours = POURERS.contains(&name) || name == "rsync" && path.ends_with('/');
        match last {
            _ if is_remote && (pours || is_open(last) || matches!(last, "." | ".." | "")) => Source::Unknown,
            _ if is_remote && name == "rsync" && is_deep => Source::Unknown,
            _ if is_remote => Source::Named(last.rsplit(':').next().unwrap_or_default().to_owned()),
            "." | ".." | "" => Source::Contents((*path).to_owned()),
            _ if pours => Source::Contents((*path).to_owned()),
            _ => Source::Entry((*path).to_owned()),
        }
    };
    let mut from: Vec<Source> = from.iter().map(source).collect();
    if from.is_empty() || name == "rsync" && arguments.values("--files-from").next().is_some() {
        from.push(Source::Unknown);
    }
    let into = folder_of_kept(into, &from).map_or(into, |folder| if folder.is_empty() { "." } else { folder });
    let is_exact = given(&["-T", "--no-target-directory"]) || name == "ln" && given(&["-n", "--no-dereference"]);
    Some(Brought { into: into.to_owned(), from, is_exact, links: name == "ln", is_deep })
}

/// The folder in which open sources keep their names: `cp x/$f $f`, `cp $f ../$f` and `cp "$f" "${f##*/}"`.
fn folder_of_kept<'a>(into: &'a str, from: &[Source]) -> Option<&'a str> {
    let start = into.find(['$', '`']).or_else(|| into.rfind('/').map(|at| at + 1)).unwrap_or_default();
    let (folder, name) = into.split_at(start);
    let cuts_folders = name.starts_with("${") && name.contains('#') && name.ends_with("/}")
        || ["$(basename ", "`basename "].iter().any(|start| name.starts_with(start)) && name.ends_with([')', '`']);
    let keeps = |source: &Source| match source {
        Source::Entry(path) if cuts_folders => is_open(path),
        Source::Entry(path) if name == UNKNOWN => path.ends_with(&format!("/{UNKNOWN}")),
        Source::Entry(path) => is_open(name) && path.rsplit('/').next() == Some(name),
        Source::Named(_) | Source::Contents(_) | Source::Archive(..) | Source::Unknown => false,
    };
    let is_folder = folder.is_empty() || folder.ends_with('/');
    (is_folder && from.iter().any(keeps)).then_some(folder)
}

impl Brought {
    /// Unknown things that come into a folder.
    pub(super) fn unknown(into: &str) -> Self {
        from_archive(into, Source::Unknown)
    }
}

fn from_archive(into: &str, source: Source) -> Brought {
    Brought { into: into.to_owned(), from: vec![source], is_exact: false, links: false, is_deep: true }
}

fn unpacked(name: &str, argv: &[String], words: &[&str], options: &[&str]) -> Option<Brought> {
    let is_told = words.is_empty() || argv.iter().skip(1).any(|word| words.contains(&word.as_str()));
    let only_reads = match name {
        "unzip" => argv.iter().skip(1).any(|word| {
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
            letters.contains(['l', 'p', 't', 'v', 'Z', 'c', 'z']) && !letters.starts_with('d')
        }),
        "dtrx" => argv.iter().any(|word| matches!(word.as_str(), "-l" | "-t")),
        _ => argv.iter().any(|word| matches!(word.as_str(), "-so" | "--help" | "-l" | "--list")),
    };
    if !is_told || only_reads || argv.len() < 2 && name != "funzip" {
        return None;
    }
    let taken: Vec<&str> = options.to_vec();
    let arguments = Arguments::parse(&argv[1..], &taken);
    let joined = || {
        let short = options.iter().find(|option| option.len() == 2)?;
        argv.iter().find_map(|word| word.strip_prefix(short)).filter(|rest| !rest.is_empty())
    };
    let folder = options.iter().find_map(|option| arguments.values(option).next()).or_else(joined).unwrap_or(".");
    let archive = arguments.operands.iter().find(|word| !words.contains(word));
    let is_flat = name == "unzip" && arguments.has_one("-j", false) || argv.iter().skip(1).any(|word| word == "e");
    let source = match archive {
        Some(path) if !is_open(path) => Source::Archive((*path).to_owned(), if is_flat { FLAT } else { 0 }),
        _ => Source::Unknown,
    };
    Some(from_archive(folder, source))
}

/// Options of `tar` that take the next argument.
const TAR: &[&str] = &[
    "-C",
    "--directory",
    "-f",
    "--file",
    "-b",
    "-H",
    "--exclude",
    "--strip-components",
    "--strip",
    "-X",
    "-T",
    "--files-from",
    "--transform",
    "--xform",
    "-I",
    "--use-compress-program",
    "-K",
    "-N",
    "-g",
    "-L",
    "-F",
    "-s",
    "--owner",
    "--group",
    "--mode",
];

fn unpacked_by_tar(argv: &[String]) -> Option<Brought> {
    // `tar xf x.tar`: the letters come without a dash, and take the words after them in turn.
    let old = argv.get(1).filter(|word| !word.starts_with('-') && !word.contains(['.', '/']));
    let letters = old.map_or("", String::as_str);
    let mut rest = argv.get(if old.is_some() { 2 } else { 1 }..).unwrap_or_default();
    let (mut folder, mut archive) = (None, None);
    for letter in letters.chars().filter(|letter| "fCbHXTIKNgLFs".contains(*letter)) {
        let (taken, left) = rest.split_first()?;
        match letter {
            'f' => archive = Some(taken.as_str()),
            'C' => folder = Some(taken.as_str()),
            _ => {}
        }
        rest = left;
    }
    let arguments = Arguments::parse(rest, TAR);
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, false));
    let extracts = letters.contains('x') || given(&["-x", "--extract", "--get"]);
    if !extracts || letters.contains('O') || given(&["-O", "--to-stdout", "--to-command"]) {
        return None;
    }
    let value = |options: [&'static str; 2]| options.into_iter().flat_map(|option| arguments.values(option)).last();
    // Each folder is entered from the one before.
    let folders = arguments.values("-C").chain(arguments.values("--directory"));
    let folders = folder.into_iter().chain(folders).chain(arguments.values("--one-top-level"));
    let folder = folders.fold(".".to_owned(), |at, next| place::below(&at, next));
    let archive = value(["-f", "--file"]).or(archive).filter(|path| *path != "-" && !is_open(path));
    let strip = value(["--strip-components", "--strip"]);
    // Behind the end of an archive there may be another one.
    let renames = given(&[
        "--transform",
        "--xform",
        "-s",
        "-P",
        "--absolute-names",
        "-T",
        "--files-from",
        "-i",
        "--ignore-zeros",
    ]) || letters.contains(['P', 's', 'T', 'i']);
    let is_plain = |member: &&str| !is_open(member) && !member.split('/').any(|name| matches!(name, "." | ".."));
    let members = &arguments.operands;
    let chosen = !members.is_empty() && members.iter().all(|member| is_plain(&member.trim_start_matches("./")));
    if chosen && strip.is_none() && !renames {
        let from = members.iter().map(|member| Source::Named(member.trim_start_matches("./").to_owned())).collect();
        return Some(Brought { from, ..from_archive(&folder, Source::Unknown) });
    }
    let strip = strip.map_or(Some(0), |count| count.parse().ok());
    let source = match (archive, strip) {
        (Some(path), Some(strip)) if !renames => Source::Archive(path.to_owned(), strip),
        _ => Source::Unknown,
    };
    Some(from_archive(&folder, source))
}

fn unpacked_by_cpio(argv: &[String]) -> Option<Brought> {
    let arguments = Arguments::parse(&argv[1..], &["-D", "--directory", "-F", "-I", "-H", "-E", "-R"]);
    let given = |options: &[&str]| options.iter().any(|option| arguments.has_one(option, false));
    if given(&["-t", "--list", "--to-stdout"]) {
        return None;
    }
    let folder = arguments.values("-D").chain(arguments.values("--directory")).next().unwrap_or(".");
    if given(&["-p", "--pass-through"]) {
        return Some(from_archive(arguments.operands.last()?, Source::Unknown));
    }
    given(&["-i", "--extract"]).then(|| from_archive(folder, Source::Unknown))
}

fn fetched(argv: &[String], words: &[&str], options: &[&str]) -> Option<Brought> {
    let arguments = Arguments::parse(&argv[1..], options);
    let operands = arguments.operands.iter().position(|word| words.first().is_none_or(|first| word == first))?;
    let operands = arguments.operands[operands..].strip_prefix(words)?;
    let folder = match options {
        ["*"] if operands.len() > 1 => operands.last().copied()?,
        ["*"] if words.is_empty() && !operands.is_empty() => ".",
        ["*"] => return None,
        _ => options.iter().find_map(|option| arguments.values(option).next()).unwrap_or("."),
    };
    // A single thing keeps its name.
    let is_deep = ["-r", "-R", "--recursive"].iter().any(|option| arguments.has_one(option, false));
    let single = operands
        .first()
        .filter(|_| !is_deep)
        .filter(|_| options == ["*"] && operands.len() == 2 && words.last() == Some(&"cp"));
    let name = single.and_then(|path| path.trim_end_matches('/').rsplit(['/', ':']).next());
    let source = match name {
        Some(name) if !is_open(name) && !matches!(name, "" | "." | "..") => Source::Named(name.to_owned()),
        _ => Source::Unknown,
    };
    Some(from_archive(folder, source))
}

/// The last name of a path; behind a variable or the output of a command only the rest counts.
pub(super) fn last_name(path: &str) -> &str {
    let rest = match path.contains("${") || path.contains("$(") || path.contains('`') {
        true => &path[path.rfind(['}', ')', '`']).unwrap_or_default()..],
        false => path,
    };
    let name = rest.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    // Nothing behind it: all of it is open.
    if name.starts_with(['}', ')', '`']) { "*" } else { name }
}

/// True if only the run tells a part of a word.
pub(super) fn is_open(word: &str) -> bool {
    word.contains(['*', '?', '[', '{', '$', '`', '(']) || word.contains(UNKNOWN)
}

/// Programs that make no file under a name that their words do not tell, so that folders stay as they were seen.
const IDLE: &[&str] = &[
    ":",
    "[",
    "[[",
    "alias",
    "awk",
    "basename",
    "cat",
    "cd",
    "chmod",
    "command",
    "cut",
    "date",
    "declare",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "export",
    "false",
    "file",
    "grep",
    "head",
    "hostname",
    "id",
    "jq",
    "local",
    "ls",
    "md5sum",
    "mkdir",
    "mktemp",
    "popd",
    "printf",
    "ps",
    "pushd",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "return",
    "rg",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "set",
    "setopt",
    "sha256sum",
    "shift",
    "shopt",
    "sleep",
    "sort",
    "stat",
    "sudo",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "tree",
    "true",
    "type",
    "uname",
    "uniq",
    "unset",
    "wait",
    "wc",
    "which",
    "whoami",
];

/// Commands of git that make no file of the work tree.
const IDLE_OF_GIT: &[&str] =
    &["add", "branch", "commit", "diff", "fetch", "log", "push", "rev-parse", "show", "status", "tag"];

/// True if a command may make files under names that its words do not tell, so that a folder may change before it is read.
pub(super) fn may_make(argv: &[String], valued: &[&str]) -> bool {
    let Some(first) = argv.first() else { return false };
    let name = program(first);
    match &*name {
        "git" if argv.iter().any(|word| matches!(word.as_str(), "--check" | "--stat" | "--numstat")) => false,
        "git" => {
            !argv.iter().skip(1).find(|word| !word.starts_with('-')).is_some_and(|one| IDLE_OF_GIT.contains(&&**one))
        }
        "cp" | "install" | "ln" | "mv" => {
            let is_plain = |source: &Source| matches!(source, Source::Entry(path) if !is_open(path));
            let is_file =
                |word: &String| word.rsplit('/').next().is_some_and(|name| name.trim_start_matches('.').contains('.'));
            !brought(&name, argv, valued).is_some_and(|brought| {
                brought.from.iter().all(is_plain)
                    && (!brought.is_deep
                        || name != "ln" && argv.iter().skip(1).all(|word| word.starts_with('-') || is_file(word)))
            })
        }
        name => IDLE.binary_search(&name).is_err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Brought> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        brought(&words[0], &words, &["-t", "--target-directory"])
    }

    #[test]
    fn lists_are_sorted() {
        assert!(IDLE.is_sorted() && IDLE_OF_GIT.is_sorted());
        assert!(COPIERS.is_sorted_by_key(|(name, _)| name) && UNPACKERS.is_sorted_by_key(|(name, ..)| name));
    }

    #[test]
    fn the_folder_and_the_sources_are_found_in_every_spelling() {
        for (line, into, from) in [
            ("cp -r x/. .", ".", Source::Contents("x/.".to_owned())),
            ("cp x/* d", "d", Source::Entry("x/*".to_owned())),
            ("mv -t d x/*", "d", Source::Entry("x/*".to_owned())),
            ("ln -s ../x", ".", Source::Entry("../x".to_owned())),
            ("rsync -a x/ d", "d", Source::Contents("x/".to_owned())),
            ("rsync -a x d", "d", Source::Entry("x".to_owned())),
            ("rsync -a host:x/ d", "d", Source::Unknown),
            ("tar xf a.tar", ".", Source::Archive("a.tar".to_owned(), 0)),
            ("tar xfC a.tar d", "d", Source::Archive("a.tar".to_owned(), 0)),
            ("tar --strip-components=1 -xzf a.tgz -C d", "d", Source::Archive("a.tgz".to_owned(), 1)),
            ("tar -xC d", "d", Source::Unknown),
            ("tar xf a.tar b", ".", Source::Named("b".to_owned())),
            ("tar xf a.tar --one-top-level=d", "d", Source::Archive("a.tar".to_owned(), 0)),
            ("tar xif a.tar", ".", Source::Unknown),
            ("cp --parents x/y d", "d", Source::Named("x/y".to_owned())),
            ("rsync -aR s/./x/y d", "d", Source::Named("x/y".to_owned())),
            ("scp host:a/x d", "d", Source::Named("x".to_owned())),
            ("rclone copyto r:a/x d", "d", Source::Unknown),
            ("unzip -q a.zip -d d", "d", Source::Archive("a.zip".to_owned(), 0)),
            ("7z x a.7z -od", "d", Source::Archive("a.7z".to_owned(), 0)),
            ("cpio -idm -D d", "d", Source::Unknown),
            ("docker cp web:/app/. d", "d", Source::Unknown),
            ("docker cp web:/app/x d", "d", Source::Named("x".to_owned())),
            ("cp -t d", "d", Source::Unknown),
        ] {
            let found = of(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.into.as_str(), &found.from[0]), (into, &from), "{line}");
        }
        for line in [
            "tar tf a.tar",
            "tar cf a.tar x",
            "unzip -l a.zip",
            "cpio -o",
            "install -d x y",
            "docker run x",
            "7z l a.7z",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
