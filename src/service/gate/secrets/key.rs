//! Private keys in their text forms, and passwords in URLs.

use std::ops::Range;

use base64::{Engine, prelude::BASE64_STANDARD as STANDARD};

use super::{
    text::{is_filler, words},
    vocabulary::is_stand_in,
};

/// The least number of characters between the lines that make a key.
const BODY: usize = 40;

/// The private key whose first line begins at `start`, up to its end; also on one line, with `\n` between.
pub(super) fn pem(text: &[u8], start: usize) -> Option<Range<usize>> {
    let line = &text[start..(start + 80).min(text.len())];
    let label = &line[b"-----BEGIN ".len()..];
    let label = &label[..memchr::memmem::find(label, b"-----")?];
    memchr::memmem::find(&label.to_ascii_uppercase(), b"PRIVATE KEY")?;
    let body = start + b"-----BEGIN ".len() + label.len() + 5;
    let end = body + text[body..].iter().position(|byte| *byte == b'-' || !is_body(*byte)).unwrap_or(text.len() - body);
    // Headers such as `Proc-Type: 4,ENCRYPTED` hold dashes; the body ends at five of them.
    let end = if text[end..].starts_with(b"-----") { end } else { end_of_body(text, end) };
    let size = text[body..end].iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    let tail = &text[end..(end + 80).min(text.len())];
    let closing = if tail.starts_with(b"-----END ") { closing(tail) } else { 0 };
    (size >= BODY && !is_filler(&text[body..end])).then_some(start..end + closing)
}

fn closing(tail: &[u8]) -> usize {
    memchr::memmem::find(&tail[9..], b"-----").map_or(0, |at| 9 + at + 5)
}

fn end_of_body(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < text.len() && (is_body(text[at]) || text[at] == b'-') && !text[at..].starts_with(b"-----") {
        at += 1;
    }
    at
}

fn is_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=\\\"',:;.>#|*$@()".contains(&byte)
}

/// The key that follows `Private-Lines:` in a file of PuTTY.
pub(super) fn putty(text: &[u8], start: usize) -> Option<Range<usize>> {
    let body = start + b"Private-Lines:".len();
    let digits = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_whitespace();
    let body = body + text[body..].iter().take(12).take_while(|byte| digits(byte)).count();
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\r' | b'\n');
    let length = text[body..].iter().take(8192).take_while(|byte| is_key(byte)).count();
    (length >= BODY).then_some(body..body + length)
}

/// The password of a URL whose `://` begins at `at`.
pub(super) fn url(text: &[u8], at: usize) -> Option<Range<usize>> {
    let scheme = text[at.saturating_sub(20)..at].iter().rev();
    let scheme = scheme.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')).count();
    let start = at + 3;
    let rest = &text[start..(start + 300).min(text.len())];
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'?' | b'|' | b',' | b'\\' | b')')
    };
    let authority = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
    let sign = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..sign].iter().position(|byte| *byte == b':')?;
    let (user, password) = (&authority[..colon], &authority[colon + 1..sign]);
    let is_secret = scheme > 1 && is_url_password(user, password) && authority.len() > sign + 1;
    is_secret.then_some(start + colon + 1..start + sign)
}

/// True if `user:password`, perhaps in base64, holds a password rather than a variable or a placeholder.
pub(super) fn is_pair(pair: &[u8]) -> bool {
    let colon = |pair: &[u8]| pair.iter().position(|byte| *byte == b':');
    let holds = |pair: &[u8], colon: usize| is_url_password(&pair[..colon], &pair[colon + 1..]);
    match colon(pair) {
        Some(at) => holds(pair, at),
        None => STANDARD.decode(pair).is_ok_and(|decoded| match colon(&decoded) {
            // A token stands alone, before the colon.
            Some(at) if at + 1 == decoded.len() => at >= 5 && !is_stand_in(&decoded[..at]),
            Some(at) => holds(&decoded, at),
            None => false,
        }),
    }
}

/// True for a pair in base64 without a secret: a placeholder for a password, or none.
pub(super) fn is_empty_pair(value: &[u8]) -> bool {
    let plain = |decoded: Vec<u8>| decoded.contains(&b':') && decoded.iter().all(u8::is_ascii_graphic);
    STANDARD.decode(value).is_ok_and(plain) && !is_pair(value)
}

fn is_url_password(user: &[u8], password: &[u8]) -> bool {
    const SAID: &[&[u8]] = &[
        b"password",
        b"passwd",
        b"pass",
        b"pwd",
        b"secret",
        b"token",
        b"test",
        b"example",
        b"changeme",
        b"pw",
        b"p",
        b"x",
        b"key",
        b"mypassword",
        b"yourpassword",
        b"postgres",
        b"guest",
    ];
    let variable = password.iter().any(|byte| matches!(byte, b'$' | b'{' | b'}' | b'*' | b'<' | b'[' | b']' | b'#'))
        || password.starts_with(b"%s")
        || password.starts_with(b"%(")
        || password.starts_with(b":")
        || password.starts_with(b"pserver:");
    // `%20` is a space.
    let spaced = password.windows(3).position(|part| part == b"%20").unwrap_or(password.len());
    let stand_in = is_stand_in(&password[..spaced]) && is_stand_in(password.get(spaced + 3..).unwrap_or(b"a"));
    let shouted = password.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_') && words(password).count() > 0;
    password.len() >= 4
        && !variable
        && !stand_in
        && !shouted
        && !password.eq_ignore_ascii_case(user)
        && !SAID.iter().any(|said| said.eq_ignore_ascii_case(password))
        && !is_filler(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_urls_are_found_and_variables_are_not() {
        let find = |text: &'static str| url(text.as_bytes(), text.find("://").unwrap()).map(|range| &text[range]);
        assert_eq!(find("postgres://me:hunter2@db/x"), Some("hunter2"));
        assert_eq!(find("mongodb+srv://a:D1ff%40x@h.example.net/?a=b"), Some("D1ff%40x"));
        assert_eq!(find("redis://:s3cr3ts@cache:6379"), Some("s3cr3ts"));
        for text in [
            "https://a.b/c:d@e",
            "pg://u:${PW}@h",
            "pg://u:password@h",
            "pg://u:PASSWORD@h",
            "http://h:80/x@y",
            "u://a:b",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }

    #[test]
    fn keys_are_found_with_lines_and_without() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAC4AWkdwKYSd8";
        for text in [
            format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"),
            format!("-----BEGIN RSA PRIVATE KEY-----\\n{body}\\n-----END RSA PRIVATE KEY-----"),
            format!(
                "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,12\n\n{body}\n-----END EC PRIVATE KEY-----"
            ),
            format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{body}\n-----END PGP PRIVATE KEY BLOCK-----"),
        ] {
            assert_eq!(pem(text.as_bytes(), 0), Some(0..text.len()), "{text}");
        }
        assert_eq!(pem(b"-----BEGIN PRIVATE KEY-----\nanything\n-----END PRIVATE KEY-----", 0), None);
        assert_eq!(pem(format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END").as_bytes(), 0), None);
    }
}
