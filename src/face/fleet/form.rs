//! The forms of what reaches repositories: the commits that a fleet pushes, and the commands of a forge's client that find, open and close
//! change requests, as the fleet's author gives them.

use serde::{Deserialize, Serialize};

/// The names that stand in braces in a command.
const NAMES: &[&str] = &["url", "repository", "name", "branch", "commit", "subject", "body", "request"];

/// The form of the commits that a fleet pushes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitForm {
    /// The branch, which must not be there yet.
    pub branch: String,
    /// The message.
    pub message: String,
    /// The author, as `Name <address>`.
    pub author: String,
    /// Options of the push, as some servers take them in place of a client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub push_options: Vec<String>,
}

impl CommitForm {
    /// The reason that git takes no such commit.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let Self { branch, message, author, push_options } = self;
        let is_mark = |c: u8| matches!(c, b'-' | b'_' | b'.' | b'/');
        let is_branch = branch.split('/').all(is_name)
            && branch.bytes().all(|c| c.is_ascii_alphanumeric() || is_mark(c))
            && !branch.contains("..")
            && !branch.split('/').any(|part| part.ends_with(".lock") || part.ends_with('.'));
        let is_address = |text: &str| !text.is_empty() && !text.contains(['<', '>', '\n', '\r', '\0']);
        let is_author = author
            .strip_suffix('>')
            .and_then(|author| author.split_once(" <"))
            .is_some_and(|(name, address)| is_address(name.trim()) && is_address(address));
        match (is_branch, is_author, message.trim().is_empty() || message.contains('\0')) {
            (false, ..) => Some("`commit.branch` is no name of a branch of letters, digits, `-`, `_`, `.` and `/`"),
            (_, false, _) => Some("`commit.author` is not of the form `Name <address>`"),
            (.., true) => Some("`commit.message` is empty"),
            (true, true, false) if push_options.iter().any(|option| option.contains(['\n', '\0'])) => {
                Some("an option of `commit.push_options` has more than one line")
            }
            (true, true, false) => None,
        }
    }
}

/// The longest pause between two requests, in seconds.
const LONGEST_PAUSE_S: u32 = 600;

/// The commands of change requests: programs with their arguments, in which names in braces stand for values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestForm {
    /// Prints the open request of a branch, or nothing.
    pub find: Vec<String>,
    /// Opens one. The last line that it prints is the request.
    pub open: Vec<String>,
    /// Closes one.
    pub close: Vec<String>,
    /// The seconds between two that are opened or closed.
    #[serde(default = "pause_s")]
    pub pause_s: u32,
}

fn pause_s() -> u32 {
    2
}

impl RequestForm {
    /// Looks for empty commands, for names that stand for nothing, and for commands that say nothing of the branch or the request.
    pub(super) fn check(&self) -> Result<(), String> {
        for (key, command) in [("find", &self.find), ("open", &self.open), ("close", &self.close)] {
            if command.first().is_none_or(String::is_empty) {
                return Err(format!("`request.{key}` names no program"));
            }
            if command.first().is_some_and(|program| named(program).next().is_some()) {
                return Err(format!("the program of `request.{key}` depends on the repository"));
            }
            let is_known = |name: &str| NAMES.contains(&name) && (name != "request" || key == "close");
            let known: Vec<&str> =
                NAMES.iter().copied().filter(|name| is_known(name) && (*name != "commit" || key != "find")).collect();
            let used: Vec<&str> = command.iter().flat_map(|word| named(word)).collect();
            if let Some(name) = used.iter().find(|name| !known.contains(name)) {
                return Err(format!("`{{{name}}}` in `request.{key}` stands for nothing: {} do", known.join(", ")));
            }
            let has = |names: &[&str]| names.iter().any(|name| used.contains(name));
            if key == "close" && !has(&["request"]) {
                return Err("`request.close` does not name the `{request}`".to_owned());
            }
            if key != "close" && !(has(&["branch"]) && has(&["url", "repository", "name"])) {
                return Err(format!(
                    "`request.{key}` does not name the `{{branch}}` and the `{{url}}` or `{{repository}}`"
                ));
            }
        }
        if self.pause_s > LONGEST_PAUSE_S {
            return Err(format!("`request.pause_s` is more than {LONGEST_PAUSE_S}"));
        }
        Ok(())
    }
}

/// True for a name that can be a part of a file's name.
pub(super) fn is_name(name: &str) -> bool {
    let is_mark = |c: u8| matches!(c, b'-' | b'_' | b'.');
    (1..=64).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || is_mark(c))
}

/// The lower-case words in braces.
fn named(word: &str) -> impl Iterator<Item = &str> {
    word.split('{').skip(1).filter_map(|rest| {
        let (name, _) = rest.split_once('}')?;
        (!name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase())).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_command_that_can_not_be_filled_is_refused() {
        let form = |find: &[&str], open: &[&str], close: &[&str]| {
            RequestForm { find: words(find), open: words(open), close: words(close), pause_s: 0 }.check()
        };
        let find = ["gh", "{url}", "{branch}"];
        form(&find, &["gh", "{repository}", "{branch}", ".[0] {}"], &["gh", "{request}"]).unwrap();
        for (find, open, close, words) in [
            (&[][..], &find[..], &["gh", "{request}"][..], "`request.find`"),
            (&find, &["{name}"], &["gh"], "depends on"),
            (&find, &["gh", "{brnach}"], &["gh"], "stands for nothing"),
            (&["gh", "{request}"], &find, &["gh"], "stands for nothing"),
            (&["gh", "{url}"], &find, &["gh"], "does not name the `{branch}`"),
            (&find, &find, &["gh"], "does not name the `{request}`"),
        ] {
            let why = form(find, open, close).unwrap_err();
            assert!(why.contains(words), "{words}: {why}");
        }
    }
}
