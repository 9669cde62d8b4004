//! Bounds of lists of globs: compiled, a list takes memory for each of its globs and for each of their special characters.

/// Globs that a list may have.
const MOST_ENTRIES: usize = 10_000;
/// Bytes that the globs of a list may have together.
const MOST_BYTES: usize = 1 << 20;
/// Special characters that the globs of a list may have together.
const MOST_SPECIAL: usize = 1 << 16;

/// Checks a list before it is compiled; an error is a phrase that follows the name of the list's owner.
pub fn check<S: AsRef<str>>(globs: &[S]) -> Result<(), String> {
    let sum = |count: fn(&str) -> usize| globs.iter().map(|glob| count(glob.as_ref())).sum::<usize>();
    let special = |glob: &str| glob.bytes().filter(|byte| b"*?[{,".contains(byte)).count();
    let sizes = [
        (globs.len(), MOST_ENTRIES, "entries"),
        (sum(str::len), MOST_BYTES, "bytes"),
        (sum(special), MOST_SPECIAL, "special characters"),
    ];
    match sizes.into_iter().find(|(found, most, _)| found > most) {
        None => Ok(()),
        Some((found, most, what)) => Err(format!("has {found} {what}, and may have {most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_take_too_much_memory_are_refused() {
        let many: Vec<String> = (0..10_001).map(|n| format!("a{n}/**/*.html")).collect();
        check(&many[1..]).unwrap();
        check(&["?".repeat(1 << 16)]).unwrap();
        let long = ["a".repeat((1 << 20) + 1)];
        let special = ["?".repeat(1 << 16), "!*".to_owned()];
        let refused = [
            (&many[..], "has 10001 entries, and may have 10000"),
            (&long, "has 1048577 bytes, and may have 1048576"),
            (&special, "has 65537 special characters, and may have 65536"),
        ];
        for (globs, said) in refused {
            assert_eq!(check(globs).unwrap_err(), said);
        }
    }
}
