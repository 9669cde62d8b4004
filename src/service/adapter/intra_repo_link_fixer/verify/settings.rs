//! The settings of renderers that matter to anchors.

use serde_json::Value;

use super::{
    super::params::Dialect,
    block,
    rules::{Rules, Tool},
};
use audit::{
    document::Syntax,
    members::{Member, members},
};

/// The statements of a configuration.
pub(super) struct Settings {
    /// The folders of the site, below that of its configuration.
    pub(super) folders: Vec<String>,
    /// The paths at which it shows files of other folders, below that of its configuration.
    pub(super) mounted: Vec<String>,
    pub(super) rules: Rules,
    /// The reason that it may have other folders, too.
    pub(super) open: Option<&'static str>,
}

impl Settings {
    fn open(&mut self, why: &'static str) {
        self.open = self.open.or(Some(why));
    }
}

/// Reads a configuration; none if it is another program's.
pub(super) fn read(tool: Tool, path: &str, text: Option<&str>) -> Option<Settings> {
    let dialect = match tool {
        Tool::Mkdocs => Dialect::Mkdocs,
        Tool::Mdbook => Dialect::Mdbook,
        Tool::Hugo | Tool::HugoOrOther => Dialect::Hugo,
        Tool::Docusaurus => Dialect::Docusaurus,
        Tool::Vitepress => Dialect::Vitepress,
        Tool::Astro => Dialect::Github,
    };
    let mut settings = Settings { folders: Vec::new(), mounted: Vec::new(), rules: Rules::of(dialect), open: None };
    let is_read = match tool {
        Tool::Mkdocs | Tool::Mdbook | Tool::Hugo | Tool::HugoOrOther => {
            let value = text.and_then(|text| data(path, text));
            let name = path.rsplit('/').next().unwrap_or_default();
            if tool == Tool::HugoOrOther && value.is_none() {
                return None;
            }
            value.map(|value| match tool {
                Tool::HugoOrOther if !is_of_hugo(&value) => {
                    settings.folders.push("content".to_owned());
                    settings.rules.doubt(format!("`{name}` may be of Hugo or of another generator"));
                }
                Tool::Mkdocs => mkdocs(&value, &mut settings),
                Tool::Mdbook => mdbook(&value, &mut settings),
                _ => hugo(&value, &mut settings),
            })
        }
        Tool::Docusaurus | Tool::Vitepress | Tool::Astro => {
            if text.is_some_and(is_changed_elsewhere) {
                settings.rules.doubt("other code makes a part of it");
                settings.open("other code makes a part of its configuration");
            }
            let members = text
                .and_then(|text| members(path, text))
                .filter(|members| !members.is_empty() || text.is_some_and(has_no_settings));
            members.map(|members| match tool {
                Tool::Docusaurus => docusaurus(&members, &mut settings),
                Tool::Vitepress => vitepress(&members, &mut settings),
                _ => astro(&members, &mut settings),
            })
        }
    };
    if is_read.is_none() {
        let name = path.rsplit('/').next().unwrap_or_default();
        settings.folders.push(".".to_owned());
        settings.rules.doubt(format!("`{name}` can't be read as data"));
        settings.open("its configuration can't be read as data");
    }
    Some(settings)
}

/// The value of a configuration in a data format; none if it is not well-formed.
fn data(path: &str, text: &str) -> Option<Value> {
    let syntax = match path.rsplit('.').next() {
        Some("toml") => Syntax::Toml,
        Some("json") => Syntax::Json,
        _ => Syntax::Yaml,
    };
    audit::document::read(syntax, text).ok().map(|document| document.value).filter(Value::is_object)
}

/// Notes the folder that a setting names; the whole site is in doubt if it is computed.
fn place(settings: &mut Settings, value: Option<&Value>, (name, standard): (&str, &str)) {
    match value.map(Value::as_str) {
        None => settings.folders.push(standard.to_owned()),
        Some(Some(folder)) => settings.folders.push(folder.to_owned()),
        Some(None) => {
            settings.folders.push(".".to_owned());
            settings.rules.doubt(format!("`{name}` is computed"));
            settings.open("its folders are computed");
        }
    }
}

