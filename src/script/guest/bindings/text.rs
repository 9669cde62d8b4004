//! `nrv.text`: texts by regular expressions and lines; pure, without a call to the host.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use heck::{ToKebabCase, ToLowerCamelCase, ToShoutySnakeCase, ToSnakeCase, ToTitleCase, ToTrainCase, ToUpperCamelCase};
use regex::{Captures, Match, Regex};
use rhai::{Array, Dynamic, Engine, FnPtr, Map, NativeCallContext};
use textwrap::{Options, WordSplitter, WrapAlgorithm};

use crate::guest::bindings::{
    Field, Namespace, fields,
    host::{Host, Nrv, Reply},
    registry,
};
use base::{
    error::{Code, Error, nearest},
    regular,
};

const SPAN: &[Field] = fields! { start: "int", end: "int" };

const MATCH: &[Field] = fields! { text: "string", bytes: "map" = SPAN, chars: "map" = SPAN };

const CAPTURES: &[Field] = fields! {
    text: "string", bytes: "map" = SPAN, chars: "map" = SPAN, groups: "array", names: "map", spans: "array",
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: "nrv.text",
    doc: "Texts: regular expressions in linear time, lines, words. The text that is given stays as it is; the new one is returned.",
    calls: registry! {
        "nrv.text";
        /// All matches of a regular expression with their groups: `[#{text, bytes, chars, groups, names, spans}]`.
        ///
        /// `groups` has the texts of the groups, the whole match first, `names` those of named groups, and `spans` for each group
        /// `#{bytes, chars}`. A group that takes no part is `()`. `chars` counts characters, as the indexes of strings do; `bytes` counts bytes
        /// of UTF-8. An end is not included.
        ///
        /// ```rhai
        /// let found = nrv.text.captures("a=1, b=2", `(?<key>\w)=(\d)`);
        /// found[1].names.key == "b" && found[1].groups[2] == "2"
        /// ```
        captures(text: "string", regex: "string") -> "array" = CAPTURES;
        /// The text without the blanks with which all of its lines begin.
        ///
        /// ```rhai
        /// nrv.text.dedent("  a\n    b\n") == "a\n  b\n"
        /// ```
        dedent(text: "string") -> "string";
        /// True if a regular expression matches anywhere in the text.
        ///
        /// ```rhai
        /// nrv.text.is_match("draft 7", `^draft \d+$`)
        /// ```
        is_match(text: "string", regex: "string") -> "bool";
        /// The items of an array as one text, with a separator between them.
        ///
        /// ```rhai
        /// nrv.text.join(["a", 1, true], ", ") == "a, 1, true"
        /// ```
        join(items: "array", separator: "string") -> "string";
        /// The lines of a text, without their ends, which are line feeds with or without a carriage return before them.
        ///
        /// ```rhai
        /// nrv.text.lines("a\r\nb\n") == ["a", "b"]
        /// ```
        lines(text: "string") -> "array";
        /// All matches of a regular expression: `[#{text, bytes, chars}]`, with spans `#{start, end}` as those of `captures`.
        ///
        /// ```rhai
        /// let found = nrv.text.matches("é=1", `\d`)[0];
        /// found.text == "1" && found.bytes.start == 3 && found.chars.start == 2
        /// ```
        matches(text: "string", regex: "string") -> "array" = MATCH;
        /// The text with each match of a regular expression replaced by a template, or by the string that a closure returns.
        ///
        /// In a template `$1` and `${1}` are groups, `${name}` is a named one, and `$$` is a dollar sign. A closure gets one of the maps that
        /// `captures` returns, in which `groups[0]` is the whole match and `groups[1]` the first group. Its result is taken as it is.
        ///
        /// ```rhai
        /// nrv.text.replace_all("a-b", `(\w)-(\w)`, "$2-$1") == "b-a"
        ///     && nrv.text.replace_all("a1", `a(\d)`, |found| `<${found.groups[1]}>`) == "<1>"
        /// ```
        replace_all(text: "string", regex: "string", with: "string | function") -> "string";
        /// The parts of a text between the matches of a regular expression.
        ///
        /// ```rhai
        /// nrv.text.split("a, b,c", `,\s*`) == ["a", "b", "c"]
        /// ```
        split(text: "string", regex: "string") -> "array";
        /// A name in another case: `camel`, `constant`, `kebab`, `pascal`, `snake`, `title` or `train`.
        ///
        /// ```rhai
        /// nrv.text.to_case("getUserName", "snake") == "get_user_name"
        /// ```
        to_case(text: "string", style: "string") -> "string";
        /// The text with each line broken at blanks so that it has at most `width` columns; a longer word stays whole.
        ///
        /// ```rhai
        /// nrv.text.wrap("one two three", 7) == "one two\nthree"
        /// ```
        wrap(text: "string", width: "int") -> "string";
    },
    register,
};

/// The compiled regular expressions of a script that are kept.
const KEPT: usize = 64;

