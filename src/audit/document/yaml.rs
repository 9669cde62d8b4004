//! YAML, by the events of `libyaml-safer`, with the core schema of YAML 1.2.

use std::{collections::BTreeMap, panic};

use libyaml_safer::{Event, EventData, MappingStyle, Mark, Parser, ScalarStyle, SequenceStyle};
use serde_json::{Map, Number, Value};

use super::{Atom, DEEPEST, Document, join};

/// The largest number of values that aliases may add to a document.
const MOST_COPIED: usize = 100_000;

/// Reads a text with one document.
pub(super) fn read(text: &str) -> Result<Document, String> {
    let mut documents = read_all(text)?;
    match documents.len() {
        0 | 1 => Ok(documents.pop().unwrap_or_default()),
        _ => Err("it has several documents".to_owned()),
    }
}

/// Reads a text with any number of documents.
pub(super) fn read_all(text: &str) -> Result<Vec<Document>, String> {
    // The parser has places that it calls unfinished, and panics there.
    let result = panic::catch_unwind(|| parsed(text));
    result.unwrap_or_else(|_| Err("the parser can't read it".to_owned()))
}

fn parsed(text: &str) -> Result<Vec<Document>, String> {
    let (body, places) = prepared(text);
    let mut bytes = body.as_bytes();
    let mut parser = Parser::new();
    parser.set_input_string(&mut bytes);
    let mut reader = Reader { parser, text, places, found: Document::default(), anchors: BTreeMap::new(), copied: 0 };
    let mut documents = Vec::new();
    loop {
        let event = reader.next()?;
        match event.data {
            EventData::StreamStart { .. } | EventData::DocumentEnd { .. } => {}
            EventData::DocumentStart { version_directive: Some(version), .. }
                if (version.major, version.minor) != (1, 2) =>
            {
                return Err("it is of another version than YAML 1.2".to_owned());
            }
            EventData::DocumentStart { .. } => {
                // An anchor means nothing in the next document.
                reader.anchors.clear();
                let event = reader.next()?;
                let value = reader.value(event, String::new(), 0)?;
                documents.push(Document { value, ..std::mem::take(&mut reader.found) });
            }
            EventData::StreamEnd => break,
            _ => return Err("it has an unexpected part".to_owned()),
        }
    }
    // The parser is given a line end there, which would be one of the scalar.
    match documents.last().is_some_and(|last| ends_in_block_scalar(text, last)) {
        true => Err("its last line has no line end, and is one of a block scalar".to_owned()),
        false => Ok(documents),
    }
}

/// True for a text without a line end, whose last scalar is a block that goes to its end.
fn ends_in_block_scalar(text: &str, document: &Document) -> bool {
    let last = document.atoms.iter().filter(|atom| !atom.is_key).max_by_key(|atom| atom.range.start);
    // A scalar that strips its line ends is the same with and without one.
    let is_block = |range: &std::ops::Range<usize>| {
        let head = text[range.clone()].split('\n').next().unwrap_or_default();
        head.starts_with(['|', '>']) && !head.split('#').next().unwrap_or_default().contains('-')
    };
    !text.is_empty()
        && !text.ends_with('\n')
        && last.is_some_and(|last| is_block(&last.range) && text[last.range.start..].contains('\n'))
}

/// The text as the parser reads it, which takes `\r\n` for two line ends and needs one at the end, and the places of its bytes.
fn prepared(text: &str) -> (String, Vec<usize>) {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut prepared, mut places) = (String::with_capacity(body.len() + 1), Vec::with_capacity(body.len() + 1));
    let mut at = text.len() - body.len();
    for line in body.split_inclusive('\n') {
        let plain = line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(line);
        prepared.push_str(&swapped(plain, false));
        places.extend(at..at + plain.len());
        prepared.push('\n');
        places.push(at + plain.len());
        at += line.len();
    }
    places.push(text.len());
    (prepared, places)
}

/// Line ends of YAML 1.1 that 1.2 does not have, and letters of the same length that stand for them while the parser reads.
const OLD_LINE_ENDS: [(char, char); 3] = [('\u{85}', '\u{7ff}'), ('\u{2028}', '\u{e028}'), ('\u{2029}', '\u{e029}')];

fn swapped(text: &str, is_back: bool) -> String {
    let swap = |c: char| {
        let pair = OLD_LINE_ENDS.iter().find(|(end, letter)| c == if is_back { *letter } else { *end });
        pair.map_or(c, |(end, letter)| if is_back { *end } else { *letter })
    };
    text.chars().map(swap).collect()
}

