//! The members of the objects that a program writes out, by its tokens alone. A configuration is read, never run.

use crate::code::gaps;
use base::language::Language;

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The names of the members around it and its own, with dots between them; `...` for another object's members.
    pub path: String,
    /// Its text, if that is written out.
    pub text: Option<String>,
    /// True if it has nothing to say: `false`, `null`, or an empty list or object.
    pub is_empty: bool,
    /// True if a program computes it.
    pub is_computed: bool,
}

/// A piece of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(Option<String>),
    Spread,
    Sign(char),
}

/// An opening bracket: of an object, with the name of the member that it is in; or of anything else.
struct Frame {
    is_object: bool,
    name: Option<String>,
}

/// The members in a program; none if it has a syntax error. The path tells the dialect.
pub fn members(path: &str, text: &str) -> Option<Vec<Member>> {
    if gaps::refused(path, Language::TypeScript, text) > 0 {
        return None;
    }
    let tokens = tokens(text)?;
    let (mut frames, mut found): (Vec<Frame>, Vec<Member>) = (Vec::new(), Vec::new());
    let mut pending = None;
    let sign = |at: usize| match tokens.get(at) {
        Some(Token::Sign(sign)) => Some(*sign),
        _ => None,
    };
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let in_object = frames.last().is_some_and(|frame| frame.is_object);
        let begins = in_object && matches!(before, Some(Token::Sign('{' | ',')));
        match token {
            Token::Sign(open @ ('{' | '[' | '(')) => {
                let is_object = *open == '{' && holds_members(before, tokens.get(at.wrapping_sub(2)));
                frames.push(Frame { is_object, name: pending.take() });
            }
            Token::Sign('}' | ']' | ')') => {
                frames.pop()?;
                pending = None;
            }
            Token::Sign(',') if in_object => pending = None,
            Token::Spread if begins => found.push(Member::new(&frames, "...", true)),
            Token::Word(name) | Token::Text(Some(name)) if begins => match sign(at + 1) {
                Some(':') => {
                    found.push(Member::new(&frames, name, false).with(&tokens[at + 2..]));
                    pending = Some(name.clone());
                }
                // A short name, or a method.
                _ => found.push(Member::new(&frames, name, true)),
            },
            _ => {}
        }
    }
    frames.is_empty().then_some(found)
}

/// True if a brace behind these tokens opens an object, not a block.
fn holds_members(before: Option<&Token>, second: Option<&Token>) -> bool {
    match before {
        Some(Token::Sign('(' | '[' | ',' | ':' | '?' | '|' | '&')) => true,
        Some(Token::Sign('=')) => true,
        Some(Token::Sign('>')) => second != Some(&Token::Sign('=')),
        Some(Token::Word(word)) => matches!(word.as_str(), "return" | "default"),
        _ => false,
    }
}

impl Member {
    fn new(frames: &[Frame], name: &str, is_computed: bool) -> Self {
        let around = frames.iter().filter_map(|frame| frame.name.as_deref());
        let path = around.chain([name]).collect::<Vec<_>>().join(".");
        Member { path, text: None, is_empty: false, is_computed }
    }

    /// Takes the value that begins with these tokens.
    fn with(mut self, value: &[Token]) -> Self {
        let ends = |at: usize| match value.get(at) {
            None | Some(Token::Sign(',' | '}')) => true,
            Some(Token::Word(word)) => matches!(word.as_str(), "as" | "satisfies"),
            Some(_) => false,
        };
        match value.first() {
            Some(Token::Text(Some(text))) if ends(1) => self.text = Some(text.clone()),
            Some(Token::Word(word)) if ends(1) && matches!(word.as_str(), "false" | "null") => self.is_empty = true,
            Some(Token::Word(word))
                if ends(1) && (word == "true" || word.starts_with(|c: char| c.is_ascii_digit())) => {}
            Some(Token::Sign('[')) if value.get(1) == Some(&Token::Sign(']')) => self.is_empty = true,
            Some(Token::Sign('{')) if value.get(1) == Some(&Token::Sign('}')) => self.is_empty = true,
            Some(Token::Sign('[' | '{')) => {}
            _ => self.is_computed = true,
        }
        self
    }
}

/// The tokens of a program; none if a text or a comment does not end.
fn tokens(source: &str) -> Option<Vec<Token>> {
    let bytes = source.as_bytes();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let rest = &source[at..];
        at += match byte {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/")? + 2,
            b'/' if is_operand(tokens.last()) => {
                let end = pattern_end(rest)?;
                tokens.push(Token::Text(None));
                end
            }
            b'"' | b'\'' | b'`' => {
                let (length, text) = quoted(rest)?;
                tokens.push(Token::Text(text));
                length
            }
            b'.' if rest.starts_with("...") => {
                tokens.push(Token::Spread);
                3
            }
            byte if byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'$' || *byte >= 0x80 => {
                let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
                let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..length].to_owned()));
                length
            }
            byte => {
                if !byte.is_ascii_whitespace() {
                    tokens.push(Token::Sign(char::from(*byte)));
                }
                1
            }
        };
    }
    Some(tokens)
}

/// True if a slash behind the token begins a pattern, not a division.
fn is_operand(before: Option<&Token>) -> bool {
    match before {
        None => true,
        Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}'),
        Some(Token::Word(word)) => matches!(word.as_str(), "return" | "typeof"),
        Some(Token::Text(_) | Token::Spread) => false,
    }
}

fn pattern_end(rest: &str) -> Option<usize> {
    let (mut is_escaped, mut in_class) = (false, false);
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The length of a text in quotes, and the text if it is written out.
fn quoted(rest: &str) -> Option<(usize, Option<String>)> {
    let quote = rest.chars().next()?;
    let (mut is_escaped, mut is_plain) = (false, true);
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => (is_escaped, is_plain) = (true, false),
            '\n' if quote != '`' => return None,
            '$' if quote == '`' && rest[at..].starts_with("${") => is_plain = false,
            c if c == quote => return Some((at + 1, is_plain.then(|| rest[1..at].to_owned()))),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_told_from_programs() {
        let text = "import x from 'x';\nexport default defineConfig({\n  a: 'b', // c: 'd'\n  'e-f': { g: [ ], h: -1, ...i },\n  \
                    j, k() { return 1 }, l: `m`, n: `${o}`, p: x, q: false as const, r: /}'/, s: [{ t: 1 }],\n} satisfies T)\n";
        let shown: Vec<String> = members("a.ts", text)
            .unwrap()
            .iter()
            .map(|member| {
                let flags = [("empty", member.is_empty), ("computed", member.is_computed)];
                let flags: Vec<&str> = flags.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
                format!("{}={}{}", member.path, member.text.as_deref().unwrap_or_default(), flags.concat())
            })
            .collect();
        assert_eq!(
            shown,
            [
                "a=b",
                "e-f=",
                "e-f.g=empty",
                "e-f.h=computed",
                "e-f....=computed",
                "j=computed",
                "k=computed",
                "l=m",
                "n=computed",
                "p=computed",
                "q=empty",
                "r=computed",
                "s=",
                "s.t=",
            ]
        );
        for text in ["({ a: ", "'", "/* ", "a }"] {
            assert_eq!(members("a.ts", text), None, "{text}");
        }
        assert_eq!(members("a.ts", "const f = (a) => { b: 'c' };"), Some(Vec::new()));
    }
}
