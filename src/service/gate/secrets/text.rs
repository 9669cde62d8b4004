//! The form of bytes: classes, entropy, fillers and words. Bytes, not characters: files need not be UTF-8.

/// Letters and digits of ASCII.
pub(super) fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// True for a character of identifiers.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Shannon's entropy, in bits a byte.
pub(super) fn entropy(text: &[u8]) -> f32 {
    let mut counts = [0u16; 256];
    let text = &text[..text.len().min(usize::from(u16::MAX))];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    let length = text.len() as f32;
    let bits = |count: &u16| {
        let share = f32::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}

/// True for a placeholder of a secret: crosses, stars, dots, or words for one.
pub(super) fn is_filler(text: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"example",
        b"placeholder",
        b"redacted",
        b"changeme",
        b"change_me",
        b"change-me",
        b"changeit",
        b"your@",
        b"your_",
        b"your-",
        b"yourtoken",
        b"yourkey",
        b"yoursecret",
        b"yourpassword",
        b"insert_",
        b"insert-",
        b"_here",
        b"-here",
        b"replace_",
        b"replaceme",
        b"replace-",
        b"dummy",
        b"foobar",
        b"todo",
        b"0123456789abcdef",
        b"lorem",
    ];
    longest_run(text, |byte| matches!(byte, b'x' | b'X' | b'*' | b'.' | b'?' | b'#')) >= 6
        || text.iter().all(|byte| *byte == text[0])
        || memchr::memmem::find(text, b"...").is_some()
        || WORDS.iter().any(|word| contains(text, word))
}

/// True for hex digits in both cases, which people write but programs do not print.
pub(super) fn is_mixed_hex(text: &[u8]) -> bool {
    text.len() >= 20
        && text.iter().all(u8::is_ascii_hexdigit)
        && text.iter().any(u8::is_ascii_lowercase)
        && text.iter().any(u8::is_ascii_uppercase)
}

/// The most equal bytes of a class in a row.
fn longest_run(text: &[u8], class: impl Fn(u8) -> bool) -> usize {
    let (mut longest, mut run, mut last) = (0, 0, None);
    for byte in text {
        run = match (class(*byte), last == Some(*byte)) {
            (false, _) => 0,
            (true, true) => run + 1,
            (true, false) => 1,
        };
        last = Some(*byte);
        longest = longest.max(run);
    }
    longest
}

/// True if a text holds a word, in any case.
pub(super) fn contains(text: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else { return true };
    let begins = text.get(..(text.len() + 1).saturating_sub(word.len())).unwrap_or_default();
    memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), begins)
        .any(|at| text[at..at + word.len()].eq_ignore_ascii_case(word))
}

/// The number of bytes in parts that read like words of a language rather than like chance.
pub(super) fn worded(text: &[u8]) -> usize {
    let mut total = 0;
    for part in words(text) {
        if part.len() >= 3 && reads_like_a_word(part) {
            total += part.len();
        }
    }
    total
}

/// The words of an identifier: separated by other characters than letters, and where a capital letter follows a small one.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphabetic()).flat_map(humps).filter(|part| !part.is_empty())
}

/// The parts of `camelCase`; `HTTPKey` is `HTTP` and `Key`.
fn humps(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let capitals = rest.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let small = rest[capitals..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let end = match (capitals, small) {
            (0, 0) => return None,
            (_, 0) | (0 | 1, _) => capitals + small,
            _ => capitals - 1,
        };
        let (part, others) = rest.split_at(end);
        rest = others;
        Some(part)
    })
}

/// Random text has consonant clusters that words lack, and seldom has a vowel in its due place.
fn reads_like_a_word(part: &[u8]) -> bool {
    let vowel = |byte: &u8| matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let rare = |byte: &u8| matches!(byte.to_ascii_lowercase(), b'q' | b'x' | b'z' | b'j');
    let vowels = part.iter().filter(|byte| vowel(byte)).count();
    let (mut run, mut longest) = (0, 0);
    for byte in part {
        run = if vowel(byte) { 0 } else { run + 1 };
        longest = longest.max(run);
    }
    let rares = part.iter().filter(|byte| rare(byte)).count();
    vowels * 5 >= part.len() && vowels * 4 <= part.len() * 3 && longest <= 3 && rares * 6 <= part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_fall_into_words() {
        let of = |text: &'static str| words(text.as_bytes()).map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
        assert_eq!(of("DB_userPassword2Hash"), "DB user Password Hash");
        assert_eq!(of("HTTPAPIKey"), "HTTPAPI Key");
        assert_eq!(of("__"), "");
    }

    #[test]
    fn chance_does_not_read_like_words() {
        assert!(worded(b"user-access-token-version") > 18);
        assert!(worded(b"qpy4hbpwv9ghkxbtexmlv1v81pmtd3aw") < 8);
    }

    #[test]
    fn entropy_counts_bits() {
        assert_eq!(entropy(b"aaaa"), 0.0);
        assert_eq!(entropy(b"abcd"), 2.0);
    }
}
