//! Prices in cents.

/// A price as it is written, such as `12.05`.
pub fn written(cents: u64) -> String {
    let (whole, rest) = (cents / 100, cents % 100);
    format!("{}.{:02}", whole, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cents_have_two_digits() {
        assert_eq!(written(1205), "12.05");
    }
}