fn mkdocs(value: &Value, settings: &mut Settings) {
    const KNOWN: &str = " abbr admonition attr_list codehilite def_list extra fenced_code footnotes md_in_html meta sane_lists tables toc ";
    place(settings, value.get("docs_dir"), ("docs_dir", "docs"));
    if value.get("INHERIT").is_some() && value.get("docs_dir").is_none() {
        settings.open("the configuration that it inherits may name its folder");
    }
    let rules = &mut settings.rules;
    for name in ["hooks", "INHERIT"].into_iter().filter(|name| value.get(*name).is_some()) {
        rules.doubt(format!("`{name}` may change its settings"));
    }
    for name in plugins(value).into_iter().filter(|name| !is_harmless(name)) {
        rules.doubt(format!("the plugin `{name}` may change headings"));
    }
    rules.attributes = false;
    let nothing = Value::Null;
    let extension = |rules: &mut Rules, name: &str, options: &Value| {
        let name = name.strip_prefix("markdown.extensions.").unwrap_or(name);
        rules.attributes |= ["attr_list", "extra", "pymdownx.extra"].contains(&name);
        rules.extended |= !KNOWN.contains(&format!(" {name} "));
        rules.signs.extend(block::SIGNS.iter().filter(|(extension, _)| *extension == name).map(|(_, sign)| sign));
        if name == "toc" && options.get("slugify").is_some() {
            rules.doubt("`slugify` is its own");
        }
        match options.get("separator").filter(|_| name == "toc").map(Value::as_str) {
            None | Some(Some("-")) => {}
            Some(Some("_")) => rules.separator = '_',
            Some(_) => rules.doubt("`separator` is its own"),
        }
    };
    let mut is_known = value.get("INHERIT").is_none();
    let listed = match value.get("markdown_extensions") {
        None => Vec::new(),
        Some(Value::Array(items)) => items.iter().collect(),
        Some(one) => vec![one],
    };
    for item in listed {
        match item {
            Value::String(name) => extension(rules, name, &nothing),
            Value::Object(map) => map.iter().for_each(|(name, options)| extension(rules, name, options)),
            _ => {
                is_known = false;
                rules.doubt("`markdown_extensions` is computed");
            }
        }
    }
    if !is_known {
        rules.signs = block::every();
    }
}

/// The plugins of MkDocs.
fn plugins(value: &Value) -> Vec<String> {
    let names = |item: &Value| match item {
        Value::String(name) => vec![name.clone()],
        Value::Object(map) => map.keys().cloned().collect(),
        _ => vec!["plugins".to_owned()],
    };
    match value.get("plugins") {
        Some(Value::Array(items)) => items.iter().flat_map(names).collect(),
        Some(one) => names(one),
        None => Vec::new(),
    }
}

/// True for a plugin that neither changes nor makes headings.
fn is_harmless(plugin: &str) -> bool {
    const NAMES: &str = " tags search social section-index redirects privacy offline minify meta literate-nav i18n glightbox \
                         git-revision-date-localized blog awesome-pages awesome-nav autorefs ";
    let name = plugin.split('/').next_back().unwrap_or_default();
    NAMES.contains(&format!(" {name} "))
}

/// True if a program exports an object without members.
fn has_no_settings(text: &str) -> bool {
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let begins =
        ["exportdefault", "module.exports="].map(|begin| [format!("{begin}{{}}"), format!("{begin}defineConfig({{}}")]);
    begins.concat().iter().any(|begin| dense.contains(begin))
}

