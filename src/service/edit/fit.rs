//! Keeps a new text to its place: it is on one line, and nothing in it ends the string, tag or declaration that it stands in.

use super::document::{Document, Place};
use base::{
    error::{self, Code, Error},
    micro::{Edit, Kind, Tool},
};
use format::site::{Format, Markup, Site, Spelling, is_value};

/// The attributes of WAI-ARIA 1.3, without `aria-`.
const ARIA: &[&str] = &[
    "activedescendant",
    "atomic",
    "autocomplete",
    "braillelabel",
    "brailleroledescription",
    "busy",
    "checked",
    "colcount",
    "colindex",
    "colindextext",
    "colspan",
    "controls",
    "current",
    "describedby",
    "description",
    "details",
    "disabled",
    "dropeffect",
    "errormessage",
    "expanded",
    "flowto",
    "grabbed",
    "haspopup",
    "hidden",
    "invalid",
    "keyshortcuts",
    "label",
    "labelledby",
    "level",
    "live",
    "modal",
    "multiline",
    "multiselectable",
    "orientation",
    "owns",
    "placeholder",
    "posinset",
    "pressed",
    "readonly",
    "relevant",
    "required",
    "roledescription",
    "rowcount",
    "rowindex",
    "rowindextext",
    "rowspan",
    "selected",
    "setsize",
    "sort",
    "valuemax",
    "valuemin",
    "valuenow",
    "valuetext",
];

/// Refuses texts of several lines, and signs that nobody sees.
pub(super) fn one_line(edit: &Edit) -> Result<(), Error> {
    let is_control = |c: char| c.is_control() && c != '\t' || matches!(c, '\u{2028}' | '\u{2029}');
    for (what, text) in [("new", Some(edit.new.as_str())), ("present", edit.old.as_deref())] {
        if text.is_some_and(|text| text.contains(is_control)) {
            return Err(Error::new(
                Code::InvalidInput,
                format!("the {what} text has a line break or a control character"),
            )
            .detail("path", edit.path.as_str())
            .hint("an edit changes one place on one line; make one edit for each line"));
        }
    }
    Ok(())
}

/// The new text as it is spelt at a site.
pub(super) fn spelt(document: &Document<'_>, site: &Site, edit: &Edit) -> Result<String, Error> {
    let new = edit.new.as_str();
    let is_blank = new.trim().is_empty();
    if is_blank && (site.kind != Kind::Prop || matches!(site.spelling, Spelling::Attribute(None) | Spelling::Literal)) {
        let hint = match site.kind {
            Kind::Class => "to remove a class, name it together with its neighbour, and give the neighbour alone",
            _ => "remove it by `nrv.apply`",
        };
        return Err(refused(edit, "the new text is empty").hint(hint));
    }
    if edit.tool == Tool::UpdateClassName && new.split_whitespace().collect::<Vec<_>>().join(" ") != new {
        return Err(refused(edit, "the new classes have more spaces than one between each two"));
    }
    if let Some(quote) = site.within.filter(|quote| new.contains(*quote)) {
        return Err(refused(edit, &format!("it holds the quote {quote} of the attribute in which it would stand")));
    }
    check(document, site.spelling, edit)?;
    Ok(match (site.kind, site.spelling) {
        // A number of a style object may become a value with a unit, which is a string.
        (Kind::Style, Spelling::Literal) if !is_literal(new) => {
            let quote = if site.within == Some('\'') { '"' } else { '\'' };
            format!("{quote}{new}{quote}")
        }
        _ => new.to_owned(),
    })
}

