//! The attributes of HTML that hold URLs, with their forms. From the attribute index of the HTML standard, with obsolete ones.

use std::collections::BTreeMap;

/// The form in which a value holds its URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The whole value is one.
    Url,
    /// Separated by white space.
    List,
    /// Image candidates.
    Srcset,
    /// After the seconds of a refresh.
    Refresh,
    /// The whole value is one if it names a host by itself.
    Absolute,
}

/// Attributes by name, with the elements that may carry them.
const ATTRIBUTES: &[(&str, Form, &[&str])] = &[
    ("action", Form::Url, &["form"]),
    ("background", Form::Url, &["body", "table", "tbody", "td", "tfoot", "th", "thead", "tr"]),
    ("cite", Form::Url, &["blockquote", "del", "ins", "q"]),
    ("codebase", Form::Url, &["applet", "object"]),
    ("data", Form::Url, &["object"]),
    ("dynsrc", Form::Url, &["img"]),
    ("formaction", Form::Url, &["button", "input"]),
    ("href", Form::Url, &["a", "area", "base", "link"]),
    ("imagesrcset", Form::Srcset, &["link"]),
    ("longdesc", Form::Url, &["frame", "iframe", "img"]),
    ("lowsrc", Form::Url, &["img"]),
    ("manifest", Form::Url, &["html"]),
    ("ping", Form::List, &["a", "area"]),
    ("poster", Form::Url, &["video"]),
    ("profile", Form::List, &["head"]),
    (
        "src",
        Form::Url,
        &["audio", "embed", "frame", "iframe", "image", "img", "input", "script", "source", "track", "video"],
    ),
    ("srcset", Form::Srcset, &["image", "img", "source"]),
];

/// Last parts of an `og:` or `twitter:` name whose content is a URL.
const META_PARTS: &[&str] = &[
    "audio",
    "iframe",
    "image",
    "image0",
    "image1",
    "image2",
    "image3",
    "player",
    "secure_url",
    "see_also",
    "src",
    "stream",
    "url",
    "video",
];

/// The form of URLs in the attribute of an element; none if it holds none. Names are lower-case.
///
/// `xlink:href` counts on any element: pages are assembled from parts, and an SVG's part may stand outside of any `<svg>`.
pub(crate) fn form(element: &str, in_svg: bool, attribute: &str) -> Option<Form> {
    if attribute == "xlink:href" || (in_svg && attribute == "href") {
        return Some(Form::Url);
    }
    let (_, form, elements) = ATTRIBUTES.iter().find(|(name, ..)| *name == attribute)?;
    elements.contains(&element).then_some(*form)
}

/// Every element that may carry URLs, with its attributes.
pub fn elements() -> BTreeMap<&'static str, Vec<(&'static str, Form)>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (attribute, form, elements) in ATTRIBUTES {
        elements.iter().for_each(|element| all.entry(*element).or_default().push((*attribute, *form)));
    }
    all
}

/// The form of URLs in the content of a `<meta>`, by its other attributes.
pub fn meta_form(http_equiv: Option<&str>, property: Option<&str>, name: Option<&str>) -> Option<Form> {
    if http_equiv.is_some_and(|value| value.eq_ignore_ascii_case("refresh")) {
        return Some(Form::Refresh);
    }
    [property, name].into_iter().flatten().any(names_url).then_some(Form::Url)
}

/// True for `og:image:secure_url` or `twitter:app:url:iphone`, not for `og:image:width`.
fn names_url(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let mut parts = name.split(':');
    let is_known = matches!(parts.next(), Some("og" | "twitter"));
    let parts: Vec<&str> = parts.collect();
    let says_url = parts.last().is_some_and(|last| META_PARTS.contains(last));
    is_known && (says_url || matches!(parts.as_slice(), ["app", "url", _]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metas_with_urls_are_known_by_a_rule() {
        for name in [
            "og:url",
            "OG:Image",
            " og:video:iframe ",
            "og:audio:secure_url",
            "og:see_also",
            "twitter:image0",
            "twitter:image:src",
            "twitter:player:stream",
            "twitter:app:url:iphone",
            "twitter:app:url:googleplay",
        ] {
            assert_eq!(meta_form(None, Some(name), None), Some(Form::Url), "{name}");
            assert_eq!(meta_form(None, None, Some(name)), Some(Form::Url), "{name}");
        }
        for name in [
            "og:image:width",
            "og:image:alt",
            "og:video:type",
            "og:title",
            "og",
            "url",
            "image",
            "fb:url",
            "twitter:site",
            "twitter:creator",
            "twitter:app:id:iphone",
            "twitter:player:height",
        ] {
            assert_eq!(meta_form(None, Some(name), Some(name)), None, "{name}");
        }
    }
}
