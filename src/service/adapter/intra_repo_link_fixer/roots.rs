//! Documentation roots: the parts of a tree between which a name or a content tells nothing, and translations whose missing pages
//! another part gives.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    reference::{folder, joined, name},
    site::config::{Kind, base},
    tree::Tree,
};

/// The plugins of Docusaurus with pages, each with the folder of the pages that it translates.
const PLUGINS: &[(&str, &str)] = &[
    ("docusaurus-plugin-content-docs", "docs"),
    ("docusaurus-plugin-content-blog", "blog"),
    ("docusaurus-plugin-content-pages", "src/pages"),
];

/// The codes of languages by ISO 639-1, and of countries that are used for them.
const LANGUAGES: &str = include_str!("languages.txt");

/// The documentation roots of a tree.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// The folders of sites, each with its configuration.
    sites: BTreeMap<String, (Kind, String)>,
    /// Folders that the parameters join to one site.
    joint: Vec<String>,
    /// Folders without a configuration, each with that of a site that they are made like.
    alike: Vec<(String, String)>,
    /// Folders of translations, each with the folder whose pages stand in for its missing ones.
    fallbacks: Vec<(String, String)>,
}

/// Reads a file of the tree, if it is a text.
pub(super) type ReadText<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Roots {
    /// Finds the sites of a tree by the names of their configurations, and what these say of translations.
    /// `site_root` are the folders that the parameters join to one site.
    pub(super) fn new(tree: &Tree, site_root: &[String], read: ReadText<'_>) -> Self {
        let joint = site_root.iter().filter_map(|folder| joined("", folder)).filter(|folder| !folder.is_empty());
        let mut roots = Roots { joint: joint.collect(), ..Roots::default() };
        for path in tree.paths() {
            let Some(kind) = Kind::of(path) else { continue };
            let site = base(kind, path);
            if kind != Kind::MaybeHugo || tree.has_folder(&under(&site, "content")) {
                roots.sites.insert(site, (kind, path.to_owned()));
            }
        }
        for (site, (kind, path)) in roots.sites.clone() {
            let text = || read(&path).unwrap_or_default();
            match kind {
                Kind::Mkdocs => roots.mkdocs(tree, (&site, &text()), read),
                Kind::Docusaurus => roots.docusaurus(tree, &site, &text()),
                Kind::Hugo | Kind::MaybeHugo => roots.hugo(tree, &site, &text()),
                Kind::Mdbook | Kind::Vitepress | Kind::Astro => {}
            }
        }
        roots
    }

    /// The site of a language may inherit that of another. One without a configuration is made like the only one of its siblings that
    /// has one and inherits none.
    fn mkdocs(&mut self, tree: &Tree, (site, text): (&str, &str), read: ReadText<'_>) {
        let inherited = value_of(text, "INHERIT").and_then(|base| joined(site, &base));
        let main = inherited.map(|base| folder(&base).to_owned());
        if !is_edition(name(site)) {
            return;
        }
        if let Some(base) = main.filter(|base| base != site && is_edition(name(base))) {
            self.fallbacks.push((site.to_owned(), base));
            return;
        }
        let pages = value_of(text, "docs_dir").unwrap_or_else(|| "docs".to_owned());
        let siblings = tree.folders_of(folder(site)).into_iter().filter(|other| is_edition(name(other)));
        let (others, alike): (Vec<_>, Vec<_>) = siblings.partition(|other| self.sites.contains_key(other));
        let inherits = |site: &String| {
            let text = self.sites.get(site).and_then(|(_, path)| read(path));
            text.is_some_and(|text| value_of(&text, "INHERIT").is_some())
        };
        if others.iter().filter(|other| !inherits(other)).count() == 1 {
            let alike = alike.into_iter().filter(|other| tree.has_folder(&under(other, &pages)));
            let alike: Vec<_> = alike.map(|other| (other, site.to_owned())).collect();
            self.fallbacks.extend(alike.iter().cloned());
            self.alike.extend(alike);
        }
    }

    fn hugo(&mut self, tree: &Tree, site: &str, text: &str) {
        let main = value_of(text, "defaultContentLanguage").unwrap_or_else(|| "en".to_owned());
        let content = under(site, "content");
        let main = under(&content, &main);
        let others = tree.folders_of(&content).into_iter().filter(|other| is_edition(name(other)) && *other != main);
        if tree.has_folder(&main) {
            self.fallbacks.extend(others.map(|other| (other, main.clone())));
        }
    }

    fn docusaurus(&mut self, tree: &Tree, site: &str, text: &str) {
        for language in tree.folders_of(&under(site, "i18n")) {
            for plugin in tree.folders_of(&language) {
                self.plugin(tree, (site, &plugin), text);
            }
        }
    }

    /// Notes the folders of a translated plugin of Docusaurus. Its instance is a suffix of its name, and names its folders.
    fn plugin(&mut self, tree: &Tree, (site, plugin): (&str, &str), text: &str) {
        for (kind, default) in PLUGINS {
            let Some(instance) = name(plugin).strip_prefix(kind) else { continue };
            let (own, prefix) = match instance.strip_prefix('-') {
                Some(own) => (own, format!("{own}_")),
                None if instance.is_empty() => (*default, String::new()),
                None => continue,
            };
            if *default != "docs" {
                self.fallbacks.push((plugin.to_owned(), under(site, own)));
                continue;
            }
            for version in tree.folders_of(plugin) {
                let versioned = || under(site, &format!("{prefix}versioned_docs/{}", name(&version)));
                let paths = || literals(text, "path").into_iter().filter_map(|path| joined(site, &path));
                let all = match name(&version) {
                    "current" => paths().chain([under(site, own)]).collect(),
                    _ => vec![versioned()],
                };
                self.fallbacks.extend(all.into_iter().map(|to| (version.clone(), to)));
            }
        }
    }

    /// Folders without a configuration, each with that of a site that they are made like.
    pub(super) fn alike(&self) -> &[(String, String)] {
        &self.alike
    }

    /// The places that may stand in for a missing one of a translation, in order.
    pub(super) fn fallbacks(&self, place: &str) -> impl Iterator<Item = String> {
        self.fallbacks.iter().filter_map(move |(from, to)| {
            let rest = place.strip_prefix(from.as_str())?.strip_prefix('/')?;
            joined(to, rest)
        })
    }

    /// True if two files belong to different roots. A name or content is not evidence across roots.
    /// `old` are the places that the link names.
    pub(super) fn are_apart(&self, file: &str, target: &str, old: &[String]) -> bool {
        let is_joint = |path: &str| {
            self.joint.iter().any(|at| path.strip_prefix(at.as_str()).is_some_and(|rest| rest.starts_with('/')))
        };
        let first = |path: &str| path.split_once('/').map(|(first, _)| first.to_owned());
        let is_one = match (self.site(file), self.site(target)) {
            _ if is_joint(file) && is_joint(target) => true,
            // A file in no folder belongs to the whole tree.
            (None, None) => first(file).is_none() || first(file) == first(target),
            (one, other) => one == other,
        };
        let own: BTreeSet<&str> =
            editions(file).into_iter().chain(old.iter().flat_map(|place| editions(place))).collect();
        !is_one || !editions(target).is_subset(&own)
    }

    /// True if a link would lead from one language or version to another. A move is not evidence for that.
    /// `old` are the places that the link names.
    pub(super) fn are_other_editions(file: &str, target: &str, old: &[String]) -> bool {
        let mut own = editions(file);
        let is_in_one = !own.is_empty();
        own.extend(old.iter().flat_map(|place| editions(place)));
        let is_of = |path: &str| Self::are_of_one_version(path, target);
        let is_inside = (old.is_empty() || !versions(file).is_empty()) && is_of(file);
        let is_other_version = !is_inside && !old.iter().any(|place| is_of(place));
        is_other_version || is_in_one && !editions(target).is_subset(&own)
    }

    /// True if two paths are in folders of the same versions of a documentation.
    pub(super) fn are_of_one_version(one: &str, other: &str) -> bool {
        versions(one) == versions(other)
    }

    /// The folder of the nearest site around a path, below the workspace.
    fn site<'p>(&self, path: &'p str) -> Option<&'p str> {
        let folders = std::iter::successors(Some(folder(path)), |at| Some(folder(at)));
        folders.take_while(|at| !at.is_empty()).find(|at| self.sites.contains_key(*at))
    }
}

