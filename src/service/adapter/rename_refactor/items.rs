//! Names of Rust: the thing that each place means by the modules of its crate, and the comparison of these before and after.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    crates::{Crates, Found},
    forms,
    page::{Family, Page},
    places::Places,
    refusal::{Refusal, TAKEN, UNKNOWN},
    world::{Outlines, Source, World},
};
use base::{error::Error, language::Language};
use format::{
    code::tree,
    name::{
        facts::{Facts, Group, Kind, MODULE, Meaning, Origin, Reach},
        outline::outline,
        reserved,
        script::Change,
        tree::{self as names, rust_macro},
        word::Word,
    },
};

/// Meanings that are in doubt.
const UNCERTAIN: [Found; 2] = [Found::MayBeUnknown, Found::Unknown];

/// Reasons of places that no thing in a module can be.
const OF_NAMES: [&str; 2] = [MODULE, "it is the name of a macro"];

const NOT_CERTAIN: &str = "the module that it comes from is not certain";
const ONE_OF_SEVERAL: &str = "it means one thing of several, as a file or a condition tells";
const OF_2015: &str = "paths of the edition 2015 begin in other modules than those that are followed here";
const IN_MACRO: &str = "a macro or an attribute has the new name, and may mean this thing by it";
const OTHER_THING: &str = "the new name would mean another thing here";

/// The meaning of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Label {
    /// A binding of a block or a function, by its declaration.
    Local(usize),
    /// The things that a path or a name of a module may mean.
    Things(BTreeSet<Found>),
    /// A member of a value or a type.
    Member,
    /// Something that syntax does not tell.
    Unclear(&'static str),
}

/// The meanings of the places of a file.
type Labels = BTreeMap<usize, Label>;

/// The things that the places of a file mean, apart from local ones.
pub(super) type Things = BTreeMap<usize, (String, usize)>;

/// The things at the places of a file of which the meaning is certain.
pub(super) fn things(crates: &Crates<'_, '_>, page: &Page, name: &str) -> Result<Things, Error> {
    let Ok(facts) = &page.facts else { return Ok(Things::new()) };
    let thing = |(at, label)| match label {
        Label::Things(things) => Some((at, only(things)?)),
        Label::Local(_) | Label::Member | Label::Unclear(_) => None,
    };
    Ok(labels(crates, &page.path, (name, facts))?.into_iter().filter_map(thing).collect())
}

fn only(things: BTreeSet<Found>) -> Option<(String, usize)> {
    let mut things = things.into_iter();
    match (things.next(), things.next()) {
        (Some(Found::Thing(file, at)), None) => Some((file, at)),
        _ => None,
    }
}

/// Adds the places of a declaration in all files.
pub(super) fn judge(
    world: &World<'_>,
    thing: (&str, usize),
    (places, refusal): (&mut Places, &mut Refusal),
) -> Result<(), Error> {
    let crates = Crates::of(world, world.outlines()?);
    let home = Found::Thing(thing.0.to_owned(), thing.1);
    for page in world.of_family(Family::Rust)? {
        let facts = match &page.facts {
            Ok(facts) => facts,
            Err(reason) => {
                refusal.add(page, page.tokens.first().map_or(0, |token| token.range.start), (UNKNOWN, reason));
                continue;
            }
        };
        let is_2015 = world.manifests()?.is_2015(&page.path);
        for (at, label) in labels(&crates, &page.path, (world.change.from, facts))? {
            match label {
                Label::Things(_) if is_2015 => refusal.add(page, at, (UNKNOWN, OF_2015)),
                Label::Things(things) if things.len() == 1 && things.contains(&home) => add(page, facts, at, places),
                Label::Things(things) if things.contains(&home) => refusal.add(page, at, (UNKNOWN, ONE_OF_SEVERAL)),
                Label::Things(things) if things.iter().any(|found| UNCERTAIN.contains(found)) => {
                    refusal.add(page, at, (UNKNOWN, NOT_CERTAIN));
                }
                Label::Unclear(reason) if reason != MODULE => refusal.add(page, at, (UNKNOWN, reason)),
                Label::Things(_) | Label::Local(_) | Label::Member | Label::Unclear(_) => {}
            }
        }
        let renamed = facts.groups.iter().filter(|group| places.has(&page.path, group.declared));
        for obstacle in renamed.filter_map(|group| group.obstacle.as_ref()) {
            refusal.add_obstacle(page, obstacle);
        }
    }
    places.homes.insert((thing.0.to_owned(), thing.1));
    Ok(())
}

/// Adds a place with the form that it has in its file.
fn add(page: &Page, facts: &Facts, at: usize, places: &mut Places) {
    use format::name::facts::Form;
    let sites = facts.groups.iter().flat_map(|group| &group.sites).map(|site| (&site.range, site.form));
    let loose = facts.loose.iter().map(|loose| match &loose.meaning {
        Meaning::Through(_, form) => (&loose.range, *form),
        _ => (&loose.range, Form::Plain),
    });
    if let Some((range, form)) = sites.chain(loose).find(|(range, _)| range.start == at) {
        places.add(&page.path, range, if form == Form::Import { Form::Plain } else { form });
    }
}

