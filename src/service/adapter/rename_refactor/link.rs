//! The file that a module's name leads to, by the rules of each language as far as paths tell them.

use std::collections::BTreeSet;

use super::{
    manifest::{folder, joined},
    page::Family,
    places::End,
    world::World,
};
use base::error::Error;
use format::name::facts::{Export, Group, Kind, Origin, Reach};

/// The endings of scripts, in the order in which a module without ending is looked for.
const SCRIPTS: &[&str] = &[".ts", ".tsx", ".d.ts", ".d.mts", ".d.cts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];

/// The file that declares an imported name, from the file that imports it.
pub(super) fn follow(world: &World<'_>, from: &str, origin: &Origin) -> Result<End, Error> {
    match Family::of_path(from) {
        Some(Family::Script) => {
            let end = script_module(world, from, &origin.module)?;
            exported(world, end, &origin.name)
        }
        Some(Family::Python) => python_module(world, from, &origin.module),
        Some(Family::Rust) => rust_module(world, from, &origin.module),
        Some(Family::Go) => go_package(world, &origin.module),
        Some(Family::Java | Family::Other(_)) | None => Ok(End::Unknown),
    }
}

/// The file that exports a name, from the one that a module's name leads to.
pub(super) fn exported(world: &World<'_>, end: End, name: &str) -> Result<End, Error> {
    let End::File(first) = end else { return Ok(end) };
    world.end((&first, name), || exported_by(world, &first, name))
}

fn exported_by(world: &World<'_>, first: &str, name: &str) -> Result<End, Error> {
    let mut seen = BTreeSet::new();
    let mut open = vec![first.to_owned()];
    let mut is_unknown = false;
    while let Some(file) = open.pop() {
        if !seen.insert(file.clone()) || !world.may_export(&file, name) {
            continue;
        }
        let Some(facts) = world.facts(&file, name) else {
            is_unknown |= Family::of_path(&file) == Some(Family::Script);
            continue;
        };
        if let Some(Export::Own | Export::From(_)) = facts.exports.get(name) {
            return Ok(End::File(file));
        }
        for star in facts.stars.iter().rev() {
            match script_module(world, &file, star)? {
                End::File(next) => open.push(next),
                End::Elsewhere => {}
                End::Unknown => is_unknown = true,
            }
        }
    }
    Ok(if is_unknown { End::Unknown } else { End::Elsewhere })
}

/// The file of a module's name in a script.
pub(super) fn script_module(world: &World<'_>, from: &str, module: &str) -> Result<End, Error> {
    let paths = world.paths()?;
    if module.starts_with('.') {
        // A file that is not there may be built, ignored or left out, and may pass anything on.
        let base = joined(folder(from), module);
        return Ok(base.and_then(|base| script_file(paths, &base)).map_or(End::Unknown, End::File));
    }
    let bare = module.trim_start_matches(['@', '~', '#']).trim_start_matches('/');
    let (_, tail) = bare.split_once('/').unwrap_or(("", ""));
    let mut found = BTreeSet::new();
    for tail in [bare, tail].into_iter().filter(|tail| !tail.is_empty()) {
        found.extend(script_file(paths, tail));
        let ends = |path: &&String| {
            let module = SCRIPTS.iter().find_map(|ending| path.strip_suffix(ending));
            let module = module.map(|module| module.strip_suffix("/index").unwrap_or(module));
            module
                .is_some_and(|m| m.strip_suffix(tail).is_some_and(|before| before.is_empty() || before.ends_with('/')))
        };
        found.extend(paths.iter().filter(ends).cloned());
    }
    if world.manifests()?.is_alias(module) && found.len() != 1 {
        return Ok(End::Unknown);
    }
    let is_alias = ["@/", "~/", "#"].iter().any(|prefix| module.starts_with(prefix));
    match (found.len(), is_alias) {
        (1, true) => Ok(found.pop_first().map_or(End::Unknown, End::File)),
        (0, _) if !world.manifests()?.is_script_package(module) => Ok(End::Elsewhere),
        (_, _) => Ok(End::Unknown),
    }
}

/// The files that programs may take for a script, such as its declarations or what was compiled from it.
pub(super) fn twins<'p>(paths: &'p BTreeSet<String>, script: &str) -> Vec<&'p String> {
    let Some(stem) = SCRIPTS.iter().filter_map(|ending| script.strip_suffix(ending)).min_by_key(|stem| stem.len())
    else {
        return Vec::new();
    };
    let others = SCRIPTS.iter().filter_map(|ending| paths.get(&format!("{stem}{ending}")));
    others.filter(|other| other.as_str() != script).collect()
}

