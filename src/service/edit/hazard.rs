//! Warns of new texts that a browser would run as a program. They are made all the same: a page may want them.

use super::document::Document;
use base::micro::{Edit, Kind};
use format::{
    escape::Escape,
    site::{Site, Spelling},
    value::Decoded,
};

/// The addresses whose text is a program or a page.
const SCHEMES: &[&str] = &["data:application/javascript", "data:text/", "javascript:", "vbscript:"];

/// Attributes that begin like those of event handlers and are none.
const NO_HANDLERS: &[&str] = &["once", "only"];

/// The warnings about the new text of a site, as sentences without final period.
pub(super) fn warnings(document: &Document<'_>, site: &Site, edit: &Edit) -> Vec<String> {
    let is_attribute = site.kind == Kind::Prop;
    let mut warnings = Vec::new();
    if is_attribute && is_handler(&site.name) {
        warnings.push(format!("`{}` is an event handler: browsers run its value as a program", site.name));
    }
    if is_attribute && site.name.eq_ignore_ascii_case("srcdoc") {
        warnings.push(format!("`{}` is a page of its own, whose programs browsers run", site.name));
    }
    let new = decoded(site.spelling, &edit.new);
    let is_address = matches!(site.kind, Kind::Import | Kind::Prop) && program_of(&new).is_some();
    let in_address = || {
        new.match_indices("url(")
            .any(|(at, word)| program_of(new[at + word.len()..].trim_start_matches(['"', '\''])).is_some())
    };
    // The text of a `style` attribute is a prop, too.
    if is_address || matches!(site.kind, Kind::Prop | Kind::Style) && in_address() {
        let line = document.line(site.range.start);
        let scheme = program_of(&new).unwrap_or("url(…)");
        warnings.push(format!("line {line} gets an address that browsers may run as a program: `{scheme}`"));
    }
    warnings
}

/// True for the name of an event handler: of HTML, JSX or Svelte.
fn is_handler(name: &str) -> bool {
    let Some(event) = name.get(2..).filter(|_| name.get(..2).is_some_and(|on| on.eq_ignore_ascii_case("on"))) else {
        return false;
    };
    let event = event.strip_prefix(':').unwrap_or(event);
    event.starts_with(|c: char| c.is_ascii_alphabetic()) && !NO_HANDLERS.contains(&name)
}

/// A text as browsers read it: with references resolved, in lower case, and without the signs that addresses may hold anywhere.
fn decoded(spelling: Spelling, text: &str) -> String {
    let text = match spelling {
        Spelling::Attribute(_) => Decoded::new(text.as_bytes(), &[Escape::Html]).text.to_string(),
        _ => text.to_owned(),
    };
    let is_ignored = |c: char| c.is_ascii_control() || c.is_whitespace();
    text.chars().filter(|c| !is_ignored(*c)).collect::<String>().to_ascii_lowercase()
}

/// The scheme of an address that is a program.
fn program_of(address: &str) -> Option<&'static str> {
    SCHEMES.iter().copied().find(|scheme| address.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::jsonl::{Request, answer};

    #[track_caller]
    fn check((path, text): (&str, &str), (op, args): (&str, Value), words: Option<&str>) {
        let (op, mut args) = (op.to_owned(), args);
        args["path"] = json!(path);
        args["line"] = json!(1);
        let request = Request { id: Value::Null, op, args, text: text.to_owned() };
        let answer = answer(request, &|| Ok(()));
        assert!(answer.text.is_some(), "{:?}", answer.refused);
        match words {
            Some(words) => assert!(answer.warnings.concat().contains(words), "{text}: {:?}", answer.warnings),
            None => assert!(answer.warnings.is_empty(), "{text}: {:?}", answer.warnings),
        }
    }

    fn prop(name: &str, old: &str, new: &str) -> (&'static str, Value) {
        ("update_prop_value", json!({"prop": name, "old": old, "new": new}))
    }

    #[test]
    fn handlers_warn() {
        let handler = Some("is an event handler");
        check(("a.html", "<a onclick=\"a()\">x</a>"), prop("onclick", "a()", "b()"), handler);
        check(("a.html", "<a ONMOUSEOVER=\"a()\">x</a>"), prop("onmouseover", "a()", "b()"), handler);
        check(("a.jsx", "<A onClick=\"a()\" />"), prop("onClick", "a()", "b()"), handler);
        check(("a.svelte", "<a onclick=\"a()\">x</a>"), prop("onclick", "a()", "b()"), handler);
        check(("a.html", "<a title=\"a\" onclick=\"a()\">x</a>"), prop("title", "a", "b"), None);
        check(("a.jsx", "<A once=\"a\" />"), prop("once", "a", "b"), None);
        check(("a.html", "<iframe srcdoc=\"a\"></iframe>"), prop("srcdoc", "a", "b"), Some("a page of its own"));
    }

    #[test]
    fn addresses_that_are_programs_warn() {
        let program = Some("run as a program");
        for new in [
            "javascript:a()",
            " JavaScript:a()",
            "java\tscript:a()",
            "&#106;avascript:a()",
            "vbscript:a",
            "data:text/html,x",
        ] {
            check(("a.html", "<a href=\"/x\">x</a>"), prop("href", "/x", new), program);
        }
        check(("a.jsx", "<A href={\"/x\"} />"), prop("href", "/x", "javascript:a()"), program);
        check(("a.html", "<a href=\"/x\">x</a>"), prop("href", "/x", "/javascript:a"), None);
        check(("a.html", "<a href=\"/x\">x</a>"), prop("href", "/x", "data:image/png;base64,AA"), None);
        let style =
            ("update_style_value", json!({"property": "background", "old": "red", "new": "url('javascript:a()')"}));
        check(("a.css", "a { background: red }"), style, program);
        let import = ("update_import", json!({"old": "./a", "new": "data:text/javascript,a()"}));
        check(("a.js", "import './a';"), import, program);
        let text = ("update_text_content", json!({"old": "x", "new": "javascript:a()"}));
        check(("a.html", "<a href=\"/x\">x</a>"), text, None);
    }
}
