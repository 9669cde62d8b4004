//! Links in repositories with several documentations: translations that fall back to their main language, and names that several
//! documentations share.

mod blocks;
mod history;

use serde_json::{Value, json};

use crate::support::site::Site;

const INHERITS: (&str, &str) = ("docs/de/mkdocs.yml", "INHERIT: ../en/mkdocs.yml\n");
const DOCUSAURUS: (&str, &str) =
    ("web/docusaurus.config.js", "module.exports = { presets: [['classic', { docs: { path: '../docs' } }]] };\n");

fn site(files: &[(&str, &str)]) -> Site {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.git(&["commit", "-q", "--allow-empty", "-m", "Begin"]);
    files.iter().for_each(|(name, text)| site.write(name, text));
    site.commit();
    site
}

/// Repairs the links of the tree; the count of broken ones, and the reason and candidates of each that is left.
fn repaired(site: &Site) -> (Value, Vec<(String, Value)>) {
    let ran = site.adapt("intra_repo_link_fixer", "apply", "**/*.{md,html}", &json!({"unresolved": "list"}));
    assert_eq!(ran.code, 0, "{} {}", ran.stdout, ran.stderr);
    let output: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
    let left = site.findings();
    let left =
        left.iter().map(|found| (found["reason"].as_str().unwrap_or_default().to_owned(), found["candidates"].clone()));
    (output["baseline"]["links_broken"].clone(), left.collect())
}

#[test]
fn a_link_to_a_page_that_is_not_translated_is_right() {
    let plugin = "web/i18n/de/docusaurus-plugin-content-docs";
    for (files, page) in [
        (
            &[INHERITS, ("docs/en/mkdocs.yml", "site_name: x\n"), ("docs/en/docs/a/b.md", "# B\n")][..],
            "docs/de/docs/a/p.md",
        ),
        (&[("docs/en/mkdocs.yml", "site_name: x\n"), ("docs/en/docs/a/b.md", "# B\n")], "docs/de/docs/a/p.md"),
        (&[("hugo.toml", "defaultContentLanguage = \"fr\"\n"), ("content/fr/a/b.md", "# B\n")], "content/de/a/p.md"),
        (&[("web/hugo.yaml", "title: x\n"), ("web/content/en/a/b.md", "# B\n")], "web/content/pt-br/a/p.md"),
        (&[("config.toml", "languageCode = 'de'\n"), ("content/en/b.md", "# B\n")], "content/de/p.md"),
        (&[DOCUSAURUS, ("docs/a/b.md", "# B\n")], &format!("{plugin}/current/a/p.md")),
        (&[DOCUSAURUS, ("web/docs/b.md", "# B\n")], &format!("{plugin}/current/p.md")),
        (&[DOCUSAURUS, ("web/versioned_docs/version-2/b.md", "# B\n")], &format!("{plugin}/version-2/p.md")),
        (&[DOCUSAURUS, ("web/sdk/b.md", "# B\n")], &format!("{plugin}-sdk/current/p.md")),
        (&[DOCUSAURUS, ("web/blog/b.md", "# B\n")], "web/i18n/de/docusaurus-plugin-content-blog/p.md"),
        (&[DOCUSAURUS, ("web/src/pages/b.md", "# B\n")], "web/i18n/de/docusaurus-plugin-content-pages/p.md"),
    ] {
        let site = site(&[files, &[(page, "[b](b.md) [c](b.md#b)\n")]].concat());
        let before = site.tree();
        assert_eq!(repaired(&site), (json!(0), Vec::new()), "{page}");
        assert!(site.tree() == before);
        site.write(page, "[b](b.md#c)\n");
        let (broken, left) = repaired(&site);
        assert_eq!((broken, left.len()), (json!(1), 1), "the anchor is that of the page that stands in: {page}");
    }
}

#[test]
fn a_folder_without_a_page_shows_that_of_the_main_language() {
    let page = "[a](b/#b) [c](b/)\n";
    let site = site(&[
        INHERITS,
        ("docs/en/mkdocs.yml", "site_name: x\n"),
        ("docs/en/docs/b/index.md", "# B\n"),
        ("docs/de/docs/b/c.md", "# C\n"),
        ("docs/de/docs/a.md", page),
    ]);
    assert_eq!(repaired(&site), (json!(0), Vec::new()));
    assert_eq!(String::from_utf8_lossy(&site.read("docs/de/docs/a.md")), page);
}

#[test]
fn a_translation_without_a_configuration_has_the_rules_of_its_sibling() {
    let page = "# \u{dc}ber uns { #about }\n\n[a](#about) [b](#uber-uns)\n";
    let site = site(&[
        ("docs/en/mkdocs.yml", "markdown_extensions: [attr_list]\n"),
        ("docs/en/docs/a.md", "# About { #about }\n"),
        ("docs/de/docs/a.md", page),
    ]);
    let (broken, left) = repaired(&site);
    assert_eq!(
        (broken, left.len()),
        (json!(1), 1),
        "the anchor of the text is not one beside that of the braces: {left:?}"
    );
    assert_eq!(String::from_utf8_lossy(&site.read("docs/de/docs/a.md")), page);
}

