//! The file of accepted signers, in the form of OpenSSH's `allowed_signers`: principals, keys, namespaces, validity.

use base64::{Engine, prelude::BASE64_STANDARD};

use super::wire::Wire;

/// Prefixes of the kinds of keys.
const KINDS: &[&str] = &["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-sha2-"];

/// The lines of such a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signers(Vec<Line>);

/// The use of a signature.
#[derive(Clone, Copy, Debug)]
pub struct Use<'a> {
    /// The claimed signer.
    pub principal: &'a str,
    /// The key that made it, in SSH's binary form.
    pub key: &'a [u8],
    /// The namespace of the signature.
    pub namespace: &'a str,
    /// The moment, as `20261121T202000Z`.
    pub now: &'a str,
}

/// A line, or its defect.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    number: usize,
    content: Result<Signer, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Signer {
    /// Patterns of principals.
    principals: String,
    key: Vec<u8>,
    /// Patterns of the key's namespaces; if none, all.
    namespaces: Option<String>,
    after: Option<String>,
    before: Option<String>,
}

impl Signers {
    /// Reads all lines; a malformed one admits nobody.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        Signers(lines.map(|(number, line)| Line { number, content: signer(line) }).collect())
    }

    /// Checks that a line permits the principal to use that key; an error is a phrase about the file with the reason.
    pub fn check(&self, wanted: Use<'_>) -> Result<(), String> {
        let mut reason = None;
        for Line { number, content } in &self.0 {
            let objection = match content {
                Err(why) => format!("has a line {number} that can't be used: it {why}"),
                Ok(signer) if signer.key != wanted.key || !fits(&signer.principals, wanted.principal) => continue,
                Ok(signer) => match signer.objection(wanted) {
                    None => return Ok(()),
                    Some(why) => format!("lets that key be used by line {number}, which {why}"),
                },
            };
            reason.get_or_insert(objection);
        }
        Err(reason.unwrap_or_else(|| format!("has no line for `{}` with that key", wanted.principal.escape_debug())))
    }
}

impl Signer {
    /// The reason that the line does not permit that use.
    fn objection(&self, wanted: Use<'_>) -> Option<String> {
        if let Some(namespaces) = self.namespaces.as_ref().filter(|patterns| !fits(patterns, wanted.namespace)) {
            return Some(format!("is for `{}` only", namespaces.escape_debug()));
        }
        let (after, before) = (self.after.as_deref(), self.before.as_deref());
        // Moments of one length and form compare as their texts do.
        match () {
            () if after.is_some_and(|after| wanted.now < after) => Some("is not valid yet".to_owned()),
            () if before.is_some_and(|before| wanted.now > before) => Some("is no longer valid".to_owned()),
            () => None,
        }
    }
}

/// `PRINCIPALS [OPTIONS] KIND KEY [COMMENT]`; an error continues a sentence after "it".
fn signer(line: &str) -> Result<Signer, String> {
    let (principals, mut rest) = line.split_once([' ', '\t']).ok_or("has no key")?;
    if principals.contains('"') {
        return Err("has a name in quotes: write it without".to_owned());
    }
    rest = rest.trim_start();
    let mut signer = Signer { principals: principals.to_owned(), ..Signer::default() };
    if !is_kind(rest) {
        let (options, after) = rest.split_at(unquoted(rest, |c| c == ' ' || c == '\t').ok_or("has no key")?);
        options_of(options, &mut signer)?;
        rest = after.trim_start();
    }
    let mut words = rest.split_whitespace();
    let (kind, key) = words.next().filter(|kind| is_kind(kind)).zip(words.next()).ok_or("has no key")?;
    signer.key = BASE64_STANDARD.decode(key).map_err(|_| "has a key that is not in Base64")?;
    if Wire::new(&signer.key).text() != Some(kind) {
        return Err("has a key of another kind than it says".to_owned());
    }
    Ok(signer)
}

fn is_kind(text: &str) -> bool {
    KINDS.iter().any(|kind| text.starts_with(kind))
}

fn options_of(mut options: &str, signer: &mut Signer) -> Result<(), String> {
    while !options.is_empty() {
        let end = unquoted(options, |c| c == ',').unwrap_or(options.len());
        let (option, rest) = options.split_at(end);
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let value = value.filter(|value| !value.contains(['"', '\\']));
        match (name.to_ascii_lowercase().as_str(), value) {
            ("namespaces", Some(patterns)) => signer.namespaces = Some(patterns.to_owned()),
            ("valid-after", Some(moment)) => signer.after = Some(compact(moment)?),
            ("valid-before", Some(moment)) => signer.before = Some(compact(moment)?),
            _ => return Err(format!("has the option `{}`, which nrv does not know", option.escape_debug())),
        }
        options = rest.strip_prefix(',').unwrap_or(rest);
    }
    Ok(())
}

