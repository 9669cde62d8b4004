//! Texts about many books at once.

/// The title of a report.
pub fn title(year: u32, books: usize) -> String {
    format!("{} books in {}", books, year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_has_the_year() {
        assert_eq!(title(1815, 3), "3 books in 1815");
    }
}
