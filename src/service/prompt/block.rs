//! Verbatim blocks of a prompt: under a title, with hash and length, between fences that do not occur in them.

use std::collections::BTreeMap;

use memchr::memchr_iter;

use super::template::Template;
use base::{error::Error, hash::Sha256};

/// The shortest fence.
const SHORTEST: usize = 3;

/// A text that is included verbatim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    /// One line.
    pub(super) title: &'a str,
    pub(super) content: &'a str,
    /// The hash of the content.
    pub(super) sha256: Sha256,
}

impl Block<'_> {
    /// The block's text: the content begins on the line after the first fence and has the stated length.
    pub(super) fn text(self) -> Result<String, Error> {
        let Block { title, content, sha256 } = self;
        let values = BTreeMap::from([
            ("title", title.into()),
            ("sha256", sha256.to_string().into()),
            ("bytes", content.len().into()),
            ("fence", "`".repeat(fence(content)).into()),
            ("content", content.into()),
            ("open", (!content.is_empty() && !content.ends_with('\n')).into()),
        ]);
        Template::Block.render(values)
    }
}

/// The length of a content's fence: longer than any run of the fence's character in it.
fn fence(content: &str) -> usize {
    let (mut longest, mut run, mut next) = (0, 0, 0);
    for at in memchr_iter(b'`', content.as_bytes()) {
        run = if at == next { run + 1 } else { 1 };
        next = at + 1;
        longest = longest.max(run);
    }
    SHORTEST.max(longest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_run_in_the_content() {
        for (content, expected) in
            [("", 3), ("`a`", 3), ("```", 4), ("` `` ````` ``", 6), ("a\n````\nb", 5), ("`````", 6)]
        {
            assert_eq!(fence(content), expected, "{content:?}");
        }
    }

    #[test]
    fn a_content_without_its_last_line_feed_is_marked_and_the_fence_stands_alone() {
        let text =
            |content: &str| Block { title: "T", content, sha256: Sha256::of(content.as_bytes()) }.text().unwrap();
        let head = |content: &str, note| {
            format!("## T\n\nsha256 {}, {} bytes{note}\n\n```\n", Sha256::of(content.as_bytes()), content.len())
        };
        assert_eq!(text("a\n"), head("a\n", "") + "a\n```");
        assert_eq!(text("a"), head("a", ", no line feed at the end") + "a\n```");
        assert_eq!(text(""), head("", "") + "```");
    }
}
