//! Protection against commands for CI services, which they read from a job's output. Text of scripts, commands, models and files
//! must not be taken for one.

use std::{borrow::Cow, io::IsTerminal, sync::OnceLock};

use anstream::adapter::strip_str;

use host::is_on;

/// Variables that a CI service sets.
const SERVICES: &[&str] = &["CI", "GITHUB_ACTIONS", "GITLAB_CI", "TEAMCITY_VERSION", "TF_BUILD", "TRAVIS"];

/// Words at the beginning of a line that a service takes for a command, even after white space.
const AT_START: &[&str] = &["::", "travis_fold:", "travis_time:"];

/// True if the environment says that a service reads the output.
fn reads_along() -> bool {
    static READS_ALONG: OnceLock<bool> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| is_on(&value.to_string_lossy()));
    // A process has one environment.
    *READS_ALONG.get_or_init(|| SERVICES.iter().any(is_set))
}

/// A text without commands for a service; the same text outside a service.
pub(super) fn text(text: Cow<'_, str>) -> Cow<'_, str> {
    if holds_command(&text) && reads_along() { Cow::Owned(without_commands(&text)) } else { text }
}

/// The same JSON value without commands for a service.
pub(super) fn json(text: String) -> String {
    if text.contains("##") && reads_along() { text.replace("##", "\\u0023\\u0023") } else { text }
}

/// Bytes in the form of [`text`], unless stdout is a file, which no service reads.
pub(super) fn bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let is_file = || {
        rustix::fs::fstat(std::io::stdout())
            .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file())
    };
    match std::str::from_utf8(bytes) {
        Ok(plain) if !std::io::stdout().is_terminal() && !is_file() => match text(Cow::Borrowed(plain)) {
            Cow::Borrowed(_) => Cow::Borrowed(bytes),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
        Ok(_) => Cow::Borrowed(bytes),
        Err(_) => lossless(bytes),
    }
}

/// Escapes the UTF-8 parts of bytes that are not UTF-8 as a whole.
fn lossless(bytes: &[u8]) -> Cow<'_, [u8]> {
    let chunks = bytes.utf8_chunks().flat_map(|chunk| {
        let plain = text(Cow::Borrowed(chunk.valid())).into_owned().into_bytes();
        plain.into_iter().chain(chunk.invalid().iter().copied()).collect::<Vec<u8>>()
    });
    Cow::Owned(chunks.collect())
}

fn holds_command(text: &str) -> bool {
    text.contains("##") || AT_START.iter().any(|word| text.contains(word)) || text.contains("\u{1b}[0Ksection_")
}

/// Breaks the form of each line that could be a command: `│` is put before it, and a space after `##`.
fn without_commands(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive(['\n', '\r']) {
        // Colours are removed later where there is no terminal.
        let plain = strip_str(line).to_string();
        let bare = plain.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}');
        if AT_START.iter().any(|word| bare.starts_with(word)) {
            shown.push_str("│ ");
        }
        shown.push_str(&parted(line).replace("\u{1b}[0Ksection_", "\\u{1b}[0Ksection_"));
    }
    shown
}

/// A line whose `##word[` is `## word[`.
fn parted(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("##") {
        let (before, after) = rest.split_at(at + 1);
        shown.push_str(before);
        let word = after[1..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        rest = after;
        if word.starts_with('[') {
            shown.push_str("# ");
            rest = &after[1..];
        }
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_begins_a_command_of_a_service() {
        let said = "::set-output name=a::b\n  ::stop-commands::x\r::error::y\n\tfine :: here\n##vso[task.x]y ##[error]z\n\
                    a ##teamcity[x]\n## Heading [link]\ntravis_fold:start:a\n###[group]\n";
        let shown = without_commands(said);
        let expected = "│ ::set-output name=a::b\n│   ::stop-commands::x\r│ ::error::y\n\tfine :: here\n## vso[task.x]y ## [error]z\n\
                        a ## teamcity[x]\n## Heading [link]\n│ travis_fold:start:a\n### [group]\n";
        assert_eq!(shown, expected);
        assert_eq!(without_commands("\u{1b}[1m::error::x"), "│ \u{1b}[1m::error::x");
        assert_eq!(without_commands("\u{1b}[0Ksection_start:1:x\n"), "\\u{1b}[0Ksection_start:1:x\n");
    }
}
