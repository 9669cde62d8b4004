//! A commit of a repository elsewhere: its address and its hash.

use url::Url;

use base::error::{Code, Error};

/// The protocols that git may use.
pub(super) const PROTOCOLS: &[&str] = &["https", "ssh", "file"];

/// A commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSource {
    /// The repository.
    pub url: String,
    /// The full hash of the commit, in hexadecimal digits.
    pub commit: String,
}

impl GitSource {
    /// Reads `URL@COMMIT`.
    ///
    /// `invalid_input` for a commit that is no full hash, and for an address that [`check_address`] refuses.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::new(Code::InvalidInput, format!("`{}` is no commit of a repository: {why}", text.escape_debug()))
                .hint("give `https://HOST/REPOSITORY@COMMIT`, with the full hash of the commit")
        };
        let (url, commit) = text.rsplit_once('@').ok_or_else(|| wrong("it names no commit"))?;
        if !is_commit(commit) {
            return Err(wrong("the commit is no full hash of 40 or 64 lower-case hexadecimal digits"));
        }
        check_address(url).map_err(|why| wrong(&why))?;
        Ok(GitSource { url: url.to_owned(), commit: commit.to_owned() })
    }

    /// The last part of the address, without `.git`: the pack's name.
    pub fn name(&self) -> &str {
        let last = self.url.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        last.strip_suffix(".git").unwrap_or(last)
    }
}

/// True for a full hash of a commit.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

/// Looks at the address of a repository.
///
/// The reason of a refusal, for another protocol than https, ssh and file, for a password, which a file of pins would keep, and for
/// parts that git or ssh would take for an option.
pub fn check_address(url: &str) -> Result<(), String> {
    let parsed = Url::parse(url).map_err(|error| error.to_string())?;
    if !PROTOCOLS.contains(&parsed.scheme()) || !url.starts_with(&format!("{}://", parsed.scheme())) {
        return Err("the protocol is not https, ssh or file".to_owned());
    }
    let host = parsed.host_str().unwrap_or_default();
    let is_option = |part: &str| part.starts_with('-') || part.to_ascii_lowercase().starts_with("%2d");
    let why = if parsed.scheme() == "file" && !url.starts_with("file:///") {
        "an address of this machine has no host: it begins with `file:///`"
    } else if [host, parsed.username(), parsed.path().trim_start_matches('/')].into_iter().any(is_option) {
        "a part of it begins with `-`"
    } else if parsed.password().is_some() || parsed.scheme() == "https" && !parsed.username().is_empty() {
        "it has a user or a password, which would be kept with it"
    } else if url.chars().any(|c| c.is_control() || c == ' ') {
        "it has a space or a control character"
    } else {
        return Ok(());
    };
    Err(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_strictly() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for (url, name) in [
            ("https://example.com/team/rules.git", "rules"),
            ("ssh://git@example.com/team/rules", "rules"),
            ("ssh://git@example.com:2222/rules/", "rules"),
            ("file:///srv/rules.git", "rules"),
        ] {
            let source = GitSource::parse(&format!("{url}@{commit}")).unwrap();
            assert_eq!((source.url.as_str(), source.commit.as_str(), source.name()), (url, commit, name));
        }
        for url in [
            "ext::sh -c touch% /tmp/x",
            "ext://sh",
            "-uhttps://example.com/x",
            "--upload-pack=touch /tmp/x",
            "https://-oProxyCommand=x/rules",
            "ssh://-oProxyCommand=x/rules",
            "ssh://-u@example.com/rules",
            "ssh://example.com/-rules",
            "ssh://example.com//-rules",
            "ssh://%2DoProxyCommand=x/rules",
            "ssh://%2doProxyCommand=x@example.com/rules",
            "https://example.com/%2drules",
            "git@example.com:team/rules",
            "http://example.com/rules",
            "git://example.com/rules",
            "https:example.com/rules",
            "https://user:word@example.com/rules",
            "https://token@example.com/rules",
            "ssh://git:word@example.com/rules",
            "https://example.com/a b",
            "file://example.com/srv/rules",
            "file://localhost/srv/rules",
            "file:/srv/rules",
            "../rules",
            "",
        ] {
            let error = GitSource::parse(&format!("{url}@{commit}")).unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput, "{url}");
        }
        for commit in ["main", "0123456", "0123456789ABCDEF0123456789abcdef01234567", ""] {
            assert!(GitSource::parse(&format!("https://example.com/x@{commit}")).is_err(), "{commit}");
        }
        assert!(GitSource::parse("https://example.com/x").is_err());
    }
}
