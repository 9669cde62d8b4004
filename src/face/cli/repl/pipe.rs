//! A session whose lines come through a pipe: script in, values out.

use std::{
    io::Stdin,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::{
    command,
    session::{Flow, Session},
};
use crate::face::cli::{Here, output::Output};
use base::error::{Code, Error};

/// The beginnings of lines that continue the line before, even if that is complete.
const GOES_ON: &[&str] = &[".", "?.", "??", "&&", "else", "catch"];

/// Nanoseconds between two checks for a wish to stop.
const PAUSE: i64 = 100_000_000;

/// Evaluates all of stdin, input by input: an input is as many lines as it needs to be complete.
pub(super) fn read_lines(here: &Here, session: &mut Session<'_>, out: &mut Output) -> Result<(), Error> {
    let mut lines = Lines::new(&here.context.options.cancel);
    let mut input = String::new();
    while let Some(line) = lines.take()? {
        if input.is_empty() && line.trim().is_empty() {
            continue;
        }
        input.push_str(&line);
        let is_whole = |input: &str| command::of(input).is_some() || session.is_complete(input);
        if lines.peek()?.is_some_and(goes_on) || !is_whole(&input) {
            input.push('\n');
            continue;
        }
        if session.input(&std::mem::take(&mut input), out)? == Flow::End {
            return Ok(());
        }
    }
    if !input.trim().is_empty() {
        session.input(&input, out)?;
    }
    Ok(())
}

/// True for a line that can't begin an input.
fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let is_word = |sign: &str| sign.ends_with(char::is_alphabetic);
    GOES_ON.iter().any(|sign| line.strip_prefix(sign).is_some_and(|rest| !is_word(sign) || ends(rest)))
}

/// The lines of stdin. A wish to stop ends the wait for a line.
struct Lines<'a> {
    stdin: Stdin,
    cancel: &'a AtomicBool,
    /// The bytes that were read and not taken.
    bytes: Vec<u8>,
    ended: bool,
}

impl<'a> Lines<'a> {
    fn new(cancel: &'a AtomicBool) -> Self {
        Lines { stdin: std::io::stdin(), cancel, bytes: Vec::new(), ended: false }
    }

    /// The next line without its end; none after the last.
    fn take(&mut self) -> Result<Option<String>, Error> {
        while self.end_of_line().is_none() && !self.ended {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::new(Code::Cancelled, "the session was cancelled"));
            }
            if self.is_ready(PAUSE) {
                self.read()?;
            }
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let end = self.end_of_line().unwrap_or(self.bytes.len());
        let line = text(&self.bytes[..end])?.to_owned();
        self.bytes.drain(..(end + 1).min(self.bytes.len()));
        Ok(Some(line))
    }

    /// The next line, if it has arrived: a client that writes line by line waits for the result of each.
    fn peek(&mut self) -> Result<Option<&str>, Error> {
        while self.end_of_line().is_none() && !self.ended && self.is_ready(0) {
            self.read()?;
        }
        let end = self.end_of_line().or_else(|| self.ended.then_some(self.bytes.len()));
        end.map(|end| text(&self.bytes[..end])).transpose()
    }

    fn end_of_line(&self) -> Option<usize> {
        memchr::memchr(b'\n', &self.bytes)
    }

    fn is_ready(&self, nanoseconds: i64) -> bool {
        let pause = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
        rustix::event::poll(&mut [PollFd::new(&self.stdin, PollFlags::IN)], Some(&pause)).unwrap_or(0) > 0
    }

    fn read(&mut self) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::io("stdin can't be read", &error);
        let mut chunk = [0; 8 << 10];
        let read = rustix::io::read(&self.stdin, &mut chunk).map_err(|errno| failed(errno.into()))?;
        self.bytes.extend_from_slice(&chunk[..read]);
        self.ended = read == 0;
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    let text = std::str::from_utf8(bytes).map(|line| line.strip_suffix('\r').unwrap_or(line));
    text.map_err(|_| Error::new(Code::InvalidInput, "stdin is not UTF-8").hint("scripts are UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_can_t_begin_belongs_to_the_one_before() {
        for line in ["  .len()", "?.x", "else {", "catch (e) {", "&& b", "?? 1"] {
            assert!(goes_on(line), "{line}");
        }
        for line in ["", "elsewhere = 1", "catches()", "|| 1", "x.y", ":diff"] {
            assert!(!goes_on(line), "{line}");
        }
    }
}
