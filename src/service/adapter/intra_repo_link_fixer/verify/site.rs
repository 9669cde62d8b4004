//! The renderer of each page, by the configurations in the tree. They are read as data, by other readers than the proposer's.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::params::Dialect,
    aim::joined,
    block,
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
    /// The rules for anchors by the parameters.
    named: Option<Rules>,
    by_folder: BTreeMap<String, Site>,
    /// Paths at which a site shows other files.
    mounted: BTreeSet<String>,
    otherwise: Rules,
    /// The file that puts the rules of other pages in doubt.
    sign: Option<String>,
}

const PARTS: &str = "its settings are in several files";

/// Gives the text of a file, if it is one.
pub(super) type Texts<'a> = &'a dyn Fn(&RepoPath) -> Option<String>;

/// The entries of the tree.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Files that git tracks or does not ignore.
    pub(super) files: BTreeSet<String>,
    pub(super) links: BTreeSet<String>,
    /// Files that git tracks and that a sparse checkout left out.
    pub(super) left_out: BTreeSet<String>,
    /// Folders of other repositories.
    pub(super) submodules: BTreeSet<String>,
}

impl Sites {
    /// The sites among all files of the tree. If the parameters name the renderer, its anchors are those of all pages. A sign of a site
    /// that is not seen puts the other pages in doubt.
    pub(super) fn of(dialect: Dialect, entries: &Entries, texts: Texts<'_>) -> Result<Self, Error> {
        let named = Some(Rules::of(dialect)).filter(|_| dialect != Dialect::Auto);
        let mut sites = Sites {
            named,
            by_folder: BTreeMap::new(),
            mounted: BTreeSet::new(),
            otherwise: Rules::of(Dialect::Auto),
            sign: None,
        };
        for name in &entries.files {
            let path = RepoPath::parse(name)?;
            match tool(&path) {
                Some((tool, base)) => sites.read(entries, (tool, &base), &path, texts),
                None if is_of_another_generator(path.file_name()) => {
                    let mut rules = Rules::of(Dialect::Github);
                    rules.doubt("it configures a generator whose rules are not known");
                    let folder = path.parent().map_or_else(String::new, |folder| folder.to_string());
                    sites.add(folder, Site { rules, path: name.clone() });
                }
                None if may_configure(name) => sites.mark(name, "it may configure a site"),
                None => {}
            }
        }
        for name in entries.links.iter().chain(&entries.left_out) {
            let tool = RepoPath::parse(name).ok().as_ref().and_then(tool);
            let is_in_site =
                |folder: &String| folder.is_empty() || name == folder || name.starts_with(&format!("{folder}/"));
            if tool.is_some_and(|(tool, _)| tool != Tool::HugoOrOther) {
                sites.mark(name, "it configures a site, and can't be read here");
            } else if entries.links.contains(name) && may_show(name) && sites.by_folder.keys().any(is_in_site) {
                sites.mark(name, "a site shows files by this link");
            }
        }
        Ok(sites)
    }

    fn read(&mut self, entries: &Entries, (tool, base): (Tool, &str), path: &RepoPath, texts: Texts<'_>) {
        let text = texts(path);
        let Some(mut found) = settings::read(tool, path, text.as_deref()) else { return };
        if matches!(tool, Tool::Hugo | Tool::HugoOrOther) {
            let parts: BTreeSet<&str> = entries.files.iter().filter_map(|file| part_of_hugo(base, file)).collect();
            if !parts.is_empty() {
                found.rules.doubt(PARTS);
            }
            if parts.iter().any(|part| *part != "markup") {
                found.folders.push(".".to_owned());
                found.open = Some(PARTS);
            }
        }
        if tool == Tool::Docusaurus {
            let begin = if base.is_empty() { String::new() } else { format!("{base}/") };
            let firsts = entries.files.iter().filter_map(|file| file.strip_prefix(&begin)?.split_once('/'));
            let versions = firsts.map(|(first, _)| first).filter(|first| first.ends_with("_versioned_docs"));
            found.folders.extend(versions.map(str::to_owned).collect::<BTreeSet<_>>());
        }
        if let Some(why) = found.open {
            self.mark(path, why);
        }
        let mounted = found.mounted.iter().filter_map(|target| joined(base, target.trim_end_matches('/')));
        self.mounted.extend(mounted);
        for folder in found.folders.iter().filter_map(|folder| joined(base, folder)) {
            self.add(folder, Site { rules: found.rules.clone(), path: path.to_string() });
        }
    }

