//! The parts of a source, found in its syntax tree without running it.

use rhai::{AST, ASTFlags, ASTNode, Expr, Position, Stmt};

use crate::guest::{adapter, language, lint, place, places, source, value};
use base::{
    error::{Code, Error, Location},
    frame::{Import, Inspection},
};

/// The form of a header, for hints.
const FORM: &str = "write `const WORKFLOW = #{ … };`";

/// The constant that is a script's header.
pub(super) const HEADER: &str = "WORKFLOW";

/// Parses a source and lists its parts.
pub(super) fn inspect(path: &str, text: &str, main: bool) -> Inspection {
    let mut found = Inspection { path: path.to_owned(), ..Inspection::default() };
    let engine = language::bare();
    let is_adapter = main && names_adapter(text);
    let scope = if is_adapter { adapter::names() } else { language::names() };
    match source::compile(&engine, &scope, path, text) {
        Ok(ast) => {
            found.doc = doc(&ast);
            header(&ast, main, &mut found);
            inner_headers(&ast, &mut found);
            imports(&ast, &mut found);
            if is_adapter {
                adapter::parts(&ast, &mut found);
            }
            found.is_module = found.header.is_none() && ast.statements().iter().all(only_defines);
            let is_module = found.is_module || !main;
            let lint::Findings { errors, warnings, uses, functions, module_calls } =
                lint::whole(&ast, path, text, is_module);
            found.errors.extend(errors);
            found.warnings.extend(warnings);
            (found.uses, found.functions, found.module_calls) = (uses, functions, module_calls);
        }
        Err(error) => found.errors.push(error),
    }
    sort(&mut found);
    found
}

/// True if a line of a text begins with the constant that makes it an adapter.
fn names_adapter(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split(|c: char| c.is_whitespace() || c == '=').filter(|word| !word.is_empty());
        matches!(words.next(), Some("const" | "let")) && words.next() == Some(adapter::HEADER)
    })
}

/// Sorts everything by its place in the text. A block that several cases of a `switch` share was seen several times.
fn sort(found: &mut Inspection) {
    let place = |at: &Location| (at.line, at.column);
    for list in [&mut found.errors, &mut found.warnings] {
        list.sort_by_key(|error| error.location().map(place));
        list.dedup();
    }
    found.uses.sort_by_key(|one| place(&one.at));
    found.uses.dedup();
    found.module_calls.sort_by_key(|call| place(&call.at));
    found.module_calls.dedup();
}

/// True for a statement without effects.
fn only_defines(statement: &Stmt) -> bool {
    match statement {
        Stmt::Noop(_) | Stmt::Import(..) | Stmt::Export(..) => true,
        Stmt::Var(definition, flags, _) => {
            flags.intersects(ASTFlags::CONSTANT | ASTFlags::EXPORTED) && definition.1.is_constant()
        }
        _ => false,
    }
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
            _ if !main => Some(("a module has no `WORKFLOW`; only the script itself does", "move it to the script")),
            _ if found.header.is_some() => Some(("`WORKFLOW` is defined twice", "leave one of them out")),
            _ if !flags.contains(ASTFlags::CONSTANT) => Some(("`WORKFLOW` must be a `const`", FORM)),
            None => Some((
                "`WORKFLOW` must be a literal: it is read before anything runs",
                "write the value itself; make values that differ from run to run arguments",
            )),
            Some(literal) if !literal.is_map() => Some(("`WORKFLOW` must be a map", FORM)),
            Some(_) => None,
        };
        let error = match (refusal, literal.map(|literal| value::to_json(&literal))) {
            (Some((refusal, hint)), _) => Error::new(Code::ScriptSyntax, refusal).hint(hint),
            (None, Some(Err(error))) => Error::new(Code::ScriptSyntax, format!("in `WORKFLOW`, {error}")),
            (None, Some(Ok(value))) => {
                found.header = Some(value);
                places::note(expression, "", found);
                continue;
            }
            (None, None) => continue,
        };
        let position = computed(expression).unwrap_or(*position);
        found.errors.push(place::at(error.detail("rule", "header"), &found.path, position));
    }
}

/// The place of the first value of a map that is no literal.
fn computed(expression: &Expr) -> Option<Position> {
    let Expr::Map(entries, _) = expression else { return None };
    entries.0.iter().find_map(|(_, value)| match value {
        Expr::Map(..) => computed(value),
        other => other.get_literal_value(None).is_none().then(|| other.start_position()),
    })
}

/// Refuses a `WORKFLOW` in a block or a function, where it would have no effect.
fn inner_headers(ast: &AST, found: &mut Inspection) {
    let outer: Vec<_> = ast.statements().iter().map(Stmt::position).collect();
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        if let Some(ASTNode::Stmt(Stmt::Var(definition, _, position))) = nodes.last()
            && definition.0.name == HEADER
            && !outer.contains(position)
        {
            let error = Error::new(Code::ScriptSyntax, "`WORKFLOW` must stand at top level")
                .detail("rule", "header")
                .hint("move it out of the block or function");
            found.errors.push(place::at(error, &found.path, *position));
        }
        true
    });
}

/// Collects the imports, in functions too; one whose path is computed is an error.
fn imports(ast: &AST, found: &mut Inspection) {
    let (imports, errors) = imports_of(ast, &found.path);
    found.imports = imports;
    found.errors.extend(errors);
}

/// The imports of a source in the order of its text, and those that can't be followed.
pub(super) fn imports_of(ast: &AST, path: &str) -> (Vec<Import>, Vec<Error>) {
    let (mut imports, mut errors) = (Vec::new(), Vec::new());
    ast.walk(&mut |nodes: &[ASTNode<'_>]| {
        if let Some(ASTNode::Stmt(Stmt::Import(import, position))) = nodes.last() {
            if let Expr::StringConstant(literal, at) = &import.0
                && let Some(at) = place::location(path, *at)
            {
                imports.push(Import { literal: literal.to_string(), at });
            } else {
                let error = Error::new(Code::ScriptSyntax, "an import's path must be a string literal")
                    .detail("rule", "computed_import")
                    .hint("imports are found, hashed and approved before a script runs");
                errors.push(place::at(error, path, *position));
            }
        }
        true
    });
    imports.sort_by_key(|import: &Import| (import.at.line, import.at.column));
    (imports, errors)
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
                "2:27 `WORKFLOW` must be a literal: it is read before anything runs",
            ),
            ("const WORKFLOW = 1 + 2;", "1:1 `WORKFLOW` must be a literal: it is read before anything runs"),
            ("const WORKFLOW = [];", "1:1 `WORKFLOW` must be a map"),
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
