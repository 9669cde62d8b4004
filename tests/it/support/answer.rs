//! The answer of an adapter to files that lie in no workspace.

use std::sync::atomic::AtomicBool;

use nrv::{
    Adapters, Error,
    adapter::{Context, jsonl},
    system::workspace::{Overlay, View, Workspace},
};

/// Asks the built-in adapter that the request names, in an empty workspace.
pub(crate) fn answer(tool: &str, request: &jsonl::Request) -> Result<jsonl::Answer, Error> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let workspace = Workspace::open(folder.path()).expect("the folder exists");
    let (overlay, cancel) = (Overlay::default(), AtomicBool::new(false));
    let ctx = Context::of_tree(View::new(&workspace, &overlay), 1, &cancel);
    let adapters = Adapters::default();
    jsonl::answer(adapters.find(tool).expect("it is built in"), &ctx, request)
}
