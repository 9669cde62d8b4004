//! The bound on the size of a reply.

use base::error::{Code, Error};

/// The hint for a reply that is too large.
pub(super) const ASK_FOR_LESS: &str = "ask for less at once, or raise `script.limits.reply_bytes` in `nrv.toml`";

/// The error for something that does not fit into a reply.
pub(super) fn too_large(what: &str, size: u64, most: u64) -> Error {
    let message = format!("{what} has {size} bytes, and a reply may have {most}");
    Error::new(Code::Unreadable, message)
        .detail("size", size)
        .detail("most", most)
        .detail("limit", "script.limits.reply_bytes")
}
