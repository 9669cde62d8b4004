//! Python keyword arguments: which of them name the parameter, because their call is bound to its function.

use super::{
    link, lookup,
    page::{Family, Page},
    places::{End, Places},
    refusal::{Refusal, TAKEN, UNKNOWN},
    world::World,
};
use base::{error::Error, path::RepoPath};
use format::name::{
    built,
    facts::{By, Called, Form, Kind, Meaning, Origin, Owner, Reach},
    value,
};

const MAY_NAME: &str = "it may name the parameter";

/// The meaning of an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// The parameter.
    It,
    /// One of another function.
    Another,
    /// One of them.
    Either,
}

/// The uses of a function in a workspace.
struct Use<'w, 'a> {
    world: &'w World<'a>,
    home: &'w Page,
    owner: &'w Owner,
    /// True if others may call it by another name, or pass arguments on to it.
    escapes: bool,
    /// True if an import gives it another name.
    is_aliased: bool,
    /// A file that calls the function with a dictionary of arguments.
    splat: Option<RepoPath>,
    /// A file that looks up the parameters of functions.
    inspects: Option<RepoPath>,
}

/// Marks of files that look up the parameters of functions.
const INSPECT: &[&str] = &["__code__", "getfullargspec", "signature("];

/// Renames keyword arguments in other files that name the parameter, and refuses the rename if another one may. True if the function
/// is no value and is only called by its own name, so that no dictionary can name the parameter.
pub(super) fn judge(
    world: &World<'_>,
    (home, owner): (&Page, &Owner),
    (places, refusal): (&mut Places, &mut Refusal),
) -> Result<bool, Error> {
    let used = Use::read(world, home, owner)?;
    if let Some(path) = &used.splat {
        refusal.add_file(path, (UNKNOWN, "it calls the function with a dictionary, which may name the parameter"))?;
    }
    if let Some(path) = used.inspects.as_ref().filter(|_| used.escapes) {
        let what = "it looks up the parameters of functions, and code uses this one as a value";
        refusal.add_file(path, (UNKNOWN, what))?;
    }
    let rest = &home.text[owner.at..];
    let takes_any = rest[..rest.find("):").or(rest.find(") ->")).unwrap_or(rest.len())].contains("**");
    if takes_any && world.taken_files()?.into_iter().any(|path| Family::of_path(path) == Some(Family::Python)) {
        let what = (TAKEN, "its function takes any keyword, and the new name is in use");
        refusal.add_lasting(home, owner.at, what);
    }
    for page in world.of_family(Family::Python)? {
        for loose in page.facts.iter().flat_map(|facts| &facts.loose) {
            let Meaning::Keyword(called) = &loose.meaning else { continue };
            match used.names(page, called)? {
                Names::It => {
                    places.is_local &= page.path == home.path;
                    places.add(&page.path, &loose.range, Form::Plain);
                }
                Names::Another => {}
                Names::Either => refusal.add_lasting(page, loose.range.start, (UNKNOWN, MAY_NAME)),
            }
        }
    }
    let is_called = !used.escapes && !used.is_aliased && !used.is_of_class();
    Ok(is_called
        && !lookup::computes(world, built::Sought { name: world.change.from, of_values: true, has_name: false })?)
}

impl<'w, 'a> Use<'w, 'a> {
    fn read(world: &'w World<'a>, home: &'w Page, owner: &'w Owner) -> Result<Self, Error> {
        let name = owner.name.as_str();
        let read = world.map_files(Family::Python, &|file| {
            let text = file.text;
            let inspects = INSPECT.iter().any(|mark| text.contains(mark));
            if name.is_empty() || !text.contains(name) {
                return Ok([false, false, inspects, false]);
            }
            let tree = file.tree()?;
            let is_aliased = text.contains(&format!("{name} as "));
            Ok([value::escapes(&tree, text, name), value::has_dictionary(&tree, text, name), inspects, is_aliased])
        })?;
        // A function without a name is a value wherever it stands.
        let escapes = name.is_empty() || read.iter().any(|(_, [escapes, ..])| *escapes);
        let first = |at: usize| read.iter().find(|(_, marks)| marks[at]).map(|(path, _)| path.clone());
        let is_aliased = first(3).is_some();
        Ok(Use { world, home, owner, escapes, is_aliased, splat: first(1), inspects: first(2) })
    }

    fn names(&self, page: &Page, called: &Called) -> Result<Names, Error> {
        let is_same = called.name == self.owner.name || called.name == "__init__";
        Ok(match &called.by {
            By::Own(at) if page.path == self.home.path && *at == self.owner.at => Names::It,
            // A subclass passes arguments on.
            By::Own(at) if self.escapes && self.is_class(page, *at, called) => Names::Either,
            By::Own(_) => Names::Another,
            By::Import(origin) => self.imported(page, origin)?,
            By::Free if is_same => Names::Either,
            By::Free => Names::Another,
            // The call may be bound to the function through an object or its class.
            By::Value if is_same || self.escapes || self.is_of_class() || called.name.is_empty() => Names::Either,
            By::Value => Names::Another,
        })
    }

    fn is_of_class(&self) -> bool {
        self.owner.is_member || self.owner.name.starts_with(|c: char| c.is_uppercase() || c == '_')
    }

    fn is_class(&self, page: &Page, at: usize, called: &Called) -> bool {
        let facts = self.world.facts(&page.path, &called.name);
        facts.is_none_or(|facts| facts.groups.iter().any(|group| group.declared == at && group.kind == Kind::Class))
    }

    /// The meaning of an argument in a call of an imported function.
    fn imported(&self, page: &Page, origin: &Origin) -> Result<Names, Error> {
        let file = match link::follow(self.world, &page.path, origin)? {
            End::File(file) => file,
            End::Elsewhere if !self.escapes => return Ok(Names::Another),
            End::Elsewhere | End::Unknown => return Ok(Names::Either),
        };
        let facts = self.world.facts(&file, &origin.name);
        let declared =
            facts.as_ref().and_then(|facts| facts.groups.iter().find(|group| group.reach == Reach::Exported));
        Ok(match declared {
            Some(group) if file == self.home.path.as_str() && group.declared == self.owner.at => Names::It,
            Some(group) if group.kind == Kind::Function => Names::Another,
            Some(group) if group.kind == Kind::Class && !self.escapes => Names::Another,
            Some(_) | None => Names::Either,
        })
    }
}
