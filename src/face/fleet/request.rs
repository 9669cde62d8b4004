//! The commit and the commands of change requests, with the values of one task.

use url::Url;

use super::{form::CommitForm, plan::Task};
use base::error::{Code, Error};

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

/// The form for one task: each shard of a repository has a branch of its own.
pub(super) fn form_of(form: &CommitForm, task: &Task) -> CommitForm {
    let number = task.name.rsplit_once('-').filter(|_| task.shard.is_some()).map(|(_, number)| number);
    let branch = number.map_or_else(|| form.branch.clone(), |number| format!("{}-{number}", form.branch));
    CommitForm { branch, ..form.clone() }
}

/// The longest address of a request.
const LONGEST: usize = 2000;

/// The address in what a client prints: the only word of its last line; none if it prints nothing.
///
/// `command_failed` if that is something else, such as a sentence.
pub(super) fn address(key: &str, printed: &str) -> Result<Option<String>, Error> {
    let Some(line) = printed.lines().rev().map(str::trim).find(|line| !line.is_empty()) else { return Ok(None) };
    let has_password = Url::parse(line).is_ok_and(|url| url.password().is_some());
    let is_word = !line.starts_with('-') && line.chars().all(|c| !c.is_whitespace() && !c.is_control());
    let is_address = is_word && !has_password && line.len() <= LONGEST;
    match is_address {
        true => Ok(Some(line.to_owned())),
        // What it printed may hold what nobody may see.
        false => {
            Err(Error::new(Code::CommandFailed, format!("`request.{key}` printed something else than an address"))
                .hint("its last line has to be the request, as one word without a password"))
        }
    }
}

/// The path of a repository on its server, without `.git`, as `OWNER/NAME`.
fn repository(url: &str) -> String {
    let path = Url::parse(url).map(|url| url.path().trim_matches('/').to_owned()).unwrap_or_default();
    path.strip_suffix(".git").map(str::to_owned).unwrap_or(path)
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
    fn an_address_is_one_word_of_the_last_line() {
        assert_eq!(address("open", "Opening it\n\nhttps://x/1\n").unwrap().as_deref(), Some("https://x/1"));
        assert_eq!(address("find", " \n").unwrap(), None);
        for printed in
            ["No open requests match", "https://x:word@forge/1", "--delete-branch", "\u{1b}[1mx", &"x".repeat(3000)]
        {
            assert_eq!(address("find", printed).unwrap_err().code(), Code::CommandFailed, "{printed}");
        }
    }
}
