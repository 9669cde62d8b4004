//! Both sides agree on the permitted differences in any spelling: a part that is the same at the new origin keeps its spelling.

use proptest::{collection::vec, sample::select, test_runner::RngSeed};

use super::{agreement::objections, *};

/// A place of a link: the text before and after it, and the possible spellings of its characters.
struct Place {
    format: Format,
    around: (&'static str, &'static str),
    spell: &'static [fn(char) -> String],
}

fn decimal(c: char) -> String {
    format!("&#{};", u32::from(c))
}

fn decimal_with_zeros(c: char) -> String {
    format!("&#000{};", u32::from(c))
}

fn hex(c: char) -> String {
    format!("&#x{:x};", u32::from(c))
}

fn upper_hex(c: char) -> String {
    format!("&#X{:02X};", u32::from(c))
}

fn bare_decimal(c: char) -> String {
    format!("&#{}", u32::from(c))
}

fn bare_hex(c: char) -> String {
    format!("&#x{:x}", u32::from(c))
}

fn lower_hex_of_xml(c: char) -> String {
    format!("&#x{:X};", u32::from(c))
}

fn named(c: char) -> String {
    match c {
        ':' => "&colon;".to_owned(),
        '/' => "&sol;".to_owned(),
        '.' => "&period;".to_owned(),
        '@' => "&commat;".to_owned(),
        _ => c.to_string(),
    }
}

fn upper(c: char) -> String {
    c.to_ascii_uppercase().to_string()
}

fn css(c: char) -> String {
    format!("\\{:x} ", u32::from(c))
}

fn long_css(c: char) -> String {
    format!("\\{:06x}", u32::from(c))
}

fn backslash(c: char) -> String {
    if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() }
}

fn css_in_html(c: char) -> String {
    format!("&#92;{:x}&#32;", u32::from(c))
}

fn json(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

fn json_slash(c: char) -> String {
    if c == '/' { "\\/".to_owned() } else { c.to_string() }
}

fn percent(c: char) -> String {
    if c.is_ascii_alphanumeric() { format!("%{:02x}", u32::from(c)) } else { c.to_string() }
}

fn after_tab(c: char) -> String {
    format!("\t{c}")
}

fn before_line_end(c: char) -> String {
    format!("{c}\n")
}

const HTML: &[fn(char) -> String] =
    &[decimal, decimal_with_zeros, hex, upper_hex, bare_decimal, bare_hex, named, upper, percent];
const QUOTED: &[fn(char) -> String] = &[decimal, hex, bare_hex, named, upper, percent, after_tab, before_line_end];
const XML: &[fn(char) -> String] = &[decimal, decimal_with_zeros, hex, lower_hex_of_xml, upper, percent];
const CSS: &[fn(char) -> String] = &[css, long_css, upper, percent];
const STYLE: &[fn(char) -> String] = &[css, css_in_html, decimal, hex, named, upper];
const MARKDOWN: &[fn(char) -> String] = &[decimal, hex, upper_hex, named, backslash, upper, percent];
const JSON: &[fn(char) -> String] = &[json, json_slash, upper, percent];

const PLACES: &[Place] = &[
    Place { format: Format::Html, around: ("<p><a href=\"", "\">a</a>"), spell: HTML },
    Place { format: Format::Html, around: ("<p><a href=\"", "\">a</a>"), spell: QUOTED },
    Place { format: Format::Html, around: ("<a href='", "' class=x>a</a>"), spell: HTML },
    Place { format: Format::Html, around: ("<a href=", ">a</a>"), spell: HTML },
    Place { format: Format::Html, around: ("<img srcset='", " 2x, b 1x'>"), spell: HTML },
    Place { format: Format::Html, around: ("<meta http-equiv=refresh content='3; url=", "'>"), spell: HTML },
    Place { format: Format::Html, around: ("<p style=\"a:url(", ")\">"), spell: STYLE },
    Place { format: Format::Html, around: ("<style>a{b:url('", "')}</style>"), spell: CSS },
    Place { format: Format::Html, around: ("<script type='application/ld+json'>[\"", "\"]</script>"), spell: JSON },
    Place { format: Format::Xhtml, around: ("<p><a href=\"", "\">a</a></p>"), spell: XML },
    Place { format: Format::Xml, around: ("<svg><a href='", "'/></svg>"), spell: XML },
    Place { format: Format::Xml, around: ("<rss><link>", "</link></rss>"), spell: XML },
    Place { format: Format::Xml, around: ("<svg><style>a{b:url(", ")}</style></svg>"), spell: CSS },
    Place { format: Format::Css, around: ("a{b:url(", ")}"), spell: CSS },
    Place { format: Format::Css, around: ("a{b:url('", "')}"), spell: CSS },
    Place { format: Format::Css, around: ("@import \"", "\";"), spell: CSS },
    Place { format: Format::Markdown, around: ("[a](", ")\n"), spell: MARKDOWN },
    Place { format: Format::Markdown, around: ("![a](<", "> 'b')\n"), spell: MARKDOWN },
    Place { format: Format::Markdown, around: ("[a]\n\n[a]: ", "\n"), spell: MARKDOWN },
    Place { format: Format::Markdown, around: ("<p><a href='", "'>a</a>\n"), spell: HTML },
    Place { format: Format::Mdx, around: ("[a](", ")\n"), spell: MARKDOWN },
    Place { format: Format::Json, around: ("{\"a\": \"", "\"}"), spell: JSON },
];

/// The targets of links: another scheme, the same one, only another scheme, only another port, and with a prefix.
const MOVES: &[(&str, &str)] = &[
    ("old.example.com", "https://new.example.com"),
    ("old.example.com", "http://new.example.com"),
    ("http://old.example.com", "https://old.example.com"),
    ("https://old.example.com", "http://old.example.com"),
    ("http://old.example.com:80", "http://old.example.com:8080"),
    ("old.example.com", "http://a1.example.com"),
    ("old.example.com", "http://127.0.0.1:8000"),
    ("old.example.com", "http://new.example.com/docs"),
];

const URLS: &[&str] = &[
    "http://old.example.com",
    "http://old.example.com/a/b?c#d",
    "https://old.example.com/a",
    "//old.example.com/a",
    "http://u@old.example.com/",
    "http://u:p@old.example.com:80/a/../b",
    "//u@old.example.com?q",
];

/// Each character as it is, or in one of the spellings.
fn spelled(url: &str, spell: &[fn(char) -> String], choices: &[usize]) -> String {
    let choices = choices.iter().cycle();
    url.chars().zip(choices).map(|(c, choice)| spell.get(*choice).map_or(c.to_string(), |spell| spell(c))).collect()
}

fn places() -> impl Strategy<Value = (usize, &'static str, (&'static str, &'static str), Vec<usize>)> {
    let choice = prop_oneof![2 => Just(usize::MAX), 1 => 0..9usize];
    (0..PLACES.len(), select(URLS), select(MOVES), vec(choice, 40))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6000, failure_persistence: None, rng_seed: RngSeed::Fixed(9), ..ProptestConfig::default()
    })]

    #[test]
    fn both_sides_agree_on_every_spelling((place, url, (from, to), choices) in places()) {
        let Place { format, around: (before, after), spell } = &PLACES[place];
        let text = format!("{before}{}{after}", spelled(url, spell, &choices));
        let found = objections(*format, &text, (from, to));
        prop_assert!(found.as_ref().is_none_or(Vec::is_empty), "{:?} {:?} {} {:#?}", format, text, to, found);
    }
}

