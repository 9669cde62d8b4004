//! The modules of Rust crates, and the things that a name or a path means in one of them.
//!
//! Every file that no other declares as a module begins a crate. A path that leads nowhere means something unknown.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    manifest::{folder, joined},
    world::{Outlines, World},
};
use base::error::Error;
use format::name::outline::{Entry, Outline, Sight, What};

/// The longest chain of imports that is followed.
const DEEPEST: usize = 64;

/// Types that no file declares.
const PRIMITIVES: &[&str] = &[
    "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "str", "u128", "u16", "u32", "u64", "u8",
    "usize",
];

/// A thing that a name may mean.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    /// A declaration, by its file and place.
    Thing(String, usize),
    /// A module.
    Module,
    /// A thing of another library, or a member of a type.
    Outside,
    /// Perhaps one of the things that a file takes from another library.
    MayBeOutside,
    /// Perhaps one of the things that a file takes from an unknown module.
    MayBeUnknown,
    /// A variant of an enumeration.
    Variant,
    /// Nothing that paths tell.
    Unknown,
}

/// The end of a step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A name of a module, by its number there.
    Entry(usize, usize),
    Module(usize),
    Other(Found),
    /// It leads back to itself, and means whatever else is found.
    Circle,
}

type Steps = BTreeSet<Step>;

/// The names that are being looked up, so that circles end.
type Trail = Vec<(usize, String)>;

/// A module of a crate. A file may be several modules.
#[derive(Debug)]
struct Node {
    file: Rc<str>,
    outline: Rc<Outline>,
    /// Its number in the outline.
    local: usize,
    parent: Option<usize>,
    root: usize,
    /// The modules that its entries declare.
    children: BTreeMap<usize, Vec<usize>>,
}

/// The crates of a workspace.
pub(super) struct Crates<'w, 'a> {
    world: &'w World<'a>,
    nodes: Vec<Node>,
    /// The modules that files are.
    files: BTreeMap<Rc<str>, Vec<usize>>,
}

impl<'w, 'a> Crates<'w, 'a> {
    /// Connects the modules of files.
    pub(super) fn of(world: &'w World<'a>, outlines: &Outlines) -> Self {
        let mut all = Crates { world, nodes: Vec::new(), files: BTreeMap::new() };
        let is_root = |file: &str| is_root_file(world, file);
        // A file is claimed if a module may be in it by either rule of folders.
        let mut claimed = BTreeSet::new();
        for (file, outline) in outlines {
            for (local, module) in outline.modules.iter().enumerate() {
                for entry in &module.entries {
                    for is_folder in [true, false] {
                        let paths = files_of((file, is_folder), outline, local, entry);
                        claimed.extend(paths.into_iter().filter(|path| path != file && outlines.contains_key(path)));
                    }
                }
            }
        }
        let roots = outlines.keys().filter(|file| is_root(file) || !claimed.contains(*file));
        for file in roots {
            all.add(outlines, file, None, true);
        }
        for file in outlines.keys() {
            if !all.files.contains_key(file.as_str()) {
                all.add(outlines, file, None, true);
            }
        }
        all
    }

    /// Adds a file as a module of the node `parent`; its number.
    fn add(&mut self, outlines: &Outlines, file: &str, parent: Option<usize>, is_folder: bool) -> Option<usize> {
        let outline = outlines.get(file)?;
        // A file that declares itself is no module of a crate.
        let mut above = parent;
        while let Some(node) = above {
            above = self.nodes[node].parent;
            if *self.nodes[node].file == *file && self.nodes[node].local == 0 {
                return None;
            }
        }
        let (base, name) = (self.nodes.len(), Rc::<str>::from(file));
        let root = parent.map_or(base, |parent| self.nodes[parent].root);
        for (local, module) in outline.modules.iter().enumerate() {
            let parent = module.parent.map_or(parent, |parent| Some(base + parent));
            let (file, outline) = (Rc::clone(&name), Rc::clone(outline));
            self.nodes.push(Node { file, outline, local, parent, root, children: BTreeMap::new() });
        }
        self.files.entry(Rc::clone(&name)).or_default().push(base);
        for (local, module) in outline.modules.iter().enumerate() {
            for (n, entry) in module.entries.iter().enumerate() {
                let mut children = Vec::new();
                if let What::Module(inner) = entry.what {
                    children.push(base + inner);
                }
                for path in files_of((file, is_folder), outline, local, entry) {
                    let has_path = matches!(entry.what, What::File(Some(_)));
                    let is_folder = has_path || path.ends_with("/mod.rs");
                    children.extend(self.add(outlines, &path, Some(base + local), is_folder));
                }
                self.nodes[base + local].children.insert(n, children);
            }
        }
        Some(base)
    }

