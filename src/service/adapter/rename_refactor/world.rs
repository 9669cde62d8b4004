//! All files that may name a thing: those of the target, and the others of the workspace, which are read when they are needed.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::page::{Family, Page};
use crate::{
    base::{error::Error, path::RepoPath},
    format::name::{
        facts::Facts,
        script::{self, Change},
        word::Word,
    },
    service::adapter::{Context, deadline::Deadline},
    system::workspace::{self, Globs},
};

/// Larger files outside of the target are not read, in bytes.
const LARGEST: u64 = 64 << 20;

/// The text by which a module exports everything of another.
const STAR: &str = "export *";

/// All files that may name a thing.
pub(super) struct World<'a> {
    /// The surroundings.
    pub(super) ctx: &'a Context<'a>,
    /// The names.
    pub(super) change: Change<'a>,
    /// The time.
    pub(super) deadline: &'a Deadline,
    target: BTreeMap<String, Page>,
    /// The files of the target that were read.
    surveyed: BTreeSet<String>,
    rest: OnceCell<Rest>,
    /// Facts of files that do not hold the name.
    others: RefCell<BTreeMap<String, Rc<Facts>>>,
    stars: Vec<String>,
}

/// The files outside of the target.
struct Rest {
    paths: BTreeSet<String>,
    pages: BTreeMap<String, Page>,
    stars: Vec<String>,
}

/// True if a text may export everything of another module.
pub(super) fn has_star(path: &str, bytes: &[u8]) -> bool {
    Family::of_path(path) == Some(Family::Script) && memchr::memmem::find(bytes, STAR.as_bytes()).is_some()
}

impl<'a> World<'a> {
    /// The world of a target: its files with the name, all its files, and those that export everything of others.
    pub(super) fn new(
        (ctx, change, deadline): (&'a Context<'a>, Change<'a>, &'a Deadline),
        pages: Vec<Page>,
        surveyed: BTreeSet<String>,
        stars: Vec<String>,
    ) -> Self {
        let target = pages.into_iter().map(|page| (page.path.to_string(), page)).collect();
        let (rest, others) = (OnceCell::new(), RefCell::default());
        World { ctx, change, deadline, target, surveyed, rest, others, stars }
    }

    /// The names, for refusals.
    pub(super) fn names(&self) -> (&'a str, &'a str) {
        (self.change.from, self.change.to)
    }

    /// The files of the target that hold the name.
    pub(super) fn target(&self) -> impl Iterator<Item = &Page> {
        self.target.values()
    }

    /// A file that holds the name.
    pub(super) fn page(&self, path: &str) -> Option<&Page> {
        self.target.get(path).or_else(|| self.rest.get()?.pages.get(path))
    }

    /// True for a file of the target.
    pub(super) fn is_surveyed(&self, path: &str) -> bool {
        self.surveyed.contains(path)
    }

    /// Every file of the workspace that holds the name.
    pub(super) fn pages(&self) -> Result<impl Iterator<Item = &Page>, Error> {
        Ok(self.target.values().chain(self.rest()?.pages.values()))
    }

    /// Every path of the workspace.
    pub(super) fn paths(&self) -> Result<&BTreeSet<String>, Error> {
        Ok(&self.rest()?.paths)
    }

    /// The files that export everything of another.
    pub(super) fn stars(&self) -> Result<Vec<&str>, Error> {
        Ok(self.stars.iter().chain(&self.rest()?.stars).map(String::as_str).collect())
    }

    /// A text of the workspace; none if it can't be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let path = RepoPath::parse(path).ok()?;
        String::from_utf8(self.ctx.view.read(&path).ok()?.into_bytes()).ok()
    }

    /// The facts of any file of scripts; none if it is not understood.
    pub(super) fn script(&self, path: &str) -> Option<Rc<Facts>> {
        if let Some(facts) = self.others.borrow().get(path) {
            return Some(Rc::clone(facts));
        }
        let facts = match self.page(path) {
            Some(page) => page.facts.as_ref().ok()?.clone(),
            None => script::facts(path, &self.text(path)?, self.change, &[]).ok()?,
        };
        let facts = Rc::new(facts);
        self.others.borrow_mut().insert(path.to_owned(), Rc::clone(&facts));
        Some(facts)
    }

    fn rest(&self) -> Result<&Rest, Error> {
        if let Some(rest) = self.rest.get() {
            return Ok(rest);
        }
        let rest = self.read_rest()?;
        Ok(self.rest.get_or_init(|| rest))
    }

    fn read_rest(&self) -> Result<Rest, Error> {
        let listing = self.ctx.view.list(&Globs::parse(&["**/*"])?, self.ctx.threads)?;
        let wanted: Vec<&RepoPath> = listing
            .paths
            .iter()
            .filter(|path| !self.surveyed.contains(path.as_str()) && Family::of_path(path).is_some())
            .collect();
        let (ctx, change, deadline) = (self.ctx, self.change, self.deadline);
        let word = Word::new(change.from);
        let pulse = || deadline.check(ctx);
        let read = workspace::parallel_map_with(ctx.threads, &wanted, Vec::new, |buffer, path| {
            pulse()?;
            let is_read = ctx.view.read_into(path, LARGEST, buffer).is_ok_and(|stamp| stamp.is_some());
            let bytes = if is_read { buffer.as_slice() } else { &[] };
            let text = std::str::from_utf8(bytes).ok().filter(|_| word.is_in(bytes));
            let page = text.map(|text| Page::read(path, text, change, &pulse)).transpose()?;
            let page = page.filter(|page| !page.tokens.is_empty()).map(|page| Page { is_target: false, ..page });
            Ok::<_, Error>((page, has_star(path, bytes)))
        });
        let (mut pages, mut stars) = (BTreeMap::new(), Vec::new());
        for (path, found) in wanted.iter().zip(read) {
            let (page, is_star) = found?;
            pages.extend(page.map(|page| (path.to_string(), page)));
            stars.extend(is_star.then(|| path.to_string()));
        }
        let paths = listing.paths.iter().map(ToString::to_string).collect();
        Ok(Rest { paths, pages, stars })
    }
}