fn script_file(paths: &BTreeSet<String>, base: &str) -> Option<String> {
    const SWAPPED: &[(&str, &str)] =
        &[(".js", ".ts"), (".js", ".tsx"), (".jsx", ".tsx"), (".mjs", ".mts"), (".cjs", ".cts"), (".js", ".d.ts")];
    let swapped = SWAPPED.iter().filter_map(|(old, new)| Some(format!("{}{new}", base.strip_suffix(old)?)));
    let index = if base.is_empty() { "index".to_owned() } else { format!("{base}/index") };
    let with = |base: String| SCRIPTS.iter().map(move |ending| format!("{base}{ending}"));
    let candidates = std::iter::once(base.to_owned()).chain(swapped).chain(with(base.to_owned())).chain(with(index));
    candidates.into_iter().find(|candidate| paths.contains(candidate))
}

/// The file of a module of Python. A package is its `__init__.py`. What a module of the workspace has, and is no file, may be
/// another module under a name of its own.
fn python_module(world: &World<'_>, from: &str, module: &str) -> Result<End, Error> {
    let paths = world.paths()?;
    let end = python_file(paths, from, module);
    // What a module of the workspace has, and is no file, may be anything.
    let is_within = || {
        let ends =
            module.match_indices('.').map(|(at, _)| &module[..at]).filter(|above| !above.trim_matches('.').is_empty());
        ends.into_iter().any(|above| python_file(paths, from, above) != End::Elsewhere)
    };
    let is_own = module.starts_with('.') || is_within();
    let is_doubtful = end == End::Elsewhere && is_own && !is_declared(world, from, module);
    Ok(if is_doubtful { End::Unknown } else { end })
}

/// True if a path of Python leads into a class or a function that a module of the workspace declares.
fn is_declared(world: &World<'_>, from: &str, path: &str) -> bool {
    let Ok(paths) = world.paths() else { return false };
    let splits = path.rmatch_indices('.').map(|(at, _)| (&path[..at], path[at + 1..].split('.').next().unwrap_or("")));
    let mut modules = splits.filter_map(|(module, name)| match python_file(paths, from, module) {
        End::File(file) => Some((file, name)),
        End::Elsewhere | End::Unknown => None,
    });
    let Some(facts) = modules.next().and_then(|(file, name)| world.facts(&file, name)) else { return false };
    let is_own = |group: &Group| group.reach == Reach::Exported && matches!(group.kind, Kind::Class | Kind::Function);
    !facts.groups.is_empty() && facts.groups.iter().all(is_own)
}

/// True if an import of Python takes a module out of its package.
pub(super) fn is_module(world: &World<'_>, from: &str, origin: &Origin) -> Result<bool, Error> {
    let dot = if origin.module.ends_with('.') { "" } else { "." };
    let module = format!("{}{dot}{}", origin.module, origin.name);
    let is_python = Family::of_path(from) == Some(Family::Python);
    Ok(is_python && matches!(python_file(world.paths()?, from, &module), End::File(_)))
}

