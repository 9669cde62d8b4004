//! A quick search of bytes for old hosts, in any spelling that the format allows.
//!
//! A link that names its host has two slashes before it, or a user and an `@`. So the search examines the bytes after such a
//! place: few bytes, for any number of hosts. Spelled-out slashes and hosts need rarer bytes: `&`, `\`, `%`, line ends within,
//! letters beyond ASCII. It decodes these places, in each way of the format.

use std::{cell::Cell, collections::BTreeSet};

use memchr::{memchr3_iter, memmem};
use url::Url;

use super::format::Format;
use audit::spelling::{Layer, Spelled, number};

/// The length up to which a spelled-out host is decoded, first and at most; a longer one may be anything.
const WINDOWS: (usize, usize) = (96, 1 << 10);

/// The number of bytes that a cut-off reference or escape leaves.
const LONGEST_CHARACTER: usize = 40;

/// Recognises bytes that need a parser.
#[derive(Debug)]
pub(super) struct Sieve {
    /// The hosts as the URL standard writes them; none if one of them has spellings unknown to this search.
    hosts: Option<BTreeSet<Vec<u8>>>,
    /// The lengths of the shortest and the longest.
    lengths: (usize, usize),
    /// True if letters of one of them may be others in a page.
    has_punycode: bool,
}

/// The bytes to search, and the hosts.
struct Search<'a> {
    hosts: &'a BTreeSet<Vec<u8>>,
    lengths: (usize, usize),
    has_punycode: bool,
    bytes: &'a [u8],
    ways: &'static [&'static [Layer]],
    /// True if white space and marks of containers may stand at the beginning of a line.
    has_marks: bool,
    /// The last slashes that were examined, so that a long row of them is read once.
    skipped: Cell<Skipped>,
}

/// Slashes and the characters allowed among them.
#[derive(Clone, Copy, Debug, Default)]
struct Skipped {
    from: usize,
    to: usize,
}

impl Sieve {
    /// A sieve for hosts as the URL standard writes them.
    pub(super) fn new(hosts: BTreeSet<String>) -> Self {
        let is_number = |host: &String| {
            let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
            last.starts_with(|c: char| c.is_ascii_digit())
        };
        let is_odd = |host: &String| is_number(host) || !host.bytes().all(is_plain) || host.len() >= WINDOWS.1 / 2;
        let known = !hosts.iter().any(is_odd);
        let hosts: BTreeSet<Vec<u8>> = hosts.into_iter().map(String::into_bytes).collect();
        let lengths = || hosts.iter().map(Vec::len);
        let lengths = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
        let has_punycode = hosts.iter().any(|host| memmem::find(host, b"xn--").is_some());
        Sieve { hosts: known.then_some(hosts), lengths, has_punycode }
    }

    /// False only if no link in a file can have one of the hosts.
    pub(super) fn may_hold(&self, bytes: &[u8], format: Format) -> bool {
        let Some(hosts) = &self.hosts else { return true };
        let has_marks = matches!(format, Format::Markdown | Format::Mdx);
        let has_punycode = self.has_punycode;
        Search {
            hosts,
            lengths: self.lengths,
            has_punycode,
            bytes,
            ways: format.ways(),
            has_marks,
            skipped: Cell::default(),
        }
        .run()
    }
}

