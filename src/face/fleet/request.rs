//! Change requests: the commands of a forge's client that open, find and close one, as a fleet's author gives them.

use serde::{Deserialize, Serialize};
use url::Url;

use super::{manifest::CommitForm, plan::Task};

/// The names that stand in braces in a command.
const NAMES: &[&str] = &["url", "repository", "name", "branch", "commit", "subject", "body", "request"];

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
    /// Looks for empty commands and for names that stand for nothing.
    pub(super) fn check(&self) -> Result<(), String> {
        for (key, command) in [("find", &self.find), ("open", &self.open), ("close", &self.close)] {
            if command.first().is_none_or(String::is_empty) {
                return Err(format!("`request.{key}` names no program"));
            }
            if command.first().is_some_and(|program| named(program).next().is_some()) {
                return Err(format!("the program of `request.{key}` depends on the repository"));
            }
            let unknown = |name: &&str| !NAMES.contains(name) || *name == "request" && key != "close";
            if let Some(name) = command.iter().flat_map(|word| named(word)).find(unknown) {
                return Err(format!("`{{{name}}}` in `request.{key}` stands for nothing: {} do", NAMES.join(", ")));
            }
        }
        Ok(())
    }
}

/// The values of names for one task.
#[derive(Clone, Debug)]
pub(super) struct Values<'v> {
    /// The task.
    pub(super) task: &'v Task,
    /// The form of its commit.
    pub(super) form: &'v CommitForm,
    /// The commit on its branch.
    pub(super) commit: &'v str,
    /// Its request; empty if there is none yet.
    pub(super) request: &'v str,
}

impl Values<'_> {
    /// A command with values in place of names. A value that looks like an option stays one argument, and what a value holds is not looked
    /// at again.
    pub(super) fn filled(&self, command: &[String]) -> Vec<String> {
        command.iter().map(|word| self.word(word)).collect()
    }

    fn word(&self, mut word: &str) -> String {
        let mut made = String::new();
        while let Some((before, rest)) = word.split_once('{') {
            made += before;
            let value = rest.split_once('}').and_then(|(name, after)| Some((self.value(name)?, after)));
            word = match value {
                Some((value, after)) => {
                    made += &value;
                    after
                }
                None => {
                    made.push('{');
                    rest
                }
            };
        }
        made + word
    }

    fn value(&self, name: &str) -> Option<String> {
        let (subject, body) = self.form.message.trim().split_once('\n').unwrap_or((self.form.message.trim(), ""));
        Some(match name {
            "url" => self.task.url.clone(),
            "repository" => repository(&self.task.url),
            "name" => self.task.name.clone(),
            "branch" => self.form.branch.clone(),
            "commit" => self.commit.to_owned(),
            "subject" => subject.trim().to_owned(),
            "body" => body.trim().to_owned(),
            "request" => self.request.to_owned(),
            _ => return None,
        })
    }
}

/// The path of a repository on its server, without `.git`, as `OWNER/NAME`.
fn repository(url: &str) -> String {
    let path = Url::parse(url).map(|url| url.path().trim_matches('/').to_owned()).unwrap_or_default();
    path.strip_suffix(".git").map(str::to_owned).unwrap_or(path)
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
    use crate::face::fleet::plan::tests::plan;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_stand_for_values_once() {
        let task = Task { url: "ssh://git@example.com/team/x.git".to_owned(), ..plan(1).tasks.remove(0) };
        let form = CommitForm {
            branch: "nrv/links".to_owned(),
            message: "Move {url}\n\nAll of them.\n".to_owned(),
            author: "A <a@b>".to_owned(),
            push_options: Vec::new(),
        };
        let values = Values { task: &task, form: &form, commit: "c0", request: "" };
        let filled =
            values.filled(&words(&["gh", "-R={repository}", "{subject}|{body}", "{} {x y} {unknown}", "{{branch}}"]));
        assert_eq!(filled, ["gh", "-R=team/x", "Move {url}|All of them.", "{} {x y} {unknown}", "{nrv/links}"]);
    }

    #[test]
    fn a_command_that_can_not_be_filled_is_refused() {
        let form = |find: &[&str], open: &[&str], close: &[&str]| {
            RequestForm { find: words(find), open: words(open), close: words(close), pause_s: 0 }.check()
        };
        form(&["gh", "{url}"], &["gh", ".[0] {}"], &["gh", "{request}"]).unwrap();
        assert!(form(&[], &["gh"], &["gh"]).unwrap_err().contains("`request.find`"));
        assert!(form(&["gh"], &["{name}"], &["gh"]).unwrap_err().contains("depends on"));
        assert!(form(&["gh"], &["gh", "{brnach}"], &["gh"]).unwrap_err().contains("stands for nothing"));
        assert!(form(&["gh", "{request}"], &["gh"], &["gh"]).unwrap_err().contains("stands for nothing"));
    }
}
