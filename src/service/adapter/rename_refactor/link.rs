//! The file that a module's name leads to, by the rules of each language as far as paths tell them.

use std::collections::BTreeSet;

use super::{page::Family, places::End, world::World};
use base::error::Error;
use format::name::facts::{Export, Origin};

/// The endings of scripts, in the order in which a module without ending is looked for.
const SCRIPTS: &[&str] = &[".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];

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
        let Some(facts) = world.script(&file) else {
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
        let Some(base) = joined(folder(from), module) else { return Ok(End::Elsewhere) };
        return Ok(script_file(paths, &base).map_or(End::Elsewhere, End::File));
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
    let is_alias = ["@/", "~/", "#"].iter().any(|prefix| module.starts_with(prefix));
    match (found.len(), is_alias) {
        (1, true) => Ok(found.pop_first().map_or(End::Unknown, End::File)),
        (0, _) if !is_package(world, module)? => Ok(End::Elsewhere),
        (_, _) => Ok(End::Unknown),
    }
}

/// True if a package of the workspace has that name, or begins the name.
fn is_package(world: &World<'_>, module: &str) -> Result<bool, Error> {
    let manifests = world.paths()?.iter().filter(|path| *path == "package.json" || path.ends_with("/package.json"));
    for manifest in manifests {
        let text = world.text(manifest).unwrap_or_default();
        let name = serde_json::from_str::<serde_json::Value>(&text).ok();
        let name = name.as_ref().and_then(|value| value.get("name")?.as_str()).unwrap_or_default();
        let rest = module.strip_prefix(name).filter(|_| !name.is_empty());
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Ok(true);
        }
    }
    Ok(false)
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
    // `.a` stands beside the file itself.
    let above = module.rsplit_once('.').map(|(above, _)| above).filter(|above| !above.trim_matches('.').is_empty());
    let is_within = || above.is_some_and(|above| python_file(paths, from, above) != End::Elsewhere);
    Ok(if end == End::Elsewhere && is_within() { End::Unknown } else { end })
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
    ended(paths, &ends)
}

/// The only path with one of these ends.
fn ended(paths: &BTreeSet<String>, ends: &[String]) -> End {
    let is_end = |path: &String, end: &String| {
        path.strip_suffix(end.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let mut found = paths.iter().filter(|path| ends.iter().any(|end| is_end(path, end)));
    match (found.next(), found.next()) {
        (Some(only), None) => End::File(only.clone()),
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
    let source = crate_root(paths, from);
    let mut at: Vec<&str> = module_path(&source, from);
    let mut segments = module.split("::");
    match segments.next() {
        Some("crate") => at.clear(),
        Some("self") => {}
        Some("super") => drop(at.pop()),
        Some(name) => {
            // A crate of the workspace, a neighbour, or something else that only the compiler knows.
            let file = ended(paths, &[format!("{name}.rs"), format!("{name}/mod.rs")]);
            return Ok(match (file, is_crate(world, name)?) {
                (End::Elsewhere, false) => End::Elsewhere,
                (End::File(file), false) if segments.next().is_none() => End::File(file),
                (_, _) => End::Unknown,
            });
        }
        None => return Ok(End::Unknown),
    }
    for segment in segments {
        match segment {
            "super" => drop(at.pop()),
            segment => at.push(segment),
        }
    }
    let base = if source.is_empty() { String::new() } else { format!("{source}/") };
    let below = at.join("/");
    let ends = match at.is_empty() {
        true => [format!("{base}lib.rs"), format!("{base}main.rs")],
        false => [format!("{base}{below}.rs"), format!("{base}{below}/mod.rs")],
    };
    let mut found = ends.iter().filter(|path| paths.contains(*path));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(End::File(only.clone())),
        (_, _) => Ok(End::Unknown),
    }
}

/// The nearest folder above with the root of a crate.
fn crate_root(paths: &BTreeSet<String>, from: &str) -> String {
    let mut at = folder(from);
    loop {
        let base = if at.is_empty() { String::new() } else { format!("{at}/") };
        let is_root = ["lib.rs", "main.rs"].iter().any(|file| paths.contains(&format!("{base}{file}")));
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

/// True if a crate of the workspace has that name.
fn is_crate(world: &World<'_>, name: &str) -> Result<bool, Error> {
    let lines = [format!("name = \"{}\"", name.replace('_', "-")), format!("name = \"{name}\"")];
    let mut manifests = world.paths()?.iter().filter(|path| *path == "Cargo.toml" || path.ends_with("/Cargo.toml"));
    Ok(manifests.any(|manifest| {
        let text = world.text(manifest).unwrap_or_default();
        lines.iter().any(|line| text.contains(line))
    }))
}

/// The folder of a package of Go.
fn go_package(world: &World<'_>, module: &str) -> Result<End, Error> {
    let manifest = world.text("go.mod").unwrap_or_default();
    if let Some(own) = manifest.lines().find_map(|line| line.strip_prefix("module ")).map(str::trim) {
        return Ok(match module.strip_prefix(own) {
            Some("") => End::File(String::new()),
            Some(rest) if rest.starts_with('/') => End::File(rest.trim_start_matches('/').to_owned()),
            Some(_) | None => End::Elsewhere,
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

/// The folder of a path, without the last `/`.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path from a folder; none if it leaves the workspace.
fn joined(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
