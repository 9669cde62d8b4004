//! The modules from which a file of JavaScript or TypeScript may take types, and whether others see its declarations without an import.

use std::collections::BTreeSet;

use oxc_allocator::Allocator;
use oxc_ast::{
    AstKind,
    ast::{Argument, Expression},
};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

/// The links of a file to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The modules as they are written. A compiler resolves no module whose name is computed.
    pub modules: BTreeSet<String>,
    /// True if other files may use its declarations without importing it.
    pub is_open: bool,
    /// False if it has an error, so that it may name others.
    pub is_certain: bool,
}

/// The links of a file; none if it can't be parsed.
pub fn links(path: &str, text: &str) -> Option<Links> {
    let source_type = SourceType::from_path(path).ok()?;
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type).parse();
    if parsed.panicked {
        return None;
    }
    let record = &parsed.module_record;
    let is_javascript = !source_type.is_typescript();
    // JavaScript may also set members of the global object.
    let is_open =
        !record.has_module_syntax || is_javascript && ["globalThis", "window"].iter().any(|name| text.contains(name));
    let is_certain = parsed.diagnostics.is_empty();
    let mut links =
        Links { modules: record.requested_modules.keys().map(ToString::to_string).collect(), is_open, is_certain };
    if has_nodes(path, text) {
        let semantic = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic;
        for node in semantic.nodes() {
            links.note(node.kind(), is_javascript);
        }
    }
    for comment in &parsed.program.comments {
        let comment = text.get(comment.span.start as usize..comment.span.end as usize).unwrap_or_default();
        links.note_comment(comment);
    }
    Some(links)
}

/// False if no node of a text can be a link or a declaration for others. Most files have imports at their top alone.
fn has_nodes(path: &str, text: &str) -> bool {
    let is_called = |(at, import): (usize, &str)| text[at + import.len()..].trim_start().starts_with(['(', '/']);
    path.contains(".d.")
        || ["declare", "namespace", "require"].iter().any(|word| text.contains(word))
        || text.match_indices("import").any(is_called)
}

impl Links {
    fn note(&mut self, kind: AstKind<'_>, is_javascript: bool) {
        let module = match kind {
            AstKind::TSImportType(import) => Some(import.source.value.as_str()),
            AstKind::TSExternalModuleReference(module) => Some(module.expression.value.as_str()),
            AstKind::ImportExpression(import) => text_of(&import.source),
            AstKind::CallExpression(call) if is_javascript && call.callee.is_specific_id("require") => {
                call.arguments.first().and_then(Argument::as_expression).and_then(text_of)
            }
            AstKind::TSGlobalDeclaration(_)
            | AstKind::TSExternalModuleDeclaration(_)
            | AstKind::TSNamespaceExportDeclaration(_) => {
                self.is_open = true;
                None
            }
            _ => None,
        };
        self.modules.extend(module.map(str::to_owned));
    }

    /// Notes what a comment may import: types of documentation, references to files, and the runtime of markup.
    fn note_comment(&mut self, comment: &str) {
        if comment.contains("import") || comment.contains("<reference") {
            for (at, quote) in comment.match_indices(['"', '\'', '`']) {
                let rest = &comment[at + 1..];
                let Some(module) = rest.split(['\n', ' ']).next().and_then(|word| word.split_once(quote)) else {
                    continue;
                };
                let is_path = comment[..at].trim_end().ends_with("path=");
                let before = if is_path && !module.0.starts_with('.') { "./" } else { "" };
                self.modules.insert(format!("{before}{}", module.0));
            }
        }
        if let Some((_, rest)) = comment.split_once("@jsxImportSource") {
            self.modules.extend(rest.split_whitespace().next().map(|module| format!("{module}/jsx-runtime")));
        }
        self.modules.remove("");
    }
}

/// The text of a string literal.
fn text_of<'a>(expression: &Expression<'a>) -> Option<&'a str> {
    match expression {
        Expression::StringLiteral(text) => Some(text.value.as_str()),
        Expression::TemplateLiteral(text) => text.single_quasi().map(|text| text.as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, modules: &[&str], is_open: bool) {
        let modules = modules.iter().map(|module| (*module).to_owned()).collect();
        assert_eq!(links(path, text), Some(Links { modules, is_open, is_certain: true }), "{text}");
    }

    #[test]
    fn every_way_to_another_module_is_a_link() {
        for text in [
            "import './a';",
            "export * from './a';",
            "export {}; type T = import('./a').T;",
            "export {}; import('./a');",
            "export {}; import(`./a`);",
            "export {}; import /* a */ (\n'./a');",
            "import a = require('./a'); export {};",
            "/** @type {import('./a').T} */ export const x = 1;",
            "/** don't @import { T } from \"./a\" */ export const x = 1;",
            "/// <reference path=\"a\" />\nexport {};",
        ] {
            check("x.ts", text, &["./a"], false);
        }
        check("x.js", "export {}; const a = require('./a');", &["./a"], false);
        check("x.tsx", "/** @jsxImportSource m */ export {};", &["m/jsx-runtime"], false);
        // A compiler resolves neither.
        check("x.ts", "export {}; const a = require('./a'); import(name);", &[], false);
    }

    #[test]
    fn declarations_that_need_no_import_are_open() {
        check("x.ts", "const x = 1;", &[], true);
        check("x.js", "const a = require('./a');", &["./a"], true);
        check("x.ts", "export {}; declare global { const x: 1 }", &[], true);
        check("x.ts", "export {}; declare module 'm' { const x: 1 }", &[], true);
        check("x.d.ts", "export {}; export as namespace X;", &[], true);
        check("x.js", "export {}; window.x = 1;", &[], true);
        assert_eq!(links("x.ts", "export {"), None);
        assert!(!links("x.ts", "export {}; declare function f() {}").unwrap().is_certain);
    }
}
