//! The configurations of generators: the folders that they render, and the settings that matter to anchors.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::super::{
    blocks::Blocks,
    params::Dialect,
    reference::{folder, joined, name},
    scheme::Scheme,
};
use base::{error::Error, language::Language, pulse::Pulse};
use format::{
    document::{Document, syntax::Syntax},
    members::{Literal, Member, members},
};

/// Reads a text file; none if it is missing or not UTF-8.
pub(super) type Read<'a> = &'a dyn Fn(&str) -> Result<Option<String>, Error>;

/// The generator whose configuration a file is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Mkdocs,
    Mdbook,
    Hugo,
    /// Hugo, if the content says so.
    MaybeHugo,
    Docusaurus,
    Vitepress,
    Astro,
}

/// The folders of a site, and its rules.
#[derive(Debug)]
pub(super) struct Found {
    /// The folder that its paths begin at.
    pub(super) base: String,
    pub(super) roots: Vec<String>,
    /// The places in the pages at which it mounts other files.
    pub(super) mounts: Vec<String>,
    pub(super) scheme: Scheme,
    /// The reason that it may have other folders, too.
    pub(super) loose: Option<String>,
}

const PROGRAMS: &[&str] = &["js", "ts", "mjs", "cjs", "mts", "cts"];

/// Python-Markdown extensions that leave signs in headings alone.
const HARMLESS: &[&str] = &[
    "abbr",
    "admonition",
    "attr_list",
    "codehilite",
    "def_list",
    "extra",
    "fenced_code",
    "footnotes",
    "md_in_html",
    "meta",
    "sane_lists",
    "tables",
    "toc",
];

/// Configurations of generators whose rules for anchors are not known.
const FOREIGN: &[&str] = &[
    "_config.yml",
    "_config.yaml",
    "_quarto.yml",
    "antora.yml",
    "conf.py",
    "docfx.json",
    "mint.json",
    "zensical.toml",
];

/// Plugins of MkDocs that leave headings as they are.
const PLUGINS: &[&str] = &[
    "autorefs",
    "awesome-nav",
    "awesome-pages",
    "blog",
    "git-revision-date-localized",
    "glightbox",
    "i18n",
    "literate-nav",
    "meta",
    "minify",
    "offline",
    "privacy",
    "redirects",
    "search",
    "section-index",
    "social",
    "tags",
];

/// Preprocessors of mdBook that leave headings as they are.
const PREPROCESSORS: &[&str] = &["admonish", "index", "links", "mermaid", "toc"];

impl Kind {
    pub(in super::super) fn of(path: &str) -> Option<Kind> {
        let file = name(path);
        let program = |stem: &str| {
            let end = file.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.'));
            end.is_some_and(|end| PROGRAMS.contains(&end))
        };
        let above = name(folder(path));
        let in_vitepress = above == ".vitepress" || (above == "config" && name(folder(folder(path))) == ".vitepress");
        Some(match file {
            "mkdocs.yml" | "mkdocs.yaml" => Kind::Mkdocs,
            "book.toml" => Kind::Mdbook,
            "hugo.toml" | "hugo.yaml" | "hugo.yml" | "hugo.json" => Kind::Hugo,
            "config.toml" | "config.yaml" | "config.yml" | "config.json" => Kind::MaybeHugo,
            _ if program("docusaurus.config") => Kind::Docusaurus,
            _ if program("astro.config") => Kind::Astro,
            _ if in_vitepress && program(if above == "config" { "index" } else { "config" }) => Kind::Vitepress,
            _ => return None,
        })
    }

    /// True for the configuration of a generator whose rules are not known.
    pub(super) fn is_foreign(path: &str) -> bool {
        let stem = name(path).split('.').next().unwrap_or_default();
        FOREIGN.contains(&name(path))
            || (name(path).contains(".config.") && ["gatsby", "rspress", "vuepress"].contains(&stem))
    }

