//! The parser's errors in words that a newcomer can act on: a sentence, and the form to write instead.
//!
//! The parser stops at the first error and knows the place; the author's intent is guessed from the text around it.

use std::collections::BTreeSet;

use rhai::{LexError, ParseErrorType, Position};

use crate::guest::{
    language::{ARGS, HOST},
    limit::{limit_error, limit_name},
    place,
};
use base::{
    error::{Code, Error, nearest},
    text::counted,
};

/// Words of other languages, and the form in this one.
const ELSEWHERE: &[(&str, &str)] = &[
    ("#", "a comment begins with `//`"),
    ("False", "write `false`"),
    ("None", "the empty value is `()`"),
    ("True", "write `true`"),
    ("and", "write `&&`"),
    ("await", "a call waits for its result by itself"),
    ("def", "a function is written `fn name(x) { … }`"),
    ("elif", "write `else if`"),
    ("func", "a function is written `fn name(x) { … }`"),
    ("function", "a function is written `fn name(x) { … }`"),
    ("goto", "write a loop or a function"),
    ("match", "write `switch value { 1 => …, _ => … }`"),
    ("new", "a map is written `#{ … }`, and nothing else is made"),
    ("nil", "the empty value is `()`"),
    ("null", "the empty value is `()`"),
    ("or", "write `||`"),
    ("undefined", "the empty value is `()`"),
    ("var", "write `let`"),
    ("void", "the empty value is `()`"),
];

/// Operators of other languages, and the form in this one.
const OPERATORS: &[(&str, &str)] = &[
    ("!==", "write `!=`"),
    ("++", "write `+= 1`"),
    ("--", "write `-= 1`"),
    ("->", "a closure is written `|x| …`"),
    (":=", "write `=`"),
    ("===", "write `==`"),
    ("?", "write `if a { b } else { c }`, which has a value"),
];

/// A sentence and its hint.
struct Said {
    rule: &'static str,
    message: String,
    hint: Option<String>,
}

/// The error of a source that can't be parsed. Without the text the author's intent is not guessed.
pub(super) fn explain(kind: &ParseErrorType, position: Position, path: &str, text: &str) -> Error {
    if let ParseErrorType::LiteralTooLarge(what, most) = kind {
        let name = limit_name(what);
        let message = format!("a literal is larger than `script.limits.{name}` allows, which is {most}");
        return place::at(limit_error(name, message), path, position);
    }
    let around = Around::of(text, position);
    let said = say(kind, &around);
    let position = match kind {
        ParseErrorType::MissingToken(token, _) => around.place_of_missing(token).unwrap_or(position),
        _ => position,
    };
    let error = Error::new(Code::ScriptSyntax, said.message).detail("rule", said.rule);
    let error = match said.hint {
        Some(hint) => error.hint(hint),
        None => error,
    };
    place::at(error, path, position)
}

/// The engine's message in the form of the host's: it begins in lower case and has no final period.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let second_is_small = text.chars().nth(1).is_none_or(|second| !second.is_uppercase());
    let text = match chars.next() {
        Some(first) if second_is_small => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    };
    text.trim_end_matches('.').to_owned()
}

fn say(kind: &ParseErrorType, around: &Around<'_>) -> Said {
    match kind {
        ParseErrorType::VariableUndefined(name) => {
            let message = format!("the variable `{name}` is not defined");
            Said { rule: "unknown_variable", message, hint: unknown_variable(name, around) }
        }
        ParseErrorType::ModuleUndefined(name) => {
            let hint = match nearest(name, around.names("as").iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("import it before: `import \"…\" as {name};`"),
            };
            Said { rule: "unknown_module", message: format!("no module is imported as `{name}`"), hint: Some(hint) }
        }
        ParseErrorType::Reserved(word) => {
            let message = match word.chars().all(is_word) {
                true => format!("`{word}` is a reserved word"),
                false => format!("`{word}` can't stand here"),
            };
            Said { rule: "reserved_word", message, hint: Some(reserved(word, around)) }
        }
        ParseErrorType::BadInput(error) => bad_input(error),
        ParseErrorType::UnknownOperator(symbol) => Said {
            rule: "syntax",
            message: format!("there is no operator `{symbol}`"),
            hint: find(OPERATORS, symbol).map(str::to_owned),
        },
        ParseErrorType::MissingToken(token, what) => missing(token, what, around),
        ParseErrorType::AssignmentToConstant(name) if name == HOST || name == ARGS => Said {
            rule: "host_name",
            message: format!("`{name}` is the host's name and can't be redefined"),
            hint: Some("choose another name: a reader must be able to rely on it".to_owned()),
        },
        other => misplaced(other, around),
    }
}

