//! Graphs: each node begins when those that it waits for have reached the state that it needs.
//!
//! Nodes begin in the order in which they are stated, so that a run does the same on any number of threads. The host does the work of
//! nodes that begin together at the same time where it may; their changes reach the tree in that order.

mod ended;
mod node;
mod run;

pub use self::{
    ended::{Ended, NodeEnd},
    node::{Functions, NoFunctions},
    run::{Graph, run},
};