/// True if a program hands its configuration to other code, gets it from there, or changes it afterwards.
fn is_changed_elsewhere(text: &str) -> bool {
    let squeezed: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let squeezed = squeezed.replace(" =", "=");
    let is_call = |start: &str| {
        squeezed.match_indices(start).any(|(at, _)| {
            let rest = squeezed[at + start.len()..].trim_start();
            let rest = rest.strip_prefix("await ").unwrap_or(rest).trim_start();
            let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '.')).unwrap_or(rest.len());
            let Some(inner) = rest[end..].trim_start().strip_prefix('(').filter(|_| end > 0) else { return false };
            !rest.starts_with("defineConfig") || !inner.trim_start().starts_with('{')
        })
    };
    let is_set = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let mut rest = text[at + name.len()..].trim_start();
            if let Some(inner) = rest.strip_prefix('[') {
                let Some((index, after)) = inner.split_once(']') else { return false };
                rest = if index.contains('\n') { "" } else { after.trim_start() };
            }
            let value = rest.strip_prefix('=').filter(|value| !value.starts_with(['=', '>']));
            value.is_some_and(|value| !value.is_empty())
        })
    };
    is_call("export default ")
        || is_call("module.exports=")
        || [".presets", ".plugins", ".docs", ".markdown", ".srcDir"].iter().any(|name| is_set(name))
}

fn mdbook(value: &Value, settings: &mut Settings) {
    const KNOWN: [&str; 5] = ["links", "index", "toc", "mermaid", "admonish"];
    place(settings, find(value, "book.src"), ("book.src", "src"));
    let rules = &mut settings.rules;
    let smart = value.pointer("/output/html/smart-punctuation").or(value.pointer("/output/html/curly-quotes"));
    rules.smart = smart != Some(&Value::Bool(false));
    // The default is not the same in all versions.
    rules.extended = smart.is_none();
    if let Some(Value::Object(all)) = value.get("preprocessor") {
        for name in all.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
            rules.doubt(format!("the preprocessor `{name}` may change headings"));
        }
    }
}

fn is_of_hugo(value: &Value) -> bool {
    ["baseURL", "languageCode", "contentDir", "markup.goldmark"].iter().any(|path| find(value, path).is_some())
}

/// The value at names, in any letter case.
fn find<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut at = value;
    for name in path.split('.') {
        let Value::Object(map) = at else { return None };
        at = map.iter().find_map(|(own, value)| own.eq_ignore_ascii_case(name).then_some(value))?;
    }
    Some(at)
}

fn hugo(value: &Value, settings: &mut Settings) {
    let named = ("contentDir", "content");
    place(settings, find(value, "contentDir"), named);
    if let Some(Value::Object(languages)) = find(value, "languages") {
        for own in languages.values().filter_map(|language| find(language, "contentDir")) {
            place(settings, Some(own), named);
        }
    }
    if let Some(Value::Array(mounts)) = find(value, "module.mounts") {
        let text = |mount: &Value, name: &str| {
            find(mount, name).and_then(Value::as_str).unwrap_or_default().trim_end_matches('/').to_owned()
        };
        let content = mounts.iter().filter(|mount| {
            let target = text(mount, "target");
            target == "content" || target.starts_with("content/")
        });
        let content: Vec<_> = content.map(|mount| (text(mount, "source"), text(mount, "target"))).collect();
        let folders = content.iter().filter(|(_, target)| target == "content").map(|(source, _)| source.as_str());
        let folders: Vec<&str> = folders.chain(["content"]).collect();
        for (source, target) in &content {
            let inner = target.strip_prefix("content/").filter(|_| source != target);
            let below =
                inner.into_iter().flat_map(|inner| folders.iter().map(move |folder| format!("{folder}/{inner}")));
            settings.mounted.extend(below);
        }
        settings.folders.extend(content.into_iter().map(|(source, _)| source));
    }
    let rules = &mut settings.rules;
    let parser = "markup.goldmark.parser";
    let setting = |name: &str| find(value, &format!("{parser}.{name}"));
    match setting("autoHeadingIDType").or(setting("autoIDType")).map(Value::as_str) {
        None | Some(Some("github")) => {}
        Some(_) => rules.doubt("`autoHeadingIDType` is its own"),
    }
    if setting("autoHeadingID").is_some_and(|is| *is != Value::Bool(true)) {
        rules.doubt("`autoHeadingID` is off");
    }
    if find(value, "markup.defaultMarkdownHandler").is_some_and(|name| name != "goldmark") {
        rules.doubt("another handler reads its Markdown");
    }
    rules.attributes = setting("attribute.title").is_none_or(|is| *is == Value::Bool(true));
    if let Some(Value::Object(extensions)) = find(value, "markup.goldmark.extensions") {
        let is_typographer = |name: &&String| name.eq_ignore_ascii_case("typographer");
        let typographers = extensions.keys().filter(is_typographer).count();
        rules.smart &= typographers == 0;
        rules.extended |= typographers < extensions.len();
    }
}

