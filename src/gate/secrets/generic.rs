//! What the name of a value says of it: passwords, keys and tokens of nobody in particular.
//!
//! A name makes a value suspicious; what the value looks like decides. Most of this file says what is no secret.

use super::{
    assignment::{Assignment, Style},
    text::{contains, entropy, is_filler, is_mixed_hex, is_word, worded, words},
    vocabulary::{OTHER, PASSWORD, REFERENCE_PARTS, REFERENCE_STARTS, STAND_INS, STRONG},
};

/// The rules that are code, each with what it finds.
pub(super) const LIST: &[(&str, &str)] = &[
    ("connection-password", "A password in a URL"),
    ("generic-password", "A password under a name that says so"),
    ("generic-secret", "A key, token or secret under a name that says so"),
    ("kubernetes-secret", "A value in a Secret of Kubernetes"),
    ("private-key", "A private key"),
];

/// The ids of [`LIST`].
pub(super) const IDS: &[&str] =
    &["connection-password", "generic-password", "generic-secret", "kubernetes-secret", "private-key"];

/// Words of names that make a value suspicious.
pub(super) const WORDS: &[&str] =
    &["pass", "pwd", "secret", "token", "apikey", "key", "credential", "creds", "auth", "access", "api_"];

/// What a name says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Password,
    /// A word such as `secret` or `token`.
    Strong,
    /// `key` or `auth` alone.
    Weak,
}

/// The rule that a value breaks, if it looks like a secret.
pub(super) fn judge(text: &[u8], found: &Assignment, config: bool) -> Option<&'static str> {
    judge_value(&text[found.name.clone()], &text[found.value.clone()], found.style, config)
}

/// The rule that a value breaks under a name. `config`: bare words are values, not identifiers.
pub(super) fn judge_value(name: &[u8], value: &[u8], style: Style, config: bool) -> Option<&'static str> {
    if value.len() < 4 || value.len() > 512 {
        return None;
    }
    let kind = kind(name)?;
    if is_reference(value) || is_filler(value) || repeats(name, value) {
        return None;
    }
    match kind {
        Kind::Password => is_password(value, style, config).then_some("generic-password"),
        Kind::Strong => is_token(value, style, 3.0).then_some("generic-secret"),
        Kind::Weak => is_token(value, style, 3.5).then_some("generic-secret"),
    }
}

/// What a name says by its words, of which the last counts most.
fn kind(name: &[u8]) -> Option<Kind> {
    let all: Vec<String> = words(name).map(|word| String::from_utf8_lossy(word).to_ascii_lowercase()).collect();
    if all.iter().any(|word| matches!(word.as_str(), "public" | "pub" | "csrf" | "integrity" | "checksum")) {
        return None;
    }
    let last = all.last()?;
    if OTHER.contains(&last.as_str()) {
        return None;
    }
    let ends = |word: &String, list: &[&str]| list.iter().any(|end| word.ends_with(end));
    if ends(last, PASSWORD) || matches!(last.as_str(), "pass" | "pw" | "pswd" | "userpass" | "dbpass") {
        return Some(Kind::Password);
    }
    let any = |list: &[&str]| all.iter().any(|word| ends(word, list));
    let pair = |first: &str, second: &str| all.windows(2).any(|two| two[0] == first && two[1] == second);
    if any(STRONG)
        || ["api", "access", "private", "auth", "secret", "encryption", "signing", "master"]
            .iter()
            .any(|first| pair(first, "key"))
    {
        return Some(Kind::Strong);
    }
    if any(PASSWORD) || all.iter().any(|word| matches!(word.as_str(), "key" | "auth" | "api" | "access")) {
        return Some(Kind::Weak);
    }
    None
}

/// True if a value names where the secret is, rather than being it: variables, calls, paths, addresses.
fn is_reference(value: &[u8]) -> bool {
    if REFERENCE_STARTS.iter().any(|start| value.starts_with(start)) {
        return true;
    }
    is_variable(value) || REFERENCE_PARTS.iter().any(|part| contains(value, part))
}

/// True for `$NAME`, `$NAME/x`, `%NAME%`, `@name@`, `#name`, `<name>`, `{name}`, `&name`, `*name`, `/a/b`: a sign and words.
fn is_variable(value: &[u8]) -> bool {
    let Some((sign, rest)) = value.split_first() else { return false };
    let name = rest.iter().take_while(|byte| is_word(**byte)).count();
    let after = rest.get(name).copied();
    match sign {
        b'$' => matches!(after, None | Some(b'/' | b'.' | b':' | b'-' | b'{' | b'}' | b'(' | b'[')),
        b'<' | b'{' | b'[' => true,
        b'%' => after == Some(b'%') || after == Some(b'('),
        b'@' | b'&' | b'*' | b'#' | b'/' | b'\\' | b':' | b'.' | b'-' => {
            worded(rest) * 2 >= rest.len().saturating_sub(3)
        }
        _ => false,
    }
}

/// True if a value only repeats its name, or says what kind of value it is.
fn repeats(name: &[u8], value: &[u8]) -> bool {
    let bare = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
    };
    let (name, value) = (bare(name), bare(value));
    value.is_empty() || value == name || name.ends_with(&value) || STAND_INS.iter().any(|said| said.as_bytes() == value)
}

