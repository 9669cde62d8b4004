//! Blocks of the extensions of Python-Markdown, which hold what is indented below their first line.

use std::borrow::Cow;

/// Each extension with the sign that begins its blocks.
pub(super) const SIGNS: &[(&str, &str)] = &[
    ("admonition", "!!!"),
    ("pymdownx.details", "???"),
    ("pymdownx.tabbed", "==="),
    ("def_list", ":"),
    ("extra", ":"),
    ("pymdownx.extra", ":"),
];

/// The signs of all of them.
pub(super) fn every() -> Vec<&'static str> {
    SIGNS.iter().map(|(_, sign)| *sign).collect()
}

/// The text in which items of lists stand for blocks with these signs, byte for byte in the same places.
pub(super) fn listed<'t>(signs: &[&str], text: &'t str) -> Cow<'t, str> {
    if signs.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.trim_start_matches([' ', '\t']);
        if let Some(length) = signs.iter().find_map(|sign| opens(inner, sign)) {
            let begin = start + line.len() - inner.len();
            for (at, byte) in bytes[begin..begin + length].iter_mut().enumerate() {
                *byte = *b"-  ".get(at).unwrap_or(&b'x');
            }
        }
        start += line.len();
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The length of the sign with its modifiers, if a line opens a block by it.
fn opens(line: &str, sign: &str) -> Option<usize> {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let rest = line.strip_suffix('\r').unwrap_or(line).strip_prefix(sign)?;
    let plain = rest.trim_end_matches([' ', '\t']);
    let without = |signs: &[&str]| signs.iter().find_map(|more| plain.strip_prefix(*more)).unwrap_or(plain);
    let after = match sign {
        "???" => without(&["+"]),
        "===" => without(&["+!", "!+", "+", "!"]),
        _ => plain,
    };
    let is_opening = match sign {
        ":" => {
            let text = after.trim_start_matches(' ');
            (1..=3).contains(&(after.len() - text.len())) && text.starts_with(|c: char| !c.is_whitespace())
        }
        "===" => after.starts_with(' ') && is_title(after.trim_start_matches(' ')),
        _ => has_classes(after.strip_prefix(' ').unwrap_or(after)),
    };
    is_opening.then(|| sign.len() + plain.len() - after.len())
}

/// True for the names of classes, and a title behind them.
fn has_classes(text: &str) -> bool {
    let (names, title) = text.find('"').map_or((text, None), |at| (&text[..at], Some(&text[at..])));
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let is_parted = title.is_none() || names.ends_with(' ');
    let names_only = names.trim_end_matches(' ');
    !names_only.is_empty()
        && !names.starts_with(' ')
        && is_parted
        && names_only.split(' ').all(is_name)
        && title.is_none_or(is_title)
}

fn is_title(text: &str) -> bool {
    text.len() > 1 && text.starts_with('"') && text.ends_with('"')
}