/// The meanings of the places of a name in a file.
fn labels(crates: &Crates<'_, '_>, file: &str, (name, facts): (&str, &Facts)) -> Result<Labels, Error> {
    let mut labels = Labels::new();
    let things = |at: usize| Ok::<_, Error>(Label::Things(crates.name((file, at), name)?));
    for group in &facts.groups {
        for site in &group.sites {
            let at = site.range.start;
            let label = match group.reach {
                Reach::Exported | Reach::Imported(_) => things(at)?,
                Reach::Local | Reach::Global | Reach::Named(_) => local(crates, (file, name), group)?,
            };
            labels.insert(at, label);
        }
    }
    for loose in &facts.loose {
        let at = loose.range.start;
        let label = match &loose.meaning {
            Meaning::Free => things(at)?,
            Meaning::Through(Origin { module, name }, _) => {
                let path = if module.is_empty() { name.clone() } else { format!("{module}::{name}") };
                let path: String = path.chars().filter(|c| !c.is_whitespace()).collect();
                Label::Things(crates.path((file, at), &path)?)
            }
            Meaning::Key(_) | Meaning::Member | Meaning::Of(_) | Meaning::Keyword(_) => Label::Member,
            Meaning::Unclear(reason) => Label::Unclear(reason),
        };
        labels.insert(at, label);
    }
    Ok(labels)
}

/// The meaning of a local binding. A pattern of the name of a constant is no binding, but is compared with that.
fn local(crates: &Crates<'_, '_>, (file, name): (&str, &str), group: &Group) -> Result<Label, Error> {
    if matches!(group.kind, Kind::Parameter | Kind::Variable) {
        let things = crates.name((file, group.declared), name)?;
        let is_own = |found: &Found| *found == Found::Thing(file.to_owned(), group.declared);
        if things.iter().any(|found| crates.is_compared(found, name) && !is_own(found)) {
            return Ok(Label::Things(things));
        }
    }
    Ok(Label::Local(group.declared))
}

/// Refuses a rename after which a place of the new name means another thing than before.
pub(super) fn read_again(world: &World<'_>, places: &Places, refusal: &mut Refusal) -> Result<(), Error> {
    let mut after = Reading { outlines: world.outlines_for(places)?, texts: BTreeMap::new() };
    let before = Crates::of(world, &after.outlines);
    let mut expected: BTreeMap<String, Labels> = BTreeMap::new();
    let (from, to) = (world.change.from, world.change.to);
    let is_rust = |path: &&str| Family::of_path(path) == Some(Family::Rust);
    let changed = places.code.keys().map(String::as_str);
    let taken = world.taken_files()?.into_iter().filter(is_rust).filter(|path| after.outlines.contains_key(*path));
    for path in taken.chain(changed).collect::<BTreeSet<_>>() {
        let mut all = Labels::new();
        if let Some(facts) = world.facts(path, to) {
            all.extend(labels(&before, path, (to, &facts))?);
        }
        // A macro may name a thing of the module in which it is called.
        let is_open = |label: &Label| matches!(label, Label::Unclear(reason) if !OF_NAMES.contains(reason));
        if !places.is_local && all.values().any(is_open) {
            refusal.add_file(path, (TAKEN, IN_MACRO))?;
        }
        let renamed = places.code.get(path);
        if let (Some(renamed), Some(facts)) = (renamed, world.facts(path, from)) {
            let labels = labels(&before, path, (from, &facts))?.into_iter();
            all.extend(labels.filter(|(at, _)| renamed.contains_key(at)));
        }
        expected.insert(path.to_owned(), all);
    }
    for path in places.code.keys() {
        after.read(world, path, places)?;
    }
    let crates = Crates::of(world, &after.outlines);
    for (path, expected) in expected {
        let text = after.texts.get(&path);
        let facts = match text {
            Some(text) => text.facts(to).map(Rc::new),
            None => world.facts(&path, to),
        };
        let Some(facts) = facts else { continue };
        let found = labels(&crates, &path, (to, &facts))?;
        let found = found.into_iter().map(|(at, label)| (after.before(&path, at), after.labelled(&path, label)));
        let found: Labels = found.collect();
        let differs = |at: &&usize| expected.get(at) != found.get(at);
        if let Some(at) = expected.keys().chain(found.keys()).find(differs) {
            refusal.add_place(world, (&path, *at), (TAKEN, OTHER_THING))?;
        }
    }
    Ok(())
}

/// A changed text, with the places before.
struct Text {
    text: String,
    /// The renamed places after and before.
    moved: forms::Moved,
}

