//! The arguments of one command, parsed like its program: options, their values, operands.

use std::borrow::Cow;

/// The arguments of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments<'a> {
    pub(super) flags: Vec<Flag<'a>>,
    pub(super) operands: Vec<&'a str>,
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flag<'a> {
    /// With its dashes; several letters after one dash may be several options.
    pub(super) name: &'a str,
    pub(super) value: Option<&'a str>,
    /// True if it may be several letters behind one dash.
    joined: bool,
    /// The option right before it, which may take it as its value.
    after: Option<&'a str>,
}

impl<'a> Arguments<'a> {
    /// Parses arguments. `valued` are the options that take the next argument as their value; `-p?` takes only a joined value.
    pub(super) fn parse(words: &'a [String], valued: &[&str]) -> Self {
        let flags = words.iter().filter(|word| word.starts_with('-')).count();
        let (flags, operands) = (Vec::with_capacity(flags), Vec::with_capacity(words.len() - flags));
        let mut arguments = Arguments { flags, operands };
        let mut words = words.iter().map(String::as_str);
        let is_valued = |name: &str| valued.contains(&name);
        let mut after = None;
        while let Some(word) = words.next() {
            if word == "--" {
                arguments.operands.extend(words);
                return arguments;
            }
            if !word.starts_with('-') || word.len() < 2 {
                arguments.operands.push(word);
                after = None;
                continue;
            }
            let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            let flag = if value.is_some() || word.starts_with("--") || is_valued(word) {
                let value = value.or_else(|| is_valued(name).then(|| words.next()).flatten());
                Flag { name, value, joined: false, after }
            } else {
                // The first joined letter that takes a value has the rest, or the next argument.
                let letters = word.char_indices().skip(1).take_while(|(_, letter)| letter.is_ascii_alphanumeric());
                let known = |letter: char, mark: &str| {
                    let mut known = valued.iter().filter_map(|known| known.strip_prefix('-')?.strip_prefix(letter));
                    known.any(|rest| rest == mark)
                };
                let mut taking = letters.filter(|(_, letter)| known(*letter, "") || known(*letter, "?"));
                match (valued.is_empty(), taking.next()) {
                    (false, Some((at, letter))) => {
                        let (joined, rest) = word.split_at(at + letter.len_utf8());
                        let value = match rest {
                            "" if known(letter, "") => words.next(),
                            "" => None,
                            rest => Some(rest),
                        };
                        Flag { name: joined, value, joined: true, after }
                    }
                    _ => Flag {
                        name: word,
                        value: None,
                        joined: word[1..].bytes().all(|byte| byte.is_ascii_alphanumeric()),
                        after,
                    },
                }
            };
            after = flag.value.is_none().then_some(word);
            arguments.flags.push(flag);
        }
        arguments
    }

    /// The values of an option.
    pub(super) fn values(&self, spec: &'a str) -> impl Iterator<Item = &'a str> {
        let spec = Spec::new(spec);
        self.flags.iter().filter(move |flag| spec.names(flag, false)).filter_map(|flag| flag.value)
    }

    /// True if one of `alternatives` is given, in any spelling.
    pub(super) fn has(&self, alternatives: &[Cow<'_, str>], lenient: bool) -> bool {
        alternatives.iter().any(|spec| self.has_one(spec, lenient))
    }

    /// True if an option is given: `-f` alone or joined with others, `--force`, `-X=DELETE` with that value, `/s`.
    pub(super) fn has_one(&self, spec: &str, lenient: bool) -> bool {
        if spec.starts_with('/') {
            return self.operands.iter().any(|operand| is_switch(operand, spec));
        }
        let (name, value) = spec.split_once('=').map_or((spec, None), |(name, value)| (name, Some(value)));
        let spec = Spec::new(name);
        self.flags.iter().filter(|flag| spec.names(flag, lenient)).any(|flag| match (value, flag.value) {
            (None, given) => !given.is_some_and(is_off),
            (Some(wanted), Some(given)) => wanted.split(';').any(|wanted| matches(wanted, &given.to_ascii_lowercase())),
            (Some(_), None) => false,
        })
    }

    /// True if one of some options is given, and no other option can take it as its value.
    pub(super) fn has_free(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|flag| names.contains(&flag.name) && flag.after.is_none_or(is_bare))
    }

    /// True if an option for a dry run is given, and not reverted later.
    pub(super) fn is_rehearsal(&self) -> bool {
        let asked = |flag: &Flag<'_>| {
            let (name, value) = flag.name.split_once(':').unwrap_or((flag.name, flag.value.unwrap_or_default()));
            let name = name.trim_start_matches('-').to_ascii_lowercase();
            let (name, is_taken_back) = match name.strip_prefix("no-") {
                Some(rest) if rest != "act" => (rest.to_owned(), true),
                _ => (name, false),
            };
            let is_off = is_taken_back || value == "0" || value == "$false" || is_off(value);
            let is_free = |before: &str| REHEARSALS.contains(&before.trim_start_matches('-')) || is_bare(before);
            (flag.name.len() > 3 && flag.after.is_none_or(is_free) && REHEARSALS.contains(&name.as_str()))
                .then_some(!is_off)
        };
        // The last one counts.
        self.flags.iter().rev().find_map(asked).unwrap_or_default()
    }

