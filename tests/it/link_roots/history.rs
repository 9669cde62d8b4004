//! Links by the history of headings and files.

use serde_json::json;

use super::{repaired, site as site_with};
use crate::support::site::Site;

/// Two headings that a letter sets apart are two, if a page once had both.
#[test]
fn the_twin_of_a_removed_heading_is_another_one() {
    let page = |headings: &[&str]| headings.iter().map(|text| format!("## {text}\n\nText.\n\n")).collect::<String>();
    let (both, one) = (page(&["Table option", "Table options"]), page(&["Table options"]));
    let site = site_with(&[("docs/a.md", "[x](b.md#table-option)\n"), ("docs/b.md", &both)]);
    site.write("docs/b.md", &one);
    let left = |site: &Site| {
        let (_, left) = repaired(site);
        assert!(left.len() == 1 && left[0].0.contains("same time"), "{left:?}");
    };
    left(&site);
    site.commit();
    left(&site);
    // The page moved since, and was changed on its way.
    site.git(&["mv", "docs/b.md", "docs/c.md"]);
    site.commit();
    site.write("docs/a.md", "[x](c.md#table-option)\n");
    site.commit();
    left(&site);
    // A heading that was named anew is the same one.
    let renamed = site_with(&[("docs/a.md", "[x](b.md#table-option)\n"), ("docs/b.md", &page(&["Table option"]))]);
    renamed.write("docs/b.md", &one);
    renamed.commit();
    assert_eq!(repaired(&renamed), (json!(1), Vec::new()));
}

/// Two files change their places, and one of them changes on its way.
#[test]
fn files_that_swapped_their_paths_are_two_candidates() {
    let text = |name: &str| (0..20).map(|n| format!("Line {n} of {name}.\n")).collect::<String>();
    let (one, other) = (text("one"), text("the other"));
    let site =
        site_with(&[("docs/a.md", "[x](one.md) [y](other.md)\n"), ("docs/one.md", &one), ("docs/other.md", &other)]);
    site.write("docs/one.md", other.replace("Line 3 ", "Row 3 "));
    site.write("docs/other.md", &one);
    site.git(&["mv", "docs/a.md", "a.md"]);
    site.commit();
    let (broken, left) = repaired(&site);
    assert_eq!((broken, left.len()), (json!(2), 2), "{left:?}");
    let both = json!(["docs/one.md", "docs/other.md"]);
    assert!(left.iter().all(|(_, candidates)| *candidates == both), "{left:?}");
}

/// A history says nothing of places before its first commit, so that a name is a candidate alone.
#[test]
fn a_name_is_no_reason_in_a_file_that_the_history_begins_with() {
    let site = Site::empty();
    site.git(&["init", "-q", "-b", "main"]);
    site.write("docs/a.md", "[x](gone/the_plan.md)\n");
    site.write("docs/x/the_plan.md", "# Plan\n");
    site.commit();
    let (broken, left) = repaired(&site);
    assert!((broken, left.len()) == (json!(1), 1) && left[0].0.contains("as old as"), "{left:?}");
    assert_eq!(left[0].1, json!(["docs/x/the_plan.md"]));
    site.write("docs/b.md", "[x](gone/the_plan.md)\n");
    site.commit();
    let (broken, left) = repaired(&site);
    assert_eq!((broken, left.len()), (json!(2), 1), "{left:?}");
    assert_eq!(String::from_utf8_lossy(&site.read("docs/b.md")), "[x](x/the_plan.md)\n");
}

#[test]
fn a_picture_of_a_name_that_many_have_is_a_candidate() {
    let picture = |name: &str| {
        let path = format!("tests/sources/{name}");
        site_with(&[(&path, "a picture\n"), ("tests/out/a.html", &format!("<img src=\"_images/{name}\">\n"))])
    };
    assert_eq!(repaired(&picture("example.jpg")).1.len(), 1);
    assert_eq!(repaired(&picture("the_example.jpg")), (json!(1), Vec::new()));
}

