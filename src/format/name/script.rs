//! Names of JavaScript and TypeScript, resolved by `oxc_semantic`.

mod collide;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use oxc_allocator::Allocator;
use oxc_ast::{
    AstKind,
    ast::{
        Argument, CallExpression, Expression, IdentifierReference, JSXMemberExpressionObject, TSImportTypeQualifier,
        TSTypeName, TSTypePredicateName,
    },
};
use oxc_parser::{Parser, ParserReturn};
use oxc_semantic::{NodeId, Scoping, Semantic, SemanticBuilder, SymbolFlags, SymbolId};
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::module_record::{ExportExportName, ExportImportName, ImportImportName, ModuleRecord};

pub use super::facts::Change;
use super::{
    blocks::Blocks,
    facts::{Export, Facts, Form, Group, Kind, Loose, Meaning, Origin, Reach, Site},
    passing::{self, Use},
};

/// The facts of a file; the error is the reason that it can't be resolved. `tokens` are the whole tokens of the old name.
pub fn facts(path: &str, text: &str, change: Change<'_>, tokens: &[Range<usize>]) -> Result<Facts, &'static str> {
    let source_type = SourceType::from_path(path).map_err(|_| "its ending is none of JavaScript or TypeScript")?;
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return Err("the second parser of its language does not accept it");
    }
    let semantic = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic;
    let file = File::new(&semantic, &parsed, change);
    let Notes { loaded, passed, indexed, augmented, .. } = &file.notes;
    let (loaded, passed, augmented) = (loaded.clone(), passed.clone(), augmented.clone());
    let mut facts = Facts { loaded, passed, indexed: indexed.clone(), augmented, ..Facts::default() };
    file.exports(&mut facts);
    for symbol in file.scoping.symbol_ids().filter(|symbol| file.scoping.symbol_name(*symbol) == change.from) {
        facts.groups.push(file.group(symbol));
    }
    let bound: BTreeSet<usize> =
        facts.groups.iter().flat_map(|group| group.sites.iter().map(|site| site.range.start)).collect();
    let free: BTreeSet<usize> = file.free();
    for range in tokens.iter().filter(|range| !bound.contains(&range.start)) {
        let meaning = match file.notes.through.get(&range.start) {
            Some((origin, form)) => Meaning::Through(origin.clone(), *form),
            None if free.contains(&range.start) => Meaning::Free,
            None => file.notes.of.get(&range.start).cloned().map_or(Meaning::Member, Meaning::Of),
        };
        facts.loose.push(Loose { range: range.clone(), meaning });
    }
    let keys = file.notes.keys.iter().map(|(range, origin)| (range.clone(), origin.clone().map(Meaning::Of)));
    facts.loose.extend(keys.map(|(range, meaning)| Loose { range, meaning: meaning.unwrap_or(Meaning::Unclear(KEY)) }));
    facts.taken = file.taken();
    let blocks = Blocks { semantic: &semantic, change, is_module: file.is_module };
    let declaring = blocks.declaring();
    facts.crossings = blocks.crossings(&declaring);
    facts.blocks = declaring.into_iter().map(|(block, _)| block).collect();
    Ok(facts)
}

/// The end of the path of a module of which code computes the rest.
pub const ANY: char = '*';

/// The module that stands for members of the global object.
pub const GLOBAL: &str = "globalThis";

/// The pseudo-module of the members of an enumeration in the same file.
pub const OWN: &str = "this";

/// Names of the global object.
const GLOBALS: &[&str] = &["frames", "global", "globalThis", "parent", "self", "top", "window"];

/// The reason against a string that selects a member of a namespace.
const KEY: &str = "a text names a member of a module";

