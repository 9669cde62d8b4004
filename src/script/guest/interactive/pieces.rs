//! The parts of a text that a script made of several texts can't hold twice, and the end of its last statement.

use base::{
    frame::{Definition, Parsed},
    tokens::{Kind, Scan},
};

/// The functions, the header and the end of a text; the caller fills in the rest of the answer.
pub(super) fn of(text: &str) -> Parsed {
    let scan = Scan::of(text);
    let mut parsed = Parsed::default();
    let mut at = 0;
    while at < scan.tokens.len() {
        let end = match scan.word(at) {
            "fn" if scan.is_word(at) => function(&scan, at, &mut parsed),
            "const" if scan.is_word(at) && scan.word(at + 1) == "WORKFLOW" => {
                let end = statement_end(&scan, at);
                parsed.header = Some((scan.tokens[at].from, scan.tokens[end].to));
                Some(end)
            }
            _ if scan.opens(at) => scan.closing(at),
            _ => None,
        };
        let end = end.unwrap_or(at);
        let token = scan.tokens[end];
        let needs = !(scan.is(end, ";") || scan.word(at) == "fn" && scan.is(end, "}"));
        if token.kind != Kind::Doc {
            parsed.last = Some((token.to, needs));
        }
        at = end + 1;
    }
    parsed
}

/// Notes the function that begins at a token; returns the token that ends it.
fn function(scan: &Scan<'_>, at: usize, parsed: &mut Parsed) -> Option<usize> {
    let opener = (at..scan.tokens.len()).find(|at| scan.is(*at, "("))?;
    let closer = scan.closing(opener)?;
    let end = scan.closing(closer + 1).filter(|_| scan.is(closer + 1, "{"))?;
    let mut first = if at > 0 && scan.is(at - 1, "private") { at - 1 } else { at };
    while first > 0 && scan.tokens[first - 1].kind == Kind::Doc {
        first -= 1;
    }
    let params = (opener + 1..closer).filter(|at| scan.is_word(*at)).count();
    let bytes = (scan.tokens[first].from, scan.tokens[end].to);
    parsed.functions.push(Definition { name: scan.word(opener - 1).to_owned(), params, bytes });
    Some(end)
}

/// The token that ends the statement which begins at a token.
fn statement_end(scan: &Scan<'_>, from: usize) -> usize {
    let mut at = from;
    while at < scan.tokens.len() && !scan.is(at, ";") {
        at = if scan.opens(at) { scan.closing(at).unwrap_or(at) } else { at } + 1;
    }
    at.min(scan.tokens.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_the_header_are_found() {
        let text =
            "const WORKFLOW = #{ name: \"a;\" };\n/// Doc.\nprivate fn f(a, b) { a }\nlet x = || { 1 }; fn g() {}";
        let parsed = of(text);
        let part = |(from, to): (usize, usize)| &text[from..to];
        let found: Vec<_> =
            parsed.functions.iter().map(|one| (one.name.as_str(), one.params, part(one.bytes))).collect();
        assert_eq!(found, [("f", 2, "/// Doc.\nprivate fn f(a, b) { a }"), ("g", 0, "fn g() {}")]);
        assert_eq!(parsed.header.map(part), Some("const WORKFLOW = #{ name: \"a;\" };"));
        assert_eq!(parsed.last, Some((text.len(), false)));
    }

    #[test]
    fn a_last_statement_says_whether_it_is_closed() {
        for (text, last) in [
            ("1 + 1 // so", Some((5, true))),
            ("let x = #{};", Some((12, false))),
            ("let x = #{ a: f(1) }", Some((20, true))),
            ("fn f() { 1 }\n", Some((12, false))),
            ("  // nothing", None),
        ] {
            assert_eq!(of(text).last, last, "{text}");
        }
    }
}
