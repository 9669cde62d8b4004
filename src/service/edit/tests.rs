//! Tests of edits: a text, a request, and the line that comes of it.

use serde_json::{Value, json};

use super::*;
use base::micro::{Find, tool_of};

/// Edits a text by short parameters.
fn run(path: &str, text: &str, tool: &str, params: Value) -> Result<String, Error> {
    let mut params = params;
    if params.get("target").is_none() {
        params["path"] = json!(path);
    }
    edited(text, &Edit::parse(tool_of(tool)?, &params)?, &|| Ok(())).map(|edited| edited.text)
}

#[track_caller]
fn refused(path: &str, text: &str, (tool, params): (&str, Value), code: Code, word: &str) -> Error {
    let error = run(path, text, tool, params).unwrap_err();
    let said = format!("{} ({})", error.message(), error.hint_text().unwrap_or_default());
    assert!(error.code() == code && said.contains(word), "{:?}: {said}", error.code());
    error
}

const PAGE: &str =
    "<ul>\n<li class=\"item\">One</li>\n<li class=\"item\">Two</li>\n</ul>\n<p class=\"item\">Three</p>\n";

fn class(more: Value) -> (&'static str, Value) {
    let mut params = json!({"old": "item", "new": "entry"});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ("update_class_name", params)
}

#[test]
fn one_line_changes() {
    let (tool, params) = class(json!({"line": 3}));
    assert_eq!(run("a.html", PAGE, tool, params).unwrap(), PAGE.replace("\"item\">Two", "\"entry\">Two"));
}

#[test]
fn several_matches_are_listed_and_one_is_chosen_by_its_number() {
    let error = refused("a.html", PAGE, class(json!({"selector": "li"})), Code::InvalidInput, "2 places");
    assert_eq!(error.details()["matches"].as_array().unwrap().len(), 2);
    let (tool, params) = class(json!({"selector": "li", "nth": 2}));
    assert_eq!(run("a.html", PAGE, tool, params).unwrap(), PAGE.replace("\"item\">Two", "\"entry\">Two"));
    refused("a.html", PAGE, class(json!({"selector": "li", "nth": 3})), Code::InvalidInput, "`nth` is 3");
}

