//! Text of unknown origin, made safe to display.

use std::{any::Any, borrow::Cow, fmt, sync::LazyLock};

use regex::Regex;

/// The number of characters of a foreign text that an error quotes.
const QUOTED: usize = 400;

/// Invisible or deceptive characters: controls, characters that reorder or join text, fillers, variation selectors, tags,
/// separators of lines and paragraphs, private-use and unassigned characters.
static HIDDEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\x{2800}\x{16fe4}\x{1d159}]")
        .expect("it is a regex")
});

/// Emoji, which may be joined and whose look may be chosen.
static PICTURE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}]").expect("it is a regex"));

/// Selects the colourful look of an emoji.
const COLOURFUL: char = '\u{fe0f}';

/// Joins two emoji into one.
const JOINER: char = '\u{200d}';

/// The text with invisible and deceptive characters as escapes, so that it can't move a cursor, reorder or hide anything. Line
/// feeds are escaped too, tabs are not; show lines one by one.
///
/// Within an emoji, one variation selector and single joiners stay: they hide nothing there.
pub fn escape(text: &str) -> String {
    if text.bytes().all(|byte| byte == b'\t' || (b' '..0x7f).contains(&byte)) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let stays = c == '\t' || !is_hidden(c) || before.is_some_and(|before| is_in_picture(before, c, rest.as_str()));
        if stays {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
        before = Some(c).filter(|_| stays);
    }
    shown
}

/// The colours and weights of nrv's own output.
static OWN_STYLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\x1b\[(?:[0-4]|2[2-4]|3[1-6]|39|9[1-7])?m").expect("it is a regex"));

/// Lines with everything in them as [`escape`] shows it.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c != '\n' && is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(escape).collect::<Vec<_>>().join("\n"))
}

/// As [`escape_lines`], for a text with the colours of nrv's own output, which stay.
pub fn escape_styled(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return escape_lines(text);
    }
    let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
    for style in OWN_STYLE.find_iter(text) {
        shown.push_str(&escape_lines(&text[end..style.start()]));
        shown.push_str(style.as_str());
        end = style.end();
    }
    Cow::Owned(shown + &escape_lines(&text[end..]))
}

/// JSON with such characters written as JSON's escapes, so that it means the same.
pub fn escape_in_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && is_hidden(c) {
            let mut units = [0; 2];
            shown.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// True for an invisible character, or one that changes the look of others.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_control() } else { HIDDEN.is_match(c.encode_utf8(&mut [0; 4])) }
}

/// True if a hidden character belongs to the emoji around it.
fn is_in_picture(before: char, c: char, after: &str) -> bool {
    let is_picture = |c: char| !c.is_ascii() && PICTURE.is_match(c.encode_utf8(&mut [0; 4]));
    match c {
        COLOURFUL => is_picture(before),
        JOINER => (is_picture(before) || before == COLOURFUL) && after.chars().next().is_some_and(is_picture),
        _ => false,
    }
}