#[track_caller]
fn check(format: Format, text: &str, to: &str, expected: &str) {
    let params = json!({"from_hosts": ["old.example.com"], "to_host": to, "include": ["json", "json_ld"]});
    let params = params::Params::parse(&params).unwrap();
    let (_, moved) = propose::links_and_page_for_tests(format, text.as_bytes(), &params).unwrap();
    assert_eq!(String::from_utf8_lossy(&moved), expected);
    assert_eq!(objections(format, text, ("old.example.com", to)), Some(Vec::new()), "{text}");
}

#[test]
fn a_scheme_that_stays_keeps_its_spelling() {
    let to = "http://new.example.com";
    for (old, new) in [
        ("http&#58;//old.example.com/x", "http&#58;//new.example.com/x"),
        ("&#104;ttp://old&#46;example.com", "&#104;ttp://new.example.com"),
        ("http&colon;&sol;&sol;u@old.example.com", "http&colon;&sol;&sol;u@new.example.com"),
        ("http:&#x2F;&#X2f;old.example.com", "http:&#x2F;&#X2f;new.example.com"),
        ("HTTP&#58;//old.example.com", "http://new.example.com"),
        ("&sol;/old.example.com", "http://new.example.com"),
        ("https&#58;//old.example.com", "http://new.example.com"),
    ] {
        let page = |link: &str| format!("<a href='{link}'>a</a>");
        check(Format::Html, &page(old), to, &page(new));
    }
    check(Format::Css, "a{b:url(\\68 ttp\\://\\6f ld.example.com)}", to, "a{b:url(\\68 ttp\\://new.example.com)}");
    check(Format::Json, "[\"http:\\/\\/old.example.com\\/\"]", to, "[\"http:\\/\\/new.example.com\\/\"]");
    check(Format::Markdown, "[a](http\\://old.example.com)", to, "[a](http\\://new.example.com)");
    check(Format::Html, "<a href='&#47;/old.example.com'>", "https://a.example", "<a href='&#47;/a.example'>");
}

#[test]
fn a_host_that_stays_keeps_its_spelling() {
    let params = json!({"from_hosts": ["http://old.example.com"], "to_host": "https://old.example.com"});
    let params = params::Params::parse(&params).unwrap();
    let page = b"<a href='http&#58;//old&#46;example.com/'>";
    let (_, moved) = propose::links_and_page_for_tests(Format::Html, page, &params).unwrap();
    assert_eq!(moved, b"<a href='https://old&#46;example.com/'>");
    let (_, failures) = verify::links_and_failures_for_tests(page, &moved, &params);
    assert_eq!(failures, Vec::new());
}