/// A link in lower case to a file with capitals tells that the site writes its addresses so.
#[test]
fn a_page_at_an_address_in_lower_case_follows_its_move() {
    let hugo_of = |text: &str, old: &str, new: &str, link: &str| {
        let (old, link) = (format!("content/{old}"), format!("[w]({link})\n"));
        let site = site_with(&[("hugo.toml", "title = 'x'\n"), (&old, text), ("content/a.md", &link)]);
        let new = format!("content/{new}");
        site.write(&new, text);
        site.git(&["rm", "-q", &old]);
        site.commit();
        let params = json!({"unresolved": "list", "site_root": ["content"], "extensions": ["md"]});
        site.adapt("intra_repo_link_fixer", "apply", "**/*.md", &params).exits(0);
        (String::from_utf8_lossy(&site.read("content/a.md")).into_owned(), site.findings().len())
    };
    let hugo = |old: &str, new: &str, link: &str| hugo_of("# Where\n", old, new, link);
    let follows = |old: &str, new: &str, [link, expected]: [&str; 2]| {
        assert_eq!(hugo(old, new, link), (format!("[w]({expected})\n"), 0), "{old} {new} {link}");
    };
    follows("old/where.md", "new/where.md", ["/old/where", "/new/where"]);
    follows("old/Where.md", "new/Where.md", ["/old/where", "/new/where"]);
    follows("old/Where.md", "old/WhereElse.md", ["/old/where/", "/old/whereelse/"]);
    follows("Old/Where.md", "New/Where.md", ["/old/where/#where", "/new/where/#where"]);
    let stays = |old: &str, new: &str, link: &str| {
        assert_eq!(hugo(old, new, link), (format!("[w]({link})\n"), 1), "{old} {new} {link}");
    };
    stays("old/where.md", "new/Where.md", "/old/where");
    stays("old/Where.md", "new/Where.md", "/old/Where");
    stays("old/Where.md", "new/Where to.md", "/old/where");
    // It may have the address of before, or another one.
    for text in ["---\ntitle: x\nslug: where\n---\n", "+++\nurl = '/old/where'\n+++\n", "---\n\"permalink\" : a\n---\n"]
    {
        assert_eq!(
            hugo_of(text, "old/where.md", "new/there.md", "/old/where"),
            ("[w](/old/where)\n".to_owned(), 1),
            "{text}"
        );
    }
    let text = "---\ntitle: x\n---\nslug: none\n";
    assert_eq!(hugo_of(text, "old/where.md", "new/there.md", "/old/where"), ("[w](/new/there)\n".to_owned(), 0));
}

/// A picture keeps the letters of its name at its address.
#[test]
fn a_picture_at_an_address_follows_its_move() {
    let site = site_with(&[
        (".vitepress/config.js", "export default {}\n"),
        ("public/images/lamp.svg", "<svg>a picture of a lamp, of some bytes</svg>\n"),
        ("a.md", "<img src=\"/images/lamp.svg\">\n"),
    ]);
    site.git(&["mv", "public/images/lamp.svg", "public/images/Lamp.svg"]);
    site.commit();
    let params = json!({"unresolved": "list", "site_root": ["public"]});
    site.adapt("intra_repo_link_fixer", "apply", "**/*.md", &params).exits(0);
    assert_eq!(String::from_utf8_lossy(&site.read("a.md")), "<img src=\"/images/Lamp.svg\">\n");
}

#[test]
fn a_template_may_have_any_anchor() {
    let page = "<a href=\"#contents\">x</a>\n<div id=\"content\">\n{{ .Body }}\n</div>\n";
    let site = site_with(&[("a.html", page)]);
    let (broken, left) = repaired(&site);
    assert!((broken, left.len()) == (json!(0), 1) && left[0].0.contains("template"), "{left:?}");
}

/// Git reads objects of other repositories, and so does the verifier.
#[test]
fn a_clone_that_shares_objects_is_verified() {
    let origin = site_with(&[("docs/a.md", "[b](B.md)\n"), ("docs/b.md", "# B\n")]);
    let clone = Site::empty();
    clone.git(&["clone", "-q", "--shared", &origin.root().display().to_string(), "shared"]);
    let ran =
        clone.command(&["run", "std:fix_links", "--yes"]).current_dir(clone.path("shared")).output().expect("it runs");
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(String::from_utf8_lossy(&clone.read("shared/docs/a.md")), "[b](b.md)\n");
}

/// The pages of a cut version have the contents of those that they were cut from, so that git takes one for the other.
#[test]
fn a_move_is_none_from_one_version_to_another() {
    let page = |name: &str| (0..30).map(|n| format!("Line {n} of {name}.\n")).collect::<String>();
    for cut in ["versioned_docs/version-1.0", "web/versioned_docs/version-stable", "docs/v1"] {
        let at = |name: &str| format!("{cut}/{name}");
        let link = "[t](timers.md)\n";
        let [own, old] = [at("a.md"), at("timers.md")];
        let timers = page("timers");
        let files = [("docs/a.md", link), ("docs/timers.md", &timers), (&own, link), (&old, &timers)];
        let site = site_with(&files.map(|(name, text)| (name, text)));
        // Each goes elsewhere, and one of them is changed on its way.
        site.write("docs/more/timers.md", timers.replace("Line 3 ", "Row 3 "));
        site.write(&at("more/timers-again.md"), &timers);
        site.git(&["rm", "-q", "docs/timers.md", &old]);
        site.commit();
        repaired(&site);
        let links = ["docs/a.md", &own].map(|path| String::from_utf8_lossy(&site.read(path)).into_owned());
        assert!([link, "[t](more/timers.md)\n"].contains(&&*links[0]), "{cut}: {links:?}");
        assert!([link, "[t](more/timers-again.md)\n"].contains(&&*links[1]), "{cut}: {links:?}");
        // One is gone, and the other one stays.
        let site = site_with(&files);
        site.git(&["mv", &old, &at("hours.md")]);
        site.git(&["rm", "-q", "docs/timers.md"]);
        site.commit();
        let (_, left) = repaired(&site);
        assert_eq!(site.read("docs/a.md"), link.as_bytes(), "{cut}: {left:?}");
    }
}

