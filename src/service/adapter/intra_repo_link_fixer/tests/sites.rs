//! The rules of a page by the configuration of its site, as both readers take them.

use serde_json::json;

use super::{
    super::{params::Dialect, site::Sites, tree::Tree, verify},
    Case,
};
use crate::contract::Setting;
use base::path::RepoPath;

/// The settings of the pages of a tree, each as `below: value (path)`, with its doubt.
#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    let paths: Vec<RepoPath> = files.iter().map(|(path, _)| RepoPath::parse(path).unwrap()).collect();
    let pages = || files.iter().map(|(path, _)| *path).filter(|path| path.ends_with(".md"));
    let proposed = Sites::of(Dialect::Auto, &Tree::new(&paths, &[], &[]), &|path| Ok(read(path)), &|| Ok(()))
        .unwrap()
        .settings(pages());
    let verified = verify::settings_of(&paths, &|path| read(path.as_str()), pages());
    let shown = |setting: &Setting| {
        let doubt = setting.doubt.as_ref().map(|doubt| format!(": {doubt}")).unwrap_or_default();
        format!("{} {} ({}){doubt}", setting.below, setting.value, setting.path)
    };
    assert_eq!(proposed.iter().map(shown).collect::<Vec<_>>(), expected, "{files:?}");
    assert_eq!(verified, proposed, "{files:?}");
}

#[test]
fn a_configuration_names_the_generator_of_its_folder() {
    check(&[("a.md", ""), ("docs/b.md", "")], &[]);
    check(&[("mkdocs.yml", "site_name: x\n"), ("docs/b.md", ""), ("a.md", "")], &["docs mkdocs (mkdocs.yml)"]);
    check(&[("x/mkdocs.yml", "docs_dir: ../y\n"), ("y/b.md", "")], &["y mkdocs (x/mkdocs.yml)"]);
    check(
        &[("book.toml", "[book]\nsrc = \"text\"\n"), ("text/b.md", ""), ("src/c.md", "")],
        &["text mdbook (book.toml)"],
    );
    check(&[("hugo.yaml", "baseURL: /\n"), ("content/b.md", "")], &["content hugo (hugo.yaml)"]);
    check(&[("config.toml", "baseURL = \"/\"\n"), ("content/b.md", "")], &["content hugo (config.toml)"]);
    let may_be = "content hugo (config.toml): `config.toml` may be of Hugo or of another generator";
    check(&[("config.toml", "base_url = \"/\"\n"), ("content/b.md", "")], &[may_be]);
    check(
        &[("config/_default/hugo.toml", "contentDir = 'c'\n"), ("c/b.md", "")],
        &["c hugo (config/_default/hugo.toml)"],
    );
    check(
        &[
            (
                "site/docusaurus.config.js",
                "module.exports = { title: 'x', presets: [['classic', { docs: { path: '../d' } }]] };\n",
            ),
            ("d/b.md", ""),
            ("site/blog/c.md", ""),
            ("README.md", ""),
        ],
        &["d docusaurus (site/docusaurus.config.js)", "site/blog docusaurus (site/docusaurus.config.js)"],
    );
    check(
        &[
            ("d/.vitepress/config.mts", "export default defineConfig({ srcDir: 'src', title: \"x\" })\n"),
            ("d/src/b.md", ""),
        ],
        &["d/src vitepress (d/.vitepress/config.mts)"],
    );
    check(
        &[("astro.config.mjs", "export default defineConfig({ site: 'x' });\n"), ("src/content/docs/b.md", "")],
        &["src/content github (astro.config.mjs)"],
    );
}

