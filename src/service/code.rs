//! Structural search: the matches of a pattern or of a rule object of ast-grep in texts. It reads no file and changes nothing.

use std::{collections::BTreeMap, ops::Range};

use serde::Serialize;

use base::{
    call::Search,
    error::{Code, Error},
    language::Language,
    pulse::Pulse,
};
use format::code::{
    file::{self, File},
    query::{Query, Words},
    scan::{Match, Variable},
};

/// A search that is ready.
pub struct Finder<'a> {
    query: Query<'a>,
    allow_errors: bool,
}

/// A match in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The match.
    #[serde(flatten)]
    pub node: Piece,
    /// The variables of the pattern, by name.
    pub variables: BTreeMap<String, Captured>,
}

/// The nodes that a variable stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Captured {
    /// The node of `$NAME`.
    One(Piece),
    /// The nodes of `$$$NAME`, separators included.
    Many(Vec<Piece>),
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The line of its end.
    pub end_line: usize,
    /// The column behind its end.
    pub end_column: usize,
    /// Its first byte, from 0.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
    /// Its text.
    pub text: String,
}

/// The result of a search in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The matches, in the order of the text; nested ones too.
    Hits(Vec<Hit>),
    /// The text has a syntax error in this line, and is not searched for that.
    Broken(u64),
}

impl<'a> Finder<'a> {
    /// Compiles a search. `invalid_input` if it has not exactly one of `pattern` and `rule`, or one can't be used.
    pub fn new(search: &'a Search) -> Result<Self, Error> {
        let Search { pattern, selector, strictness, rule, lang, allow_errors, glob: _ } = search;
        let wrong = |message: &str, hint: &str| Err(Error::new(Code::InvalidInput, message).hint(hint));
        if pattern.is_some() == rule.is_some() {
            return wrong(
                "a search has either `pattern` or `rule`",
                "give `#{ pattern: \"foo($A)\", glob: \"src/**\" }`",
            );
        }
        if rule.is_some() && (selector.is_some() || strictness.is_some()) {
            return wrong(
                "`selector` and `strictness` belong to a `pattern`",
                "give them within the rule, as ast-grep does",
            );
        }
        let query = Query::new(Words {
            pattern: pattern.as_deref(),
            selector: selector.as_deref(),
            strictness: strictness.as_deref(),
            rule: rule.as_ref(),
            fix: None,
            language: lang.as_deref().map(Language::parse).transpose()?,
            once: false,
        });
        Ok(Finder { query: query?, allow_errors: *allow_errors })
    }

    /// Searches the text of a file. A file without a known language has no matches.
    pub fn find(&self, path: &str, text: &str, pulse: Pulse<'_>) -> Result<Found, Error> {
        let nothing = Ok(Found::Hits(Vec::new()));
        let Some(language) = Language::of_path(path) else { return nothing };
        let file = File::new(path, language, |language| self.query.rules(language))?;
        match file.find(text, self.allow_errors, pulse)? {
            file::Found::Broken(line) => Ok(Found::Broken(line)),
            file::Found::Matches(found) if found.is_empty() => nothing,
            file::Found::Matches(found) => {
                let lines = Lines::new(text);
                Ok(Found::Hits(found.into_iter().map(|found| lines.hit(found)).collect()))
            }
        }
    }
}

