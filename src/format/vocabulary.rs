//! The elements and attributes of XML that hold URLs: in sitemaps, feeds, OPML and SVG.

const ATOM: &[&str] = &["http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"];
const MEDIA: &[&str] = &["http://search.yahoo.com/mrss/", "http://search.yahoo.com/mrss"];
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const SITEMAP: &[&str] = &["http://www.sitemaps.org/schemas/sitemap/0.9", "http://www.google.com/schemas/sitemap/0.84"];
const SVG: &str = "http://www.w3.org/2000/svg";
const XHTML: &str = "http://www.w3.org/1999/xhtml";
const XLINK: &str = "http://www.w3.org/1999/xlink";
/// The namespace of the prefix `xml`.
pub(crate) const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// Attributes of SVG that hold CSS.
const PRESENTATION: &[&str] =
    &["clip-path", "fill", "filter", "marker-end", "marker-mid", "marker-start", "mask", "stroke", "style"];

/// An element's or attribute's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name<'a> {
    /// Empty if there is none.
    pub(crate) namespace: &'a str,
    /// The name without prefix.
    pub(crate) local: &'a str,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A URL.
    Url,
    /// CSS.
    Css,
}

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    /// `urlset` and `sitemapindex`.
    Sitemap,
    /// RSS but for its version 1.0.
    Rss,
    /// Atom.
    Atom,
    /// RSS 1.0.
    Rdf,
    /// OPML.
    Opml,
    /// SVG.
    Svg,
}

impl Vocabulary {
    /// The vocabulary of a document by its root; none if unknown. Without a namespace the name alone decides.
    pub(crate) fn of(root: Name<'_>) -> Option<Self> {
        let (vocabulary, namespaces) = match root.local {
            "urlset" | "sitemapindex" => (Vocabulary::Sitemap, SITEMAP),
            "rss" => (Vocabulary::Rss, &["http://backend.userland.com/rss2"][..]),
            "feed" => (Vocabulary::Atom, ATOM),
            "RDF" => (Vocabulary::Rdf, &[RDF][..]),
            "opml" => (Vocabulary::Opml, &[][..]),
            "svg" => (Vocabulary::Svg, &[SVG][..]),
            _ => return None,
        };
        (root.namespace.is_empty() || namespaces.contains(&root.namespace)).then_some(vocabulary)
    }

    /// The kind of an element's text. `own` is the namespace of the root, `attribute` gives the element's plain attributes.
    pub(crate) fn text<'a>(
        self,
        own: &str,
        element: Name<'_>,
        attribute: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Meaning> {
        let is_own = element.namespace == own;
        let is_url = match self {
            Vocabulary::Sitemap => element.local.ends_with("loc"),
            Vocabulary::Rss => match element.local {
                "link" | "comments" | "docs" | "url" => is_own,
                "guid" => is_own && attribute("isPermaLink") != Some("false"),
                _ => false,
            },
            Vocabulary::Atom => is_own && matches!(element.local, "uri" | "icon" | "logo"),
            Vocabulary::Rdf => matches!(element.local, "link" | "url"),
            Vocabulary::Opml => false,
            Vocabulary::Svg => return (is_own && element.local == "style").then_some(Meaning::Css),
        };
        is_url.then_some(Meaning::Url)
    }

    /// The kind of an attribute of an element.
    pub(crate) fn attribute(self, own: &str, element: Name<'_>, attribute: Name<'_>) -> Option<Meaning> {
        if attribute.local == "base" && attribute.namespace == XML {
            return Some(Meaning::Url);
        }
        let (is_own, is_plain) = (element.namespace == own, attribute.namespace.is_empty());
        let is = |name: &str, of: &str| is_plain && attribute.local == name && element.local == of;
        let is_url = match self {
            Vocabulary::Sitemap => element.namespace == XHTML && is("href", "link"),
            Vocabulary::Rss => {
                let in_media = MEDIA.contains(&element.namespace) && is_plain && attribute.local == "url";
                let in_atom = ATOM.contains(&element.namespace) && is("href", "link");
                in_media || in_atom || is_own && (is("url", "enclosure") || is("url", "source"))
            }
            Vocabulary::Atom => is_own && (is("href", "link") || is("src", "content") || is("uri", "generator")),
            Vocabulary::Rdf => false,
            Vocabulary::Opml => is_plain && matches!(attribute.local, "xmlUrl" | "htmlUrl" | "url"),
            Vocabulary::Svg => {
                if is_own && is_plain && PRESENTATION.contains(&attribute.local) {
                    return Some(Meaning::Css);
                }
                attribute.local == "href" && (is_plain || attribute.namespace == XLINK)
            }
        };
        is_url.then_some(Meaning::Url)
    }
}
