//! Texts of links that move with their destinations, if the parameter says so.

use super::*;

fn input(link_text: bool) -> Invocation {
    invocation(|input| input["params"]["link_text"] = json!(link_text))
}

/// In the text `OLD` moves, with the parameter or without; `TEXT` moves with it only, and `STAYS` never does.
#[track_caller]
fn check(path: &str, text: &str) {
    let old = "http://old.example.com";
    let before = ["OLD", "TEXT", "STAYS"].iter().fold(text.to_owned(), |text, name| text.replace(name, old));
    for link_text in [true, false] {
        let moving: &[&str] = if link_text { &["OLD", "TEXT"] } else { &["OLD"] };
        let after = moving.iter().fold(text.to_owned(), |text, name| text.replace(name, "https://new.example.com"));
        let after = after.replace("TEXT", old).replace("STAYS", old);
        let input = input(link_text);
        let folder = tree(&[(path, before.as_bytes())]);
        let proposal = propose_in(folder.path(), 1, &input).unwrap();
        let found = proposal.changes.changes().first().and_then(|change| change.after.as_ref());
        let found = found.map_or_else(|| before.clone(), |content| String::from_utf8(content.bytes.to_vec()).unwrap());
        assert_eq!(found, after, "{link_text}");
        let report = verify(&LinkUpdater, &Recorded::new(&[(path, before.as_bytes())], &input, true).request);
        assert!(report.passed, "{text}\n{report:#?}");
        let params = params::Params::parse(&input.params).unwrap();
        let fails = |after: &str| {
            let (_, failures) =
                verify::links_and_failures_of_for_tests(path, before.as_bytes(), after.as_bytes(), &params);
            !failures.is_empty()
        };
        // A text that stays although it should move, or moves although it should stay.
        for name in ["OLD", "TEXT", "STAYS"] {
            for (n, _) in text.match_indices(name).enumerate() {
                let mut parts: Vec<&str> = text.split(name).collect();
                let tail = parts.split_off(n + 1).join(name);
                let flipped = if moving.contains(&name) { "STAYS" } else { "OLD" };
                let wrong = format!("{}{flipped}{tail}", parts.join(name));
                let wrong = moving.iter().fold(wrong, |text, name| text.replace(name, "https://new.example.com"));
                let wrong = wrong.replace("TEXT", old).replace("STAYS", old);
                assert!(fails(&wrong), "{link_text} {name} {n}: {wrong}");
            }
        }
    }
}

#[test]
fn texts_of_markdown() {
    for text in [
        "[TEXT](OLD)",
        "[TEXT/a-b?c=d#e_f](OLD/a-b?c=d#e_f)",
        "x [TEXT](<OLD>) y [TEXT]( OLD 'STAYS') [TEXT](OLD \"STAYS\")",
        "> [TEXT](\n> OLD)\n",
        "| a |\n|---|\n| [TEXT](OLD) [TEXT/b](OLD/b) |\n",
        "- **[TEXT](OLD)**\n  - *see* [TEXT](OLD).\n",
        "\\![TEXT](OLD) \\\\[TEXT](OLD)",
        "[TEXT/a_b](OLD/a\\_b)",
        "[^1]\n\n[^1]: [TEXT](OLD)\n",
        "# [TEXT](OLD)\n\n[TEXT](OLD)\n====\n",
    ] {
        check("a.md", text);
    }
}

#[test]
fn texts_of_markdown_that_are_another_thing() {
    for text in [
        "[STAYS/](OLD) [STAYS](OLD/) [STAYS/a](OLD/b)",
        "![STAYS](OLD) [![STAYS](OLD)](OLD)",
        "[ STAYS ](OLD) [see STAYS](OLD) [STAYS.](OLD) [**STAYS**](OLD) [`STAYS`](OLD)",
        "[STAYS/a\\_b](OLD/a_b) [STAYS/?a&amp;b](OLD/?a&amp;b) [STAYS/?a&b](OLD/?a&b)",
        "[STAYS/*a*](OLD/*a*) [STAYS/_a_](OLD/_a_) [STAYS/a__b__](OLD/a__b__) [STAYS/(a)](OLD/(a))",
        "[STAYS][a] [STAYS][]\n\n[a]: OLD\n[STAYS]: OLD\n",
        "[STAYS]\n\n[STAYS]: OLD 'STAYS'\n",
        "`[STAYS](STAYS)`\n\n    [STAYS](STAYS)\n\n```\n[STAYS](STAYS)\n```\n<!-- [STAYS](STAYS) -->\n",
        "[x \\[STAYS](OLD)",
        "<OLD> OLD <a href='OLD'>OLD</a>",
        "<p>\n<a href='OLD'>STAYS</a>\n</p>\n",
    ] {
        check("a.md", text);
    }
}

