//! Breaks links in ways whose right repair is known, and in ways that have none.
#![expect(clippy::disallowed_methods, reason = "tests build trees")]

use std::fs;

use super::maker::{Heading, World, index, join, word};
use crate::support::{chance::Chance, site::Site};

/// The documents that a kind of fault has taken, so that no document has two.
struct Taken(Vec<bool>);

impl Taken {
    fn next(&mut self, chance: &mut Chance) -> Option<usize> {
        let free: Vec<usize> = (0..self.0.len()).filter(|at| !self.0[*at]).collect();
        let at = *free.get(index(chance, free.len().max(1)))?;
        self.0[at] = true;
        Some(at)
    }
}

/// Breaks links: files that were moved and committed, or only moved; removed and doubled files; headings; spellings.
pub(super) fn inject(world: &mut World, site: &Site, chance: &mut Chance) {
    let mut taken = Taken(vec![false; world.documents.len()]);
    let mut commits = Vec::new();
    for _ in 0..=chance.below(2) {
        commits.extend(taken.next(chance).map(|at| move_file(world, site, at, chance)));
        site.commit();
    }
    if let Some(at) = commits.first().copied().filter(|_| chance.below(2) == 0) {
        // A chain of renames.
        move_file(world, site, at, chance);
        site.commit();
    }
    if let Some(at) = taken.next(chance) {
        remove(world, site, at);
        site.commit();
    }
    if let Some(at) = taken.next(chance) {
        double(world, site, at, chance);
        site.commit();
    }
    if let Some(at) = taken.next(chance) {
        retitle(world, at);
        world.write(site);
        site.commit();
    }
    respell(world, &taken, chance);
    world.write(site);
    site.commit();
    // The last one is moved and not committed.
    if let Some(at) = taken.next(chance) {
        move_file(world, site, at, chance);
    }
}

/// Moves a document to another folder or name, as it stands.
fn move_file(world: &mut World, site: &Site, at: usize, chance: &mut Chance) -> usize {
    let name = world.documents[at].path.rsplit('/').next().unwrap_or_default().to_owned();
    let name = if chance.below(2) == 0 && name != "README.md" { name } else { format!("{}.md", word(chance)) };
    let to = join(&join(world.root, &format!("moved/{}", word(chance))), &name);
    let place = site.path(&to);
    fs::create_dir_all(place.parent().expect("it has one")).expect("a folder");
    fs::rename(site.path(&world.documents[at].path), place).expect("a move");
    world.documents[at].path = to;
    world.documents[at].has_moved = true;
    at
}

fn remove(world: &mut World, site: &Site, at: usize) {
    world.documents[at].is_gone = true;
    fs::remove_file(site.path(&world.documents[at].path)).expect("it exists");
}

/// Removes a document, and adds two others of its name.
fn double(world: &mut World, site: &Site, at: usize, chance: &mut Chance) {
    let name = world.documents[at].path.rsplit('/').next().unwrap_or_default().to_owned();
    remove(world, site, at);
    for folder in ["one", "two"] {
        let text: String = (0..20).map(|_| format!("{} {}\n\n", word(chance), word(chance))).collect();
        site.write(&join(&join(world.root, folder), &name), text);
    }
}

/// Changes one heading a little, and removes another.
fn retitle(world: &mut World, at: usize) {
    let headings = &mut world.documents[at].headings;
    let text = headings[4].text.replace("server", "servers");
    headings[4] = Heading::new(&text, None);
    headings[5].is_gone = true;
}

/// Misspells a destination in each document that is as it was and leads to such a one.
fn respell(world: &mut World, taken: &Taken, chance: &mut Chance) {
    let is_plain: Vec<bool> = taken.0.iter().map(|taken| !taken).collect();
    for from in 0..world.documents.len() {
        let links = &world.documents[from].links;
        let plain =
            links.iter().position(|link| is_plain[link.target] && is_plain[from] && !link.written.starts_with('#'));
        let Some(at) = plain else { continue };
        let link = &mut world.documents[from].links[at];
        let (path, rest) = link.written.split_at(link.written.find(['#', '?']).unwrap_or(link.written.len()));
        let name = path.rfind('/').map_or(0, |at| at + 1);
        let written = match chance.below(3) {
            0 if path.contains("%20") => format!("{}{rest}", path.replace("%20", "%2520")),
            // A backslash at the end would escape the mark behind it.
            1 if path.contains('/')
                && !path.starts_with(['/', '.'])
                && !path.ends_with('/')
                && link.form != 3
                && path.is_ascii() =>
            {
                format!("{}{rest}", path.replacen('/', "\\", 1))
            }
            _ => format!("{}{}{rest}", &path[..name], swapped(&path[name..])),
        };
        link.written = written;
    }
}

/// The first letter in the other case.
fn swapped(name: &str) -> String {
    let Some(first) = name.chars().next().filter(char::is_ascii_alphabetic) else { return name.to_owned() };
    let other = if first.is_ascii_lowercase() { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() };
    format!("{other}{}", &name[1..])
}
