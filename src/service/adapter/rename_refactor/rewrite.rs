//! The new texts of files: the places of a thing, and what else the parameters ask for. Nothing here decides about code.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    forms, link,
    manifest::folder,
    page::{Family, Page},
    params::{Comments, Params},
    places::{End, Places},
    refusal::refuse,
    world::World,
};
use base::{
    change::{Change, Content, Stamp},
    error::{Code, Error},
    path::RepoPath,
};
use format::name::{
    documentation,
    facts::Form,
    token::{Class, Token},
};

/// Numbers by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// In code.
    pub(super) code: u64,
    /// In strings.
    pub(super) strings: u64,
    /// In comments.
    pub(super) comments: u64,
}

impl Tally {
    /// Counts a place.
    pub(super) fn add(&mut self, class: Class) {
        match class {
            Class::Code => self.code += 1,
            Class::Strings => self.strings += 1,
            Class::Comments => self.comments += 1,
        }
    }

    /// The sum.
    pub(super) fn total(self) -> u64 {
        self.code + self.strings + self.comments
    }
}

/// The new texts.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    /// The changes.
    pub(super) changes: Vec<Change>,
    /// The renamed places.
    pub(super) renamed: Tally,
    /// Places at which the old name stays beside the new one.
    pub(super) kept: u64,
    /// Files with another name.
    pub(super) files: u64,
    /// The renamed places, by file.
    pub(super) edited: BTreeMap<String, BTreeSet<usize>>,
}

/// A renamed place: its bytes, its text and its class.
type Edit = (Range<usize>, String, Class);

/// The edits of every file, by file and place.
type Edits = BTreeMap<String, BTreeMap<usize, Edit>>;

/// Writes the places of a thing. `stamps` are those of the files of the target.
pub(super) fn rewrite(
    world: &World<'_>,
    params: &Params,
    places: &Places,
    stamps: &BTreeMap<String, Stamp>,
) -> Result<Rewritten, Error> {
    let mut done = Rewritten::default();
    let mut edits = code(world, places, params, &mut done);
    words(world, params, places, &mut edits)?;
    let moved = moved(world, params, places, &mut edits)?;
    for path in moved.keys() {
        edits.entry(path.clone()).or_default();
    }
    done.edited = edits.iter().map(|(path, edits)| (path.clone(), edits.keys().copied().collect())).collect();
    for (path, edits) in &edits {
        let (Some(page), Some(before)) = (world.page(path), stamps.get(path)) else {
            return Err(Error::new(Code::Internal, format!("`{path}` is no file of the target")));
        };
        edits.values().for_each(|(_, _, class)| done.renamed.add(*class));
        let (text, _) = forms::written(&page.text, edits.values().map(|(range, new, _)| (range, new.clone())));
        let after = Some(Content::new(text.into_bytes(), before.mode));
        match moved.get(path) {
            None => done.changes.push(Change { path: page.path.clone(), before: Some(*before), after }),
            Some(to) => {
                done.files += 1;
                done.changes.push(Change { path: page.path.clone(), before: Some(*before), after: None });
                done.changes.push(Change { path: to.clone(), before: None, after });
            }
        }
    }
    Ok(done)
}

/// The places of the thing. A type that is written as a text is a string that names it.
fn code(world: &World<'_>, places: &Places, params: &Params, done: &mut Rewritten) -> Edits {
    let Params { from, to, .. } = params;
    let mut edits = Edits::new();
    for (path, sites) in &places.code {
        for (range, form) in sites.values() {
            let text = forms::text(*form, (from, to));
            done.kept += u64::from(*form != Form::Plain);
            let token = world.page(path).and_then(|page| page.tokens.iter().find(|token| token.range == *range));
            let class = token.map_or(Class::Code, |token| token.class);
            edits.entry(path.clone()).or_default().insert(range.start, (range.clone(), text, class));
        }
    }
    edits
}

/// Adds a place that gets the new name alone.
fn add(edits: &mut Edits, page: &Page, token: &Token, params: &Params) {
    let edit = (token.range.clone(), params.to.clone(), token.class);
    edits.entry(page.path.to_string()).or_default().insert(token.range.start, edit);
}

