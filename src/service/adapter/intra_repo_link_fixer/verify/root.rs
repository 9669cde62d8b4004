//! The documentation that a file belongs to, and the file that a site shows in place of a page that is not translated. Both are
//! told by the configuration files around a path.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;

use super::{aim::joined, rules::Tool, site::tool};
use base::path::RepoPath;

/// A folder of one language or version. A language without a region is one of the list.
static EDITION: LazyLock<Regex> = LazyLock::new(|| {
    let languages = include_str!("../languages.txt").split_whitespace().collect::<Vec<_>>().join("|");
    pattern(&format!(r"^(?:{languages}|[a-z]{{2}}[-_][A-Za-z]{{2,4}}|v?\d\P{{Alphabetic}}*(?:\.x)?|version-.+)$"))
});
/// The folder of a translated plugin of Docusaurus, with its instance.
static PLUGIN: LazyLock<Regex> = LazyLock::new(|| pattern(r"^docusaurus-plugin-content-(docs|blog|pages)(?:-(.+))?$"));
/// The configuration that another one of MkDocs begins with.
static INHERIT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?m)^INHERIT\s*[:=]\s*["']?(.+?)["']?\s*(?:\s#.*)?$"#));
/// The folder of pages in the configuration of MkDocs.
static PAGES: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?m)^docs_dir\s*[:=]\s*["']?(.+?)["']?\s*(?:\s#.*)?$"#));
/// The main language of Hugo.
static MAIN: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?m)^defaultContentLanguage\s*[:=]\s*["']?([A-Za-z_-]+)"#));
/// The folder of documents in the configuration of Docusaurus.
static FOLDER: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\bpath["']?\s*:\s*["']([^"']+)["']"#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// The files around a path.
pub(super) trait Surroundings {
    /// The folders of sites, each with its configuration.
    fn sites(&self) -> &BTreeMap<String, (Tool, String)>;
    /// The text of a file.
    fn text(&self, path: &str) -> String;
    /// The folders that the parameters join to one site.
    fn joint(&self) -> &[String];
    /// True for a folder with entries.
    fn is_folder(&self, path: &str) -> bool;
}

/// The files around a path by a list of them.
pub(super) struct Configured<'a> {
    pub(super) sites: BTreeMap<String, (Tool, String)>,
    pub(super) files: &'a BTreeSet<String>,
    pub(super) text: &'a dyn Fn(&str) -> String,
}

impl Surroundings for Configured<'_> {
    fn sites(&self) -> &BTreeMap<String, (Tool, String)> {
        &self.sites
    }

    fn text(&self, path: &str) -> String {
        (self.text)(path)
    }

    fn joint(&self) -> &[String] {
        &[]
    }

    fn is_folder(&self, path: &str) -> bool {
        let begin = below(path, "");
        self.files.range(begin.clone()..).next().is_some_and(|file| file.starts_with(&begin))
    }
}

/// True if a target belongs to another documentation, language or version. A name or content is not evidence for a link to it.
/// `old` are the places that the link names.
pub(super) fn are_apart(around: &dyn Surroundings, file: &str, target: &str, old: &[String]) -> bool {
    let own: Vec<&str> = editions(file).into_iter().chain(old.iter().flat_map(|place| editions(place))).collect();
    let folders = around.joint().iter().filter_map(|folder| joined("", folder)).filter(|folder| !folder.is_empty());
    let folders: Vec<String> = folders.map(|folder| folder + "/").collect();
    let is_joint = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
    let is_loose = !file.contains('/') && nearest(around, target).is_none();
    let is_one =
        is_loose || is_joint(file) && is_joint(target) || documentation(around, file) == documentation(around, target);
    !is_one || editions(target).iter().any(|edition| !own.contains(edition))
}

/// True if a link would lead from one language or version to another. A move is not evidence for that.
/// `old` are the places that the link names.
pub(super) fn are_other_editions(file: &str, target: &str, old: &[String]) -> bool {
    let of_file = editions(file);
    let named: Vec<&str> = old.iter().flat_map(|place| editions(place)).collect();
    let is_own = |edition: &&str| of_file.contains(edition) || named.contains(edition);
    let is_of_target = |path: &str| versions(path).eq(versions(target));
    let stays_in_version = match (versions(file).next(), old) {
        (Some(_), _) | (None, []) => is_of_target(file),
        (None, _) => false,
    };
    let is_other_version = !stays_in_version && !old.iter().any(|place| is_of_target(place));
    is_other_version || !of_file.is_empty() && !editions(target).iter().all(is_own)
}

/// The folders of a language or version on the way to a file.
fn editions(path: &str) -> Vec<&str> {
    let (folders, _) = path.rsplit_once('/').unwrap_or_default();
    folders.split('/').filter(|part| EDITION.is_match(part)).collect()
}

/// The folders of versions on the way to a file.
pub(super) fn versions(path: &str) -> impl Iterator<Item = &str> {
    editions(path)
        .into_iter()
        .filter(|part| part.starts_with("version-") || part.contains(|c: char| c.is_ascii_digit()))
}

