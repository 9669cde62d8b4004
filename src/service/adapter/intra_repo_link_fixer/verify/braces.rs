//! Braces at the end of a heading: lists of attributes, and comments of MDX.

/// The meaning of braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Braces {
    /// They name an anchor.
    Id(String),
    /// They are attributes without an anchor.
    Bare,
    /// They may be either attributes or text.
    Unclear,
}

/// The braces at the end of a line, with nothing but white space behind them.
pub(super) fn last(line: &str) -> Option<&str> {
    let line = line.trim_end_matches([' ', '\t']);
    let inside = line.strip_suffix('}')?;
    let open = inside.rfind(['{', '}'])?;
    inside[open..].starts_with('{').then(|| &line[open..])
}

/// The text without the signs that close a heading.
pub(super) fn without_signs(text: &str) -> &str {
    let text = text.trim_end();
    let bare = text.trim_end_matches('#');
    if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { text }
}

/// The meaning of braces with nothing but words of `#`, `.` or `=`, with a colon at their beginning or not.
pub(super) fn plain(block: &str, with_colon: bool) -> Braces {
    let Some(inside) = block.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { return Braces::Unclear };
    let mut rest = match inside.strip_prefix(':') {
        Some(rest) if with_colon => rest,
        Some(_) => return Braces::Unclear,
        None => inside,
    };
    let (mut id, mut count) = (None, 0);
    loop {
        rest = rest.trim_start_matches(' ');
        let Some(first) = rest.chars().next() else { break };
        count += 1;
        let length = if matches!(first, '#' | '.') { 1 + name(&rest[1..], ".:-") } else { assignment(rest) };
        if length < 2 {
            return Braces::Unclear;
        }
        if first == '#' {
            id = Some(rest[1..length].to_owned());
        }
        rest = &rest[length..];
        if !rest.is_empty() && !rest.starts_with(' ') {
            return Braces::Unclear;
        }
    }
    match id {
        _ if count == 0 && inside.is_empty() => Braces::Unclear,
        Some(id) => Braces::Id(id),
        None => Braces::Bare,
    }
}

/// The length of a name: letters, marks, digits, connectors and further signs.
fn name(text: &str, further: &str) -> usize {
    let is_part = |c: char| {
        further.contains(c)
            || if c.is_ascii() { c.is_ascii_alphanumeric() || c == '_' } else { super::slug::is_word(c) }
    };
    text.find(|c: char| !is_part(c)).unwrap_or(text.len())
}

/// The length of `key=value`; 0 if there is none, or if it is an anchor.
fn assignment(text: &str) -> usize {
    let key = name(text, "-");
    let is_key =
        text.starts_with(|c: char| c.is_ascii_alphabetic()) && text[key..].starts_with('=') && &text[..key] != "id";
    if !is_key {
        return 0;
    }
    let value = &text[key + 1..];
    let length = match value.strip_prefix('"') {
        Some(quoted) => match quoted.find(['"', '{', '}', '\\', '&', '<', '>', '*', '_', '`']) {
            Some(end) if quoted[end..].starts_with('"') => end + 2,
            _ => 0,
        },
        None if value.starts_with(|c: char| c.is_ascii_alphabetic()) => name(value, "-"),
        None => 0,
    };
    if length == 0 { 0 } else { key + 1 + length }
}

/// The anchor in a comment at the end of a line, such as `{/* #id */}`.
pub(super) fn comment(line: &str) -> Option<String> {
    let inside = last(line)?.strip_prefix("{/*")?.strip_suffix("*/}")?;
    let mut words = inside.trim().split(' ');
    let id = words.next()?.strip_prefix('#').filter(|id| !id.is_empty() && !id.contains(['*', '/']))?;
    (!inside.contains('*') && !words.any(|word| word.contains('/'))).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_braces() {
        for (block, id) in [
            ("{#a}", "a"),
            ("{ #a.b:c-d_e }", "a.b:c-d_e"),
            ("{.x #a k=v}", "a"),
            ("{#a k=\"v #w\"}", "a"),
            ("{#ü}", "ü"),
            ("{#a #b}", "b"),
        ] {
            assert_eq!(plain(block, false), Braces::Id(id.to_owned()), "{block}");
        }
        for block in ["{.a}", "{k=v}", "{.a .b}"] {
            assert_eq!(plain(block, false), Braces::Bare, "{block}");
        }
        for block in
            ["{}", "{#}", "{#a*b}", "{a}", "{#a b}", "{id=a}", "{:#a}", "{#a/b}", "{k=\"v}", "{#a`b}", "{.a#b}"]
        {
            assert_eq!(plain(block, false), Braces::Unclear, "{block}");
        }
        assert_eq!(plain("{: #a }", true), Braces::Id("a".to_owned()));
    }

    #[test]
    fn comments_name_anchors() {
        for (line, id) in [
            ("# A {/* #b */}", Some("b")),
            ("# A {/*#b c*/} ", Some("b")),
            ("# A {/* b */}", None),
            ("# {/* #a */} b", None),
        ] {
            assert_eq!(comment(line).as_deref(), id, "{line}");
        }
    }
}