fn is_password(value: &[u8], style: Style, config: bool) -> bool {
    let has = |class: fn(&u8) -> bool| value.iter().any(class);
    let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let odd = value.iter().any(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.' | b'-'));
    match style {
        Style::Quoted => value.len() >= 5 && value.len() <= 128 && !value.contains(&b' ') && entropy(value) >= 2.0,
        Style::Argument => value.len() >= 8 && mixed && !value.contains(&b' ') && entropy(value) >= 2.5,
        Style::Listed | Style::Tagged => value.len() >= 5 && value.len() <= 128 && entropy(value) >= 2.0,
        Style::Tight => {
            value.len() >= 6 && entropy(value) >= 2.0 && (config || mixed || odd || is_constant_style(value))
        }
        Style::Loose => {
            value.len() >= 6
                && entropy(value) >= 2.3
                && (mixed || odd || config)
                && (config || !is_expression(value))
                && !is_number(value)
        }
    }
}

/// A bare word of small letters behind `=` is a value rather than an identifier.
fn is_constant_style(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_lowercase)
}

/// True for `a.b`, `a::b`, `!a.b`: identifiers in a row.
fn is_expression(value: &[u8]) -> bool {
    let part =
        |part: &[u8]| part.first().is_none_or(|first| first.is_ascii_alphabetic() || *first == b'_') || part.len() == 1;
    let plain = |byte: &u8| is_word(*byte) || matches!(byte, b'.' | b':' | b'-' | b'?' | b'!' | b'*' | b'&');
    let value = value.trim_ascii_start();
    let value = value.strip_prefix(b"!").or(value.strip_prefix(b"&")).or(value.strip_prefix(b"*")).unwrap_or(value);
    let joined = value.contains(&b'.') || memchr::memmem::find(value, b"::").is_some();
    joined
        && value.split(|byte| matches!(byte, b'.' | b':')).all(part)
        && value.iter().all(plain)
        && entropy(value) < 4.4
}

/// True for `MAX_SIZE_2`.
fn is_constant(value: &[u8]) -> bool {
    value.contains(&b'_')
        && value.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// True for `12`, `0x1f`, `4099u32`, `-1.5f`: a number as programs write it.
fn is_number(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"-").unwrap_or(value);
    let hex =
        value.strip_prefix(b"0x").is_some_and(|digits| digits.len() <= 16 && digits.iter().all(u8::is_ascii_hexdigit));
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'.')).count();
    const SUFFIXES: &[&[u8]] = &[
        b"", b"u8", b"u16", b"u32", b"u64", b"usize", b"i8", b"i16", b"i32", b"i64", b"isize", b"f", b"L", b"UL",
        b"ms", b"px",
    ];
    hex || digits > 0 && SUFFIXES.contains(&&value[digits..])
}

/// True if a value says that it is made up: `test`, a row of digits or letters, an end that is left out.
fn is_made_up(value: &[u8]) -> bool {
    const SAID: &[&str] = &["test", "testing", "fake", "mock", "demo", "sample", "stub", "invalid"];
    let said = words(value).any(|word| SAID.iter().any(|said| word.eq_ignore_ascii_case(said.as_bytes())));
    said || value.ends_with(b"...") || contains(value, b"12345678") || contains(value, b"abcdefgh")
}

fn is_token(value: &[u8], style: Style, bits: f32) -> bool {
    let allowed = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'_' | b'.' | b'=' | b'-' | b'+' | b'/' | b'~' | b'!' | b'@' | b'%' | b'^' | b'*' | b'$' | b'#'
            )
    };
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let bare = !matches!(style, Style::Quoted | Style::Argument);
    value.len() >= 10
        && value.iter().all(allowed)
        && digits > 0
        && letters > 0
        && entropy(value) >= bits
        && worded(value) * 2 < value.len()
        && !is_uuid(value)
        && !is_mixed_hex(value)
        && !is_made_up(value)
        && !is_number(value)
        && !is_version_or_path(value)
        && !(bare && (is_expression(value) || is_constant(value)))
}

/// A UUID names things more often than it protects them.
fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// True for `rc0.13.0_2023`, `a/b/c.pem`, `12:30:00`, `sha256-…`.
fn is_version_or_path(value: &[u8]) -> bool {
    let dotted = value.split(|byte| *byte == b'.').filter(|part| part.len() <= 3 && !part.is_empty()).count() >= 3;
    let path = value.iter().filter(|byte| **byte == b'/').count() >= 1 && worded(value) * 3 >= value.len();
    let digest = [&b"sha1-"[..], b"sha256-", b"sha384-", b"sha512-", b"sha256:", b"sha512:", b"md5:"]
        .iter()
        .any(|start| value.starts_with(start));
    dotted || path || digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_and_the_ids_are_the_same() {
        assert!(LIST.iter().map(|(id, _)| *id).eq(IDS.iter().copied()));
    }

    #[test]
    fn names_say_what_their_values_are() {
        for (name, expected) in [
            ("DB_PASSWORD", Some(Kind::Password)),
            ("userpassword", Some(Kind::Password)),
            ("api_token", Some(Kind::Strong)),
            ("clientSecret2", Some(Kind::Strong)),
            ("token-path", None),
            ("accessKeyId", None),
            ("publicToken", None),
            ("monkey", None),
            ("accessor", None),
            ("X-Api-Key", Some(Kind::Strong)),
            ("key", Some(Kind::Weak)),
        ] {
            assert_eq!(kind(name.as_bytes()), expected, "{name}");
        }
    }
}