/// Observations about the nodes of a file.
#[derive(Default)]
struct Notes {
    /// Short forms of members, by their place.
    short: BTreeSet<usize>,
    /// Names in lists of exports whose exported name is the same, by their place.
    exported: BTreeSet<usize>,
    /// Names of parameters that are members too, by their place.
    properties: BTreeSet<usize>,
    /// Names of elements in markup, by their place.
    elements: BTreeSet<usize>,
    /// Places that name something of another module.
    through: BTreeMap<usize, (Origin, Form)>,
    /// Members of named imports, by place.
    of: BTreeMap<usize, Origin>,
    /// Strings that select a member of a namespace, or of a named import.
    keys: Vec<(Range<usize>, Option<Origin>)>,
    loaded: Vec<String>,
    passed: Vec<String>,
    indexed: Vec<String>,
    augmented: Vec<String>,
    /// Predicates such as `x is T`, with the node.
    predicates: Vec<(Span, NodeId)>,
    /// The place of `with` or a direct `eval`.
    dynamic: Option<usize>,
}

struct File<'s, 'a> {
    semantic: &'s Semantic<'a>,
    scoping: &'s Scoping,
    module: &'s ModuleRecord<'a>,
    change: Change<'s>,
    is_module: bool,
    notes: Notes,
}

impl<'s, 'a> File<'s, 'a> {
    fn new(semantic: &'s Semantic<'a>, parsed: &'s ParserReturn<'a>, change: Change<'s>) -> Self {
        let mut file = File {
            semantic,
            scoping: semantic.scoping(),
            module: &parsed.module_record,
            change,
            is_module: parsed.module_record.has_module_syntax || is_common(semantic),
            notes: Notes::default(),
        };
        let mut notes = Notes::default();
        for node in semantic.nodes() {
            file.note(node.kind(), node.id(), &mut notes);
        }
        file.imports(&mut notes);
        file.namespaces(&mut notes);
        file.notes = notes;
        file
    }

    fn note(&self, kind: AstKind<'a>, node: NodeId, notes: &mut Notes) {
        match kind {
            AstKind::ObjectProperty(property) if property.shorthand => {
                notes.short.insert(start(property.key.span()));
            }
            AstKind::BindingProperty(property) if property.shorthand => {
                notes.short.insert(start(property.key.span()));
            }
            AstKind::AssignmentTargetPropertyIdentifier(property) => {
                notes.short.insert(start(property.binding.span));
            }
            AstKind::ExportSpecifier(specifier) if specifier.local.span() == specifier.exported.span() => {
                notes.exported.insert(start(specifier.local.span()));
            }
            AstKind::FormalParameter(parameter)
                if parameter.accessibility.is_some() || parameter.readonly || parameter.r#override =>
            {
                notes.properties.insert(start(parameter.pattern.span()));
            }
            AstKind::JSXOpeningElement(element) => drop(notes.elements.insert(start(element.name.span()))),
            AstKind::JSXClosingElement(element) => drop(notes.elements.insert(start(element.name.span()))),
            AstKind::TSTypePredicate(predicate) => {
                if let TSTypePredicateName::Identifier(name) = &predicate.parameter_name {
                    notes.predicates.push((name.span, node));
                }
            }
            _ => {
                self.note_members(kind, node, notes);
                self.note_module(kind, node, notes);
            }
        }
    }