    /// The innermost modules at a place of a file.
    fn modules_at(&self, file: &str, at: usize) -> Vec<usize> {
        let bases = self.files.get(file).map_or(&[][..], Vec::as_slice);
        let innermost = |base: &usize| {
            let modules = self.nodes[*base].outline.modules.iter().enumerate();
            let around = modules.filter(|(_, module)| module.range.contains(&at));
            around.min_by_key(|(_, module)| module.range.len()).map(|(local, _)| base + local)
        };
        bases.iter().filter_map(innermost).collect()
    }

    /// The things that a name without a path may mean at a place; none for a name that nothing declares.
    pub(super) fn name(&self, (file, at): (&str, usize), name: &str) -> Result<BTreeSet<Found>, Error> {
        self.each((file, at), |node| self.lexical(node, name, &mut Trail::new()))
    }

    /// The things that a path may mean at a place.
    pub(super) fn path(&self, (file, at): (&str, usize), path: &str) -> Result<BTreeSet<Found>, Error> {
        let found = self.each((file, at), |node| self.walk(node, path, &mut Trail::new()))?;
        Ok(if found.is_empty() { BTreeSet::from([Found::Unknown]) } else { found })
    }

    fn each(
        &self,
        (file, at): (&str, usize),
        find: impl Fn(usize) -> Result<Steps, Error>,
    ) -> Result<BTreeSet<Found>, Error> {
        let mut all = BTreeSet::new();
        for node in self.modules_at(file, at) {
            all.extend(find(node)?.into_iter().map(|step| self.found(step)));
        }
        Ok(all)
    }

    fn found(&self, step: Step) -> Found {
        match step {
            Step::Entry(node, entry) => Found::Thing(self.nodes[node].file.to_string(), self.entry(node, entry).at),
            Step::Circle => Found::Unknown,
            Step::Module(_) => Found::Module,
            Step::Other(found) => found,
        }
    }

    fn entry(&self, node: usize, entry: usize) -> &Entry {
        let node = &self.nodes[node];
        &node.outline.modules[node.local].entries[entry]
    }

    /// True if a pattern of its name is compared with a thing.
    pub(super) fn is_compared(&self, found: &Found, name: &str) -> bool {
        match found {
            Found::Thing(file, at) => {
                let bases = self.files.get(file.as_str()).into_iter().flatten();
                let mut entries = bases.flat_map(|base| &self.nodes[*base].outline.modules).flat_map(|m| &m.entries);
                entries.any(|entry| entry.at == *at && matches!(entry.what, What::Item(true) | What::Use(_)))
            }
            Found::Variant => true,
            // A name of another library is seldom a constant, but a new name must not become one.
            Found::Outside | Found::Unknown => name == self.world.change.to || name.starts_with(char::is_uppercase),
            Found::MayBeOutside | Found::MayBeUnknown => name.starts_with(char::is_uppercase),
            Found::Module => false,
        }
    }

    /// The crate of a name, for code that names no other thing so.
    fn library(&self, name: &str) -> Result<Steps, Error> {
        let manifests = self.world.manifests()?;
        let step = match manifests.library_of(name) {
            Some(Some(root)) => {
                let modules = self.files.get(root).into_iter().flatten();
                let mut roots = modules.filter(|node| self.nodes[**node].parent.is_none());
                roots.next().map_or(Step::Other(Found::Unknown), |root| Step::Module(*root))
            }
            Some(None) => Step::Other(Found::Unknown),
            None if manifests.is_foreign_library(name) => Step::Other(Found::Outside),
            None => return Ok(Steps::new()),
        };
        Ok(Steps::from([step]))
    }

    /// The module with a name around a block.
    fn named(&self, node: usize) -> usize {
        let module = &self.nodes[node].outline.modules[self.nodes[node].local];
        match self.nodes[node].parent {
            Some(parent) if module.name.is_none() && module.parent.is_some() => self.named(parent),
            _ => node,
        }
    }

    fn above(&self, node: usize) -> Steps {
        let parent = self.nodes[self.named(node)].parent.map(|parent| self.named(parent));
        Steps::from([parent.map_or(Step::Other(Found::Unknown), Step::Module)])
    }

    /// The meaning of a name in a module, in the blocks around it, and as a crate.
    fn lexical(&self, node: usize, name: &str, trail: &mut Trail) -> Result<Steps, Error> {
        let (mut at, named) = (node, self.named(node));
        // What a block takes of elsewhere may hide the name around it.
        let mut doubt = Steps::new();
        loop {
            let mut found = self.within(at, name, None, trail)?;
            let is_circle = found.remove(&Step::Circle);
            let may_be = |step: &Step| matches!(step, Step::Other(Found::MayBeOutside | Found::MayBeUnknown));
            if found.iter().all(may_be) && at != named {
                doubt.append(&mut found);
            }
            if !found.is_empty() {
                found.append(&mut doubt);
                return Ok(found);
            }
            match self.nodes[at].parent {
                Some(parent) if at != named => at = parent,
                _ => {
                    found = self.library(name)?;
                    found.append(&mut doubt);
                    return Ok(if found.is_empty() && is_circle { Steps::from([Step::Circle]) } else { found });
                }
            }
        }
    }

