//! What a source holds, found in its syntax tree without running it.

use rhai::{AST, ASTFlags, ASTNode, Expr, Stmt};

use crate::{
    error::{Code, Error},
    frame::{Import, Inspection},
    guest::{
        engine, source,
        value::{self, type_word},
    },
};

/// The constant that is a script's header.
const HEADER: &str = "WORKFLOW";

/// Parses a source and says what is in it.
pub(super) fn inspect(path: &str, text: &str, main: bool) -> Inspection {
    let mut found = Inspection { path: path.to_owned(), ..Inspection::default() };
    let engine = engine::bare();
    let scope = engine::names();
    let (ast, errors) = source::parse(&engine, &scope, path, text);
    found.errors = errors;
    if let Some(ast) = ast {
        found.doc = doc(&ast);
        header(&ast, main, &mut found);
        inner_headers(&ast, &mut found);
        imports(&ast, &mut found);
    }
    found.errors.sort_by_key(|error| error.location().map(|place| (place.line, place.column)));
    found
}

/// The text of the `//!` lines.
fn doc(ast: &AST) -> Option<String> {
    let line = |line: &str| {
        let text = line.trim_start().strip_prefix("//!").unwrap_or(line);
        text.strip_prefix(' ').unwrap_or(text).trim_end().to_owned()
    };
    let text = ast.doc().lines().map(line).collect::<Vec<_>>().join("\n");
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn header(ast: &AST, main: bool, found: &mut Inspection) {
    for statement in ast.statements() {
        let Stmt::Var(definition, flags, position) = statement else { continue };
        let (name, expression, _) = &**definition;
        if name.as_str() != HEADER {
            continue;
        }
        let literal = expression.get_literal_value(None);
        let refusal = match &literal {
            _ if !main => Some("a module has no `WORKFLOW`; only the script itself does".to_owned()),
            _ if found.header.is_some() => Some("`WORKFLOW` is defined twice".to_owned()),
            _ if !flags.contains(ASTFlags::CONSTANT) => Some("`WORKFLOW` must be a `const`".to_owned()),
            None => Some("`WORKFLOW` must be a literal: it is read before anything runs".to_owned()),
            Some(literal) if !literal.is_map() => Some(format!("`WORKFLOW` must be a map, not {}", type_word(literal))),
            Some(_) => None,
        };
        let error = match (refusal, literal.map(|literal| value::to_json(&literal))) {
            (Some(refusal), _) => Error::new(Code::ScriptSyntax, refusal),
            (None, Some(Err(error))) => Error::new(Code::ScriptSyntax, format!("in `WORKFLOW`, {error}")),
            (None, Some(Ok(value))) => {
                found.header = Some(value);
                continue;
            }
            (None, None) => continue,
        };
        found.errors.push(source::at(error, &found.path, *position));
    }
}

/// Refuses a `WORKFLOW` in a block or a function: nobody would read it.
fn inner_headers(ast: &AST, found: &mut Inspection) {
    let outer: Vec<_> = ast.statements().iter().map(Stmt::position).collect();
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        if let Some(ASTNode::Stmt(Stmt::Var(definition, _, position))) = nodes.last()
            && definition.0.name == HEADER
            && !outer.contains(position)
        {
            let error = Error::new(Code::ScriptSyntax, "`WORKFLOW` must stand at top level")
                .hint("move it out of the block or function");
            found.errors.push(source::at(error, &found.path, *position));
        }
        true
    });
}

/// Collects the imports, in functions too; one whose path is computed is an error.
fn imports(ast: &AST, found: &mut Inspection) {
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        if let Some(ASTNode::Stmt(Stmt::Import(import, position))) = nodes.last() {
            if let Expr::StringConstant(literal, at) = &import.0
                && let Some(at) = source::location(&found.path, *at)
            {
                found.imports.push(Import { literal: literal.to_string(), at });
            } else {
                let error = Error::new(Code::ScriptSyntax, "an import's path must be a string literal")
                    .hint("what a script imports is found, hashed and approved before it runs");
                found.errors.push(source::at(error, &found.path, *position));
            }
        }
        true
    });
    found.imports.sort_by_key(|import| (import.at.line, import.at.column));
}