fn check(document: &Document<'_>, spelling: Spelling, edit: &Edit) -> Result<(), Error> {
    let new = edit.new.as_str();
    let no = |signs: &[char]| match new.chars().find(|c| signs.contains(c)) {
        Some(found) => Err(refused(edit, &format!("it holds `{found}`, which would end or change what is around it"))),
        None => Ok(()),
    };
    match spelling {
        Spelling::Attribute(None) => no(&['"', '\'', '`', '=', '<', '>', ' ', '\t', '/'])
            .map_err(|error| error.hint("the attribute has no quotes; put some around it by `nrv.apply` first")),
        Spelling::Attribute(Some(quote)) => {
            let hint = if quote == '"' { "write it as `&quot;`" } else { "write it as `&#39;`" };
            no(&[quote]).map_err(|error| error.hint(hint))
        }
        Spelling::Text(quote) => no(&[quote, '\\']),
        Spelling::Template => no(&['`', '\\']).and_then(|()| match new.contains("${") {
            true => Err(refused(edit, "it holds `${`, which begins an expression")),
            false => Ok(()),
        }),
        Spelling::Literal if edit.tool == Tool::UpdateStyleValue => no(&['\'', '"', '\\', '`']),
        Spelling::Literal if is_literal(new) => Ok(()),
        Spelling::Literal => {
            Err(refused(edit, "the value is a number or the like").hint("give a number, `true`, `false` or `null`"))
        }
        Spelling::Html(_) => no(&['<']).map_err(|error| error.hint("write it as `&lt;`")),
        Spelling::Jsx => {
            no(&['<', '>', '{', '}']).map_err(|error| error.hint("write it as a reference, such as `&lt;`"))
        }
        Spelling::Value(sheet) if is_value(new, sheet) => Ok(()),
        Spelling::Value(_) => Err(refused(edit, "it is no value of a declaration by itself")
            .hint("give one value, without `;`, braces and comments, with all its brackets and quotes closed")),
        Spelling::Url => no(&['"', '\'', '(', ')', ' ', '\\', ';']),
        Spelling::Tag | Spelling::Computed => Ok(()),
    }?;
    let is_svelte = document.format == Format::Markup(Markup::Svelte);
    match spelling {
        Spelling::Attribute(_) | Spelling::Html(_) if is_svelte => no(&['{', '}']),
        _ => Ok(()),
    }
}

/// True for a literal of a program that is no string.
fn is_literal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        && digits.matches('.').count() <= 1
        && (!digits.starts_with('0') || digits.len() == 1 || digits.starts_with("0."));
    is_number || matches!(text, "true" | "false" | "null")
}

/// Checks an attribute that is to be added to an element.
pub(super) fn attribute(document: &Document<'_>, place: &Place, edit: &Edit) -> Result<(), Error> {
    let name = edit.name.as_deref().unwrap_or_default();
    let known = name.strip_prefix("aria-").map(|rest| ARIA.contains(&rest));
    if known != Some(true) && name != "role" {
        let error = Error::new(Code::InvalidInput, format!("`{}` is no attribute of ARIA", name.escape_debug()))
            .detail("path", document.path);
        let near = known.and_then(|_| error::nearest(&name["aria-".len()..], ARIA.iter().copied()));
        return Err(error.hint(match near {
            Some(near) => format!("did you mean `aria-{near}`?"),
            None => "it is `role`, or begins with `aria-`".to_owned(),
        }));
    }
    let site = &document.sites.sites[place.site];
    let element = site.element.map(|at| &document.sites.elements[at]);
    // Vue computes an attribute whose name follows `:` or `v-bind:`.
    let own = |key: &str| key.strip_prefix("v-bind:").or_else(|| key.strip_prefix(':')).unwrap_or(key).to_owned();
    if element.is_some_and(|element| element.attributes.iter().any(|(key, _)| own(key).eq_ignore_ascii_case(name))) {
        return Err(Error::new(Code::InvalidInput, format!("`<{}>` has `{name}` already", site.name.escape_debug()))
            .detail("path", document.path)
            .detail("line", document.line(place.range.start))
            .hint("change it by `update_prop_value`"));
    }
    if edit.new.trim().is_empty() {
        return Err(refused(edit, "the value is empty"));
    }
    check(document, Spelling::Attribute(Some('"')), edit)
}

fn refused(edit: &Edit, why: &str) -> Error {
    Error::new(Code::InvalidInput, format!("the new text can't stand there: {why}")).detail("path", edit.path.as_str())
}
