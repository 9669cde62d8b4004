//! Records of runs under `.runs`: folders, the hash chain of events, heads, packs of replies, and their verification.
//!
//! This floor knows nothing of what the events mean. It never touches the user's tree.

mod archive;
mod chain;
mod folder;
mod heads;
mod line;
mod pack;
mod pack_writer;
mod verify;

pub use archive::{Exported, Scope, export, import};
pub use chain::{Chain, EVENTS, EXACT, FileRef, GENESIS, Note, Record};
pub use folder::{RunFolder, Runs, run_id};
pub use heads::Head;
pub use pack::{Pack, REPLIES, named, packed_form};
pub use pack_writer::{Keeper, Permit};
pub use verify::{Finding, Report, Seal, verify};