/// Writes a name in a case.
type Style = fn(&str) -> String;

/// The cases of names, sorted.
const STYLES: &[(&str, Style)] = &[
    ("camel", |text| text.to_lower_camel_case()),
    ("constant", |text| text.to_shouty_snake_case()),
    ("kebab", |text| text.to_kebab_case()),
    ("pascal", |text| text.to_upper_camel_case()),
    ("snake", |text| text.to_snake_case()),
    ("title", |text| text.to_title_case()),
    ("train", |text| text.to_train_case()),
];

/// The object `nrv.text`.
#[derive(Clone)]
struct Text {
    host: Host,
    /// Compiled regular expressions, by their texts.
    compiled: Arc<Mutex<BTreeMap<String, Regex>>>,
}

impl Text {
    fn give<T: Into<Dynamic>>(&self, ctx: &NativeCallContext<'_>, result: Result<T, Error>) -> Reply {
        result.map(Into::into).map_err(|error| self.host.raise(ctx, error))
    }

    fn regex(&self, pattern: &str) -> Result<Regex, Error> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regex) = compiled.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = regular::compile(pattern)?;
        if compiled.len() == KEPT {
            compiled.clear();
        }
        compiled.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    }

    /// Replaces matches by what a closure returns.
    fn replace_by(&self, ctx: &NativeCallContext<'_>, text: &str, pattern: &str, closure: &FnPtr) -> Reply {
        let regex = self.regex(pattern).map_err(|error| self.host.raise(ctx, error))?;
        let (mut replaced, mut end, mut chars) = (String::new(), 0, Chars::of(text));
        for found in regex.captures_iter(text) {
            let whole = found.get_match();
            let with = closure.call_within_context::<Dynamic>(ctx, (captures(&regex, &found, &mut chars),))?.flatten();
            let with = with.into_immutable_string().map_err(|kind| {
                let message = format!("the closure of `nrv.text.replace_all` returned `{kind}`, not a string");
                self.host.raise(ctx, Error::new(Code::InvalidInput, message))
            })?;
            replaced.push_str(&text[end..whole.start()]);
            replaced.push_str(&with);
            end = whole.end();
        }
        replaced.push_str(&text[end..]);
        Ok(replaced.into())
    }
}

/// Counts the characters before places of a text, each of which is not far from the one before it.
struct Chars<'t> {
    text: &'t str,
    byte: usize,
    chars: usize,
}

impl<'t> Chars<'t> {
    fn of(text: &'t str) -> Self {
        Chars { text, byte: 0, chars: 0 }
    }

    /// The number of characters before a byte.
    fn before(&mut self, byte: usize) -> usize {
        match self.text.get(self.byte..byte) {
            Some(between) => self.chars += between.chars().count(),
            None => self.chars -= self.text[byte..self.byte].chars().count(),
        }
        self.byte = byte;
        self.chars
    }

    /// The spans of a match, in bytes and in characters.
    fn spans(&mut self, found: &Match<'_>) -> [(&'static str, Dynamic); 2] {
        let chars = (self.before(found.start()), self.before(found.end()));
        [("bytes", span((found.start(), found.end()))), ("chars", span(chars))]
    }
}

fn span((start, end): (usize, usize)) -> Dynamic {
    map([("start", int(start)), ("end", int(end))])
}

/// A place in a text, which has fewer bytes than an integer can count.
fn int(number: usize) -> Dynamic {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

fn map<const N: usize>(entries: [(&str, Dynamic); N]) -> Dynamic {
    entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>().into()
}

/// A match as scripts see it.
fn matched(found: &Match<'_>, chars: &mut Chars<'_>) -> Dynamic {
    let [bytes, chars] = chars.spans(found);
    map([("text", found.as_str().into()), bytes, chars])
}

/// A match with its groups as scripts see it.
fn captures(regex: &Regex, found: &Captures<'_>, chars: &mut Chars<'_>) -> Dynamic {
    let text = |group: Option<Match<'_>>| group.map_or(Dynamic::UNIT, |group| group.as_str().into());
    let groups: Array = found.iter().map(text).collect();
    let names: Map = regex.capture_names().flatten().map(|name| (name.into(), text(found.name(name)))).collect();
    let spans: Array =
        found.iter().map(|group| group.map_or(Dynamic::UNIT, |group| map(chars.spans(&group)))).collect();
    let whole = found.get_match();
    let [bytes, of_chars] = chars.spans(&whole);
    map([
        ("text", whole.as_str().into()),
        bytes,
        of_chars,
        ("groups", groups.into()),
        ("names", names.into()),
        ("spans", spans.into()),
    ])
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Text>("nrv.text");
    let compiled = Arc::<Mutex<BTreeMap<String, Regex>>>::default();
    engine.register_get("text", move |nrv: &mut Nrv| Text { host: nrv.0.clone(), compiled: Arc::clone(&compiled) });
    register_patterns(engine);
    engine.register_fn("to_case", |ctx: NativeCallContext<'_>, this: &mut Text, text: &str, style: &str| {
        this.give(&ctx, in_case(text, style))
    });
    engine.register_fn("dedent", |_: &mut Text, text: &str| textwrap::dedent(text));
    engine.register_fn("join", |_: &mut Text, items: Array, separator: &str| {
        items.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
    });
    engine.register_fn("lines", |_: &mut Text, text: &str| strings(text.lines()));
    engine.register_fn("wrap", |ctx: NativeCallContext<'_>, this: &mut Text, text: &str, width: i64| {
        this.give(&ctx, wrap(text, width))
    });
}

