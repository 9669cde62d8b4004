//! `format`: pure readers of texts for adapters. The proposing side and the verifying side read by different libraries.

use rhai::{Dynamic, Engine, NativeCallContext};
use serde_json::{Value, json};

use crate::guest::{
    bindings::{Host, Reply},
    value,
};
use base::error::{Code, Error};

/// The readers of one side.
pub(super) struct Readers {
    headings: fn(&str) -> Vec<(u8, String, usize)>,
    json: fn(&str) -> Result<Value, String>,
    links: fn(&str) -> Vec<(String, usize)>,
    yaml: fn(&str) -> Result<Value, String>,
}

/// The readers of the proposing side.
pub(super) const PROPOSING: Readers = Readers {
    headings: format::markdown_outline::headings,
    json: |text| proposing(format::document::syntax::Syntax::Json, text),
    links: format::markdown_outline::links,
    yaml: |text| proposing(format::document::syntax::Syntax::Yaml, text),
};

/// The readers of the verifying side.
pub(super) const VERIFYING: Readers = Readers {
    headings: audit::markdown_outline::headings,
    json: |text| verifying(audit::document::Syntax::Json, text),
    links: audit::markdown_outline::links,
    yaml: |text| verifying(audit::document::Syntax::Yaml, text),
};

/// The names of the readers.
const NAMES: &[&str] = &["headings", "json", "links", "yaml"];

fn proposing(syntax: format::document::syntax::Syntax, text: &str) -> Result<Value, String> {
    let document = format::document::Document::parse(syntax, text).map_err(|malformed| malformed.to_string())?;
    Ok(document.value().clone())
}

fn verifying(syntax: audit::document::Syntax, text: &str) -> Result<Value, String> {
    audit::document::read(syntax, text).map(|document| document.value)
}

/// True for the name of a reader.
pub fn is_reader(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The object `format`.
#[derive(Clone)]
struct Format {
    host: Host,
    readers: &'static Readers,
}

impl Format {
    fn give(&self, ctx: &NativeCallContext<'_>, read: Result<Value, String>) -> Reply {
        read.map(value::from_json).map_err(|why| self.host.raise(ctx, Error::new(Code::InvalidInput, why)))
    }
}

/// The object `format` of one side.
pub(super) fn object(host: &Host, readers: &'static Readers) -> Dynamic {
    Dynamic::from(Format { host: host.clone(), readers })
}

/// Makes the readers known to an engine.
pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Format>("format");
    engine.register_fn("json", |ctx: NativeCallContext<'_>, this: &mut Format, text: &str| {
        this.give(&ctx, (this.readers.json)(text).map_err(|why| format!("the text is not JSON: {why}")))
    });
    engine.register_fn("yaml", |ctx: NativeCallContext<'_>, this: &mut Format, text: &str| {
        this.give(&ctx, (this.readers.yaml)(text).map_err(|why| format!("the text is not YAML: {why}")))
    });
    engine.register_fn("headings", |ctx: NativeCallContext<'_>, this: &mut Format, text: &str| {
        this.give(&ctx, Ok((this.readers.headings)(text).into_iter().map(heading).collect()))
    });
    engine.register_fn("links", |ctx: NativeCallContext<'_>, this: &mut Format, text: &str, kind: &str| {
        let links = match kind {
            "markdown" => Ok((this.readers.links)(text).into_iter().map(link).collect()),
            other => Err(format!("links are read in \"markdown\", not in \"{}\"", other.escape_debug())),
        };
        this.give(&ctx, links)
    });
}

fn heading((level, text, line): (u8, String, usize)) -> Value {
    json!({"level": level, "text": text, "line": line})
}

fn link((url, line): (String, usize)) -> Value {
    json!({"url": url, "line": line})
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "---\na: 1\n---\n\n# One *two* `three`\n\ntext [a](b.md \"t\") ![i](c.png)\n\nFour\n----\n\n```\n# no [x](y)\n```\n\n> ## Five <https://e.example>\n\n[r]\n\n[r]: d.md\n";

    type Read = fn(&str) -> Result<Value, String>;

    #[track_caller]
    fn same(read: fn(&Readers) -> Read, text: &str, expected: Option<Value>) {
        let [proposing, verifying] = [&PROPOSING, &VERIFYING].map(|side| read(side)(text).ok());
        assert_eq!(proposing, verifying, "{text}");
        assert_eq!(proposing, expected, "{text}");
    }

    #[test]
    fn both_sides_read_the_same_values() {
        let text =
            "\u{feff}{\"a\": [1, -2.5e3, 18446744073709551615, \"\\u00e9\\n\"], \"b\": {\"c\": null, \"d\": true}}";
        same(|side| side.json, text, Some(json!({"a": [1, -2500.0, u64::MAX, "é\n"], "b": {"c": null, "d": true}})));
        for wrong in ["", "{\"a\": 1, \"a\": 2}", "[1,]", "// x\n1", "NaN", "[1] 2", "{'a': 1}", "[01]"] {
            same(|side| side.json, wrong, None);
        }
        same(|side| side.yaml, "a: [1, no, \"x\"]\nb: |\n  t\n", Some(json!({"a": [1, "no", "x"], "b": "t\n"})));
        same(|side| side.yaml, "a: [", None);
    }

    #[test]
    fn both_sides_read_the_same() {
        assert_eq!((PROPOSING.headings)(PAGE), (VERIFYING.headings)(PAGE));
        assert_eq!((PROPOSING.headings)(PAGE)[0], (1, "One two three".to_owned(), 5));
        assert_eq!((PROPOSING.links)(PAGE), (VERIFYING.links)(PAGE));
        let urls: Vec<String> = (PROPOSING.links)(PAGE).into_iter().map(|(url, _)| url).collect();
        assert_eq!(urls, ["b.md", "c.png", "https://e.example", "d.md"]);
    }

    #[test]
    fn what_stands_at_the_beginning_or_in_a_footnote_is_read_alike() {
        let texts = [
            "x\n\n---\n<br/>\n\n#### S\n[a](http://b.c)\n\ny\n\n---\n",
            "---\ntitle: \"[no](link.md)\"\n---\n# a\n[b](c.md)\n",
            "+++\ntitle = \"# no\"\n+++\n# a\n[b](c.md)\n",
            "\u{feff}# a\n[b](c.md)\n",
            "\u{feff}---\na: 1\n---\n# a\n",
            "a\r# b\r[b](c.md)\r\n# d\r\n",
            "---\n\n# rule, no front matter\n\n---\n# a\n",
            "[^1]: # a\n",
            "Set\n---\n\n![i](i.png) <https://e.org> <me@e.org>\n",
        ];
        for text in texts {
            assert_eq!((PROPOSING.headings)(text), (VERIFYING.headings)(text), "{text:?}");
            assert_eq!((PROPOSING.links)(text), (VERIFYING.links)(text), "{text:?}");
        }
        assert_eq!((PROPOSING.headings)(texts[0]), [(4, "S".to_owned(), 6)]);
        assert_eq!((PROPOSING.links)(texts[3]), [("c.md".to_owned(), 2)]);
    }
}
