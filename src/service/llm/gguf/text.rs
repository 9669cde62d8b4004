//! From the bytes of tokens to text that may be passed on: whole characters, and nothing of a text at which the reply ends.

/// Whether there may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    More,
    Stop,
}

/// The text so far.
#[derive(Debug)]
pub(super) struct Text<'a> {
    stops: &'a [String],
    /// Bytes of a character of which not all are there.
    bytes: Vec<u8>,
    text: String,
    passed_on: usize,
    has_stopped: bool,
}

impl<'a> Text<'a> {
    pub(super) fn new(stops: &'a [String]) -> Self {
        Text { stops, bytes: Vec::new(), text: String::new(), passed_on: 0, has_stopped: false }
    }

    /// Adds what a token says.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Next {
        self.bytes.extend_from_slice(bytes);
        let mut rest = &self.bytes[..];
        while !rest.is_empty() {
            let (valid, after) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, &[][..]),
                Err(error) => {
                    let (valid, wrong) = rest.split_at(error.valid_up_to());
                    self.text.push_str(&String::from_utf8_lossy(valid));
                    let Some(length) = error.error_len() else {
                        rest = wrong;
                        break;
                    };
                    ("\u{fffd}", &wrong[length..])
                }
            };
            self.text.push_str(valid);
            rest = after;
        }
        self.bytes = rest.to_vec();
        let found = self.stops.iter().filter_map(|stop| Some(self.passed_on + self.text[self.passed_on..].find(stop)?));
        if let Some(at) = found.min() {
            self.text.truncate(at);
            self.bytes.clear();
            self.has_stopped = true;
            return Next::Stop;
        }
        Next::More
    }

    /// What may be passed on and was not: without an end that may be the beginning of a stop.
    pub(super) fn news(&mut self) -> Option<&str> {
        let new = &self.text[self.passed_on..];
        let held = if self.has_stopped { 0 } else { self.stops.iter().map(|stop| held(new, stop)).max().unwrap_or(0) };
        let from = std::mem::replace(&mut self.passed_on, self.text.len() - held);
        (from < self.passed_on).then(|| &self.text[from..self.passed_on])
    }

    /// The whole text, and what of it was not passed on.
    pub(super) fn end(mut self) -> (String, String) {
        self.text.push_str(&String::from_utf8_lossy(&self.bytes));
        let rest = self.text[self.passed_on..].to_owned();
        (self.text, rest)
    }
}

/// How many bytes at the end of a text are the beginning of a stop.
fn held(text: &str, stop: &str) -> usize {
    let lengths = stop.char_indices().map(|(at, _)| at);
    lengths.filter(|length| text.ends_with(&stop[..*length])).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stops: &[&str], tokens: &[&[u8]], pieces: &[&str], rest: &str, stopped: bool) {
        let stops: Vec<String> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut text = Text::new(&stops);
        let mut told = Vec::new();
        let mut last = Next::More;
        for token in tokens {
            last = text.push(token);
            told.extend(text.news().map(str::to_owned));
        }
        assert_eq!(
            (told.iter().map(String::as_str).collect::<Vec<_>>(), last == Next::Stop),
            (pieces.to_vec(), stopped)
        );
        assert_eq!(text.end(), (pieces.concat() + rest, rest.to_owned()));
    }

    #[test]
    fn characters_are_whole() {
        check(&[], &[b"a", b"\xc3", b"\xa9b", b"\xe2\x82", b"\xac"], &["a", "éb", "€"], "", false);
        check(&[], &[b"\xff\xc3(", b"ok\xc3"], &["\u{fffd}\u{fffd}(", "ok"], "\u{fffd}", false);
    }

    #[test]
    fn nothing_of_a_stop_is_passed_on() {
        check(&["END"], &[b"abE", b"N", b"D and more"], &["ab"], "", true);
        check(&["END", "\n\n"], &[b"a\n", b"b\n", b"\nEND"], &["a", "\nb"], "", true);
        check(&["END"], &[b"E", b"EN", b"x", b"EN"], &["E", "ENx"], "EN", false);
        check(&["éé"], &["é".as_bytes(), b"a", b"\xc3\xa9\xc3", b"\xa9"], &["éa"], "", true);
    }
}
