//! Documents as lists of members and comments, and their texts in every format.

use std::fmt::Write;

/// A value. Numbers and truths keep their spelling.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Text(String),
    Word(String),
    /// Texts on one line.
    List(Vec<String>),
    Object(Vec<Entry>),
    Objects(Vec<Vec<Entry>>),
}

/// A line of an object: a comment of its own, or a member with the comment behind it.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Comment(String),
    Member { name: String, node: Node, behind: Option<String> },
}

impl Entry {
    pub(super) fn new(name: &str, node: Node) -> Entry {
        Entry::Member { name: name.to_owned(), node, behind: None }
    }

    pub(super) fn text(name: &str, text: &str) -> Entry {
        Entry::new(name, Node::Text(text.to_owned()))
    }

    pub(super) fn word(name: &str, word: &str) -> Entry {
        Entry::new(name, Node::Word(word.to_owned()))
    }

    pub(super) fn is(&self, wanted: &str) -> bool {
        matches!(self, Entry::Member { name, .. } if name == wanted)
    }
}

/// Adds a member behind the last one; in TOML, behind the last one that is no section.
pub(super) fn push(entries: &mut Vec<Entry>, entry: Entry, format: Format) {
    let last = entries.iter().rposition(|entry| match entry {
        Entry::Comment(_) => false,
        Entry::Member { node: Node::Object(_) | Node::Objects(_), .. } => format != Format::Toml,
        Entry::Member { .. } => true,
    });
    entries.insert(last.map_or(entries.len(), |last| last + 1), entry);
}

/// Takes a member out; its comment goes along.
pub(super) fn take(entries: &mut Vec<Entry>, wanted: &str) -> Option<Entry> {
    let at = entries.iter().position(|entry| entry.is(wanted))?;
    Some(entries.remove(at))
}

/// The value of a member.
pub(super) fn get<'e>(entries: &'e mut [Entry], wanted: &str) -> Option<&'e mut Node> {
    entries.iter_mut().find_map(|entry| match entry {
        Entry::Member { name, node, .. } if name == wanted => Some(node),
        _ => None,
    })
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Jsonc,
    Json5,
    Yaml,
    Toml,
}

/// The writing of a document.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) format: Format,
    pub(super) indent: String,
    pub(super) newline: &'static str,
    pub(super) has_mark: bool,
    pub(super) ends_line: bool,
    /// A comma behind the last member, where the format has it.
    pub(super) trails: bool,
}

impl Style {
    /// The text of a document.
    pub(super) fn text(&self, root: &[Entry]) -> String {
        let mut text = String::new();
        match self.format {
            Format::Json | Format::Jsonc | Format::Json5 => {
                self.braces(&mut text, root, "");
                text.push('\n');
            }
            Format::Yaml => self.block(&mut text, root, "", ""),
            Format::Toml => self.sections(&mut text, root, ""),
        }
        if !self.ends_line {
            text.truncate(text.trim_end().len());
        }
        let mark = if self.has_mark { "\u{feff}" } else { "" };
        format!("{mark}{}", text.replace('\n', self.newline))
    }

    fn scalar(&self, text: &str) -> String {
        let is_plain =
            text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(|b| b.is_ascii_lowercase());
        match self.format {
            Format::Yaml if is_plain => text.to_owned(),
            _ => format!("\"{text}\""),
        }
    }

    fn inline(&self, node: &Node) -> String {
        match node {
            Node::Text(text) => self.scalar(text),
            Node::Word(word) => word.clone(),
            Node::List(items) => {
                format!("[{}]", items.iter().map(|item| self.scalar(item)).collect::<Vec<_>>().join(", "))
            }
            Node::Object(_) | Node::Objects(_) => unreachable!("it has lines of its own"),
        }
    }

    fn behind(comment: Option<&String>, sign: &str) -> String {
        comment.map_or(String::new(), |comment| format!(" {sign} {comment}"))
    }

    fn braces(&self, text: &mut String, entries: &[Entry], indent: &str) {
        let inner = format!("{indent}{}", self.indent);
        let last = entries.iter().rposition(|entry| matches!(entry, Entry::Member { .. }));
        text.push_str("{\n");
        for (n, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Comment(comment) => writeln!(text, "{inner}// {comment}").expect("a text grows"),
                Entry::Member { name, node, behind } => {
                    let bare = self.format == Format::Json5;
                    let name = if bare { name.clone() } else { format!("\"{name}\"") };
                    write!(text, "{inner}{name}: ").expect("a text grows");
                    match node {
                        Node::Object(entries) => self.braces(text, entries, &inner),
                        Node::Objects(items) => {
                            let deeper = format!("{inner}{}", self.indent);
                            text.push_str("[\n");
                            for (n, item) in items.iter().enumerate() {
                                text.push_str(&deeper);
                                self.braces(text, item, &deeper);
                                text.push_str(if n + 1 < items.len() { ",\n" } else { "\n" });
                            }
                            write!(text, "{inner}]").expect("a text grows");
                        }
                        node => text.push_str(&self.inline(node)),
                    }
                    if Some(n) != last || self.trails {
                        text.push(',');
                    }
                    writeln!(text, "{}", Self::behind(behind.as_ref(), "//")).expect("a text grows");
                }
            }
        }
        write!(text, "{indent}}}").expect("a text grows");
    }

    fn block(&self, text: &mut String, entries: &[Entry], first: &str, indent: &str) {
        for (n, entry) in entries.iter().enumerate() {
            let indent = if n == 0 { first } else { indent };
            match entry {
                Entry::Comment(comment) => writeln!(text, "{indent}# {comment}").expect("a text grows"),
                Entry::Member { name, node, behind } => {
                    let behind = Self::behind(behind.as_ref(), "#");
                    match node {
                        Node::Object(entries) => {
                            writeln!(text, "{indent}{name}:{behind}").expect("a text grows");
                            let inner = format!("{indent}{}", self.indent);
                            self.block(text, entries, &inner, &inner);
                        }
                        Node::Objects(items) => {
                            writeln!(text, "{indent}{name}:{behind}").expect("a text grows");
                            let dash = format!("{indent}{}", self.indent);
                            for item in items {
                                self.block(text, item, &format!("{dash}- "), &format!("{dash}  "));
                            }
                        }
                        node => {
                            writeln!(text, "{indent}{name}: {}{behind}", self.inline(node)).expect("a text grows");
                        }
                    }
                }
            }
        }
    }

    fn sections(&self, text: &mut String, entries: &[Entry], path: &str) {
        let is_section =
            |entry: &&Entry| matches!(entry, Entry::Member { node: Node::Object(_) | Node::Objects(_), .. });
        for entry in entries.iter().filter(|entry| !is_section(entry)) {
            match entry {
                Entry::Comment(comment) => writeln!(text, "# {comment}"),
                Entry::Member { name, node, behind } => {
                    writeln!(text, "{name} = {}{}", self.inline(node), Self::behind(behind.as_ref(), "#"))
                }
            }
            .expect("a text grows");
        }
        for entry in entries.iter().filter(is_section) {
            let Entry::Member { name, node, behind } = entry else { continue };
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let behind = Self::behind(behind.as_ref(), "#");
            match node {
                Node::Object(entries) => {
                    write!(text, "\n[{path}]{behind}\n").expect("a text grows");
                    self.sections(text, entries, &path);
                }
                Node::Objects(items) => {
                    for item in items {
                        write!(text, "\n[[{path}]]\n").expect("a text grows");
                        self.sections(text, item, &path);
                    }
                }
                Node::Text(_) | Node::Word(_) | Node::List(_) => {}
            }
        }
    }
}