    /// Puts the pages without a site in doubt, because of a file. If MkDocs may read it, they may have all of its blocks.
    fn mark(&mut self, path: &str, why: &str) {
        if path.rsplit('/').next().is_some_and(|file| file.starts_with("mkdocs")) {
            self.otherwise.signs = block::every();
        }
        if self.sign.is_none() {
            self.sign = Some(path.to_owned());
            self.otherwise.doubt(format!("of `{path}`: {why}"));
        }
    }

    fn add(&mut self, folder: String, site: Site) {
        match self.by_folder.get_mut(&folder) {
            None => drop(self.by_folder.insert(folder, site)),
            Some(other) if other.rules == site.rules => {}
            Some(other) => {
                let signs = other.rules.signs.iter().chain(&site.rules.signs).copied().collect();
                other.rules = Rules { signs, ..Rules::of(Dialect::Github) };
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

    /// True for a path at which a site shows another file, or that is below one.
    pub(super) fn is_mounted(&self, path: &str) -> bool {
        self.mounted
            .iter()
            .any(|place| path.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    fn around<'p>(&self, page: &'p str) -> Option<(&'p str, &Site)> {
        let ends = page.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
        let folders = ends.into_iter().rev().map(|end| &page[..end]).chain([""]);
        folders.into_iter().find_map(|folder| Some((folder, self.by_folder.get(folder)?)))
    }

    /// The rules for the anchors of a page.
    pub(super) fn rules(&self, page: &str) -> &Rules {
        self.named.as_ref().unwrap_or_else(|| self.placed(page))
    }

    /// The rules of the site that has a page.
    pub(super) fn placed(&self, page: &str) -> &Rules {
        self.around(page).map_or(&self.otherwise, |(_, site)| &site.rules)
    }

    /// The settings that pages have by their sites.
    pub(super) fn settings<'p>(&self, pages: impl Iterator<Item = &'p str>) -> Vec<Setting> {
        if self.named.is_some() {
            return Vec::new();
        }
        let mut found: BTreeMap<&str, Setting> = BTreeMap::new();
        let otherwise = self.sign.as_ref().map(|sign| Site { rules: self.otherwise.clone(), path: sign.clone() });
        let of_page = |page| self.around(page).or_else(|| Some((".", otherwise.as_ref()?)));
        for (folder, site) in pages.filter_map(of_page) {
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

/// The part of the settings of a site of Hugo that a file has, if it is one that matters.
fn part_of_hugo<'p>(base: &str, path: &'p str) -> Option<&'p str> {
    let own = if base.is_empty() { path } else { path.strip_prefix(base)?.strip_prefix('/')? };
    let file = own.strip_prefix("config/")?.rsplit('/').next()?;
    let (part, _) = file.split_once('.')?;
    ["markup", "languages", "module"].contains(&part).then_some(part)
}

/// True for a link that may lead to pages by its name: any but one of a picture, data or a text.
fn may_show(link: &str) -> bool {
    let (_, end) = link.rsplit('/').next().unwrap_or_default().rsplit_once('.').unwrap_or_default();
    !["svg", "png", "jpg", "jpeg", "gif", "webp", "ico", "pdf", "txt", "css", "json", "yml", "yaml"].contains(&end)
}

/// True for the configuration of a generator that is not known.
fn is_of_another_generator(file: &str) -> bool {
    const NAMES: &str = " zensical.toml mint.json docfx.json conf.py antora.yml _quarto.yml _config.yml _config.yaml ";
    let is_program = |tool: &str| file.split('.').next() == Some(tool) && file.contains(".config.");
    NAMES.contains(&format!(" {file} ")) || ["gatsby", "rspress", "vuepress"].into_iter().any(is_program)
}

/// True for a file whose name is like that of a configuration, and is none that every renderer reads.
fn may_configure(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default();
    let is_data = file.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "toml" | "yaml" | "yml" | "json"));
    is_data && (file.starts_with("mkdocs") || file.starts_with("hugo.") || file.starts_with("book."))
}