/// The folder of the nearest site of a file, below the workspace.
fn nearest<'p>(around: &dyn Surroundings, path: &'p str) -> Option<&'p str> {
    path.rmatch_indices('/').map(|(end, _)| &path[..end]).find(|folder| around.sites().contains_key(*folder))
}

/// The folder of the documentation of a file: that of its nearest site, else the first one.
fn documentation<'p>(around: &dyn Surroundings, path: &'p str) -> &'p str {
    nearest(around, path).or_else(|| Some(path.split_once('/')?.0)).unwrap_or_default()
}

/// The folders of sites among some files, each with its configuration.
pub(super) fn sites(files: &BTreeSet<String>) -> BTreeMap<String, (Tool, String)> {
    let mut found = BTreeMap::new();
    for path in files {
        let Some((tool, folder)) = RepoPath::parse(path).ok().as_ref().and_then(tool) else { continue };
        let content = below(&folder, "content/");
        let has_content = || files.range(content.clone()..).next().is_some_and(|path| path.starts_with(&content));
        if tool != Tool::HugoOrOther || has_content() {
            found.insert(folder, (tool, path.clone()));
        }
    }
    found
}

/// The folders of languages without a site, each with that of the site that they are made like.
pub(super) fn alike(around: &dyn Surroundings, files: &BTreeSet<String>) -> BTreeMap<String, String> {
    let folders = files.iter().flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at]));
    let folders: BTreeSet<&str> = folders.filter(|folder| !around.sites().contains_key(*folder)).collect();
    let is_language = |folder: &&&str| EDITION.is_match(folder.rsplit('/').next().unwrap_or_default());
    folders
        .iter()
        .filter(is_language)
        .filter_map(|folder| Some(((*folder).to_owned(), inherited(around, folder)?)))
        .collect()
}

/// The pages that may replace a missing page of a translation. The site shows the first that exists.
pub(super) fn stand_ins(around: &dyn Surroundings, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let mut found = Vec::new();
    for at in 0..parts.len().saturating_sub(1) {
        let (site, part, rest) = (parts[..at].join("/"), parts[at], parts[at + 1..].join("/"));
        let next = parts.get(at + 1).copied().unwrap_or_default();
        let is_edition = EDITION.is_match(part);
        if is_edition {
            found.extend(inherited(around, &below(&site, part)).map(|base| below(&base, &rest)));
        }
        if part == "content" && EDITION.is_match(next) {
            found.extend(
                main_of(around, &site, next)
                    .map(|main| [below(&site, part), main, parts[at + 2..].join("/")].join("/")),
            );
        }
        if part == "i18n" && at + 3 < parts.len() {
            found.extend(translated(around, &site, &parts[at + 2..]));
        }
    }
    found
}

/// The folder of the site that the configuration of another language's site inherits. If it has none, that of its only sibling that
/// inherits none.
fn inherited(around: &dyn Surroundings, site: &str) -> Option<String> {
    let is_language = |folder: &str| EDITION.is_match(folder.rsplit('/').next().unwrap_or_default());
    let above = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    if let Some(text) = of_tool(around, site, &[Tool::Mkdocs]) {
        let base = above(&joined(site, INHERIT.captures(&text)?.get(1)?.as_str())?);
        return (is_language(&base) && base != site).then_some(base);
    }
    let is_sibling = |other: &&String| above(other) == above(site) && is_language(other) && other.as_str() != site;
    let inherits = |path: &str| INHERIT.is_match(&around.text(path));
    let siblings = around.sites().iter().filter(|(other, (_, path))| is_sibling(other) && !inherits(path));
    let [(only, _)] = siblings.collect::<Vec<_>>()[..] else { return None };
    let text = of_tool(around, only, &[Tool::Mkdocs]).filter(|_| !around.sites().contains_key(site))?;
    let pages = PAGES.captures(&text).and_then(|found| found.get(1)).map_or("docs", |pages| pages.as_str());
    around.is_folder(&below(site, pages)).then(|| only.clone())
}

/// The text of a site's configuration, if it is one of these tools'.
fn of_tool(around: &dyn Surroundings, site: &str, tools: &[Tool]) -> Option<String> {
    let (tool, path) = around.sites().get(site)?;
    tools.contains(tool).then(|| around.text(path))
}

/// The main language of a site of Hugo, if it is another one and has a folder.
fn main_of(around: &dyn Surroundings, site: &str, language: &str) -> Option<String> {
    let text = of_tool(around, site, &[Tool::Hugo, Tool::HugoOrOther])?;
    let main = MAIN.captures(&text).and_then(|found| found.get(1)).map_or("en", |main| main.as_str()).to_owned();
    (main != language && around.is_folder(&below(site, &format!("content/{main}")))).then_some(main)
}

