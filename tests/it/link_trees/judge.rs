//! Finds every link by the mark of its maker, resolves it, and judges a repair by the place that the link was made for.

use std::collections::{BTreeMap, BTreeSet};

use super::maker::{Link, World};
use crate::support::site::Tree;

/// A link in a tree.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) number: usize,
    pub(super) file: String,
    pub(super) written: String,
    pub(super) fate: Fate,
}

/// The right treatment of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It leads somewhere and stays.
    Good,
    /// It is broken, and its place is still there.
    OneRight,
    /// It is broken, and its place is gone.
    Hopeless,
}

/// The numbers of all trees.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) good: u64,
    pub(super) one_right: u64,
    pub(super) repaired: u64,
    pub(super) hopeless: u64,
    pub(super) missed: Vec<String>,
}

/// A place: the number of a document, and of a heading in it.
type Place = (usize, Option<usize>);

/// All links of a tree, with their fates.
pub(super) fn links(world: &World, tree: &Tree) -> Vec<Found> {
    let mut found = Vec::new();
    for document in world.documents.iter().filter(|document| !document.is_gone) {
        let text = text(tree, &document.path);
        for link in &document.links {
            let written = written(&text, link.number).unwrap_or_else(|| panic!("L{} is in {text}", link.number));
            let target = &world.documents[link.target];
            let is_gone = target.is_gone || link.heading.is_some_and(|heading| target.headings[heading].is_gone);
            let fate = match exists(world, tree, &document.path, &written) {
                true => Fate::Good,
                false if is_gone => Fate::Hopeless,
                false => Fate::OneRight,
            };
            found.push(Found { number: link.number, file: document.path.clone(), written, fate });
        }
    }
    found
}

/// Judges a repaired tree.
pub(super) fn judged(
    seed: u64,
    world: &World,
    (links, listed): (&[Found], &[(String, String)]),
    (before, after): (&Tree, &Tree),
    sum: &mut Sum,
) {
    let listed: BTreeSet<(&str, &str)> = listed.iter().map(|(file, link)| (file.as_str(), link.as_str())).collect();
    for found in links {
        let now = written(&text(after, &found.file), found.number).expect("a link stays");
        let is_same = now == found.written;
        let is_listed = || listed.contains(&(found.file.as_str(), found.written.as_str()));
        match found.fate {
            Fate::Good => {
                assert!(is_same, "seed {seed}: a right link was touched: {found:?} is now {now}");
                sum.good += 1;
            }
            Fate::Hopeless => {
                let is_right = is_same || is_its_folder(world, after, found, &now);
                assert!(is_right, "seed {seed}: a repair was guessed: {found:?} is now {now}");
                assert!(!is_same || is_listed(), "seed {seed}: a broken link is not listed: {found:?} in {listed:?}");
                sum.hopeless += 1;
            }
            Fate::OneRight => {
                sum.one_right += 1;
                if is_same {
                    assert!(is_listed(), "seed {seed}: a broken link is not listed: {found:?} in {listed:?}");
                    sum.missed.push(format!("seed {seed}: {found:?}"));
                    continue;
                }
                let link = link(world, found);
                let place = place(world, after, &found.file, &now);
                assert_eq!(place, Some((link.target, link.heading)), "seed {seed}: {found:?} is now {now}");
                sum.repaired += 1;
            }
        }
    }
    rest_is_same(seed, links, before, after);
}

fn link<'a>(world: &'a World, found: &Found) -> &'a Link {
    let mut links = world.documents.iter().flat_map(|document| &document.links);
    links.find(|link| link.number == found.number).expect("it was made")
}

/// True if a destination leads to the folder of a page that is gone, as the link of a file that moved did.
fn is_its_folder(world: &World, tree: &Tree, found: &Found, now: &str) -> bool {
    let page = &world.documents[link(world, found).target];
    let folder = page.path.strip_suffix("README.md").filter(|_| page.is_gone);
    let reached = target(world.root, tree, &found.file, now);
    folder.is_some_and(|folder| reached == Some((folder.trim_end_matches('/').to_owned(), None)))
}