/// True if a package binds the last name of a module's path to something else than the module below it.
pub(super) fn is_hidden(world: &World<'_>, from: &str, module: &str) -> Result<bool, Error> {
    let Some((package, name)) = module.rsplit_once('.').filter(|(package, _)| !package.trim_matches('.').is_empty())
    else {
        return Ok(false);
    };
    let End::File(file) = python_file(world.paths()?, from, package) else { return Ok(false) };
    let facts = world.facts(&file, name);
    Ok(facts.is_some_and(|facts| {
        facts.groups.iter().any(|group| match &group.reach {
            Reach::Exported => true,
            // `from . import name` binds the module itself.
            Reach::Imported(origin) => origin.module != "." && origin.module != package,
            Reach::Global | Reach::Local | Reach::Named(_) => false,
        })
    }))
}

fn python_file(paths: &BTreeSet<String>, from: &str, module: &str) -> End {
    let rest = module.trim_start_matches('.');
    let dots = module.len() - rest.len();
    let below = rest.replace('.', "/");
    let ends = match below.is_empty() {
        true => vec!["__init__.py".to_owned()],
        false => vec![format!("{below}.py"), format!("{below}/__init__.py"), format!("{below}.pyi")],
    };
    if dots > 0 {
        let mut base = folder(from);
        for _ in 1..dots {
            base = folder(base);
        }
        let mut found = ends.iter().map(|end| if base.is_empty() { end.clone() } else { format!("{base}/{end}") });
        return found.find(|path| paths.contains(path)).map_or(End::Elsewhere, End::File);
    }
    let is_end = |path: &String, end: &String| {
        path.strip_suffix(end.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let mut found = paths.iter().filter(|path| ends.iter().any(|end| is_end(path, end)));
    match (found.next(), found.next()) {
        // Programs look from the top, from `src`, and from the folders around a file.
        (Some(only), None) => {
            let before = ends.iter().find_map(|end| only.strip_suffix(end.as_str())).unwrap_or(only);
            let is_reached = before.ends_with("src/") || from.starts_with(before);
            if is_reached { End::File(only.clone()) } else { End::Unknown }
        }
        (None, _) => End::Elsewhere,
        (Some(_), Some(_)) => End::Unknown,
    }
}

/// The file of a module of Rust.
fn rust_module(world: &World<'_>, from: &str, module: &str) -> Result<End, Error> {
    if module == "self" {
        return Ok(End::File(from.to_owned()));
    }
    let paths = world.paths()?;
    let mut source = crate_root(paths, from);
    let mut roots = ["lib.rs", "main.rs"].map(|root| below(&source, root)).to_vec();
    let mut at: Vec<&str> = module_path(&source, from);
    let mut segments = module.split("::");
    match segments.next() {
        // A program of its own.
        Some("crate") if is_apart(from) || world.manifests()?.is_program(from) => {
            return Ok(if segments.next().is_none() { End::File(from.to_owned()) } else { End::Unknown });
        }
        Some("crate") => at.clear(),
        Some("self") => {}
        Some("super") => drop(at.pop()),
        Some(name) => {
            let is_bound = |text: String| [" as ", "mod "].iter().any(|word| text.contains(&format!("{word}{name}")));
            let is_bound = world.text(from).is_none_or(is_bound);
            match world.manifests()?.library_of(name) {
                None if !is_bound && world.manifests()?.is_foreign_library(name) => return Ok(End::Elsewhere),
                None => return rust_neighbour(world, from, module),
                Some(Some(root)) if !is_bound => {
                    source = folder(root).to_owned();
                    roots = vec![root.to_owned()];
                    at.clear();
                }
                Some(_) => return Ok(End::Unknown),
            }
        }
        None => return Ok(End::Unknown),
    }
    for segment in segments {
        match segment {
            "super" => drop(at.pop()),
            segment => at.push(segment),
        }
    }
    let path = at.join("/");
    let ends = match at.is_empty() {
        true => roots,
        false => vec![below(&source, &format!("{path}.rs")), below(&source, &format!("{path}/mod.rs"))],
    };
    let mut found = ends.iter().filter(|path| paths.contains(*path));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(End::File(only.clone())),
        (_, _) => Ok(End::Unknown),
    }
}

/// The file of a path that begins with a module which the file declares or imports.
fn rust_neighbour(world: &World<'_>, from: &str, module: &str) -> Result<End, Error> {
    let (name, rest) = module.split_once("::").map_or((module, ""), |(name, rest)| (name, rest));
    let rest = if rest.is_empty() { String::new() } else { format!("::{rest}") };
    let facts = world.facts(from, name);
    let imported = facts.as_ref().and_then(|facts| match &facts.groups[..] {
        [group] => Some(&group.reach),
        _ => None,
    });
    if let Some(Reach::Imported(origin)) = imported {
        let begins = origin.module.split("::").next().unwrap_or_default();
        let is_path = begins != name && !origin.module.is_empty();
        return if is_path {
            rust_module(world, from, &format!("{}::{name}{rest}", origin.module))
        } else {
            Ok(End::Unknown)
        };
    }
    let is_declared = world.text(from).is_some_and(|text| text.contains(&format!("mod {name};")));
    if !is_declared || !rest.is_empty() {
        return Ok(End::Unknown);
    }
    let file = from.rsplit('/').next().unwrap_or_default();
    let is_root =
        matches!(file, "lib.rs" | "main.rs" | "mod.rs") || is_apart(from) || world.manifests()?.is_program(from);
    let base = if is_root { folder(from) } else { from.strip_suffix(".rs").unwrap_or(from) };
    let ends = [below(base, &format!("{name}.rs")), below(base, &format!("{name}/mod.rs"))];
    let paths = world.paths()?;
    let mut found = ends.into_iter().filter(|path| paths.contains(path));
    Ok(match (found.next(), found.next()) {
        (Some(only), None) => End::File(only),
        (_, _) => End::Unknown,
    })
}

/// A path below a folder.
fn below(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

/// True for a file of a program beside the library: a test, an example, a benchmark, or one of several programs.
fn is_apart(path: &str) -> bool {
    let folders: Vec<&str> = folder(path).split('/').collect();
    folders.iter().any(|folder| matches!(*folder, "benches" | "examples" | "tests"))
        || folders.ends_with(&["src", "bin"])
}

/// The nearest folder above with the root of a crate.
fn crate_root(paths: &BTreeSet<String>, from: &str) -> String {
    let mut at = folder(from);
    loop {
        let is_root = ["lib.rs", "main.rs"].iter().any(|file| paths.contains(&below(at, file)));
        if is_root || at.is_empty() {
            return at.to_owned();
        }
        at = folder(at);
    }
}

/// The path of a file's module from the root of its crate.
fn module_path<'p>(source: &str, file: &'p str) -> Vec<&'p str> {
    let below = file.strip_prefix(source).unwrap_or(file).trim_start_matches('/');
    let mut path: Vec<&str> = below.strip_suffix(".rs").unwrap_or(below).split('/').collect();
    if matches!(path.last(), Some(&("mod" | "lib" | "main"))) {
        path.pop();
    }
    path
}

/// The folder of a package of Go.
fn go_package(world: &World<'_>, module: &str) -> Result<End, Error> {
    let manifests = world.manifests()?;
    if manifests.has_go() {
        return Ok(manifests.go(module).map_or(End::Elsewhere, End::File));
    }
    let files = world.paths()?.iter().filter(|path| path.ends_with(".go"));
    let folders: BTreeSet<&str> = files.map(|path| folder(path)).collect();
    let is_end = |folder: &&&str| {
        let before = module.strip_suffix(**folder).filter(|_| !folder.is_empty());
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let longest = folders.iter().filter(is_end).max_by_key(|folder| folder.len());
    Ok(longest.map_or(End::Elsewhere, |folder| End::File((*folder).to_owned())))
}