    /// Notes members of namespaces and of named imports.
    fn note_members(&self, kind: AstKind<'a>, node: NodeId, notes: &mut Notes) {
        let from = self.change.from;
        match kind {
            AstKind::StaticMemberExpression(member) if member.property.name == from => {
                match member.object.get_inner_expression() {
                    Expression::Identifier(object) => self.note_member(object, member.property.span, notes),
                    // `m.Enumeration.name`
                    Expression::StaticMemberExpression(owner) => {
                        if let Expression::Identifier(object) = &owner.object
                            && let Some(Ok(module)) = self.imported(object.reference_id.get())
                        {
                            let origin = Origin { module, name: owner.property.name.to_string() };
                            notes.of.insert(start(member.property.span), origin);
                        }
                    }
                    Expression::ThisExpression(_) if !self.is_in_method(node) => {
                        drop(notes.of.insert(start(member.property.span), self.origin_of(GLOBAL)));
                    }
                    _ => {}
                }
            }
            AstKind::ComputedMemberExpression(member) => {
                if let Expression::Identifier(object) = member.object.get_inner_expression()
                    && member.static_property_name().is_some_and(|key| key == from)
                    && let Some(imported) = self.imported(object.reference_id.get())
                {
                    notes.keys.push((range(member.expression.span()), imported.err()));
                }
            }
            AstKind::TSQualifiedName(name) if name.right.name == from => {
                if let TSTypeName::IdentifierReference(object) = &name.left {
                    self.note_member(object, name.right.span, notes);
                }
            }
            AstKind::JSXMemberExpression(member) if member.property.name == from => {
                if let JSXMemberExpressionObject::IdentifierReference(object) = &member.object {
                    self.note_member(object, member.property.span, notes);
                }
            }
            AstKind::TSImportType(import) => match &import.qualifier {
                Some(TSImportTypeQualifier::Identifier(name)) if name.name == from => {
                    let origin = self.origin_of(import.source.value.as_str());
                    notes.through.insert(start(name.span), (origin, Form::Plain));
                }
                Some(_) => {}
                None => notes.loaded.push(import.source.value.to_string()),
            },
            _ => {}
        }
    }

    /// True if `this` is an instance of a class, or the object whose method it stands in.
    fn is_in_method(&self, node: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        let mut functions = nodes.ancestors(node).filter(|above| matches!(above.kind(), AstKind::Function(_)));
        let is_method = functions.next().is_some_and(
            |function| matches!(nodes.parent_kind(function.id()), AstKind::ObjectProperty(property) if property.method),
        );
        is_method || nodes.ancestor_kinds(node).any(|kind| matches!(kind, AstKind::Class(_)))
    }

    fn origin_of(&self, module: &str) -> Origin {
        Origin { module: module.to_owned(), name: self.change.from.to_owned() }
    }

    /// Notes `namespace.name`, `imported.name` and `globalThis.name`.
    fn note_member(&self, object: &IdentifierReference<'a>, name: Span, notes: &mut Notes) {
        let reference = object.reference_id.get();
        match self.imported(reference) {
            Some(Ok(module)) => drop(notes.through.insert(start(name), (self.origin_of(&module), Form::Plain))),
            Some(Err(origin)) => drop(notes.of.insert(start(name), origin)),
            None => {
                let symbol = reference.and_then(|id| self.scoping.get_reference(id).symbol_id());
                if symbol.is_some_and(|symbol| self.is_no_module(symbol)) {
                    notes.of.insert(start(name), self.origin_of(OWN));
                }
                if symbol.is_none() && GLOBALS.contains(&object.name.as_str()) {
                    notes.of.insert(start(name), self.origin_of(GLOBAL));
                }
            }
        }
    }

    /// True for an enumeration of the file. A class or a function may get the members of a module by `Object.assign`.
    fn is_no_module(&self, symbol: SymbolId) -> bool {
        let flags = self.scoping.symbol_flags(symbol);
        flags.is_enum() && !flags.is_namespace_module()
    }

    /// The module of a namespace import; the error is the origin of a named import.
    fn imported(&self, reference: Option<oxc_semantic::ReferenceId>) -> Option<Result<String, Origin>> {
        let symbol = reference.and_then(|id| self.scoping.get_reference(id).symbol_id())?;
        let local = self.scoping.symbol_span(symbol);
        let entry = self.module.import_entries.iter().find(|entry| entry.local_name.span == local)?;
        let module = entry.module_request.name.to_string();
        Some(match &entry.import_name {
            ImportImportName::NamespaceObject => Ok(module),
            ImportImportName::Name(name) => Err(Origin { module, name: name.name.to_string() }),
            ImportImportName::Default(_) => Err(Origin { module, name: "default".to_owned() }),
        })
    }

    /// Notes imported namespaces that code uses other than before a dot.
    fn namespaces(&self, notes: &mut Notes) {
        let wholes = self.module.import_entries.iter().filter(|entry| entry.import_name.is_namespace_object());
        for entry in wholes {
            let Some(symbol) = self.scoping.get_root_binding(entry.local_name.name.as_str().into()) else { continue };
            let module = entry.module_request.name.to_string();
            if note_use(passing::of_symbol(self.semantic, self.module, symbol), &module, notes) {
                notes.loaded.push(module);
            }
        }
    }

