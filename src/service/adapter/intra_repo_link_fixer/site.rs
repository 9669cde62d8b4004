//! The sites of a tree: the pages that a generator renders, and its settings for anchors. A configuration is read as data.

pub(super) mod config;

use super::{
    blocks::Blocks,
    params::Dialect,
    reference::{folder, joined, name},
    scheme::{Addressed, Scheme},
    tree::Tree,
};
use crate::contract::Setting;
use base::{error::Error, pulse::Pulse};

/// The reason that no heading of a page is known.
const DISPUTED: &str = "two sites have it, with other rules";

/// The reason that the settings of a site are not known.
const PARTS: &str = "its settings are in several files";

/// The reason that no anchor of a page is known.
const FOREIGN: &str = "it configures a generator whose rules are not known";

/// Endings of files that are not pages.
const FILES: &[&str] =
    &[".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".txt", ".css", ".json", ".yml", ".yaml"];

/// The folder of a site with its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    /// The folder; empty for the workspace.
    root: String,
    /// The file that says so.
    config: String,
    scheme: Scheme,
}

/// The sites of a tree, and the rules elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    /// The rules for anchors that the parameters name.
    named: Option<Scheme>,
    elsewhere: Scheme,
    /// The file that puts the rules elsewhere in doubt.
    sign: Option<String>,
    sites: Vec<Site>,
    /// Places at which sites show files from elsewhere.
    pub(super) mounts: Vec<String>,
}

impl Sites {
    /// The sites of a tree by its configurations. Where one may be that is not seen, the pages elsewhere are in doubt. A dialect that
    /// the parameters name gives every page its anchors.
    pub(super) fn of(dialect: Dialect, tree: &Tree, read: config::Read<'_>, pulse: Pulse<'_>) -> Result<Self, Error> {
        let named = (dialect != Dialect::Auto).then(|| Scheme::of(dialect));
        let mut sites =
            Sites { named, elsewhere: Scheme::of(Dialect::Auto), sign: None, sites: Vec::new(), mounts: Vec::new() };
        for path in tree.paths() {
            let Some(kind) = config::Kind::of(path) else {
                if config::Kind::is_foreign(path) {
                    let scheme = Scheme { doubt: Some(FOREIGN.to_owned()), ..Scheme::of(Dialect::Auto) };
                    sites.put(Site { root: folder(path).to_owned(), config: path.to_owned(), scheme });
                } else if config::Kind::may_be(path) {
                    sites.doubt(path, "it may configure a site");
                }
                continue;
            };
            let Some(found) = config::read(kind, path, read, pulse)? else { continue };
            sites.add(tree, (kind, path), found);
        }
        for path in tree.unread() {
            if config::Kind::of(path).is_some_and(|kind| kind != config::Kind::MaybeHugo) {
                sites.doubt(path, "it configures a site, and can't be read here");
            } else if tree.is_link(path) && may_show(path) && sites.sites.iter().any(|site| is_in(path, &site.root)) {
                sites.doubt(path, "a site shows files by this link");
            }
        }
        Ok(sites)
    }

    fn add(&mut self, tree: &Tree, (kind, path): (config::Kind, &str), found: config::Found) {
        let config::Found { base, mut roots, mounts, mut scheme, loose } = found;
        self.mounts.extend(mounts);
        if scheme.dialect == Dialect::Hugo {
            let begin = joined(&base, "config").unwrap_or_default() + "/";
            let part = |names: &[&str]| {
                let is_part = |other: &&str| names.iter().any(|start| name(other).starts_with(start));
                tree.paths().filter(|other| other.starts_with(&begin)).any(|other| is_part(&other))
            };
            if part(&["markup.", "languages.", "module."]) {
                scheme.doubt.get_or_insert_with(|| PARTS.to_owned());
            }
            if part(&["languages.", "module."]) {
                self.doubt(path, PARTS);
                roots.push(base.clone());
            }
        }
        if kind == config::Kind::Docusaurus {
            let folders = tree.folders_of(&base).into_iter();
            roots.extend(folders.filter(|folder| folder.ends_with("_versioned_docs")));
        }
        if let Some(why) = loose {
            self.doubt(path, &why);
        }
        for root in roots {
            self.put(Site { root, config: path.to_owned(), scheme: scheme.clone() });
        }
    }

