//! Writes the new destination of a link in the style of the old one, as its place in the file needs it.

use std::ops::Range;

use super::{
    page::Link,
    params::Repair,
    reference::{Reference, decoded, folder, joined, name},
    repair::{Fix, How, has_capitals},
    resolve::{Rules, Target},
};
use format::{escape::Escape, table::Form, value::Decoded};

/// New text for some bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// The old bytes.
    pub(super) range: Range<usize>,
    /// The new text.
    pub(super) text: String,
}

/// A link's new destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Respelled {
    /// The edits, in the order of the file.
    pub(super) edits: Vec<Edit>,
    /// The destination as it is to be read.
    pub(super) destination: String,
}

/// The place of a destination in a file, which decides the characters that can't stand for themselves.
#[derive(Clone, Copy, Debug)]
struct Place {
    is_html: bool,
    is_css: bool,
    /// A destination of Markdown without angle brackets.
    is_bare: bool,
    /// An attribute without quotes.
    is_unquoted: bool,
    is_list: bool,
    keeps_spaces: bool,
}

/// Writes a link's new destination; none if it has no spelling that leads there.
pub(super) fn respelled(rules: &Rules<'_>, (file, bytes): (&str, &[u8]), link: &Link, fix: &Fix) -> Option<Respelled> {
    let decoded_value = Decoded::new(&bytes[link.value.range.clone()], &link.value.escapes);
    let place = Place::of(bytes, link);
    let reference = &link.reference;
    let raw = |range: Range<usize>| {
        let raw = decoded_value.raw(link.piece.start + range.start..link.piece.start + range.end);
        link.value.range.start + raw.start..link.value.range.start + raw.end
    };
    let mut edits = Vec::new();
    let mut destination = String::new();
    match &fix.target {
        Some(target) => {
            let is_lower = fix.how == How::By(Repair::Moved)
                && reference.is_by_address
                && has_capitals(&target.entry)
                && reference.path().to_lowercase() == reference.path();
            let url = path(rules, file, (reference, target, is_lower), place)?;
            edits.push(Edit { range: raw(0..reference.path().len()), text: place.escaped(&url) });
            destination.push_str(&url);
        }
        None => destination.push_str(reference.path()),
    }
    destination.push_str(reference.between());
    if let Some(start) = reference.fragment_start() {
        let fragment = reference.fragment().unwrap_or_default();
        match &fix.anchor {
            Some(anchor) => {
                let url = place.encoded(anchor, encodes_letters(fragment), "#");
                edits.push(Edit { range: raw(start..start + fragment.len()), text: place.escaped(&url) });
                destination.push_str(&url);
            }
            None => destination.push_str(fragment),
        }
        destination.push_str(&reference.text()[start + fragment.len()..]);
    }
    Some(Respelled { edits, destination })
}

/// The first spelling of the path that leads to the target, in the style of the old one.
fn path(
    rules: &Rules<'_>,
    file: &str,
    (old, target, is_lower): (&Reference, &Target, bool),
    place: Place,
) -> Option<String> {
    let old_path = decoded(old.path());
    let mut spellings = Vec::new();
    for end in endings(rules, &old_path, target) {
        spellings.extend(with_new_end(&old_path, &end));
        if old_path.starts_with('/') {
            let below = |root: &String| {
                let root = joined("", root)?;
                let rest = if root.is_empty() { Some(&*end) } else { end.strip_prefix(&root)?.strip_prefix('/') };
                rest.map(|rest| format!("/{rest}"))
            };
            spellings.extend(rules.params.site_root.iter().filter_map(below));
        } else {
            spellings.push(relative(file, &end, old_path.starts_with("./")));
        }
    }
    if is_lower {
        spellings.iter_mut().for_each(|spelling| *spelling = spelling.to_lowercase());
    }
    spellings.retain(|spelling| spelling.starts_with('/') == old_path.starts_with('/'));
    let mut urls = spellings.iter().map(|spelling| place.encoded(spelling, encodes_letters(old.path()), "#?"));
    let is_local = |url: &str| Reference::parse(url, !rules.params.site_root.is_empty()).is_some();
    // The new path leads there from the file, also where its site reads it from another address.
    urls.find(|url| rules.target(file, (url, is_lower)).as_ref() == Some(target) && is_local(url))
}

