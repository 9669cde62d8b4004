//! Protocols above the door: they make calls, read the replies and decide which call comes next. They have no effect of their own.
//!
//! Whoever makes calls is a [`Door`]: a script in its process, or a program that holds a run.

pub mod agent;
mod door;
pub mod graph;
pub mod planner;
pub mod tool;

pub use self::door::{Door, RunDoor};
