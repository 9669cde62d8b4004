//! Computes the expected page after a move, for a comparison byte by byte.
//!
//! One reading suffices for most changed pages. Only letters, digits and the few signs of a plain origin are put into values
//! without other spellings. So every reader sees the same tags, and in them the new links. Where that is uncertain, there is no
//! expected page, and the page after must be read like the page before.

use std::ops::Range;

use super::expected_target::Aim;
use audit::{link::Link, page::Page};

/// A link that moves.
pub(super) struct Step<'p> {
    /// The old link.
    pub(super) old: &'p Link,
    /// The new link.
    pub(super) new: Link,
    /// Its place.
    place: Range<usize>,
}

/// Each link of a page that must move; none if one of them is spelled out, or the page was to be left alone.
pub(super) fn steps<'p>(page: &'p Page, aim: &Aim) -> Option<Vec<Step<'p>>> {
    if page.doubt.is_some() {
        return None;
    }
    let wanted = page.links.iter().zip(&page.places).filter(|(link, _)| aim.wants(link));
    let step = |(old, place): (&'p Link, &Option<usize>)| {
        let (start, new) = ((*place)?, aim.plain(old)?);
        Some(Step { old, new, place: start..start + old.0.len() })
    };
    wanted.map(step).collect()
}

/// True if the bytes after are exactly those before with the steps made.
pub(super) fn is_made_by(steps: &[Step<'_>], before: &[u8], after: &[u8]) -> bool {
    let mut copied = 0;
    let mut rest = Some(after);
    for step in steps {
        let kept = before.get(copied..step.place.start);
        rest = rest.zip(kept).and_then(|(rest, kept)| rest.strip_prefix(kept)?.strip_prefix(&*step.new.0));
        copied = step.place.end;
    }
    rest.is_some() && rest == before.get(copied..)
}

/// The page that [`is_made_by`] compares with.
#[cfg(test)]
pub(super) fn made_for_tests(steps: &[Step<'_>], before: &[u8]) -> Vec<u8> {
    let mut made = before.to_vec();
    for step in steps.iter().rev() {
        made.splice(step.place.clone(), step.new.0.iter().copied());
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link_updater::params::Move;
    use audit::markup;

    /// The expected page; none if the page must be read in full.
    fn made(html: &str, to: &str) -> Option<String> {
        let step = Move { from_hosts: vec!["old.example".to_owned()], to_host: to.to_owned() };
        let aim = Aim::new(&[step]).unwrap();
        let mut page = Page { is_brief: true, ..Page::default() };
        markup::read(html.as_bytes(), &|| Ok(()), &mut page).unwrap();
        let steps = steps(&page, &aim)?;
        let made = made_for_tests(&steps, html.as_bytes());
        assert!(is_made_by(&steps, html.as_bytes(), &made));
        for wrong in [&made[..made.len() - 1], &[&made[..], b" "].concat(), &[b" ", &made[..]].concat()] {
            assert!(!is_made_by(&steps, html.as_bytes(), wrong));
        }
        Some(String::from_utf8(made).unwrap())
    }

    #[track_caller]
    fn check(html: &str, expected: Option<&str>) {
        assert_eq!(made(html, "https://new.example").as_deref(), expected, "{html}");
    }

    #[test]
    fn links_that_stand_as_they_are_move() {
        check(
            "\r\n<A  HREF='http://old.example/x?a&b' class=x>\r<a href=//old.example>é<a href=' http://u@OLD.example:80/#\n'>",
            Some(
                "\r\n<A  HREF='https://new.example/x?a&b' class=x>\r<a href=//new.example>é<a href=' https://u@new.example/#\n'>",
            ),
        );
        check(
            "<img srcset='//old.example/a 1x, b 2x,https://old.example/c'><noscript><a href=x></noscript>&amp;",
            Some("<img srcset='//new.example/a 1x, b 2x,https://new.example/c'><noscript><a href=x></noscript>&amp;"),
        );
        check("<p title=http://old.example>http://old.example", Some("<p title=http://old.example>http://old.example"));
    }

    #[test]
    fn pages_that_have_to_be_read_in_full() {
        for page in [
            "<a href='http://old.example/x?a&amp;b'>",
            "<a href='http&#58;//old.example/'>",
            "<a href='http://old.exa\nmple/'>",
            "<a href='http://old.example/\r\n'>",
            "<p style='a:url(http://old.example)'>",
            "<style>a{b:url(http://old.example)}</style>",
            "<noscript><a href=http://old.example></noscript>",
            "<a href=http://old.example><svg></p>",
        ] {
            check(page, None);
        }
        let page = "<a href=http://old.example/a/../b>";
        assert_eq!(made(page, "https://a'b.example"), None);
        assert_eq!(made(page, "https://new.example/a,b"), None);
        assert_eq!(made(page, "https://new.example/a").unwrap(), "<a href=https://new.example/a/a/../b>");
    }
}
