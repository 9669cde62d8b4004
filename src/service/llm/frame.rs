//! Reads the events of a stream as they arrive, from any source of bytes.

use std::{collections::VecDeque, io::Read};

use super::{
    dialect::{Frame, Framing},
    error::{cancelled, of_failure},
    ndjson::Ndjson,
    sse::Sse,
};
use base::error::Error;
use system::net::{Cancel, Failure};

/// The largest single read.
const BUFFER: usize = 16 << 10;

/// The events of a stream.
pub(super) struct Frames<'a, R> {
    reader: R,
    parser: Parser,
    cancel: &'a Cancel,
    buffer: Vec<u8>,
    ready: VecDeque<Frame>,
    has_ended: bool,
}

enum Parser {
    Sse(Sse),
    Ndjson(Ndjson),
}

impl<'a, R: Read> Frames<'a, R> {
    /// Reads from here.
    pub(crate) fn new(reader: R, framing: Framing, cancel: &'a Cancel) -> Self {
        let parser = match framing {
            Framing::Sse => Parser::Sse(Sse::default()),
            Framing::Ndjson => Parser::Ndjson(Ndjson::default()),
        };
        Frames { reader, parser, cancel, buffer: vec![0; BUFFER], ready: VecDeque::new(), has_ended: false }
    }

    /// Reads once, which may wait.
    fn fill(&mut self) -> Result<(), Error> {
        let length = loop {
            match self.reader.read(&mut self.buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(of_failure(&Failure::of(&error))),
                Ok(length) => break length,
            }
        };
        let mut frames = Vec::new();
        if length > 0 {
            match &mut self.parser {
                Parser::Sse(sse) => sse.push(&self.buffer[..length], &mut frames)?,
                Parser::Ndjson(ndjson) => ndjson.push(&self.buffer[..length], &mut frames)?,
            }
        } else {
            self.has_ended = true;
            let finished = match &mut self.parser {
                Parser::Sse(sse) => sse.finish(&mut frames),
                Parser::Ndjson(ndjson) => ndjson.finish(&mut frames),
            };
            // Some servers forget the last line end. An incomplete event was cut off, and is dropped.
            frames.retain(|frame| finished.is_ok() && is_whole(&frame.data));
        }
        self.ready.extend(frames);
        Ok(())
    }
}

fn is_whole(data: &str) -> bool {
    data == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}

impl<R: Read> Iterator for Frames<'_, R> {
    type Item = Result<Frame, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.cancel.is_cancelled() {
                return Some(Err(cancelled()));
            }
            if let Some(frame) = self.ready.pop_front() {
                return Some(Ok(frame));
            }
            if self.has_ended {
                return None;
            }
            if let Err(error) = self.fill() {
                self.has_ended = true;
                return Some(Err(error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, framing: Framing) -> Vec<String> {
        let cancel = Cancel::default();
        Frames::new(text.as_bytes(), framing, &cancel).map(|frame| frame.unwrap().data).collect()
    }

    #[test]
    fn a_forgotten_line_end_is_forgiven_and_a_cut_event_is_none() {
        assert_eq!(all("data: 1\n\ndata: [DONE]", Framing::Sse), ["1", "[DONE]"]);
        assert_eq!(all("data: 1\n\ndata: {\"a\":", Framing::Sse), ["1"]);
        assert_eq!(all("{}\n{\"done\":true}", Framing::Ndjson), ["{}", "{\"done\":true}"]);
        assert_eq!(all("{}\n{\"done\":tr", Framing::Ndjson), ["{}"]);
    }
}
