//! Signs in headings that some renderer reads otherwise than CommonMark.

/// True for a character reference.
pub(super) fn has_reference(text: &str) -> bool {
    text.split('&').skip(1).any(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest.starts_with('#') || (end > 0 && rest[end..].starts_with(';'))
    })
}

/// True for the begin of a tag, a comment or the like.
pub(super) fn has_tag(text: &str) -> bool {
    text.split('<').skip(1).any(|rest| rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '!' | '?')))
}

/// True for a directive, such as `:name`.
pub(super) fn has_directive(text: &str) -> bool {
    text.split(':').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// True for a tilde that stands alone, which is a mark to some.
pub(super) fn has_single_tilde(text: &str) -> bool {
    let lone = |run: &str| run.chars().filter(|c| *c == '~').count() == 1;
    text.split(|c| c != '~').any(lone)
}

/// True for the name of an emoji, or a face of signs.
pub(super) fn has_emoji(text: &str) -> bool {
    let lower: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let at = |n: usize| lower.get(n).copied().unwrap_or('\0');
    let is_mouth = |c: char| "()/*|o@dpsz$\",'[]".contains(c);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '-');
    for n in 0..lower.len() {
        let is_face = match at(n) {
            ':' | ';' => is_mouth(at(n + 1)) || (matches!(at(n + 1), '-' | '\'') && is_mouth(at(n + 2))),
            '<' => at(n + 1) == '3' || (matches!(at(n + 1), '/' | '\\') && at(n + 2) == '3'),
            'x' | '8' | 'b' => {
                let begins = n == 0 || !(at(n - 1).is_alphanumeric() || at(n - 1) == '_');
                begins && at(n + 1) == '-' && at(n + 2) == ')'
            }
            _ => false,
        };
        let length = lower[n + 1..].iter().take_while(|c| is_name(**c)).count();
        if is_face || (at(n) == ':' && length > 0 && at(n + 1 + length) == ':') {
            return true;
        }
    }
    false
}

/// True if a text holds signs that Python-Markdown may read as marks and CommonMark does not.
pub(super) fn has_loose_marks(text: &str) -> bool {
    let (mut before, mut rest) = (' ', text.chars());
    while let Some(sign) = rest.next() {
        let after = rest.clone().next().unwrap_or(' ');
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let is_loose = match sign {
            '`' => true,
            '*' => !before.is_whitespace() || !after.is_whitespace(),
            '_' => !is_word(before) || !is_word(after),
            ']' => matches!(after, '(' | '[') || rest.as_str().starts_with(" ["),
            _ => false,
        };
        if is_loose {
            return true;
        }
        before = sign;
    }
    false
}

/// True for signs that extensions of Python-Markdown replace.
pub(super) fn has_extended(text: &str) -> bool {
    const SIGNS: &[&str] =
        &["--", "...", "$", "^", "~", "@", "|", "==", "++", "+/-", "->", "<-", "{", "(c)", "(r)", "(tm)", "(p)"];
    let lower = text.to_lowercase();
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let has_colon = text.split(':').skip(1).any(|rest| is_word(rest.chars().next()));
    let is_fraction = |(at, _): (usize, &str)| {
        let mut back = text[..at].chars().rev();
        let digit = |c: Option<char>| c.is_some_and(char::is_numeric);
        digit(back.next()) && !is_word(back.next()) && digit(text[at + 1..].chars().next())
    };
    has_colon || SIGNS.iter().any(|sign| lower.contains(sign)) || text.match_indices('/').any(is_fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_found() {
        let check = |is: fn(&str) -> bool, yes: &[&str], no: &[&str]| {
            yes.iter().for_each(|text| assert!(is(text), "{text}"));
            no.iter().for_each(|text| assert!(!is(text), "{text}"));
        };
        check(has_reference, &["&amp;", "a &#39;"], &["a & b", "a&b", "&;"]);
        check(has_single_tilde, &["~a~", "a~", "~~a~"], &["~~a~~", "a"]);
        check(has_tag, &["<b>", "a</b", "<!--"], &["<5", "a < b"]);
        check(has_directive, &["a:b"], &["a: b", "10:30", ":"]);
        check(
            has_emoji,
            &[":tada:", ":)", ";-)", "<3", "</3", "8-)", "a :P"],
            &["a: b", "10:30", "x8-)", "a; b", ":a b:"],
        );
        check(has_loose_marks, &["a*", "_a", "a](", "`", "a_ b", "] [x]"], &["a * b", "a_b", "[x] y"]);
        check(has_extended, &["a--b", "1/2", ":a:", "x^2", "(c)"], &["a-b", "a/b", "11/2", "(cd)", "a: b"]);
    }
}
