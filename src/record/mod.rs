//! Records of runs under `.runs`: folders, the hash chain of events, heads, packs of replies, and their verification.
//!
//! The events are typed here. Nothing on this floor decides what follows from them, or touches the user's tree.

mod about;
mod archive;
mod chain;
mod entry;
pub mod event;
mod file_ref;
mod folder;
mod heads;
mod line;
pub mod outcome;
mod pack;
mod pack_writer;
mod shared_file;
mod summary;
mod verify;
mod wire;

pub use archive::{Exported, Scope, export, import};
pub use chain::{Chain, EVENTS, GENESIS};
pub use entry::{Draft, Note, Record};
pub use event::named;
pub use file_ref::FileRef;
pub use folder::{RunFolder, Runs, run_id};
pub use heads::Head;
pub use pack::{Pack, REPLIES, packed_form};
pub use pack_writer::{Keeper, Permit};
pub use verify::{Finding, Report, Seal, verify};