struct Reader<'t> {
    parser: Parser<'t>,
    text: &'t str,
    /// The byte in the text of each byte that the parser reads.
    places: Vec<usize>,
    /// The document so far, without its value.
    found: Document,
    anchors: BTreeMap<String, Value>,
    copied: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Result<Event, String> {
        self.parser.parse().map_err(|error| error.to_string())
    }

    /// A text that the parser read, with its own line ends.
    fn text_of(&self, text: String) -> String {
        let has_letters = OLD_LINE_ENDS.iter().any(|(end, letter)| text.contains(*letter) && self.text.contains(*end));
        if has_letters { swapped(&text, true) } else { text }
    }

    fn place(&self, mark: Mark) -> usize {
        let index = usize::try_from(mark.index).unwrap_or(usize::MAX);
        self.places.get(index).copied().unwrap_or(self.text.len())
    }

    /// Notes the anchor in the properties that a value begins with. Returns the begin of the value.
    fn properties(&mut self, pointer: &str, start: usize) -> usize {
        let mut at = start;
        while let Some(word) = self.text.get(at..).filter(|text| text.starts_with(['&', '!'])) {
            let length = word.find(|c: char| c.is_whitespace() || ",[]{}".contains(c)).unwrap_or(word.len());
            if word.starts_with('&') {
                self.found.anchors.push((pointer.to_owned(), at..at + length));
            }
            at += length;
            at += self.text[at..].len() - self.text[at..].trim_start_matches([' ', '\t']).len();
        }
        at
    }

    fn atom(&mut self, pointer: &str, is_key: bool, (start, end): (Mark, Mark)) {
        let (start, end) = (self.place(start), self.place(end));
        let start = if is_key { start } else { self.properties(pointer, start) };
        // The end of a block scalar is the begin of the next line that is not empty.
        let trimmed = self.text.get(start..end).map_or(0, |text| text.trim_end().len());
        self.found.atoms.push(Atom { pointer: pointer.to_owned(), is_key, range: start..start + trimmed, owner: None });
    }

    fn value(&mut self, event: Event, at: String, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let marks = (event.start_mark, event.end_mark);
        let (anchor, value) = match event.data {
            EventData::Alias { anchor } => {
                self.atom(&at, false, marks);
                let value = self.anchors.get(&anchor).cloned().ok_or_else(|| format!("`*{anchor}` means nothing"))?;
                self.copied += size(&value);
                if self.copied > MOST_COPIED {
                    return Err("its aliases make it too large".to_owned());
                }
                return Ok(value);
            }
            EventData::Scalar { anchor, tag, value, style, .. } => {
                self.atom(&at, false, marks);
                (anchor, scalar(&self.text_of(value), tag.as_deref(), style == ScalarStyle::Plain)?)
            }
            EventData::SequenceStart { anchor, style, .. } => {
                let start = self.properties(&at, self.place(marks.0));
                let (value, end) = self.sequence(&at, depth)?;
                self.bracket(at, style == SequenceStyle::Flow, (start, end));
                (anchor, value)
            }
            EventData::MappingStart { anchor, style, .. } => {
                let start = self.properties(&at, self.place(marks.0));
                let (value, end) = self.mapping(&at, depth)?;
                self.bracket(at, style == MappingStyle::Flow, (start, end));
                (anchor, value)
            }
            _ => return Err("it has an unexpected part".to_owned()),
        };
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn bracket(&mut self, pointer: String, is_flow: bool, (start, end): (usize, Mark)) {
        if is_flow {
            self.found.brackets.push((pointer, start..self.place(end)));
        }
    }

    /// A sequence, and the mark of its end.
    fn sequence(&mut self, at: &str, depth: usize) -> Result<(Value, Mark), String> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            if matches!(event.data, EventData::SequenceEnd) {
                return Ok((Value::Array(items), event.end_mark));
            }
            items.push(self.value(event, join(at, &items.len().to_string()), depth + 1)?);
        }
    }

    /// A mapping, and the mark of its end.
    fn mapping(&mut self, at: &str, depth: usize) -> Result<(Value, Mark), String> {
        let (mut map, mut merged) = (Map::new(), Vec::new());
        let end = loop {
            let event = self.next()?;
            let marks = (event.start_mark, event.end_mark);
            let (name, is_plain) = match event.data {
                EventData::MappingEnd => break event.end_mark,
                EventData::Scalar { value, style, tag: None, .. } => (self.text_of(value), style == ScalarStyle::Plain),
                _ => return Err("it has a key that is no text".to_owned()),
            };
            if is_plain && matches!(name.as_str(), "" | "~" | "null" | "Null" | "NULL") {
                return Err("it has a key that is nothing".to_owned());
            }
            let pointer = join(at, &name);
            self.atom(&pointer, true, marks);
            let event = self.next()?;
            let value = self.value(event, pointer, depth + 1)?;
            if is_plain && name == "<<" {
                merged.push(value);
            } else if map.insert(name.clone(), value).is_some() {
                return Err(format!("the member `{name}` stands twice"));
            }
        };
        for source in merged {
            let sources = if let Value::Array(sources) = source { sources } else { vec![source] };
            for source in sources {
                let Value::Object(source) = source else { return Err("it merges what is no mapping".to_owned()) };
                for (name, value) in source {
                    map.entry(name).or_insert(value);
                }
            }
        }
        Ok((Value::Object(map), end))
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn scalar(text: &str, tag: Option<&str>, is_plain: bool) -> Result<Value, String> {
    match tag {
        Some("tag:yaml.org,2002:str" | "!") => Ok(Value::String(text.to_owned())),
        None if !is_plain => Ok(Value::String(text.to_owned())),
        _ => core(text),
    }
}

/// A plain scalar by the core schema.
fn core(text: &str) -> Result<Value, String> {
    let beyond = || format!("`{text}` is a number that can't be represented");
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_digit(radix))
        {
            return u64::from_str_radix(digits, radix).map(Value::from).map_err(|_| beyond());
        }
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !unsigned.is_empty() && digits(unsigned) {
        let plain = text.strip_prefix('+').unwrap_or(text);
        let whole = plain.parse::<u64>().map(Value::from).or_else(|_| plain.parse::<i64>().map(Value::from));
        return match whole {
            Ok(whole) if text != "-0" => Ok(whole),
            _ => plain.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number).ok_or_else(beyond),
        };
    }
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(beyond());
    }
    let (mantissa, power) = unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, power)| (m, Some(power)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_power = |power: &str| {
        let power = power.strip_prefix(['-', '+']).unwrap_or(power);
        !power.is_empty() && digits(power)
    };
    let is_float = digits(whole) && digits(fraction) && whole.len() + fraction.len() > 0 && power.is_none_or(is_power);
    match is_float {
        true => text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number).ok_or_else(beyond),
        false => Ok(Value::String(text.to_owned())),
    }
}
