//! Records of runs under `.runs`: folders, the hash chain of events, heads, packs of replies, and their verification.
//!
//! The ledger knows nothing of what the events mean. It never touches the user's tree.

mod archive;
mod chain;
mod folder;
mod heads;
mod keep;
mod line;
mod replies;
mod verify;

pub use archive::{Exported, Scope, export, import};
pub use chain::{Chain, EVENTS, EXACT, FileRef, GENESIS, Note, Record};
pub use folder::{RunFolder, Runs, run_id};
pub use heads::Head;
pub use keep::{Keeper, Permit};
pub use replies::{Pack, REPLIES, named, packed_form};
pub use verify::{Finding, Report, Seal, verify};