impl Search<'_> {
    fn run(&self) -> bool {
        self.plain_slashes() || self.slashes_apart() || self.rare_bytes()
    }

    fn plain_slashes(&self) -> bool {
        memmem::find_iter(self.bytes, b"//").any(|at| self.host(at + 2))
    }

    /// True if a host follows slashes with dropped white space between them.
    fn slashes_apart(&self) -> bool {
        let apart = |needle: &[u8]| memmem::find_iter(self.bytes, needle).any(|at| self.host(at + 1));
        apart(b"/\n") || apart(b"/\r") || apart(b"/\t")
    }

    /// True if a host follows spelled-out slashes or `@`, backslashes, or a user.
    fn rare_bytes(&self) -> bool {
        memchr3_iter(b'\\', b'@', b'&', self.bytes).any(|at| {
            let after_slash = at > 0 && self.bytes[at - 1] == b'/';
            let rest = &self.bytes[at + 1..];
            // Characters that a browser drops matter only behind a slash.
            let dropped = |number: u32| matches!(number, 9 | 10 | 13);
            let counts = |number: u32| matches!(number, 47 | 64 | 92) || after_slash && dropped(number);
            match (self.bytes[at], rest) {
                (b'@', _) => self.host(at + 1),
                (b'&', _) => referred(rest).is_some_and(counts) && self.decoded(at),
                (_, [b'&', more @ ..]) if referred(more).is_some_and(dropped) => self.decoded(at),
                (_, [b'/' | b'\\' | b'\t' | b'\n' | b'\r', ..]) => self.host(at + 1),
                (_, [b't' | b'n' | b'r', ..]) if after_slash => self.decoded(at) || self.host(at + 1),
                _ => escaped(rest).is_some_and(counts) && self.decoded(at) || after_slash && self.host(at + 1),
            }
        })
    }

    /// True if the text there, behind more slashes, may be one of the hosts.
    fn host(&self, at: usize) -> bool {
        if (self.skipped.get().from..self.skipped.get().to).contains(&at) {
            return false;
        }
        let before = self.bytes[at..].iter().take_while(|byte| {
            matches!(byte, b'/' | b'\\' | b'\t' | b'\n' | b'\r') || self.has_marks && matches!(byte, b' ' | b'>')
        });
        let start = at + before.count();
        self.skipped.set(Skipped { from: at, to: start });
        // The last backslash may be the beginning of the first letter instead of a slash.
        let letter = start.checked_sub(1).filter(|before| self.bytes[*before] == b'\\');
        let is_letter = |number: u32| number >= 128 || u8::try_from(number).is_ok_and(is_plain);
        if letter.is_some_and(|at| escaped(&self.bytes[start..]).is_some_and(is_letter) && self.decoded(at)) {
            return true;
        }
        let length = self.bytes[start..].iter().take_while(|byte| is_plain(**byte)).count();
        let host = &self.bytes[start..start + length];
        let goes_on =
            matches!(self.bytes.get(start + length), Some(b'%' | b'&' | b'\\' | b'\t' | b'\n' | b'\r' | 0x80..));
        self.known(host) || goes_on && self.begins(host) && self.decoded(start)
    }

    /// True if one of the hosts may begin like that, as written.
    fn begins(&self, head: &[u8]) -> bool {
        let head = head.to_ascii_lowercase();
        let next = self.hosts.range(head.clone()..).next();
        self.has_punycode || next.is_some_and(|host| host.starts_with(&head))
    }

    fn known(&self, host: &[u8]) -> bool {
        let (least, most) = self.lengths;
        let is_one =
            |host: &[u8]| (least..=most).contains(&host.len()) && self.hosts.contains(&host.to_ascii_lowercase());
        // In running text the end of a sentence does not belong to it.
        let end = host.iter().rposition(|byte| !matches!(byte, b'.' | b'_')).map_or(0, |last| last + 1);
        is_one(host) || end < host.len() && is_one(&host[..end])
    }

    /// As `host`, for bytes that may be spelled out.
    fn decoded(&self, at: usize) -> bool {
        let within = |most: usize| {
            let end = self.bytes.len().min(at + most);
            let ends = end == self.bytes.len();
            self.ways.iter().try_fold(false, |found, way| Some(found || self.is_host(&self.bytes[at..end], way, ends)?))
        };
        within(WINDOWS.0).or_else(|| within(WINDOWS.1)).unwrap_or(true)
    }

    /// True if the bytes begin with one of the hosts, behind slashes; none if the answer needs more bytes.
    fn is_host(&self, bytes: &[u8], way: &[Layer], ends: bool) -> Option<bool> {
        let decoded = Spelled::decode(bytes, way).bytes;
        let slashes = decoded.iter().take_while(|byte| matches!(byte, b'/' | b'\\' | b'@' | b'\t' | b'\n' | b'\r'));
        let rest = &decoded[slashes.count()..];
        let inside = |byte: &u8| is_plain(*byte) || matches!(byte, b'%' | b'\t' | b'\n' | b'\r' | 0x80..);
        let length = rest.iter().take_while(|byte| inside(byte)).count();
        // The last character may be cut off in the middle.
        if !ends && length + LONGEST_CHARACTER > rest.len() {
            return None;
        }
        // White space is dropped in some places, and ends a URL in others.
        let space = |c: char| c.is_whitespace() || c.is_control();
        let text = String::from_utf8_lossy(&rest[..length]);
        let first = text.split(space).next().unwrap_or_default();
        Some(self.means_host(first) || self.means_host(&text.replace(['\t', '\n', '\r'], "")))
    }

    fn means_host(&self, text: &str) -> bool {
        if text.bytes().all(is_plain) {
            return self.known(text.as_bytes());
        }
        let url = Url::parse(&format!("https://{text}/"));
        url.is_ok_and(|url| url.host_str().is_some_and(|host| self.known(host.as_bytes())))
    }
}

