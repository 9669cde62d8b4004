//! The language of scripts: the engine that parses it, and the names that every source may use.

use std::sync::Once;

use rhai::{Engine, OptimizationLevel, Scope};

/// Nesting of expressions, at top level and in functions.
const EXPRESSION_DEPTH: (usize, usize) = (64, 48);

/// Names of functions and closures depend on it: a fixed one makes them the same in every run.
const HASHING_SEED: [u64; 4] = [0x6e72_7620, 0x7363_7269, 0x7074_2068, 0x6173_6821];

/// The name of the host's object.
pub(super) const HOST: &str = "nrv";

/// The name of the arguments.
pub(super) const ARGS: &str = "args";

/// The constant that makes a source an adapter.
pub(super) const ADAPTER: &str = "ADAPTER";

/// The engine's functions that a script can't use.
pub(super) const REFUSED: &[&str] = &["eval", "exit", "sleep", "timestamp"];

/// An engine that parses and runs nothing.
pub(super) fn bare() -> Engine {
    static SEED: Once = Once::new();
    // Before anything else of the engine in this process; a second call would be refused.
    SEED.call_once(|| {
        let _ = rhai::config::hashing::set_hashing_seed(Some(HASHING_SEED));
    });
    let mut engine = Engine::new();
    engine.disable_symbol("eval");
    engine.set_strict_variables(true);
    engine.set_fail_on_invalid_map_property(true);
    // The checks need the tree as it is written, so nothing is folded.
    engine.set_optimization_level(OptimizationLevel::None);
    engine.set_max_expr_depths(EXPRESSION_DEPTH.0, EXPRESSION_DEPTH.1);
    engine.set_module_resolver(rhai::module_resolvers::DummyModuleResolver::new());
    engine
}

/// The scope that every source begins with: the names that it may use, without their values.
pub(super) fn names() -> Scope<'static> {
    let mut scope = Scope::new();
    scope.push_constant(HOST, ()).push_constant(ARGS, ());
    scope
}