/// The functions that take a regular expression.
fn register_patterns(engine: &mut Engine) {
    engine.register_fn("captures", |ctx: NativeCallContext<'_>, this: &mut Text, text: &str, pattern: &str| {
        let mut chars = Chars::of(text);
        let all = this.regex(pattern).map(|regex| {
            regex.captures_iter(text).map(|found| captures(&regex, &found, &mut chars)).collect::<Array>()
        });
        this.give(&ctx, all)
    });
    engine.register_fn("is_match", |ctx: NativeCallContext<'_>, this: &mut Text, text: &str, pattern: &str| {
        this.give(&ctx, this.regex(pattern).map(|regex| regex.is_match(text)))
    });
    engine.register_fn("matches", |ctx: NativeCallContext<'_>, this: &mut Text, text: &str, pattern: &str| {
        let mut chars = Chars::of(text);
        let all = this
            .regex(pattern)
            .map(|regex| regex.find_iter(text).map(|found| matched(&found, &mut chars)).collect::<Array>());
        this.give(&ctx, all)
    });
    engine.register_fn(
        "replace_all",
        |ctx: NativeCallContext<'_>, this: &mut Text, text: &str, pattern: &str, with: &str| {
            this.give(&ctx, this.regex(pattern).map(|regex| regex.replace_all(text, with).into_owned()))
        },
    );
    engine.register_fn(
        "replace_all",
        |ctx: NativeCallContext<'_>, this: &mut Text, text: &str, pattern: &str, with: FnPtr| {
            this.replace_by(&ctx, text, pattern, &with)
        },
    );
    engine.register_fn("split", |ctx: NativeCallContext<'_>, this: &mut Text, text: &str, pattern: &str| {
        let parts = this.regex(pattern).map(|regex| strings(regex.split(text)));
        this.give(&ctx, parts)
    });
}

fn strings<'t>(parts: impl Iterator<Item = &'t str>) -> Array {
    parts.map(|part| part.to_owned().into()).collect()
}

fn in_case(text: &str, style: &str) -> Result<String, Error> {
    if let Some((_, to)) = STYLES.iter().find(|(name, _)| *name == style) {
        return Ok(to(text));
    }
    let names = || STYLES.iter().map(|(name, _)| *name);
    let hint = match nearest(style, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it is one of {}", names().collect::<Vec<_>>().join(", ")),
    };
    Err(Error::new(Code::InvalidInput, format!("there is no case `{}`", style.escape_debug())).hint(hint))
}

fn wrap(text: &str, width: i64) -> Result<String, Error> {
    let width = usize::try_from(width).ok().filter(|width| *width > 0).ok_or_else(|| {
        Error::new(Code::InvalidInput, format!("a line of {width} columns can't be")).hint("give a width of 1 or more")
    })?;
    let options = Options::new(width)
        .break_words(false)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_splitter(WordSplitter::NoHyphenation);
    Ok(textwrap::fill(text, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_forwards_and_backwards() {
        let mut chars = Chars::of("aé€𝄞b");
        assert_eq!([0, 1, 3, 6, 10, 11, 3, 1, 10, 0].map(|byte| chars.before(byte)), [0, 1, 2, 3, 4, 5, 2, 1, 4, 0]);
    }

    #[test]
    fn lines_are_broken_at_blanks_only() {
        assert_eq!(wrap("a-b-c ddd\n\nx", 4).unwrap(), "a-b-c\nddd\n\nx");
        assert_eq!(wrap("", 4).unwrap(), "");
        assert!(wrap("a", 0).is_err() && wrap("a", -1).is_err());
    }

    #[test]
    fn each_case_has_its_form() {
        let forms = STYLES.iter().map(|(style, _)| in_case("HTTPServer v2_name", style).unwrap()).collect::<Vec<_>>();
        assert_eq!(
            forms,
            [
                "httpServerV2Name",
                "HTTP_SERVER_V2_NAME",
                "http-server-v2-name",
                "HttpServerV2Name",
                "http_server_v2_name",
                "Http Server V2 Name",
                "Http-Server-V2-Name",
            ]
        );
        assert!(in_case("a", "snak").unwrap_err().hint_text().is_some_and(|hint| hint.contains("`snake`")));
    }
}
