//! Expands words into the arguments of a program, as far as the line alone tells.
//!
//! An unknown part stays as written, `$NAME` or `$(…)`, so that it is visible in the argument.

use super::{Operator, Part, Script, Word};

/// The largest number of arguments that braces make from one word.
const MOST: usize = 64;

/// The longest text that is joined from values.
const LONGEST: usize = 16 * 1024;

/// The known values of variables, and outputs of commands.
pub(crate) trait Values {
    /// The value of a variable.
    fn variable(&self, name: &str) -> Option<&str>;

    /// The values of a list, or one of them, if the name says so: `@`, `a[@]`, `a[2]`.
    fn list(&self, name: &str) -> Option<&[String]>;

    /// The output of commands.
    fn output(&self, script: &Script) -> Option<String>;
}

/// Characters that stand for quoted ones while braces are expanded.
const HIDDEN: [(char, char); 3] = [('{', '\u{f0000}'), (',', '\u{f0001}'), ('}', '\u{f0002}')];

/// Appends the arguments that a word becomes.
pub(crate) fn expand(word: &Word, values: &dyn Values, fields: &mut Vec<String>) {
    if let [Part::Text { text, quoted }] = word.parts.as_slice()
        && (*quoted || !text.contains('{'))
    {
        fields.push(text.clone());
        return;
    }
    let unquoted = |part: &Part, sign| matches!(part, Part::Text { text, quoted: false } if text.contains(sign));
    let braces = word.parts.iter().any(|part| unquoted(part, '{')) && word.parts.iter().any(|part| unquoted(part, ','));
    let mut current = Field::default();
    for part in &word.parts {
        match part {
            Part::Text { text, quoted } => current.push(text, *quoted, braces),
            Part::Variable { name, operator, raw, quoted } => {
                match (values.list(name), variable(name, operator, values)) {
                    (Some(list), _) => {
                        let quoted = match *quoted {
                            true if name == "*" || name.ends_with("[*]") => Quoted::Joined,
                            true => Quoted::Each,
                            false => Quoted::No,
                        };
                        current.list(from(name, list, operator), quoted, separators(values), fields);
                    }
                    (None, Some(value)) => current.value(&value, *quoted, separators(values), fields),
                    (None, None) => current.push(raw, true, braces),
                }
            }
            Part::Command { script, raw, quoted } => match values.output(script) {
                Some(value) => {
                    current.value(value.trim_end_matches('\n'), *quoted, separators(values), fields);
                }
                None => current.push(raw, true, braces),
            },
            Part::Process { raw, .. } => current.push(raw, true, braces),
            Part::Arithmetic(_) => current.push("$((…))", true, braces),
        }
    }
    if !current.is_there {
        return;
    }
    match braces {
        true => alternatives(&current.text, 0, fields),
        false => fields.push(current.text),
    }
}

/// Further characters at which the line splits values.
fn separators(values: &dyn Values) -> &str {
    values.variable("IFS").map(str::trim_ascii).unwrap_or_default()
}

/// The text of a word that is not split.
pub(crate) fn joined(word: &Word, values: &dyn Values) -> String {
    let mut fields = Vec::new();
    expand(word, values, &mut fields);
    fields.join(" ")
}

fn variable(name: &str, operator: &Operator, values: &dyn Values) -> Option<String> {
    let value = values.variable(name);
    match (operator, value) {
        (Operator::Plain | Operator::Default(_), Some(value)) => Some(value.to_owned()),
        // `${x:?}` ends the shell if there is no value.
        (Operator::Other(word), Some(value)) if demands(word) && !value.is_empty() => Some(value.to_owned()),
        (Operator::Alternative(word), _) => Some(joined(word, values)),
        // Normally it names a temporary folder.
        (Operator::Default(word), None) if matches!(name, "TMPDIR" | "TMP" | "TEMP") => Some(joined(word, values)),
        // `${!x}`
        (Operator::Other(word), _) if name == "!" => values.variable(values.variable(word.bare()?)?).map(str::to_owned),
        (Operator::Other(word), Some(value)) => changed(value, &joined(word, values)),
        (Operator::Plain | Operator::Default(_) | Operator::Other(_), _) => None,
    }
}

