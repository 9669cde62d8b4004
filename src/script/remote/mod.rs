//! Repositories elsewhere: their addresses, and the program `git` under bounds and without anybody's configuration.

mod git;
mod source;
mod stand_in;
mod token;

pub use self::{
    git::{Git, Surroundings, hardened},
    source::{GitSource, check_address, is_commit},
    token::{check_tokens, without_secrets},
};