/// A version that is cut from a documentation is no move of its pages.
#[test]
fn a_link_of_a_cut_version_stays_in_it() {
    let page = |name: &str| (0..30).map(|n| format!("Line {n} of {name}.\n")).collect::<String>();
    let site = site_with(&[
        ("docusaurus.config.js", "module.exports = { presets: [['classic', { docs: {} }]] };\n"),
        ("docs/settings.md", &page("settings")),
        ("docs/cli/a.md", &(page("approve") + "\n[s](../settings.md)\n")),
    ]);
    let [settings, a] = ["settings.md", "cli/a.md"].map(|path| site.read(&format!("docs/{path}")));
    site.write("versioned_docs/version-1/settings.md", &*String::from_utf8_lossy(&settings));
    site.write("versioned_docs/version-1/cli/a.md", &*String::from_utf8_lossy(&a));
    site.write("docs/cli/a.md", page("another") + "\n[s](../settings.md)\n");
    site.commit();
    site.git(&["rm", "-q", "versioned_docs/version-1/settings.md"]);
    site.commit();
    let (broken, left) = repaired(&site);
    assert_eq!((broken, left.len()), (json!(1), 1), "{left:?}");
    assert_eq!(site.read("versioned_docs/version-1/cli/a.md"), a);
}

/// The links of a text that other pages take in are read from their places.
#[test]
fn links_of_included_files_are_left_alone() {
    for (configuration, directive) in [
        (("mkdocs.yml", "markdown_extensions: [pymdownx.snippets]\n"), "--8<-- \"docs/parts/see.md\""),
        (("mkdocs.yml", "markdown_extensions: [pymdownx.snippets]\n"), "--8<--\ndocs/parts/see.md\n--8<--"),
        (("mkdocs.yml", "site_name: x\n"), "{% include-markdown '../../parts/see.md' %}"),
        (("book.toml", "[book]\nsrc = 'docs'\n"), "{{#include ../../parts/see.md}}"),
        ((".vitepress/config.js", "export default {}\n"), "<!-- @include: ../../parts/see.md -->"),
        (("conf.py", "extensions = []\n"), "```{include} ../../parts/see.md\n```"),
        (("hugo.toml", "title = 'x'\n"), "{{< readfile file=\"/parts/see.md\" >}}"),
    ] {
        let site = site_with(&[
            configuration,
            ("docs/parts/see.md", "[b](./border_title.md) [c](#of-the-page)\n\n## Of the pages\n"),
            ("docs/guide/deep/border_title.md", "# Border\n"),
            ("docs/guide/deep/page.md", &format!("# Page\n\n{directive}\n\n[d](#pages)\n")),
        ]);
        let before = site.tree();
        let (broken, left) = repaired(&site);
        assert_eq!(broken, json!(1), "{directive} {left:?}");
        assert!(site.tree() == before, "{directive}");
    }
}

/// Hugo shows files from elsewhere among the pages.
#[test]
fn a_link_to_a_mounted_file_is_unknown() {
    let mounts = "module:\n  mounts:\n    - source: content\n      target: content\n    - source: README.md\n      target: content/repo/README.md\n";
    let site = site_with(&[
        ("hugo.yaml", mounts),
        ("README.md", "# The program\n"),
        ("content/repo/README.md", "# About\n\nWhat the program is about, and who has made it.\n"),
        ("content/repo/_index.md", "# Repo\n\n[r](README.md)\n"),
    ]);
    site.git(&["mv", "content/repo/README.md", "content/readme.md"]);
    site.commit();
    let before = site.tree();
    let (broken, left) = repaired(&site);
    assert_eq!((broken, left.len()), (json!(0), 1), "{left:?}");
    assert!(left[0].0.contains("mounts"), "{left:?}");
    assert!(site.tree() == before);
}