/// Without a sign that one documentation stands in for another, a missing page is missing.
#[test]
fn only_translations_of_a_known_site_fall_back() {
    for (files, page) in [
        (&[("docs/en/docs/b.md", "# B\n")][..], "docs/de/docs/p.md"),
        (&[("docs/de/mkdocs.yml", "site_name: x\n"), ("docs/en/docs/b.md", "# B\n")], "docs/de/docs/p.md"),
        (&[("one/mkdocs.yml", "INHERIT: ../two/mkdocs.yml\n"), ("two/docs/b.md", "# B\n")], "one/docs/p.md"),
        (&[("content/en/b.md", "# B\n")], "content/de/p.md"),
        (&[("hugo.toml", ""), ("content/fr/b.md", "# B\n")], "content/de/p.md"),
        (&[("hugo.toml", ""), ("content/en/b.md", "# B\n")], "content/guides/p.md"),
        (&[("web/docs/b.md", "# B\n")], "web/i18n/de/docusaurus-plugin-content-docs/current/p.md"),
        (&[DOCUSAURUS, ("web/docs/b.md", "# B\n")], "web/i18n/de/docusaurus-plugin-content-docs/version-1/p.md"),
    ] {
        let site = site(&[files, &[(page, "[b](b.md)\n")]].concat());
        assert_eq!(repaired(&site).0, 1, "{page}");
    }
}

#[test]
fn a_name_is_no_reason_to_leave_a_documentation() {
    for (files, page, is_repaired) in [
        (&[("docs/en/docs/x/setup_of_it.md", "")][..], "docs/en/docs/p.md", true),
        (&[("docs/en/docs/x/setup_of_it.md", "")], "docs/de/docs/p.md", false),
        (&[("docs/en/docs/x/setup_of_it.md", "")], "docs/p.md", false),
        (&[("docs/setup_of_it.md", "")], "docs/de/docs/p.md", true),
        (&[INHERITS, ("docs/setup_of_it.md", "")], "docs/de/docs/p.md", false),
        (&[("book.toml", ""), ("src/x/setup_of_it.md", "")], "src/p.md", true),
        (&[("src/x/setup_of_it.md", "")], "docs/p.md", false),
        (&[("guide/book.toml", ""), ("guide/src/setup_of_it.md", "")], "guide/p.md", true),
        (&[("guide/book.toml", ""), ("guide/src/setup_of_it.md", "")], "guide2/p.md", false),
        (&[("docs/v1.0/setup_of_it.md", "")], "docs/v2.0/p.md", false),
        (&[("docs/.vitepress/config.mts", ""), ("docs/x/setup_of_it.md", "")], "docs/p.md", true),
        (
            &[("packages/a/docs/.vitepress/config.mts", ""), ("packages/b/setup_of_it.md", "")],
            "packages/a/docs/p.md",
            false,
        ),
    ] {
        let site = site(&[files, &[(page, "[b](old/setup_of_it.md)\n")]].concat());
        let (_, left) = repaired(&site);
        match is_repaired {
            true => assert_eq!(left, [], "{page}"),
            false => {
                let target = files.last().expect("there is one").0;
                let reason =
                    format!("only its name leads to `{target}`, in another documentation, language or version");
                assert_eq!(left, [(reason, json!([target]))], "{page}");
            }
        }
    }
}

/// A move in the history is evidence across documentations.
#[test]
fn a_move_to_another_documentation_is_followed() {
    let site = site(&[("docs/a.md", "[b](b.md)\n"), ("docs/b.md", &"some words of it\n".repeat(9))]);
    site.write("manual/c.md", "# C\n");
    site.git(&["mv", "docs/b.md", "manual/b.md"]);
    site.commit();
    assert_eq!(repaired(&site).1, []);
    assert_eq!(String::from_utf8_lossy(&site.read("docs/a.md")), "[b](../manual/b.md)\n");
}

#[test]
fn a_template_of_a_configuration_and_a_link_to_a_picture_are_judged_alike() {
    let template = "export default defineConfig({<% if (srcDir) { %>\n  srcDir: <%= srcDir %>,\n})\n";
    let site = site(&[
        ("template/.vitepress/config.js", template),
        ("template/index.md", "# T\n"),
        ("docs/.vitepress/config.ts", "export default { title: 'x' }\n"),
        ("docs/a.md", "# A\n[b](B.md)\n"),
        ("docs/b.md", "# B\n"),
    ]);
    std::os::unix::fs::symlink("../b.png", site.path("docs/logo.png")).expect("a link can be made");
    assert_eq!(repaired(&site), (json!(1), Vec::new()));
    assert_eq!(String::from_utf8_lossy(&site.read("docs/a.md")), "# A\n[b](b.md)\n");
}

