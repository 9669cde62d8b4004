//! Generic secrets, without a vendor's format: passwords, keys and tokens by the name of their value.
//!
//! A name makes a value suspicious; the form of the value decides. Most of this file lists harmless values.

use super::{
    assignment::{Assignment, Style},
    key,
    text::{contains, entropy, is_filler, is_mixed_hex, is_word, worded, words},
    vocabulary::{
        ENTRIES, OTHER, PASSWORD, PLACES, PUBLIC_STARTS, REFERENCE_PARTS, REFERENCE_STARTS, STAND_INS, STRONG,
        is_stand_in,
    },
};

/// Words of names that make a value suspicious.
pub(super) const WORDS: &[&str] =
    &["pass", "pwd", "secret", "token", "apikey", "key", "credential", "creds", "auth", "access", "api_"];

/// The longest value under the name of an entry: keys of storage accounts are longer.
const ENTRY: usize = 48;

/// The kind of a value by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Password,
    /// A word such as `secret` or `token`.
    Strong,
    /// `key` or `auth` alone.
    Weak,
}

/// The rule that a value breaks, if it resembles a secret.
pub(super) fn judge(text: &[u8], found: &Assignment, config: bool) -> Option<&'static str> {
    if found.style == Style::Listed && is_badge(&text[found.name.start.saturating_sub(URL)..found.name.start]) {
        return None;
    }
    judge_value(&text[found.name.clone()], &text[found.value.clone()], found.style, config)
}

/// The bytes of an address before a name that are examined.
const URL: usize = 200;

/// True for the address of a build badge; its token only shows the badge.
fn is_badge(before: &[u8]) -> bool {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'(' | b'<');
    let address = before.rsplit(ends).next().unwrap_or_default();
    [&b"badge"[..], b"codecov", b"coveralls", b"shields.io"].iter().any(|said| contains(address, said))
}

/// The rule that a value breaks under a name. `config`: bare words are values, not identifiers.
pub(super) fn judge_value(name: &[u8], value: &[u8], style: Style, config: bool) -> Option<&'static str> {
    if value.len() < 4 || value.len() > 512 {
        return None;
    }
    // The cheapest test comes first: most names and values of a text end here.
    let rule = match kind(name)? {
        Kind::Password => is_password(value, style, config).then_some("generic-password"),
        Kind::Strong => is_token(value, style, 3.0).then_some("generic-secret"),
        Kind::Weak => is_token(value, style, 3.5).then_some("generic-secret"),
    }?;
    let other = match style {
        Style::Said => is_sentence(name, value),
        Style::Argument => is_sibling(name, value),
        Style::Loose => !config && is_derived(name, value),
        Style::Quoted | Style::Tight | Style::Listed | Style::Tagged => false,
    };
    let none = other
        || is_entry(name) && value.len() <= ENTRY
        || is_reference(value)
        || is_filler(value)
        || is_stand_in(value)
        || repeats(name, value);
    (!none).then_some(rule)
}

/// The kind of a name by its words, of which the last counts most.
fn kind(name: &[u8]) -> Option<Kind> {
    let all: Vec<String> = words(name).map(|word| String::from_utf8_lossy(word).to_ascii_lowercase()).collect();
    if all.iter().any(|word| matches!(word.as_str(), "public" | "pub" | "csrf" | "integrity" | "checksum")) {
        return None;
    }
    let last = all.last()?;
    let before = all.len().checked_sub(2).map(|at| all[at].as_str());
    if OTHER.contains(&last.as_str()) || last == "token" && before.is_some_and(|before| PLACES.contains(&before)) {
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

/// True for the name of an entry, a column or a widget: `cacheKey`, `sort_key`, `siteKey`.
fn is_entry(name: &[u8]) -> bool {
    let is = |word: &[u8], known: &str| word.eq_ignore_ascii_case(known.as_bytes());
    let all: Vec<&[u8]> = words(name).collect();
    matches!(all.as_slice(), [.., before, last] if is(last, "key") && ENTRIES.iter().any(|word| is(before, word)))
        && !all.iter().any(|word| ["api", "secret", "private", "access", "auth"].iter().any(|known| is(word, known)))
}

/// True if a value names the place of the secret: variables, calls, paths, addresses.
fn is_reference(value: &[u8]) -> bool {
    if REFERENCE_STARTS.iter().any(|start| value.starts_with(start)) {
        return true;
    }
    is_variable(value)
        || is_appended(value)
        || is_path(value)
        || PUBLIC_STARTS.iter().any(|start| value.starts_with(start))
        || REFERENCE_PARTS.iter().any(|part| contains(value, part))
}

/// True for what code appends to a text: `"password="+args.Password`.
fn is_appended(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
    let rest = value.strip_prefix(b"+").unwrap_or_default().trim_ascii_start();
    rest.first().is_some_and(u8::is_ascii_alphabetic)
        && rest.iter().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'.' | b'_' | b')'))
}

/// True for `/usr/bin/x` and `projects/12/secrets/x`.
fn is_path(value: &[u8]) -> bool {
    let slashes = value.iter().filter(|byte| **byte == b'/').count();
    let small = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"/._-".contains(byte);
    slashes >= 2 && (worded(value) * 2 >= value.len() || value[0] == b'/' && value.iter().all(small))
}

/// `pass "the_name" on` is a sentence more often than a setting.
fn is_sentence(name: &[u8], value: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"pass") && (worded(value) > 0 || !value.iter().any(u8::is_ascii_digit))
}