    /// True for a file that may configure a site, though not by a name of which that is certain.
    pub(super) fn may_be(path: &str) -> bool {
        let file = name(path);
        let is_data = [".toml", ".yaml", ".yml", ".json"].iter().any(|end| file.ends_with(end));
        is_data && ["mkdocs", "hugo.", "book."].iter().any(|begin| file.starts_with(begin)) && Kind::of(path).is_none()
    }

    fn dialect(self) -> Dialect {
        match self {
            Kind::Mkdocs => Dialect::Mkdocs,
            Kind::Mdbook => Dialect::Mdbook,
            Kind::Hugo | Kind::MaybeHugo => Dialect::Hugo,
            Kind::Docusaurus => Dialect::Docusaurus,
            Kind::Vitepress => Dialect::Vitepress,
            Kind::Astro => Dialect::Github,
        }
    }
}

/// Reads a configuration; none if the file is another one.
pub(super) fn read(kind: Kind, path: &str, read: Read<'_>, pulse: Pulse<'_>) -> Result<Option<Found>, Error> {
    let text = read(path)?;
    let scheme = Scheme::of(kind.dialect());
    let mut site = Site { base: base(kind, path), roots: Vec::new(), mounts: Vec::new(), scheme, loose: None };
    let extension = path.rsplit('.').next().unwrap_or_default();
    let syntax = match extension {
        "toml" => Some(Syntax::Toml),
        "yml" | "yaml" => Some(Syntax::Yaml),
        "json" => Some(Syntax::Json),
        _ => None,
    };
    match syntax {
        Some(syntax) => {
            let document = text.and_then(|text| Document::parse(syntax, &text).ok());
            let value = document.as_ref().map(Document::value).filter(|value| value.is_object());
            match (kind, value) {
                (Kind::MaybeHugo, None) => return Ok(None),
                // Hugo needs none of its settings, and other generators have a file of that name and that folder.
                (Kind::MaybeHugo, Some(value)) if !is_of_hugo(value) => {
                    site.root("content");
                    site.doubt(&format!("`{}` may be of Hugo or of another generator", name(path)));
                }
                (Kind::Mkdocs, Some(value)) => site.mkdocs(value),
                (Kind::Mdbook, Some(value)) => site.mdbook(value),
                (_, Some(value)) => site.hugo(value),
                (_, None) => site.unread(path),
            }
        }
        None => {
            let language = if extension.ends_with("ts") { Language::TypeScript } else { Language::JavaScript };
            let found = match &text {
                Some(text) => members(language, text, pulse)?,
                None => None,
            };
            if text.as_ref().is_some_and(|text| is_made_by_calls(text)) {
                site.doubt("other code makes a part of it");
                site.loose("other code makes a part of its configuration");
            }
            let is_empty = text.as_ref().is_some_and(|text| EMPTY.is_match(text));
            match (kind, found.filter(|members| is_empty || !members.is_empty())) {
                (_, None) => site.unread(path),
                (Kind::Docusaurus, Some(members)) => site.docusaurus(&members),
                (Kind::Vitepress, Some(members)) => site.vitepress(&members),
                (_, Some(members)) => site.astro(&members),
            }
        }
    }
    let Site { base, mut roots, mounts, scheme, loose } = site;
    roots.sort();
    roots.dedup();
    Ok(Some(Found { base, roots, mounts, scheme, loose }))
}

