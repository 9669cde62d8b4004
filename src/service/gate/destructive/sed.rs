//! Scripts of `sed`: the files that they write, and the commands that they run.

/// The effects of a script besides editing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Deeds<'a> {
    pub(super) writes: Vec<&'a str>,
    /// An empty one stands for its input.
    pub(super) runs: Vec<&'a str>,
}

/// Reads one script, as far as its form tells.
pub(super) fn deeds(script: &str) -> Deeds<'_> {
    let mut deeds = Deeds::default();
    let mut rest = script;
    while let Some(at) = rest.find(|c: char| !c.is_whitespace() && !";{}".contains(c)) {
        rest = command(after_address(&rest[at..]), &mut deeds);
    }
    deeds
}

/// Reads one command, from its letter on, and returns the rest.
fn command<'a>(text: &'a str, deeds: &mut Deeds<'a>) -> &'a str {
    let mut letters = text.chars();
    let Some(letter) = letters.next() else { return "" };
    let rest = letters.as_str();
    let (line, next) = rest.split_once('\n').unwrap_or((rest, ""));
    match letter {
        'w' | 'W' => deeds.writes.push(line.trim()),
        'e' => deeds.runs.push(line.trim()),
        'r' | 'R' | '#' => {}
        // Their text continues behind a backslash.
        'a' | 'i' | 'c' => {
            let mut rest = rest;
            while let Some((line, next)) = rest.split_once('\n') {
                rest = next;
                if !line.ends_with('\\') {
                    return next;
                }
            }
            return "";
        }
        's' | 'y' => {
            let Some((replacement, flags)) = sections(rest) else { return "" };
            let end = flags.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(flags.len());
            let own = &flags[..end];
            if letter == 's' && own.split('w').next().is_some_and(|own| own.contains('e')) {
                deeds.runs.extend([replacement, ""]);
            }
            let Some(at) = own.find('w').filter(|_| letter == 's') else { return &flags[end..] };
            let (line, next) = flags[at + 1..].split_once('\n').unwrap_or((&flags[at + 1..], ""));
            deeds.writes.push(line.trim());
            return next;
        }
        _ => return rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || " _-".contains(c)),
    }
    next
}

/// The second section of `s/…/…/`, and the text after it.
fn sections(text: &str) -> Option<(&str, &str)> {
    let mark = text.chars().next()?;
    let (mut left, mut rest) = (2, text[mark.len_utf8()..].char_indices());
    let text = &text[mark.len_utf8()..];
    let mut second = 0;
    while let Some((at, character)) = rest.next() {
        match character {
            '\\' => drop(rest.next()),
            _ if character == mark => {
                left -= 1;
                if left == 0 {
                    return Some((&text[second..at], &text[at + mark.len_utf8()..]));
                }
                second = at + mark.len_utf8();
            }
            _ => {}
        }
    }
    None
}

/// A command without its addresses: `3,$`, `/x/,+2`, `\cxcI`, `!`.
fn after_address(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_whitespace() || "$,+~!".contains(c));
        let opened = rest.strip_prefix('\\').unwrap_or(rest);
        let Some(mark) = opened.chars().next().filter(|mark| *mark == '/' || opened.len() < rest.len()) else {
            return rest;
        };
        let mut letters = opened[mark.len_utf8()..].char_indices();
        let end = loop {
            match letters.next() {
                None => return "",
                Some((_, '\\')) => drop(letters.next()),
                Some((at, character)) if character == mark => break at + 2 * mark.len_utf8(),
                Some(_) => {}
            }
        };
        rest = opened[end..].trim_start_matches(['I', 'M']);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, writes: &[&str], runs: &[&str]) {
        assert_eq!(deeds(script), Deeds { writes: writes.to_vec(), runs: runs.to_vec() }, "{script}");
    }

    #[test]
    fn files_that_a_script_writes_are_told() {
        check("w x.txt", &["x.txt"], &[]);
        check("/a/w x.txt", &["x.txt"], &[]);
        check("3,$!w x", &["x"], &[]);
        check("\\c/cI,+2W x\np", &["x"], &[]);
        check("s/a/b/w x", &["x"], &[]);
        check("s|a\\|/|b|3gw x\ns/b/c/", &["x"], &[]);
        check("p;{s/a/b/;w x\n}", &["x"], &[]);
        check("$!N;w x", &["x"], &[]);
        check("b end; : end\nw x", &["x"], &[]);
        check("a text\\\nw y\nw x", &["x"], &[]);
        check("1e rm x\nw x", &["x"], &["rm x"]);
        check("s/a/rm x/ge", &[], &["rm x", ""]);
        check("s/a/b/we", &["e"], &[]);
    }

    #[test]
    fn what_only_looks_like_a_command_is_none() {
        for script in
            ["s/w x/b/", "s/a/w x/g", "/w x/d", "a w x", "r x", "# w x", "y/w x/abc/", "s/new w/x/;p", "3q", "", "s/"]
        {
            check(script, &[], &[]);
        }
    }
}
