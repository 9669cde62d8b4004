//! Assignments before a command, and those that declare a list.

use super::{
    Assignment, Simple, Word,
    parser::{ENDS, Parsed, Parser},
};

impl Parser<'_> {
    /// True if `NAME=(` or `NAME+=(` is next.
    pub(super) fn ahead_of_list(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        name > 0 && (rest[name..].starts_with(b"=(") || rest[name..].starts_with(b"+=("))
    }

    /// `NAME=`, `NAME+=`, `NAME[…]=`, with a value or a list in parentheses.
    pub(super) fn assignment(&mut self, simple: &mut Simple) -> Parsed<bool> {
        let rest = &self.bytes[self.at..];
        let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        if name == 0 || rest[0].is_ascii_digit() {
            return Ok(false);
        }
        let start = self.at;
        self.at += name;
        let index = if self.peek() == Some(b'[') { self.index().ok() } else { Some(Word::default()) };
        let appends = self.take("+");
        let Some(index) = index.filter(|_| self.take("=")) else {
            self.spend(self.at - start)?;
            self.at = start;
            return Ok(false);
        };
        let place = index.bare().and_then(|text| text.parse().ok());
        let name = self.text[start..start + name].to_owned();
        let mut assignment = Assignment { name, appends, place, index, ..Assignment::default() };
        if self.take("(") {
            assignment.is_list = true;
            loop {
                self.lines()?;
                if self.take(")") {
                    simple.assignments.push(assignment);
                    return Ok(true);
                }
                assignment.values.push(self.word()?);
            }
        }
        let ends = |byte: u8| ENDS[usize::from(byte)];
        let word =
            if self.peek().is_none_or(ends) && !self.ahead_of_process() { Word::default() } else { self.word()? };
        assignment.values.push(word);
        simple.assignments.push(assignment);
        Ok(true)
    }
}
