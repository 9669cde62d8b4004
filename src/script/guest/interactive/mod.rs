//! A session: texts that are evaluated one after another in one scope, with the functions and imports of those before.
//!
//! To the engine the session is one source that grows, and each text begins on the line after the last one. A place therefore
//! identifies its text, also where a function of an earlier text fails.

mod complete;
mod pieces;

use std::{
    collections::BTreeMap,
    ops::{Range, RangeInclusive},
};

use rhai::{AST, Dynamic, Engine, EvalAltResult, Expr, Module, Scope, Shared, Stmt};

use crate::guest::{
    bindings::Host,
    engine::{self, Modules},
    fault, inspect,
    language::{self, ARGS},
    link::SharedWire,
    source,
    value::{self, type_word},
};
use base::{
    error::{Code, Error, Location},
    frame::{Completion, Evaluated, FromWorker, Input, Limits, Parsed, RunRequest, Shown, ToWorker},
    tokens::Scan,
};

/// The most lines of all texts: the engine counts no further.
const MAX_LINES: usize = 60_000;

/// The longest text of a value that JSON can't hold.
const MAX_TEXT: usize = 16 << 10;

/// The names of some types in the registry of calls.
const KINDS: &[(&str, &str)] = &[("i64", "int"), ("f64", "float"), ("Fn", "function"), ("timestamp", "any")];

/// Answers frames until the host is done; the engine is the caller's to drop.
pub(super) fn serve(request: &RunRequest, limits: &Limits, wire: &SharedWire) -> Engine {
    let mut session = Session::new(request, limits, wire);
    loop {
        let frame = wire.lock().receive();
        let answer = match frame {
            Some(ToWorker::Parse { text }) => FromWorker::Parsed(session.parse(&text)),
            Some(ToWorker::Complete { text, cursor }) => FromWorker::Completed(session.complete(&text, cursor)),
            Some(ToWorker::Evaluate(input)) => FromWorker::Evaluated(session.evaluate(&input)),
            Some(ToWorker::Inspect { path, source, main }) => {
                FromWorker::Inspected(inspect::inspect(&path, &source, main))
            }
            // Its text has ended already.
            Some(ToWorker::Cancel {}) => continue,
            Some(
                ToWorker::Hello { .. }
                | ToWorker::Run(_)
                | ToWorker::Interact(_)
                | ToWorker::Adapt { .. }
                | ToWorker::Work(_)
                | ToWorker::Reply { .. }
                | ToWorker::Text { .. },
            )
            | None => {
                break;
            }
        };
        wire.lock().send(&answer);
    }
    // Taking deeply nested values apart may overflow the stack.
    std::mem::forget((session.scope, session.functions));
    session.engine
}

struct Session {
    /// The name of the source that grows.
    name: String,
    engine: Engine,
    modules: Modules,
    /// The imported modules by the names that they were imported as.
    aliases: BTreeMap<String, Shared<Module>>,
    host: Host,
    limits: Limits,
    scope: Scope<'static>,
    /// The functions so far, without statements.
    functions: AST,
    /// The lines so far.
    lines: usize,
}

impl Session {
    fn new(request: &RunRequest, limits: &Limits, wire: &SharedWire) -> Self {
        let host = Host::new(request, limits, Box::new(wire.clone()));
        let (engine, modules) = engine::build(request, limits, &host);
        Session {
            name: request.main.clone(),
            engine,
            modules,
            aliases: BTreeMap::new(),
            host,
            limits: limits.clone(),
            scope: language::names(),
            functions: AST::empty(),
            lines: 0,
        }
    }

    /// A text after as many empty lines as the texts before it have.
    fn placed(&self, text: &str) -> String {
        format!("{}{text}", "\n".repeat(self.lines))
    }

    /// The functions so far with a text, and its errors; no tree if it can't be parsed.
    fn compile(&self, text: &str) -> (Option<AST>, Vec<Error>) {
        let (ast, errors) = source::parse(&self.engine, &self.scope, &self.name, &self.placed(text));
        (ast.map(|ast| self.functions.merge(&ast)), errors)
    }

    fn parse(&self, text: &str) -> Parsed {
        if self.lines + text.lines().count() > MAX_LINES {
            let error = Error::new(Code::ScriptLimit, format!("the session has more than {MAX_LINES} lines"));
            let errors = vec![error.hint("begin a new one")];
            return Parsed { complete: true, errors, ..Parsed::default() };
        }
        let (ast, mut errors) = self.compile(text);
        let complete = self.is_complete(text, ast.is_some());
        let mut parsed = pieces::of(text);
        if let Some(ast) = &ast {
            let (mut imports, wrong) = inspect::imports_of(ast, &self.name);
            // Functions of earlier texts have theirs already.
            imports.retain(|import| import.at.line > self.lines);
            parsed.imports = imports;
            errors.extend(wrong);
        }
        errors.sort_by_key(|error| error.location().map(|place| (place.line, place.column)));
        Parsed { complete, errors: if complete { errors } else { Vec::new() }, ..parsed }
    }