#[test]
fn a_wrong_line_names_near_misses_with_fresh_handles() {
    let error = refused("a.html", PAGE, class(json!({"line": 4})), Code::StalePreimage, "line 2 has it");
    let near = error.details()["near"].as_array().unwrap().clone();
    assert_eq!(near.iter().map(|one| one["line"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 3, 5]);
    for handle in near {
        let edit = json!({"target": handle, "old": "item", "new": "entry"});
        assert!(run("a.html", PAGE, "update_class_name", edit).is_ok());
    }
    refused("a.html", PAGE, class(json!({"line": 40})), Code::StalePreimage, "no line 40");
    let other = ("update_class_name", json!({"line": 4, "old": "zzz", "new": "a"}));
    refused("a.html", PAGE, other, Code::StalePreimage, "`details.near` holds what stands there");
}

#[test]
fn a_target_is_relocated_only_when_asked_and_unique() {
    let text = "<a class=\"x\">1</a>\n<b class=\"y\">2</b>\n";
    let edit = |line: u64, old: &str, relocate: bool| {
        ("update_class_name", json!({"line": line, "old": old, "new": "z", "relocate": relocate}))
    };
    refused("a.html", text, edit(1, "y", false), Code::StalePreimage, "line 2 has it");
    let (tool, params) = edit(1, "y", true);
    assert_eq!(run("a.html", text, tool, params).unwrap(), text.replace("\"y\"", "\"z\""));
    refused("a.html", PAGE, class(json!({"line": 1, "relocate": true})), Code::StalePreimage, "no class");
}

fn handles(text: &str, name: &str) -> Vec<Handle> {
    let query =
        Find { kind: Kind::Class, patterns: Vec::new(), selector: None, text: None, name: Some(name.to_owned()) };
    find("a.html", text, &query, &|| Ok(())).unwrap()
}

#[test]
fn handles_stay_fresh_while_other_lines_change() {
    let found = handles(PAGE, "item");
    assert_eq!(found.iter().map(|one| (one.line, one.column)).collect::<Vec<_>>(), [(2, 12), (3, 12), (5, 11)]);
    let mut text = PAGE.to_owned();
    for handle in &found {
        let edit = json!({"target": handle, "old": "item", "new": "entry"});
        text = run("a.html", &text, "update_class_name", edit).unwrap();
    }
    assert_eq!(text, PAGE.replace("item", "entry"));
}

#[test]
fn a_stale_handle_is_refused() {
    let handle = &handles(PAGE, "item")[1];
    let edit = |relocate: bool| {
        ("update_class_name", json!({"target": handle, "old": "item", "new": "entry", "relocate": relocate}))
    };
    // A line more, so that another item stands there: the line is not unique, and can't be told apart.
    let moved = format!("<!-- new -->\n{PAGE}");
    refused("a.html", &moved, edit(false), Code::StalePreimage, "line 4 now");
    let (tool, params) = edit(true);
    assert_eq!(run("a.html", &moved, tool, params).unwrap(), moved.replace("\"item\">Two", "\"entry\">Two"));
    let twice = format!("<li class=\"item\">Two</li>\n{PAGE}");
    refused("a.html", &twice, edit(true), Code::StalePreimage, "several places");
    refused("a.html", &PAGE.replace("Two", "2"), edit(true), Code::StalePreimage, "find the target again");
}

#[test]
fn a_new_text_stays_in_its_place() {
    let jsx = "const a = <p title=\"b\" className={'c'} style={{ top: 1 }}>d</p>;\n";
    for (tool, params, word) in [
        ("update_text_content", json!({"old": "d", "new": "a{b}"}), "`{`"),
        ("update_text_content", json!({"old": "d", "new": "a\nb"}), "line break"),
        ("update_text_content", json!({"old": "d", "new": " "}), "empty"),
        ("update_prop_value", json!({"prop": "title", "old": "b", "new": "\" on=\""}), "&quot;"),
        ("update_class_name", json!({"old": "c", "new": "x' + y + '"}), "`'`"),
        ("update_class_name", json!({"old": "c", "new": "\\x41"}), "`\\`"),
        ("update_class_name", json!({"old": "c", "new": "a  b"}), "more spaces"),
        ("update_style_value", json!({"property": "top", "old": "1", "new": "'2', left: '3"}), "`'`"),
        ("add_aria_attribute", json!({"element": "p", "attribute": "aria-label", "value": "\">"}), "`\"`"),
        ("add_aria_attribute", json!({"element": "p", "attribute": "aria-lable", "value": "x"}), "`aria-label`"),
        ("add_aria_attribute", json!({"element": "p", "attribute": "onclick", "value": "x"}), "no attribute of ARIA"),
    ] {
        let mut params = params;
        params["line"] = json!(1);
        refused("a.jsx", jsx, (tool, params), Code::InvalidInput, word);
    }
    let css = "a { b: c; d: e }\n";
    for new in ["x; y: z", "x } f {", "x /*", "(", "'", "x !important", "", "!important"] {
        let edit = ("update_style_value", json!({"line": 1, "property": "b", "old": "c", "new": new}));
        let error = run("a.css", css, edit.0, edit.1);
        assert!(error.is_err() || new == "x !important", "{new}: {error:?}");
    }
}

#[test]
fn a_file_with_an_error_elsewhere_can_be_edited() {
    let text = "const a = <p className=\"x\">y</p>;\nconst b = ;\n";
    let (tool, params) = ("update_class_name", json!({"line": 1, "old": "x", "new": "z"}));
    assert_eq!(run("a.jsx", text, tool, params).unwrap(), text.replace("\"x\"", "\"z\""));
}

#[test]
fn computed_values_are_told() {
    let text = "<p className={`a ${b}`} id={c}>d</p>\n";
    let class = ("update_class_name", json!({"line": 1, "old": "a", "new": "z"}));
    refused("a.jsx", text, class, Code::StalePreimage, "a program computes");
    let prop = ("update_prop_value", json!({"line": 1, "prop": "id", "old": "c", "new": "z"}));
    refused("a.jsx", text, prop, Code::StalePreimage, "a program computes");
    let format = ("update_class_name", json!({"line": 1, "old": "a", "new": "z"}));
    refused("a.py", text, format, Code::InvalidInput, "don't know the format");
    let selector = ("update_class_name", json!({"selector": "p:hover", "old": "a", "new": "z"}));
    refused("a.jsx", text, selector, Code::InvalidInput, "`p:hover`");
    let missing = ("update_class_name", json!({"selector": "q", "old": "a", "new": "z"}));
    refused("a.jsx", text, missing, Code::StalePreimage, "nothing in `a.jsx` matches `q`");
}

#[test]
fn a_search_gives_each_kind() {
    let text = "import a from 'b';\nconst c = <d e=\"f\" className=\"g\" style={{ top: '1px' }}>h\n  i\n</d>;\n";
    let all = |kind: Kind| {
        let query = Find { kind, patterns: Vec::new(), selector: None, text: None, name: None };
        let found = find("a.jsx", text, &query, &|| Ok(())).unwrap();
        found.into_iter().map(|one| format!("{}:{} {}", one.line, one.column, one.text)).collect::<Vec<_>>()
    };
    assert_eq!(all(Kind::Import), ["1:16 b"]);
    assert_eq!(all(Kind::Prop), ["2:17 f", "2:31 g"]);
    assert_eq!(all(Kind::Class), ["2:31 g"]);
    assert_eq!(all(Kind::Style), ["2:49 1px"]);
    assert_eq!(all(Kind::Text), ["2:57 h", "3:3 i"]);
    assert_eq!(all(Kind::Element), ["2:11 d"]);
}

#[test]
fn a_text_is_no_part_of_a_reference_or_of_an_escape() {
    let text = |old: &str, new: &str| ("update_text_content", json!({"line": 1, "old": old, "new": new}));
    for (path, page, old) in [
        ("a.html", "<p>a &lt;b</p>\n", "lt"),
        ("a.html", "<p>a &amp;b</p>\n", "amp"),
        ("a.html", "<p>a &#38;b</p>\n", "38"),
        ("a.tsx", "const a = <p>{\"a\\n\"}</p>;\n", "a\\"),
        ("a.tsx", "const a = <p>{\"\\u{41} b\"}</p>;\n", "41"),
    ] {
        refused(path, page, text(old, "x"), Code::StalePreimage, "no text");
    }
    for (path, page, old, after) in [
        ("a.html", "<p>a&amp;</p>\n", "a&", "<p>x</p>\n"),
        ("a.html", "<p>a &amp; b</p>\n", "a", "<p>x &amp; b</p>\n"),
        ("a.tsx", "const a = <p>a &amp;b</p>;\n", "a &", "const a = <p>xb</p>;\n"),
        ("a.tsx", "const a = <p>{\"a \\n b\"}</p>;\n", "b", "const a = <p>{\"a \\n x\"}</p>;\n"),
    ] {
        let (tool, params) = text(old, "x");
        assert_eq!(run(path, page, tool, params).unwrap(), after, "{page}");
    }
}

#[test]
fn nothing_begins_an_expression_of_a_template_or_hides_the_end_of_a_script() {
    let text = |old: &str, new: &str| ("update_text_content", json!({"line": 1, "old": old, "new": new}));
    for (path, page, (tool, params)) in [
        ("a.html", "<p>a {{ b }}</p>\n", text("a", "{%")),
        ("a.html", "<p>a</p>\n", text("a", "{{")),
        ("a.html", "<p>{a}</p>\n", text("{a}", "{{a")),
        ("a.html", "<p>{ a</p>\n", text("a", "{{")),
        ("a.vue", "<template><p>a</p></template>\n", text("a", "{{")),
        ("a.html", "<p class=\"a\">x</p>\n", ("update_class_name", json!({"line": 1, "old": "a", "new": "{{"}))),
        (
            "a.html",
            "<p title=\"a\">x</p>\n",
            ("update_prop_value", json!({"line": 1, "prop": "title", "old": "a", "new": "<?"})),
        ),
        (
            "a.html",
            "<p>x</p>\n",
            ("add_aria_attribute", json!({"line": 1, "element": "p", "attribute": "aria-label", "value": "{%"})),
        ),
        (
            "a.html",
            "<script type=module>import a from './a'</script>\n",
            ("update_import", json!({"line": 1, "old": "./a", "new": "<!--<script>"})),
        ),
        ("a.vue", "<script>cn('a')</script>\n", ("update_class_name", json!({"line": 1, "old": "a", "new": "<!--"}))),
    ] {
        refused(path, page, (tool, params), Code::InvalidInput, "it would begin");
    }
    let (tool, params) = text("a", "{b}");
    assert_eq!(run("a.html", "<p>a</p>\n", tool, params).unwrap(), "<p>{b}</p>\n");
    let (tool, params) = text("a {{", "b {{");
    let _ = run("a.html", "<p>a {{ x</p>\n", tool, params).unwrap();
}

#[test]
fn an_attribute_that_vue_computes_is_there_already() {
    for page in
        ["<template><p :aria-label=\"x\">y</p></template>\n", "<template><p v-bind:aria-label=\"x\">y</p></template>\n"]
    {
        let params = json!({"line": 1, "element": "p", "attribute": "aria-label", "value": "x"});
        refused("a.vue", page, ("add_aria_attribute", params), Code::InvalidInput, "already");
    }
}

#[test]
fn a_computed_text_is_not_looked_for_elsewhere() {
    let twice = |path: &str, first: &str, second: &str, (tool, params): (&'static str, Value)| {
        let text = format!("{first}\n{second}\n");
        for relocate in [false, true] {
            let mut params = params.clone();
            params["line"] = json!(1);
            params["relocate"] = json!(relocate);
            let error = refused(path, &text, (tool, params), Code::StalePreimage, "stands on line 1, but");
            assert!(error.message().contains("a program computes"), "{error}");
            assert!(!error.hint_text().unwrap().contains("relocate"), "{error}");
        }
    };
    let class = || ("update_class_name", json!({"old": "p-2", "new": "p-4"}));
    for value in ["{`p-2 ${x}`}", "{\"p-2 \" + x}", "{[\"p-2\", x].join(\" \")}", "{styles[\"p-2\"]}"] {
        twice("a.jsx", &format!("<A className={value} />;"), "<B className=\"p-2\" />;", class());
    }
    twice("a.html", "<p class=\"p-2 {{ x }}\">a</p>", "<p class=\"p-2\">b</p>", class());
    twice("a.svelte", "<p class=\"p-2 {x}\">a</p>", "<p class=\"p-2\">b</p>", class());
    let text = || ("update_text_content", json!({"old": "Hello", "new": "Hi"}));
    twice("a.jsx", "<A>{ok ? \"Hello\" : \"Bye\"}</A>;", "<B>Hello</B>;", text());
    twice("a.html", "<p>{{ \"Hello\" }}</p>", "<p>Hello</p>", text());
    let style = ("update_style_value", json!({"property": "color", "old": "red", "new": "green"}));
    twice("a.jsx", "<A style={{ color: on ? \"red\" : \"blue\" }} />;", "<B style={{ color: \"red\" }} />;", style);
    let prop = ("update_prop_value", json!({"prop": "title", "old": "Save", "new": "Go"}));
    twice("a.jsx", "<A title={t(\"Save\")} />;", "<B title=\"Save\" />;", prop);
    let import = ("update_import", json!({"old": "./b", "new": "./c"}));
    twice("a.js", "const b = require(\"./b\" + c);", "import \"./b\";", import);
    // The name of a tag, or part of another class, is not a target.
    let (page, params) =
        ("<a class=\"b\">x</a>\n<p class=\"a\">x</p>\n", json!({"line": 1, "old": "a", "new": "z", "relocate": true}));
    assert_eq!(run("a.html", page, "update_class_name", params).unwrap(), page.replace("\"a\"", "\"z\""));
}

#[test]
fn of_several_elements_on_a_line_one_has_to_be_chosen() {
    let label = |more: Value| {
        let mut params = json!({"line": 1, "element": "b", "attribute": "aria-label", "value": "L"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("add_aria_attribute", params)
    };
    let page = "<b>x</b><b>y</b>\n";
    for page in [page, "<b>x<b>y</b></b>\n", "<B>x</B><b>y</b>\n", "<b aria-label=\"x\">x</b><b>y</b>\n"] {
        let error = refused("a.html", page, label(json!({})), Code::InvalidInput, "2 places");
        assert_eq!(error.details()["matches"].as_array().unwrap().len(), 2);
    }
    refused("a.jsx", "<b><b/></b>;\n", label(json!({})), Code::InvalidInput, "2 places");
    let second = "<b>x</b><b aria-label=\"L\">y</b>\n";
    for more in [json!({"nth": 2}), json!({"column": 9})] {
        let (tool, params) = label(more);
        assert_eq!(run("a.html", page, tool, params).unwrap(), second);
    }
    let (tool, params) = label(json!({}));
    assert_eq!(run("a.html", "<b>x</b><i>y</i>\n", tool, params).unwrap(), "<b aria-label=\"L\">x</b><i>y</i>\n");
}
