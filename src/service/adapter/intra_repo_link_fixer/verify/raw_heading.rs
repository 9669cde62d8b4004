//! Headings that are written as HTML.

use audit::spelling::{Layer, Spelled};

/// The texts of the headings that are written as HTML, also where it is shown as code. One goes to the next end of a heading.
pub(super) fn in_html(source: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut open = None;
    for at in memchr::memchr_iter(b'<', source.as_bytes()) {
        let tag = &source[at + 1..];
        match (open, tag.as_bytes()) {
            (None, [b'h' | b'H', b'1'..=b'6', b' ' | b'\t' | b'\r' | b'\n' | b'>' | b'/', ..]) => {
                // Without an end of the tag, none of the rest has one.
                let Some(end) = tag.find('>') else { break };
                open = Some(at + 1 + end + 1);
            }
            (Some(start), [b'/', b'h' | b'H', b'1'..=b'6', rest @ ..]) if start <= at => {
                let is_end = rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'>');
                if is_end {
                    texts.push(without_tags(&source[start..at]));
                    open = None;
                }
            }
            _ => {}
        }
    }
    texts
}

/// The text of a piece of HTML.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for (n, part) in html.split('<').enumerate() {
        text.push_str(if n == 0 { part } else { part.split_once('>').map_or("", |(_, text)| text) });
    }
    let decoded = Spelled::decode(text.as_bytes(), &[Layer::Entities]).bytes;
    String::from_utf8_lossy(&decoded).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::in_html;

    #[test]
    fn headings_in_html_end_at_the_next_end() {
        for (source, texts) in [
            ("<h1>A <b>b</b></h1> <H2 class=x>C &amp; d</h2 >", &["A b", "C & d"][..]),
            ("<h1>A <h2>b</h2> c</h1>", &["A b"]),
            ("<H1>A</H1> <h2>b", &["A"]),
            ("<h7>A</h7> <hr> <h1-x>b</h1-x> <h1", &[]),
        ] {
            assert_eq!(in_html(source), texts, "{source}");
        }
    }

    #[test]
    fn many_headings_in_html_take_one_pass() {
        // Minutes, if each looked for its own end.
        assert!(in_html(&"<h1>".repeat(400_000)).is_empty());
        assert_eq!(in_html(&format!("{}</h1>", "<h1>a".repeat(400_000))).len(), 1);
    }
}
