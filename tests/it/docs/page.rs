//! The runnable parts of a page of documentation: its `console` and `sh` blocks, command by command.

/// A command with its expected output and status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The line of the page, from 1.
    pub(super) line: usize,
    /// The typed command.
    pub(super) command: String,
    /// Its expected output; empty: any.
    pub(super) expected: Vec<String>,
    /// Its exit code.
    pub(super) status: i32,
}

/// The commands of a page, in lists that each start with a fresh copy of the repository.
///
/// In a block, lines with `$ ` are commands, the lines below one are what it prints, and `# exit 3` below these is its exit
/// code. A command that ends with `\` goes on in the next line, and lines with `> ` right below a command belong to it, as in a shell.
/// In a `sh` block without `$ ` every line is a command. `fresh` in the info string begins a new copy.
pub(super) fn parse(text: &str) -> Result<Vec<Vec<Step>>, String> {
    let mut copies = vec![Vec::new()];
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    while let Some((start, line)) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        let mut body = Vec::new();
        loop {
            let Some((number, line)) = lines.next() else { return Err(format!("line {start}: the block has no end")) };
            if line.trim() == "```" {
                break;
            }
            body.push((number, line.get(indent..).unwrap_or_default()));
        }
        let mut words = info.split_whitespace();
        let kind = words.next().unwrap_or_default();
        if !matches!(kind, "console" | "sh") {
            continue;
        }
        match words.collect::<Vec<_>>()[..] {
            [] => {}
            ["fresh"] => copies.push(Vec::new()),
            _ => return Err(format!("line {start}: `{info}` is not understood")),
        }
        let bare = kind == "sh" && !body.iter().any(|(_, line)| line.starts_with("$ "));
        copies.last_mut().expect("there is a first copy").extend(steps(&body, bare)?);
    }
    copies.retain(|steps| !steps.is_empty());
    Ok(copies)
}

fn steps(body: &[(usize, &str)], bare: bool) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for (number, line) in body {
        let command = if bare { Some(*line).filter(|line| !line.trim().is_empty()) } else { line.strip_prefix("$ ") };
        match (steps.last_mut(), exit(line), command) {
            (Some(step), _, _) if step.expected.is_empty() && (line.starts_with("> ") || *line == ">") => {
                step.command.push_str(&format!("\n{}", line.strip_prefix("> ").unwrap_or_default()));
            }
            (Some(step), _, _) if goes_on => step.command.push_str(&format!("\n{line}")),
            (Some(step), Some(status), _) => step.status = status,
            (_, _, Some(command)) => {
                let command = command.to_owned();
                steps.push(Step { line: *number, command, expected: Vec::new(), status: 0 });
            }
            (Some(step), None, None) => step.expected.push((*line).to_owned()),
            (None, _, None) => return Err(format!("line {number}: output stands before any command")),
        }
        goes_on = steps.last().is_some_and(|step| step.command.ends_with('\\') && step.expected.is_empty());
    }
    for step in &mut steps {
        while step.expected.last().is_some_and(|line| line.trim().is_empty()) {
            step.expected.pop();
        }
    }
    Ok(steps)
}

fn exit(line: &str) -> Option<i32> {
    line.strip_prefix("# exit ")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(line: usize, command: &str, expected: &[&str], status: i32) -> Step {
        let expected = expected.iter().map(ToString::to_string).collect();
        Step { line, command: command.to_owned(), expected, status }
    }

    #[test]
    fn commands_outputs_and_exit_codes_are_told_apart() {
        let page = "text\n```console\n$ a \\\n  b\none\n\n$ c\n# exit 3\n```\n```json\n$ no\n```\n";
        let expected = vec![vec![step(3, "a \\\n  b", &["one"], 0), step(7, "c", &[], 3)]];
        assert_eq!(parse(page), Ok(expected));
    }

    #[test]
    fn a_text_for_a_command_stands_behind_angles() {
        let page = "```console\n$ cat > a <<'E'\n> one\n>\n> two\n> E\n$ cat a\none\n> two\n```\n";
        let expected =
            vec![vec![step(2, "cat > a <<'E'\none\n\ntwo\nE", &[], 0), step(7, "cat a", &["one", "> two"], 0)]];
        assert_eq!(parse(page), Ok(expected));
    }

    #[test]
    fn a_plain_sh_block_is_all_commands() {
        assert_eq!(parse("```sh\na\n\nb\n```"), Ok(vec![vec![step(2, "a", &[], 0), step(4, "b", &[], 0)]]));
    }

    #[test]
    fn a_fresh_block_begins_a_new_copy() {
        let page = "```console\n$ a\n```\n- item\n  ```console fresh\n  $ b\n  out\n  ```\n";
        assert_eq!(parse(page), Ok(vec![vec![step(2, "a", &[], 0)], vec![step(6, "b", &["out"], 0)]]));
        assert_eq!(parse("```console fresh\n$ a\n```"), Ok(vec![vec![step(2, "a", &[], 0)]]));
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert!(parse("```console\n$ a\n").is_err());
        assert!(parse("```console quickly\n$ a\n```").is_err());
        assert!(parse("```console\nout\n$ a\n```").is_err());
    }
}