/// True for a byte of hosts that has no other meaning.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// The code point of the reference after its `&`, as far as it matters.
fn referred(bytes: &[u8]) -> Option<u32> {
    const NAMES: [(&[u8], u32); 5] = [(b"sol;", 47), (b"bsol;", 92), (b"commat;", 64), (b"Tab;", 9), (b"NewLine;", 10)];
    match bytes {
        [b'#', b'x' | b'X', hex @ ..] => Some(number(hex, 16, usize::MAX).0),
        [b'#', decimal @ ..] => Some(number(decimal, 10, usize::MAX).0),
        _ => NAMES.iter().find(|(name, _)| bytes.starts_with(name)).map(|(_, number)| *number),
    }
}

/// The code point of the escape of CSS or JSON after its backslash.
fn escaped(bytes: &[u8]) -> Option<u32> {
    let (digits, most) = if bytes.first() == Some(&b'u') { (&bytes[1..], 4) } else { (bytes, 6) };
    let (number, count) = number(digits, 16, most);
    (count > 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sieve() -> Sieve {
        Sieve::new(["old.example.com", "xn--mnchen-3ya.example"].map(str::to_owned).into())
    }

    #[track_caller]
    fn check(format: Format, bytes: &str, expected: bool) {
        assert_eq!(sieve().may_hold(bytes.as_bytes(), format), expected, "{bytes:?}");
    }

    #[test]
    fn every_spelling_is_caught() {
        for spelling in [
            "http://old.example.com",
            "HTTP://OLD.Example.com",
            "http://o%6cd.example.com/",
            "http://ｏｌｄ.example.com",
            "http://old&#46;example.com",
            "http:&#47;/old.example.com",
            "http:/&sol;old.example.com",
            "http:/\n/old.example.com",
            "http:/&Tab;/old.example.com",
            "http://o\nld.example.com",
            "http:\\\\o\u{ad}ld.example.com",
            "http:&#x2F&#x2f;old.example.com",
            "http:&#92/old.example.com",
            "//a\"b'c d@old.example.com",
            "//a&commat;old.example.com",
            "http://old。example。com",
            "//&shy;old.example.com",
            "//&ofr;ld.example.com",
            "//m&uuml;nchen.example",
            "<img srcset='//old.example.com\n2x'>",
            "<a ping='//&#111;ld.example.com\tb'>",
            "//MÜNCHEN.example",
            "//xn--mnchen-3ya.example",
            "<style>a{b:url(\\68ttp:\\2f\\00002f old.example.com)}",
            "<style>a{b:url('//o\\\nld.exampl\\65.com')}",
            "<p style='a:url(&#92;2f/old.example.com)'>",
            "\"http:\\/\\/old.example.com\"",
            "\"http:\\u002f\\u002Fold\\u002eexample.com\"",
        ] {
            check(Format::Html, spelling, true);
        }
        for spelling in
            ["[a](http\\:\\/\\/old\\.example\\.com)", "> <a href='//old.\n> >  example.com'>", "//old&#46;example.com"]
        {
            check(Format::Markdown, spelling, true);
        }
        check(Format::Css, "url(\\2f\\2fold.example.com)", true);
        check(Format::Xml, "<loc>http://&#x6f;ld.example.com</loc>", true);
        check(Format::Text, "see http://OLD.example.com.", true);
        for end in ["", ",", "\nand", "\r\nand", "\tand", "\u{a0}and", "_"] {
            check(Format::Text, &format!("see http://OLD.example.com{end}"), true);
            check(Format::Markdown, &format!("see http&#58;//OLD.example&#46;com{end}"), true);
        }
    }

    #[test]
    fn plain_pages_pass() {
        check(
            Format::Html,
            "<a href=\"https://new.example.com/ü?a%20&amp;b//old.example.com.evil.org\">it&#8217;s</a> old.example.com \
             <script>// ü\n//注释：x\n\"\\/\\/a\\u003c\" /\\d+\\w/ @media //old.example\n/</script>&#47;old &lt;/",
            false,
        );
        check(Format::Html, "", false);
        for host in ["127.0.0.1", "[::1]", "a\"b.example"] {
            assert!(Sieve::new([host.to_owned()].into()).may_hold(b"", Format::Html));
        }
    }

    #[test]
    fn many_hosts_are_one_search() {
        let many = Sieve::new((0..400).map(|n| format!("h{n}.example.com")).collect());
        assert!(many.may_hold(b"a //h399.example.com/", Format::Text));
        assert!(!many.may_hold(b"a //h400.example.com/ //h3.example.comm/ h3.example.com", Format::Text));
    }

    /// A character in one of its spellings; unchanged if the format lacks that one.
    fn spell(format: Format, c: char, how: u8) -> String {
        let number = u32::from(c);
        let has_references = matches!(format, Format::Html | Format::Xml | Format::Markdown);
        let has_styles = matches!(format, Format::Html | Format::Css | Format::Xml);
        match how {
            0 if has_references => format!("&#{number};"),
            1 if has_references => format!("&#x{number:04X};"),
            2 if format == Format::Html && c == '.' => "&period;".to_owned(),
            2 if format == Format::Html && c == '/' => "&sol;".to_owned(),
            3 if matches!(format, Format::Html | Format::Json) => format!("\\u{number:04x}"),
            4 if format == Format::Json && c == '/' => "\\/".to_owned(),
            4 if format == Format::Markdown && c.is_ascii_punctuation() => format!("\\{c}"),
            5 if has_styles => format!("\\{number:x} "),
            6 if has_styles => format!("\\{number:06x} "),
            7 if c != '/' => format!("%{number:02x}"),
            8 if c.is_ascii_lowercase() => char::from_u32(0xff41 + number - 0x61).map(String::from).unwrap_or_default(),
            9 if c == '.' => "\u{3002}".to_owned(),
            10 if format == Format::Html && c == '/' => "\\".to_owned(),
            11 if format == Format::Html => format!("\n{c}\t"),
            12 => c.to_ascii_uppercase().to_string(),
            _ => c.to_string(),
        }
    }

    /// One kind of escape suits a place; percent signs and letters that stand for others suit every kind.
    const KINDS: &[&[u8]] = &[&[0, 1, 2, 7, 8, 9, 10, 11, 12, 13], &[3, 4, 7, 8, 9, 12, 13], &[5, 6, 7, 8, 9, 12, 13]];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_spelling_slips_through(
            how in proptest::collection::vec(any::<u8>(), 17),
            often in 1u8..=8,
            n in 0..Format::ALL.len(),
            (before, after) in ("[ -~\n]{0,5}", "([/?#:\"'<) \n\t\u{a0}\u{3000}][ -~\n]{0,5})?"),
        ) {
            for kind in KINDS {
                let pick = |how: u8| if how.is_multiple_of(often) { kind[usize::from(how / often) % kind.len()] } else { 13 };
                let host = "//old.example.com".chars().zip(&how);
                let url: String = host.map(|(c, how)| spell(Format::ALL[n], c, pick(*how))).collect();
                // A format that drops white space drops all of it.
                let joins = url.contains('\t') && after.starts_with(char::is_whitespace);
                let after = if joins { "" } else { &after };
                let text = format!("{before}{url}{after}");
                prop_assert!(sieve().may_hold(text.as_bytes(), Format::ALL[n]), "{:?} {text:?}", Format::ALL[n]);
            }
        }
    }
}
