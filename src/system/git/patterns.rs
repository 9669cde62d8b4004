//! The patterns of ignore and attribute files.

use std::{fs, path::Path};

use super::error::unknown;
use base::error::Error;

/// The limit of `**` in a pattern: each of them tries every folder of a path.
const MOST_STARS: usize = 6;

/// An error if a file has a pattern that could take for ever to match.
#[expect(clippy::disallowed_methods, reason = "the file is read as git reads it, and nothing of it is kept")]
pub(super) fn check_patterns(path: &Path) -> Result<(), Error> {
    let Ok(text) = fs::read(path) else { return Ok(()) };
    match text.split(|byte| *byte == b'\n').position(is_slow) {
        Some(at) => Err(unknown(&format!("line {} of `{}` has a pattern with too many `**`", at + 1, path.display()))),
        None => Ok(()),
    }
}

/// True for a pattern with more `**` than the limit. Adjacent stars count once, and a comment is not a pattern.
fn is_slow(line: &[u8]) -> bool {
    let stars = line.chunk_by(|one, next| one == next).filter(|run| run.starts_with(b"**")).count();
    !line.starts_with(b"#") && stars > MOST_STARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banner_is_no_slow_pattern() {
        for plain in ["# ** a ** b ** c ** d ** e ** f ** g **", "******************", "**/a/**/b", ""] {
            assert!(!is_slow(plain.as_bytes()), "{plain}");
        }
        assert!(is_slow("**/".repeat(7).as_bytes()) && is_slow("**/a/".repeat(40).as_bytes()));
    }
}
