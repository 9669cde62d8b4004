//! The files that a copy, a link or an archive brings into a folder, judged by the names under which they arrive.
//!
//! Only folders that hold guarded files are looked at, and only then are the sources listed. An unknown source is asked about.

use std::path::Path;

use super::{
    brought::{Brought, FLAT, Source, is_open, last_name},
    command::{Disk, Listed},
    guarded::{NAMES, guarded, is_in_store},
    place::Place,
    walk::Walk,
};

/// The number of folders of one line that are listed.
const LISTINGS: u32 = 256;

/// The most paths that a pattern may stand for.
const MATCHES: usize = 64;

/// The deepest folder of a source that is listed.
const DEPTH: u32 = 16;

/// The outcome of a look at a source, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Arrival {
    Harmless,
    Unknown,
    Guarded(&'static str),
}

/// The way in which a source arrives.
#[derive(Clone, Copy)]
struct Way {
    disk: Disk,
    /// As links: only the names count.
    links: bool,
    /// With everything below.
    is_deep: bool,
}

impl Walk<'_> {
    /// Judges the things that a command brings into a folder.
    pub(super) fn land(&mut self, brought: &Brought, argv: &[String]) {
        let Some(disk) = self.stand.disk else {
            let into = brought.into.trim_matches('"').trim_end_matches('/');
            if into.ends_with("/.local/state") {
                self.hit("guard.brought", argv);
            }
            return;
        };
        let Some(into) = self.located(&brought.into, disk) else { return };
        let is_folder =
            !brought.is_exact && (brought.into.ends_with('/') || matches!(self.list(&into, disk), Listed::Folder(_)));
        if !self.holds_guarded(&into, disk) {
            return;
        }
        let way = Way { disk, links: brought.links, is_deep: brought.is_deep };
        let mut arrival = Arrival::Harmless;
        for source in &brought.from {
            let one = match source {
                Source::Unknown => Arrival::Unknown,
                Source::Archive(path, strip) => self.members(path, *strip, &into, disk),
                Source::Named(name) if is_folder => self.named(&format!("{}/{name}", into.trim_end_matches('/')), way),
                Source::Named(_) => self.named(&into, way),
                Source::Contents(path) => self.contents(path, &into, way),
                Source::Entry(path) if is_folder => self.entry(path, &into, way),
                Source::Entry(path) => self.renamed_to(path, &into, way),
            };
            arrival = arrival.max(one);
        }
        match arrival {
            Arrival::Harmless => {}
            Arrival::Unknown => self.hit("guard.brought", argv),
            Arrival::Guarded(id) => self.hit(id, argv),
        }
    }

    /// A folder above that of a person's trust, which a command moves away.
    pub(super) fn moves_above(&mut self, paths: &[String], argv: &[String]) {
        let Some(disk) = self.stand.disk else { return };
        let above = |path: &String| self.located(path, disk).is_some_and(|path| is_above_store(&path, disk));
        if paths.iter().any(above) {
            self.hit("guard.policy", argv);
        }
    }

    /// The absolute path to which a word leads; none if only the run tells.
    pub(super) fn located(&self, word: &str, disk: Disk) -> Option<String> {
        let root = self.stand.root.as_deref()?;
        let word = word.trim_matches('"');
        let path = self.whole(&self.at_home(word, disk))?;
        (!is_open(&path)).then(|| (disk.real)(root, &path)).flatten()
    }

    /// A word with the home that it, or the folder of the command, begins with.
    fn at_home(&self, word: &str, disk: Disk) -> String {
        let relative = !word.starts_with(['/', '~', '$', '`']);
        let folder = self.folder().filter(|_| relative).and_then(|folder| expand_home(folder, disk));
        match folder {
            Some(folder) => format!("{folder}/{word}"),
            None => expand_home(word, disk).unwrap_or_else(|| word.to_owned()),
        }
    }

    /// True if a folder holds guarded files, or leads to one that does.
    fn holds_guarded(&mut self, folder: &str, disk: Disk) -> bool {
        if self.leads(folder, disk) {
            // Everybody unpacks there.
            return !matches!(folder, "/tmp" | "/var/tmp");
        }
        let inner = self.stand.root.as_deref().and_then(|root| folder.strip_prefix(root)).map(str::to_owned);
        let Some(inner) = inner.filter(|inner| Place::of(inner.trim_start_matches('/')).is_kept()) else {
            return false;
        };
        let named = guarded(inner.trim_start_matches('/')).is_some();
        named
            || matches!(self.list(folder, disk), Listed::Folder(names) if names.iter().any(|name| is_guarded_name(name)))
    }

    /// True if a path is that of the workspace, of a home or of the folder of a person's trust, or above one of them.
    fn leads(&self, path: &str, disk: Disk) -> bool {
        let is_above = |inner: &str| Path::new(inner).starts_with(path);
        self.stand.root.as_deref().is_some_and(is_above)
            || (disk.variable)("HOME").is_some_and(|home| is_above(&home))
            || is_above_store(path, disk)
            || is_in_store(path)
    }

    /// The rule that guards a path at which something arrives.
    fn arrives(&self, path: &str, way: Way) -> Option<&'static str> {
        if is_in_store(path) || way.links && is_above_store(path, way.disk) {
            return Some("guard.policy");
        }
        let below = |folder: &str| path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
        let own = self.stand.root.as_deref().and_then(below);
        let inner = own.or_else(|| below(&(way.disk.variable)("HOME")?))?;
        guarded(&inner)
    }

    /// The entries of a folder, within the bounds of the line.
    fn list(&mut self, folder: &str, disk: Disk) -> Listed {
        self.listings += 1;
        if self.listings > LISTINGS { Listed::Unknown } else { (disk.list)(folder) }
    }

    /// A thing that keeps its name, or all that match a pattern.
    fn entry(&mut self, path: &str, into: &str, way: Way) -> Arrival {
        let name = last_name(path);
        if is_open(name) && !may_match_guarded(name, way.is_deep) {
            return Arrival::Harmless;
        }
        let there = format!("{}/{name}", into.trim_end_matches('/'));
        if !is_open(name)
            && self.arrives(&there, way).is_none()
            && !(way.is_deep && self.is_on_the_way(&there, way.disk))
        {
            return Arrival::Harmless;
        }
        let Some(found) = self.matching(path, way.disk) else { return Arrival::Unknown };
        let mut arrival = Arrival::Harmless;
        for from in &found {
            let name = from.rsplit('/').next().unwrap_or_default();
            let there = format!("{}/{name}", into.trim_end_matches('/'));
            arrival = arrival.max(self.merge(from, &there, way, 0));
        }
        arrival
    }

    /// A thing that is not on the disk, at the path where it arrives. As a folder it may bring anything.
    fn named(&self, there: &str, way: Way) -> Arrival {
        match self.arrives(there, way) {
            Some(id) => Arrival::Guarded(id),
            None if self.is_on_the_way(there, way.disk) => Arrival::Unknown,
            None => Arrival::Harmless,
        }
    }

    fn contents(&mut self, path: &str, into: &str, way: Way) -> Arrival {
        let Some(found) = self.matching(path, way.disk) else { return Arrival::Unknown };
        let mut arrival = Arrival::Harmless;
        for from in &found {
            arrival = arrival.max(self.merge(from, into, way, 0));
        }
        arrival
    }

    /// A thing that gets a new name, which is no folder yet.
    fn renamed_to(&mut self, path: &str, to: &str, way: Way) -> Arrival {
        match self.arrives(to, way) {
            Some(id) => Arrival::Guarded(id),
            None if way.is_deep && !way.links => self.contents(path, to, way),
            None => Arrival::Harmless,
        }
    }

    /// Compares a source with the place where it arrives, as far as that leads to guarded files.
    fn merge(&mut self, from: &str, to: &str, way: Way, depth: u32) -> Arrival {
        let arrived = self.arrives(to, way).filter(|_| depth > 0 || !self.leads(to, way.disk));
        let listed = if way.links { Listed::File } else { self.list(from, way.disk) };
        match (listed, arrived) {
            (Listed::Missing, _) if !self.acted => Arrival::Harmless,
            (Listed::Missing | Listed::Unknown, _) => Arrival::Unknown,
            (Listed::File, Some(id)) => Arrival::Guarded(id),
            (Listed::File, None) => Arrival::Harmless,
            (Listed::Folder(_), _) if depth > 0 && !way.is_deep => Arrival::Harmless,
            (Listed::Folder(_), Some(id)) => Arrival::Guarded(id),
            (Listed::Folder(_), None) if depth >= DEPTH => Arrival::Unknown,
            (Listed::Folder(_), None) if self.acted => Arrival::Unknown,
            (Listed::Folder(names), None) => {
                let mut arrival = Arrival::Harmless;
                for name in names {
                    let name = name.trim_end_matches('/');
                    let there = format!("{}/{name}", to.trim_end_matches('/'));
                    let inner = format!("{}/{name}", from.trim_end_matches('/'));
                    if let Some(id) = self.arrives(&there, way) {
                        return Arrival::Guarded(id);
                    }
                    if self.is_on_the_way(&there, way.disk) {
                        arrival = arrival.max(self.merge(&inner, &there, way, depth + 1));
                    }
                }
                arrival
            }
        }
    }

    /// True if guarded files lie somewhere below a path.
    fn is_on_the_way(&self, path: &str, disk: Disk) -> bool {
        self.leads(path, disk) || self.stand.root.as_deref().is_some_and(|root| path == format!("{root}/.github"))
    }

    /// The members of an archive.
    fn members(&mut self, archive: &str, strip: usize, into: &str, disk: Disk) -> Arrival {
        let Some(path) = self.located(archive, disk) else { return Arrival::Unknown };
        if self.acted {
            return Arrival::Unknown;
        }
        if matches!((disk.list)(&path), Listed::Missing) {
            return Arrival::Harmless;
        }
        let Some(members) = (disk.members)(&path) else { return Arrival::Unknown };
        let mut arrival = Arrival::Harmless;
        for member in members {
            let names: Vec<&str> = member.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
            let cut = if strip == FLAT { names.len().saturating_sub(1) } else { strip.min(names.len()) };
            let names = &names[cut..];
            if names.contains(&"..") || member.starts_with('/') {
                return Arrival::Unknown;
            }
            let way = Way { disk, links: false, is_deep: true };
            if let Some(id) = self.arrives(&format!("{}/{}", into.trim_end_matches('/'), names.join("/")), way) {
                arrival = arrival.max(Arrival::Guarded(id));
            }
        }
        arrival
    }

    /// The paths for which a pattern stands; none if only the run tells them.
    fn matching(&mut self, word: &str, disk: Disk) -> Option<Vec<String>> {
        let word = word.trim_matches('"');
        let path = self.whole(&self.at_home(word, disk))?;
        if path.contains(['[', '{', '$', '`', '(']) {
            return None;
        }
        let root = self.stand.root.clone()?;
        let mut found = vec![if path.starts_with('/') { "/".to_owned() } else { root }];
        for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
            let mut next = Vec::new();
            for folder in &found {
                if !name.contains(['*', '?']) {
                    next.extend((disk.real)(folder, name));
                    continue;
                }
                match self.list(folder, disk) {
                    Listed::Folder(names) => {
                        let names = names.iter().map(|name| name.trim_end_matches('/'));
                        let fits = |one: &&str| {
                            (self.dotted || name.starts_with('.') || !one.starts_with('.')) && fits(name, one)
                        };
                        next.extend(names.filter(fits).map(|one| format!("{}/{one}", folder.trim_end_matches('/'))));
                    }
                    Listed::Missing | Listed::File if !self.acted => {}
                    Listed::Missing | Listed::File | Listed::Unknown => return None,
                }
            }
            let is_seen = !self.acted || !name.contains(['*', '?']);
            found = Some(next).filter(|next| next.len() <= MATCHES && is_seen)?;
        }
        Some(found)
    }
}