/// Outside of the links' destinations every byte is the same.
fn rest_is_same(seed: u64, links: &[Found], before: &Tree, after: &Tree) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "seed {seed}");
    let mut by_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for found in links {
        by_file.entry(&found.file).or_default().push(found.number);
    }
    for path in before.keys() {
        let blank = |tree: &Tree| {
            let mut rest = text(tree, path);
            for number in by_file.get(path.as_str()).into_iter().flatten() {
                let range = range(&rest, *number).expect("a link stays");
                rest.replace_range(range, "");
            }
            rest
        };
        assert_eq!(blank(before), blank(after), "seed {seed}: {path} differs outside of its links");
    }
}

fn text(tree: &Tree, path: &str) -> String {
    tree.get(path).map(|(_, _, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

fn written(text: &str, number: usize) -> Option<String> {
    let written = text.get(range(text, number)?)?;
    Some(written.trim_start_matches('<').trim_end_matches('>').to_owned())
}

/// The place of a link's destination, by the mark next to it.
fn range(text: &str, number: usize) -> Option<std::ops::Range<usize>> {
    for (before, ends) in [(format!("[L{number}]("), &[')', ' '][..]), (format!("[L{number}]: "), &['\n'][..])] {
        let Some(at) = text.find(&before) else { continue };
        let start = at + before.len();
        let rest = &text[start..];
        let length = if rest.starts_with('<') { rest.find('>')? + 1 } else { rest.find(ends)? };
        return Some(start..start + length);
    }
    let end = text.find(&format!(">L{number}</a>"))? - 1;
    let quote = text[..end].rfind(['"', '\''])?;
    Some(quote + 1..end)
}

/// The file that a destination leads to, and its anchor.
fn target(root: &str, tree: &Tree, file: &str, written: &str) -> Option<(String, Option<String>)> {
    let written = written.replace("&amp;", "&");
    let (path, anchor) =
        written.split_once('#').map_or((written.as_str(), None), |(path, anchor)| (path, Some(anchor)));
    let path = path.split('?').next().unwrap_or_default();
    let anchor = anchor.map(decoded).filter(|anchor| !anchor.is_empty());
    if path.is_empty() {
        return Some((file.to_owned(), anchor));
    }
    let path = decoded(path);
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = if path.starts_with('/') { root } else { folder }.split('/').collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "" | "." => {}
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    let whole = parts.join("/");
    let inside = if whole.is_empty() { "README.md".to_owned() } else { format!("{whole}/README.md") };
    let folder = if whole.is_empty() { String::new() } else { format!("{whole}/") };
    let is_folder = tree.keys().any(|key| key.starts_with(&folder));
    let exact = tree.contains_key(&whole) && !path.ends_with('/');
    match () {
        () if exact => Some((whole, anchor)),
        () if is_folder => Some((if tree.contains_key(&inside) { inside } else { whole }, anchor)),
        () => Some((format!("{whole}.md"), anchor)).filter(|(path, _)| tree.contains_key(path)),
    }
}

/// The place that a destination leads to.
fn place(world: &World, tree: &Tree, file: &str, written: &str) -> Option<Place> {
    let (path, anchor) = target(world.root, tree, file, written)?;
    let at = world.documents.iter().position(|document| !document.is_gone && document.path == path)?;
    let heading = match anchor {
        None => None,
        Some(anchor) => {
            let is_it = |heading: &super::maker::Heading| !heading.is_gone && heading.anchor == anchor;
            Some(world.documents[at].headings.iter().position(is_it)?)
        }
    };
    Some((at, heading))
}

/// True if a destination leads to anything that is there.
fn exists(world: &World, tree: &Tree, file: &str, written: &str) -> bool {
    let Some((path, anchor)) = target(world.root, tree, file, written) else { return false };
    let has_document = world.documents.iter().any(|document| !document.is_gone && document.path == path);
    let is_there = has_document
        || tree.contains_key(&path)
        || path.is_empty()
        || tree.keys().any(|key| key.starts_with(&format!("{path}/")));
    let without_extension = path.ends_with(".md") && !world.leaves_extensions_out() && !names(written, &path);
    is_there && !without_extension && (anchor.is_none() || place(world, tree, file, written).is_some())
}

/// True if a destination names the file, or its folder.
fn names(written: &str, path: &str) -> bool {
    let bare = decoded(written.split(['#', '?']).next().unwrap_or_default());
    bare.is_empty() || bare.ends_with(".md") || path.ends_with("README.md")
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (bytes[at], code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
