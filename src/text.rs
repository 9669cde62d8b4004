//! Text of unknown origin, made safe to be shown.

use std::any::Any;

/// How many characters of a foreign text an error quotes.
const QUOTED: usize = 400;

/// The text with control and bidirectional characters written as escapes, so that it can't move a cursor or reorder what
/// a person reads. Line feeds are escaped too, tabs are not; show lines one by one.
pub fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\t' && (c.is_control() || is_bidirectional(c)) {
            shown.extend(c.escape_unicode())
        } else {
            shown.push(c)
        }
    }
    shown
}

/// The beginning of a text, with a sign that it goes on.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text of unknown origin for an error: without what could deceive a reader, and cut.
pub fn quoted(text: &str) -> String {
    let text = text.trim();
    let mut shown = escape(&text.chars().take(QUOTED).collect::<String>());
    if text.chars().nth(QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

/// What a panic says.
pub fn of_panic(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_marked() {
        assert_eq!((shortened("äbc", 3), shortened("äbc", 2)), ("äbc".to_owned(), "äb…".to_owned()));
    }

    #[test]
    fn what_could_deceive_a_reader_is_visible() {
        assert_eq!(escape("a\u{1b}[2Jb\u{202e}c ü"), "a\\u{1b}[2Jb\\u{202e}c ü");
    }
}