/// True for the name of a variable that is made of words of the other name: `passwd = old_passwd`.
fn is_derived(name: &[u8], value: &[u8]) -> bool {
    let plain = |byte: &u8| is_word(*byte) || matches!(byte, b':' | b'.' | b'$' | b'-' | b'>');
    value.iter().any(|byte| !byte.is_ascii_alphanumeric())
        && value.iter().filter(|byte| byte.is_ascii_digit()).count() <= 2
        && !value.iter().any(u8::is_ascii_uppercase)
        && value.iter().all(plain)
        && name
            .split(|byte| !byte.is_ascii_alphanumeric())
            .filter(|part| part.len() >= 4)
            .any(|part| contains(value, part))
}

/// True for values in the style of the name: a constant too, or with the same first words; and for other words.
fn is_sibling(name: &[u8], value: &[u8]) -> bool {
    let shouted = |text: &[u8]| !text.iter().any(u8::is_ascii_lowercase);
    let constant = value.len() <= 24 && words(value).any(|word| word.len() >= 4);
    let same = name.iter().zip(value).take_while(|(one, other)| one == other).count();
    let port = value.iter().rposition(|byte| *byte == b':').map(|colon| &value[colon + 1..]);
    shouted(name) && shouted(value) && constant
        || same >= 4 && name[..same].contains(&b'_')
        || worded(value) * 2 >= value.len()
        || port.is_some_and(|port| !port.is_empty() && port.iter().all(u8::is_ascii_digit))
}

/// True for `$NAME`, `$NAME/x`, `%NAME%`, `@name@`, `#name`, `<name>`, `{name}`, `&name`, `*name`, `/a/b`: a sign and words.
fn is_variable(value: &[u8]) -> bool {
    let Some((sign, rest)) = value.split_first() else { return false };
    let name = rest.iter().take_while(|byte| is_word(**byte)).count();
    let after = rest.get(name).copied();
    match sign {
        b'$' => matches!(after, None | Some(b'/' | b'.' | b':' | b'-' | b'{' | b'}' | b'(' | b'[' | b'$')),
        b'<' | b'{' | b'[' => true,
        b'%' => after == Some(b'%') || after == Some(b'('),
        b'@' | b'&' | b'*' | b'#' | b'/' | b'\\' | b':' | b'.' | b'-' => {
            worded(rest) * 2 >= rest.len().saturating_sub(3)
        }
        _ => false,
    }
}

/// True if a value only repeats its name, or names its kind.
fn repeats(name: &[u8], value: &[u8]) -> bool {
    let bare = |text: &[u8]| -> Vec<u8> {
        text.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
    };
    let (name, value) = (bare(name), bare(value));
    value.is_empty() || value == name || name.ends_with(&value) || STAND_INS.iter().any(|said| said.as_bytes() == value)
}

fn is_password(value: &[u8], style: Style, config: bool) -> bool {
    if value.len() > 128 {
        return false;
    }
    let has = |class: fn(&u8) -> bool| value.iter().any(class);
    let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let odd = value.iter().any(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.' | b'-'));
    // A version, or the name of a variable.
    if has(|byte| *byte == b'.') && is_number(value) || is_constant(value) && !has(u8::is_ascii_digit) {
        return false;
    }
    match style {
        Style::Quoted | Style::Said => value.len() >= 5 && !value.contains(&b' ') && entropy(value) >= 2.0,
        Style::Argument => value.len() >= 8 && mixed && !value.contains(&b' ') && entropy(value) >= 2.5,
        Style::Listed | Style::Tagged => value.len() >= 5 && entropy(value) >= 2.0,
        Style::Tight => {
            value.len() >= 6 && entropy(value) >= 2.0 && (config || mixed || odd || is_constant_style(value))
        }
        Style::Loose => {
            value.len() >= 6
                && entropy(value) >= 2.3
                && (mixed || odd || config)
                && (config || !is_expression(value))
                && !is_number(value)
                && !value.ends_with(b":")
        }
    }
}

/// True if a bare word of small letters behind `=` is a value rather than an identifier.
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
        && (entropy(value) < 4.4 || memchr::memmem::find(value, b"::").is_some())
}

/// True for `MAX_SIZE_2`.
fn is_constant(value: &[u8]) -> bool {
    value.contains(&b'_')
        && value.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// True for `12`, `0x1f_u32`, `4099u32`, `-1.5f`: a number in source code.
fn is_number(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"-").unwrap_or(value);
    let hex = value.strip_prefix(b"0x").is_some_and(|digits| {
        let hex = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        hex <= 16 && (hex == digits.len() || hex > 0 && digits[hex] == b'_')
    });
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'.')).count();
    const SUFFIXES: &[&[u8]] = &[
        b"", b"u8", b"u16", b"u32", b"u64", b"usize", b"i8", b"i16", b"i32", b"i64", b"isize", b"f", b"L", b"UL",
        b"ms", b"px",
    ];
    hex || digits > 0 && SUFFIXES.contains(&&value[digits..])
}

/// True if a value is evidently made up: `test`, a row of digits or letters, an ellipsis.
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
    let bare = !matches!(style, Style::Quoted | Style::Argument | Style::Said);
    value.len() >= 10
        && value.iter().all(allowed)
        && digits > 0
        && letters > 0
        && entropy(value) >= bits
        && worded(value) * 2 < value.len()
        && !is_uuid(value)
        && !is_mixed_hex(value)
        && !is_made_up(value)
        && !key::is_empty_pair(value)
        && !is_number(value)
        && !is_version_or_path(value)
        && !(bare && (is_expression(value) || is_constant(value)))
}

/// A UUID identifies more often than it protects.
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
