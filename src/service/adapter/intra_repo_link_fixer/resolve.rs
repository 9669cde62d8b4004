//! Resolves links: the target of a path, and the judgement of a fragment. The rules are those of the page on link rules.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    page::Kind,
    params::Params,
    reference::{Reference, decoded, folder, joined, name},
    roots::Roots,
    tree::Tree,
};
use base::error::{Code, Error};

/// The files whose anchors a folder has where no parameter names one.
const FRONT_PAGES: &[&str] = &["README.md", "index.md", "_index.md", "index.html"];

/// Beginnings of the anchors of footnotes, which depend on the generator.
const FOOTNOTES: &[&str] = &["fn-", "fnref-", "fn:", "fnref:", "footnote-", "user-content-fn"];

/// A defect of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    /// No file or folder has the path.
    File,
    /// The target has no such anchor.
    Anchor,
    /// Some anchors of the target are unknown, and this one may be among them.
    Unsure,
    /// The target has fewer lines.
    Line,
    /// The path leads out of the workspace.
    Outside,
    /// Git ignores the target.
    Ignored,
    /// The target may exist in another copy of the tree.
    Unknown,
}

impl Break {
    /// True if the link leads nowhere. The others are told only: they may be right in another copy of the tree.
    pub(super) fn is_break(self) -> bool {
        match self {
            Break::File | Break::Outside | Break::Anchor => true,
            Break::Line | Break::Ignored | Break::Unknown | Break::Unsure => false,
        }
    }

    /// Its name in findings.
    pub(super) fn name(self) -> &'static str {
        match self {
            Break::File => "file",
            Break::Anchor => "anchor",
            Break::Unsure => "unsure",
            Break::Line => "line",
            Break::Outside => "outside",
            Break::Ignored => "ignored",
            Break::Unknown => "unknown",
        }
    }
}

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The file or folder; empty for the workspace.
    pub(super) entry: String,
    /// The file that a fragment leads into.
    pub(super) page: Page,
}

/// The file that a fragment leads into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// This file.
    File(String),
    /// None: a folder without a page.
    None,
    /// Unknown: it is behind a symbolic link.
    Unknown,
    /// Unknown: another copy of the tree may have it.
    Absent,
}

/// The contents of a target that fragments name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The known anchors of a page; none if it is not read.
    pub(super) anchors: Option<BTreeSet<String>>,
    /// The reason that a page may have further anchors.
    pub(super) doubt: Option<String>,
    /// True if the anchors also count with `user-content-` before them.
    pub(super) has_prefix: bool,
    /// The number of lines of a text; none if it is not one.
    pub(super) lines: Option<u64>,
    /// True if a page names its own address.
    pub(super) has_own_address: bool,
}

/// Reads the facts of a file; the flag asks for its lines.
pub(super) type Look<'a> = &'a (dyn Fn(&str, bool) -> Result<Arc<Facts>, Error> + Sync);

/// Tells of a path that the tree does not list: true for a folder, false for another entry, none if nothing is there.
pub(super) type OnDisk<'a> = &'a (dyn Fn(&str) -> Option<bool> + Sync);

/// True if an ignore file covers a missing path.
pub(super) type Covers<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// True if Git tracked a file at a path, which moved from there.
pub(super) type HasMoved<'a> = &'a (dyn Fn(&str) -> bool + Sync);

/// True if a path led to a known file from a place that a file had before.
pub(super) type Led<'a> = &'a (dyn Fn(&str, &str) -> bool + Sync);

/// Reads the anchors that a page had in contents of these names, for those that can be read.
pub(super) type Earlier<'a> = &'a (dyn Fn(&str, &[String]) -> Result<Arc<Vec<BTreeSet<String>>>, Error> + Sync);

/// The tree, and the rules by which links lead to its files.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) tree: &'a Tree,
    pub(super) roots: &'a Roots,
    pub(super) params: &'a Params,
    pub(super) look: Look<'a>,
    pub(super) on_disk: OnDisk<'a>,
    pub(super) covers: Covers<'a>,
    pub(super) has_moved: HasMoved<'a>,
    pub(super) led: Led<'a>,
    pub(super) earlier: Earlier<'a>,
}

