//! All files that may name a thing: those of the target, and the others of the workspace, which are read when they are needed.

use std::{
    borrow::Cow,
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    manifest::Manifests,
    page::{Family, Page},
    places::{End, Places},
};
use crate::{
    Context, Work,
    deadline::Deadline,
    survey::{Whole, whole},
};
use base::{error::Error, language::Language, path::RepoPath, pulse::Pulse};
use format::{
    code::tree::{self, Tree},
    name::{
        facts::Facts,
        outline::{Outline, outline},
        script::{self, Change},
        token::Token,
        tree as names,
        word::Word,
    },
};
use system::{git::Tracked, workspace};

/// Larger files outside of the target are not read, in bytes.
const LARGEST: u64 = 64 << 20;

/// The bytes of files that are kept.
const KEPT: u64 = 256 << 20;

/// Files with their bytes; none if these are read when they are needed.
type Sources = Vec<(RepoPath, Option<Vec<u8>>)>;

/// The modules of Rust files, by their paths.
pub(super) type Outlines = BTreeMap<String, Rc<Outline>>;

/// A file of a family, of which a question is asked.
pub(super) struct Source<'s> {
    pub(super) path: &'s RepoPath,
    /// Its text; bytes that are none are replaced.
    pub(super) text: &'s str,
    /// False if the file has bytes that are not UTF-8.
    pub(super) is_text: bool,
    pub(super) language: Language,
    pulse: Pulse<'s>,
}

impl Source<'_> {
    /// Its syntax tree.
    pub(super) fn tree(&self) -> Result<Tree, Error> {
        tree::parse(self.language, self.text, self.pulse)
    }
}

/// Makes something of a file.
type Make<'m, T> = &'m (dyn Fn(&Source<'_>) -> Result<T, Error> + Sync);

/// All files that may name a thing.
pub(super) struct World<'a> {
    /// The surroundings.
    pub(super) ctx: &'a Context<'a>,
    /// The names.
    pub(super) change: Change<'a>,
    /// The time.
    pub(super) deadline: &'a Deadline,
    target: BTreeMap<String, Page>,
    /// The marks of the files of the target that were read.
    surveyed: BTreeMap<String, Marks>,
    rest: OnceCell<Rest>,
    /// Facts of names in files, by the file and the name.
    others: RefCell<BTreeMap<(String, String), Rc<Facts>>>,
    manifests: OnceCell<Manifests>,
    outlines: OnceCell<Outlines>,
    /// The files to which exports of names lead, by the file that was asked and the name.
    ends: RefCell<BTreeMap<(String, String), End>>,
}

/// The files outside of the target.
struct Rest {
    paths: BTreeSet<String>,
    /// Tracked files and folders that are not there: left out by a sparse checkout, or in a repository of their own.
    absent: Vec<(String, Tracked)>,
    pages: BTreeMap<String, Page>,
    marks: BTreeMap<String, Marks>,
    /// The files of the family that was asked for last.
    sources: RefCell<Option<(Family, Rc<Sources>)>>,
}

/// The marks of a file that need no syntax tree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// True if it may export everything of another module.
    pub(super) has_star: bool,
    /// True if it holds the new name.
    pub(super) is_taken: bool,
}

impl Marks {
    /// Looks at the bytes of a file.
    pub(super) fn of(path: &str, bytes: &[u8], to: &Word<'_>) -> Self {
        Marks { has_star: has_star(path, bytes), is_taken: to.is_in(bytes) }
    }
}

/// True if a text may pass on everything of another module, as by `export * from`, `export type * from` or `import *`.
fn has_star(path: &str, bytes: &[u8]) -> bool {
    let follows = |word: &[u8], stars: &[u8]| {
        memchr::memmem::find_iter(bytes, word).any(|at| {
            let rest = bytes[at + word.len()..].trim_ascii_start();
            let rest = rest.strip_prefix(b"type").map_or(rest, <[u8]>::trim_ascii_start);
            rest.first().is_some_and(|first| stars.contains(first))
        })
    };
    match Family::of_path(path) {
        // A comment may stand between the words.
        Some(Family::Script) => follows(b"export", b"*/"),
        Some(Family::Python) => follows(b"import", b"*"),
        Some(Family::Go | Family::Java | Family::Rust | Family::Other(_)) | None => false,
    }
}