/// The explanation of a misplaced word or sign.
fn misplaced(kind: &ParseErrorType, around: &Around<'_>) -> Said {
    let (message, hint) = match kind {
        ParseErrorType::UnexpectedEOF => (
            "the source ends in the middle of a statement".to_owned(),
            "look for something before the end that is not finished",
        ),
        ParseErrorType::WrongDocComment => (
            "`///` describes a function, and none follows".to_owned(),
            "write `//` here; `//!` at the head of the file describes the whole script",
        ),
        ParseErrorType::WrongFnDefinition => (
            "a function can't be defined inside of a function or block".to_owned(),
            "move it to the top level, or write a closure: `let f = |x| …;`",
        ),
        ParseErrorType::LoopBreak => {
            ("`break` and `continue` stand in a loop only".to_owned(), "leave a function with `return`")
        }
        ParseErrorType::AssignmentToConstant(name) => {
            (format!("`{name}` is a constant and can't be changed"), "define it with `let`")
        }
        ParseErrorType::DuplicatedProperty(name) => {
            (format!("the key `{name}` stands in this map twice"), "leave one of them out")
        }
        ParseErrorType::FnDuplicatedDefinition(name, count) => (
            format!("the function `{name}` with {} is defined twice", counted(*count, "parameter")),
            "give one of them another name; functions may differ in the number of their parameters",
        ),
        ParseErrorType::VariableExpected if matches!(around.here(), Some('(' | '[' | '{')) => (
            sentence(&kind.to_string()),
            "values are not taken apart: define one variable at a time, as in `let first = pair[0];`",
        ),
        ParseErrorType::ExprTooDeep => {
            ("the expression is nested too deeply".to_owned(), "name a part of it with `let`")
        }
        other => return Said { rule: "syntax", message: sentence(&other.to_string()), hint: None },
    };
    Said { rule: "syntax", message, hint: Some(hint.to_owned()) }
}

fn unknown_variable(name: &str, around: &Around<'_>) -> Option<String> {
    let (before, after) = (around.last(), around.next(name));
    if after == Some(':') && before == Some('{') {
        return Some(format!("a map is written `#{{ {name}: … }}`"));
    }
    if after == Some(':') && matches!(before, Some('(' | ',')) {
        return Some("arguments have no names: give them in their order".to_owned());
    }
    if around.word_before() == "import" {
        return Some(format!("a module's path is a string: `import \"{name}\" as {name};`"));
    }
    if let Some(hint) = find(ELSEWHERE, name) {
        return Some(hint.to_owned());
    }
    let known = around.defined();
    if around.names("const").contains(name) {
        return Some(format!(
            "`{name}` is a constant: in a function it is `global::{name}`; elsewhere define it before"
        ));
    }
    if known.contains(name) {
        return Some(format!(
            "`{name}` is defined where this can't see it: define it before, or give it to the function as an argument"
        ));
    }
    let near = nearest(name, known.iter().map(String::as_str).chain([HOST, ARGS]));
    Some(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("define it first: `let {name} = …;`; a text stands between double quotes"),
    })
}

fn reserved(word: &str, around: &Around<'_>) -> String {
    match (around.last(), around.next(word)) {
        (Some('{' | ','), Some(':')) => format!("write the key in quotes: `\"{word}\": …`"),
        (Some('.'), Some('(')) => "nothing has a method of that name".to_owned(),
        (Some('.'), _) => format!("write `[\"{word}\"]` in place of `.{word}`"),
        (last, _) => {
            let is_name = matches!(last, Some('(' | ',' | '|'))
                || matches!(around.word_before(), "let" | "const" | "fn" | "for" | "as" | "catch");
            let other = if is_name { None } else { find(ELSEWHERE, word) };
            other.unwrap_or("choose another name; as a map's key write it in quotes").to_owned()
        }
    }
}

