//! The habits of a text: line ends, indentation, spaces, and containers on one line.

use super::{
    syntax::Syntax,
    tree::{Form, Node, Shape, Tree},
};

/// The habits of a text.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One level of indentation.
    pub(super) unit: String,
    /// The document stands on several lines.
    pub(super) is_multi: bool,
    /// Arrays stand on one line.
    pub(super) has_flat_arrays: bool,
    /// Arrays in brackets stand on several lines.
    pub(super) has_broken_arrays: bool,
    /// Objects stand on one line.
    pub(super) has_flat_objects: bool,
    /// Between a name and its value.
    pub(super) colon: String,
    /// Behind a comma on a line.
    pub(super) space: &'static str,
    /// Inside the braces of an object on a line.
    pub(super) pad: &'static str,
    /// Names are written without quotes, in JSON5.
    pub(super) has_bare_names: bool,
    /// The quotes of names, in JSON5, and of strings, in YAML too.
    pub(super) quote: char,
    /// Sequences in YAML stand in the column of their key.
    pub(super) has_flush_items: bool,
    /// The start of every line.
    lines: Vec<usize>,
}

/// Counts of the two ways of writing something.
#[derive(Default)]
struct Vote {
    yes: usize,
    no: usize,
}

impl Vote {
    fn cast(&mut self, is_yes: bool) {
        if is_yes { self.yes += 1 } else { self.no += 1 }
    }

    fn cast_if(&mut self, is_cast: bool, is_yes: bool) {
        if is_cast {
            self.cast(is_yes);
        }
    }

    /// These votes, or others if there are none.
    fn or(self, other: Vote) -> Vote {
        if self.yes + self.no > 0 { self } else { other }
    }
}

