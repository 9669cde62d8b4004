//! The targets of links: files and folders that exist, and the anchors that they give.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, OnceLock, PoisonError},
};

use super::{
    super::params::{Dialect, Params},
    aim::{Aim, Local, aim, joined},
    document::{Document, Found, Manner},
    format::Format,
    root::{self, Surroundings, stand_ins},
    rules::Tool,
    site::{Entries, Sites},
};
use crate::Context;
use base::{error::Error, path::RepoPath};
use system::{
    git::{Renames, Trace},
    workspace::{IgnoreFiles, Kind},
};

/// File names that stand for their folder if the parameters name none.
const INDEXES: &[&str] = &["README.md", "index.md", "_index.md", "index.html"];
/// The longest file outside the target that is read for its anchors.
const LONGEST: u64 = 32 << 20;

/// The beginnings of fragments of footnotes, which renderers number by rules of their own.
const NOTES: &[&str] = &["fn-", "fnref-", "fn:", "fnref:", "footnote-", "user-content-fn"];

/// The check for cancellation, for all threads.
pub(super) type Steady<'a> = &'a (dyn Fn() -> Result<(), Error> + Sync);

/// Documents of the target, before and after the change; `before` is none if the file did not change.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) before: Option<Document>,
    pub(super) after: Document,
}

/// The moment at which a link is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    After,
}

/// The judgement of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It leads out of the tree.
    External,
    /// Another copy of the tree may have its target.
    Unknown,
    /// Its target and anchor exist.
    Right(Hit),
    /// Its target does not exist.
    NoTarget,
    /// Its target exists, and the anchor does not.
    NoAnchor(Hit),
    /// Its target exists, and the anchor may be one that is unknown.
    Unsure(Hit),
}

/// The presence of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    /// It is here.
    Here,
    /// It is a link, or lies below one, which is not followed.
    Linked,
    /// It is a folder whose page another copy of the tree may have.
    PageElsewhere,
    /// It is not here, and another copy of the tree may have it.
    Elsewhere,
}

/// A target that exists, or may exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    /// The file or folder; `""` is the workspace.
    pub(super) path: String,
    /// The file whose anchors count; none for a folder without one.
    pub(super) page: Option<String>,
    pub(super) sight: Sight,
}

/// The tree that links lead into.
pub(super) struct Tree<'a> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) params: &'a Params,
    pub(super) sites: &'a Sites,
    pub(super) files: BTreeMap<RepoPath, Read>,
    pub(super) pulse: Steady<'a>,
    /// Files that the record lists as skipped: the other reader may not know the anchors of a page of MDX among them.
    pub(super) skipped: BTreeSet<String>,
    /// The names of files that pages take in, which may be read from the places of those.
    pub(super) included: BTreeSet<String>,
    /// Files and links that git does not ignore.
    pub(super) entries: BTreeSet<String>,
    /// Files that git tracks and that a sparse checkout left out.
    pub(super) left_out: BTreeSet<String>,
    /// Folders of other repositories.
    submodules: BTreeSet<String>,
    ignored: IgnoreFiles,
    /// The folders of sites, each with its configuration.
    configured: BTreeMap<String, (Tool, String)>,
    /// The renames of the history, once they are asked for.
    renames: OnceLock<Result<Renames, Error>>,
    kinds: Mutex<BTreeMap<String, Option<Kind>>>,
    others: Mutex<BTreeMap<String, Option<Document>>>,
}

impl<'a> Tree<'a> {
    /// The tree with the documents of the target.
    pub(super) fn new(
        ctx: &'a Context<'a>,
        (params, sites, entries): (&'a Params, &'a Sites, Entries),
        files: BTreeMap<RepoPath, Read>,
        pulse: Steady<'a>,
    ) -> Self {
        let configured = root::sites(&entries.files);
        let ignored = ctx.view.workspace().ignore_files();
        let Entries { files: paths, links, left_out, submodules } = entries;
        let entries = paths.into_iter().chain(links).collect();
        let (kinds, others, renames) = (Mutex::default(), Mutex::default(), OnceLock::new());
        let (skipped, included) = (BTreeSet::new(), BTreeSet::new());
        Tree {
            ctx,
            params,
            sites,
            files,
            pulse,
            skipped,
            included,
            entries,
            left_out,
            submodules,
            ignored,
            configured,
            renames,
            kinds,
            others,
        }
    }

