//! The blocks of MDX, as far as they say where a line's text begins: quotes, items of lists and fenced code.

use std::ops::Range;

/// The limit of containers inside each other.
const DEEPEST: usize = 100;
/// The limit of digits in the number of an item.
const MOST_DIGITS: usize = 9;

/// A container around a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Quote,
    /// An item of a list: the columns before its text, in the source and in the masked text.
    Item {
        width: usize,
        own: usize,
    },
}

/// A place in a line, with the columns of a tab that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    line: &'a [u8],
    pub(super) at: usize,
    column: usize,
    spare: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a line without its end.
    pub(super) fn of(line: &'a [u8]) -> Self {
        Cursor { line, at: 0, column: 0, spare: 0 }
    }

    /// The rest of the line behind white space.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.line[self.at..].trim_ascii_start()
    }

    fn is_blank(&self) -> bool {
        self.rest().is_empty()
    }

    /// The columns of white space before the rest.
    fn indent(&self) -> usize {
        let mut other = *self;
        other.skip(usize::MAX)
    }

    /// Skips white space of up to that many columns, and returns their number.
    fn skip(&mut self, most: usize) -> usize {
        let mut skipped = self.spare.min(most);
        self.spare -= skipped;
        while skipped < most {
            let width = match self.line.get(self.at) {
                Some(b' ') => 1,
                Some(b'\t') => 4 - self.column % 4,
                _ => break,
            };
            self.at += 1;
            self.column += width;
            let taken = width.min(most - skipped);
            (skipped, self.spare) = (skipped + taken, width - taken);
        }
        skipped
    }

    /// Goes to the rest of the line; the columns of white space before it.
    fn skip_space(&mut self) -> usize {
        self.skip(usize::MAX)
    }

    /// Goes to the rest of the line; its place.
    pub(super) fn rest_at(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    fn take(&mut self, length: usize) {
        self.at += length;
        self.column += length;
    }

    /// Skips what a container needs on each of its lines; false if it is not there.
    fn passes(&mut self, container: Container) -> bool {
        match container {
            Container::Quote => {
                let mut inside = *self;
                inside.skip_space();
                if inside.line.get(inside.at) != Some(&b'>') {
                    return false;
                }
                inside.take(1);
                inside.skip(1);
                *self = inside;
            }
            Container::Item { width, .. } => {
                if self.is_blank() {
                    return true;
                }
                if self.indent() < width {
                    return false;
                }
                self.skip(width);
            }
        }
        true
    }

    /// Skips what the containers need; the number of those that go on.
    pub(super) fn pass(&mut self, containers: &[Container]) -> usize {
        containers.iter().take_while(|container| self.passes(**container)).count()
    }

    /// Takes the mark of a container that begins here, and writes it. An item that interrupts a paragraph has a text, and the
    /// number 1.
    pub(super) fn begin(&mut self, interrupts: bool, depth: usize) -> Option<(Container, Vec<u8>)> {
        let mut inside = *self;
        let indent = inside.skip_space();
        let rest = inside.rest();
        if depth >= DEEPEST || is_break(rest) {
            return None;
        }
        if rest.first() == Some(&b'>') {
            inside.take(1);
            inside.skip(1);
            *self = inside;
            return Some((Container::Quote, b"> ".to_vec()));
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length = match rest.get(digits)? {
            b'-' | b'+' | b'*' if digits == 0 => 1,
            b'.' | b')' if (1..=MOST_DIGITS).contains(&digits) => digits + 1,
            _ => return None,
        };
        let is_number = digits > 0 && rest[..digits].iter().fold(0, |n, byte| n * 10 + u64::from(byte - b'0')) != 1;
        let is_empty = rest[length..].trim_ascii().is_empty();
        if !matches!(rest.get(length), None | Some(b' ' | b'\t')) || (interrupts && (is_number || is_empty)) {
            return None;
        }
        inside.take(length);
        let gap = if is_empty { 1 } else { inside.skip_space() };
        *self = inside;
        let mark = [&rest[..length], b" "].concat();
        Some((Container::Item { width: indent + length + gap, own: length + 1 }, mark))
    }
}

/// The marks that a line needs in the masked text to be in some containers.
pub(super) fn margin(containers: &[Container]) -> Vec<u8> {
    let mark = |container: &Container| match container {
        Container::Quote => b"> ".to_vec(),
        Container::Item { own, .. } => vec![b' '; *own],
    };
    containers.iter().flat_map(mark).collect()
}

/// The sign and the length of a fence that opens code.
pub(super) fn fence(rest: &[u8]) -> Option<(u8, usize)> {
    let sign = *rest.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = rest.iter().take_while(|byte| **byte == sign).count();
    (length >= 3 && !(sign == b'`' && rest[length..].contains(&b'`'))).then_some((sign, length))
}

/// True if a line closes such code.
pub(super) fn is_closing(rest: &[u8], (sign, length): (u8, usize)) -> bool {
    let rest = rest.trim_ascii();
    rest.len() >= length && rest.iter().all(|byte| *byte == sign)
}

/// True for a line between parts.
pub(super) fn is_break(rest: &[u8]) -> bool {
    let mut signs = rest.iter().filter(|byte| !byte.is_ascii_whitespace());
    let Some(first) = signs.next().filter(|byte| matches!(byte, b'-' | b'*' | b'_')) else { return false };
    signs.clone().count() >= 2 && signs.all(|byte| byte == first)
}

/// True for a heading.
pub(super) fn is_heading(rest: &[u8]) -> bool {
    let level = rest.iter().take_while(|byte| **byte == b'#').count();
    (1..=6).contains(&level) && matches!(rest.get(level), None | Some(b' ' | b'\t' | b'\r'))
}

/// True for a line that can't go on a paragraph.
pub(super) fn interrupts(rest: &[u8]) -> bool {
    rest.is_empty() || is_heading(rest) || is_break(rest) || fence(rest).is_some()
}

/// The line that begins there, without its end, and the beginning of the next one.
pub(super) fn line(bytes: &[u8], start: usize) -> (Range<usize>, usize) {
    let end = memchr::memchr2(b'\n', b'\r', &bytes[start..]).map_or(bytes.len(), |length| start + length);
    let next = match bytes.get(end..) {
        Some([b'\r', b'\n', ..]) => end + 2,
        Some([]) | None => end,
        Some(_) => end + 1,
    };
    (start..end, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_need_their_marks() {
        let begun = |line: &str| {
            let mut cursor = Cursor::of(line.as_bytes());
            let found = cursor.begin(false, 0).map(|(container, _)| container);
            (found, cursor.rest().len())
        };
        assert_eq!(begun(" > a"), (Some(Container::Quote), 1));
        assert_eq!(begun("      -    a"), (Some(Container::Item { width: 11, own: 2 }), 1));
        assert_eq!(begun("12) a"), (Some(Container::Item { width: 4, own: 4 }), 1));
        assert_eq!(begun("-"), (Some(Container::Item { width: 2, own: 2 }), 0));
        for line in ["- - -", "-a", "1.a", "a", "1234567890. a", "", "***"] {
            assert_eq!(begun(line).0, None, "{line}");
        }
        let mut tab = Cursor::of(b"> \ta");
        assert_eq!(tab.pass(&[Container::Quote, Container::Item { width: 2, own: 2 }]), 2);
        assert_eq!(Cursor::of(b" a").pass(&[Container::Item { width: 2, own: 2 }]), 0);
    }
}
