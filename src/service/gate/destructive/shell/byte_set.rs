//! Sets of bytes, for searches in lines.

/// A set of bytes: true for each member.
pub(super) type Bytes = [bool; 256];

/// The set of some bytes.
pub(super) const fn bytes(some: &[u8]) -> Bytes {
    let (mut table, mut at) = ([false; 256], 0);
    while at < some.len() {
        table[some[at] as usize] = true;
        at += 1;
    }
    table
}