/// The beginning of a text, with an ellipsis if it was cut.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text of unknown origin for an error: escaped and cut.
pub fn quoted(text: &str) -> String {
    let text = text.trim();
    let mut shown = escape(&text.chars().take(QUOTED).collect::<String>());
    if text.chars().nth(QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

/// A text as one word of a shell, quoted if it has to be.
pub fn shell_word(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.' | ':' | '='));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// A number with its noun: `1 file`, `2 files`. The plural of the noun ends in `s`.
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let s = if n == N::from(1) { "" } else { "s" };
    format!("{n} {noun}{s}")
}

/// The first of some files by its path, and how many more there are: `` `a` and 2 more files ``. None without files.
pub fn first_file(files: &[impl fmt::Display]) -> Option<String> {
    let (first, others) = files.split_first()?;
    let more = if others.is_empty() { String::new() } else { format!(" and {}", counted(others.len(), "more file")) };
    Some(format!("`{first}`{more}"))
}

/// The message of a panic.
pub fn of_panic(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_marked() {
        assert_eq!((shortened("äbc", 3), shortened("äbc", 2)), ("äbc".to_owned(), "äb…".to_owned()));
    }

    #[test]
    fn numbers_agree_with_their_nouns() {
        assert_eq!([0_u64, 1, 2].map(|n| counted(n, "file")), ["0 files", "1 file", "2 files"]);
        assert_eq!(counted(1_usize, "more line"), "1 more line");
        let named = |files: &[&str]| first_file(files).unwrap_or_default();
        assert_eq!([named(&["a", "b", "c"]), named(&["a", "b"])], ["`a` and 2 more files", "`a` and 1 more file"]);
        assert_eq!([named(&["a"]), named(&[])], ["`a`", ""]);
    }

    #[test]
    fn what_could_deceive_a_reader_is_visible() {
        assert_eq!(escape("a\u{1b}[2Jb\u{202e}c ü"), "a\\u{1b}[2Jb\\u{202e}c ü");
        let hidden = "\u{7f}\u{85}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{2028}\
            \u{2029}\u{202e}\u{2060}\u{2065}\u{2066}\u{2800}\u{3164}\u{e000}\u{fdd0}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{fffe}\u{1d173}\u{e0001}\
            \u{e0041}\u{e0100}\u{f0000}\u{10fffd}\u{378}";
        for c in hidden.chars() {
            assert_eq!(escape(&format!("a{c}b")), format!("a{}b", c.escape_unicode()));
            let json = escape_in_json(&serde_json::json!(format!("a{c}")).to_string());
            assert!(json.is_ascii(), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), format!("a{c}"));
        }
        let plain = "tab\tß ñ 日本語 العربية हिन्दी e\u{301} • − → │ 1.5\u{a0}€ ✓ 😀";
        assert_eq!(escape(plain), plain);
    }

    #[test]
    fn of_styles_those_of_our_own_output_stay() {
        let own = "\u{1b}[1m\u{1b}[33mwarning\u{1b}[0m: a\tb\n\u{1b}[2m\u{1b}[39m\u{1b}[91m\u{1b}[m";
        assert_eq!(escape_styled(own), own);
        let foreign = [
            "\u{1b}[8m",
            "\u{1b}[7m",
            "\u{1b}[5m",
            "\u{1b}[30m",
            "\u{1b}[41m",
            "\u{1b}[1;31m",
            "\u{1b}[38;5;1m",
            "\u{1b}[38;2;0;0;0m",
            "\u{1b}[2J",
            "\u{1b}[H",
            "\u{1b}[1A",
            "\u{1b}[?25l",
            "\u{1b}]0;t\u{7}",
            "\u{1b}]52;c;eA==\u{1b}\\",
            "\u{1b}c",
            "\u{1b}[31",
            "\u{1b}Pq\u{1b}\\",
            "\u{9b}31m",
            "\u{9d}0;t\u{9c}",
            "\u{85}",
            "\u{7}",
            "\r",
            "\u{8}",
            "\u{b}",
            "\u{c}",
            "\u{0}",
            "\u{7f}",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{2028}",
        ];
        for text in foreign {
            let shown = escape_styled(text).into_owned();
            assert!(!shown.chars().any(is_hidden), "{text:?}: {shown:?}");
            assert_eq!(escape_lines(&format!("a{text}\nb")), format!("{}\nb", escape(&format!("a{text}"))));
            assert_eq!(escape_styled(&shown), shown, "what is escaped stays as it is");
        }
    }

    #[test]
    fn an_emoji_stays_whole_and_hides_nothing() {
        for whole in ["⚠\u{fe0f} a", "❤\u{fe0f}\u{200d}🔥", "👩🏽\u{200d}💻", "👨\u{200d}👩\u{200d}👧"]
        {
            assert_eq!(escape(whole), whole);
        }
        assert_eq!(escape("⚠\u{fe0f}\u{fe0f}"), "⚠\u{fe0f}\\u{fe0f}");
        assert_eq!(escape("👩\u{200d}x\u{200d}👩"), "👩\\u{200d}x\\u{200d}👩");
        assert_eq!(escape("😀\u{fe01}\u{e0061}"), "😀\\u{fe01}\\u{e0061}");
    }
}
