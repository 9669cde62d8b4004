//! The parameters as plain types, and the texts of the rules that they name. Both sides of the adapter use them, and each interprets
//! them itself.

mod sources;
mod wire;

pub(super) use self::{
    sources::Sources,
    wire::{Params, globs},
};
