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
    /// True if the bytes ended inside of an event.
    is_cut: bool,
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
        Frames {
            reader,
            parser,
            cancel,
            buffer: vec![0; BUFFER],
            ready: VecDeque::new(),
            has_ended: false,
            is_cut: false,
        }
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
            let (is_inside, finished) = match &mut self.parser {
                Parser::Sse(sse) => (sse.is_inside(), sse.finish(&mut frames)),
                Parser::Ndjson(ndjson) => (ndjson.is_inside(), ndjson.finish(&mut frames)),
            };
            // Some servers forget the last line end. An incomplete event was cut off, and is dropped.
            frames.retain(|frame| finished.is_ok() && is_whole(frame));
            self.is_cut = is_inside && frames.is_empty();
        }
        self.ready.extend(frames.into_iter().flat_map(events));
        Ok(())
    }
}

fn is_whole(frame: &Frame) -> bool {
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    frame.is_done() || is_json(&frame.data) || lines(frame).all(|line| line.is_done() || is_json(&line.data))
}

/// The lines of an event, each as one.
fn lines(frame: &Frame) -> impl Iterator<Item = Frame> {
    frame.data.lines().map(|line| Frame { event: frame.event.clone(), data: line.to_owned() })
}

/// Splits events that arrive as one, because some servers omit the empty line between events.
fn events(frame: Frame) -> Vec<Frame> {
    let is_several = frame.data.contains('\n') && frame.json().is_err() && lines(&frame).all(|line| is_whole(&line));
    if is_several { lines(&frame).collect() } else { vec![frame] }
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
                return std::mem::take(&mut self.is_cut).then(|| Err(of_failure(&Failure::Closed)));
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

    fn all(text: &str, framing: Framing) -> Vec<Option<String>> {
        let cancel = Cancel::default();
        Frames::new(text.as_bytes(), framing, &cancel).map(|frame| frame.ok().map(|frame| frame.data)).collect()
    }

    #[test]
    fn a_forgotten_line_end_is_forgiven_and_a_cut_event_is_an_error() {
        for (text, framing, expected) in [
            ("data: 1\n\ndata: [DONE]", Framing::Sse, [Some("1"), Some("[DONE]")]),
            ("data: 1\n\ndata: {\"a\":", Framing::Sse, [Some("1"), None]),
            ("data: 1\n\ndata: [DON", Framing::Sse, [Some("1"), None]),
            ("data: 1\n\ndat", Framing::Sse, [Some("1"), None]),
            ("{}\n{\"done\":true}", Framing::Ndjson, [Some("{}"), Some("{\"done\":true}")]),
            ("{}\n{\"done\":tr", Framing::Ndjson, [Some("{}"), None]),
            ("{}\n\u{e9}", Framing::Ndjson, [Some("{}"), None]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|data| data.map(str::to_owned)).collect();
            assert_eq!(all(text, framing), expected, "{text}");
        }
        assert_eq!(all("data: 1\n\n: a comment", Framing::Sse), [Some("1".to_owned())]);
    }
}
