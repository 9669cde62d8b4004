//! The grammar: lists, pipelines, compound commands, redirections and the bodies of here-documents.

use std::{
    cell::{Cell, OnceCell},
    rc::Rc,
};

use super::{
    Body, DEPTH, Pipeline, Redirect, Script, Simple, Stage, Then, Word,
    byte_set::{Bytes, bytes},
};

/// Words that end a list where a command could begin.
const CLOSERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}"];

/// Words that begin a compound command.
const COMPOUNDS: &[&str] = &["{", "[[", "if", "while", "until", "for", "select", "case"];

/// Commands of the shell whose arguments may be lists: `declare -a x=(…)`.
const DECLARES: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

/// The first bytes of a keyword, and of one that closes a list.
const STARTS: Bytes = bytes(b"!{}cdefistuw");
pub(super) const ENDS: Bytes = bytes(b" \t\r\n;&|<>()");

/// Reads one text from left to right.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) depth: u32,
    /// True if the last construct ended with its own keyword, so that no separator must follow: `fi done`, `} done`.
    closed: bool,
    pub(super) pending: Vec<Pending>,
    /// The bytes that may still be read more than once, by this parser and those for texts inside its text.
    again: Rc<Cell<usize>>,
}

/// A here-document whose text is still to come.
pub(super) struct Pending {
    pub(super) delimiter: String,
    pub(super) literal: bool,
    pub(super) tabs: bool,
    pub(super) text: Rc<OnceCell<Word>>,
}

