//! A shelf.

/// The label of a shelf: its room, and its number in three digits.
pub fn label(room: &str, number: u32) -> String {
    format!("{}-{:03}", room, number)
}

/// The message that a shelf is full.
pub fn full(room: &str, number: u32) -> String {
    let label = label(room, number);
    format!("the shelf {} is full", label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_shelf_is_named() {
        assert_eq!(full("B", 7), "the shelf B-007 is full");
    }
}
