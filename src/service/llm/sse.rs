//! Server-sent events (WHATWG): bytes in, in pieces of any size, events out.
//!
//! Byte order marks, all three line ends, comments and several lines of data are supported. Browsers replace invalid UTF-8;
//! here it is an error, since a reply may be a diff.

use memchr::memchr2;

use super::{
    dialect::Frame,
    error::{Kind, passing},
};
use base::error::Error;

/// The largest event.
pub(super) const MAX_EVENT: usize = 32 << 20;

/// Splits the body of an answer into events.
#[derive(Debug, Default)]
pub struct Sse {
    line: Vec<u8>,
    after_cr: bool,
    has_begun: bool,
    event: Option<String>,
    data: String,
    has_data: bool,
}

impl Sse {
    /// Takes bytes, and adds the events that they complete. A line of more than 32 MiB and invalid UTF-8 are errors.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), Error> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr2(b'\r', b'\n', bytes);
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() + self.data.len() > MAX_EVENT {
                return Err(too_long());
            }
            let Some(end) = end else { return Ok(()) };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.take_line(&line, out)?;
            // The buffer is reused.
            self.line = line;
            self.line.clear();
        }
        Ok(())
    }

    /// Ends the last event if it lacks its line end.
    pub fn finish(&mut self, out: &mut Vec<Frame>) -> Result<(), Error> {
        self.push(b"\n\n", out)
    }

    /// True if an event has begun. Comments are not events.
    pub(super) fn is_inside(&self) -> bool {
        self.has_data || !matches!(self.line.first(), None | Some(b':'))
    }

    fn take_line(&mut self, line: &[u8], out: &mut Vec<Frame>) -> Result<(), Error> {
        let text = std::str::from_utf8(line).map_err(|_| not_utf8())?;
        let text = match std::mem::replace(&mut self.has_begun, true) {
            true => text,
            false => text.strip_prefix('\u{feff}').unwrap_or(text),
        };
        if text.is_empty() {
            let event = self.event.take();
            if std::mem::take(&mut self.has_data) {
                out.push(Frame { event, data: std::mem::take(&mut self.data) });
            }
            return Ok(());
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "event" => self.event = Some(value.to_owned()),
            // Older versions of llama.cpp's server report errors so.
            "error" => {
                self.event = Some("error".to_owned());
                self.has_data = true;
                self.data.push_str(value);
            }
            // Comments have no name; other fields concern browsers.
            _ => {}
        }
        Ok(())
    }
}

/// The error for an implausibly long event or line.
pub(super) fn too_long() -> Error {
    passing(Kind::Server, format!("the server sends a line of more than {} MiB", MAX_EVENT >> 20))
}

/// The error for bytes that are not text.
pub(super) fn not_utf8() -> Error {
    passing(Kind::MalformedJson, "the server sends what is not UTF-8")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(pieces: &[&[u8]]) -> Result<Vec<Frame>, Error> {
        let (mut sse, mut out) = (Sse::default(), Vec::new());
        pieces.iter().try_for_each(|piece| sse.push(piece, &mut out))?;
        Ok(out)
    }

    fn frame(event: Option<&str>, data: &str) -> Frame {
        Frame { event: event.map(str::to_owned), data: data.to_owned() }
    }

    const ALL: &str = "\u{feff}:ping\r\n\r\n:\n\nevent: a\r\ndata: h\u{e9}\u{1F600}\r\ndata:  two\r\n\r\ndata\n\n\
                       event: none\n\ndata:{\"x\":1}\rid: 7\rretry: 5\r\rdata: [DONE]\n\n";

    #[test]
    fn comments_line_ends_and_several_lines_of_data_are_understood() {
        let expected = [
            frame(Some("a"), "h\u{e9}\u{1F600}\n two"),
            frame(None, ""),
            frame(None, "{\"x\":1}"),
            frame(None, "[DONE]"),
        ];
        assert_eq!(frames(&[ALL.as_bytes()]).unwrap(), expected);
    }

    #[test]
    fn cut_at_every_byte_it_gives_the_same_events() {
        let whole = frames(&[ALL.as_bytes()]).unwrap();
        for at in 0..ALL.len() {
            let (head, tail) = ALL.as_bytes().split_at(at);
            assert_eq!(frames(&[head, tail]).unwrap(), whole, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = ALL.as_bytes().chunks(1).collect();
        assert_eq!(frames(&bytes).unwrap(), whole);
    }

    proptest! {
        #[test]
        fn any_text_gives_the_same_events_however_it_is_cut(
            text in "(data|event|:|\\r|\\n|\\PC| |é|\u{1F600}){0,40}", size in 1_usize..9,
        ) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(frames(&pieces).unwrap(), frames(&[text.as_bytes()]).unwrap());
        }
    }

    #[test]
    fn a_field_that_is_an_error_is_an_event_of_that_name() {
        assert_eq!(frames(&[b"error: {\"code\":500}\n\n"]).unwrap(), [frame(Some("error"), "{\"code\":500}")]);
    }

    #[test]
    fn what_is_not_text_is_an_error() {
        assert!(frames(&[b"data: a\xffb\n\n"]).is_err());
        // Half of a character is invalid once its line ends.
        assert!(frames(&[b"data: \xc3", b"\n\n"]).is_err());
    }

    #[test]
    fn a_line_without_end_is_an_error() {
        let piece = vec![b'x'; 1 << 20];
        let (mut sse, mut out) = (Sse::default(), Vec::new());
        let refused = (0..64).find(|_| sse.push(&piece, &mut out).is_err());
        assert_eq!(refused, Some(32));
    }
}