impl Rules<'_> {
    /// Checks the folders that the parameters name.
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |root: &&String| {
            joined("", root).is_none_or(|root| !self.tree.has_folder(&root) && self.tree.may_lack(&root).is_none())
        };
        match self.params.site_root.iter().find(wrong) {
            None => Ok(()),
            Some(root) => {
                Err(Error::new(Code::InvalidInput, format!("`{root}` in `params.site_root` is not a folder"))
                    .hint("give folders relative to the workspace's root, such as `docs`, or `.`"))
            }
        }
    }

    /// The target of a path in a file; the path as it is written. The flag tells that its site may read it from another address.
    pub(super) fn target(&self, file: &str, (path, is_by_address): (&str, bool)) -> Option<Target> {
        let path = decoded(path);
        if path.is_empty() {
            return Some(self.file(file.to_owned()));
        }
        let places = self.places(file, &path);
        let is_folder = path.ends_with('/');
        let fallback = || {
            let mut others = places.iter().flat_map(|place| self.roots.fallbacks(place));
            let is_whole = |found: &Target| !matches!(found.page, Page::Absent | Page::None);
            others.find_map(|place| self.at(&place, is_folder).filter(is_whole))
        };
        let found = places.iter().find_map(|place| self.at(place, is_folder));
        let absent =
            || places.iter().flat_map(|place| self.roots.fallbacks(place)).find_map(|it| self.at(&it, is_folder));
        match found {
            Some(Target { page: Page::Absent | Page::None, .. }) | None => {
                let addressed = || self.addressed(file, &path).filter(|_| is_by_address);
                fallback().or(found).or_else(addressed).or_else(absent)
            }
            Some(_) => found,
        }
    }

    /// The target of a path from the address of the page: that is a folder with its name. Addresses of pages are in lower case.
    fn addressed(&self, file: &str, path: &str) -> Option<Target> {
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let own = if matches!(name(stem), "index" | "_index" | "README") { folder(file) } else { stem };
        let is_rooted = path.starts_with('/');
        let places = self.places(file, path).into_iter().chain(joined(own, path).filter(|_| !is_rooted));
        let places: Vec<String> =
            places.flat_map(|place| ["", ".md", ".mdx"].map(|end| format!("{place}{end}"))).collect();
        let is_folder = path.ends_with('/');
        let at = |place: &String| self.at(place, is_folder && !place.ends_with(".md") && !place.ends_with(".mdx"));
        let is_page = !name(path.trim_end_matches('/')).contains('.');
        let folded = || {
            let alike = places.iter().flat_map(|place| self.tree.in_any_case(place).iter().map(move |it| (place, it)));
            let alike: BTreeSet<&String> =
                alike.filter(|(place, it)| it.to_lowercase() == **place).map(|(_, it)| it).collect();
            alike.into_iter().find_map(at).filter(|_| is_page)
        };
        places.iter().find_map(at).or_else(folded)
    }

    /// The paths beneath the workspace that a decoded path may mean, in order.
    pub(super) fn places(&self, file: &str, path: &str) -> Vec<String> {
        match path.starts_with('/') {
            true => self.params.site_root.iter().filter_map(|root| joined(root, path)).collect(),
            false => joined(folder(file), path).into_iter().collect(),
        }
    }

    /// The target at a path beneath the workspace.
    pub(super) fn at(&self, place: &str, ends_in_slash: bool) -> Option<Target> {
        let exact = || match place {
            _ if !ends_in_slash && self.tree.has_file(place) => Some(self.file(place.to_owned())),
            _ if self.tree.has_folder(place) => self.folder(place),
            _ if self.tree.is_below_link(place) || self.tree.is_link(place) => {
                Some(Target { entry: place.to_owned(), page: Page::Unknown })
            }
            _ => match (self.on_disk)(place) {
                Some(true) => self.folder(place),
                Some(false) if !ends_in_slash => Some(self.file(place.to_owned())),
                Some(false) | None => None,
            },
        };
        let others = self.spelled_otherwise(place);
        let otherwise = || others.iter().find(|path| self.has_file(path)).map(|path| self.file(path.clone()));
        let absent = || {
            let mut all = std::iter::once(place).chain(others.iter().map(String::as_str));
            let entry = all.find(|path| self.lacks(path).is_some())?.to_owned();
            Some(Target { entry, page: Page::Absent })
        };
        let has_moved = || self.tree.may_lack(place).is_none() && (self.covers)(place) && (self.has_moved)(place);
        exact().or_else(otherwise).or_else(|| if has_moved() { None } else { absent() })
    }

    /// The reason that a path, where nothing is, may exist in another copy of the tree.
    fn lacks(&self, place: &str) -> Option<&'static str> {
        let is_there = self.has_file(place) || self.tree.has_folder(place) || (self.on_disk)(place).is_some();
        let ignored = || (self.covers)(place).then_some("git ignores it");
        if is_there { None } else { self.tree.may_lack(place).or_else(ignored) }
    }

    /// The reason that a link to a target is not judged, because another copy of the tree may have the target or its page.
    pub(super) fn doubt(&self, target: &Target, fragment: Option<&str>) -> Option<String> {
        let Target { entry, page } = target;
        let fronts = || self.fronts(entry).into_iter().filter(|_| fragment.is_some_and(|it| !it.is_empty()));
        let mut places = std::iter::once(entry.clone()).chain(fronts()).filter(|_| *page == Page::Absent);
        places.find_map(|place| Some(format!("`{place}` may exist in another copy: {}", self.lacks(&place)?)))
    }

    /// True for a missing target that an ignore file covers, if the path led elsewhere before its file moved.
    pub(super) fn has_left(&self, file: &str, path: &str, target: &Target) -> bool {
        target.page == Page::Absent && self.tree.may_lack(&target.entry).is_none() && (self.led)(file, &decoded(path))
    }

    /// True if Git ignores a target, or does not know it.
    pub(super) fn is_ignored(&self, target: &Target) -> bool {
        let Target { entry, page } = target;
        let is_listed = self.tree.has_file(entry) || self.tree.has_folder(entry);
        !is_listed && !matches!(page, Page::Unknown | Page::Absent)
    }

    fn has_file(&self, path: &str) -> bool {
        self.tree.has_file(path) || (!self.tree.has_folder(path) && (self.on_disk)(path) == Some(false))
    }

    /// The files that a path may name without its extension, or with that of its page, in order.
    pub(super) fn spelled_otherwise(&self, place: &str) -> Vec<String> {
        if place.is_empty() {
            return Vec::new();
        }
        let extended = self.params.extensions.iter().map(|extension| format!("{place}.{extension}"));
        let stem = place.strip_suffix(".html");
        let sources =
            stem.into_iter().flat_map(|stem| self.params.html_from.iter().map(move |end| format!("{stem}.{end}")));
        extended.chain(sources).collect()
    }

    /// The pages that may stand for a folder, in order.
    pub(super) fn fronts(&self, place: &str) -> Vec<String> {
        let names: Vec<&str> = match &self.params.index {
            Some(names) if !names.is_empty() => names.iter().map(String::as_str).collect(),
            Some(_) | None => FRONT_PAGES.to_vec(),
        };
        names.into_iter().filter_map(|name| joined(place, name)).collect()
    }

    /// The files and folders that a path may name, in order, itself first.
    pub(super) fn variants(&self, place: &str) -> Vec<String> {
        [vec![place.to_owned()], self.fronts(place), self.spelled_otherwise(place)].concat()
    }

    fn file(&self, path: String) -> Target {
        let page = if self.tree.is_link(&path) { Page::Unknown } else { Page::File(path.clone()) };
        Target { entry: path, page }
    }

    fn folder(&self, path: &str) -> Option<Target> {
        let page = self.fronts(path).into_iter().find(|page| self.has_file(page) || self.lacks(page).is_some());
        let needs_page = self.params.index.as_ref().is_some_and(|names| !names.is_empty());
        let page = match page {
            Some(page) if self.has_file(&page) => self.file(page).page,
            Some(_) => Page::Absent,
            None if needs_page => return None,
            None => Page::None,
        };
        Some(Target { entry: path.to_owned(), page })
    }

    /// The judgement of a link's fragment in its target.
    pub(super) fn fragment(&self, reference: &Reference, target: &Target) -> Result<Option<Break>, Error> {
        match reference.fragment() {
            Some(fragment) => self.fragment_in(fragment, reference.is_plain(), target),
            None => Ok(None),
        }
    }

    /// The judgement of a fragment in a target; none if it is right.
    pub(super) fn fragment_in(&self, fragment: &str, is_plain: bool, target: &Target) -> Result<Option<Break>, Error> {
        if fragment.is_empty()
            || fragment.eq_ignore_ascii_case("top")
            || FOOTNOTES.iter().any(|start| fragment.starts_with(start))
        {
            return Ok(None);
        }
        let page = match &target.page {
            // A page that Git ignores may be another one elsewhere.
            Page::File(page) if !self.tree.has_file(page) => return Ok(None),
            Page::File(page) => page,
            Page::None => return Ok(Some(Break::Anchor)),
            Page::Unknown | Page::Absent => return Ok(None),
        };
        let is_page = Kind::of(page).is_some_and(|kind| kind == Kind::Html || !is_plain);
        if is_page {
            let facts = (self.look)(page, false)?;
            let is_known = |anchors: &BTreeSet<String>| names(anchors, facts.has_prefix, &decoded(fragment));
            return Ok(match facts.anchors.as_ref().is_none_or(is_known) {
                true => None,
                false if facts.doubt.is_some() => Some(Break::Unsure),
                false => Some(Break::Anchor),
            });
        }
        let Some(lines) = line_numbers(fragment) else { return Ok(None) };
        let facts = (self.look)(page, true)?;
        let is_there = |last: u64| lines.iter().all(|line| (1..=last).contains(line));
        Ok((!facts.lines.is_none_or(is_there)).then_some(Break::Line))
    }
}

fn names(anchors: &BTreeSet<String>, has_prefix: bool, fragment: &str) -> bool {
    let bare = fragment.strip_prefix("user-content-").filter(|_| has_prefix);
    anchors.contains(fragment) || bare.is_some_and(|bare| anchors.contains(bare))
}

/// The numbers in `L10`, `L10-L20`, `L10-20` or `L10C3-L20C8`; none for other fragments.
fn line_numbers(fragment: &str) -> Option<Vec<u64>> {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let line = |text: &str| match text.split_once('C') {
        Some((line, column)) => number(column).and_then(|_| number(line)),
        None => number(text),
    };
    let rest = fragment.strip_prefix('L')?;
    match rest.split_once('-') {
        None => Some(vec![line(rest)?]),
        Some((first, last)) => Some(vec![line(first)?, line(last.strip_prefix('L').unwrap_or(last))?]),
    }
}