    /// Notes `import { name as other }`, and exports of names of other modules.
    fn imports(&self, notes: &mut Notes) {
        for entry in &self.module.import_entries {
            if let ImportImportName::Name(name) = &entry.import_name
                && name.name == self.change.from
                && name.span != entry.local_name.span
            {
                let origin = self.origin_of(&entry.module_request.name);
                self.note_import(name.span, origin, Form::Plain, notes);
            }
        }
        for entry in &self.module.indirect_export_entries {
            let Some(module) = &entry.module_request else { continue };
            if let ExportImportName::Name(name) = &entry.import_name
                && name.name == self.change.from
            {
                let is_same = matches!(&entry.export_name, ExportExportName::Name(export) if export.span == name.span);
                let form = if is_same { Form::ExportedAs } else { Form::Plain };
                self.note_import(name.span, self.origin_of(&module.name), form, notes);
            }
        }
    }

    /// Notes the name of an imported thing, which may also be a text.
    fn note_import(&self, name: Span, origin: Origin, form: Form, notes: &mut Notes) {
        match self.semantic.source_text()[range(name)].starts_with(['"', '\'']) {
            true => notes.keys.push((range(name), None)),
            false => drop(notes.through.insert(start(name), (origin, form))),
        }
    }

    /// The exports of the old and the new name, and the modules that are exported as a whole.
    fn exports(&self, facts: &mut Facts) {
        let is_asked = |name: &str| name == self.change.from || name == self.change.to;
        for entry in &self.module.local_export_entries {
            if let ExportExportName::Name(name) = &entry.export_name
                && is_asked(&name.name)
            {
                facts.exports.insert(name.name.to_string(), Export::Own);
            }
        }
        for entry in &self.module.indirect_export_entries {
            let (ExportExportName::Name(name), Some(module)) = (&entry.export_name, &entry.module_request) else {
                continue;
            };
            if is_asked(&name.name) {
                let origin = match &entry.import_name {
                    ExportImportName::Name(import) => {
                        Origin { module: module.name.to_string(), name: import.name.to_string() }
                    }
                    _ => Origin { module: module.name.to_string(), name: "*".to_owned() },
                };
                facts.exports.insert(name.name.to_string(), Export::From(origin));
            }
        }
        let stars = self.module.star_export_entries.iter().filter(|entry| entry.export_name.is_null());
        facts.stars = stars.filter_map(|entry| Some(entry.module_request.as_ref()?.name.to_string())).collect();
    }

    fn group(&self, symbol: SymbolId) -> Group {
        let scoping = self.scoping;
        let declared = scoping.symbol_span(symbol);
        let mut spans: BTreeSet<Span> = scoping.symbol_redeclarations(symbol).iter().map(|again| again.span).collect();
        spans.insert(declared);
        spans.extend(self.semantic.symbol_references(symbol).map(|reference| self.semantic.reference_span(reference)));
        spans.extend(self.predicates_of(symbol));
        let entry = self.module.import_entries.iter().find(|entry| entry.local_name.span == declared);
        let imported = entry.and_then(|entry| match &entry.import_name {
            ImportImportName::Name(name) => Some((entry.module_request.name.to_string(), name)),
            _ => None,
        });
        let is_short_import = imported.as_ref().is_some_and(|(_, name)| name.span == declared);
        let form = |span: Span| {
            let at = start(span);
            match () {
                () if self.notes.short.contains(&at) => Form::Member,
                () if self.notes.exported.contains(&at) => Form::ExportedAs,
                () if is_short_import && span == declared => Form::Import,
                () => Form::Plain,
            }
        };
        let sites = spans.iter().map(|span| Site { range: range(*span), form: form(*span) }).collect();
        let reach = match imported {
            Some((module, name)) if is_short_import => Reach::Imported(Origin { module, name: name.name.to_string() }),
            _ if self.is_exported(symbol, &spans) => Reach::Exported,
            _ if !self.is_module && scoping.symbol_scope_id(symbol) == scoping.root_scope_id() => Reach::Global,
            _ if self.is_global(symbol) => Reach::Global,
            _ => Reach::Local,
        };
        let obstacle = self.obstacle(symbol, &spans);
        Group { declared: start(declared), kind: self.kind(symbol), sites, reach, obstacle }
    }