    fn put(&mut self, site: Site) {
        match self.sites.iter_mut().find(|other| other.root == site.root) {
            None => self.sites.push(site),
            Some(other) if other.scheme == site.scheme => {}
            Some(other) => {
                let doubt = Some(DISPUTED.to_owned());
                let blocks = other.scheme.blocks.with(site.scheme.blocks);
                other.scheme = Scheme { dialect: Dialect::Auto, doubt, blocks, ..Scheme::of(Dialect::Auto) };
            }
        }
    }

    /// Doubts the rules elsewhere because of a file. One that may be of MkDocs brings its blocks.
    fn doubt(&mut self, path: &str, why: &str) {
        if name(path).starts_with("mkdocs") {
            self.elsewhere.blocks = Blocks::ALL;
        }
        if self.sign.is_none() {
            self.sign = Some(path.to_owned());
            self.elsewhere.doubt = Some(format!("of `{path}`: {why}"));
        }
    }

    /// Gives folders without a site the rules of those that they are made like.
    pub(super) fn lend(&mut self, alike: &[(String, String)]) {
        for (from, to) in alike {
            if self.sites.iter().all(|site| rest(&site.root, from).is_none()) {
                let own = self
                    .sites
                    .iter()
                    .filter_map(|site| Some(Site { root: format!("{from}{}", rest(&site.root, to)?), ..site.clone() }));
                let own: Vec<Site> = own.collect();
                self.sites.extend(own);
            }
        }
    }

    /// The rules for the anchors of a page: those of the nearest site, unless the parameters name others.
    pub(super) fn scheme(&self, path: &str) -> &Scheme {
        self.named.as_ref().unwrap_or_else(|| self.site(path).map_or(&self.elsewhere, |site| &site.scheme))
    }

    /// The links of a page that its site reads from its address.
    pub(super) fn addressed(&self, path: &str) -> Addressed {
        self.site(path).map_or(Addressed::None, |site| site.scheme.addressed())
    }

    fn site(&self, path: &str) -> Option<&Site> {
        let mut at = folder(path);
        loop {
            if let Some(site) = self.sites.iter().find(|site| site.root == at) {
                return Some(site);
            }
            if at.is_empty() {
                return None;
            }
            at = folder(at);
        }
    }

    /// The rules that some pages got from their sites, sorted.
    pub(super) fn settings<'a>(&self, pages: impl Iterator<Item = &'a str>) -> Vec<Setting> {
        let mut settings: Vec<Setting> = Vec::new();
        if self.named.is_some() {
            return settings;
        }
        let elsewhere = self.sign.as_ref().map(|sign| Site {
            root: String::new(),
            config: sign.clone(),
            scheme: self.elsewhere.clone(),
        });
        for Site { root, config, scheme } in pages.filter_map(|path| self.site(path).or(elsewhere.as_ref())) {
            let setting = Setting {
                name: "anchors".to_owned(),
                value: scheme.dialect.name().to_owned(),
                below: if root.is_empty() { ".".to_owned() } else { root.clone() },
                path: config.clone(),
                doubt: scheme.doubt.clone(),
            };
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        settings.sort();
        settings
    }
}

/// A path below a folder, from the slash on; empty for the folder itself.
fn rest(path: &str, folder: &str) -> Option<String> {
    if folder.is_empty() {
        return Some(format!("/{path}"));
    }
    let rest = path.strip_prefix(folder)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
}

/// True unless a link leads to a file that is not a page, by its name.
fn may_show(link: &str) -> bool {
    !FILES.iter().any(|end| link.ends_with(end))
}

fn is_in(path: &str, folder: &str) -> bool {
    rest(path, folder).is_some()
}