#[test]
fn each_page_has_the_nearest_site() {
    check(
        &[
            ("mkdocs.yml", "a: 1\n"),
            ("docs/a.md", ""),
            ("docs/x/book.toml", ""),
            ("docs/x/src/b.md", ""),
            ("docs/x/c.md", ""),
        ],
        &["docs mkdocs (mkdocs.yml)", "docs/x/src mdbook (docs/x/book.toml)"],
    );
    check(
        &[("mkdocs.yml", "a: 1\n"), ("docs/a.md", ""), ("book.toml", "[book]\nsrc = \"docs\"\n")],
        &["docs auto (book.toml): two sites have it, with other rules"],
    );
}

#[test]
fn settings_of_its_own_are_in_doubt() {
    for (file, text, doubt) in [
        ("mkdocs.yml", "markdown_extensions:\n- toc:\n    slugify: !!python/name:x.y\n", "`slugify` is its own"),
        ("mkdocs.yml", "markdown_extensions:\n  toc:\n    separator: '+'\n", "`separator` is its own"),
        ("mkdocs.yml", "hooks: [a.py]\n", "`hooks` may change its settings"),
        ("mkdocs.yml", "a: b: c\n", "`mkdocs.yml` can't be read as data"),
        ("book.toml", "[book]\nsrc = \"docs\"\n[preprocessor.x]\n", "the preprocessor `x` may change headings"),
        (
            "hugo.toml",
            "contentDir = \"docs\"\n[markup.goldmark.parser]\nautoHeadingIDType = \"blackfriday\"\n",
            "`autoHeadingIDType` is its own",
        ),
        (
            "docusaurus.config.js",
            "module.exports = { presets: [['c', { docs: { remarkPlugins: [x] } }]] };",
            "`remarkPlugins` may change headings",
        ),
        ("docusaurus.config.js", "module.exports = { ...base, title: 'x' };", "it takes settings from another object"),
        ("docusaurus.config.ts", "export default { presets: presets() };", "`presets` is computed"),
        ("docusaurus.config.js", "module.exports = require('x');", "other code makes a part of it"),
        ("docusaurus.config.js", "module.exports = { presets: [require('./x')()] };", "`presets` is computed"),
        ("docusaurus.config.js", "module.exports = { presets: [['classic', options]] };", "`presets` is computed"),
        (
            "docusaurus.config.js",
            "const c = { title: 'x' };\nc.presets = [['classic', {}]];\nmodule.exports = c;",
            "other code makes a part of it",
        ),
        (
            ".vitepress/config.ts",
            "export default mergeConfig(base, { srcDir: 'docs' })",
            "other code makes a part of it",
        ),
        (".vitepress/config.ts", "export default defineConfig(base)", "other code makes a part of it"),
        ("mkdocs.yml", "plugins: [search, techdocs-core]\n", "the plugin `techdocs-core` may change headings"),
        ("mkdocs.yml", "plugins:\n- macros: {x: 1}\n", "the plugin `macros` may change headings"),
        (
            ".vitepress/config.ts",
            "export default { markdown: { anchor: { slugify } } }",
            "`anchor` may change headings",
        ),
        (
            ".vitepress/config.ts",
            "export default { markdown: { config(md) { md.use(x) } } }",
            "`markdown.config` may change headings",
        ),
        (".vitepress/config.js", "export default { srcDir: process.env.X }", "`srcDir` is computed"),
    ] {
        let files = [(file, text), ("docs/a.md", "")];
        let paths: Vec<RepoPath> = files.iter().map(|(path, _)| RepoPath::parse(path).unwrap()).collect();
        let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        let found = Sites::of(Dialect::Auto, &Tree::new(&paths, &[], &[]), &|path| Ok(read(path)), &|| Ok(()))
            .unwrap()
            .settings(["docs/a.md"].into_iter());
        assert_eq!(found.iter().map(|setting| setting.doubt.as_deref()).collect::<Vec<_>>(), [Some(doubt)], "{text}");
        let verified = verify::settings_of(&paths, &|path| read(path.as_str()), ["docs/a.md"].into_iter());
        assert_eq!(verified, found, "{text}");
    }
}