fn bad_input(error: &LexError) -> Said {
    let (message, hint) = match error {
        LexError::MalformedChar(text) => {
            (format!("`'{text}'` is no character"), format!("a text stands between double quotes: `\"{text}\"`"))
        }
        LexError::MalformedEscapeSequence(text) => (
            format!("`{text}` means nothing in a string"),
            format!("write `\\{text}`, or put the text between backticks, where `\\` stands for itself"),
        ),
        LexError::UnterminatedString => (
            "the string is not closed".to_owned(),
            "close it with the quote that it begins with; a text of several lines stands between backticks".to_owned(),
        ),
        LexError::ImproperSymbol(word, _) if word == "eval" => (
            "there is no `eval`".to_owned(),
            "the code of a script is fixed before it runs: write a function or a closure".to_owned(),
        ),
        LexError::ImproperSymbol(symbol, why) => (
            format!("there is no operator `{symbol}`"),
            find(OPERATORS, symbol).map_or_else(|| sentence(why), str::to_owned),
        ),
        LexError::UnexpectedInput(text) => unexpected(text),
        other => {
            return Said { rule: "syntax", message: sentence(&other.to_string()), hint: None };
        }
    };
    Said { rule: "syntax", message, hint: Some(hint) }
}

fn unexpected(text: &str) -> (String, String) {
    let hint = match text {
        "fn" => "a function without a name is written `|x| …`".to_owned(),
        "try" => "`try` has no value: assign to a variable inside of it".to_owned(),
        "let" | "const" | "for" | "while" | "loop" | "return" | "throw" | "import" => {
            format!("`{text}` begins a statement: end the one before it")
        }
        _ if !text.is_ascii() => "a name is made of ASCII letters, digits and `_`".to_owned(),
        _ => "a value is missing before it".to_owned(),
    };
    (format!("unexpected `{text}`"), hint)
}

fn missing(token: &str, what: &str, around: &Around<'_>) -> Said {
    let word = around.word();
    let (message, hint) = match (token, around.here()) {
        (_, Some(_)) if around.is_behind_escaped_backtick() => (
            "the string ends before this".to_owned(),
            "in backticks `\\` stands for itself: for a backtick in the text write two of them".to_owned(),
        ),
        (_, None) => match around.open() {
            Some((_, open)) => (format!("this `{open}` is never closed"), "find where it has to end".to_owned()),
            None => ("the source ends too early".to_owned(), format!("`{token}` is missing {what}")),
        },
        (_, Some(_)) if matches!(word, "and" | "or" | "elif") => {
            (format!("`{word}` can't stand here"), find(ELSEWHERE, word).unwrap_or_default().to_owned())
        }
        (";", Some(_)) => ("a `;` is missing here".to_owned(), "every statement but the last ends with `;`".to_owned()),
        (":", Some('=')) => (format!("`:` is missing {what}"), "in a map write `key: value`".to_owned()),
        (":", Some(_)) => (
            format!("`:` is missing {what}"),
            "in a map write `key: value`; a key with other characters stands in quotes".to_owned(),
        ),
        ("=>", Some(_)) => (format!("`=>` is missing {what}"), "write `value => { … },`".to_owned()),
        ("{", Some(_)) => (format!("`{{` is missing {what}"), "put the statements between `{` and `}`".to_owned()),
        ("in", Some(_)) => (format!("`in` is missing {what}"), "write `for item in list { … }`".to_owned()),
        (",", Some('=')) => ("`for` goes through a list".to_owned(), "write `for i in 0..10 { … }`".to_owned()),
        ("}" | "]" | ")", Some(_)) => {
            (format!("`{token}` is missing {what}"), "put `,` between items, and close what is open".to_owned())
        }
        _ => return Said { rule: "syntax", message: format!("`{token}` is missing {what}"), hint: None },
    };
    Said { rule: "syntax", message, hint: Some(hint) }
}