    /// Judges a destination in a file.
    pub(super) fn judge(&self, file: &RepoPath, found: &Found, when: When) -> Result<Judged, Error> {
        let Aim::Local(local) = aim(&found.url, file, &self.params.site_root) else { return Ok(Judged::External) };
        let hit = match self.hit_or_stand_in(&local)? {
            None if self.is_of_url(file, found, &local) => self.hit_of_url(file, &local)?,
            hit => hit,
        };
        let Some(hit) = hit.filter(|hit| !self.has_left(file, &local, hit)) else { return Ok(Judged::NoTarget) };
        let has_anchor = local.anchor.as_ref().is_some_and(|anchor| !anchor.is_empty());
        if hit.sight == Sight::Elsewhere || hit.sight == Sight::PageElsewhere && has_anchor {
            return Ok(Judged::Unknown);
        }
        let Some(anchor) = &local.anchor else { return Ok(Judged::Right(hit)) };
        Ok(match self.find_anchor(&hit, &local.query, anchor, when)? {
            Some(true) => Judged::Right(hit),
            Some(false) => Judged::NoAnchor(hit),
            None => Judged::Unsure(hit),
        })
    }

    /// True if a link is resolved against the URL of its page, which is not the path of the file.
    pub(super) fn is_of_url(&self, file: &RepoPath, found: &Found, local: &Local) -> bool {
        match Format::of(file) {
            _ if self.included.contains(file.file_name()) => true,
            Some(Format::Html) | None => found.is_raw,
            Some(_) => {
                let last = local.written.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                let extension = last.split_once('.').map(|(_, extension)| extension);
                let is_page = RepoPath::parse(last).is_ok_and(|path| Format::of(&path).is_some());
                self.sites.placed(file.as_str()).is_of_url((extension, is_page), found.is_raw)
            }
        }
    }