    /// The meaning of a name that a module declares, imports or takes by `*`. `from` is a module that takes all it sees.
    fn within(&self, node: usize, name: &str, from: Option<usize>, trail: &mut Trail) -> Result<Steps, Error> {
        let key = (node, name.to_owned());
        if trail.contains(&key) {
            // `use a::a` leads through the module of that name, which needs no other look.
            let modules = self.modules_of(node, name);
            return Ok(if modules.is_empty() { Steps::from([Step::Circle]) } else { modules });
        }
        if trail.len() > DEEPEST {
            return Ok(Steps::from([Step::Other(Found::Unknown)]));
        }
        trail.push(key);
        let found = self.declared(node, name, from, trail).and_then(|found| match found.is_empty() {
            true => self.starred(node, name, from, trail),
            false => Ok(found),
        });
        trail.pop();
        found
    }

    /// The modules that a module declares under a name.
    fn modules_of(&self, node: usize, name: &str) -> Steps {
        let module = &self.nodes[node].outline.modules[self.nodes[node].local];
        let declares = |entry: &Entry| entry.name == name && matches!(entry.what, What::File(_) | What::Module(_));
        let of_name = module.entries.iter().enumerate().filter(|(_, entry)| declares(entry));
        let files = of_name.flat_map(|(n, _)| self.nodes[node].children.get(&n).into_iter().flatten());
        files.copied().map(Step::Module).collect()
    }

    fn declared(&self, node: usize, name: &str, from: Option<usize>, trail: &mut Trail) -> Result<Steps, Error> {
        let module = &self.nodes[node].outline.modules[self.nodes[node].local];
        let mut found = Steps::new();
        let of_name = module.entries.iter().enumerate().filter(|(_, entry)| entry.name == name);
        for (n, entry) in of_name.filter(|(_, entry)| self.sees(from, node, entry.sight)) {
            let children = || self.nodes[node].children.get(&n).into_iter().flatten();
            found.append(&mut match &entry.what {
                What::Use(path) if last(path) == name => {
                    let mut steps = or_unknown(self.walk(node, path, trail)?);
                    steps.remove(&Step::Circle);
                    steps
                }
                What::Crate(of) if of == "self" => Steps::from([Step::Module(self.nodes[node].root)]),
                What::Crate(of) => or_unknown(self.library(of)?),
                What::Conditional => or_unknown(Steps::new()),
                What::File(_) | What::Module(_) => or_unknown(children().copied().map(Step::Module).collect()),
                What::Enum(_) | What::Foreign | What::Item(_) | What::Use(_) => Steps::from([Step::Entry(node, n)]),
            });
        }
        Ok(found)
    }

    fn starred(&self, node: usize, name: &str, from: Option<usize>, trail: &mut Trail) -> Result<Steps, Error> {
        let module = &self.nodes[node].outline.modules[self.nodes[node].local];
        let mut found = Steps::new();
        for (path, sight) in &module.stars {
            if !self.sees(from, node, *sight) {
                continue;
            }
            for step in or_unknown(self.walk(node, path, trail)?) {
                match step {
                    Step::Module(of) => {
                        let inner = self.within(of, name, Some(node), trail)?;
                        found.extend(inner.into_iter().filter(|step| *step != Step::Circle));
                    }
                    Step::Entry(of, entry) => {
                        let variants = self.variants(of, entry, trail)?;
                        found.extend(variants.contains(&name.to_owned()).then_some(Step::Other(Found::Variant)));
                    }
                    Step::Other(Found::Unknown | Found::MayBeUnknown) => {
                        found.insert(Step::Other(Found::MayBeUnknown));
                    }
                    Step::Circle => {}
                    Step::Other(_) => drop(found.insert(Step::Other(Found::MayBeOutside))),
                }
            }
        }
        // The crate could not be built if a library had another thing of the name, unless the name is the new one.
        if name != self.world.change.to && found.iter().any(|step| matches!(step, Step::Entry(..))) {
            found.remove(&Step::Other(Found::MayBeOutside));
        }
        Ok(found)
    }

    /// The variants of an enumeration, which may have another name.
    fn variants(&self, node: usize, entry: usize, trail: &mut Trail) -> Result<Vec<String>, Error> {
        match &self.entry(node, entry).what {
            What::Enum(variants) => Ok(variants.clone()),
            What::Use(path) => match self.walk(node, path, trail)?.first() {
                Some(Step::Entry(of, other)) if (*of, *other) != (node, entry) => self.variants(*of, *other, trail),
                _ => Ok(Vec::new()),
            },
            _ => Ok(Vec::new()),
        }
    }

