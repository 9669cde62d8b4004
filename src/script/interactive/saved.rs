//! A script made of the texts of a session that succeeded, in their order, under a header with the permissions that they need.

use std::collections::BTreeSet;

use crate::{
    interactive::used::Used,
    library::{self, EXTENSION, Target},
};
use base::frame::{Import, Parsed};

/// A text that succeeded.
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// The file whose folder its imports start from.
    pub(super) place: &'a str,
    /// The lines before it.
    pub(super) after: usize,
    pub(super) parsed: &'a Parsed,
}

/// A replacement of a part of a text.
type Edit = (usize, usize, String);

/// The script for that path.
pub(super) fn script(path: &str, pieces: &[Piece<'_>], used: &Used) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = file.rsplit_once('.').map_or(file, |(stem, _)| stem).replace('_', "-");
    let mut script = format!("//! Made of a session.\n\nconst WORKFLOW = #{{\n    name: {},\n", quoted(&name));
    let permissions = used.permissions();
    if !permissions.is_empty() {
        let list = |(name, values): (&&str, &Vec<String>)| {
            format!("{name}: [{}]", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", "))
        };
        let lists: Vec<String> = permissions.iter().map(list).collect();
        script.push_str(&format!("    permissions: #{{ {} }},\n", lists.join(", ")));
    }
    script.push_str("};\n");
    let bodies = bodies(path, pieces);
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

/// The texts without the parts that a script can't hold twice, each with the end of a last statement that needs a `;`.
fn bodies(path: &str, pieces: &[Piece<'_>]) -> Vec<(String, Option<usize>)> {
    let mut later = BTreeSet::new();
    let mut bodies = Vec::new();
    for piece in pieces.iter().rev() {
        let Piece { text, parsed, .. } = piece;
        let mut cut: Vec<(usize, usize)> = parsed.header.into_iter().collect();
        for function in parsed.functions.iter().rev() {
            if !later.insert((function.name.as_str(), function.params)) {
                cut.push(function.bytes);
            }
        }
        cut.extend(head(text));
        let is_cut = |end: usize| cut.iter().any(|(from, to)| (*from..*to).contains(&end.saturating_sub(1)));
        let end = parsed.last.filter(|(end, open)| *open && !is_cut(*end)).map(|(end, _)| end);
        let mut edits: Vec<Edit> = cut.into_iter().map(|(from, to)| (from, to, String::new())).collect();
        edits.extend(parsed.imports.iter().filter_map(|import| led_from(path, piece, import)));
        edits.sort_unstable();
        let (mut kept, mut from) = (String::new(), 0);
        for (start, to, text_there) in edits {
            // A part within a removed one is removed with it.
            let Some(between) = text.get(from..start) else { continue };
            kept.push_str(between);
            kept.push_str(&text_there);
            from = to;
        }
        let moved = end.map(|end| kept.len() + end.saturating_sub(from));
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

/// The edit of an import's literal that makes it lead to the same module from the script of that path.
fn led_from(path: &str, piece: &Piece<'_>, import: &Import) -> Option<Edit> {
    let Ok(Target::File(module)) = library::resolve(piece.place, &import.literal) else { return None };
    let (line, column) = (import.at.line.checked_sub(piece.after + 1)?, import.at.column.checked_sub(1)?);
    let before: usize = piece.text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = piece.text.get(before..)?;
    let start = before + rest.char_indices().nth(column)?.0;
    let written = quoted(&import.literal);
    let literal = relative(path, module.as_str());
    let is_there = piece.text[start..].starts_with(&written) && literal != import.literal;
    is_there.then(|| (start, start + written.len(), quoted(&literal)))
}

/// The literal by which a file imports a module.
fn relative(path: &str, module: &str) -> String {
    let bare = module.strip_suffix(EXTENSION).unwrap_or(module);
    let (folders, mut parts): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), bare.split('/').collect());
    let (folders, most) = (&folders[..folders.len() - 1], parts.len() - 1);
    let common = folders.iter().zip(&parts[..most]).take_while(|(a, b)| a == b).count();
    parts.drain(..common);
    let first = parts.first().copied().unwrap_or_default();
    // Shipped modules are looked for first.
    let up =
        if common == folders.len() && first == "std" { "./".to_owned() } else { "../".repeat(folders.len() - common) };
    format!("{up}{}", parts.join("/"))
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
    use base::{error::Location, frame::Definition};

    fn piece<'a>(text: &'a str, parsed: &'a Parsed) -> Piece<'a> {
        Piece { text, place: "session", after: 7, parsed }
    }

    #[test]
    fn what_was_defined_again_stands_once_and_statements_are_closed() {
        let definition = |bytes| Definition { name: "f".to_owned(), params: 0, bytes };
        let parsed = |functions, last| Parsed { functions, last: Some(last), ..Parsed::default() };
        let first = parsed(vec![definition((0, 12))], (22, true));
        let second = parsed(vec![definition((0, 12))], (12, false));
        let third = parsed(Vec::new(), (3, true));
        let texts = ["fn f() { 1 }\nlet x = 1 // one", "fn f() { 2 }", "f()"];
        let pieces: Vec<_> =
            texts.iter().zip([&first, &second, &third]).map(|(text, parsed)| piece(text, parsed)).collect();
        let script = script("scripts/a \"b\".rhai", &pieces, &Used::default());
        let expected = "//! Made of a session.\n\nconst WORKFLOW = #{\n    name: \"a \\\"b\\\"\",\n};\n\
                        \nlet x = 1; // one\n\nfn f() { 2 }\n\nf()\n";
        assert_eq!(script, expected);
    }

    #[test]
    fn imports_lead_to_the_same_modules_from_another_folder() {
        for (path, module, expected) in [
            ("scripts/x.rhai", "lib/m.rhai", "../lib/m"),
            ("x.rhai", "lib/m.rhai", "lib/m"),
            ("scripts/x.rhai", "scripts/lib/m.rhai", "lib/m"),
            ("a/b/x.rhai", "a/c/m.rhai", "../c/m"),
            ("a/m/x.rhai", "a/m.rhai", "../m"),
            ("x.rhai", "std/m.rhai", "./std/m"),
        ] {
            assert_eq!(relative(path, module), expected, "{path} {module}");
            let target = library::resolve(path, expected).unwrap();
            assert_eq!(target.name(), module);
        }
    }

    #[test]
    fn an_import_is_rewritten_where_it_stands() {
        let text = "/* é */ import \"lib/m\" as m; import \"std/plan\" as plan;\nimport \"lib/n\"";
        let import = |literal: &str, line, column| {
            let at = Location { path: "session".to_owned(), line, column };
            Import { literal: literal.to_owned(), at }
        };
        let imports = vec![import("lib/m", 8, 16), import("std/plan", 8, 37), import("lib/n", 9, 8)];
        let parsed = Parsed { imports, last: Some((text.len(), true)), ..Parsed::default() };
        let one = Parsed { last: Some((1, true)), ..Parsed::default() };
        let script = script("scripts/x.rhai", &[piece(text, &parsed), piece("1", &one)], &Used::default());
        let expected = "/* é */ import \"../lib/m\" as m; import \"std/plan\" as plan;\nimport \"../lib/n\";\n\n1\n";
        assert!(script.ends_with(expected), "{script}");
    }
}
