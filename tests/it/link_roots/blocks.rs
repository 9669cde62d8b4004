//! Links in blocks of Python-Markdown, whose contents are indented.

use serde_json::json;

use super::{repaired, site};

const ALL: &str = "markdown_extensions: [admonition, pymdownx.details, pymdownx.tabbed, def_list]\n";

#[test]
fn links_in_blocks_of_mkdocs_are_read() {
    for block in [
        "!!! note\n\n    {}\n",
        "!!! note \"A title\"\n\n    Text.\n\n    {}\n",
        "??? tip\n\n    {}\n",
        "???+ tip \"A title\"\n\n    {}\n",
        "=== \"One\"\n\n    {}\n\n=== \"Two\"\n\n    Text.\n",
        "===! \"One\"\n\n    ```sh\n    [x](no.md)\n    ```\n\n    {}\n",
        "!!! note\n\n    - item\n\n        {}\n",
        "!!! note\n\n    ??? tip\n\n        {}\n",
        "Text.\n!!! note\n\n\t{}\n",
        "!!! note inline end\r\n\r\n    {}\r\n",
        "Term\n\n:   Definition.\n\n    {}\n",
        "!!! note\n\n    <img src=\"b.md\">\n\n    {}\n",
        "!!! note\n\n    ## A heading\n\n    {}\n",
    ] {
        let page = block.replace("{}", "[b](B.md)");
        let site = site(&[("mkdocs.yml", ALL), ("docs/a.md", &page), ("docs/b.md", "# B\n")]);
        let (broken, left) = repaired(&site);
        assert_eq!(broken, json!(1), "{block}");
        assert_eq!(left, [], "{block}");
        assert_eq!(String::from_utf8_lossy(&site.read("docs/a.md")), block.replace("{}", "[b](b.md)"));
    }
}

#[test]
fn code_that_only_looks_like_a_block_stays() {
    for (configuration, page) in [
        ("site_name: x\n", "!!! note\n\n    [b](B.md)\n"),
        ("markdown_extensions: [admonition]\n", "??? note\n\n    [b](B.md)\n"),
        (ALL, "!!! Watch out: this is text.\n\n    [b](B.md)\n"),
        (ALL, "!!! note\n\n        [b](B.md)\n"),
        (ALL, "Text.\n\n    !!! note\n\n    [b](B.md)\n"),
        (ALL, "```\n!!! note\n\n    [b](B.md)\n```\n"),
        (ALL, "!!! note\n\n    Text.\n\nText.\n\n    [b](B.md)\n"),
    ] {
        let site = site(&[("mkdocs.yml", configuration), ("docs/a.md", page), ("docs/b.md", "# B\n")]);
        assert_eq!(repaired(&site), (json!(0), Vec::new()), "{configuration}{page}");
        assert_eq!(String::from_utf8_lossy(&site.read("docs/a.md")), page);
    }
    // The inherited configuration may have every extension.
    let inherits =
        [("docs/mkdocs.yml", "INHERIT: ../x.yml\ndocs_dir: en\n"), ("docs/en/a.md", "!!! note\n\n    [b](B.md)\n")];
    let site = site(&[inherits.as_slice(), &[("docs/en/b.md", "# B\n")]].concat());
    assert_eq!(repaired(&site), (json!(1), Vec::new()));
}

/// A site may be configured by files with names of its own, or by two that differ.
#[test]
fn links_in_blocks_are_read_where_mkdocs_may_be_the_generator() {
    let page = "!!! note\n\n    [b](B.md)\n";
    for configurations in [
        &[("mkdocs-common.yml", ALL)][..],
        &[("mkdocs-online.yml", "INHERIT: mkdocs-common.yml\n"), ("mkdocs-common.yml", "site_name: x\n")],
        &[("hugo.prod.toml", "x = 1\n"), ("mkdocs.insiders.yaml", "site_name: x\n")],
        &[("mkdocs.yml", ALL), ("mkdocs.yaml", "site_name: x\n")],
    ] {
        let pages = [("docs/a.md", page), ("docs/b.md", "# B\n")];
        let site = site(&[configurations, &pages].concat());
        assert_eq!(repaired(&site), (json!(1), Vec::new()), "{configurations:?}");
        assert_eq!(String::from_utf8_lossy(&site.read("docs/a.md")), page.replace("B.md", "b.md"));
    }
}

/// Anchors of a generator whose rules are not known are in doubt, and links to files are not.
#[test]
fn a_generator_that_is_not_known_means_doubt() {
    for configuration in ["zensical.toml", "docs/conf.py", "_config.yml", "antora.yml", "rspress.config.ts"] {
        let page = "[t](#templates_1) [b](B.md)\n\n## Templates\n\n### Templates\n";
        let site = site(&[(configuration, "x = 1\n"), ("docs/a.md", page), ("docs/b.md", "# B\n")]);
        let (broken, left) = repaired(&site);
        assert_eq!((broken, left.len()), (json!(1), 1), "{configuration} {left:?}");
        assert_eq!(String::from_utf8_lossy(&site.read("docs/a.md")), page.replace("B.md", "b.md"));
    }
}