    /// True if a module sees a name of another.
    fn sees(&self, from: Option<usize>, node: usize, sight: Sight) -> bool {
        let Some(from) = from else { return true };
        match sight {
            Sight::All => true,
            Sight::Crate => self.nodes[from].root == self.nodes[node].root,
            Sight::Within => {
                let owner = self.named(node);
                let mut at = Some(from);
                while let Some(here) = at {
                    if here == owner {
                        return true;
                    }
                    at = self.nodes[here].parent;
                }
                false
            }
        }
    }

    /// The meaning of a path in a module; none if its first name means nothing.
    fn walk(&self, node: usize, path: &str, trail: &mut Trail) -> Result<Steps, Error> {
        let is_absolute = path.starts_with("::");
        let mut segments = path.trim_start_matches("::").split("::");
        let first = segments.next().unwrap_or_default();
        let mut found = match first {
            _ if is_absolute => self.library(first)?,
            "crate" => Steps::from([Step::Module(self.nodes[node].root)]),
            "self" => Steps::from([Step::Module(self.named(node))]),
            "super" => self.above(node),
            "Self" => Steps::from([Step::Other(Found::Outside)]),
            first => self.lexical(node, first, trail)?,
        };
        let is_type = first.starts_with(char::is_uppercase) || PRIMITIVES.contains(&first);
        for (n, segment) in segments.enumerate() {
            if n == 0 && found.is_empty() && is_type {
                found.insert(Step::Other(Found::Outside));
            }
            let mut next = Steps::new();
            for step in found {
                next.extend(self.step(step, segment, trail)?);
            }
            found = next;
        }
        Ok(found)
    }

    /// The meaning of a name after a step of a path.
    fn step(&self, step: Step, segment: &str, trail: &mut Trail) -> Result<Steps, Error> {
        match step {
            Step::Circle => Ok(Steps::from([Step::Circle])),
            Step::Module(module) if segment == "super" => Ok(self.above(module)),
            Step::Module(module) if segment == "self" => Ok(Steps::from([Step::Module(module)])),
            Step::Module(module) => self.within(module, segment, None, trail).map(or_unknown),
            Step::Entry(node, entry) => match &self.entry(node, entry).what {
                What::Use(path) => {
                    let mut found = Steps::new();
                    for step in self.walk(node, path, trail)? {
                        let is_same = step == Step::Entry(node, entry);
                        found.extend(if is_same { Steps::new() } else { self.step(step, segment, trail)? });
                    }
                    Ok(or_unknown(found))
                }
                _ => Ok(Steps::from([Step::Other(Found::Outside)])),
            },
            Step::Other(Found::Unknown | Found::MayBeUnknown) => Ok(or_unknown(Steps::new())),
            Step::Other(_) => Ok(Steps::from([Step::Other(Found::Outside)])),
        }
    }
}

/// The steps that were found, or one to something unknown.
fn or_unknown(found: Steps) -> Steps {
    if found.is_empty() { Steps::from([Step::Other(Found::Unknown)]) } else { found }
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The files that may be the module of an entry. `is_folder` is true if the file stands for its folder.
fn files_of((file, is_folder): (&str, bool), outline: &Outline, local: usize, entry: &Entry) -> Vec<String> {
    let What::File(path) = &entry.what else { return Vec::new() };
    let mut names = Vec::new();
    let mut at = Some(local);
    while let Some(module) = at {
        names.extend(outline.modules[module].name.as_deref());
        at = outline.modules[module].parent;
    }
    names.reverse();
    let is_inner = !names.is_empty();
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let own = if is_folder { folder(file) } else { stem };
    let base = names.iter().fold(own.to_owned(), |base, name| below(&base, name));
    match path {
        Some(path) if is_inner => joined(&base, path).into_iter().collect(),
        Some(path) => joined(folder(file), path).into_iter().collect(),
        None => vec![below(&base, &format!("{}.rs", entry.name)), below(&base, &format!("{}/mod.rs", entry.name))],
    }
}

/// A path below a folder.
fn below(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

/// True for a file at which a crate begins by its place or by a manifest.
fn is_root_file(world: &World<'_>, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    let above = folder(file);
    let is_in = |folder: &str| {
        ["benches", "bin", "examples", "tests"].iter().any(|of| folder == *of || folder.ends_with(&format!("/{of}")))
    };
    let is_main = name == "main.rs" && (is_in(folder(above)) || above == "src" || above.ends_with("/src"));
    let is_library = matches!(name, "build.rs" | "lib.rs") && !above.contains("tests/");
    is_main
        || is_in(above) && !matches!(name, "mod.rs")
        || is_library
        || world.manifests().is_ok_and(|all| all.is_program(file))
}
