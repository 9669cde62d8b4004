//! A person at a terminal who waits for output before they type on.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{Read, Write},
    process::ChildStdin,
    sync::{Arc, Mutex},
    thread,
};

use super::{
    site::{Running, Site, wait_telling},
    terminal::{line, line_on_a_terminal},
};

/// A person who types, and all output that they have seen.
pub(crate) struct Typist {
    running: Running,
    keys: ChildStdin,
    shown: Arc<Mutex<String>>,
    /// The end of the output that they have read.
    read: usize,
}

impl Typist {
    /// Starts the binary on a terminal. None if there is no program that makes one.
    pub(crate) fn start(site: &Site, arguments: &[&str]) -> Option<Self> {
        // A shell that gets Ctrl-C with its command reports it by its own exit code.
        let mut running = line_on_a_terminal(site, &format!("exec {}", line(site, arguments)))?;
        let keys = running.0.stdin.take().unwrap();
        let mut pipe = running.0.stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let all = Arc::clone(&shown);
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            let mut bytes = Vec::new();
            while let Ok(read @ 1..) = pipe.read(&mut chunk) {
                bytes.extend_from_slice(&chunk[..read]);
                *all.lock().unwrap() = without_controls(&String::from_utf8_lossy(&bytes));
            }
        });
        Some(Typist { running, keys, shown, read: 0 })
    }

    /// Types keys as they are.
    pub(crate) fn keys(&mut self, keys: &[u8]) -> &mut Self {
        self.keys.write_all(keys).unwrap();
        self.keys.flush().unwrap();
        self
    }

    /// Waits until unread output holds the text, and reads on from there.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> &mut Self {
        let find = || self.shown.lock().unwrap().get(self.read..).and_then(|shown| shown.find(text));
        let mut at = None;
        wait_telling(
            || format!("{text:?} is in:\n{}", self.shown.lock().unwrap()),
            || {
                at = find();
                at.is_some()
            },
        );
        self.read += at.unwrap_or_default() + text.len();
        self
    }

    /// Types a line and ends it. The prompt is drawn again with each key, so a test has to wait for the result of the line.
    pub(crate) fn types(&mut self, line: &str) -> &mut Self {
        self.keys(format!("{line}\r").as_bytes());
        self
    }

    /// Waits for the end; returns the exit code and all output.
    pub(crate) fn end(mut self) -> (i32, String) {
        let status = self.running.0.wait().unwrap();
        let shown = self.shown.lock().unwrap().clone();
        (status.code().unwrap_or(-1), shown)
    }
}

/// The text without sequences that move the cursor or change colours.
fn without_controls(text: &str) -> String {
    let sequence = regex::Regex::new("\u{1b}\\[[0-9;?]*[a-zA-Z]|\u{1b}[=>]|\r").unwrap();
    sequence.replace_all(text, "").into_owned()
}