/// The members around another one, and its name.
fn split(path: &str) -> (Vec<&str>, &str) {
    if let Some(around) = path.strip_suffix("...") {
        return (around.split('.').filter(|name| !name.is_empty()).collect(), "...");
    }
    let mut names: Vec<&str> = path.split('.').collect();
    let name = names.pop().unwrap_or_default();
    (names, name)
}

/// Doubts what is computed in the parts that matter, and what has to be left out.
fn check(members: &[Member], rules: &mut Rules, parts: &[&str], unwanted: &[&str]) {
    for member in members {
        let (around, name) = split(&member.path);
        let is_part = around.iter().all(|name| parts.contains(name));
        if is_part && name == "..." {
            rules.doubt("it takes settings from another object");
        } else if is_part && member.is_computed && parts.contains(&name) {
            rules.doubt(format!("`{name}` is computed"));
        } else if unwanted.contains(&name) && !member.is_empty {
            rules.doubt(format!("`{name}` may change headings"));
        }
    }
}

fn docusaurus(members: &[Member], settings: &mut Settings) {
    let listed = |name: &str| members.iter().find(|member| split(&member.path).1 == name);
    let is_around = |name: &str| members.iter().any(|member| split(&member.path).0.contains(&name));
    let Settings { folders, rules, open, .. } = settings;

    let parts = ["presets", "plugins", "docs", "blog", "pages", "markdown", "anchors", "mdx1Compat"];
    let unwanted = [
        "remarkPlugins",
        "rehypePlugins",
        "beforeDefaultRemarkPlugins",
        "beforeDefaultRehypePlugins",
        "preprocessor",
        "maintainCase",
    ];
    check(members, rules, &parts, &unwanted);
    for name in ["presets", "plugins"] {
        if listed(name).is_some_and(|member| !member.is_empty) && !is_around(name) {
            rules.doubt(format!("`{name}` is computed"));
        }
    }
    if rules.doubt.is_some() {
        *open = open.or(Some("its folders may be computed"));
    }
    folders.extend(["docs", "blog", "src/pages", "versioned_docs", "i18n"].map(str::to_owned));
    for member in members {
        let (around, name) = split(&member.path);
        let is_plugin = around.iter().all(|name| parts[..5].contains(name));
        match name {
            "path" if is_plugin && member.is_computed => {
                folders.push(".".to_owned());
                rules.doubt("`path` is computed");
                *open = open.or(Some("its folders are computed"));
            }
            "path" if is_plugin => folders.extend(member.text.clone()),
            "headingIds" if member.is_empty || member.is_computed || member.text.is_some() => {
                rules.doubt("`headingIds` is its own");
            }
            _ => {}
        }
    }
}

fn vitepress(members: &[Member], Settings { folders, rules, open, .. }: &mut Settings) {
    check(members, rules, &["markdown"], &["slugify", "anchor", "attrs", "preConfig", "math", "extends", "emoji"]);
    if members.iter().any(|member| member.path == "markdown.config") {
        rules.doubt("`markdown.config` may change headings");
    }
    match members.iter().find(|member| split(&member.path).1 == "srcDir") {
        None => folders.push(".".to_owned()),
        Some(Member { text: Some(folder), .. }) => folders.push(folder.clone()),
        Some(_) => {
            folders.push(".".to_owned());
            rules.doubt("`srcDir` is computed");
            *open = open.or(Some("its folders are computed"));
        }
    }
}

fn astro(members: &[Member], Settings { folders, rules, .. }: &mut Settings) {
    rules.extended = true;
    check(members, rules, &["markdown"], &["remarkPlugins", "rehypePlugins", "processor", "srcDir"]);
    folders.extend(["src/content", "src/pages", "src/docs"].map(str::to_owned));
}
