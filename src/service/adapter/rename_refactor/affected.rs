//! The files whose errors a change of some files may alter: those that take types from a changed file, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    link,
    manifest::{folder, joined},
    page::Family,
    places::End,
    world::{Source, World},
};
use base::{error::Error, path::RepoPath};
use format::name::links::{Links, links};

/// Endings of files that a script may import, and that name no other.
const WITHOUT_TYPES: &[&str] = &[
    ".avif", ".css", ".gif", ".gql", ".graphql", ".html", ".ico", ".jpeg", ".jpg", ".json", ".less", ".md", ".png",
    ".sass", ".scss", ".svg", ".txt", ".webp", ".woff", ".woff2",
];

/// Words of configurations by which a module's name leads elsewhere than its path does.
const CONFIGURED: &[&str] = &["jsxImportSource", "moduleSuffixes", "rootDirs"];

/// The files of a family that a change of some files may affect: all of them where imports do not tell.
pub(super) fn files(world: &World<'_>, family: Family, changed: &BTreeSet<&str>) -> Result<Vec<RepoPath>, Error> {
    let reached = if family == Family::Script { reached(world, changed)? } else { None };
    let is_wanted = |path: &&String| {
        Family::of_path(path) == Some(family) && reached.as_ref().is_none_or(|reached| reached.contains(*path))
    };
    Ok(world.paths()?.iter().filter(is_wanted).filter_map(|path| RepoPath::parse(path).ok()).collect())
}

/// The scripts that lead to changed ones, with those; none if any script may.
fn reached(world: &World<'_>, changed: &BTreeSet<&str>) -> Result<Option<BTreeSet<String>>, Error> {
    let of_file = |file: &Source<'_>| Ok(if file.is_text { links(file.path, file.text) } else { None });
    let read = world.map_files(Family::Script, &of_file)?;
    let is_configured = CONFIGURED.iter().any(|word| world.manifests().is_ok_and(|all| all.configure(word)));
    let Some(read) = read.into_iter().map(|(path, links)| Some((path, links?))).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    if is_configured {
        return Ok(None);
    }
    let mut importers: BTreeMap<String, Vec<&RepoPath>> = BTreeMap::new();
    let mut open: Vec<&str> = changed.iter().copied().collect();
    let mut packages = BTreeMap::new();
    for (path, Links { modules, is_certain, .. }) in &read {
        open.extend((!is_certain).then_some(path.as_str()));
        for module in modules {
            match target(world, path, module, &mut packages)? {
                Some(files) => files.into_iter().for_each(|file| importers.entry(file).or_default().push(path)),
                // It may be any file, and a changed one too.
                None => open.push(path),
            }
        }
    }
    let mut found: BTreeSet<String> = BTreeSet::new();
    while let Some(path) = open.pop() {
        if found.insert(path.to_owned()) {
            open.extend(importers.get(path).into_iter().flatten().map(|path| path.as_str()));
        }
    }
    let is_open = read.iter().any(|(path, links)| links.is_open && found.contains(path.as_str()));
    Ok((!is_open).then_some(found))
}

/// The files that a module specifier may resolve to; none if it may be any. `packages` caches the answers for bare specifiers.
fn target<'m>(
    world: &World<'_>,
    from: &str,
    module: &'m str,
    packages: &mut BTreeMap<&'m str, bool>,
) -> Result<Option<Vec<String>>, Error> {
    let paths = world.paths()?;
    if !module.starts_with('.') {
        let is_elsewhere = match packages.get(module) {
            Some(known) => *known,
            None => link::script_module(world, from, module)? == End::Elsewhere,
        };
        packages.insert(module, is_elsewhere);
        return Ok(is_elsewhere.then(Vec::new));
    }
    // The manifest of a folder may name another file.
    let manifest = joined(folder(from), module).map(|base| format!("{base}/package.json"));
    let End::File(file) = link::script_module(world, from, module)? else { return Ok(None) };
    Ok(match () {
        () if manifest.is_none_or(|manifest| paths.contains(manifest.trim_start_matches('/'))) => None,
        () if Family::of_path(&file) == Some(Family::Script) => {
            let mut files: Vec<String> = link::twins(paths, &file).into_iter().cloned().collect();
            files.push(file);
            Some(files)
        }
        () => WITHOUT_TYPES.iter().any(|ending| file.ends_with(ending)).then(Vec::new),
    })
}