/// A text with the beginnings of its lines.
struct Lines<'a> {
    text: &'a str,
    begins: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let begins = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect();
        Lines { text, begins }
    }

    fn hit(&self, found: Match) -> Hit {
        let captured = |variable: Variable| match variable {
            Variable::Node(range) => Captured::One(self.piece(range)),
            Variable::Nodes(ranges) => Captured::Many(ranges.into_iter().map(|range| self.piece(range)).collect()),
        };
        let variables = found.variables.into_iter().map(|(name, variable)| (name, captured(variable))).collect();
        Hit { node: self.piece(found.range), variables }
    }

    fn piece(&self, range: Range<usize>) -> Piece {
        let (line, column) = self.place(range.start);
        let (end_line, end_column) = self.place(range.end);
        let text = self.text[range.clone()].to_owned();
        Piece { line, column, end_line, end_column, start: range.start, end: range.end, text }
    }

    fn place(&self, at: usize) -> (usize, usize) {
        let line = self.begins.partition_point(|begin| *begin <= at);
        let begin = self.begins[line - 1];
        (line, self.text[begin..at].chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(search: &Search, path: &str, text: &str) -> Result<Found, Error> {
        Finder::new(search)?.find(path, text, &|| Ok(()))
    }

    fn pattern(pattern: &str) -> Search {
        Search { pattern: Some(pattern.to_owned()), ..Search::default() }
    }

    #[test]
    fn a_match_has_places_and_variables() {
        let Found::Hits(hits) = find(&pattern("f($A, $$$B)"), "a.js", "é;\n  f(1, 2, x);\n").unwrap() else {
            panic!()
        };
        let one = serde_json::to_value(&hits[0]).unwrap();
        assert_eq!((&one["line"], &one["column"], &one["text"]), (&json!(2), &json!(3), &json!("f(1, 2, x)")));
        assert_eq!((&one["start"], &one["end"]), (&json!(6), &json!(16)));
        assert_eq!((&one["end_line"], &one["end_column"]), (&json!(2), &json!(13)));
        assert_eq!(one["variables"]["A"]["text"], "1");
        let rest: Vec<&str> =
            one["variables"]["B"].as_array().unwrap().iter().map(|b| b["text"].as_str().unwrap()).collect();
        assert_eq!(rest, ["2", ",", "x"]);
    }

    #[test]
    fn a_file_with_an_error_is_told_of_unless_asked() {
        let broken = "f(1);\nlet = ;\n";
        assert_eq!(find(&pattern("f($A)"), "a.js", broken).unwrap(), Found::Broken(2));
        let search = Search { allow_errors: true, ..pattern("f($A)") };
        assert!(matches!(find(&search, "a.js", broken).unwrap(), Found::Hits(hits) if hits.len() == 1));
        // Without the word of the pattern it is not even parsed.
        assert_eq!(find(&pattern("gg($A)"), "a.js", broken).unwrap(), Found::Hits(Vec::new()));
    }

    #[test]
    fn a_page_is_searched_with_its_scripts() {
        let page = "<p>é</p>\n<script>\n  é; call(1)\n</script><script lang=ts>call(2 as A)</script>\n<script type=application/json>{\"f\": 1}</script>\n";
        let texts = |search: &Search, page: &str| match find(search, "a.html", page).unwrap() {
            Found::Hits(hits) => hits.into_iter().map(|hit| (hit.node.line, hit.node.column, hit.node.text)).collect(),
            Found::Broken(line) => vec![(line as usize, 0, "broken".to_owned())],
        };
        let one = (3, 6, "call(1)".to_owned());
        let two = (4, 26, "call(2 as A)".to_owned());
        assert_eq!(texts(&pattern("call($A)"), page), [one.clone(), two.clone()]);
        let of = |lang: &str, text: &str| Search { lang: Some(lang.to_owned()), ..pattern(text) };
        assert_eq!(texts(&of("js", "call($A)"), page), std::slice::from_ref(&one));
        assert_eq!(texts(&of("ts", "call($A)"), page), [two]);
        assert_eq!(texts(&of("html", "<p>$A</p>"), page), [(1, 1, "<p>é</p>".to_owned())]);
        assert_eq!(texts(&of("html", "call($A)"), page), []);
        // A script without the word of the pattern is not parsed.
        let broken = format!("{page}<script>\nlet = ;\n</script>\n<script>\nlet = call(;\n</script>\n");
        assert_eq!(texts(&of("js", "call($A)"), &broken), [(10, 0, "broken".to_owned())]);
        let broken = broken.replace("call(;", "g(;");
        assert_eq!(texts(&of("js", "call($A)"), &broken), std::slice::from_ref(&one));
        assert_eq!(texts(&of("js", "other($A)"), &broken), []);
        let search = Search { allow_errors: true, ..of("js", "call($A)") };
        assert_eq!(texts(&search, &format!("{page}<script>let = ; call(</script>")), [one]);
    }

    #[test]
    fn a_search_is_a_pattern_or_a_rule() {
        for search in [
            Search::default(),
            Search { rule: Some(json!({"kind": "identifier"})), ..pattern("a") },
            Search { lang: Some("cobol".to_owned()), ..pattern("a") },
            Search { rule: Some(json!({"kind": "no_such_kind"})), lang: Some("js".to_owned()), ..Search::default() },
            Search { rule: Some(json!({"patern": "a"})), lang: Some("js".to_owned()), ..Search::default() },
            Search { lang: Some("js".to_owned()), ..pattern("f(") },
        ] {
            let error = find(&search, "a.js", "a").unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{search:?}: {error}");
            assert!(error.hint_text().is_some(), "{error}");
        }
    }
}