#[test]
fn texts_of_pages() {
    for text in [
        "<a href='OLD'>TEXT</a>",
        "<A class=x HREF=\"OLD/a?b=c\" title='STAYS'>TEXT/a?b=c</A >",
        "<a\n  href=OLD/a_b\n  target=_blank>TEXT/a_b</a>",
        "<a title='>' href='OLD' data-x=\"<a href='STAYS'>\">TEXT</a>",
        "<p><a href='OLD'>TEXT</a>, <a href='OLD/b'>TEXT/b</a>",
        "<a href='OLD' ping='OLD/p'>TEXT</a>",
        "<a href='OLD' href='STAYS'>TEXT</a>",
        "<a href='OLD/&#97;'>TEXT/a</a>",
        "<noscript><a href='OLD'>TEXT</a></noscript>",
        "<svg><a href='OLD'>TEXT</a></svg>",
    ] {
        check("a.html", text);
    }
    check("a.xhtml", "<a href='OLD'>TEXT</a>");
}

#[test]
fn texts_of_pages_that_are_another_thing() {
    for text in [
        "<a href='OLD'>STAYS/</a><a href='OLD/'>STAYS</a>",
        "<a href='OLD'> STAYS</a><a href='OLD'>STAYS </a><a href='OLD'><b>STAYS</b></a>",
        "<a href='OLD'>STAYS<b>x</b></a><a href='OLD'>STAYS<!-- x --></a><a href='OLD'>STAYS",
        "<a href='OLD/?a&amp;b'>STAYS/?a&amp;b</a><a href='OLD/a'>STAYS/&#97;</a>",
        "<area href='OLD'>STAYS</a><link href='OLD'>STAYS</a><b href='STAYS'>STAYS</b>",
        "<!-- <a href='STAYS'>STAYS</a> --><script>'<a href=\"STAYS\">STAYS</a>'</script>",
        "<textarea><a href='STAYS'>STAYS</a></textarea><a name=x>STAYS</a>",
        "<a data-x='STAYS' href='OLD/x'>STAYS</a><a href='OLD' title='STAYS'>x</a>",
        "<a href='OLD'>STAYS</abbr></a>",
    ] {
        check("a.html", text);
    }
}

#[test]
fn a_text_left_is_listed() {
    let text = "[http://old.example.com](http://old.example.com)\n[http://old.example.com/](http://old.example.com)\n";
    for (link_text, lines) in [(false, vec![1, 2]), (true, vec![2])] {
        let folder = tree(&[("a.md", text.as_bytes())]);
        let proposal = propose_in(folder.path(), 1, &input(link_text)).unwrap();
        let found: Vec<u64> = proposal.baseline.findings.iter().filter_map(|finding| finding.line).collect();
        assert_eq!(found, lines);
        assert_eq!(proposal.counts["link_updates"], 2 + u64::from(link_text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_sides_move_the_same_texts(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "[http://old.example.com](http://old.example.com)", "<a href='http://old.example.com'>http://old.example.com</a>",
                "http://old.example.com", "[", "](", ")", "!", "\\", "<", ">", "`", "*", "_", " ", "\n", "> ", "\n\n", "| ", "'", "\"",
                "<a href='", "<a ", "</a>", "/", "<b>", "&amp;", "[x]: ", "[x]",
            ]),
            0..16,
        ),
        is_page in any::<bool>(),
    ) {
        let (path, text) = (if is_page { "a.html" } else { "a.md" }, parts.concat());
        let report = verify(&LinkUpdater, &Recorded::new(&[(path, text.as_bytes())], &input(true), false).request);
        prop_assert!(report.passed, "{text:?}\n{report:#?}");
    }
}
