//! `nrv.exec`: a command runs on a view of the tree, and its changes there are read back as a change set.
//!
//! Neither this code nor the command writes the tree, only private folders outside of it, which are removed afterwards. The
//! exception are scratch folders, which are not part of the tree.

mod baseline;
mod changes;
mod context;
mod conversation;
mod copy;
mod environment;
mod foreign;
mod limits;
mod owner;
mod prepared;
mod private_folder;
mod program;
mod run;
mod scope;
mod stage;
mod trial;
mod upper_layer;
mod variable;

pub use self::{
    context::Context,
    conversation::Conversation,
    limits::{bound, limits},
    prepared::{Prepared, prepare},
    private_folder::{PrivateFolder, clear},
    program::{Found, look_up},
    run::Done,
    trial::{Trial, trial},
};
