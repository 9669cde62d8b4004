//! The renderer of each page, by the configurations in the tree. They are read as data, by other readers than the proposer's.

use std::collections::BTreeMap;

use super::{
    super::params::Dialect,
    aim::joined,
    rules::{Rules, Tool},
    settings,
};
use crate::contract::Setting;
use base::{error::Error, path::RepoPath};

/// A site: its rules, and the file that sets them.
#[derive(Clone, Debug)]
struct Site {
    rules: Rules,
    path: String,
}

/// The sites by their folders. A page belongs to the deepest around it.
#[derive(Debug)]
pub(super) struct Sites {
    by_folder: BTreeMap<String, Site>,
    otherwise: Rules,
}

/// Gives the text of a file, if it is one.
pub(super) type Texts<'a> = &'a dyn Fn(&RepoPath) -> Option<String>;

impl Sites {
    /// The sites among all files of the tree, unless the parameters name the renderer.
    pub(super) fn of(dialect: Dialect, files: &[RepoPath], texts: Texts<'_>) -> Result<Self, Error> {
        let mut sites = Sites { by_folder: BTreeMap::new(), otherwise: Rules::of(dialect) };
        if dialect != Dialect::Auto {
            return Ok(sites);
        }
        for path in files {
            let Some((tool, base)) = tool(path) else { continue };
            let text = texts(path);
            let Some((folders, mut rules)) = settings::read(tool, path, text.as_deref()) else { continue };
            if tool == Tool::Hugo || tool == Tool::HugoOrOther {
                let has_parts = files.iter().any(|other| is_part_of_hugo(&base, other));
                if has_parts {
                    rules.doubt("its settings are in several files");
                }
            }
            for folder in folders.iter().filter_map(|folder| joined(&base, folder)) {
                sites.add(folder, Site { rules: rules.clone(), path: path.to_string() });
            }
        }
        Ok(sites)
    }

    fn add(&mut self, folder: String, site: Site) {
        match self.by_folder.get_mut(&folder) {
            None => drop(self.by_folder.insert(folder, site)),
            Some(other) if other.rules == site.rules => {}
            Some(other) => {
                other.rules = Rules::of(Dialect::Github);
                other.rules.dialect = Dialect::Auto;
                other.rules.doubt("two sites have it, with other rules");
            }
        }
    }

    /// Gives the rules of a site to the folders that are made like it.
    pub(super) fn extend(&mut self, alike: &BTreeMap<String, String>) {
        for (folder, base) in alike {
            let is_in = |path: &str, folder: &str| path == folder || path.starts_with(&format!("{folder}/"));
            if self.by_folder.keys().any(|own| is_in(own, folder)) {
                continue;
            }
            let found: Vec<_> = self.by_folder.iter().filter(|(own, _)| is_in(own, base)).collect();
            let found = found.into_iter().map(|(own, site)| (format!("{folder}{}", &own[base.len()..]), site.clone()));
            self.by_folder.extend(found.collect::<Vec<_>>());
        }
    }

    fn around<'p>(&self, page: &'p str) -> Option<(&'p str, &Site)> {
        let ends = page.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
        let folders = ends.into_iter().rev().map(|end| &page[..end]).chain([""]);
        folders.into_iter().find_map(|folder| Some((folder, self.by_folder.get(folder)?)))
    }

    /// The rules for a page.
    pub(super) fn rules(&self, page: &str) -> &Rules {
        self.around(page).map_or(&self.otherwise, |(_, site)| &site.rules)
    }

    /// The settings that pages have by their sites.
    pub(super) fn settings<'p>(&self, pages: impl Iterator<Item = &'p str>) -> Vec<Setting> {
        let mut found: BTreeMap<&str, Setting> = BTreeMap::new();
        for (folder, site) in pages.filter_map(|page| self.around(page)) {
            found.entry(folder).or_insert_with(|| Setting {
                name: "anchors".to_owned(),
                value: site.rules.dialect.name().to_owned(),
                below: if folder.is_empty() { ".".to_owned() } else { folder.to_owned() },
                path: site.path.clone(),
                doubt: site.rules.doubt.clone(),
            });
        }
        let mut settings: Vec<Setting> = found.into_values().collect();
        settings.sort();
        settings
    }
}

/// The renderer whose configuration has that name, and the folder that its paths begin at.
pub(super) fn tool(path: &RepoPath) -> Option<(Tool, String)> {
    let mut parts: Vec<&str> = path.as_str().split('/').collect();
    let file = parts.pop()?;
    let (stem, end) = file.rsplit_once('.')?;
    let is_data = matches!(end, "toml" | "yaml" | "yml" | "json");
    let is_program = matches!(end, "js" | "ts" | "mjs" | "cjs" | "mts" | "cts");
    let tool = match (stem, parts.as_slice()) {
        ("mkdocs", _) if matches!(end, "yml" | "yaml") => Tool::Mkdocs,
        ("book", _) if end == "toml" => Tool::Mdbook,
        ("hugo", _) if is_data => Tool::Hugo,
        ("config", _) if is_data => Tool::HugoOrOther,
        ("docusaurus.config", _) if is_program => Tool::Docusaurus,
        ("astro.config", _) if is_program => Tool::Astro,
        ("config", [.., ".vitepress"]) | ("index", [.., ".vitepress", "config"]) if is_program => Tool::Vitepress,
        _ => return None,
    };
    let above = match (tool, parts.as_slice()) {
        (Tool::Vitepress, [above @ .., _, "config"])
        | (Tool::Hugo | Tool::HugoOrOther, [above @ .., "config", "_default"]) => above,
        (Tool::Vitepress, [above @ .., _]) | (_, above) => above,
    };
    Some((tool, above.join("/")))
}

/// True for a file with a part of the settings of a site of Hugo.
fn is_part_of_hugo(base: &str, path: &RepoPath) -> bool {
    let own = if base.is_empty() {
        Some(path.as_str())
    } else {
        path.strip_prefix(base).and_then(|rest| rest.strip_prefix('/'))
    };
    own.and_then(|own| own.strip_prefix("config/"))
        .is_some_and(|rest| rest.rsplit('/').next().is_some_and(|file| file.starts_with("markup.")))
}