/// The languages and versions in a path.
fn editions(path: &str) -> BTreeSet<&str> {
    folder(path).split('/').filter(|part| is_edition(part)).collect()
}

/// The versions in a path. A cut version has the contents of another one, which therefore tell of no move.
fn versions(path: &str) -> BTreeSet<&str> {
    let is_version = |part: &&str| part.starts_with("version-") || part.bytes().any(|byte| byte.is_ascii_digit());
    editions(path).into_iter().filter(is_version).collect()
}

fn under(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// True for the name of a folder with one language or version of a documentation: `pt-br`, `v2.1`, `version-stable`.
fn is_edition(name: &str) -> bool {
    let is_language = match name.split_once(['-', '_']) {
        None => LANGUAGES.split_whitespace().any(|language| language == name),
        Some((language, region)) => {
            language.len() == 2
                && language.bytes().all(|byte| byte.is_ascii_lowercase())
                && (2..=4).contains(&region.len())
                && region.bytes().all(|byte| byte.is_ascii_alphabetic())
        }
    };
    let version = name.strip_prefix("version-").or(name.strip_prefix('v')).unwrap_or(name);
    let version = version.strip_suffix(".x").unwrap_or(version);
    is_language
        || name.starts_with("version-")
        || (version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(char::is_alphabetic))
}

/// The value of a top key of YAML or TOML that stands on one line.
fn value_of(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix([':', '=']))?;
    let line = line.trim_start();
    let value = match line.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
        Some(quote) => line[1..].split(quote).next().unwrap_or_default(),
        None => line.split(" #").next().unwrap_or_default().trim(),
    };
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

