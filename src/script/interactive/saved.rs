//! A script made of the texts of a session: those that went well, in their order, under a header with what they needed.

use std::collections::BTreeSet;

use crate::{frame::Parsed, script::interactive::used::Used};

/// A text that went well.
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) parsed: &'a Parsed,
}

/// The script of that name.
pub(super) fn script(name: &str, pieces: &[Piece<'_>], used: &Used) -> String {
    let mut script = format!("//! Made of a session.\n\nconst WORKFLOW = #{{\n    name: {},\n", quoted(name));
    let permissions = used.permissions();
    if !permissions.is_empty() {
        let list = |(name, values): (&&str, &Vec<String>)| {
            format!("{name}: [{}]", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", "))
        };
        let lists: Vec<String> = permissions.iter().map(list).collect();
        script.push_str(&format!("    permissions: #{{ {} }},\n", lists.join(", ")));
    }
    script.push_str("};\n");
    let bodies = bodies(pieces);
    let last = bodies.len().saturating_sub(1);
    for (at, (text, open)) in bodies.iter().enumerate() {
        script.push('\n');
        match open {
            // The last expression is the result.
            Some(end) if at < last => {
                script.push_str(&text[..*end]);
                script.push(';');
                script.push_str(&text[*end..]);
            }
            Some(_) | None => script.push_str(text),
        }
        script.push('\n');
    }
    script
}

/// The texts without what a script can't hold twice, each with the end of a last statement that needs a `;`.
fn bodies(pieces: &[Piece<'_>]) -> Vec<(String, Option<usize>)> {
    let mut later = BTreeSet::new();
    let mut bodies = Vec::new();
    for Piece { text, parsed } in pieces.iter().rev() {
        let mut cut: Vec<(usize, usize)> = parsed.header.into_iter().collect();
        for function in parsed.functions.iter().rev() {
            if !later.insert((function.name.as_str(), function.params)) {
                cut.push(function.bytes);
            }
        }
        cut.extend(head(text));
        cut.sort_unstable();
        let is_cut = |end: usize| cut.iter().any(|(from, to)| (*from..*to).contains(&end.saturating_sub(1)));
        let end = parsed.last.filter(|(end, open)| *open && !is_cut(*end)).map(|(end, _)| end);
        let (mut kept, mut from, mut moved) = (String::new(), 0, None);
        for (start, to) in cut {
            kept.push_str(text.get(from..start).unwrap_or_default());
            from = to.max(from);
        }
        if let Some(end) = end {
            moved = Some(kept.len() + end.saturating_sub(from));
        }
        kept.push_str(text.get(from..).unwrap_or_default());
        let leading = kept.len() - kept.trim_start_matches('\n').len();
        let body = kept.trim_matches('\n').trim_end().to_owned();
        if !body.is_empty() {
            bodies.push((body, moved.map(|end| end.saturating_sub(leading))));
        }
    }
    bodies.reverse();
    bodies
}

/// The doc comment of a loaded script, which the new one has of its own.
fn head(text: &str) -> Option<(usize, usize)> {
    let lines = text.split_inclusive('\n').take_while(|line| line.trim_start().starts_with("//!"));
    let length: usize = lines.map(str::len).sum();
    (length > 0).then_some((0, length))
}

/// A text as a literal of the language.
fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            c if c.is_control() => literal.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Definition;

    #[test]
    fn what_was_defined_again_stands_once_and_statements_are_closed() {
        let definition = |bytes| Definition { name: "f".to_owned(), params: 0, bytes };
        let parsed = |functions, last| Parsed { functions, last: Some(last), ..Parsed::default() };
        let first = parsed(vec![definition((0, 12))], (22, true));
        let second = parsed(vec![definition((0, 12))], (12, false));
        let third = parsed(Vec::new(), (3, true));
        let texts = ["fn f() { 1 }\nlet x = 1 // one", "fn f() { 2 }", "f()"];
        let pieces: Vec<_> =
            texts.iter().zip([&first, &second, &third]).map(|(text, parsed)| Piece { text, parsed }).collect();
        let script = script("a \"b\"", &pieces, &Used::default());
        let expected = "//! Made of a session.\n\nconst WORKFLOW = #{\n    name: \"a \\\"b\\\"\",\n};\n\
                        \nlet x = 1; // one\n\nfn f() { 2 }\n\nf()\n";
        assert_eq!(script, expected);
    }
}