    /// The predicates about a parameter, which `oxc_semantic` does not resolve.
    fn predicates_of(&self, symbol: SymbolId) -> impl Iterator<Item = Span> {
        let name = self.change.from;
        self.notes.predicates.iter().filter_map(move |(span, node)| {
            let is_named = self.semantic.source_text()[range(*span)] == *name;
            (is_named && self.resolve(*node, name) == Some(symbol)).then_some(*span)
        })
    }

    fn resolve(&self, node: NodeId, name: &str) -> Option<SymbolId> {
        let scope = self.semantic.nodes().get_node(node).scope_id();
        self.scoping.find_binding(scope, name.into())
    }

    /// True if a declaration of the symbol is itself an export under its own name.
    fn is_exported(&self, symbol: SymbolId, spans: &BTreeSet<Span>) -> bool {
        self.scoping.symbol_scope_id(symbol) == self.scoping.root_scope_id()
            && self.module.local_export_entries.iter().any(|entry| match &entry.export_name {
                ExportExportName::Name(name) => {
                    spans.contains(&name.span) && !self.notes.exported.contains(&start(name.span))
                }
                _ => false,
            })
    }

    /// True for a declaration within `declare global`.
    fn is_global(&self, symbol: SymbolId) -> bool {
        let declaration = self.scoping.symbol_declaration(symbol);
        self.semantic.nodes().ancestor_kinds(declaration).any(|kind| matches!(kind, AstKind::TSGlobalDeclaration(_)))
    }

    fn kind(&self, symbol: SymbolId) -> Kind {
        let flags = self.scoping.symbol_flags(symbol);
        let declaration = self.semantic.nodes().kind(self.scoping.symbol_declaration(symbol));
        match () {
            () if flags.intersects(SymbolFlags::Import | SymbolFlags::TypeImport) => Kind::Import,
            () if flags.is_class() => Kind::Class,
            () if flags.is_function() => Kind::Function,
            () if matches!(declaration, AstKind::FormalParameter(_) | AstKind::FormalParameterRest(_)) => {
                Kind::Parameter
            }
            () if flags.intersects(SymbolFlags::Variable | SymbolFlags::CatchVariable) => Kind::Variable,
            () => Kind::Type,
        }
    }

    fn free(&self) -> BTreeSet<usize> {
        let references = self.scoping.root_unresolved_references().get(self.change.from).into_iter().flatten();
        references.map(|id| start(self.semantic.reference_span(self.scoping.get_reference(*id)))).collect()
    }

    /// A place of the new name at the top of the file, one that the file does not bind, or one around a place that it does not bind.
    fn taken(&self) -> Option<usize> {
        let (scoping, to) = (self.scoping, self.change.to);
        if let Some(symbol) = scoping.get_root_binding(to.into()) {
            return Some(start(scoping.symbol_span(symbol)));
        }
        let free = |name: &str| scoping.root_unresolved_references().get(name).into_iter().flatten();
        if let Some(reference) = free(to).next() {
            return Some(start(self.semantic.reference_span(scoping.get_reference(*reference))));
        }
        // A binding around a place that the file does not bind would take it.
        let mut around = free(self.change.from).flat_map(|reference| {
            let node = scoping.get_reference(*reference).node_id();
            scoping.scope_ancestors(self.semantic.nodes().get_node(node).scope_id())
        });
        let taker = around.find_map(|scope| scoping.get_binding(scope, to.into()))?;
        Some(start(scoping.symbol_span(taker)))
    }

