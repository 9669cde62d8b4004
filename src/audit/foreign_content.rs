//! Tracks the elements of SVG and MathML around a place, and recognises undecidable cases.
//!
//! Inside `<svg>` and `<math>` every element is kept; outside only names are. A tag that would make a browser repair the tree
//! across that border makes the page doubtful. A doubtful page must not have been changed.

use std::collections::{BTreeMap, BTreeSet};

/// The namespace of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Html,
    Svg,
    Math,
}

/// A start tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened<'a> {
    /// Its name in lower case.
    pub(crate) name: &'a [u8],
    /// True if it ends with `/>`.
    pub(crate) closed: bool,
    /// True if it has attributes that HTML defines for `<font>`.
    pub(crate) styled: bool,
    /// True if the `encoding` is one of HTML.
    pub(crate) holds_html: bool,
}

#[derive(Debug)]
struct Node {
    name: Vec<u8>,
    space: Space,
    /// True if tags in it are read as HTML's although it is not.
    hosts_html: bool,
}

/// The open elements from the outermost foreign one on, and names seen elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Nest {
    nodes: Vec<Node>,
    /// The number of HTML elements in `nodes`.
    html: usize,
    /// The number of each name among the other nodes.
    foreign: BTreeMap<Vec<u8>, usize>,
    elsewhere: BTreeSet<Vec<u8>>,
    select: Select,
    template_is_new: bool,
    /// True if a browser may build another tree.
    pub(crate) doubtful: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Select {
    #[default]
    Closed,
    Open,
    /// A `<template>` in it could swallow its end.
    Stuck,
}

impl Nest {
    /// The namespace of the innermost open element. An element that hosts HTML is still foreign.
    pub(crate) fn space(&self) -> Space {
        self.nodes.last().map_or(Space::Html, |node| node.space)
    }

    /// True in a `<select>`, or where its end may have been missed.
    pub(crate) fn in_select(&self) -> bool {
        self.select != Select::Closed
    }

    /// The namespace of the next start tag; as an HTML tag it may begin text.
    pub(crate) fn start(&mut self, tag: Opened<'_>) -> Space {
        let mut html = self.nodes.last().is_none_or(|node| node.space == Space::Html || node.hosts_html);
        if !html && leaves(tag) {
            while self.nodes.last().is_some_and(|node| node.space != Space::Html && !node.hosts_html) {
                self.close();
            }
            html = true;
        }
        if html { self.start_html(tag) } else { self.start_foreign(tag) }
    }

    fn start_foreign(&mut self, tag: Opened<'_>) -> Space {
        let parent = self.nodes.last();
        let (space, in_annotation) = parent.map_or((Space::Html, false), |p| (p.space, p.name == b"annotation-xml"));
        let (space, hosts_html) = match tag.name {
            b"svg" if space == Space::Math => {
                self.doubtful |= !in_annotation;
                (Space::Svg, false)
            }
            b"math" if space == Space::Svg => {
                self.doubtful = true;
                (space, false)
            }
            b"desc" | b"title" | b"foreignobject" => (space, space == Space::Svg),
            b"mi" | b"mo" | b"mn" | b"ms" | b"mtext" => (space, space == Space::Math),
            b"annotation-xml" => (space, space == Space::Math && tag.holds_html),
            _ => (space, false),
        };
        self.open(tag, space, hosts_html);
        space
    }

    fn start_html(&mut self, tag: Opened<'_>) -> Space {
        let in_math_text = self.nodes.last().is_some_and(|node| node.space == Space::Math);
        let space = match tag.name {
            b"svg" => Space::Svg,
            b"math" => Space::Math,
            b"mglyph" | b"malignmark" if in_math_text => {
                self.doubtful = true;
                Space::Html
            }
            _ => Space::Html,
        };
        self.dropped(tag.name, space);
        if space != Space::Html {
            self.open(tag, space, false);
            return space;
        }
        const EMPTY: &str = " area base basefont bgsound br col embed frame hr image img input keygen link meta param \
            source track wbr ";
        let name = String::from_utf8_lossy(tag.name);
        if !self.nodes.is_empty() && !EMPTY.contains(&format!(" {name} ")) {
            self.nodes.push(Node { name: tag.name.to_vec(), space, hosts_html: false });
            self.html += 1;
        }
        if !self.elsewhere.contains(tag.name) {
            self.elsewhere.insert(tag.name.to_vec());
        }
        space
    }

    /// Some elements make a browser drop their contents, and browsers differ in the dropped parts.
    fn dropped(&mut self, name: &[u8], space: Space) {
        let text: &[&[u8]] = &[b"iframe", b"noembed", b"noscript", b"style", b"title", b"xmp", b"plaintext"];
        let reads_on = space != Space::Html || text.contains(&name);
        let framed = || self.elsewhere.contains(&b"frameset"[..]);
        match name {
            b"select" if self.select == Select::Closed => self.select = Select::Open,
            b"template" => {
                self.template_is_new = true;
                if self.select == Select::Open {
                    self.select = Select::Stuck;
                }
            }
            b"table" | b"colgroup" => self.template_is_new = false,
            b"col" => self.doubtful |= self.template_is_new,
            b"noframes" => self.doubtful |= self.select != Select::Closed,
            b"script" | b"textarea" => self.doubtful |= framed(),
            _ => self.doubtful |= reads_on && (framed() || self.select != Select::Closed),
        }
    }

    fn open(&mut self, tag: Opened<'_>, space: Space, hosts_html: bool) {
        if tag.closed {
            return;
        }
        *self.foreign.entry(tag.name.to_vec()).or_default() += 1;
        self.nodes.push(Node { name: tag.name.to_vec(), space, hosts_html });
    }

    /// An end tag.
    pub(crate) fn end(&mut self, name: &[u8]) {
        if name == b"select" && self.select == Select::Open && self.space() == Space::Html {
            self.select = Select::Closed;
        }
        let Some(last) = self.nodes.last() else { return };
        if last.space == Space::Html {
            // An end tag for another element than the innermost makes a browser guess.
            if last.name == name {
                self.nodes.pop();
                self.html -= 1;
            } else {
                self.doubtful = true;
            }
            return;
        }
        if self.foreign.get(name).copied().unwrap_or(0) == 0 {
            self.doubtful |= self.html > 0 || self.closes_outside(name);
            return;
        }
        while let Some(last) = self.nodes.last() {
            if last.space == Space::Html {
                self.doubtful = true;
                return;
            }
            let found = last.name == name;
            self.close();
            if found {
                return;
            }
        }
    }

    /// Removes the innermost foreign element.
    fn close(&mut self) {
        if let Some(node) = self.nodes.pop()
            && let Some(count) = self.foreign.get_mut(&node.name)
        {
            *count -= 1;
        }
    }

    /// True if the tag could close an element outside, with its content.
    fn closes_outside(&self, name: &[u8]) -> bool {
        match name {
            b"body" | b"html" => false,
            b"p" | b"br" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"colgroup" | b"tbody" | b"tr" => true,
            _ => self.elsewhere.contains(name),
        }
    }
}

/// Tags that end foreign content.
fn leaves(tag: Opened<'_>) -> bool {
    const NAMES: &str = " b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li \
        listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var ";
    let name = String::from_utf8_lossy(tag.name);
    (name == "font" && tag.styled) || NAMES.contains(&format!(" {name} "))
}
