//! The rules of a page by the configuration of its site, as both readers take them.

use serde_json::json;

use super::{
    super::{params::Dialect, site::Sites, verify},
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
    let proposed = Sites::of(&paths, &|path| Ok(read(path)), &|| Ok(())).unwrap().settings(pages());
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
    check(&[("config.toml", "base_url = \"/\"\n"), ("content/b.md", "")], &[]);
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
        &["docs auto (mkdocs.yml): two sites have it, with other rules"],
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
        ("docusaurus.config.js", "module.exports = require('x');", "`docusaurus.config.js` can't be read as data"),
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
        let found = Sites::of(&paths, &|path| Ok(read(path)), &|| Ok(())).unwrap().settings(["docs/a.md"].into_iter());
        assert_eq!(found.iter().map(|setting| setting.doubt.as_deref()).collect::<Vec<_>>(), [Some(doubt)], "{text}");
        let verified = verify::settings_of(&paths, &|path| read(path.as_str()), ["docs/a.md"].into_iter());
        assert_eq!(verified, found, "{text}");
    }
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