    /// Notes modules that the file loads as values or augments.
    fn note_module(&self, kind: AstKind<'a>, node: NodeId, notes: &mut Notes) {
        let module = match kind {
            AstKind::TSExternalModuleReference(module) => module.expression.value.to_string(),
            AstKind::TSExternalModuleDeclaration(module) => return notes.augmented.push(module.id.value.to_string()),
            AstKind::ImportExpression(import) => match &import.source {
                Expression::StringLiteral(source) => source.value.to_string(),
                Expression::TemplateLiteral(path) => path.quasis.first().map_or_else(String::new, |first| {
                    let begin = &first.value.raw;
                    if path.is_no_substitution_template() { begin.to_string() } else { format!("{begin}{ANY}") }
                }),
                _ => String::new(),
            },
            AstKind::CallExpression(call) => {
                if call.callee.is_specific_id("eval") {
                    notes.dynamic = Some(start(call.span));
                }
                match loaded_by(call) {
                    Some((module, true)) => module,
                    Some((module, false)) => return notes.loaded.push(module),
                    None => return,
                }
            }
            AstKind::WithStatement(with) => return notes.dynamic = Some(start(with.span)),
            _ => return,
        };
        let used = passing::of_node(self.semantic, self.module, node);
        // A module that code computes may be any: then only members that code computes are in doubt.
        let is_passed = used.is_passed && !module.is_empty() && !module.ends_with(ANY);
        note_use(Use { is_passed, ..used }, &module, notes);
        notes.loaded.push(module);
    }
}

/// True for a CommonJS module: a file of JavaScript that has exports, or that loads modules by their names, has no global bindings at
/// its top. `require([…])` belongs to loaders of pages, whose scripts share their names.
fn is_common(semantic: &Semantic<'_>) -> bool {
    let (text, free) = (semantic.source_text(), semantic.scoping().root_unresolved_references());
    // A file that asks which kind of module it is may be none.
    let asks = ["typeof module", "typeof exports", "typeof require", "define.amd"];
    let loads = || ["require(\"", "require('"].iter().any(|call| text.contains(call));
    let uses = |name: &str| free.contains_key(name);
    !semantic.source_type().is_typescript()
        && !asks.iter().any(|ask| text.contains(ask))
        && (uses("module") || uses("exports") || uses("require") && loads())
}

/// Notes a module that code passes on, or whose members it looks up by names that it computes. False if every use names a member.
fn note_use(used: Use, module: &str, notes: &mut Notes) -> bool {
    let Use { is_passed, is_indexed, is_held } = used;
    notes.passed.extend(is_passed.then(|| module.to_owned()));
    notes.indexed.extend(is_indexed.then(|| module.to_owned()));
    is_passed || is_indexed || is_held
}

/// The module that `require`, a mock of a test or the like loads, empty if it may be any, and true if the call gives the module.
fn loaded_by(call: &CallExpression<'_>) -> Option<(String, bool)> {
    let is_require = call.callee.is_specific_id("require");
    let name = call.callee.get_member_expr().and_then(|member| member.static_property_name()).unwrap_or_default();
    let gives = is_require || name.starts_with("require") || name.starts_with("import");
    let is_path = |text: &str| text.starts_with("./") || text.starts_with("../");
    match call.arguments.first() {
        Some(Argument::StringLiteral(source)) if is_require || is_path(&source.value) => {
            Some((source.value.to_string(), gives))
        }
        _ => (is_require || is_glob(&call.callee)).then(|| (String::new(), true)),
    }
}

/// True for `import.meta.glob` and `require.context`, which load all modules of some paths.
fn is_glob(callee: &Expression<'_>) -> bool {
    let Expression::StaticMemberExpression(member) = callee else { return false };
    match (&member.object, member.property.name.as_str()) {
        (Expression::ImportMeta(_), name) => name.starts_with("glob"),
        (Expression::Identifier(object), "context") => object.name == "require",
        (_, _) => false,
    }
}

fn start(span: Span) -> usize {
    span.start as usize
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}