/// True if an absolute path is that of a person's trust, or of a folder above it.
fn is_above_store(path: &str, disk: Disk) -> bool {
    store(disk).is_some_and(|store| Path::new(&store).starts_with(path))
}

/// The folder of a person's trust.
pub(super) fn store(disk: Disk) -> Option<String> {
    let state =
        (disk.variable)("XDG_STATE_HOME").or_else(|| Some(format!("{}/.local/state", (disk.variable)("HOME")?)));
    state.map(|state| format!("{state}/nrv/trusted"))
}

/// A word whose beginning names a home or the folder of states.
pub(super) fn expand_home(word: &str, disk: Disk) -> Option<String> {
    let starts = [
        ("~", "HOME"),
        ("$HOME", "HOME"),
        ("${HOME}", "HOME"),
        ("$XDG_STATE_HOME", "XDG_STATE_HOME"),
        ("${XDG_STATE_HOME}", "XDG_STATE_HOME"),
        ("${XDG_STATE_HOME:-$HOME/.local/state}", "XDG_STATE_HOME"),
    ];
    starts.iter().find_map(|(start, name)| {
        let rest = word.strip_prefix(start).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        Some(format!("{}{rest}", (disk.variable)(name)?))
    })
}

fn is_guarded_name(name: &str) -> bool {
    let name = name.trim_end_matches('/');
    NAMES.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// True if a part of a word that only the run tells may be a guarded name, or that of a whole folder.
fn may_match_guarded(name: &str, is_deep: bool) -> bool {
    let mut pattern = String::new();
    let mut open = 0_usize;
    for character in name.chars() {
        match character {
            '[' | '{' | '(' => open += 1,
            ']' | '}' | ')' => {
                open = open.saturating_sub(1);
                pattern.push('*');
            }
            '$' | '`' => {
                pattern.push('*');
                // The name of a variable follows.
                break;
            }
            '?' => pattern.push('*'),
            _ if open > 0 => {}
            character => pattern.push(character.to_ascii_lowercase()),
        }
    }
    let tail: String = name.chars().rev().take_while(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
    let tail: String = tail.chars().rev().skip_while(|c| *c != '.').collect();
    if name.contains(['$', '`']) {
        pattern = format!("{}*{tail}", pattern.trim_end_matches('*'));
    }
    if open > 0 {
        pattern.push('*');
    }
    let lower = pattern.to_ascii_lowercase();
    let names = NAMES.iter().map(|(known, _)| *known).chain([".github"]);
    names.into_iter().any(|known| fits(&lower, known)) || is_deep && fits(&lower, "state")
}

/// True if a name fits a pattern of `*` and `?`; a set of characters may be any one.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (mut plain, mut rest) = (String::with_capacity(pattern.len()), pattern);
    // `[]x]` holds its first bracket.
    while let Some((before, set)) = rest.split_once('[') {
        let Some(end) = set.char_indices().skip(1).find(|(_, one)| *one == ']') else { break };
        plain.extend([before, "?"]);
        rest = &set[end.0 + 1..];
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (plain.chars().chain(rest.chars()).collect(), name.chars().collect());
    let (mut at, mut star) = (0, None);
    let mut from = 0;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(one) if *one == '?' || *one == name[from] => {
                at += 1;
                from += 1;
            }
            _ => match star {
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    at = place + 1;
                    from = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|one| *one == '*')
}