/// The target's path as links may end in it: as the old one did, then in full.
fn endings(rules: &Rules<'_>, old: &str, target: &Target) -> Vec<String> {
    let entry = &target.entry;
    let old_name = name(old.trim_end_matches('/'));
    let without = |extension: &String| {
        let ending = format!(".{extension}");
        if old_name.ends_with(&ending) { None } else { entry.strip_suffix(&ending) }
    };
    let mut endings = Vec::new();
    if old_name.ends_with(".html") {
        endings.extend(rules.params.html_from.iter().filter_map(without).map(|stem| format!("{stem}.html")));
    }
    for stem in rules.params.extensions.iter().filter_map(without) {
        endings.extend([old.ends_with('/').then(|| format!("{stem}/")), Some(stem.to_owned())].into_iter().flatten());
    }
    if old.ends_with('/') && rules.tree.has_folder(entry) {
        endings.push(format!("{entry}/"));
    }
    endings.push(entry.clone());
    endings
}

/// The old path with as few new parts at its end as may do.
fn with_new_end(old: &str, target: &str) -> Vec<String> {
    let kept: Vec<&str> = old.trim_end_matches('/').split('/').collect();
    let new: Vec<&str> = target.split('/').collect();
    let parts = target.trim_end_matches('/').split('/').count();
    let slash = new.len() - parts;
    let spelling = |count: usize| {
        let kept = &kept[..kept.len() - count];
        [kept, &new[parts - count..parts + slash]].concat().join("/")
    };
    let most = kept.len().min(parts);
    (1..=most).filter(|count| !kept[kept.len() - count..].contains(&"..")).map(spelling).collect()
}

/// A path as links of a file write it.
fn relative(file: &str, target: &str, is_dotted: bool) -> String {
    let from: Vec<&str> = folder(file).split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = target.split('/').collect();
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| a == b).count();
    let mut parts = vec![".."; from.len() - shared];
    parts.extend(&to[shared..]);
    let path = parts.join("/");
    match path.as_str() {
        "" => "./".to_owned(),
        _ if path.starts_with("../") => path,
        _ if is_dotted || parts[0].contains(':') || path.starts_with(['@', '{', '/']) => format!("./{path}"),
        _ => path,
    }
}

/// True if a text has letters beyond ASCII in their encoded form.
fn encodes_letters(text: &str) -> bool {
    text.match_indices('%').any(|(at, _)| {
        text.as_bytes().get(at + 1).is_some_and(|digit| matches!(digit, b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F'))
    })
}

impl Place {
    fn of(bytes: &[u8], link: &Link) -> Self {
        let range = &link.value.range;
        let before = range.start.checked_sub(1).map(|at| bytes[at]);
        // References of text are those of an attribute in MDX.
        let is_html = matches!(link.value.escapes[0], Escape::Html | Escape::MarkdownText);
        let is_css = link.value.escapes.contains(&Escape::Css);
        let is_angle = !is_html && !is_css && before == Some(b'<');
        Place {
            is_html,
            is_css,
            is_bare: !is_html && !is_angle,
            is_unquoted: is_html && !is_css && !matches!(before, Some(b'"' | b'\'')),
            is_list: matches!(link.value.form, Form::Srcset | Form::List),
            keeps_spaces: is_angle && bytes[range.clone()].contains(&b' '),
        }
    }

    /// A path or an anchor as a URL has it. `marks` would end it.
    fn encoded(self, text: &str, encodes_letters: bool, marks: &str) -> String {
        let is_balanced = {
            let mut depth = 0_i32;
            text.chars().all(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth >= 0
            }) && depth == 0
        };
        let mut encoded = String::with_capacity(text.len());
        for c in text.chars() {
            let is_special = match c {
                ' ' => !self.keeps_spaces,
                '(' | ')' => self.is_css || (self.is_bare && !is_balanced),
                '\'' => self.is_html || self.is_css,
                '=' => self.is_unquoted,
                ',' => self.is_list,
                _ if c.is_ascii() => c.is_ascii_control() || "\"<>`%\\^{}|".contains(c) || marks.contains(c),
                _ => encodes_letters || c.is_whitespace() || c.is_control(),
            };
            if is_special {
                c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| encoded.push_str(&format!("%{byte:02X}")));
            } else {
                encoded.push(c);
            }
        }
        encoded
    }

    /// A URL as the file spells it.
    fn escaped(self, url: &str) -> String {
        let is_reference = |at: usize| {
            url[at + 1..]
                .split_once(';')
                .is_some_and(|(name, _)| !name.contains(|c: char| !(c.is_ascii_alphanumeric() || c == '#')))
        };
        let mut escaped = String::with_capacity(url.len());
        for (at, c) in url.char_indices() {
            match c {
                '&' if self.is_html || is_reference(at) => escaped.push_str("&amp;"),
                _ => escaped.push(c),
            }
        }
        escaped
    }
}