pub(super) type Parsed<T> = Result<T, &'static str>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let again = Rc::new(Cell::new(1000 + 16 * text.len()));
        Parser { text, bytes: text.as_bytes(), at: 0, depth: 0, closed: false, pending: Vec::new(), again }
    }

    /// A parser for a text inside this one's text, one level deeper.
    pub(super) fn inner<'b>(&self, text: &'b str) -> Parsed<Parser<'b>> {
        self.spend(text.len())?;
        let again = Rc::clone(&self.again);
        Ok(Parser { text, bytes: text.as_bytes(), at: 0, depth: self.depth, closed: false, pending: Vec::new(), again })
    }

    pub(super) fn spend(&self, bytes: usize) -> Parsed<()> {
        self.again.set(self.again.get().checked_sub(bytes).ok_or("it is nested too deeply")?);
        Ok(())
    }

    /// The whole text.
    pub(super) fn all(mut self) -> Parsed<Script> {
        let script = self.list()?;
        if self.at < self.bytes.len() {
            return Err("something is closed that was not opened");
        }
        Ok(script)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn ahead(&self, text: &str) -> bool {
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    /// Skips `text` if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let ahead = self.ahead(text);
        if ahead {
            self.at += text.len();
        }
        ahead
    }

    /// Runs `inner` one level deeper.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH {
            return Err("it is nested too deeply");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Goes back to read failed arithmetic as commands. Without a limit, nesting would double the work each time.
    pub(super) fn again(&mut self, start: usize) -> Parsed<()> {
        self.at = start;
        self.spend(self.bytes.len() - start)
    }

    /// Blanks, continued lines and comments.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b'\\') if self.ahead("\\\n") => self.at += 2,
                Some(b'\\') if self.ahead("\\\r\n") => self.at += 3,
                Some(b'#') => {
                    let rest = &self.bytes[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Blanks and line ends, with the here-documents that begin there.
    pub(super) fn lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Commands until something closes the list.
    pub(super) fn list(&mut self) -> Parsed<Script> {
        let mut script = Script::default();
        loop {
            self.lines()?;
            while self.peek() == Some(b';') && !self.ahead(";;") && !self.ahead(";&") {
                self.at += 1;
                self.lines()?;
            }
            if matches!(self.peek(), None | Some(b')')) || self.ahead(";;") || self.ahead(";&") || self.closer() {
                return Ok(script);
            }
            let mut pipeline = self.pipeline()?;
            self.blanks();
            if self.ahead("&&") || self.ahead("||") {
                pipeline.then = if self.ahead("&&") { Then::Success } else { Then::Failure };
                self.at += 2;
                self.lines()?;
                if self.peek().is_none() || self.closer() {
                    return Err("a command is missing after `&&` or `||`");
                }
            } else if self.peek() == Some(b'&') {
                self.at += 1;
                pipeline.background = true;
            } else if !(matches!(self.peek(), None | Some(b';' | b'\n' | b')')) || self.closed && self.closer()) {
                return Err("a command does not end where it should");
            }
            script.pipelines.push(pipeline);
        }
    }

    /// The next unquoted word if it may be a keyword, without consuming it.
    fn keyword(&self) -> &'a str {
        let is_likely = self.peek().is_some_and(|first| STARTS[usize::from(first)]);
        if is_likely { self.upcoming() } else { "" }
    }

    /// The beginning of the next word.
    fn upcoming(&self) -> &'a str {
        let rest = &self.bytes[self.at..];
        let ends = |byte: &u8| ENDS[usize::from(*byte)];
        let length = rest.iter().take(9).position(ends).unwrap_or(rest.len().min(9));
        let word = self.text.get(self.at..self.at + length).unwrap_or_default();
        // The line may go on after it.
        word.strip_suffix('\\').filter(|_| rest.get(length) == Some(&b'\n')).unwrap_or(word)
    }

    fn closer(&self) -> bool {
        CLOSERS.contains(&self.keyword())
    }

    fn expect(&mut self, keyword: &'static str, otherwise: &'static str) -> Parsed<()> {
        self.lines()?;
        if self.keyword() != keyword {
            return Err(otherwise);
        }
        self.at += keyword.len();
        Ok(())
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let mut pipeline = Pipeline::default();
        loop {
            self.blanks();
            while let keyword @ ("!" | "time" | "coproc") = self.keyword() {
                pipeline.negated |= keyword == "!";
                self.at += keyword.len();
                self.blanks();
                if keyword == "coproc" {
                    self.coprocess_name();
                }
                while keyword == "time" && matches!(self.upcoming(), "-p" | "--") {
                    self.at += "-p".len();
                    self.blanks();
                }
            }
            if matches!(self.peek(), None | Some(b';' | b'\n')) && pipeline.stages.is_empty() {
                return Ok(pipeline);
            }
            let stage = self.deeper(Self::command)?;
            // Most pipelines are one command.
            pipeline.stages.reserve_exact(1);
            pipeline.stages.push(stage);
            self.blanks();
            if self.peek() != Some(b'|') || self.ahead("||") {
                return Ok(pipeline);
            }
            self.at += if self.ahead("|&") { 2 } else { 1 };
            self.lines()?;
            if self.peek().is_none() {
                return Err("a command is missing after `|`");
            }
        }
    }

    /// The name in `coproc NAME { …; }`; before a simple command there is none.
    fn coprocess_name(&mut self) {
        let rest = &self.bytes[self.at..];
        let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let before = self.at;
        self.at += name;
        self.blanks();
        let is_compound = self.peek() == Some(b'(') || COMPOUNDS.contains(&self.upcoming());
        if name == 0 || !is_compound || COMPOUNDS.contains(&&self.text[before..before + name]) {
            self.at = before;
        }
    }

    fn command(&mut self) -> Parsed<Stage> {
        if self.peek() == Some(b'(') {
            let body = Body::Subshell(self.parenthesis()?);
            return self.ended(body, Vec::new());
        }
        let group = match self.keyword() {
            "{" => Some(self.braces()?),
            "if" => Some(self.conditional()?),
            "while" | "until" => Some(self.while_loop()?),
            "case" => Some(self.case()?),
            _ => None,
        };
        let body = match (group, self.keyword()) {
            (Some(script), _) => Body::Group(script),
            (None, "for" | "select") => self.for_loop()?,
            (None, "function") => {
                self.at += "function".len();
                self.blanks();
                let name = self.word()?.bare().map(str::to_owned).ok_or("a function has no name")?;
                self.blanks();
                let before = self.at;
                let is_empty = self.take("(") && {
                    self.blanks();
                    self.take(")")
                };
                // In `function f ( … )` they hold the body.
                if !is_empty {
                    self.at = before;
                }
                self.function(name)?
            }
            (None, keyword) if CLOSERS.contains(&keyword) => return Err("something is closed that was not opened"),
            (None, _) => return self.simple(),
        };
        self.ended(body, Vec::new())
    }

    /// A compound command with the redirections that follow it.
    fn ended(&mut self, body: Body, mut redirects: Vec<Redirect>) -> Parsed<Stage> {
        loop {
            self.blanks();
            if !self.redirect(&mut redirects)? {
                self.closed = true;
                return Ok(Stage { body, redirects });
            }
        }
    }

    pub(super) fn close(&mut self, text: &'static str) -> Parsed<()> {
        if self.take(text) { Ok(()) } else { Err("something is opened and not closed") }
    }

    /// `( … )`, or `(( … ))`, whose contents only compute.
    fn parenthesis(&mut self) -> Parsed<Script> {
        if self.ahead("((") {
            let start = self.at;
            self.at += 2;
            if let Ok(word) = self.arithmetic() {
                return Ok(Script::of_words(vec![word]));
            }
            self.again(start)?;
        }
        self.at += 1;
        let script = self.list()?;
        self.close(")")?;
        Ok(script)
    }

    /// `{ … }`; zsh needs no blank after the first brace.
    fn braces(&mut self) -> Parsed<Script> {
        self.close("{")?;
        let script = self.list()?;
        self.close("}")?;
        Ok(script)
    }

    fn conditional(&mut self) -> Parsed<Script> {
        self.at += "if".len();
        let mut script = self.list()?;
        loop {
            self.expect("then", "`if` has no `then`")?;
            script.pipelines.extend(self.list()?.pipelines);
            match self.keyword() {
                "elif" => {
                    self.at += "elif".len();
                    script.pipelines.extend(self.list()?.pipelines);
                }
                "else" => {
                    self.at += "else".len();
                    script.pipelines.extend(self.list()?.pipelines);
                    self.expect("fi", "`if` has no `fi`")?;
                    return Ok(script);
                }
                _ => {
                    self.expect("fi", "`if` has no `fi`")?;
                    return Ok(script);
                }
            }
        }
    }

    fn while_loop(&mut self) -> Parsed<Script> {
        self.at += "while".len();
        let mut script = self.list()?;
        script.pipelines.extend(self.body()?.pipelines);
        Ok(script)
    }

    /// `do … done`, or a group in braces.
    fn body(&mut self) -> Parsed<Script> {
        self.lines()?;
        if self.keyword() == "{" {
            return self.braces();
        }
        self.expect("do", "a loop has no `do`")?;
        let script = self.list()?;
        self.expect("done", "a loop has no `done`")?;
        Ok(script)
    }

    fn for_loop(&mut self) -> Parsed<Body> {
        self.at += self.keyword().len();
        self.blanks();
        let (mut name, mut words) = (String::new(), Vec::new());
        if self.take("((") {
            words.push(self.arithmetic()?);
        } else {
            name = self.word()?.bare().map(str::to_owned).ok_or("a loop has no variable")?;
            self.lines()?;
            if self.keyword() == "in" {
                self.at += "in".len();
                self.blanks();
                while !matches!(self.peek(), None | Some(b';' | b'\n' | b'&' | b'|' | b')')) {
                    words.push(self.word()?);
                    self.blanks();
                }
            }
        }
        self.blanks();
        self.take(";");
        Ok(Body::Loop { name, words, body: self.body()? })
    }

    fn case(&mut self) -> Parsed<Script> {
        self.at += "case".len();
        self.blanks();
        let mut patterns = vec![self.word()?];
        let mut script = Script::default();
        self.expect("in", "`case` has no `in`")?;
        loop {
            self.lines()?;
            if self.keyword() == "esac" {
                self.at += "esac".len();
                script.pipelines.splice(..0, Script::of_words(patterns).pipelines);
                return Ok(script);
            }
            self.take("(");
            loop {
                self.blanks();
                patterns.push(self.word()?);
                self.blanks();
                if !self.take("|") {
                    break;
                }
            }
            self.close(")")?;
            script.pipelines.extend(self.list()?.pipelines);
            if !(self.take(";;&") || self.take(";;") || self.take(";&")) && self.keyword() != "esac" {
                return Err("`case` has no `esac`");
            }
        }
    }

    fn function(&mut self, name: String) -> Parsed<Body> {
        self.lines()?;
        let body = match self.peek() {
            Some(b'{') => self.braces()?,
            Some(_) => {
                let stage = self.deeper(Self::command)?;
                Script { pipelines: vec![Pipeline { stages: vec![stage], ..Pipeline::default() }] }
            }
            None => return Err("a function has no body"),
        };
        Ok(Body::Function { name, body: Rc::new(body) })
    }

    fn simple(&mut self) -> Parsed<Stage> {
        let (mut simple, mut redirects) = (Simple::default(), Vec::new());
        let (mut test, mut tested) = (false, false);
        loop {
            self.blanks();
            if !test && self.redirect(&mut redirects)? {
                continue;
            }
            match self.peek() {
                Some(b'(') if simple.words.len() == 1 && simple.assignments.is_empty() && !test => {
                    self.at += 1;
                    self.blanks();
                    self.close(")").map_err(|_| "a parenthesis stands where none may")?;
                    let name = simple.words[0].bare().map(str::to_owned);
                    let body = match (self.function(name.clone().unwrap_or_default())?, name) {
                        // The time of a call is unknown if only the run tells the name.
                        (Body::Function { body, .. }, None) => Body::Group(Script::clone(&body)),
                        (body, _) => body,
                    };
                    return self.ended(body, redirects);
                }
                Some(byte) if test && b"()<>&|".contains(&byte) && !self.ahead_of_process() => self.at += 1,
                Some(b'\n') if test => self.newline()?,
                Some(b'(') => return Err("a parenthesis stands where none may"),
                None | Some(b';' | b'&' | b'|' | b'\n' | b')') => break,
                Some(_) => {
                    let declares =
                        || simple.words.first().and_then(Word::bare).is_some_and(|first| DECLARES.contains(&first));
                    if (simple.words.is_empty() || self.ahead_of_list() && declares())
                        && self.assignment(&mut simple)?
                    {
                        continue;
                    }
                    // After `]]` only redirections follow, and words that close the construct around it.
                    if tested && !test {
                        break;
                    }
                    let word = self.word()?;
                    // Behind anything else it is a program of that name.
                    let is_first = simple.words.is_empty() && simple.assignments.is_empty() && redirects.is_empty();
                    test = (test || is_first && word.bare() == Some("[[")) && word.bare() != Some("]]");
                    tested |= test;
                    if simple.words.is_empty() {
                        simple.words.reserve_exact(8);
                    }
                    simple.words.push(word);
                }
            }
        }
        if test {
            return Err("`[[` has no `]]`");
        }
        self.closed = tested;
        Ok(Stage { body: Body::Simple(simple), redirects })
    }
}