impl Text {
    fn facts(&self, name: &str) -> Option<Facts> {
        let tree = tree::parse(Language::Rust, &self.text, &|| Ok(())).ok()?;
        names::facts(Language::Rust, &tree, &self.text, Change { from: name, to: name })
    }
}

/// The world after a rename.
struct Reading {
    outlines: Outlines,
    texts: BTreeMap<String, Text>,
}

impl Reading {
    /// Reads a file with its renamed places.
    fn read(&mut self, world: &World<'_>, path: &str, places: &Places) -> Result<(), Error> {
        let Some(before) = world.text(path) else { return Ok(()) };
        let edits = places.code[path].values().map(|(range, form)| (range, forms::text(*form, world.names())));
        let (text, moved) = forms::written(&before, edits);
        let outline = outline(&world.tree(Language::Rust, &text)?, &text);
        self.outlines.insert(path.to_owned(), Rc::new(outline));
        self.texts.insert(path.to_owned(), Text { text, moved });
        Ok(())
    }

    /// The place before a rename of a place after it.
    fn before(&self, path: &str, at: usize) -> usize {
        let moved = self.texts.get(path).and_then(|text| text.moved.iter().rev().find(|(after, _)| after.start <= at));
        moved.map_or(at, |(after, before)| if at < after.end { before.start } else { before.end + at - after.end })
    }

    /// A meaning, by places before.
    fn labelled(&self, path: &str, label: Label) -> Label {
        match label {
            Label::Local(at) => Label::Local(self.before(path, at)),
            Label::Things(things) => Label::Things(
                things
                    .into_iter()
                    .map(|found| match found {
                        Found::Thing(file, at) => {
                            let at = self.before(&file, at);
                            Found::Thing(file, at)
                        }
                        other => other,
                    })
                    .collect(),
            ),
            Label::Member | Label::Unclear(_) => label,
        }
    }
}

/// Refuses places in files that use a procedural macro of the workspace, because its output may contain any name.
pub(super) fn expanded(world: &World<'_>, places: &Places, refusal: &mut Refusal) -> Result<(), Error> {
    let macros = world.manifests()?.macros();
    for page in places.code.keys().filter_map(|path| world.page(path)) {
        if macros.iter().any(|name| !Word::new(name).places(Language::Rust, &page.text).is_empty()) {
            let at = page.tokens.first().map_or(0, |token| token.range.start);
            refusal.add_lasting(page, at, (UNKNOWN, "its file uses a procedural macro of the workspace"));
        }
    }
    Ok(())
}

/// Tests for the name styles that Rust lints know: snake case, upper case, and camel case.
const STYLES: [fn(&str) -> bool; 3] = [
    |name| !name.contains(char::is_uppercase),
    |name| !name.contains(char::is_lowercase),
    |name| name.starts_with(char::is_uppercase) && !name.contains('_'),
];

/// Refuses raw identifiers, and a new name in a style that lints may deny.
pub(super) fn spelled(world: &World<'_>, places: &Places, refusal: &mut Refusal) -> Result<(), Error> {
    let (from, to) = world.names();
    let other = |name: &str| name.strip_prefix("r#").map_or_else(|| format!("r#{name}"), str::to_owned);
    let raw = [from, to].map(other);
    let is_keyword = |name: &&String| reserved::refusal(Language::Rust, name).is_some();
    let words: Vec<_> = raw.iter().filter(|name| !is_keyword(name)).map(|raw| Word::new(raw)).collect();
    let is_raw = |file: &Source<'_>| Ok(words.iter().any(|word| !word.places(Language::Rust, file.text).is_empty()));
    refusal.add_files(world.files(Family::Rust, &is_raw)?, (UNKNOWN, "it writes the name as a raw identifier"))?;
    let of = |name: &str| STYLES.map(|is_style| is_style(name.trim_matches('_')));
    let has_style = |(old, new): (bool, bool)| old && new;
    let (old, new) = (of(from), of(to));
    if old.contains(&true) && !old.into_iter().zip(new).any(has_style) {
        for page in places.homes.iter().filter_map(|(path, _)| world.page(path)) {
            let at = page.tokens.first().map_or(0, |token| token.range.start);
            refusal.add_lasting(page, at, (TAKEN, "the new name is in another style, which a lint may deny"));
        }
    }
    Ok(())
}

/// Refuses if a file of the workspace defines one of the macros that were read as those of the standard library.
pub(super) fn macros(world: &World<'_>, places: &Places, refusal: &mut Refusal) -> Result<(), Error> {
    let of_page = |path: &String| world.facts(path, world.change.from).map(|facts| facts.macros.clone());
    let read: BTreeSet<String> = places.code.keys().filter_map(of_page).flatten().collect();
    if read.is_empty() {
        return Ok(());
    }
    let defines = |file: &Source<'_>| Ok(rust_macro::defined(file.text).any(|name| read.contains(name)));
    let what = (UNKNOWN, "it defines a macro of the name of one that its places stand in");
    refusal.add_files(world.files(Family::Rust, &defines)?, what)
}