/// A site that reads a link from the address of its page may find what the file does not show.
#[test]
fn a_link_by_the_address_of_a_page_is_right_or_left_alone() {
    let mkdocs = ("mkdocs.yml", "site_name: x\n");
    let hugo = ("hugo.toml", "title = 'x'\n");
    let astro = ("astro.config.mjs", "export default {}\n");
    for (files, page, text) in [
        (&[mkdocs, ("docs/img/x.png", "png\n")][..], "docs/guide/a.md", "<img src=\"../../img/x.png\">\n"),
        (&[mkdocs, ("docs/b.md", "# B\n")], "docs/guide/a.md", "<a href=\"../../b/\">b</a>\n"),
        (&[hugo, ("content/fun/Format.md", "# F\n")], "content/a.md", "[f](../fun/format/) [g](fun/format)\n"),
        (&[hugo, ("content/b.md", "# B\n")], "content/a.md", "[b](../b/#b)\n"),
        (&[hugo, ("content/fun/b.md", "# B\n")], "content/fun/_index.md", "[b](b/)\n"),
        (&[astro, ("src/content/docs/b.mdx", "# B\n")], "src/content/docs/a.md", "[b](../b/)\n"),
    ] {
        let site = site(&[files, &[(page, text)]].concat());
        let before = site.tree();
        assert_eq!(repaired(&site), (json!(0), Vec::new()), "{page} {text}");
        assert!(site.tree() == before);
    }
    for (files, page, text) in [
        (&[mkdocs, ("docs/img/x.png", "png\n")][..], "docs/a/b.md", "<img src=\"../../../x.png\">\n"),
        (&[hugo, ("content/fun/b_and_more.md", "# B\n")], "content/a.md", "[b](/x) [b](../b_and_more/)\n"),
        (
            &[("static/logo_of_it.png", "png\n")],
            "views/a.html",
            "{{ if .User }}<img src=static/logo_of_it.png>{{ end }}\n",
        ),
    ] {
        let site = site(&[files, &[(page, text)]].concat());
        let before = site.tree();
        let (broken, left) = repaired(&site);
        assert!((broken, left.len()) == (json!(1), 1) && left[0].0.contains("address"), "{page} {left:?}");
        assert!(site.tree() == before);
    }
    // A site may serve the picture from another folder now, so a move tells nothing of a relative path.
    let site = site_of(
        "hugo.toml",
        &[
            ("content/img/x.png", "a picture of some bytes, and of some more\n"),
            ("content/_index.md", "![a](img/x.png)\n"),
        ],
    );
    site.git(&["mv", "content/img", "static"]);
    site.commit();
    let (_, left) = repaired(&site);
    assert!(left.len() == 1 && left[0].0.contains("address"), "{left:?}");
    // The new path leads there from the file, and not from the address of the page.
    let site = site_of(
        "astro.config.mjs",
        &[("src/content/docs/news/x.png", "a picture\n"), ("src/content/docs/news.md", "[x](.\\news\\x.png)\n")],
    );
    assert_eq!(repaired(&site), (json!(1), Vec::new()));
    assert_eq!(String::from_utf8_lossy(&site.read("src/content/docs/news.md")), "[x](news/x.png)\n");
}

/// A site whose configuration sets nothing.
fn site_of(configuration: &str, files: &[(&str, &str)]) -> Site {
    let text = if configuration.ends_with("toml") { "title = 'x'\n" } else { "export default {}\n" };
    site(&[&[(configuration, text)], files].concat())
}

/// Configurations that two readers could take for different things.
#[test]
fn configurations_in_other_styles_are_read_alike() {
    for (name, text) in [
        ("docusaurus.config.js", "const plugins = base.plugins\nconst title = 'x'\n\nmodule.exports = { title }\n"),
        ("docusaurus.config.js", "// see x.docs\nconst a = 1\nmodule.exports= merge({ a: 1 });\n"),
        ("docusaurus.config.js", "module.exports =merge({ a: 1 });\n"),
        (".vitepress/config.js", "export default { description: 'See guide.markdown', url: 'a?b=c' }\n"),
        ("astro.config.mjs", "export default { title: 'x.docs', social: { github: 'https://g/?a=b' } }\n"),
        ("docusaurus.config.js", "config.presets[0] = x\nmodule.exports = { a: 1 }\n"),
    ] {
        let site = site(&[(name, text), ("docs/a.md", "[b](B.md)\n"), ("docs/b.md", "# B\n")]);
        std::os::unix::fs::symlink("../src", site.path("docs/css")).expect("a link can be made");
        assert_eq!(repaired(&site), (json!(1), Vec::new()), "{text}");
    }
}

#[test]
fn a_tag_behind_a_tab_in_a_list_has_a_place() {
    for text in ["1. Step\n\n\t<img src=\"B.md\">\n", "* <div>\n\t<img src=\"B.md\">\n\t</div>\n"] {
        let site = site(&[("docs/a.md", text), ("docs/b.md", "# B\n")]);
        assert_eq!(repaired(&site), (json!(1), Vec::new()), "{text}");
    }
}