/// The string literals that are values of a JavaScript key.
fn literals(text: &str, key: &str) -> Vec<String> {
    let values = text.match_indices(key).filter_map(|(at, _)| {
        let before = text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let rest = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim_start();
        let quote = rest.chars().next().filter(|c| before && matches!(c, '"' | '\''))?;
        Some(rest[1..].split(quote).next()?.to_owned())
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::path::RepoPath;

    fn roots(files: &[(&str, &str)]) -> Roots {
        let paths: Vec<RepoPath> = files.iter().map(|(path, _)| RepoPath::parse(path).unwrap()).collect();
        let tree = Tree::new(&paths, &[], &[]);
        Roots::new(&tree, &["content".to_owned(), "./static/".to_owned(), ".".to_owned()], &|path| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        })
    }

    #[track_caller]
    fn falls_back(files: &[(&str, &str)], from: &str, to: &[&str]) {
        let mut files = files.to_vec();
        files.sort_unstable();
        assert_eq!(roots(&files).fallbacks(from).collect::<Vec<_>>(), to);
    }

    #[test]
    fn missing_pages_of_a_translation_are_those_of_the_main_language() {
        let mkdocs = [("docs/de/mkdocs.yml", "INHERIT: ../en/mkdocs.yml\n"), ("docs/en/mkdocs.yml", "site_name: x\n")];
        falls_back(&mkdocs, "docs/de/docs/a/b.md", &["docs/en/docs/a/b.md"]);
        falls_back(&mkdocs, "docs/en/docs/a.md", &[]);
        let alone =
            [("docs/en/mkdocs.yml", ""), ("docs/de/docs/a.md", ""), ("docs/api/docs/a.md", ""), ("docs/fr/a.md", "")];
        falls_back(&alone, "docs/de/docs/b.md", &["docs/en/docs/b.md"]);
        falls_back(&alone, "docs/api/docs/b.md", &[]);
        falls_back(&alone, "docs/fr/docs/b.md", &[]);
        falls_back(&[&alone[..], &[("docs/ja/mkdocs.yml", "")]].concat(), "docs/de/docs/b.md", &[]);
        let inherits = [&alone[..], &[("docs/hi/mkdocs.yml", "INHERIT: ../en/mkdocs.yml")]].concat();
        falls_back(&inherits, "docs/de/docs/b.md", &["docs/en/docs/b.md"]);
        falls_back(&[("a/mkdocs.yml", "INHERIT: ../b/mkdocs.yml\n"), ("b/mkdocs.yml", "")], "a/docs/x.md", &[]);
        let hugo = [("content/de/a.md", ""), ("content/fr/a.md", ""), ("content/img/x.md", "")];
        let with = |text| [&hugo[..], &[("hugo.toml", text)]].concat();
        falls_back(&with("defaultContentLanguage = \"fr\"\n"), "content/de/b.md", &["content/fr/b.md"]);
        falls_back(&with(""), "content/de/b.md", &[]);
        falls_back(&with("defaultContentLanguage = 'fr'"), "content/img/b.md", &[]);
    }

    #[test]
    fn translations_of_docusaurus_fall_back_by_their_plugin() {
        let all = [
            ("web/docusaurus.config.ts", "docs: { path: '../docs', sidebarPath: 'x.js' }"),
            ("web/i18n/de/docusaurus-plugin-content-docs/current/a.md", ""),
            ("web/i18n/de/docusaurus-plugin-content-docs/version-1.0/a.md", ""),
            ("web/i18n/de/docusaurus-plugin-content-docs-api/current/a.md", ""),
            ("web/i18n/de/docusaurus-plugin-content-blog/a.md", ""),
        ];
        let below = |rest: &str| format!("web/i18n/de/docusaurus-plugin-content-{rest}");
        falls_back(&all, &below("docs/current/x/b.md"), &["docs/x/b.md", "web/docs/x/b.md"]);
        falls_back(&all, &below("docs/version-1.0/b.md"), &["web/versioned_docs/version-1.0/b.md"]);
        falls_back(&all, &below("docs-api/current/b.md"), &["docs/b.md", "web/api/b.md"]);
        falls_back(&all, &below("blog/b.md"), &["web/blog/b.md"]);
    }

    #[test]
    fn roots_are_those_of_sites_or_top_folders() {
        let files = [
            ("docs/en/mkdocs.yml", ""),
            ("docs/de/mkdocs.yml", ""),
            ("site/.vitepress/config.ts", ""),
            ("book.toml", ""),
        ];
        let roots = roots(&files);
        for (file, target, apart) in [
            ("docs/en/docs/a.md", "docs/en/docs/x/b.md", false),
            ("docs/en/docs/a.md", "docs/de/docs/b.md", true),
            ("docs/en/docs/a.md", "docs/b.md", true),
            ("docs/a.md", "docs/b/c.md", false),
            ("site/a.md", "docs/b.md", true),
            ("README.md", "docs/b.md", false),
            ("README.md", "site/b.md", true),
            ("README.md", "docs/en/b.md", true),
            ("docs/b.md", "README.md", true),
            ("content/a.md", "static/b.png", false),
            ("content/a.md", "docs/b.png", true),
            ("README.md", "b.md", false),
            ("src/a/de/x.md", "src/a/en/y.md", true),
            ("src/a/de/x.md", "src/a/img/y.png", false),
            ("src/v1.0/x.md", "src/v2.0/y.md", true),
            ("src/version-1/x.md", "src/version-1/y.md", false),
            ("src/index.md", "src/pt-BR/y.md", true),
            ("src/index.md", "src/ja/y.md", true),
            ("src/index.md", "src/ui/y.md", false),
            ("src/db/x.md", "src/go/y.md", false),
        ] {
            assert_eq!(roots.are_apart(file, target, &[]), apart, "{file} {target}");
        }
    }
}
