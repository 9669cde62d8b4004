//! Which attributes hold URLs, and in which form. From the attribute index of the HTML standard, with what it obsoleted.

/// How an attribute holds its URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The whole value is one.
    Url,
    /// Separated by white space.
    List,
    /// Image candidates.
    Srcset,
    /// After the seconds of a refresh.
    Refresh,
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

/// `property` or `name` of a `<meta>` whose content is a URL.
const METAS: &[&str] = &[
    "og:audio",
    "og:audio:secure_url",
    "og:audio:url",
    "og:image",
    "og:image:secure_url",
    "og:image:url",
    "og:see_also",
    "og:url",
    "og:video",
    "og:video:secure_url",
    "og:video:url",
    "twitter:image",
    "twitter:image0",
    "twitter:image1",
    "twitter:image2",
    "twitter:image3",
    "twitter:image:src",
    "twitter:player",
    "twitter:player:stream",
    "twitter:url",
];

/// How the attribute of an element holds URLs; none if it does not. Names are lower-case.
pub(super) fn form(element: &str, in_svg: bool, attribute: &str) -> Option<Form> {
    if attribute == "xlink:href" || (in_svg && attribute == "href") {
        return Some(Form::Url);
    }
    let (_, form, elements) = ATTRIBUTES.iter().find(|(name, ..)| *name == attribute)?;
    elements.contains(&element).then_some(*form)
}

/// How the content of a `<meta>` holds URLs, by its other attributes.
pub(super) fn meta_form(http_equiv: Option<&str>, property: Option<&str>, name: Option<&str>) -> Option<Form> {
    if http_equiv.is_some_and(|value| value.eq_ignore_ascii_case("refresh")) {
        return Some(Form::Refresh);
    }
    let is_url = |value: &str| METAS.iter().any(|meta| value.trim().eq_ignore_ascii_case(meta));
    [property, name].into_iter().flatten().any(is_url).then_some(Form::Url)
}
