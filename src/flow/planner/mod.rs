//! The planner: which adapters a goal needs, and with which input. A model may only request adapters and choose their parameters.
//!
//! [`plan`] asks each adapter for a proposal and requests those that have work to do. [`plan_with_model`] asks a model. Both plans
//! pass [`validate`], which resolves each input and checks it against the schema of its adapter.

mod derive;
mod heuristic;
mod input;
mod model;
mod nodes;
mod orders;
mod plan;
mod tools;
mod validate;

pub(super) use self::tools::Tools;
pub use self::{
    derive::{Derived, Need, derive_agent},
    heuristic::{Request, plan},
    model::{Planner, plan_with_model},
    nodes::stated_nodes,
    orders::orders,
    plan::{Plan, Skipped, ToolRequest, plan_schema},
    validate::{Checked, CheckedRequest, to_dag, validate},
};
