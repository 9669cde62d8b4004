//! The sites of a tree: the pages that a generator renders, and its settings for anchors. A configuration is read as data.

pub(super) mod config;

use super::{
    params::Dialect,
    reference::{folder, joined, name},
    scheme::Scheme,
};
use crate::contract::Setting;
use base::{error::Error, path::RepoPath, pulse::Pulse};

/// The reason that no heading of a page is known.
const DISPUTED: &str = "two sites have it, with other rules";

/// The reason that the settings of a site are not known.
const PARTS: &str = "its settings are in several files";

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
    elsewhere: Scheme,
    sites: Vec<Site>,
}

impl Sites {
    /// The same rules for every page.
    pub(super) fn single(dialect: Dialect) -> Self {
        Sites { elsewhere: Scheme::of(dialect), sites: Vec::new() }
    }

    /// The sites that the configurations among these files make.
    pub(super) fn of(files: &[RepoPath], read: config::Read<'_>, pulse: Pulse<'_>) -> Result<Self, Error> {
        let mut sites: Vec<Site> = Vec::new();
        for path in files {
            let Some(kind) = config::Kind::of(path) else { continue };
            let Some(mut found) = config::read(kind, path, read, pulse)? else { continue };
            let part = joined(&found.base, "config").unwrap_or_default() + "/";
            let is_part = |path: &RepoPath| path.starts_with(&part) && name(path).starts_with("markup.");
            if found.scheme.dialect == Dialect::Hugo && files.iter().any(is_part) {
                found.scheme.doubt.get_or_insert_with(|| PARTS.to_owned());
            }
            for root in found.roots {
                let site = Site { root, config: path.as_str().to_owned(), scheme: found.scheme.clone() };
                match sites.iter_mut().find(|other| other.root == site.root) {
                    None => sites.push(site),
                    Some(other) if other.scheme == site.scheme => {}
                    Some(other) => {
                        let doubt = Some(DISPUTED.to_owned());
                        other.scheme = Scheme { dialect: Dialect::Auto, doubt, ..Scheme::of(Dialect::Auto) };
                    }
                }
            }
        }
        Ok(Sites { sites, ..Sites::single(Dialect::Auto) })
    }

    /// Gives folders without a site the rules of those that they are made like.
    pub(super) fn lend(&mut self, alike: &[(String, String)]) {
        let rest = |root: &str, folder: &str| {
            let rest = root.strip_prefix(folder)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
        };
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

    /// The rules for a page: those of the nearest site.
    pub(super) fn scheme(&self, path: &str) -> &Scheme {
        self.site(path).map_or(&self.elsewhere, |site| &site.scheme)
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
        for Site { root, config, scheme } in pages.filter_map(|path| self.site(path)) {
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
