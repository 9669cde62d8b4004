//! The engine: its language and its limits.
//!
//! No function of the engine reaches a file, a clock or another module. `eval` is off, time functions are replaced, and the
//! resolver knows only the sources that came with the request.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rhai::{Dynamic, Engine, EvalAltResult, Module, ModuleResolver, Position, Shared};

use crate::guest::{
    bindings::{self, Host},
    language::{ARGS, HOST, bare, names},
    limit::limit_error,
    source,
};
use base::{
    error::{Code, Error},
    frame::{Limits, RunRequest},
};

/// The number of operations between two looks at the pipe for a cancellation.
const OPERATIONS_PER_LOOK: u64 = 1 << 16;

/// An engine that runs a request, with the sources that it finds modules among.
pub(super) fn build(request: &RunRequest, limits: &Limits, host: &Host) -> (Engine, Modules) {
    let mut engine = bare();
    limit(&mut engine, limits, host);
    without_time(&mut engine);
    let printer = host.clone();
    engine.on_print(move |text| printer.print(text));
    let printer = host.clone();
    engine.on_debug(move |text, _, _| printer.print(text));
    bindings::register(&mut engine);

    // Shared, or each use would copy all arguments.
    let args = super::value::from_json(request.args.clone()).into_read_only().into_shared();
    show(&mut engine, vec![(HOST, bindings::object(host)), (ARGS, args)]);
    let modules = Modules::default();
    modules.add(&request.sources, &request.imports);
    engine.set_module_resolver(Resolver { modules: modules.clone(), host: host.clone() });
    (engine, modules)
}

/// An engine with the limits of a request and without any function of the host, for adapters; what they print is dropped.
pub(super) fn confined(limits: &Limits, host: &Host) -> Engine {
    let mut engine = bare();
    limit(&mut engine, limits, host);
    without_time(&mut engine);
    engine.on_print(|_| {});
    engine.on_debug(|_, _, _| {});
    engine
}

/// Makes values visible wherever a source runs; the parser has to know their names.
///
/// Values in the scope would not reach functions, and a closure in a function does not find values in a global module. The
/// engine looks for captured variables in the function's scope only, unless this hook knows them.
#[expect(
    deprecated,
    reason = "the engine marks the hook as volatile, not as going away; no other way reaches closures"
)]
pub(super) fn show(engine: &mut Engine, values: Vec<(&'static str, Dynamic)>) {
    engine
        .on_var(move |name, _, _| Ok(values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())));
}

fn limit(engine: &mut Engine, limits: &Limits, host: &Host) {
    engine.set_max_call_levels(limits.call_depth);
    // Any of these makes pushes quadratic, so only the requested ones are set.
    if let Some(bytes) = limits.string {
        engine.set_max_string_size(bytes);
    }
    if let Some(items) = limits.array {
        engine.set_max_array_size(items);
    }
    if let Some(entries) = limits.map {
        engine.set_max_map_size(entries);
    }
    // The engine's own count misses closures that native functions call; this hook does not.
    let (most, host) = (limits.operations, host.clone());
    engine.on_progress(move |_| {
        let now = host.count_operation();
        if now >= most {
            host.end(limit_error("operations", format!("the script needs more than {most} operations")));
        } else if now % OPERATIONS_PER_LOOK == OPERATIONS_PER_LOOK - 1 {
            host.look();
        }
        host.has_ended().then_some(Dynamic::UNIT)
    });
}

/// Replaces the functions that read a clock, wait, or end a script from within.
fn without_time(engine: &mut Engine) {
    fn refuse(message: &str) -> Result<Dynamic, Box<EvalAltResult>> {
        Err(EvalAltResult::ErrorRuntime(message.into(), Position::NONE).into())
    }
    const CLOCK: &str = "a script has no clock: its runs would differ";
    const SLEEP: &str = "a script can't sleep: it has no clock";
    const EXIT: &str = "there is no `exit`: end with a value, `return` from the top level, or `throw`";
    engine.register_fn("timestamp", || refuse(CLOCK));
    engine.register_fn("sleep", |_: i64| refuse(SLEEP));
    engine.register_fn("sleep", |_: f64| refuse(SLEEP));
    engine.register_fn("exit", || refuse(EXIT));
    engine.register_fn("exit", |_: Dynamic| refuse(EXIT));
}

/// The modules that can be imported, and the imported ones.
#[derive(Clone, Default)]
pub(super) struct Modules(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    sources: BTreeMap<String, String>,
    imports: BTreeMap<String, BTreeMap<String, String>>,
    loaded: BTreeMap<String, Shared<Module>>,
}

impl Modules {
    /// Adds sources and the targets of their imports. If one has changed, all are evaluated again at their next import.
    pub(super) fn add(&self, sources: &BTreeMap<String, String>, imports: &BTreeMap<String, BTreeMap<String, String>>) {
        let mut known = self.known();
        let is_other = |(path, text): (&String, &String)| known.sources.get(path).is_some_and(|old| old != text);
        if sources.iter().any(is_other) {
            known.loaded.clear();
        }
        known.sources.extend(sources.clone());
        for (path, meant) in imports {
            known.imports.entry(path.clone()).or_default().extend(meant.clone());
        }
    }

    /// The module that a literal in a source means, if it was imported.
    pub(super) fn loaded(&self, importer: &str, literal: &str) -> Option<Shared<Module>> {
        let known = self.known();
        known.loaded.get(known.imports.get(importer)?.get(literal)?).cloned()
    }

    /// The path that a literal in a source means, and the text there.
    fn find(&self, importer: &str, literal: &str) -> Option<(String, String)> {
        let known = self.known();
        let path = known.imports.get(importer)?.get(literal)?;
        Some((path.clone(), known.sources.get(path)?.clone()))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds modules among the sources of the request; each is evaluated once.
struct Resolver {
    modules: Modules,
    host: Host,
}

impl ModuleResolver for Resolver {
    fn resolve(
        &self,
        engine: &Engine,
        importer: Option<&str>,
        literal: &str,
        position: Position,
    ) -> Result<Shared<Module>, Box<EvalAltResult>> {
        let importer = importer.unwrap_or_default();
        if let Some(module) = self.modules.loaded(importer, literal) {
            return Ok(module);
        }
        let Some((path, text)) = self.modules.find(importer, literal) else {
            return Err(EvalAltResult::ErrorModuleNotFound(literal.to_owned(), position).into());
        };
        let ast = match source::parse(engine, &names(), &path, &text) {
            (Some(ast), errors) if errors.is_empty() => ast,
            (_, errors) => {
                // The host inspected the sources before, so an error now ends the script.
                let error = errors.into_iter().next();
                let none = || Error::new(Code::ScriptSyntax, format!("`{path}` can't be imported"));
                self.host.end(error.unwrap_or_else(none));
                return Err(EvalAltResult::ErrorTerminated(Dynamic::UNIT, position).into());
            }
        };
        let module = Module::eval_ast_as_new(names(), &ast, engine).map_err(|error| {
            // A wrapped error could be caught, but the end of a script can't.
            if error.is_catchable() {
                EvalAltResult::ErrorInModule(path.clone(), error, position).into()
            } else {
                error
            }
        })?;
        let module = Shared::new(module);
        self.modules.known().loaded.insert(path, module.clone());
        Ok(module)
    }
}