impl Style {
    pub(super) fn of(syntax: Syntax, text: &str, tree: &Tree) -> Style {
        let bytes = text.as_bytes();
        let lines: Vec<usize> = [0].into_iter().chain(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1)).collect();
        let first = lines.get(1).copied().unwrap_or(0);
        let is_crlf = first > 1 && bytes[first - 2] == b'\r';
        let is_toml = syntax == Syntax::Toml;
        let mut style = Style {
            newline: if is_crlf { "\r\n" } else { "\n" },
            unit: String::new(),
            is_multi: true,
            has_flat_arrays: is_toml || syntax == Syntax::Yaml,
            has_broken_arrays: false,
            has_flat_objects: is_toml || syntax == Syntax::Yaml,
            colon: if is_toml { " = " } else { ": " }.to_owned(),
            space: " ",
            pad: if syntax == Syntax::Yaml { "" } else { " " },
            has_bare_names: false,
            quote: '"',
            has_flush_items: false,
            lines,
        };
        style.learn(text, tree, syntax);
        style.learn_quotes(text, tree, syntax);
        if syntax == Syntax::Yaml {
            style.learn_blocks(text, tree);
        }
        style
    }

    fn learn(&mut self, text: &str, tree: &Tree, syntax: Syntax) {
        let (mut arrays, mut lists, mut objects) = (Vote::default(), Vote::default(), Vote::default());
        let (mut spaces, mut pads) = (Vote::default(), Vote::default());
        let mut colon = None;
        for node in tree.nodes.iter().filter(|node| {
            node.form == Form::Flow && node.pairs.is_empty() && node.lock.is_none() && node.n_children() > 0
        }) {
            let is_object = matches!(node.shape, Shape::Object(_));
            let starts = |index: usize| {
                let value = &tree.node(node.child(index)).span;
                node.member(index).map_or(value.start, |member| member.key.start)
            };
            let lead = &text[node.span.start + 1..starts(0)];
            let is_flat = !lead.contains('\n');
            if is_object {
                objects.cast(is_flat)
            } else {
                arrays.cast(is_flat);
                lists.cast_if(is_list(tree, node), is_flat);
            }
            if !is_flat && self.unit.is_empty() {
                let (inner, outer) = (self.indent(text, starts(0)), self.indent(text, node.span.start));
                self.unit = inner.strip_prefix(outer).unwrap_or("").to_owned();
            }
            if is_flat && is_object {
                pads.cast(lead == " ");
            }
            if is_flat && node.n_children() > 1 {
                spaces.cast(text[..starts(1)].ends_with(' '));
            }
            if let (None, Some(member)) = (&colon, node.member(0)) {
                colon = Some(text[member.key.end..tree.node(member.value).span.start].to_owned());
                self.learn_names(&text[member.key.clone()], syntax);
            }
        }
        if self.unit.is_empty() {
            self.unit = "  ".to_owned();
        }
        if let Some(colon) = colon.filter(|colon| is_plain_colon(colon)) {
            self.colon = colon;
        }
        let is_settled = arrays.yes + arrays.no + objects.yes + objects.no > 0;
        let root = tree.node(tree.root);
        self.is_multi = root.form == Form::Block || is_line_broken(text, root) || root.n_children() == 0;
        self.space = if spaces.no > spaces.yes { "" } else { " " };
        if spaces.yes + spaces.no == 0 && is_settled && !self.is_multi && self.colon == ":" {
            self.space = "";
        }
        if pads.yes != pads.no {
            self.pad = if pads.yes > pads.no { " " } else { "" };
        } else if self.colon == ":" {
            self.pad = "";
        }
        let arrays = lists.or(arrays);
        self.has_broken_arrays = arrays.no > arrays.yes;
        if matches!(syntax, Syntax::Json | Syntax::Jsonc | Syntax::Json5) {
            self.has_flat_arrays = arrays.yes > arrays.no;
            self.has_flat_objects = objects.yes > objects.no;
        }
    }

    fn learn_blocks(&mut self, text: &str, tree: &Tree) {
        let (mut arrays, mut lists) = (Vote::default(), Vote::default());
        let (mut objects, mut flush) = (Vote::default(), Vote::default());
        let mut unit = None;
        for node in tree.nodes.iter().filter(|node| node.n_children() > 0) {
            let is_flow = node.form == Form::Flow;
            if matches!(node.shape, Shape::Array(_)) {
                arrays.cast(is_flow);
                lists.cast_if(is_list(tree, node), is_flow);
            } else {
                objects.cast(is_flow)
            }
            let Shape::Object(members) = &node.shape else { continue };
            for member in members.iter().filter(|_| !is_flow) {
                let value = tree.node(member.value);
                if value.form != Form::Block || self.line(value.span.start) == self.line(member.key.start) {
                    continue;
                }
                let inner = self.indent(text, value.span.start);
                let outer = self.column(text, member.key.start);
                let deeper = inner.strip_prefix(outer.as_str()).unwrap_or("");
                if matches!(value.shape, Shape::Array(_)) {
                    flush.cast(deeper.is_empty());
                }
                if unit.is_none() && !deeper.is_empty() {
                    unit = Some(deeper.to_owned());
                }
            }
        }
        self.unit = unit.unwrap_or_else(|| "  ".to_owned());
        self.has_flush_items = flush.yes > flush.no;
        let arrays = lists.or(arrays);
        self.has_flat_arrays = arrays.yes > arrays.no;
        self.has_flat_objects = objects.yes > objects.no;
        self.colon = ": ".to_owned();
    }

    fn learn_quotes(&mut self, text: &str, tree: &Tree, syntax: Syntax) {
        if !matches!(syntax, Syntax::Json5 | Syntax::Yaml) {
            return;
        }
        let mut single = Vote::default();
        for node in tree.nodes.iter().filter(|node| node.form == Form::Scalar) {
            match text.as_bytes().get(node.span.start) {
                Some(b'\'') => single.cast(true),
                Some(b'"') => single.cast(false),
                _ => {}
            }
        }
        if single.yes != single.no {
            self.quote = if single.yes > single.no { '\'' } else { '"' };
        }
    }

    fn learn_names(&mut self, key: &str, syntax: Syntax) {
        if syntax == Syntax::Json5 {
            self.has_bare_names = !key.starts_with(['"', '\'']);
            self.quote = if key.starts_with('\'') { '\'' } else { '"' };
        }
    }

    /// The number of the line of a byte, counted from 0.
    pub(super) fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at) - 1
    }

    /// The start of the line of a byte.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.lines[self.line(at)]
    }

    /// White space as wide as the text before a byte in its line.
    pub(super) fn column(&self, text: &str, at: usize) -> String {
        let line = text[self.line_start(at)..at].trim_start_matches('\u{feff}');
        line.chars().map(|next| if next == '\t' { '\t' } else { ' ' }).collect()
    }

    /// The line end that closes the line of a byte, or the end of the text.
    pub(super) fn line_end(&self, text: &str, at: usize) -> usize {
        let next = self.lines.get(self.line(at) + 1).copied();
        next.map_or(text.len(), |next| if text[..next].ends_with("\r\n") { next - 2 } else { next - 1 })
    }

    /// The line end before the line of a byte. The first line has none.
    pub(super) fn line_break_before(&self, text: &str, at: usize) -> Option<usize> {
        let start = self.line_start(at);
        let has_carriage = text[..start].ends_with("\r\n");
        start.checked_sub(if has_carriage { 2 } else { 1 })
    }

    /// The white space at the start of the line of a byte, at most up to the byte.
    pub(super) fn indent<'t>(&self, text: &'t str, at: usize) -> &'t str {
        let line = text[self.line_start(at)..at].trim_start_matches('\u{feff}');
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

/// True for arrays without arrays and objects, which alone can stand on one line.
fn is_list(tree: &Tree, node: &Node) -> bool {
    (0..node.n_children()).all(|index| tree.node(node.child(index)).n_children() == 0)
}

/// True if a container has a line end before its first child.
fn is_line_broken(text: &str, node: &Node) -> bool {
    text[node.span.clone()].contains('\n')
}

/// True for one sign with white space on one line.
pub(super) fn is_plain_colon(colon: &str) -> bool {
    matches!(colon.trim_matches([' ', '\t']), ":" | "=")
}