    /// True if an option makes the command harmless. A later opposite reverts it.
    pub(super) fn excuses(&self, alternatives: &[Cow<'_, str>]) -> bool {
        // The last one counts.
        self.flags
            .iter()
            .rev()
            .find_map(|flag| alternatives.iter().find_map(|one| excused(one, flag)))
            .unwrap_or_default()
            || alternatives.iter().any(|one| self.operands.iter().any(|operand| is_switch(operand, one)))
    }
}

/// Options of dry runs, in lower case and without dashes.
const REHEARSALS: &[&str] =
    &["dry-run", "dryrun", "just-print", "no-act", "noop", "pretend", "simulate", "what-if", "whatif"];

/// Options that take no value in any program: `--dry-run` behind any other one may be its value.
const BARE: &[&str] = &[
    "--all",
    "--all-namespaces",
    "--auto-approve",
    "--debug",
    "--delete",
    "--delete-emptydir-data",
    "--delete-local-data",
    "--disable-eviction",
    "--force",
    "--ignore-daemonsets",
    "--ignore-not-found",
    "--no-git-checks",
    "--now",
    "--only-show-errors",
    "--prune",
    "--quiet",
    "--recursive",
    "--tags",
    "--verbose",
    "--yes",
    "-A",
    "-f",
    "-force",
    "-q",
    "-r",
    "-recurse",
    "-v",
    "-y",
];

fn is_bare(option: &str) -> bool {
    BARE.iter().any(|known| known.eq_ignore_ascii_case(option))
}

/// True if a flag is the excuse, false if it reverts the excuse; none if it is another flag.
fn excused(excuse: &str, flag: &Flag<'_>) -> Option<bool> {
    let (name, value) = excuse.split_once('=').map_or((excuse, None), |(name, value)| (name, Some(value)));
    if flag.name.strip_prefix("--no-").is_some_and(|rest| name.strip_prefix("--") == Some(rest)) {
        return Some(false);
    }
    Spec::new(name).names(flag, false).then(|| match (value, flag.value) {
        (None, given) => !given.is_some_and(|given| given == "0" || is_off(given)),
        (Some(wanted), given) => given.is_some_and(|given| wanted.split(';').any(|wanted| matches(wanted, given))),
    })
}

/// True if an operand is a switch in the style of Windows: `/s`, or one of `/s/q`.
fn is_switch(operand: &str, spec: &str) -> bool {
    let Some(name) = spec.strip_prefix('/') else { return false };
    operand.strip_prefix('/').is_some_and(|given| given.split('/').any(|given| given.eq_ignore_ascii_case(name)))
}

fn is_off(value: &str) -> bool {
    ["false", "no", "none", "off"].iter().any(|off| value.eq_ignore_ascii_case(off))
}

/// The name of an option in a rule.
#[derive(Clone, Copy)]
struct Spec<'s> {
    name: &'s str,
    letter: Option<char>,
}

impl<'s> Spec<'s> {
    fn new(name: &'s str) -> Self {
        let mut letters = name.strip_prefix('-').unwrap_or_default().chars();
        let letter = letters.next().filter(|letter| *letter != '-' && letters.next().is_none());
        Spec { name, letter }
    }

    /// True if a flag is this option. `lenient` takes a prefix of a long name for the name.
    fn names(self, flag: &Flag<'_>, lenient: bool) -> bool {
        if flag.name == self.name {
            return true;
        }
        match self.letter {
            Some(letter) => flag.joined && flag.name.chars().skip(1).any(|given| given == letter),
            None if self.name.starts_with("--") => lenient && flag.name.len() > 2 && self.name.starts_with(flag.name),
            // Go's programs take one dash or two.
            None => flag.name.strip_prefix('-') == Some(self.name),
        }
    }
}

/// True if a text matches a pattern, in which `*` is any text.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    // Most texts don't match, and their first character tells.
    let first = pattern.as_bytes().first();
    if first != Some(&b'*') && first != text.as_bytes().first() {
        return false;
    }
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(start) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return left.ends_with(piece);
        }
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(line: &str, valued: &str, spec: &str) -> bool {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let valued: Vec<&str> = valued.split(' ').collect();
        Arguments::parse(&words, &valued).has_one(spec, true)
    }

    #[test]
    fn an_option_is_found_however_it_is_spelt() {
        for line in ["-f", "-xf", "-fx", "--force", "--forc", "a -f b"] {
            assert!(has(line, "", if line.contains("--") { "--force" } else { "-f" }), "{line}");
        }
        for line in ["-- -f", "f", "--fx", "-x"] {
            assert!(!has(line, "", "-f"), "{line}");
        }
        assert!(has("-XDELETE", "-X", "-X=delete") && has("-X delete", "-X", "-X=delete"));
        assert!(has("-sX DELETE", "-X", "-X=delete") && has("--request=DELETE", "", "--request=delete"));
        assert!(!has("-n -f", "-n", "-f"), "the value of an option is none");
        assert!(has("-pxf -f", "-p?", "-f") && !has("-pxf", "-p?", "-f") && has("-p -f", "-p?", "-f"));
        assert!(has("-p$F -f", "-F", "-f"), "no letter after a sign is an option");
        assert!(has("--auto-approve", "", "-auto-approve") && !has("-force=false", "", "-force"));
        assert!(has("/S", "", "/s") && has("/q/s", "", "/s"));
    }

    #[test]
    fn patterns_fit_text() {
        for (pattern, text, fits) in [
            ("delete-*", "delete-stack", true),
            ("delete-*", "undelete-stack", false),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a", "ab", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
