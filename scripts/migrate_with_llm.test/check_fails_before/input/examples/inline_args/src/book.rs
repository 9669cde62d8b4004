//! A book.

/// The title and author of a book.
pub struct Book {
    pub title: String,
    pub author: String,
}

impl Book {
    /// How the book is cited.
    pub fn citation(&self) -> String {
        format!("{}: {}", self.author, self.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_begins_with_the_author() {
        let book = Book { title: "Emma".to_string(), author: "Jane Austen".to_string() };
        assert_eq!(book.citation(), "Jane Austen: Emma");
    }
}