impl<'a> World<'a> {
    /// The world of a target: its files with the name, and the marks of all its files.
    pub(super) fn new(
        (ctx, change, deadline): (&'a Context<'a>, Change<'a>, &'a Deadline),
        pages: Vec<Page>,
        surveyed: BTreeMap<String, Marks>,
    ) -> Self {
        let target = pages.into_iter().map(|page| (page.path.to_string(), page)).collect();
        let (rest, others, ends) = (OnceCell::new(), RefCell::default(), RefCell::default());
        let (manifests, outlines) = (OnceCell::new(), OnceCell::new());
        World { ctx, change, deadline, target, surveyed, rest, others, manifests, outlines, ends }
    }

    /// Tells how far a phase is.
    pub(super) fn tell(&self, phase: Work, done: usize, total: usize) {
        (self.ctx.progress)(phase, done as u64, total as u64);
    }

    /// Tells that a phase begins, and then the number of answers.
    pub(super) fn told(&self, phase: Work, total: usize) -> impl Fn(usize) + '_ {
        self.tell(phase, 0, total);
        move |done| self.tell(phase, done, total)
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
        self.surveyed.contains_key(path)
    }

    /// The files of the target that were read.
    pub(super) fn surveyed(&self) -> impl ExactSizeIterator<Item = &String> {
        self.surveyed.keys()
    }

    /// The files with a mark.
    fn marked(&self, has: impl Fn(&Marks) -> bool) -> Result<Vec<&str>, Error> {
        let all = self.surveyed.iter().chain(&self.rest()?.marks);
        Ok(all.filter(|(_, marks)| has(marks)).map(|(path, _)| path.as_str()).collect())
    }

    /// Every file of the workspace that holds the name.
    pub(super) fn pages(&self) -> Result<impl Iterator<Item = &Page>, Error> {
        Ok(self.target.values().chain(self.rest()?.pages.values()))
    }

    /// Every path of the workspace.
    pub(super) fn paths(&self) -> Result<&BTreeSet<String>, Error> {
        Ok(&self.rest()?.paths)
    }

    /// Tracked files and folders that are not there: left out by a sparse checkout, or in a repository of their own.
    pub(super) fn absent(&self) -> Result<&[(String, Tracked)], Error> {
        Ok(&self.rest()?.absent)
    }

    /// The files that export everything of another.
    pub(super) fn stars(&self) -> Result<Vec<&str>, Error> {
        self.marked(|marks| marks.has_star)
    }

    /// The files that hold the new name.
    pub(super) fn taken_files(&self) -> Result<Vec<&str>, Error> {
        self.marked(|marks| marks.is_taken)
    }

    /// The syntax tree of a text.
    pub(super) fn tree(&self, language: Language, text: &str) -> Result<Tree, Error> {
        tree::parse(language, text, &|| self.deadline.check(self.ctx))
    }

    /// Reads every file of a family, and makes something of it.
    pub(super) fn map_files<T: Send>(&self, family: Family, make: Make<'_, T>) -> Result<Vec<(RepoPath, T)>, Error> {
        let sources = self.sources(family)?;
        let (ctx, deadline) = (self.ctx, self.deadline);
        let pulse = || deadline.check(ctx);
        let made = workspace::parallel_map_with(ctx.threads, &sources, Vec::new, |buffer, (path, kept)| {
            pulse()?;
            let bytes = kept.as_ref().map_or_else(|| bytes_of(ctx, path, buffer), Vec::as_slice);
            let text = String::from_utf8_lossy(bytes);
            let is_text = matches!(text, Cow::Borrowed(_));
            let language = Language::of_path(path).unwrap_or(Language::TypeScript);
            make(&Source { path, text: &text, is_text, language, pulse: &pulse })
        });
        let made = made.into_iter().collect::<Result<Vec<T>, Error>>()?;
        Ok(sources.iter().map(|(path, _)| path.clone()).zip(made).collect())
    }

    /// The files of a family for which a test holds.
    pub(super) fn files(&self, family: Family, test: Make<'_, bool>) -> Result<Vec<RepoPath>, Error> {
        let read = self.map_files(family, test)?.into_iter();
        Ok(read.filter(|(_, holds)| *holds).map(|(path, _)| path).collect())
    }

    /// The files of a family that hold the name.
    pub(super) fn of_family(&self, family: Family) -> Result<impl Iterator<Item = &Page>, Error> {
        Ok(self.pages()?.filter(move |page| page.family() == family))
    }

    /// The places of the name in the files of a family.
    pub(super) fn tokens(&self, family: Family) -> Result<impl Iterator<Item = (&Page, &Token)>, Error> {
        Ok(self.of_family(family)?.flat_map(|page| page.tokens.iter().map(move |token| (page, token))))
    }

    /// The files of a family, which many questions are asked about. Those of one family are kept, as far as there is room.
    fn sources(&self, family: Family) -> Result<Rc<Sources>, Error> {
        if let Some((_, kept)) = self.rest()?.sources.borrow().as_ref().filter(|(of, _)| *of == family) {
            return Ok(Rc::clone(kept));
        }
        let of_family = |path: &&String| Family::of_path(path) == Some(family);
        let paths: Vec<RepoPath> =
            self.paths()?.iter().filter(of_family).filter_map(|path| RepoPath::parse(path).ok()).collect();
        let (ctx, total) = (self.ctx, AtomicU64::new(0));
        let sources = workspace::parallel_map(ctx.threads, &paths, |path| {
            let mut buffer = Vec::new();
            if total.load(Ordering::Relaxed) < KEPT {
                bytes_of(ctx, path, &mut buffer);
            }
            let has_room = total.fetch_add(buffer.len() as u64, Ordering::Relaxed) < KEPT;
            (path.clone(), has_room.then_some(buffer))
        });
        let sources = Rc::new(sources);
        *self.rest()?.sources.borrow_mut() = Some((family, Rc::clone(&sources)));
        Ok(sources)
    }

    /// False if a file was read, holds no word of the sought name, and exports everything of no other: it can't export the name.
    pub(super) fn may_export(&self, path: &str, name: &str) -> bool {
        let marks = self.surveyed.get(path).filter(|_| name == self.change.from);
        marks.is_none_or(|marks| marks.has_star || self.target.contains_key(path))
    }

    /// The file to which the export of a name leads, as `find` finds it the first time.
    pub(super) fn end(
        &self,
        (file, name): (&str, &str),
        find: impl FnOnce() -> Result<End, Error>,
    ) -> Result<End, Error> {
        let key = (file.to_owned(), name.to_owned());
        if let Some(end) = self.ends.borrow().get(&key) {
            return Ok(end.clone());
        }
        let end = find()?;
        self.ends.borrow_mut().insert(key, end.clone());
        Ok(end)
    }

    /// A text of the workspace; none if it can't be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let path = RepoPath::parse(path).ok()?;
        String::from_utf8(self.ctx.view.read(&path).ok()?.into_bytes()).ok()
    }

    /// The facts of a name in any file; none if it is not understood.
    pub(super) fn facts(&self, path: &str, name: &str) -> Option<Rc<Facts>> {
        let key = (path.to_owned(), name.to_owned());
        if let Some(facts) = self.others.borrow().get(&key) {
            return Some(Rc::clone(facts));
        }
        let change = if name == self.change.from { self.change } else { Change { from: name, to: name } };
        let facts = match self.page(path).filter(|_| name == self.change.from) {
            Some(page) => page.facts.as_ref().ok()?.clone(),
            None => self.read_facts(path, change)?,
        };
        let facts = Rc::new(facts);
        self.others.borrow_mut().insert(key, Rc::clone(&facts));
        Some(facts)
    }

    fn read_facts(&self, path: &str, change: Change<'_>) -> Option<Facts> {
        let (language, text) = (Language::of_path(path)?, self.text(path)?);
        if Family::of(language) == Family::Script {
            return script::facts(path, &text, change, &[]).ok();
        }
        let tree = self.tree(language, &text).ok()?;
        names::facts(language, &tree, &text, change).filter(|_| tree::error_lines(&tree).is_empty())
    }

    /// The modules of every Rust file.
    pub(super) fn outlines(&self) -> Result<&Outlines, Error> {
        if let Some(outlines) = self.outlines.get() {
            return Ok(outlines);
        }
        let read = self.map_files(Family::Rust, &|file| Ok(outline(&file.tree()?, file.text)))?;
        let outlines = read.into_iter().map(|(path, outline)| (path.to_string(), Rc::new(outline))).collect();
        Ok(self.outlines.get_or_init(|| outlines))
    }

    /// The modules of the files that some places can concern: those of the file of a local thing, if no other has the new name.
    pub(super) fn outlines_for(&self, places: &Places) -> Result<Outlines, Error> {
        let mut taken = self.taken_files()?.into_iter();
        let is_own = |path: &str| Family::of_path(path) != Some(Family::Rust) || places.code.contains_key(path);
        if !places.is_local || !taken.all(is_own) {
            return self.outlines().cloned();
        }
        let mut outlines = Outlines::new();
        for path in places.code.keys() {
            let text = self.text(path).unwrap_or_default();
            outlines.insert(path.clone(), Rc::new(outline(&self.tree(Language::Rust, &text)?, &text)));
        }
        Ok(outlines)
    }

    /// The names of the packages.
    pub(super) fn manifests(&self) -> Result<&Manifests, Error> {
        let paths = self.paths()?;
        Ok(self.manifests.get_or_init(|| Manifests::read(paths, |path| self.text(path))))
    }

    fn rest(&self) -> Result<&Rest, Error> {
        if let Some(rest) = self.rest.get() {
            return Ok(rest);
        }
        let rest = self.read_rest()?;
        Ok(self.rest.get_or_init(|| rest))
    }

    fn read_rest(&self) -> Result<Rest, Error> {
        let Whole { paths, absent } = whole(self.ctx)?;
        let is_wanted =
            |path: &&RepoPath| !self.surveyed.contains_key(path.as_str()) && Family::of_path(path).is_some();
        let wanted: Vec<&RepoPath> = paths.iter().filter(is_wanted).collect();
        let (ctx, change, deadline) = (self.ctx, self.change, self.deadline);
        let (word, to) = (Word::new(change.from), Word::new(change.to));
        let pulse = || deadline.check(ctx);
        let read = workspace::parallel_map_with(ctx.threads, &wanted, Vec::new, |buffer, path| {
            pulse()?;
            let bytes = bytes_of(ctx, path, buffer);
            let text = std::str::from_utf8(bytes).ok().filter(|_| word.is_in(bytes));
            let page = text.map(|text| Page::read(path, text, change, &pulse)).transpose()?.flatten();
            let page = page.map(|page| Page { is_target: false, ..page });
            Ok::<_, Error>((page, Marks::of(path, bytes, &to)))
        });
        let (mut pages, mut marks) = (BTreeMap::new(), BTreeMap::new());
        for (path, found) in wanted.iter().zip(read) {
            let (page, marks_of_file) = found?;
            pages.extend(page.map(|page| (path.to_string(), page)));
            marks.insert(path.to_string(), marks_of_file);
        }
        let paths = paths.iter().map(ToString::to_string).collect();
        Ok(Rest { paths, absent, pages, marks, sources: RefCell::default() })
    }
}

/// The bytes of a file; none if it can't be read.
fn bytes_of<'b>(ctx: &Context<'_>, path: &RepoPath, buffer: &'b mut Vec<u8>) -> &'b [u8] {
    let is_read = ctx.view.read_into(path, LARGEST, buffer).is_ok_and(|stamp| stamp.is_some());
    if !is_read {
        buffer.clear();
    }
    buffer
}
