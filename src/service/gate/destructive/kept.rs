//! The folder with the key by which nrv knows whom a person trusts: no command reads in it, and copies of the folders above it ask.

use std::path::Path;

use super::{
    arguments::Arguments,
    command::Disk,
    guarded::is_in_store,
    landing::{expand_home, fits, store},
    place,
    walk::Walk,
};

/// Programs that show names at most.
const SHOWERS: &[&str] = &[
    ":", "[", "[[", "alias", "basename", "cd", "declare", "dirname", "du", "echo", "export", "local", "ls", "mkdir",
    "nrv", "print", "printf", "pushd", "readlink", "realpath", "set", "stat", "test", "true", "type", "unset", "which",
];

/// Programs that read or keep all below a folder, with the options that make them do so; `*` if they always do.
const DEEP: &[(&str, &[&str])] = &[
    ("7z", &["*"]),
    ("ack", &["*"]),
    ("ag", &["--hidden", "-u", "--unrestricted"]),
    ("bindfs", &["*"]),
    ("borg", &["*"]),
    ("bsdtar", &["-c", "-r", "--create", "--append"]),
    ("chmod", &["-R", "--recursive"]),
    ("cp", &["-r", "-R", "-a", "--recursive", "--archive", "-l", "-s"]),
    ("cpdup", &["*"]),
    ("dar", &["*"]),
    ("diff", &["-r", "--recursive"]),
    ("ditto", &["*"]),
    ("duplicity", &["*"]),
    ("egrep", &["-r", "-R", "--recursive", "--dereference-recursive"]),
    ("fgrep", &["-r", "-R", "--recursive", "--dereference-recursive"]),
    ("gcp", &["-r", "-R", "-a", "--recursive", "--archive"]),
    ("grep", &["-r", "-R", "--recursive", "--dereference-recursive"]),
    ("gtar", &["-c", "-r", "--create", "--append"]),
    ("ln", &["*"]),
    ("mksquashfs", &["*"]),
    ("mount", &["*"]),
    ("rclone", &["*"]),
    ("restic", &["*"]),
    ("rg", &["-u", "-.", "--hidden", "--unrestricted"]),
    ("rsync", &["*"]),
    ("scp", &["-r"]),
    ("setfacl", &["-R", "--recursive"]),
    ("tar", &["-c", "-r", "--create", "--append"]),
    ("ugrep", &["*"]),
    ("zip", &["-r", "--recurse-paths"]),
];

/// Those of them whose last operand is the copy.
const COPIERS: &[&str] = &["bindfs", "cp", "cpdup", "ditto", "gcp", "ln", "mount", "rclone", "rsync", "scp"];

/// Those of them that search the folder in which they start.
const SEARCHERS: &[&str] = &["ack", "ag", "egrep", "fgrep", "grep", "rg", "ugrep"];

/// Words by which a search does something to the files that it finds.
const ACTS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch", "-fprint0", "-print0"];

/// The most bytes of a path that the system takes.
const MAX_PATH: usize = 4096;

/// The way from a path to the folder of a person's trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// It is a folder above.
    Above,
    /// It is that folder, or leads into it.
    In,
}

