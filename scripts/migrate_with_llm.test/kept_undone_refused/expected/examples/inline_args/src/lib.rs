//! A small library of books: what it holds, what it says of that, and what it costs.

pub mod book;
pub mod price;
pub mod report;
pub mod shelf;