/// The first place of a character outside of quotes.
fn unquoted(text: &str, is_it: impl Fn(char) -> bool) -> Option<usize> {
    let mut quoted = false;
    text.char_indices()
        .find(|(_, c)| {
            quoted ^= *c == '"';
            !quoted && is_it(*c)
        })
        .map(|(at, _)| at)
}

/// `20261121Z` or `20261121202000Z` as `20261121T202000Z`. Without its Z it would be a local time.
fn compact(moment: &str) -> Result<String, String> {
    let digits = moment.strip_suffix('Z').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.map(|digits| (digits, digits.len())) {
        Some((digits, 8 | 12 | 14)) => Ok(format!("{}T{:0<6}Z", &digits[..8], &digits[8..])),
        _ => Err(format!("has the time `{}`: write it as 20261121Z or 20261121202000Z", moment.escape_debug())),
    }
}

/// True if one of the patterns matches, and none that begins with `!` does. `*` and `?` stand for any text and any character.
fn fits(patterns: &str, text: &str) -> bool {
    let fitting = |pattern: &str| like(pattern.as_bytes(), text.as_bytes());
    let refused = patterns.split(',').filter_map(|pattern| pattern.strip_prefix('!')).any(fitting);
    !refused && patterns.split(',').filter(|pattern| !pattern.starts_with('!')).any(fitting)
}

fn like(pattern: &[u8], text: &[u8]) -> bool {
    // The last star, and the length of its match so far.
    let mut star = None;
    let (mut at, mut done) = (0, 0);
    while done < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, done));
                at += 1;
            }
            Some(c) if *c == b'?' || *c == text[done] => {
                at += 1;
                done += 1;
            }
            _ => match &mut star {
                Some((from, taken)) => {
                    *taken += 1;
                    (at, done) = (*from + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::wire;

    fn key() -> Vec<u8> {
        [&b"ssh-ed25519"[..], &[1; 32]].map(wire::string).concat()
    }

    /// The verdict of a line on alice's use of the key, in which `KEY` stands for it.
    fn says(line: &str) -> Result<(), String> {
        let text = line.replace("KEY", &format!("ssh-ed25519 {}", BASE64_STANDARD.encode(key())));
        let (principal, namespace, now) = ("alice@example.com", "nrv-confirm", "20261121T202000Z");
        Signers::parse(&text).check(Use { principal, key: &key(), namespace, now })
    }

    #[test]
    fn a_line_lets_its_names_use_its_key() {
        for line in [
            "alice@example.com KEY",
            "# a comment\n\nbob@example.com,alice@example.com KEY her laptop",
            "*@example.com,!eve@example.com KEY",
            "al?ce@* namespaces=\"git,nrv-*\" KEY",
            "alice@example.com valid-after=\"20261121Z\",valid-before=\"20261121202000Z\" KEY",
            "alice@example.com cert-authority KEY\nalice@example.com KEY",
        ] {
            assert_eq!(says(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn a_line_that_does_not_is_named() {
        for (line, why) in [
            ("", "no line for `alice@example.com` with that key"),
            ("bob@example.com KEY", "no line for"),
            ("*@example.com,!alice@example.com KEY", "no line for"),
            ("*@*.example.com KEY", "no line for"),
            ("alice@example.com namespaces=\"git\" KEY", "line 1, which is for `git` only"),
            ("\nalice@example.com valid-after=\"202611212021Z\" KEY", "line 2, which is not valid yet"),
            ("alice@example.com valid-before=\"20261121Z\" KEY", "line 1, which is no longer valid"),
            ("alice@example.com valid-before=\"20271121\" KEY", "the time `20271121`"),
            ("alice@example.com cert-authority KEY", "the option `cert-authority`"),
            ("alice@example.com namespaces=nrv-confirm KEY", "the option `namespaces=nrv-confirm`"),
            ("alice@example.com ssh-ed25519 ???", "not in Base64"),
            ("alice@example.com ssh-ed25519 AAAA", "of another kind"),
            ("alice@example.com", "has no key"),
            ("\"alice@example.com\" KEY", "in quotes"),
        ] {
            assert!(says(line).unwrap_err().contains(why), "{line}: {:?}", says(line));
        }
    }

    #[test]
    fn another_key_does_not_count() {
        let line = format!("alice@example.com ssh-ed25519 {}", BASE64_STANDARD.encode(key()));
        let other = [&b"ssh-ed25519"[..], &[2; 32]].map(wire::string).concat();
        let wanted = Use { principal: "alice@example.com", key: &other, namespace: "x", now: "20261121T202000Z" };
        assert!(Signers::parse(&line).check(wanted).unwrap_err().contains("no line for"));
    }
}
