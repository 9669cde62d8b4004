//! The import names of workspace packages, as their manifests define them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use format::document::{Document, syntax::Syntax};

/// The packages of a workspace.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    /// The modules of Go with their folders.
    go: BTreeMap<String, BTreeSet<String>>,
    /// The Rust libraries with their root files; none if the manifests do not identify one.
    crates: BTreeMap<String, Option<String>>,
    /// The editions of Rust packages by their folders; none if one stands in the manifest of the workspace.
    editions: BTreeMap<String, Option<String>>,
    /// The editions that workspaces give to their packages, by their folders.
    inherited: BTreeMap<String, String>,
    /// The root files of Rust programs that manifests name.
    programs: BTreeSet<String>,
    /// The Rust libraries of procedural macros.
    macros: BTreeSet<String>,
    /// The names under which Rust code imports its dependencies.
    dependencies: BTreeSet<String>,
    /// The names of packages of scripts.
    scripts: BTreeSet<String>,
    /// Configuration texts that may define module aliases for scripts.
    aliases: Vec<String>,
    /// Folders that hold configurations, each with the one in which names of modules begin.
    bases: Vec<(String, String)>,
}

impl Manifests {
    /// Reads every manifest among some paths.
    pub(super) fn read(paths: &BTreeSet<String>, text: impl Fn(&str) -> Option<String>) -> Self {
        let mut all = Manifests::default();
        let (mut renamed, mut packages) = (Vec::new(), BTreeMap::new());
        for path in paths {
            let name = path.rsplit('/').next().unwrap_or_default();
            let gives_names =
                ["jsconfig", "tsconfig", "vite.config", "webpack.config"].iter().any(|begin| name.starts_with(begin));
            if !gives_names && !matches!(name, "Cargo.toml" | "go.mod" | "package.json") {
                continue;
            }
            let Some(text) = text(path) else { continue };
            match name {
                _ if gives_names => {
                    all.bases.extend(base_of(path, &text));
                    all.aliases.push(text);
                }
                "go.mod" => all.module(path, &text),
                "package.json" => {
                    let package = serde_json::from_str::<Value>(&text).ok();
                    all.scripts.extend(package.and_then(|package| Some(package.get("name")?.as_str()?.to_owned())));
                }
                _ => {
                    let Ok(manifest) = Document::parse(Syntax::Toml, &text) else { continue };
                    all.edition(folder(path), manifest.value());
                    let package = all.library(paths, path, manifest.value());
                    if let Some((package, root)) = package {
                        packages.entry(package).and_modify(|known| *known = None).or_insert(root);
                    }
                    for (alias, package) in dependencies(manifest.value()) {
                        all.dependencies.insert(alias.clone());
                        renamed.extend(package.map(|package| (alias, package)));
                    }
                }
            }
        }
        for (alias, package) in renamed {
            let root = packages.get(&package).cloned();
            match all.crates.get_mut(&alias) {
                // Packages may give one name to several libraries.
                Some(known) if root.as_ref() != Some(known) => *known = None,
                Some(_) => {}
                None => all.crates.extend(root.map(|root| (alias, root))),
            }
        }
        all
    }

    /// The folders that may be a package of Go; several if modules of one name are in the workspace.
    pub(super) fn go(&self, package: &str) -> Vec<String> {
        let of = |(name, folders)| {
            let rest = package.strip_prefix(String::as_str(name))?;
            let rest = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
            Some((name.len(), rest, folders))
        };
        let Some((_, rest, folders)) = self.go.iter().filter_map(of).max() else { return Vec::new() };
        let join = |folder: &String| {
            let parts = [folder.as_str(), rest].into_iter().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join("/")
        };
        BTreeSet::iter(folders).map(join).collect()
    }

    /// True if the workspace has a module of Go.
    pub(super) fn has_go(&self) -> bool {
        !self.go.is_empty()
    }

    /// The root of a library of Rust; none if the workspace has no library of that name.
    pub(super) fn library_of(&self, name: &str) -> Option<Option<&str>> {
        self.crates.get(name).map(Option::as_deref)
    }

    /// True for the root file of a Rust program that a manifest names.
    pub(super) fn is_program(&self, path: &str) -> bool {
        self.programs.contains(path)
    }

    /// The names of the Rust libraries that have procedural macros.
    pub(super) fn macros(&self) -> &BTreeSet<String> {
        &self.macros
    }

    /// True for a library outside the workspace.
    pub(super) fn is_foreign_library(&self, name: &str) -> bool {
        let is_standard = matches!(name, "alloc" | "core" | "proc_macro" | "std" | "test");
        is_standard || self.dependencies.contains(name) && !self.crates.contains_key(name)
    }

    /// True if a configuration may define an alias for this script module.
    pub(super) fn is_alias(&self, module: &str) -> bool {
        let first = module.split('/').next().unwrap_or(module);
        let quoted = ['"', '\''].map(|quote| format!("{quote}{first}"));
        // A configuration of TypeScript has other lists, such as `lib`.
        let texts = self.aliases.iter().map(|text| match text.contains("\"compilerOptions\"") {
            true => text.split_once("\"paths\"").map_or("", |(_, rest)| rest),
            false => text.as_str(),
        });
        module.starts_with('#') || texts.into_iter().any(|text| quoted.iter().any(|name| text.contains(name.as_str())))
    }

