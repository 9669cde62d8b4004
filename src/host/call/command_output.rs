//! The end of what a command said, for people: without colours and secrets, and not too much of it.

use std::fmt::Write;

use anstream::adapter::strip_str;

use base::text::{counted, shortened};
use gate::secrets;
use system::process::sandbox::{Ended, Stream};

/// How many lines of each stream are told.
const LINES: usize = 20;

/// Characters of a line that are told.
const CHARACTERS: usize = 400;

/// The last lines of both streams; none if nothing was said. Control characters are for whoever shows them.
pub(crate) fn last_words(ended: &Ended, rules: &secrets::Rules) -> Option<String> {
    let streams = [("stdout", &ended.stdout), ("stderr", &ended.stderr)];
    let parts: Vec<String> = streams.iter().filter_map(|(name, stream)| part(name, stream, rules)).collect();
    Some(parts.join("\n")).filter(|text| !text.is_empty())
}

/// The end of one stream under its name.
fn part(name: &str, stream: &Stream, rules: &secrets::Rules) -> Option<String> {
    // What is cut off might be a part of a secret, of which the rest would not be found: secrets go first.
    let text = super::command_output::text(stream);
    let plain = strip_str(&text).to_string();
    let shown = secrets::redact(plain.trim_end(), rules);
    let lines: Vec<&str> = shown.lines().map(overwritten).collect();
    if lines.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let from = lines.len().saturating_sub(LINES);
    let head = if from > 0 || stream.tail.is_some() {
        format!("{name}, its last {}:", counted(lines.len() - from, "line"))
    } else {
        format!("{name}:")
    };
    let told = lines[from..].iter().map(|line| shortened(line, CHARACTERS));
    Some(std::iter::once(head).chain(told).collect::<Vec<_>>().join("\n"))
}

/// Returns the text that a terminal shows at the end of a line that was overwritten.
fn overwritten(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}

/// A stream as text; of a long one the head and the tail, with a line between them that says what is missing.
pub(crate) fn text(stream: &Stream) -> String {
    let mut text = String::from_utf8_lossy(&stream.head).into_owned();
    if let Some(tail) = &stream.tail {
        let left_out = stream.length.saturating_sub((stream.head.len() + tail.len()) as u64);
        let _ = write!(text, "\n[{left_out} bytes are left out here]\n");
        text.push_str(&String::from_utf8_lossy(tail));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gate::Rules;

    fn told(said: &str) -> Option<String> {
        let stream = Stream { head: said.as_bytes().to_vec(), length: said.len() as u64, ..Stream::default() };
        part("stderr", &stream, Rules::built_in().secrets())
    }

    #[test]
    fn the_last_lines_are_told_without_colours_secrets_and_what_was_written_over() {
        assert_eq!(told("\n \n"), None);
        assert_eq!(told("1 %\r50 %\r100 %\r\n\u{1b}[31mwrong\u{1b}[0m\n").unwrap(), "stderr:\n100 %\nwrong");
        let many: String = (1..=50).map(|n| format!("line {n}\n")).collect();
        let text = told(&many).unwrap();
        assert!(text.starts_with("stderr, its last 20 lines:\nline 31\n") && text.ends_with("\nline 50"), "{text}");
        let token = ["ghp", "_", "Kq3vT9wZx2LmN8rB5cYd", "H7jP4sFgA6uEoR1i"].concat();
        let text = told(&format!("gh\u{1b}[1m\u{1b}[0m\ntoken {}\u{1b}[1m{}\n", &token[..9], &token[9..])).unwrap();
        assert!(!text.contains(&token[4..12]) && text.contains("[redacted "), "{text}");
        assert_eq!(told(&"x".repeat(1000)).unwrap().chars().count(), "stderr:\n".len() + CHARACTERS + 1);
    }
}