/// The header of a source, for tests.
#[cfg(test)]
fn header_of(text: &str) -> Result<Option<serde_json::Value>, String> {
    let found = inspect("a.rhai", text, true);
    match found.errors.first() {
        Some(error) => Err(format!("{}:{} {error}", place(error).0, place(error).1)),
        None => Ok(found.header),
    }
}

#[cfg(test)]
fn place(error: &Error) -> (usize, usize) {
    error.location().map_or((0, 0), |place| (place.line, place.column))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn doc_header_and_imports_are_found_without_running() {
        let text = "//! Moves links.\n//!\n//! More.\nconst WORKFLOW = #{ name: \"x\", budget: #{ files: 5, n: -1.5 } };\n\
                    fn f() { import \"lib/a\" as a; a::b() }\nimport \"std/report\" as r;\nloop {}\n";
        let found = inspect("a.rhai", text, true);
        assert_eq!(found.errors, []);
        assert_eq!(found.doc.as_deref(), Some("Moves links.\n\nMore."));
        assert_eq!(found.header, Some(json!({"name": "x", "budget": {"files": 5, "n": -1.5}})));
        let imports: Vec<_> =
            found.imports.iter().map(|one| (one.literal.as_str(), one.at.line, one.at.column)).collect();
        assert_eq!(imports, [("lib/a", 5, 17), ("std/report", 6, 8)]);
    }

    #[test]
    fn a_header_is_a_literal_constant_map() {
        for (text, expected) in [
            (
                "let x = 1;\nconst WORKFLOW = #{ name: x };",
                "2:1 `WORKFLOW` must be a literal: it is read before anything runs",
            ),
            ("const WORKFLOW = 1 + 2;", "1:1 `WORKFLOW` must be a literal: it is read before anything runs"),
            ("const WORKFLOW = [];", "1:1 `WORKFLOW` must be a map, not an array"),
            ("let WORKFLOW = #{};", "1:1 `WORKFLOW` must be a `const`"),
            ("const WORKFLOW = #{};\nconst WORKFLOW = #{};", "2:1 `WORKFLOW` is defined twice"),
            ("if true {\n  const WORKFLOW = #{};\n}", "2:3 `WORKFLOW` must stand at top level"),
            ("fn f() { const WORKFLOW = #{}; 1 }", "1:10 `WORKFLOW` must stand at top level"),
            ("let f = || { const WORKFLOW = #{}; 1 };", "1:14 `WORKFLOW` must stand at top level"),
        ] {
            assert_eq!(header_of(text), Err(expected.to_owned()), "{text}");
        }
        assert_eq!(header_of("1"), Ok(None));
        let module = inspect("a.rhai", "const WORKFLOW = #{};", false);
        assert!(module.errors[0].message().contains("a module has no `WORKFLOW`"));
    }

    #[test]
    fn a_computed_import_is_an_error() {
        for text in ["let p = \"a\";\nimport p as m;", "1;\nimport \"a\" + \"b\" as m;", "1;\nimport `a${1}` as m;"] {
            let found = inspect("a.rhai", text, true);
            assert_eq!(found.errors[0].message(), "an import's path must be a string literal");
            assert_eq!(place(&found.errors[0]), (2, 1), "{text}");
        }
    }

    #[test]
    fn a_source_that_does_not_parse_says_where() {
        for (text, line, column, words) in [
            ("let x = ;", 1, 9, "unexpected"),
            ("let a = 1;\nlet b = [1, 2;\n", 2, 14, "array"),
            ("fn f() { foo }\n1", 1, 10, "`foo` is not defined"),
            ("let module = 1;", 1, 5, "reserved"),
            ("eval(\"1\")", 1, 1, "eval"),
        ] {
            let found = inspect("a.rhai", text, true);
            let error = &found.errors[0];
            assert_eq!((error.code(), place(error)), (Code::ScriptSyntax, (line, column)), "{text}: {error}");
            assert!(error.message().contains(words), "{error}");
        }
    }
}
