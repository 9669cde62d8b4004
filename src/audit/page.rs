//! The contents of a file: its links in order, and everything else for comparison.

use std::ops::Range;

use super::{
    link::Link,
    spelling::{Layer, Spelled},
};

/// The URLs that are links of HTML.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// Those in the attributes of elements that the standards know.
    #[default]
    Web,
    /// Those that may lead to another file of a tree: also the `href` and `src` of any element. Their places are found.
    Tree,
}

/// The contents of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Every URL in a place for one, relative ones too, in reading order.
    pub links: Vec<Link>,
    /// The place of each link in a page whose rest is not kept; none for one that is spelled out.
    pub places: Vec<Option<usize>>,
    /// Everything else: tags, text, comments, other attributes, the text around the URLs.
    pub rest: Vec<u8>,
    /// The reason to leave it alone, if any.
    pub doubt: Option<&'static str>,
    /// The place of each link, also of one that is spelled out, if the subject is the tree.
    pub spans: Vec<Option<Range<usize>>>,
    /// The values of `id` attributes, and the names of `a` elements.
    pub anchors: Vec<Vec<u8>>,
    /// The URLs that are links.
    pub subject: Subject,
    /// True if JSON-LD is read.
    pub json_ld: bool,
    /// True if the text of a link that is exactly its destination is a link of its own.
    pub link_text: bool,
    /// True if only links and their places are needed.
    pub is_brief: bool,
}

impl Page {
    /// Records a part that must stay.
    pub(crate) fn note(&mut self, kind: u8, bytes: &[u8]) {
        if self.is_brief {
            return;
        }
        self.rest.push(kind);
        self.rest.extend((bytes.len() as u64).to_le_bytes());
        self.rest.extend_from_slice(bytes);
    }

    /// Takes a link.
    pub(crate) fn link(&mut self, text: &[u8]) {
        self.rest.push(b'l');
        self.links.push(Link(text.to_vec()));
        self.places.push(None);
        self.spans.push(None);
    }

    /// Records the place of the value with the last URLs, each in its plain spelling.
    pub(crate) fn placed(&mut self, at: Option<usize>, urls: &[(usize, usize)]) {
        let first = self.places.len().saturating_sub(urls.len());
        for (place, (start, _)) in self.places[first..].iter_mut().zip(urls) {
            *place = at.map(|at| at + start);
        }
    }

    /// Records the places of the last URLs, which stand in a value that begins and ends there.
    /// The bytes begin at a place of the file, if that is known.
    pub(crate) fn located(
        &mut self,
        (bytes, raw, begin): (&[u8], Range<usize>, Option<usize>),
        value: &[u8],
        urls: &[(usize, usize)],
    ) {
        let Some(begin) = begin else { return };
        let spelled = Spelled::decode(&bytes[raw.clone()], &[Layer::References]);
        if spelled.bytes != value {
            return;
        }
        let first = self.spans.len().saturating_sub(urls.len());
        for (span, (start, end)) in self.spans[first..].iter_mut().zip(urls) {
            let place = spelled.raw(*start..*end);
            *span = Some(begin + raw.start + place.start..begin + raw.start + place.end);
        }
    }

    /// Takes a link, unless it is empty.
    pub(crate) fn address(&mut self, text: &[u8]) {
        match strip(text, 0, text.len()) {
            Some(_) => self.link(text),
            None => self.note(b'v', text),
        }
    }

    /// Takes the URLs out of a value and keeps the rest of it.
    pub(crate) fn take(&mut self, value: &[u8], urls: &[(usize, usize)]) {
        let mut copied = 0;
        for &(start, end) in urls {
            self.note(b'v', &value[copied..start]);
            self.link(&value[start..end]);
            copied = end;
        }
        self.note(b'v', &value[copied..]);
    }

    /// Marks the file as one to leave alone.
    pub(crate) fn doubt(&mut self, reason: &'static str) {
        self.doubt.get_or_insert(reason);
    }
}

/// True for an absolute URL without characters that may mean something else in a text.
pub(crate) fn is_literal(url: &[u8]) -> bool {
    let lower = url.to_ascii_lowercase();
    let is_absolute = [&b"http://"[..], b"https://"].iter().any(|scheme| lower.starts_with(scheme));
    let joins = |part: &[u8]| {
        part.len() != 3 || part[1] != b'_' || part[0].is_ascii_alphanumeric() && part[2].is_ascii_alphanumeric()
    };
    let is_inside = url.first() != Some(&b'_') && url.last() != Some(&b'_') && url.windows(3).all(joins);
    is_absolute && is_inside && url.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._:/?#@$+,;=%".contains(byte))
}

/// The range without controls and spaces at its ends; none if it is empty.
pub(crate) fn strip(value: &[u8], mut start: usize, mut end: usize) -> Option<(usize, usize)> {
    while start < end && value[start] <= b' ' {
        start += 1;
    }
    while start < end && value[end - 1] <= b' ' {
        end -= 1;
    }
    (start < end).then_some((start, end))
}