/// An empty object as the configuration.
static EMPTY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:export\s+default|module\.exports\s*=)\s*(?:defineConfig\s*\(\s*)?\{\s*\}"));

/// True for a program that passes its configuration on to other code, takes it from there, or changes it later.
fn is_made_by_calls(text: &str) -> bool {
    static CALLED: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?:export\s+default\s|module\.exports\s*=)\s*(?:await\s+)?([\w$.]+)\s*\(\s*(.)"));
    static CHANGED: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\.(?:presets|plugins|docs|markdown|srcDir)\s*(?:\[[^\]\n]*\]\s*)?=[^=>]"));
    let is_other = |found: regex::Captures<'_>| !found[1].starts_with("defineConfig") || &found[2] != "{";
    CALLED.captures_iter(text).any(is_other) || CHANGED.is_match(text)
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// The folder that paths in a configuration begin at.
pub(in super::super) fn base(kind: Kind, path: &str) -> String {
    let own = folder(path);
    let base = match kind {
        Kind::Vitepress if name(own) == "config" => folder(folder(own)),
        Kind::Vitepress => folder(own),
        Kind::Hugo | Kind::MaybeHugo if name(own) == "_default" && name(folder(own)) == "config" => folder(folder(own)),
        _ => own,
    };
    base.to_owned()
}

fn is_of_hugo(value: &Value) -> bool {
    ["baseurl", "languagecode", "contentdir"].iter().any(|key| at(value, &[key]).is_some())
        || at(value, &["markup", "goldmark"]).is_some()
}

/// The value at keys, in any letter case.
fn at<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| {
        value.as_object()?.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    })
}

struct Site {
    base: String,
    roots: Vec<String>,
    mounts: Vec<String>,
    scheme: Scheme,
    loose: Option<String>,
}

impl Site {
    fn root(&mut self, path: &str) {
        self.roots.extend(joined(&self.base, path));
    }

    fn doubt(&mut self, what: &str) {
        self.scheme.doubt.get_or_insert_with(|| what.to_owned());
    }

    fn loose(&mut self, what: &str) {
        self.loose.get_or_insert_with(|| what.to_owned());
    }

    /// Doubts every page below a configuration that can't be read as data.
    fn unread(&mut self, path: &str) {
        self.root(".");
        self.doubt(&format!("`{}` can't be read as data", name(path)));
        self.loose("its configuration can't be read as data");
    }

    /// The folder that a setting names.
    fn folder(&mut self, value: Option<&Value>, otherwise: &str, setting: &str) {
        match value {
            None => self.root(otherwise),
            Some(Value::String(path)) => self.root(path),
            Some(_) => {
                self.root(".");
                self.doubt(&format!("`{setting}` is computed"));
                self.loose("its folders are computed");
            }
        }
    }

