//! Estimates a text's share of a model's context without the tokenizer.

use base::{
    error::{Code, Error},
    text::counted,
};

/// The kind of a byte.
#[derive(Clone, Copy)]
enum Kind {
    /// An ASCII letter.
    Letter,
    /// A blank.
    Blank,
    /// Other white space.
    Space,
    /// A byte of a character beyond ASCII.
    Other,
    /// A digit or a sign.
    Sign,
}

/// The kinds of bytes, by value.
const KINDS: [u8; 256] = kinds();

/// The transition after a byte of a kind, by the state before it: the next state, and [`TOKEN`] if a token begins.
///
/// The states count within a run: letters in fives, bytes beyond ASCII in twos, and white space up to one blank.
const STEPS: [[u8; 8]; 16] = steps();

/// The bit of a step that begins a token.
const TOKEN: u8 = 1 << 7;

/// Letters of a token.
const LETTERS: u8 = 5;

/// The first state of each run: letters are 0 to 4, bytes beyond ASCII 5 and 6.
const OTHER: u8 = LETTERS;
const ONE_BLANK: u8 = OTHER + 2;
const WHITE: u8 = ONE_BLANK + 1;
const SIGN: u8 = WHITE + 1;

/// The estimated number of a text's tokens. It depends on the text alone, and tends to be too high.
///
/// Five letters, two bytes beyond ASCII, one digit or one sign are a token, as is white space beyond a single blank.
pub fn estimate(text: &str) -> u64 {
    let (mut tokens, mut state) = (0, SIGN);
    for byte in text.bytes() {
        let step = STEPS[usize::from(state & 15)][usize::from(KINDS[usize::from(byte)] & 7)];
        tokens += u64::from(step >> 7);
        state = step & !TOKEN;
    }
    tokens
}

const fn kinds() -> [u8; 256] {
    let mut kinds = [Kind::Sign as u8; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Kind::Letter as u8,
            b' ' => Kind::Blank as u8,
            b'\t' | b'\n' | b'\r' => Kind::Space as u8,
            128.. => Kind::Other as u8,
            _ => Kind::Sign as u8,
        };
        byte += 1;
    }
    kinds
}

const fn steps() -> [[u8; 8]; 16] {
    let mut steps = [[0; 8]; 16];
    let mut state = 0;
    while state <= SIGN {
        let step = &mut steps[state as usize];
        step[Kind::Letter as usize] = if state < LETTERS - 1 { state + 1 } else { TOKEN };
        step[Kind::Other as usize] = if state == OTHER { OTHER + 1 } else { OTHER | TOKEN };
        // A second blank makes one token with the first; a third adds none.
        step[Kind::Blank as usize] = match state {
            ONE_BLANK => WHITE | TOKEN,
            WHITE => WHITE,
            _ => ONE_BLANK,
        };
        step[Kind::Space as usize] = if state == WHITE { WHITE } else { WHITE | TOKEN };
        step[Kind::Sign as usize] = SIGN | TOKEN;
        state += 1;
    }
    steps
}

/// Checks that a prompt and its reply fit a model's context, all in tokens; `invalid_input` with the three numbers if not.
pub fn check_fit(estimate: u64, reply: u64, context: u64) -> Result<(), Error> {
    if estimate.saturating_add(reply) <= context {
        return Ok(());
    }
    let message = format!(
        "the prompt takes about {} and its reply up to {reply}, which is more than the {context} of the model",
        counted(estimate, "token")
    );
    Err(Error::new(Code::InvalidInput, message)
        .detail("field", "context")
        .detail("estimate", estimate)
        .detail("max_tokens", reply)
        .detail("limit", context)
        .hint("put less into the context, ask in several requests, or name a model with a larger context"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_of_the_text_alone() {
        for (text, expected) in [
            ("", 0),
            ("word", 1),
            ("words words", 2),
            ("longer", 2),
            ("a1b", 3),
            ("{\"a\": 12}", 8),
            ("a\n\n    b", 3),
            ("a  b", 3),
            ("a \nb   ", 4),
            ("fivesfivesx", 3),
            ("é", 1),
            ("語語", 3),
        ] {
            assert_eq!(estimate(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_does_not_fit_says_by_how_much() {
        check_fit(90, 10, 100).unwrap();
        let error = check_fit(91, 10, 100).unwrap_err();
        let details = error.details();
        assert_eq!(error.code(), Code::InvalidInput);
        assert_eq!(
            (&details["estimate"], &details["max_tokens"], &details["limit"]),
            (&91.into(), &10.into(), &100.into())
        );
        check_fit(u64::MAX, 1, 100).unwrap_err();
    }
}
