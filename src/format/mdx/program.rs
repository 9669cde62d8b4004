//! The programs in MDX: modules, expressions, and the attributes of tags. A parser for JavaScript says where each ends.

use std::{borrow::Cow, cell::Cell, ops::Range};

use ::markdown::{MdxExpressionKind, MdxSignal, ParseOptions};
use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, JSXAttributeItem, JSXAttributeName, JSXAttributeValue, Statement};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType};

/// The limit of bytes that the programs of a page may take to parse; each brace may end an expression, so one is parsed often.
const MOST: usize = 16 << 20;
/// The limit of open brackets, since the parser for JavaScript calls itself for each.
const DEEPEST: usize = 100;
/// The limit of operators in a statement, for the same reason.
const MOST_OPERATORS: usize = 300;

/// The limit of signs in a tag that resemble its end.
const MOST_ENDS: usize = 200;

const BROKEN: &str = "its JavaScript has a syntax error";

/// The options for MDX with the extensions of GitHub, whose bare URLs this side finds itself.
pub(super) fn options() -> ParseOptions {
    let constructs = ::markdown::Constructs {
        gfm_footnote_definition: true,
        gfm_label_start_footnote: true,
        gfm_strikethrough: true,
        gfm_table: true,
        gfm_task_list_item: true,
        ..::markdown::Constructs::mdx()
    };
    let left = std::rc::Rc::new(Cell::new(MOST));
    let budget = std::rc::Rc::clone(&left);
    ParseOptions {
        constructs,
        mdx_esm_parse: Some(Box::new(move |code| signal(&budget, code, is_module(code)))),
        mdx_expression_parse: Some(Box::new(move |code, kind| signal(&left, code, is_expression(code, kind)))),
        ..ParseOptions::mdx()
    }
}

/// The answer to the parser of Markdown. A program that is not right may go on.
fn signal(left: &Cell<usize>, code: &str, is_right: bool) -> MdxSignal {
    let (source, rule) = (Box::new("nrv".to_owned()), Box::new("program".to_owned()));
    match left.get().checked_sub(code.len()) {
        _ if is_right => MdxSignal::Ok,
        None => MdxSignal::Error("its programs are too long".to_owned(), 0, source, rule),
        Some(rest) => {
            left.set(rest);
            MdxSignal::Eof(BROKEN.to_owned(), source, rule)
        }
    }
}

/// True if the brackets of a program are few enough for a parser that calls itself for each, and so are the operators of each
/// statement. Strings on one line do not count.
fn is_shallow(code: &str) -> bool {
    let (bytes, mut at) = (code.as_bytes(), 0);
    let (mut depth, mut operators, mut last) = (0_usize, 0_usize, b';');
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'(' | b'[' | b'{' | b'<' | b'`' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            b'"' | b'\'' => {
                let end = memchr::memchr2(*byte, b'\n', &bytes[at + 1..]).map_or(bytes.len(), |length| at + 1 + length);
                at = if bytes.get(end) == Some(byte) { end } else { at };
            }
            b'!' | b'?' | b'-' | b'+' | b'~' | b'=' | b'*' => operators += 1,
            b';' | b',' => operators = 0,
            b'\n' if last.is_ascii_alphanumeric() || b")]}>\"'`".contains(&last) => {
                depth = depth.saturating_sub(1);
                operators = 0;
            }
            _ => {}
        }
        last = if byte.is_ascii_whitespace() { last } else { *byte };
        at += 1;
        if depth > DEEPEST || operators > MOST_OPERATORS {
            return false;
        }
    }
    true
}

fn source_type() -> SourceType {
    SourceType::mjs().with_jsx(true)
}

/// True for a module.
fn is_module(code: &str) -> bool {
    let allocator = Allocator::default();
    is_shallow(code) && {
        let parsed = Parser::new(&allocator, code, source_type()).parse();
        !parsed.panicked && parsed.diagnostics.is_empty()
    }
}

/// True for an expression, or for comments alone where there may be none.
fn is_expression(code: &str, kind: &MdxExpressionKind) -> bool {
    if !is_shallow(code) {
        return false;
    }
    let (open, close) = match kind {
        MdxExpressionKind::Expression | MdxExpressionKind::AttributeValueExpression => ("(", "\n)"),
        MdxExpressionKind::AttributeExpression => ("({", "\n})"),
    };
    let whole = format!("{open}{code}{close}");
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &whole, source_type()).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return matches!(kind, MdxExpressionKind::Expression) && is_comment(code);
    }
    match parsed.program.body.as_slice() {
        [Statement::ExpressionStatement(statement)] => {
            let is_whole = statement.expression.span().size() as usize == whole.len();
            matches!(statement.expression, Expression::ParenthesizedExpression(_)) && is_whole
        }
        _ => false,
    }
}

/// True for white space and comments alone.
fn is_comment(code: &str) -> bool {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, source_type()).parse();
    let program = &parsed.program;
    !parsed.panicked && parsed.diagnostics.is_empty() && program.body.is_empty() && program.directives.is_empty()
}

/// A literal attribute of a tag: its name, and the place of its value without quotes.
pub(super) type Attribute = (String, Range<usize>);

/// The literal attributes of the tag at the beginning of a part; none if it is not clear where it ends.
pub(super) fn attributes(text: &str, Range { start, end }: Range<usize>, name: &str) -> Option<Vec<Attribute>> {
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let margin = text[line..start].trim_start_matches(|c: char| " \t>-+*.)".contains(c) || c.is_ascii_digit());
    let quotes = text[line..start - margin.len()].matches('>').count();
    let tag = without_quotes(text.get(start..end)?, quotes);
    let ends = memchr::memchr_iter(b'>', tag.as_bytes()).take(MOST_ENDS);
    ends.map(|at| at + 1).find_map(|end| literals(tag.get(..end)?, start, name))
}

/// The text with spaces for some marks of quotes at the beginning of each line but the first.
fn without_quotes(text: &str, quotes: usize) -> Cow<'_, str> {
    if quotes == 0 || !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    let mut left = 0;
    let plain = text.chars().map(|c| {
        match c {
            '\n' => left = quotes,
            '>' if left > 0 => {
                left -= 1;
                return ' ';
            }
            ' ' | '\t' | '\r' => {}
            _ => left = 0,
        }
        c
    });
    Cow::Owned(plain.collect())
}

/// The literal attributes of a tag; none if the text is not all of one.
fn literals(tag: &str, start: usize, name: &str) -> Option<Vec<Attribute>> {
    let is_closed = tag.strip_suffix('>')?.ends_with('/');
    let whole = if is_closed { tag.to_owned() } else { format!("{tag}</{name}>") };
    if !is_shallow(&whole) {
        return None;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &whole, source_type()).parse();
    let [Statement::ExpressionStatement(statement)] = parsed.program.body.as_slice() else { return None };
    let Expression::JSXElement(element) = &statement.expression else { return None };
    if parsed.panicked || !parsed.diagnostics.is_empty() || element.span.size() as usize != whole.len() {
        return None;
    }
    let literal = |item: &JSXAttributeItem<'_>| {
        let JSXAttributeItem::Attribute(attribute) = item else { return None };
        let JSXAttributeValue::StringLiteral(value) = attribute.value.as_ref()? else { return None };
        let name = match &attribute.name {
            JSXAttributeName::Identifier(name) => name.name.to_string(),
            JSXAttributeName::NamespacedName(name) => format!("{}:{}", name.namespace.name, name.name.name),
        };
        Some((name, start + value.span.start as usize + 1..start + value.span.end as usize - 1))
    };
    Some(element.opening_element.attributes.iter().filter_map(literal).collect())
}
