//! The file that a module's name leads to, by the rules of each language as far as paths tell them.

use std::collections::BTreeSet;

use super::{
    manifest::{folder, joined},
    page::{Family, Page},
    places::End,
    world::World,
};
use base::error::Error;
use format::name::{
    facts::{Export, Group, Origin, Reach},
    script::ANY,
};

/// The endings of scripts, in the order in which a module without ending is looked for.
const SCRIPTS: &[&str] = &[".ts", ".tsx", ".d.ts", ".d.mts", ".d.cts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];

/// The modules of the standard library of Python.
const PYTHON_MODULES: &str = include_str!("python_modules.txt");

/// The file that declares an imported name, from the file that imports it.
pub(super) fn follow(world: &World<'_>, from: &str, origin: &Origin) -> Result<End, Error> {
    match Family::of_path(from) {
        Some(Family::Script) => {
            let end = script_module(world, from, &origin.module)?;
            exported(world, end, &origin.name)
        }
        Some(Family::Python) => python_module(world, from, &origin.module),
        Some(Family::Go) => go_package(world, &origin.module),
        Some(Family::Java) => java_package(world, &origin.module),
        Some(Family::Other(_) | Family::Rust) | None => Ok(End::Unknown),
    }
}

/// The file that a whole module is.
pub(super) fn module(world: &World<'_>, from: &str, module: &str) -> Result<End, Error> {
    follow(world, from, &Origin { module: module.to_owned(), name: String::new() })
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
    if module.is_empty() || module.ends_with(ANY) {
        return Ok(End::Unknown);
    }
    if module.starts_with('.') {
        // A file that is not there may be built, ignored or left out, and may pass anything on.
        let base = joined(folder(from), module);
        return Ok(base.and_then(|base| script_file(paths, &base)).map_or(End::Unknown, End::File));
    }
    let manifests = world.manifests()?;
    let base = manifests.base(from).filter(|_| !manifests.is_alias(module) && !manifests.is_script_package(module));
    let of_base = base.and_then(|base| joined(base, module)).and_then(|path| script_file(paths, &path));
    if let Some(file) = of_base {
        return Ok(End::File(file));
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
    if manifests.is_alias(module) && found.len() != 1 {
        return Ok(End::Unknown);
    }
    let is_alias = ["@/", "~/", "#"].iter().any(|prefix| module.starts_with(prefix));
    match (found.len(), is_alias) {
        (1, true) => Ok(found.pop_first().map_or(End::Unknown, End::File)),
        (0, _) if !manifests.is_script_package(module) => Ok(End::Elsewhere),
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
    let is_own = |group: &Group| group.reach == Reach::Exported && group.kind.has_name();
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
            // A file finds a module beside it before one of the standard library only if it is run as a program.
            let first = rest.split('.').next().unwrap_or_default();
            let is_standard =
                || !before.is_empty() && PYTHON_MODULES.split_ascii_whitespace().any(|known| known == first);
            let is_reached = before.ends_with("src/") || from.starts_with(before);
            if is_reached && !is_standard() { End::File(only.clone()) } else { End::Unknown }
        }
        (None, _) => End::Elsewhere,
        (Some(_), Some(_)) => End::Unknown,
    }
}

/// The file by which a package of Java has the name.
fn java_package(world: &World<'_>, package: &str) -> Result<End, Error> {
    let is_of = |page: &&Page| page.facts.as_ref().is_ok_and(|facts| facts.package.as_deref() == Some(package));
    let home = world.of_family(Family::Java)?.filter(is_of).find(|page| page.exports());
    Ok(home.map_or(End::Elsewhere, |page| End::File(page.path.to_string())))
}

/// The folder of a package of Go.
fn go_package(world: &World<'_>, module: &str) -> Result<End, Error> {
    let manifests = world.manifests()?;
    if manifests.has_go() {
        let mut folders = manifests.go(module);
        let vendored = format!("vendor/{module}/");
        let is_copied = || world.paths().is_ok_and(|paths| paths.iter().any(|path| path.contains(&vendored)));
        return Ok(match folders.pop() {
            Some(_) if !folders.is_empty() || is_copied() => End::Unknown,
            last => last.map_or(End::Elsewhere, End::File),
        });
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