    /// The target of a link by the URL of its page: a folder named after the page, unless it is an index.
    pub(super) fn hit_of_url(&self, file: &RepoPath, local: &Local) -> Result<Option<Hit>, Error> {
        let (stem, _) = file.as_str().rsplit_once('.').unwrap_or((file.as_str(), ""));
        let (above, last) = stem.rsplit_once('/').unwrap_or(("", stem));
        let own = if ["index", "_index", "README"].contains(&last) { above } else { stem };
        let below = Some(&local.written).filter(|written| !written.starts_with('/'));
        let all = local.paths.iter().cloned().chain(below.and_then(|written| joined(own, written)));
        let all: Vec<String> = all.flat_map(|path| ["", ".md", ".mdx"].map(|end| format!("{path}{end}"))).collect();
        let mut hits = Vec::new();
        for path in &all {
            let is_folder = local.is_folder && !path.ends_with(".md") && !path.ends_with(".mdx");
            hits.extend(self.at(path, is_folder)?);
        }
        let last = local.written.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if hits.is_empty() && !last.contains('.') {
            // URLs of pages are in lower case.
            let folders = self.entries.iter().flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at]));
            let alike = folders.chain(self.entries.iter().map(String::as_str));
            let alike: BTreeSet<&str> = alike.filter(|path| all.contains(&path.to_lowercase())).collect();
            for path in alike {
                hits.extend(self.at(path, false)?);
            }
        }
        let seen = hits.iter().position(|hit| hit.sight != Sight::Elsewhere).unwrap_or_default();
        Ok((!hits.is_empty()).then(|| hits.swap_remove(seen)))
    }

    /// The target of a place, or the file that its site shows in its place.
    pub(super) fn hit_or_stand_in(&self, local: &Local) -> Result<Option<Hit>, Error> {
        let hit = self.hit(local)?;
        let is_whole = |hit: &Hit| hit.page.is_some() || hit.sight == Sight::Linked;
        if hit.as_ref().is_some_and(is_whole) {
            return Ok(hit);
        }
        for path in local.paths.iter().flat_map(|path| stand_ins(self, path)) {
            if let Some(other) = self.at(&path, local.is_folder)?.filter(is_whole) {
                return Ok(Some(other));
            }
        }
        if hit.is_some() {
            return Ok(hit);
        }
        for path in local.paths.iter().flat_map(|path| stand_ins(self, path)) {
            if let Some(other) = self.at(&path, local.is_folder)? {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// The target of a place, if it exists or may exist.
    pub(super) fn hit(&self, local: &Local) -> Result<Option<Hit>, Error> {
        for path in &local.paths {
            if let Some(hit) = self.at(path, local.is_folder)? {
                return Ok(Some(hit));
            }
        }
        Ok(None)
    }

    /// The target of a path, if it exists or may exist.
    pub(super) fn at(&self, path: &str, is_folder: bool) -> Result<Option<Hit>, Error> {
        let file = |path: String, is_linked: bool| {
            let sight = if is_linked { Sight::Linked } else { Sight::Here };
            Hit { page: Some(path.clone()), path, sight }
        };
        match self.kind(path)? {
            Some(Kind::Folder) => {
                if let Some(hit) = self.folder(path)? {
                    return Ok(Some(hit));
                }
            }
            Some(kind) if !is_folder || kind == Kind::Link => {
                return Ok(Some(file(path.to_owned(), kind == Kind::Link)));
            }
            Some(_) => {}
            None if self.is_below_link(path)? => return Ok(Some(file(path.to_owned(), true))),
            None => {}
        }
        let extended = if path.is_empty() { Vec::new() } else { self.extended(path) };
        for path in &extended {
            if let Some(kind) = self.kind(path)?.filter(|kind| *kind != Kind::Folder) {
                return Ok(Some(file(path.clone(), kind == Kind::Link)));
            }
        }
        if self.has_left_ignored(path) {
            return Ok(None);
        }
        for path in std::iter::once(path).chain(extended.iter().map(String::as_str)) {
            if self.is_elsewhere(path)? {
                return Ok(Some(Hit { path: path.to_owned(), page: None, sight: Sight::Elsewhere }));
            }
        }
        Ok(None)
    }

    /// True if a submodule is not checked out, so that the names in it are unknown.
    pub(super) fn lacks_submodule(&self) -> bool {
        self.submodules.iter().any(|path| !has_below(&self.entries, path))
    }

    /// True if nothing is at a path, and another copy of the tree may have something there: a file that this checkout left out,
    /// one of a submodule, or one that git ignores.
    fn is_elsewhere(&self, path: &str) -> Result<bool, Error> {
        if path.is_empty() || self.kind(path)?.is_some() {
            return Ok(false);
        }
        Ok(self.is_left_out(path) || self.is_ignored(path))
    }

    fn is_ignored(&self, path: &str) -> bool {
        RepoPath::parse(path).is_ok_and(|path| self.ignored.cover(&path))
    }

    /// True for a path below an ignore rule from which a tracked file moved.
    fn has_left_ignored(&self, path: &str) -> bool {
        !path.is_empty() && !self.is_left_out(path) && self.is_ignored(path) && self.has_moved(path)
    }

    /// True for a path that this checkout left out, in a submodule, or at which a site shows other files.
    fn is_left_out(&self, path: &str) -> bool {
        let mut parts = path.match_indices('/').map(|(at, _)| &path[..at]).chain([path]);
        has_below(&self.left_out, path)
            || parts.any(|part| self.left_out.contains(part) || self.submodules.contains(part))
            || self.sites.is_mounted(path)
    }

    /// True for a missing target that an ignore file covers, if the link led to a known file before its own file moved.
    fn has_left(&self, file: &RepoPath, local: &Local, hit: &Hit) -> bool {
        if hit.sight != Sight::Elsewhere || self.is_left_out(&hit.path) || local.written.starts_with('/') {
            return false;
        }
        let renamed = self.renames().map_or(&[][..], |renames| &renames.renamed);
        let origins = renamed.iter().filter(|it| it.to == *file && matches!(it.trace, Trace::Rename | Trace::Replaced));
        let mut origins = origins.filter(|it| root::versions(&it.from).eq(root::versions(file)));
        origins.any(|it| {
            let folder = it.from.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
            let place = joined(folder, &local.written);
            place.is_some_and(|place| self.entries.contains(&place) || self.has_moved(&place))
        })
    }

    /// True if Git tracked a file at a path, which moved from there.
    fn has_moved(&self, path: &str) -> bool {
        let renamed = self.renames().map_or(&[][..], |renames| &renames.renamed);
        let same = renamed[renamed.partition_point(|it| *it.from < *path)..].iter().take_while(|it| *it.from == *path);
        same.into_iter().any(|it| it.trace == Trace::Rename)
    }

    /// Reads the renames of the history, once.
    pub(super) fn renames(&self) -> Result<&Renames, Error> {
        self.renames.get_or_init(|| (self.ctx.renames)()).as_ref().map_err(Clone::clone)
    }

    fn folder(&self, path: &str) -> Result<Option<Hit>, Error> {
        for page in self.fronts(path) {
            if let Some(kind) = self.kind(&page)?.filter(|kind| *kind != Kind::Folder) {
                let sight = if kind == Kind::Link { Sight::Linked } else { Sight::Here };
                return Ok(Some(Hit { path: path.to_owned(), page: Some(page), sight }));
            }
            if self.is_elsewhere(&page)? {
                return Ok(Some(Hit { path: path.to_owned(), page: None, sight: Sight::PageElsewhere }));
            }
        }
        let is_target = self.params.index.as_ref().is_none_or(Vec::is_empty);
        Ok(is_target.then(|| Hit { path: path.to_owned(), page: None, sight: Sight::Here }))
    }

    fn indexes(&self) -> Vec<&str> {
        match self.params.index.as_deref() {
            None | Some([]) => INDEXES.to_vec(),
            Some(names) => names.iter().map(String::as_str).collect(),
        }
    }

    /// The kind of a path; none if nothing is there.
    fn kind(&self, path: &str) -> Result<Option<Kind>, Error> {
        if path.is_empty() || has_below(&self.entries, path) {
            return Ok(Some(Kind::Folder));
        }
        let Ok(name) = RepoPath::parse(path) else { return Ok(None) };
        if self.files.contains_key(&name) {
            return Ok(Some(Kind::File));
        }
        if let Some(content) = self.ctx.view.overlay().get(&name) {
            return Ok(content.map(|content| if content.is_link() { Kind::Link } else { Kind::File }));
        }
        if let Some(kind) = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(*kind);
        }
        (self.pulse)()?;
        let kind = self.ctx.view.workspace().stat(&name).ok().flatten().map(|found| found.kind);
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), kind);
        Ok(kind)
    }

    /// True if a folder on the way to a path is a link.
    fn is_below_link(&self, path: &str) -> Result<bool, Error> {
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends {
            match self.kind(&path[..end])? {
                Some(Kind::Folder) => {}
                Some(Kind::Link) => return Ok(true),
                Some(Kind::File | Kind::Other) | None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// True if a target gives an anchor for sure.
    pub(super) fn has_anchor(&self, hit: &Hit, query: &str, anchor: &str, when: When) -> Result<bool, Error> {
        Ok(self.find_anchor(hit, query, anchor, when)? == Some(true))
    }

    /// True if a target gives an anchor, or is none whose anchors are known; none if it may give it.
    fn find_anchor(&self, hit: &Hit, query: &str, anchor: &str, when: When) -> Result<Option<bool>, Error> {
        let is_seen = hit.sight == Sight::Here && hit.page.as_ref().is_none_or(|page| self.entries.contains(page));
        if anchor.is_empty() || anchor.eq_ignore_ascii_case("top") || !is_seen {
            return Ok(Some(true));
        }
        if NOTES.iter().any(|begin| anchor.starts_with(begin)) {
            return Ok(Some(true));
        }
        let Some(page) = &hit.page else { return Ok(Some(false)) };
        let format = RepoPath::parse(page).ok().and_then(|path| Format::of(&path));
        let is_source = query.split(['?', '&']).any(|part| part == "plain=1");
        let Some(format) = format.filter(|format| *format == Format::Html || !is_source) else { return Ok(Some(true)) };
        let dialect = self.sites.rules(page).dialect;
        let has_prefix = format == Format::Markdown && matches!(dialect, Dialect::Github | Dialect::Gitlab);
        let bare = anchor.strip_prefix("user-content-").filter(|_| has_prefix);
        let fits = |document: &Document| {
            let is_there = [Some(anchor), bare].into_iter().flatten().any(|text| document.anchors.contains(text));
            if is_there || !document.is_open { Some(is_there) } else { None }
        };
        let found = self.with_anchors(page, when, fits)?.unwrap_or(Some(true));
        let is_included = page.rsplit('/').next().is_some_and(|name| self.included.contains(name));
        Ok(found.filter(|is_there| *is_there || !is_included))
    }

    /// Passes the document of a page to `look`; none if it can't be read.
    pub(super) fn with_anchors<R>(
        &self,
        page: &str,
        when: When,
        look: impl Fn(&Document) -> R,
    ) -> Result<Option<R>, Error> {
        let path = RepoPath::parse(page)?;
        if let Some(Read { before, after }) = self.files.get(&path) {
            let document = before.as_ref().filter(|_| when == When::Before).unwrap_or(after);
            return Ok(Some(look(document)));
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.contains_key(page) {
            let content = self.ctx.view.read_within(&path, LONGEST).ok().flatten();
            let content = content.filter(|content| std::str::from_utf8(&content.bytes).is_ok());
            let document = match (content, Format::of(&path)) {
                (Some(content), Some(format)) => {
                    let mut document = self.document(format, &path, &content.bytes)?;
                    document.is_open |= format == Format::Mdx && self.skipped.contains(page);
                    Some(document)
                }
                (_, _) => None,
            };
            others.insert(page.to_owned(), document);
        }
        Ok(others.get(page).and_then(Option::as_ref).map(look))
    }

    /// Reads a page that is not of the target, or an earlier content of one.
    pub(super) fn document(&self, format: Format, page: &RepoPath, bytes: &[u8]) -> Result<Document, Error> {
        format.read(bytes, Manner { rules: self.sites.rules(page.as_str()), is_located: false, pulse: self.pulse })
    }

    /// The pages that may stand for a folder.
    pub(super) fn fronts(&self, path: &str) -> Vec<String> {
        let below = if path.is_empty() { String::new() } else { format!("{path}/") };
        self.indexes().into_iter().map(|name| format!("{below}{name}")).collect()
    }

    /// The files that a path without its extension, or with that of a page made from its source, may stand for.
    pub(super) fn extended(&self, path: &str) -> Vec<String> {
        let extensions = self.params.extensions.iter().map(|extension| format!("{path}.{extension}"));
        let stem = path.strip_suffix(".html");
        let sources = stem.iter().flat_map(|stem| self.params.html_from.iter().map(move |end| format!("{stem}.{end}")));
        extensions.chain(sources).collect()
    }

    /// The files and folders that a path may stand for, in order.
    pub(super) fn spellings(&self, path: &str) -> Vec<String> {
        [vec![path.to_owned()], self.fronts(path), self.extended(path)].concat()
    }
}

/// True if one of the paths is below a folder.
fn has_below(paths: &BTreeSet<String>, folder: &str) -> bool {
    let below = format!("{folder}/");
    paths.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
}

impl Surroundings for Tree<'_> {
    fn sites(&self) -> &BTreeMap<String, (Tool, String)> {
        &self.configured
    }

    fn text(&self, path: &str) -> String {
        let content =
            RepoPath::parse(path).ok().and_then(|path| self.ctx.view.read_within(&path, LONGEST).ok().flatten());
        content.map(|content| String::from_utf8_lossy(&content.bytes).into_owned()).unwrap_or_default()
    }

    fn joint(&self) -> &[String] {
        &self.params.site_root
    }

    fn is_folder(&self, path: &str) -> bool {
        has_below(&self.entries, path)
    }
}