impl Walk<'_> {
    /// Checks that a command keeps out of the folder of a person's trust.
    pub(super) fn keep_out(&mut self, name: &str, argv: &[String]) {
        if SHOWERS.contains(&name) {
            return;
        }
        let here = self.folder().and_then(|_| self.reach("."));
        let words = || argv.iter().skip(1).flat_map(|word| parts(word));
        let is_in = |word: &str| self.reach(word) == Some(Reach::In);
        if here == Some(Reach::In) || words().any(is_in) {
            return self.hit("guard.trust", argv);
        }
        let is_search = matches!(name, "find" | "gfind" | "bfs" | "fd" | "fdfind");
        // Without a folder they search where they are.
        let is_here = match is_search {
            true => argv.get(1).is_none_or(|word| word.starts_with('-')),
            false => SEARCHERS.contains(&name) && argv.iter().skip(1).filter(|word| !word.starts_with('-')).count() < 2,
        };
        let here = here.filter(|_| is_here);
        let acts = || argv.iter().any(|word| ACTS.contains(&word.as_str()));
        let above = match DEEP.iter().find(|(known, _)| *known == name) {
            Some((_, options)) => {
                let valued = self.rules.valued(name, argv);
                let read = if is_deep(name, options, argv, valued) { read(name, argv, valued) } else { return };
                here.max(read.iter().flat_map(|word| parts(word)).filter_map(|word| self.reach(word)).max())
            }
            None if is_search && acts() => here.max(words().filter_map(|word| self.reach(word)).max()),
            None => None,
        };
        match above {
            None => {}
            Some(Reach::Above) => self.hit("guard.trust-copied", argv),
            Some(Reach::In) => self.hit("guard.trust", argv),
        }
    }

    /// Checks that a command is not fed from there.
    pub(super) fn keep_out_input(&mut self, path: &str) {
        if self.reach(path) == Some(Reach::In) {
            self.hit("guard.trust", &["<".to_owned(), path.to_owned()]);
        }
    }

    /// The way from a word of a command, which may be a pattern, to the folder of a person's trust.
    fn reach(&self, word: &str) -> Option<Reach> {
        let disk = self.stand.disk;
        // `find` names a found file by `{}`, and the system opens no path that is longer.
        if word == "{}" || word.len() > MAX_PATH {
            return None;
        }
        let path = self.spelt(word, disk)?;
        // A path of the workspace may have any names.
        let is_own = self.stand.root.as_deref().is_some_and(|root| Path::new(&path).starts_with(root));
        if !is_own && is_in_store(&path) {
            return Some(Reach::In);
        }
        // Any folder may be in an unknown variable.
        if path.starts_with(['$', '`']) {
            return None;
        }
        let store = disk.map_or_else(|| Some("~/.local/state/nrv/trusted".to_owned()), store)?;
        let (path, store) = (names(&path), names(&store));
        let leads = path.iter().zip(&store).all(|(pattern, name)| self.stands_for(pattern, name));
        // The folder of nrv's state has nothing else.
        let reach = if path.len() + 1 >= store.len() { Reach::In } else { Reach::Above };
        leads.then_some(reach)
    }

    /// True if a part of a pattern may stand for a name.
    fn stands_for(&self, pattern: &str, name: &str) -> bool {
        let is_open = pattern.starts_with(['*', '?', '[']);
        let mut plain = String::new();
        let mut inside = false;
        for character in pattern.chars() {
            match character {
                '[' | '{' => inside = true,
                ']' | '}' => {
                    inside = false;
                    plain.push('*');
                }
                '$' | '`' => {
                    plain.push('*');
                    break;
                }
                _ if inside => {}
                other => plain.push(other),
            }
        }
        (self.dotted || !is_open || !name.starts_with('.')) && fits(&plain, name)
    }

    /// The path of a word by its spelling, absolute or from a home; none for one that begins with something unknown.
    fn spelt(&self, word: &str, disk: Option<Disk>) -> Option<String> {
        let word = word.trim_matches(['"', '\'']).trim_start_matches("file://");
        let is_relative = !word.starts_with(['/', '~', '$', '%', '`', '<', '\\']);
        let root = self.stand.root.as_deref();
        let whole = match (self.folder(), is_relative) {
            (Some(folder), true) if folder.starts_with(['/', '~', '$']) => format!("{folder}/{word}"),
            (Some(folder), true) => format!("{}/{folder}/{word}", root?),
            (None, true) => format!("{}/{word}", root?),
            (_, false) => word.to_owned(),
        };
        let spelt = match disk {
            Some(disk) => expand_home(&whole, disk),
            None => ["$HOME", "${HOME}"].iter().find_map(|home| {
                let rest = whole.strip_prefix(home).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
                Some(format!("~{rest}"))
            }),
        };
        let mut left: Vec<&str> = Vec::new();
        let whole = spelt.unwrap_or(whole);
        for name in names(&whole) {
            match left.last() {
                Some(last) if name == ".." && *last != ".." && !last.starts_with(['~', '$']) => drop(left.pop()),
                _ => left.push(name),
            }
        }
        let start = if whole.starts_with('/') { "/" } else { "" };
        Some(format!("{start}{}", left.join("/")))
    }
}

/// The names in a path.
fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").collect()
}

/// The parts of a word that may be paths: `-v/a:/b`, `if=/a`, `-Fx=@/a`.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let short = word.strip_prefix('-').and_then(|rest| rest.get(1..)).filter(|rest| rest.starts_with(['/', '~', '$']));
    let is_path = |part: &&str| part.starts_with(['/', '~', '$', '.', '"', '\'']);
    let inner = word.split(['=', '@', ':', ',']).skip(1).filter(is_path);
    let first = word.split([':', ',']).next().filter(|first| *first != word);
    let whole = Some(word).filter(|word| !word.starts_with('-') && !word.is_empty());
    whole.into_iter().chain(whole.and(first)).chain(short).chain(inner)
}

/// True if a command reads or keeps all below its folders.
fn is_deep(name: &str, options: &[&str], argv: &[String], valued: &[&str]) -> bool {
    // `tar cf x.tar y`: the letters come without a dash.
    let letters = argv.get(1).filter(|word| name.ends_with("tar") && !word.contains(['-', '.', '/']));
    let arguments = Arguments::parse(argv.get(1..).unwrap_or_default(), valued);
    options == ["*"]
        || options.iter().any(|option| arguments.has_one(option, false))
        || letters.is_some_and(|letters| letters.contains(['c', 'r']))
}

/// The words of a command by which it may read.
fn read(name: &str, argv: &[String], valued: &[&str]) -> Vec<String> {
    let words = argv.get(1..).unwrap_or_default();
    if name.ends_with("tar") {
        let arguments = Arguments::parse(words, &["-C", "--directory", "-f", "--file", "-X", "--exclude", "-T"]);
        let folders = arguments.values("-C").chain(arguments.values("--directory"));
        let folder = folders.fold(".".to_owned(), |at, next| place::below(&at, next));
        return arguments.operands.iter().map(|word| place::below(&folder, word)).collect();
    }
    let mut words = words.to_vec();
    let operands = Arguments::parse(&words, valued).operands.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    if let [_, .., copy] = operands.as_slice()
        && COPIERS.contains(&name)
    {
        words.retain(|word| word != copy);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(
            SHOWERS.is_sorted()
                && COPIERS.is_sorted()
                && SEARCHERS.is_sorted()
                && DEEP.is_sorted_by_key(|(name, _)| name)
        );
    }

    #[test]
    fn paths_are_found_in_every_word_that_may_hold_one() {
        for (word, expected) in [
            ("/a", &["/a"][..]),
            ("-I/a", &["/a"]),
            ("--from=/a", &["/a"]),
            ("if=~/a", &["if=~/a", "~/a"]),
            ("-v", &[]),
            ("/a:/b:ro", &["/a:/b:ro", "/a", "/b"]),
            ("f=@$HOME/a", &["f=@$HOME/a", "$HOME/a"]),
            ("a b", &["a b"]),
        ] {
            assert_eq!(parts(word).collect::<Vec<_>>(), expected, "{word}");
        }
    }
}
