//! Places in sources, also those that the syntax tree does not know.

use rhai::{NativeCallContext, Position};

use base::error::{Error, Location};

/// A place in a source.
pub(super) fn location(path: &str, position: Position) -> Option<Location> {
    Some(Location { path: path.to_owned(), line: position.line()?, column: position.position().unwrap_or(1).max(1) })
}

/// The error with its place, if that is known.
pub(super) fn at(error: Error, path: &str, position: Position) -> Error {
    match location(path, position) {
        Some(place) => error.at(place),
        None => error,
    }
}

/// The place of a call that a native function makes.
pub(super) fn of_call(ctx: &NativeCallContext<'_>) -> Option<Location> {
    let position: Position = ctx.call_position();
    location(ctx.call_source().unwrap_or_default(), position)
}

/// The last place of a word before a position: functions and parameters have no place of their own.
pub(super) fn before(text: &str, position: Position, word: &str) -> Position {
    let (Some(line), Some(column)) = (position.line(), position.position()) else { return position };
    let upper = line.saturating_sub(8);
    for (number, content) in text.lines().enumerate().take(line).skip(upper).collect::<Vec<_>>().into_iter().rev() {
        let end = if number + 1 == line { column.saturating_sub(1) } else { usize::MAX };
        let cut: String = content.chars().take(end).collect();
        let mut hits = cut
            .rmatch_indices(word)
            .filter(|(at, _)| !cut[..*at].ends_with(is_word) && !cut[at + word.len()..].starts_with(is_word));
        if let Some((at, _)) = hits.next() {
            let (line, column) = (u16::try_from(number + 1), u16::try_from(cut[..at].chars().count() + 1));
            if let (Ok(line), Ok(column)) = (line, column) {
                return Position::new(line, column);
            }
        }
    }
    position
}

/// The character at a place.
pub(super) fn character(text: &str, position: Position) -> Option<char> {
    let line = text.lines().nth(position.line()?.checked_sub(1)?)?;
    line.chars().nth(position.position()?.checked_sub(1)?)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