    /// The folder in which a script's names of modules begin; none if it is not certain.
    pub(super) fn base(&self, script: &str) -> Option<&str> {
        let holds = |folder: &str| folder.is_empty() || script.strip_prefix(folder).is_some_and(|r| r.starts_with('/'));
        let mut bases = self.bases.iter().filter(|(folder, _)| holds(folder)).map(|(_, base)| base.as_str());
        let only = bases.next()?;
        let has_pattern = self.aliases.iter().any(|text| text.contains("\"*"));
        (!has_pattern && bases.all(|base| base == only)).then_some(only)
    }

    /// True if a configuration of scripts has a word.
    pub(super) fn configure(&self, word: &str) -> bool {
        self.aliases.iter().any(|text| text.contains(word))
    }

    /// True if a package of scripts has that name, or begins it.
    pub(super) fn is_script_package(&self, module: &str) -> bool {
        let is_of = |rest: &str| rest.is_empty() || rest.starts_with('/');
        self.scripts.iter().any(|name| !name.is_empty() && module.strip_prefix(name.as_str()).is_some_and(is_of))
    }

    /// Reads a Go module with its `replace` lines.
    fn module(&mut self, path: &str, text: &str) {
        let folder = folder(path);
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
        for line in lines {
            if let Some(name) = line.strip_prefix("module ") {
                self.go.entry(name.trim().trim_matches('"').to_owned()).or_default().insert(folder.to_owned());
            }
            let Some((old, new)) = line.split_once("=>") else { continue };
            let old = old.trim().trim_start_matches("replace").split_whitespace().next();
            let new = new.split_whitespace().next().filter(|new| new.starts_with('.'));
            if let (Some(old), Some(new)) = (old, new.and_then(|new| joined(folder, new))) {
                self.go.entry(old.trim_matches('"').to_owned()).or_default().insert(new);
            }
        }
    }

    /// True for a file of a Rust package of the edition 2015, which a manifest without an edition has.
    pub(super) fn is_2015(&self, path: &str) -> bool {
        let above = || std::iter::successors(Some(folder(path)), |at| (!at.is_empty()).then(|| folder(at)));
        let edition = match above().find_map(|at| self.editions.get(at)) {
            Some(None) => above().find_map(|at| self.inherited.get(at)),
            own => own.and_then(Option::as_ref),
        };
        edition.is_some_and(|edition| edition == "2015")
    }

    fn edition(&mut self, folder: &str, manifest: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if let Some(edition) = manifest.pointer("/workspace/package/edition").and_then(text) {
            self.inherited.insert(folder.to_owned(), edition);
        }
        if let Some(package) = manifest.get("package") {
            let own = package.get("edition").map_or(Some("2015".to_owned()), text);
            self.editions.insert(folder.to_owned(), own);
        }
    }

    /// Adds the targets of a Cargo manifest; its package, with the root of the library.
    fn library(&mut self, paths: &BTreeSet<String>, path: &str, manifest: &Value) -> Option<(String, Option<String>)> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
        let programs = ["bench", "bin", "example", "test"].iter().filter_map(|kind| manifest.get(kind)?.as_array());
        let paths_of = |program: &Value| joined(folder(path), program.get("path")?.as_str()?);
        self.programs.extend(programs.flatten().filter_map(paths_of));
        let package = text("/package/name")?;
        let root = joined(folder(path), text("/lib/path").unwrap_or("src/lib.rs"));
        let name = text("/lib/name").unwrap_or(package).replace('-', "_");
        let is_macro = ["/lib/proc-macro", "/lib/proc_macro"].iter().any(|key| manifest.pointer(key).is_some());
        self.macros.extend(is_macro.then(|| name.clone()));
        let root = root.filter(|root| paths.contains(root));
        // Two packages of one name lie in different workspaces.
        self.crates.entry(name).and_modify(|known| *known = None).or_insert_with(|| root.clone());
        Some((package.to_owned(), root))
    }
}

/// The folder of a configuration of TypeScript, and that in which its `baseUrl` lets names of modules begin.
fn base_of(path: &str, text: &str) -> Option<(String, String)> {
    let (_, rest) = text.split_once("\"baseUrl\"")?;
    let base = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split('"').next()?;
    Some((folder(path).to_owned(), joined(folder(path), base)?))
}

/// The dependencies of a Cargo manifest: the key, and the package if that has another name. Then the key is the name in code.
fn dependencies(manifest: &Value) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut open = vec![manifest];
    while let Some(table) = open.pop().and_then(Value::as_object) {
        for (key, value) in table {
            if !key.ends_with("dependencies") {
                open.extend(matches!(key.as_str(), "target" | "workspace").then_some(value));
                open.extend(key.starts_with("cfg(").then_some(value));
                continue;
            }
            found.extend(value.as_object().into_iter().flatten().map(|(alias, dependency)| {
                let package = dependency.get("package").and_then(Value::as_str).map(str::to_owned);
                (alias.replace('-', "_"), package)
            }));
        }
    }
    found
}

/// The folder of a path, without the last `/`.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path from a folder; none if it leaves the workspace.
pub(super) fn joined(folder: &str, relative: &str) -> Option<String> {
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