    /// Takes the folders of pages that Hugo mounts, and the places in them at which it mounts anything else.
    fn mounts(&mut self, mounts: &[Value]) {
        let text = |mount: &'_ Value, key: &str| {
            let text = at(mount, &[key]).and_then(Value::as_str).unwrap_or_default();
            text.trim_end_matches('/').to_owned()
        };
        let pages: Vec<(String, String)> =
            mounts.iter().map(|mount| (text(mount, "source"), text(mount, "target"))).collect();
        let pages = pages.iter().filter(|(_, target)| target.split('/').next() == Some("content"));
        let whole: Vec<&str> = pages
            .clone()
            .filter(|(_, target)| target == "content")
            .map(|(source, _)| source.as_str())
            .chain(["content"])
            .collect();
        for (source, target) in pages {
            self.root(source);
            let Some(rest) = target.strip_prefix("content/").filter(|_| source != target) else { continue };
            let places = whole.iter().filter_map(|folder| joined(&self.base, &format!("{folder}/{rest}")));
            self.mounts.extend(places.collect::<Vec<_>>());
        }
    }

    fn mkdocs(&mut self, value: &Value) {
        self.folder(value.get("docs_dir"), "docs", "docs_dir");
        for key in ["hooks", "INHERIT"] {
            if value.get(key).is_some() {
                self.doubt(&format!("`{key}` may change its settings"));
            }
        }
        if value.get("INHERIT").is_some() {
            self.scheme.blocks = Blocks::ALL;
        }
        if value.get("INHERIT").is_some() && value.get("docs_dir").is_none() {
            self.loose("the configuration that it inherits may name its folder");
        }
        self.plugins(value.get("plugins"));
        let mut extensions: Vec<(&str, &Value)> = Vec::new();
        let listed = value.get("markdown_extensions").map_or(&[][..], |listed| match listed {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        });
        for item in listed {
            match item {
                Value::String(name) => extensions.push((name, &Value::Null)),
                Value::Object(map) => extensions.extend(map.iter().map(|(name, options)| (name.as_str(), options))),
                _ => {
                    self.scheme.blocks = Blocks::ALL;
                    self.doubt("`markdown_extensions` is computed");
                }
            }
        }
        self.scheme.has_attributes = false;
        for (name, options) in extensions {
            let short = name.strip_prefix("markdown.extensions.").unwrap_or(name);
            self.scheme.has_attributes |= matches!(short, "attr_list" | "extra" | "pymdownx.extra");
            self.scheme.is_extended |= !HARMLESS.contains(&short);
            self.scheme.blocks.add(short);
            if short != "toc" {
                continue;
            }
            if options.get("slugify").is_some() {
                self.doubt("`slugify` is its own");
            }
            match options.get("separator").map(|separator| separator.as_str()) {
                None | Some(Some("-")) => {}
                Some(Some("_")) => self.scheme.separator = '_',
                Some(_) => self.doubt("`separator` is its own"),
            }
        }
    }

    /// Doubts plugins of MkDocs that may bring extensions or headings.
    fn plugins(&mut self, listed: Option<&Value>) {
        let of = |item: &Value| match item {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::String(name) => vec![name.clone()],
            _ => vec!["plugins".to_owned()],
        };
        let names: Vec<String> = match listed {
            None => Vec::new(),
            Some(Value::Array(items)) => items.iter().flat_map(of).collect(),
            Some(one) => of(one),
        };
        names.iter().for_each(|name| self.plugin(name));
    }

    fn plugin(&mut self, name: &str) {
        let short = name.rsplit('/').next().unwrap_or(name);
        if !PLUGINS.contains(&short) {
            self.doubt(&format!("the plugin `{name}` may change headings"));
        }
    }

    fn mdbook(&mut self, value: &Value) {
        self.folder(at(value, &["book", "src"]), "src", "book.src");
        let html = at(value, &["output", "html"]);
        let flag = ["smart-punctuation", "curly-quotes"].iter().find_map(|key| html?.get(*key));
        // Its versions differ in their default.
        self.scheme.is_extended = flag.is_none();
        self.scheme.is_smart = flag.and_then(Value::as_bool).unwrap_or(true);
        for name in value.get("preprocessor").and_then(Value::as_object).into_iter().flat_map(|all| all.keys()) {
            if !PREPROCESSORS.contains(&name.as_str()) {
                self.doubt(&format!("the preprocessor `{name}` may change headings"));
            }
        }
    }

    fn hugo(&mut self, value: &Value) {
        self.folder(at(value, &["contentDir"]), "content", "contentDir");
        for language in at(value, &["languages"]).and_then(Value::as_object).into_iter().flat_map(|all| all.values()) {
            if let Some(path) = at(language, &["contentDir"]) {
                self.folder(Some(path), "content", "contentDir");
            }
        }
        self.mounts(at(value, &["module", "mounts"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default());
        let parser = |key: &str| at(value, &["markup", "goldmark", "parser", key]);
        let kind = parser("autoHeadingIDType").or(parser("autoIDType"));
        if kind.is_some_and(|kind| kind.as_str() != Some("github")) {
            self.doubt("`autoHeadingIDType` is its own");
        }
        if parser("autoHeadingID").is_some_and(|is| is.as_bool() != Some(true)) {
            self.doubt("`autoHeadingID` is off");
        }
        if at(value, &["markup", "defaultMarkdownHandler"]).is_some_and(|kind| kind.as_str() != Some("goldmark")) {
            self.doubt("another handler reads its Markdown");
        }
        let title = at(value, &["markup", "goldmark", "parser", "attribute", "title"]);
        self.scheme.has_attributes = title.is_none_or(|title| title.as_bool() == Some(true));
        let extensions = at(value, &["markup", "goldmark", "extensions"]).and_then(Value::as_object);
        for key in extensions.into_iter().flat_map(|all| all.keys()) {
            match key.to_ascii_lowercase().as_str() {
                "typographer" => self.scheme.is_smart = false,
                _ => self.scheme.is_extended = true,
            }
        }
    }

    /// Doubts the settings that are computed, or have members of other objects among them.
    fn check(&mut self, members: &[Member], around: &[&str], plain: &[&str]) {
        for Member { name, parents, value } in members {
            let is_around = parents.iter().all(|parent| around.contains(&parent.as_str()));
            let is_off = matches!(value, Literal::Group(true))
                || matches!(value, Literal::Word(word) if word == "false" || word == "null");
            if is_around && name == "..." {
                self.doubt("it takes settings from another object");
            } else if is_around && around.contains(&name.as_str()) && *value == Literal::Computed {
                self.doubt(&format!("`{name}` is computed"));
            } else if plain.contains(&name.as_str()) && !is_off {
                self.doubt(&format!("`{name}` may change headings"));
            }
        }
    }

    fn docusaurus(&mut self, members: &[Member]) {
        let around = ["presets", "plugins", "docs", "blog", "pages", "markdown", "anchors", "mdx1Compat"];
        let plain = [
            "remarkPlugins",
            "rehypePlugins",
            "beforeDefaultRemarkPlugins",
            "beforeDefaultRehypePlugins",
            "preprocessor",
            "maintainCase",
        ];
        self.check(members, &around, &plain);
        let has = |name: &str| members.iter().any(|member| member.name == name);
        let has_below = |name: &str| members.iter().any(|member| member.parents.iter().any(|parent| parent == name));
        let is_listed =
            |name: &str| members.iter().any(|member| member.name == name && member.value == Literal::Group(true));
        for name in ["presets", "plugins"] {
            if has(name) && !has_below(name) && !is_listed(name) {
                self.doubt(&format!("`{name}` is computed"));
            }
        }
        if self.scheme.doubt.is_some() {
            self.loose("its folders may be computed");
        }
        ["docs", "blog", "src/pages", "versioned_docs", "i18n"].iter().for_each(|path| self.root(path));
        for Member { name, parents, value } in members {
            let is_around = parents.iter().all(|parent| around[..5].contains(&parent.as_str()));
            match value {
                Literal::Text(path) if name == "path" && is_around => self.root(path),
                Literal::Computed if name == "path" && is_around => {
                    self.root(".");
                    self.doubt("`path` is computed");
                    self.loose("its folders are computed");
                }
                value if name == "headingIds" && *value != Literal::Word("true".to_owned()) => {
                    self.doubt("`headingIds` is its own");
                }
                _ => {}
            }
        }
    }

    fn vitepress(&mut self, members: &[Member]) {
        self.check(members, &["markdown"], &["slugify", "anchor", "attrs", "preConfig", "math", "extends", "emoji"]);
        let is_hook = |member: &&Member| member.name == "config" && member.parents == ["markdown"];
        if members.iter().any(|member| is_hook(&member)) {
            self.doubt("`markdown.config` may change headings");
        }
        match members.iter().find(|member| member.name == "srcDir").map(|member| &member.value) {
            None => self.root("."),
            Some(Literal::Text(path)) => self.root(path),
            Some(_) => {
                self.root(".");
                self.doubt("`srcDir` is computed");
                self.loose("its folders are computed");
            }
        }
    }

    fn astro(&mut self, members: &[Member]) {
        self.scheme.is_extended = true;
        self.check(members, &["markdown"], &["remarkPlugins", "rehypePlugins", "processor", "srcDir"]);
        ["src/content", "src/pages", "src/docs"].iter().for_each(|path| self.root(path));
    }
}
