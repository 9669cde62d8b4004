//! The classes of Python that inherit from each other: a member of one is a member of all.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    page::Family,
    places::Places,
    refusal::{Refusal, UNKNOWN},
    world::World,
};
use base::{error::Error, path::RepoPath};
use format::name::kin::{self, Base, Class};

/// Members of the classes of the language: numbers, texts, collections, exceptions and enumerations.
const OF_LIBRARY: &str = " add add_note append args as_integer_ratio bit_count bit_length capitalize casefold center \
    characters_written clear code conjugate copy count decode denominator derive difference difference_update discard encode \
    encoding end end_lineno end_offset endswith errno exceptions expandtabs extend filename filename2 find format format_map \
    from_bytes fromhex fromkeys get hex imag index insert intersection intersection_update is_integer isalnum isalpha isascii \
    isdecimal isdigit isdisjoint isidentifier islower isnumeric isprintable isspace issubset issuperset istitle isupper items \
    join keys lineno ljust lower lstrip maketrans message mro msg name name_from numerator obj object offset partition path pop \
    popitem print_file_and_line real reason register remove removeprefix removesuffix replace reverse rfind rindex rjust \
    rpartition rsplit rstrip setdefault sort split splitlines start startswith strerror strip subgroup swapcase \
    symmetric_difference symmetric_difference_update text title to_bytes translate union update upper value values \
    with_traceback zfill _asdict _fields _field_defaults _generate_next_value_ _ignore_ _make _missing_ _name_ _order_ \
    _replace _value_ ";

/// Names by which the standard library and the language call members of any class.
const CALLED: &str = " acquire close closed detach emit filter fileno flush format getvalue handle isatty items keys read \
    read1 readable readinto readline readlines release seek seekable send tell throw truncate values writable write writelines ";

/// Classes of the language without other members.
const BUILT_IN: &str = " object dict list set frozenset str int float bytes bytearray tuple complex bool ";

/// Classes of the libraries of types, abstract classes and enumerations, without other members.
const TYPED: &str = " ABC Dict Enum Flag Generic IntEnum IntFlag List NamedTuple Protocol Set StrEnum Tuple TypedDict ";

fn is_of(list: &str, name: &str) -> bool {
    !name.is_empty() && list.contains(&format!(" {name} "))
}

/// A class with its file.
struct Node {
    path: RepoPath,
    class: Class,
    parents: Vec<usize>,
    children: Vec<usize>,
    /// Bases that the workspace does not declare, or not certainly.
    foreign: Vec<Base>,
}

/// The classes of a workspace.
pub(super) struct Classes {
    nodes: Vec<Node>,
    name: String,
}

/// Reads every class of a workspace.
pub(super) fn classes(world: &World<'_>) -> Result<Classes, Error> {
    let name = world.change.from.to_owned();
    let read = world.map_files(Family::Python, &|file| {
        Ok(if file.text.contains("class ") { kin::classes(&file.tree()?, file.text, &name) } else { Vec::new() })
    })?;
    let mut nodes = Vec::new();
    for (path, classes) in read {
        nodes.extend(classes.into_iter().map(|class| Node {
            path: path.clone(),
            class,
            parents: Vec::new(),
            children: Vec::new(),
            foreign: Vec::new(),
        }));
    }
    let own = own_modules(world)?;
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        by_name.entry(node.class.name.clone()).or_default().push(at);
    }
    for at in 0..nodes.len() {
        for base in std::mem::take(&mut nodes[at].class.bases) {
            let module = base.module.as_deref().and_then(|module| module.split('.').next());
            let is_own = module.is_none_or(|first| first.is_empty() || own.contains(first));
            let found = by_name.get(&base.name).filter(|_| is_own);
            for parent in found.into_iter().flatten().copied().filter(|parent| *parent != at) {
                nodes[at].parents.push(parent);
                nodes[parent].children.push(at);
            }
            if found.is_none() {
                nodes[at].foreign.push(base);
            }
        }
    }
    Ok(Classes { nodes, name })
}

/// The first parts of the names of modules that the workspace may have.
fn own_modules(world: &World<'_>) -> Result<BTreeSet<String>, Error> {
    let mut own = BTreeSet::new();
    for path in world.paths()?.iter().filter(|path| Family::of_path(path) == Some(Family::Python)) {
        own.extend(path.split('/').map(|part| part.trim_end_matches(".pyi").trim_end_matches(".py").to_owned()));
    }
    Ok(own)
}

