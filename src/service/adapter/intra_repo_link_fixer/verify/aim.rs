//! The meaning of a destination: outside the tree, or a path and an anchor within it.

use std::sync::LazyLock;

use regex::Regex;

use base::path::RepoPath;

/// The meaning of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// Nothing in the tree, or nothing that can be told without its renderer.
    External,
    /// A place in the tree.
    Local(Local),
}

/// A place in the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Local {
    /// The paths that it may mean, in order. `""` is the workspace. One that leaves it is not among them.
    pub(super) paths: Vec<String>,
    /// The path as it is written, decoded; empty for the file itself.
    pub(super) written: String,
    /// True if it ends with a slash.
    pub(super) is_folder: bool,
    /// The query, with its `?`.
    pub(super) query: String,
    /// The anchor, decoded.
    pub(super) anchor: Option<String>,
}

/// The meaning of a destination in a file. `roots` are the folders at which a leading `/` may begin.
pub(super) fn aim(url: &[u8], file: &RepoPath, roots: &[String]) -> Aim {
    let text = String::from_utf8_lossy(url);
    let text = text.trim_matches(|c: char| c <= ' ');
    let is_template = ["{{", "{%", "<%", "${", "<?"].iter().any(|open| text.contains(open));
    static VARIABLE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(?:/?%[A-Z0-9_]{3,}%|\$\()").expect("the pattern is valid"));
    let is_template = is_template || VARIABLE.is_match(text);
    let begins = |all: &[&str]| all.iter().any(|begin| text.starts_with(begin));
    if text.is_empty() || is_template || has_scheme(text) || begins(&["//", "/\\", "\\\\", "\\/", "{", "@"]) {
        return Aim::External;
    }
    if text.starts_with('/') && roots.is_empty() {
        return Aim::External;
    }
    let (rest, anchor) = match text.split_once('#') {
        Some((rest, anchor)) => (rest, Some(anchor)),
        None => (text, None),
    };
    let (path, query) = rest.find('?').map_or((rest, ""), |at| rest.split_at(at));
    let written = decoded(path);
    let folder = file.parent();
    let above = folder.as_ref().map_or("", RepoPath::as_str);
    let paths = match written.strip_prefix('/') {
        _ if written.is_empty() => vec![file.as_str().to_owned()],
        Some(rest) => roots.iter().filter_map(|root| joined(root, rest)).collect(),
        None => Vec::from_iter(joined(above, &written)),
    };
    let anchor = anchor.map(|anchor| anchor.split(":~:").next().unwrap_or_default());
    let anchor = anchor.map(decoded);
    let is_folder = written.ends_with('/');
    Aim::Local(Local { paths, written, is_folder, query: query.to_owned(), anchor })
}

/// True for a URL with a scheme.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// The text without percent-encoding, as far as that leaves a text.
pub(super) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.extend(u8::try_from(high * 16 + low));
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// A path below a folder; none if it leaves the workspace.
pub(super) fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(url: &str) -> Option<(Vec<String>, Option<String>)> {
        let file = RepoPath::parse("docs/a.md").expect("it is a path");
        match aim(url.as_bytes(), &file, &["site".to_owned(), ".".to_owned()]) {
            Aim::External => None,
            Aim::Local(local) => Some((local.paths, local.anchor)),
        }
    }

    #[test]
    fn destinations_outside_are_external() {
        let all = [
            "@site/a",
            "\\\\a",
            "http://a",
            "HTTPS:b",
            "mailto:x@y",
            "//host/a",
            "data:,x",
            "x-y+z.1:q",
            "{{ url }}/a",
            "%PUBLIC_URL%/a.ico",
            "/%BASE%/a.ico",
            "$(OUT)/a",
            "c:/a",
        ];
        assert!(all.iter().all(|url| local(url).is_none()));
    }

    #[test]
    fn paths_are_decoded_and_joined() {
        let is = |url: &str, paths: &[&str], anchor: Option<&str>| {
            let paths = paths.iter().map(ToString::to_string).collect();
            assert_eq!(local(url), Some((paths, anchor.map(str::to_owned))), "{url}");
        };
        is("b%20c.md?x=1#d%C3%A9", &["docs/b c.md"], Some("dé"));
        is("../x/./y//z.md", &["x/y/z.md"], None);
        is("../../x", &[], None);
        is("..", &[""], None);
        is("#a", &["docs/a.md"], Some("a"));
        is("?x#", &["docs/a.md"], Some(""));
        is("/b.md", &["site/b.md", "b.md"], None);
        is("a%zz%41", &["docs/a%zzA"], None);
        is("a%ff", &["docs/a%ff"], None);
        is("#a:~:text=b", &["docs/a.md"], Some("a"));
    }
}