/// The original pages of a translation below Docusaurus's `i18n/LANGUAGE`.
fn translated(around: &dyn Surroundings, site: &str, parts: &[&str]) -> Vec<String> {
    let Some(text) = of_tool(around, site, &[Tool::Docusaurus]) else { return Vec::new() };
    let Some(plugin) = PLUGIN.captures(parts[0]) else { return Vec::new() };
    let instance = plugin.get(2).map(|instance| instance.as_str());
    let rest = |from: usize| parts[from..].join("/");
    match (&plugin[1], parts.get(1).copied().unwrap_or_default()) {
        ("docs", "current") => {
            let folders = FOLDER.captures_iter(&text).filter_map(|found| joined(site, &found[1]));
            let own = below(site, instance.unwrap_or("docs"));
            folders.chain([own]).map(|folder| below(&folder, &rest(2))).collect()
        }
        ("docs", version) => {
            let versions = instance.map_or_else(|| "versioned_docs".to_owned(), |own| format!("{own}_versioned_docs"));
            vec![below(site, &[&versions, version, &rest(2)].join("/"))]
        }
        ("blog", _) => vec![below(site, &[instance.unwrap_or("blog"), &rest(1)].join("/"))],
        (_, _) => vec![below(site, &[instance.unwrap_or("src/pages"), &rest(1)].join("/"))],
    }
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<R>(files: &[(&str, &str)], look: impl Fn(&Configured<'_>) -> R) -> R {
        let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let of = |path: &str| files.iter().find(|(name, _)| *name == path).map_or("", |(_, text)| text).to_owned();
        look(&Configured { sites: sites(&paths), files: &paths, text: &of })
    }

    #[test]
    fn a_page_that_is_not_translated_is_that_of_the_main_language() {
        let inherits = ("docs/de/mkdocs.yml", "site_name: x\nINHERIT: ../en/mkdocs.yml\n");
        let hugo = ("web/config.toml", "title = 'x'\ndefaultContentLanguage = 'fr'\n");
        let plugin = "i18n/de/docusaurus-plugin-content-";
        let config = ("docusaurus.config.js", "presets: [{docs: {path: 'manual'}}]");
        for (files, missing, expected) in [
            (&[inherits, ("docs/en/mkdocs.yml", "")][..], "docs/de/docs/a/b.md", &["docs/en/docs/a/b.md"][..]),
            (&[("docs/de/mkdocs.yml", "")], "docs/de/docs/a.md", &[]),
            (&[("docs/en/mkdocs.yml", ""), ("docs/de/docs/a.md", "")], "docs/de/docs/b.md", &["docs/en/docs/b.md"]),
            (&[("docs/en/mkdocs.yml", ""), ("docs/de/a.md", "")], "docs/de/docs/b.md", &[]),
            (
                &[
                    ("docs/en/mkdocs.yml", ""),
                    ("docs/hi/mkdocs.yml", "INHERIT: ../en/x.yml"),
                    ("docs/de/docs/a.md", ""),
                ],
                "docs/de/docs/b.md",
                &["docs/en/docs/b.md"],
            ),
            (
                &[("docs/en/mkdocs.yml", ""), ("docs/ja/mkdocs.yml", ""), ("docs/de/docs/a.md", "")],
                "docs/de/docs/b.md",
                &[],
            ),
            (&[("a/mkdocs.yml", "INHERIT: ../b/mkdocs.yml")], "a/docs/x.md", &[]),
            (&[hugo, ("web/content/fr/a.md", "")], "web/content/de/b.md", &["web/content/fr/b.md"]),
            (&[hugo, ("web/content/fr/a.md", "")], "web/content/fr/b.md", &[]),
            (&[("web/content/fr/a.md", "")], "web/content/de/b.md", &[]),
            (&[config], &format!("{plugin}docs/current/x/b.md"), &["manual/x/b.md", "docs/x/b.md"]),
            (&[config], &format!("{plugin}docs-api/version-2/b.md"), &["api_versioned_docs/version-2/b.md"]),
            (&[config], &format!("{plugin}pages/b.md"), &["src/pages/b.md"]),
            (&[], &format!("{plugin}pages/b.md"), &[]),
        ] {
            assert_eq!(check(files, |around| stand_ins(around, missing)), expected, "{missing}");
        }
    }

    #[test]
    fn sites_languages_and_versions_are_apart() {
        let files = [("docs/en/mkdocs.yml", ""), ("docs/de/mkdocs.yml", ""), ("site/.vitepress/config.ts", "")];
        for (file, target, expected) in [
            ("docs/en/docs/a.md", "docs/en/docs/x/b.md", false),
            ("docs/en/docs/a.md", "docs/de/docs/b.md", true),
            ("docs/a.md", "docs/b/c.md", false),
            ("site/a.md", "site/x/b.md", false),
            ("README.md", "docs/b.md", false),
            ("README.md", "site/b.md", true),
            ("docs/b.md", "README.md", true),
            ("src/a/de/x.md", "src/a/img/y.png", false),
            ("src/v1.0/x.md", "src/v2.0/y.md", true),
            ("src/index.md", "src/pt-BR/y.md", true),
        ] {
            assert_eq!(check(&files, |around| are_apart(around, file, target, &[])), expected, "{file} {target}");
        }
    }
}