fn find(list: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    list.iter().find(|(known, _)| *known == word).map(|(_, hint)| *hint)
}

/// The text before and after a place.
struct Around<'a> {
    before: &'a str,
    after: &'a str,
}

impl<'a> Around<'a> {
    fn of(text: &'a str, position: Position) -> Self {
        let offset = || {
            let (line, column) = (position.line()?.checked_sub(1)?, position.position().unwrap_or(1).saturating_sub(1));
            let begin: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
            let rest = text.get(begin..)?;
            Some(begin + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at))
        };
        let (before, after) = text.split_at(offset().unwrap_or(text.len()));
        Around { before, after }
    }

    /// The place of a missing token: the innermost open bracket at the end of the text, or the end of the line before.
    fn place_of_missing(&self, token: &str) -> Option<Position> {
        if self.here().is_none() {
            return self.open().map(|(at, _)| place(self.before, at));
        }
        let written = self.before.trim_end();
        let line = written.rsplit('\n').next().unwrap_or(written);
        let is_earlier = self.before[written.len()..].contains('\n') && !line.contains("//");
        (token == ";" && is_earlier).then(|| place(self.before, written.len()))
    }

    /// The place and the sign of the innermost open bracket before the place. Brackets in simple strings and comments do not count.
    fn open(&self) -> Option<(usize, char)> {
        let mut open: Vec<(usize, char)> = Vec::new();
        let mut chars = self.before.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '/' if chars.peek().is_some_and(|(_, next)| *next == '/') => {
                    chars.by_ref().find(|(_, c)| *c == '\n');
                }
                '"' | '`' => {
                    while let Some((_, inner)) = chars.next() {
                        match inner {
                            '\\' if c == '"' => drop(chars.next()),
                            inner if inner == c => break,
                            _ => {}
                        }
                    }
                }
                '{' | '[' | '(' => open.push((at, c)),
                '}' | ']' | ')' => drop(open.pop()),
                _ => {}
            }
        }
        open.pop()
    }

    /// The character at the place; none at the end.
    fn here(&self) -> Option<char> {
        self.after.chars().find(|c| !c.is_whitespace())
    }

    /// The character before the place, spaces apart.
    fn last(&self) -> Option<char> {
        self.before.trim_end().chars().next_back()
    }

    /// True if a string ends right before the place with a backslash and a backtick, which is an escape in other languages.
    fn is_behind_escaped_backtick(&self) -> bool {
        self.before.trim_end_matches(' ').ends_with("\\`")
    }

    /// The character behind the word at the place, spaces apart.
    fn next(&self, word: &str) -> Option<char> {
        self.after.strip_prefix(word)?.trim_start().chars().next()
    }

    /// The word at the place.
    fn word(&self) -> &'a str {
        let end = self.after.find(|c: char| !is_word(c)).unwrap_or(self.after.len());
        &self.after[..end]
    }

    /// The word before the place.
    fn word_before(&self) -> &'a str {
        let before = self.before.trim_end();
        let begin = before.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
        before.get(begin..).unwrap_or_default()
    }

    /// The names that stand behind a word.
    fn names(&self, word: &str) -> BTreeSet<String> {
        let words = |text: &str| -> Vec<String> {
            text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let all = [words(self.before), words(self.after)].concat();
        all.windows(2).filter(|pair| pair[0] == word).map(|pair| pair[1].clone()).collect()
    }

    /// The names of variables, parameters and functions.
    fn defined(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for word in ["let", "const", "for", "fn", "as", "catch"] {
            names.extend(self.names(word));
        }
        for text in [self.before, self.after] {
            let lists = text.split("fn ").skip(1).filter_map(|rest| Some(rest.split_once('(')?.1.split_once(')')?.0));
            names.extend(lists.flat_map(|list| list.split(',')).map(|name| name.trim().to_owned()));
        }
        names.retain(|name| !name.is_empty() && name.chars().all(is_word));
        names
    }
}

/// The place of a byte of a text.
fn place(text: &str, at: usize) -> Position {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    match (u16::try_from(line), u16::try_from(column)) {
        (Ok(line), Ok(column)) => Position::new(line, column),
        _ => Position::NONE,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