    /// False if more text could complete it: its error moves with the end, or the end is within a string or a comment.
    fn is_complete(&self, text: &str, parses: bool) -> bool {
        let end = Scan::of(text);
        let wrong = |text: &str| match self.engine.compile_with_scope(&self.scope, text) {
            Ok(_) => None,
            Err(error) => Some((error.err_type().clone(), error.position())),
        };
        if parses {
            // An unclosed comment hides any text after it.
            return !(end.in_comment && wrong(&format!("{text}\n)")).is_none());
        }
        if end.in_string {
            return wrong(text) == wrong(&format!("{text}`"));
        }
        let (here, further) = (wrong(text), wrong(&format!("{text}\n\n")));
        here.map(|wrong| wrong.1) == further.map(|wrong| wrong.1)
    }

    fn evaluate(&mut self, input: &Input) -> Evaluated {
        self.host.begin(&input.run);
        self.modules.add(&input.sources, &input.imports);
        let (ast, errors) = self.compile(&input.text);
        let before = self.lines;
        self.lines += input.text.lines().count();
        let ast = match (ast, errors.into_iter().next()) {
            (Some(ast), None) => ast,
            (_, Some(error)) => return Evaluated::Error(error),
            (None, None) => {
                return Evaluated::Error(Error::new(Code::Internal, "a text has neither a syntax tree nor an error"));
            }
        };
        let outcome = self.engine.eval_ast_with_scope::<Dynamic>(&mut self.scope, &ast);
        let evaluated = self.told(outcome, &ast);
        self.keep(ast);
        match evaluated {
            Evaluated::Error(error) if reads_argument(&error, &input.text, before) => {
                Evaluated::Error(error.hint("a session has no arguments; `nrv run SCRIPT --arg NAME=VALUE` gives some"))
            }
            evaluated => evaluated,
        }
    }

    fn told(&self, outcome: Result<Dynamic, Box<EvalAltResult>>, ast: &AST) -> Evaluated {
        match outcome {
            // A native function may have swallowed the error that ended the text.
            Ok(_) if self.host.has_ended() => {
                Evaluated::Error(self.host.ending().unwrap_or_else(|| Error::new(Code::Internal, "ended")))
            }
            Ok(value) => {
                let shown = self.shown(&value);
                std::mem::forget(value);
                Evaluated::Value(shown)
            }
            Err(error) => {
                let Session { host, engine, limits, .. } = self;
                Evaluated::Error(fault::explain(*error, &fault::Context { host, engine, ast: Some(ast), limits }))
            }
        }
    }

    /// Keeps the definitions and imports of a text for later ones, even if it failed.
    fn keep(&mut self, ast: AST) {
        for statement in ast.statements() {
            let Stmt::Import(import, _) = statement else { continue };
            let (Expr::StringConstant(literal, _), alias) = (&import.0, import.1.name.as_str()) else { continue };
            if let Some(module) = self.modules.loaded(&self.name, literal).filter(|_| !alias.is_empty()) {
                self.engine.register_static_module(alias, module.clone());
                self.aliases.insert(alias.to_owned(), module);
            }
        }
        self.functions = ast.clone_functions_only();
    }

    /// The displayed form of a value.
    fn shown(&self, value: &Dynamic) -> Shown {
        let kind = self.kind(value);
        match value::to_json(value) {
            Ok(json) => Shown { kind, value: Some(json), text: None },
            Err(_) => {
                // Of numbers, only NaN and the infinite ones have no JSON.
                let is_range = value.is::<Range<i64>>() || value.is::<RangeInclusive<i64>>();
                let has_text = value.is_map() || value.is_array() || value.is_fnptr() || value.is_float() || is_range;
                let text = match has_text {
                    true => value.to_string(),
                    false => type_word(value).to_owned(),
                };
                let end = text.floor_char_boundary(MAX_TEXT);
                let text = if end < text.len() { format!("{}…", &text[..end]) } else { text };
                Shown { kind, value: None, text: Some(text) }
            }
        }
    }

    /// A value's type, as the registry of calls writes it.
    fn kind(&self, value: &Dynamic) -> String {
        let name = if value.is_fnptr() { "Fn" } else { self.engine.map_type_name(value.type_name()) };
        KINDS.iter().find(|(known, _)| *known == name).map_or(name, |(_, kind)| kind).to_owned()
    }

    fn complete(&self, text: &str, cursor: usize) -> Completion {
        complete::complete(self, text, cursor)
    }
}

/// True if an error is at a field of the arguments. `before` is the number of lines before the text.
fn reads_argument(error: &Error, text: &str, before: usize) -> bool {
    let is_read = |place: &Location| {
        let line = text.lines().nth(place.line.checked_sub(before + 1)?)?;
        let rest: String = line.chars().take(place.column.checked_sub(1)?).collect();
        let object = rest.trim_end().trim_end_matches('.').trim_end().strip_suffix(ARGS)?;
        Some(!object.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '.')))
    };
    error.message().contains("has no field") && error.location().and_then(is_read).unwrap_or(false)
}
