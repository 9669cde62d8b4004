//! A quick look at bytes: may an old host stand in them, in any spelling that a browser understands?

use memchr::memchr2_iter;

/// Knows which bytes call for a parser.
#[derive(Debug)]
pub(super) struct Sieve {
    /// Lower-case hosts; none if one of them has spellings that this search does not know.
    hosts: Option<Vec<String>>,
}

impl Sieve {
    /// A sieve for hosts as the URL standard writes them.
    pub(super) fn new(hosts: Vec<String>) -> Self {
        let is_number = |host: &String| {
            let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
            host.starts_with('[') || last.starts_with(|c: char| c.is_ascii_digit())
        };
        Sieve { hosts: (!hosts.iter().any(is_number)).then_some(hosts) }
    }

    /// False only if no link in the bytes can have one of the hosts.
    pub(super) fn may_hold(&self, bytes: &[u8]) -> bool {
        let Some(hosts) = &self.hosts else { return true };
        hosts.iter().any(|host| holds(bytes, host)) || has_odd_slashes(bytes) || has_odd_host(bytes)
    }
}

/// Searches without regard to case, by the rarer of the two cases of the first letter.
fn holds(bytes: &[u8], host: &str) -> bool {
    let host = host.as_bytes();
    let Some(first) = host.first() else { return true };
    memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), bytes)
        .any(|at| bytes.len() - at >= host.len() && bytes[at..at + host.len()].eq_ignore_ascii_case(host))
}

/// Slashes may be written as character references, or have dropped characters between them.
fn has_odd_slashes(bytes: &[u8]) -> bool {
    let reference = |at: usize| {
        let rest = &bytes[at + 1..];
        let number = rest.strip_prefix(b"#").map(|rest| match rest {
            [b'x' | b'X', hex @ ..] => digits(hex, 16),
            decimal => digits(decimal, 10),
        });
        let dropped_or_slash = number.is_some_and(|n| matches!(n, 9 | 10 | 13 | 47 | 92));
        let named = [&b"sol"[..], b"bsol", b"Tab", b"NewLine"].iter().any(|name| rest.starts_with(name));
        dropped_or_slash || named
    };
    let apart = |at: usize| {
        let rest = &bytes[at + 1..];
        let after = rest.iter().position(|byte| !matches!(byte, b'\t' | b'\n' | b'\r'));
        after.is_some_and(|n| n > 0 && matches!(rest[n], b'/' | b'\\'))
    };
    memchr::memchr_iter(b'&', bytes).any(reference) || memchr2_iter(b'/', b'\\', bytes).any(apart)
}

/// The number that the bytes begin with.
fn digits(bytes: &[u8], radix: u32) -> u32 {
    let digits = bytes.iter().map_while(|byte| char::from(*byte).to_digit(radix));
    digits.fold(0, |n: u32, digit| n.saturating_mul(radix).saturating_add(digit))
}

/// A host after two slashes that has anything but plain characters in it.
fn has_odd_host(bytes: &[u8]) -> bool {
    let slash = |byte: u8| matches!(byte, b'/' | b'\\');
    let odd = |at: usize| {
        if at + 1 >= bytes.len() || !slash(bytes[at + 1]) {
            return false;
        }
        let host = bytes[at + 2..].iter().copied();
        let mut host = host.skip_while(|byte| slash(*byte)).take_while(|byte| !b"/\\?#\"'<> ".contains(byte));
        host.any(|byte| !byte.is_ascii_graphic() || matches!(byte, b'%' | b'&'))
    };
    memchr2_iter(b'/', b'\\', bytes).any(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, expected: bool) {
        assert_eq!(Sieve::new(vec!["old.example.com".to_owned()]).may_hold(bytes.as_bytes()), expected, "{bytes:?}");
    }

    #[test]
    fn every_spelling_is_caught() {
        for spelling in [
            "http://old.example.com",
            "HTTP://OLD.Example.com",
            "http://o%6cd.example.com/",
            "http://ｏｌｄ.example.com",
            "http://old&#46;example.com",
            "http:&#47;/x",
            "http:/&sol;x",
            "http:/\n/x",
            "http:/&Tab;/x",
            "http://o\nld.example.com",
            "http:\\\\o\u{ad}ld.example.com",
            "http:&#x2F&#x2f;x",
        ] {
            check(spelling, true);
        }
    }

    #[test]
    fn plain_pages_pass() {
        check("<a href=\"https://new.example.com/ü?a%20&amp;b\">it&#8217;s</a> <script>// ü\n</script>", false);
        check("", false);
        assert!(Sieve::new(vec!["127.0.0.1".to_owned()]).may_hold(b""));
        assert!(Sieve::new(vec!["[::1]".to_owned()]).may_hold(b""));
    }
}
