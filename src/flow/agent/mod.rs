//! Agents: a model is asked, its reply is read by a handler, and each action that it wants becomes a call at the door.
//!
//! An [`ActionHandler`] knows the form of replies and nothing else. The loop, the tools and the door are the same for each of them.

mod converse;
mod handler;
mod json;
mod native;
mod shipped;
mod tools;

pub use self::{
    converse::{Conversation, Conversed, Stopped, converse},
    handler::{Action, ActionHandler, Reply, Turn},
    json::{JsonHandler, reply_schema},
    native::NativeHandler,
    shipped::handler_of,
    tools::tools_of,
};