/// The rules elsewhere, if a file of the tree may make a site of any folder.
#[test]
fn pages_elsewhere_are_in_doubt_if_a_site_may_not_be_seen() {
    let doubted = |file: &str, why: &str| format!(". github ({file}): of `{file}`: {why}");
    for (files, file, why) in [
        (&[("mkdocs.en.yml", "docs_dir: docs\n")][..], "mkdocs.en.yml", "it may configure a site"),
        (
            &[("site/mkdocs.yml", "INHERIT: ../base.yml\n")],
            "site/mkdocs.yml",
            "the configuration that it inherits may name its folder",
        ),
        (
            &[("hugo.toml", ""), ("config/_default/languages.toml", "[de]\ncontentDir = 'docs'\n")],
            "hugo.toml",
            "its settings are in several files",
        ),
        (
            &[("site/docusaurus.config.js", "module.exports = { presets: p() };")],
            "site/docusaurus.config.js",
            "its folders may be computed",
        ),
    ] {
        let files = [files, &[("other/a.md", "# A\n[x](#Aa)\n")]].concat();
        let is_hugo = file == "hugo.toml";
        match is_hugo {
            true => check(&files, &[&format!(". hugo ({file}): {why}")]),
            false => check(&files, &[&doubted(file, why)]),
        }
        let (changed, left) = Case::new(&files).outcome();
        assert!(changed.is_empty() && left.len() == 1 && left[0].contains("(unsure)"), "{file}: {left:?}");
    }
    let versions =
        [("docusaurus.config.js", "module.exports = { title: 'x' };"), ("api_versioned_docs/version-1/a.md", "")];
    check(&versions, &["api_versioned_docs docusaurus (docusaurus.config.js)"]);
}

/// Versions of mdBook differ in their default for dashes.
#[test]
fn dashes_of_a_book_are_certain_only_by_a_setting() {
    let page = ("src/a.md", "## --dry-run\n[x](#--dry-run)\n");
    let (changed, left) = Case::new(&[("book.toml", ""), page]).outcome();
    assert!(changed.is_empty() && left.len() == 1 && left[0].contains("(unsure)"), "{left:?}");
    let off = "[output.html]\nsmart-punctuation = false\n";
    Case::new(&[("book.toml", off), page]).leaves(&[]);
}

#[test]
fn links_are_judged_by_the_site_of_their_target() {
    let files = [
        ("mkdocs.yml", "markdown_extensions: [attr_list]\n"),
        ("docs/a.md", "# Über uns {#us}\n# Ärger\n[x](../README.md#ärger) [y](#us) [z](#arger)\n"),
        ("README.md", "# Ärger\n[x](docs/a.md#arger)\n"),
    ];
    Case::new(&files).leaves(&[]);
}

#[test]
fn anchors_in_doubt_are_listed_and_never_repaired() {
    let files = [
        (
            "mkdocs.yml",
            "markdown_extensions:\n- toc:\n    slugify: !!python/object/apply:pymdownx.slugs.slugify {}\n- attr_list\n",
        ),
        ("docs/a.md", "# Use Case\n# Other {#other}\n[x](#Use-Case) [y](#other)\n"),
    ];
    Case::new(&files).leaves(&[
        "#Use-Case (unsure): it is unknown if `docs/a.md` has this anchor: the anchor of its heading on line 1 is unknown: \
         the site makes anchors by settings of its own []",
    ]);
    let files = [("a.md", "[m](#__call__)\n\n## Calling {#__call__}\n\n## Call\n")];
    for anchors in ["hugo", "mdbook"] {
        Case::new(&files).params(json!({"anchors": anchors})).leaves(&[]);
    }
    for anchors in ["vitepress", "mkdocs"] {
        let (changed, left) = Case::new(&files).params(json!({"anchors": anchors})).outcome();
        assert!(changed.is_empty() && left.len() == 1 && left[0].contains("(unsure)"), "{anchors}: {left:?}");
    }
    assert_eq!(Dialect::default(), Dialect::Auto);
}