/// A value with an operation such as `#x`, `%.txt`, `/a/b`, `,,` or `:2`; none if it has patterns, or is another one.
fn changed(value: &str, operation: &str) -> Option<String> {
    if [value, operation].iter().any(|text| text.contains(['*', '?', '[', '$', '\\', '`'])) {
        return None;
    }
    let (sign, rest) = operation.split_at_checked(1)?;
    match sign {
        "#" => Some(value.strip_prefix(rest.trim_start_matches('#')).unwrap_or(value).to_owned()),
        "%" => Some(value.strip_suffix(rest.trim_start_matches('%')).unwrap_or(value).to_owned()),
        "," if matches!(rest, "" | ",") => Some(value.to_lowercase()),
        "^" if rest == "^" => Some(value.to_uppercase()),
        "@" => match rest {
            "L" => Some(value.to_lowercase()),
            "U" => Some(value.to_uppercase()),
            _ => Some(value.to_owned()),
        },
        "/" => {
            let (from, to) = rest.trim_start_matches('/').split_once('/').unwrap_or((rest.trim_start_matches('/'), ""));
            (!from.is_empty()).then(|| match rest.starts_with('/') {
                true => value.replace(from, to),
                false => value.replacen(from, to, 1),
            })
        }
        ":" => {
            let (from, length) = rest.split_once(':').map_or((rest, None), |(from, length)| (from, Some(length)));
            let told = value.get(from.trim().parse().ok()?..)?;
            match length {
                None => Some(told.to_owned()),
                Some(length) => told.get(..length.trim().parse().ok()?).or(Some(told)).map(str::to_owned),
            }
        }
        _ => None,
    }
}

/// True for the operator `:?` or `?`, with or without a message.
fn demands(word: &Word) -> bool {
    matches!(word.parts.first(), Some(Part::Text { text, .. }) if text.starts_with(":?") || text.starts_with('?'))
}

/// The values that remain of `${x[@]:2}`; with any other operator, all of them.
fn from<'a>(name: &str, list: &'a [String], operator: &Operator) -> &'a [String] {
    let Operator::Other(word) = operator else { return list };
    let skipped = word.bare().and_then(|text| text.strip_prefix(':')?.split(':').next()?.trim().parse::<usize>().ok());
    // Those of the line itself are counted from 1.
    let skipped = skipped.unwrap_or_default().saturating_sub(usize::from(matches!(name, "@" | "*")));
    list.get(skipped..).unwrap_or_default()
}

/// The quotes around a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    No,
    /// Each value is an argument.
    Each,
    /// All of them are one argument.
    Joined,
}

#[derive(Default)]
struct Field {
    text: String,
    is_there: bool,
}

impl Field {
    fn push(&mut self, text: &str, quoted: bool, braces: bool) {
        self.is_there = true;
        match quoted && braces {
            true => self.text.extend(text.chars().map(|character| swap(character, false))),
            false => self.text.push_str(text),
        }
    }

    /// Adds each value as an argument, or all of them joined.
    fn list(&mut self, values: &[String], quoted: Quoted, separators: &str, fields: &mut Vec<String>) {
        if quoted == Quoted::Joined {
            return self.value(&values.join(" "), true, "", fields);
        }
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                fields.push(std::mem::take(&mut self.text));
            }
            self.value(value, quoted == Quoted::Each, separators, fields);
        }
    }

    /// Adds a value, split at blanks and other separators unless it is quoted.
    fn value(&mut self, value: &str, quoted: bool, separators: &str, fields: &mut Vec<String>) {
        if self.text.len() + value.len() > LONGEST {
            self.push("$…", true, false);
        } else if quoted {
            self.push(value, true, false);
        } else {
            let ends = |character: char| character.is_ascii_whitespace() || separators.contains(character);
            let mut pieces = value.split(ends).filter(|piece| !piece.is_empty());
            if value.starts_with(|character: char| character.is_ascii_whitespace()) && self.is_there {
                fields.push(std::mem::take(&mut self.text));
            }
            if let Some(first) = pieces.next() {
                self.push(first, false, false);
            }
            for piece in pieces {
                fields.push(std::mem::take(&mut self.text));
                self.text.push_str(piece);
            }
        }
    }
}

fn swap(character: char, back: bool) -> char {
    let pair = HIDDEN.iter().find(|(shown, hidden)| character == if back { *hidden } else { *shown });
    pair.map_or(character, |(shown, hidden)| if back { *shown } else { *hidden })
}

/// `a{b,c}d` as `abd` and `acd`. Words beyond the limit stay as they are.
fn alternatives(text: &str, depth: u32, fields: &mut Vec<String>) {
    let split = (depth < 8 && fields.len() < MOST).then(|| first_braces(text)).flatten();
    let Some((start, commas, end)) = split else {
        fields.push(text.chars().map(|character| swap(character, true)).collect());
        return;
    };
    let mut from = start + 1;
    for to in commas.into_iter().chain([end]) {
        let one = format!("{}{}{}", &text[..start], &text[from..to], &text[end + 1..]);
        alternatives(&one, depth + 1, fields);
        from = to + 1;
    }
}

/// The first braces with a comma between them: the opening, the commas, the end.
fn first_braces(text: &str) -> Option<(usize, Vec<usize>, usize)> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut found: Option<(usize, Vec<usize>, usize)> = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push((at, Vec::new())),
            b',' => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            b'}' => {
                if let Some((start, commas)) = open.pop()
                    && !commas.is_empty()
                {
                    found = Some((start, commas, at));
                    if open.is_empty() {
                        return found;
                    }
                }
            }
            _ => {}
        }
    }
    found
}