/// Words in strings and comments: in the file of a local thing, or in all files of the target.
fn words(world: &World<'_>, params: &Params, places: &Places, edits: &mut Edits) -> Result<(), Error> {
    if matches!(params.comments, Comments::Above(_)) {
        documented(world, params, places, edits)?;
    }
    for page in world.target() {
        if places.is_local && !places.code.contains_key(page.path.as_str()) {
            continue;
        }
        for token in &page.tokens {
            let is_asked = match token.class {
                Class::Code => false,
                Class::Strings => params.strings,
                Class::Comments => params.comments == Comments::All(true),
            };
            if is_asked {
                add(edits, page, token, params);
            }
        }
    }
    Ok(())
}

/// Words in the comments above the declarations. A link to the thing from other comments of Go is refused.
fn documented(world: &World<'_>, params: &Params, places: &Places, edits: &mut Edits) -> Result<(), Error> {
    let mut ranges: BTreeMap<&str, Vec<Range<usize>>> = BTreeMap::new();
    for (path, declared) in &places.homes {
        let Some(page) = world.page(path) else { continue };
        let above = documentation::above(&world.tree(page.language, &page.text)?, *declared);
        ranges.entry(path.as_str()).or_default().extend(above);
    }
    for page in world.target().filter(|page| !places.is_local || places.code.contains_key(page.path.as_str())) {
        let above = ranges.get(page.path.as_str()).map_or(&[][..], Vec::as_slice);
        for token in page.tokens.iter().filter(|token| token.class == Class::Comments) {
            if above.iter().any(|range| range.contains(&token.range.start)) {
                add(edits, page, token, params);
                continue;
            }
            let (before, after) = (&page.text[..token.range.start], &page.text[token.range.end..]);
            let is_link =
                page.family() == Family::Go && before.ends_with(['[', '.', '*']) && after.starts_with([']', '.']);
            if is_link && !places.is_local {
                let what = ("unknown", "a link in a comment may mean it");
                return Err(refuse(page, token.range.start, what, world));
            }
        }
    }
    Ok(())
}

/// The new path of the file that declares a thing, if it has the thing's name; its imports become edits.
fn moved(
    world: &World<'_>,
    params: &Params,
    places: &Places,
    edits: &mut Edits,
) -> Result<BTreeMap<String, RepoPath>, Error> {
    let mut moved = BTreeMap::new();
    for (path, declared) in &places.homes {
        let name = path.rsplit('/').next().unwrap_or_default();
        let Some(ending) = name.strip_prefix(params.from.as_str()).filter(|ending| ending.starts_with('.')) else {
            continue;
        };
        let Some(page) = world.page(path).filter(|_| !places.is_local) else { continue };
        let refused = |reason: &str| refuse(page, *declared, ("file", reason), world);
        match page.family() {
            Family::Java if !params.files => {
                return Err(refused("its file has its name; rename both by `params.files`"));
            }
            Family::Java | Family::Script if params.files => {}
            _ if params.files => return Err(refused("its file has its name, and its module can't be renamed with it")),
            _ => continue,
        }
        let base = folder(path);
        let slash = if base.is_empty() { "" } else { "/" };
        let to = RepoPath::parse(&format!("{base}{slash}{}{ending}", params.to))?;
        if world.paths()?.contains(to.as_str()) {
            return Err(refused(&format!("`{to}` exists")));
        }
        if page.family() == Family::Script {
            imports(world, params, path, edits)?;
        }
        moved.insert(path.clone(), to);
    }
    Ok(moved)
}

/// The names of a moved file in the imports of others.
fn imports(world: &World<'_>, params: &Params, file: &str, edits: &mut Edits) -> Result<(), Error> {
    for page in world.pages()?.filter(|page| page.family() == Family::Script) {
        for token in page.tokens.iter().filter(|token| token.class == Class::Strings) {
            let quote = ['"', '\'', '`'];
            let Some(begin) = page.text[..token.range.start].rfind(quote) else { continue };
            let Some(end) = page.text[token.range.end..].find(quote) else { continue };
            let module = &page.text[begin + 1..token.range.end + end];
            let is_file = module.starts_with('.')
                && !module.contains(char::is_whitespace)
                && page.text[..token.range.start].ends_with('/')
                && !page.text[token.range.end..token.range.end + end].contains('/');
            if !is_file || link::script_module(world, &page.path, module)? != End::File(file.to_owned()) {
                continue;
            }
            if !page.is_target {
                let what = ("outside", "a file outside of the target imports its file");
                return Err(refuse(page, token.range.start, what, world));
            }
            add(edits, page, token, params);
        }
    }
    Ok(())
}