impl Classes {
    /// True if a class declares a renamed place.
    pub(super) fn have(&self, places: &Places) -> bool {
        !self.renamed(places).is_empty()
    }

    /// The classes of which a declaration is renamed.
    fn renamed(&self, places: &Places) -> BTreeSet<usize> {
        let is_renamed = |node: &Node| node.class.members.iter().any(|place| places.has(&node.path, place.start));
        (0..self.nodes.len()).filter(|at| is_renamed(&self.nodes[*at])).collect()
    }

    /// Those classes, what inherits from them, and all from which these inherit.
    fn related(&self, places: &Places) -> BTreeSet<usize> {
        let below = self.reach(self.renamed(places), |node| &node.children);
        self.reach(below, |node| &node.parents)
    }

    fn reach(&self, from: BTreeSet<usize>, next: impl Fn(&Node) -> &[usize]) -> BTreeSet<usize> {
        let mut open: Vec<usize> = from.iter().copied().collect();
        let mut reached = from;
        while let Some(at) = open.pop() {
            open.extend(next(&self.nodes[at]).iter().copied().filter(|next| reached.insert(*next)));
        }
        reached
    }

    /// The declarations of the same member that are not renamed.
    pub(super) fn left(&self, places: &Places) -> Vec<(RepoPath, usize)> {
        let mut left = Vec::new();
        for at in self.related(places) {
            let node = &self.nodes[at];
            let members = node.class.members.iter().map(|place| place.start);
            left.extend(members.filter(|at| !places.has(&node.path, *at)).map(|at| (node.path.clone(), at)));
        }
        left
    }

    /// Refuses what the classes of the workspace do not tell: members of libraries, and those that a decorator changes.
    pub(super) fn judge(&self, world: &World<'_>, places: &Places, refusal: &mut Refusal) -> Result<(), Error> {
        let renamed = self.renamed(places);
        let Some(first) = renamed.iter().next().map(|at| &self.nodes[*at]) else { return Ok(()) };
        let mut refuse = |node: &Node, reason: &str| match world.page(&node.path) {
            Some(page) => {
                refusal.add(page, node.class.at, (UNKNOWN, reason));
                Ok(())
            }
            None => refusal.add_file(&node.path, (UNKNOWN, reason)),
        };
        if is_of(CALLED, &self.name) || self.name.starts_with("__") {
            refuse(first, "libraries and the language call members of that name")?;
        }
        for at in self.related(places) {
            let node = &self.nodes[at];
            if let Some(base) = node.foreign.iter().find(|base| !lacks(base, &self.name)) {
                let base = if base.name.is_empty() { "an expression" } else { base.name.as_str() };
                refuse(node, &format!("it inherits from `{base}` of elsewhere, which may have the member"))?;
            }
            if node.class.is_changed && node.class.has_field {
                refuse(node, "a decorator or a metaclass may give its fields another meaning")?;
            }
        }
        // A class may be a protocol's without naming it.
        let declaring = |at: &usize| !self.nodes[*at].class.members.is_empty();
        let is_protocol = |at: &usize| self.nodes[*at].foreign.iter().any(|base| base.name == "Protocol");
        let has_protocol = renamed.iter().any(is_protocol);
        for at in (0..self.nodes.len()).filter(declaring).filter(|at| !renamed.contains(at)) {
            if has_protocol || is_protocol(&at) {
                refuse(&self.nodes[at], "it has the member too, and one of both is a protocol")?;
            }
        }
        Ok(())
    }
}

/// True if a class of elsewhere is known to be without a member.
fn lacks(base: &Base, member: &str) -> bool {
    let module = base.module.as_deref().map(|module| module.split('.').next().unwrap_or_default());
    let is_exception = || {
        ["Error", "Exception", "Warning", "Exit", "Interrupt", "Iteration"].iter().any(|end| base.name.ends_with(end))
    };
    let is_known = match module {
        None | Some("builtins") => is_of(BUILT_IN, &base.name) || is_exception(),
        Some("abc" | "enum" | "typing" | "typing_extensions") => is_of(TYPED, &base.name),
        Some(_) => false,
    };
    is_known && !is_of(OF_LIBRARY, member)
}
