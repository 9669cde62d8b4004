//! `fleet.toml`: what is to be done, in which repositories, and where the results go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::form::{CommitForm, RequestForm, is_name};
use base::{
    error::{Code, Error},
    toml_file::TomlFile,
};
use script::remote::{check_address, is_commit};

/// The most repositories of one fleet.
const MOST: usize = 1_000_000;

/// A fleet, as its author describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// The store of the results: a folder, relative to the file.
    pub store: String,
    /// The path of an approved script of the workspace, or `std:NAME`.
    pub script: String,
    /// The path of the policy that is the ceiling of every task; the workspace's own if none.
    #[serde(default)]
    pub policy: Option<String>,
    /// Arguments of the script, for every repository.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// The name of the argument that a shard's glob is given as.
    #[serde(default)]
    pub shard_arg: Option<String>,
    /// How often a task that could not be done for a temporary reason is tried again.
    #[serde(default = "retries")]
    pub retries: u32,
    /// The seconds that such a task rests before the first retry; twice as long before each further one.
    #[serde(default = "retry_pause_s")]
    pub retry_pause_s: u32,
    /// The minutes after which another worker may take a task over from one that is not known to have died.
    #[serde(default = "lease_minutes")]
    pub lease_minutes: u32,
    /// The most megabytes that a clone may take.
    #[serde(default = "clone_mb")]
    pub clone_mb: u64,
    /// The most tasks that may fail before no other is begun: a number, or a share of all as `"5%"`; none if all are done in any case.
    #[serde(default)]
    pub max_failures: Option<Failures>,
    /// The branch and the commit in which a patch reaches its repository; none if patches are all that is wanted.
    #[serde(default)]
    pub commit: Option<CommitForm>,
    /// The commands that open a change request for a branch; none if branches are all that is wanted.
    #[serde(default)]
    pub request: Option<RequestForm>,
    /// The repositories.
    #[serde(default, rename = "repository")]
    pub repositories: Vec<Repository>,
    /// The path of a list of further repositories: an address or a JSON object a line, or a JSON array.
    #[serde(default)]
    pub list: Option<String>,
}

/// A repository, as its author names it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    /// Its name in reports; the last part of its address if none.
    #[serde(default)]
    pub name: Option<String>,
    /// Its address: `https://`, `ssh://` or `file:///`.
    #[serde(default)]
    pub url: Option<String>,
    /// Its folder on this machine, relative to the file.
    #[serde(default)]
    pub path: Option<String>,
    /// The full hash of a commit.
    #[serde(default)]
    pub commit: Option<String>,
    /// A branch, whose commit is looked up when the fleet is planned; the main branch if there is no commit either.
    #[serde(default)]
    pub branch: Option<String>,
    /// Arguments of the script, over those of the fleet.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Globs that divide it: a task each, which may write there only.
    #[serde(default)]
    pub shards: Vec<String>,
    /// The hash of the tables in its `nrv.toml` that start programs or send requests. Without it such a policy is refused.
    #[serde(default)]
    pub trust: Option<String>,
}

/// A number of failures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Failures {
    /// That many.
    Count(usize),
    /// That share of all tasks, in percent.
    Share(String),
}

impl Failures {
    /// The number, of so many tasks; none if it is no share.
    pub(super) fn of(&self, tasks: usize) -> Option<usize> {
        match self {
            Failures::Count(n) => Some(*n),
            Failures::Share(text) => {
                let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|c| c.is_ascii_digit()))?;
                let percent: usize = digits.parse().ok().filter(|percent| *percent <= 100)?;
                Some(tasks.saturating_mul(percent) / 100)
            }
        }
    }
}

fn retries() -> u32 {
    3
}

fn retry_pause_s() -> u32 {
    30
}

fn lease_minutes() -> u32 {
    60
}

fn clone_mb() -> u64 {
    2048
}

/// The bounds of a manifest. More repositories than fit stand in lists.
const BOUNDS: TomlFile = TomlFile { most: 16 << 20, values: 1 << 20, code: Code::InvalidInput };

impl Manifest {
    /// Reads the text of a `fleet.toml`; `file` is its name in messages.
    ///
    /// `invalid_input` names the line and the key.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::new(Code::InvalidInput, format!("`{file}` is wrong: {}", why.trim()));
        BOUNDS.check(text, file)?;
        let manifest: Manifest = toml_edit::de::from_str(text)
            .map_err(|error| wrong(&error.to_string()).hint("`nrv docs fleets` shows every key"))?;
        if !is_name(&manifest.name) {
            return Err(wrong("`name` has other characters than letters, digits, `-`, `_` and `.`, or more than 64"));
        }
        if manifest.lease_minutes == 0 {
            return Err(wrong("`lease_minutes` is 0: a worker could keep no task"));
        }
        if manifest.max_failures.as_ref().is_some_and(|most| most.of(0).is_none()) {
            return Err(wrong("`max_failures` is neither a number nor a share such as \"5%\""));
        }
        if let Some(why) = manifest.commit.as_ref().and_then(CommitForm::fault) {
            return Err(wrong(why));
        }
        match manifest.request.as_ref().map(RequestForm::check) {
            Some(_) if manifest.commit.is_none() => Err(wrong("`request` needs a branch, which `commit` names")),
            Some(Err(why)) => Err(wrong(&why)),
            Some(Ok(())) | None => Ok(manifest),
        }
    }

    /// The repositories of the manifest and of lists, in the order of their names.
    pub fn all(&self, lists: &[&str]) -> Result<Vec<Repository>, Error> {
        let mut all = self.repositories.clone();
        for text in lists {
            all.extend(listed(text)?);
        }
        if all.is_empty() {
            return Err(Error::new(Code::InvalidInput, "the fleet has no repository")
                .hint("name some as `[[repository]]`, by `list`, or by `--repositories FILE`"));
        }
        if all.len() > MOST {
            return Err(Error::new(Code::InvalidInput, format!("the fleet has more than {MOST} repositories")));
        }
        let mut seen = BTreeMap::new();
        for repository in &mut all {
            repository.check()?;
            let name = repository.shown();
            if seen.insert(name.clone(), ()).is_some() {
                let message = format!("two repositories of the fleet have the name `{name}`");
                return Err(Error::new(Code::InvalidInput, message).hint("give one of them another `name`"));
            }
            repository.name = Some(name);
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }
}

impl Repository {
    fn check(&self) -> Result<(), Error> {
        let place = self.url.as_deref().or(self.path.as_deref()).unwrap_or_default();
        let wrong = |why: &str| {
            Error::new(Code::InvalidInput, format!("the repository `{}` is wrong: {why}", place.escape_debug()))
        };
        match (&self.url, &self.path) {
            (Some(url), None) => check_address(url).map_err(|why| {
                wrong(&why)
                    .hint("an address begins with `https://`, `ssh://` or `file:///`; a folder is given as `path`")
            })?,
            (None, Some(_)) => {}
            (None, None) | (Some(_), Some(_)) => return Err(wrong("it has either a `url` or a `path`")),
        }
        if self.commit.is_some() && self.branch.is_some() {
            return Err(wrong("it has either a `commit` or a `branch`"));
        }
        if self.commit.as_deref().is_some_and(|commit| !is_commit(commit)) {
            return Err(wrong("`commit` is no full hash of 40 or 64 lower-case hexadecimal digits")
                .hint("name a branch by `branch`, whose commit is looked up"));
        }
        if self.branch.as_deref().is_some_and(|branch| branch.is_empty() || branch.starts_with('-')) {
            return Err(wrong("`branch` is no name of a branch"));
        }
        if !is_name(&self.shown()) {
            return Err(
                wrong("its name has other characters than letters, digits, `-`, `_` and `.`").hint("give it a `name`")
            );
        }
        Ok(())
    }

    /// Its name, or the last part of its address.
    fn shown(&self) -> String {
        let place = self.url.as_deref().or(self.path.as_deref()).unwrap_or_default();
        let last = place.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        self.name.clone().unwrap_or_else(|| last.strip_suffix(".git").unwrap_or(last).to_owned())
    }
}

/// An entry of a JSON array.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    Address(String),
    Repository(Box<Repository>),
}

/// The repositories of a list: a JSON array, or a line each with an address or a JSON object.
fn listed(text: &str) -> Result<Vec<Repository>, Error> {
    let wrong = |at: usize, why: &str| {
        Error::new(Code::InvalidInput, format!("line {at} of the list of repositories is wrong: {why}"))
            .hint("a line is an address, or a JSON object with `url` or `path`")
    };
    if text.trim_start().starts_with('[') {
        let all: Vec<Listed> = serde_json::from_str(text).map_err(|error| wrong(error.line(), &error.to_string()))?;
        let one = |listed| match listed {
            Listed::Address(url) => Repository { url: Some(url), ..Repository::default() },
            Listed::Repository(one) => *one,
        };
        return Ok(all.into_iter().map(one).collect());
    }
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let one = |(at, line): (usize, &str)| match line {
        object if object.starts_with('{') => {
            serde_json::from_str(object).map_err(|error| wrong(at + 1, &error.to_string()))
        }
        url if url.contains("://") => Ok(Repository { url: Some(url.to_owned()), ..Repository::default() }),
        path => Ok(Repository { path: Some(path.to_owned()), ..Repository::default() }),
    };
    lines.map(one).collect()
}

/// The text of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyText {
    /// Its name in messages.
    pub file: String,
    /// Its text.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name = 'links'\nstore = 'out'\nscript = 'a.rhai'\n";

    #[test]
    fn wrong_manifests_are_refused_with_the_reason() {
        for (text, words) in [
            ("", "missing field"),
            ("name = 'a b'\nstore = 's'\nscript = 'x'", "other characters"),
            (&format!("{HEAD}colour = 1"), "unknown field"),
            (&format!("{HEAD}commit = {{branch = '../x', message = 'm', author = 'A <a@b>'}}"), "no name of a branch"),
            (
                &format!("{HEAD}commit = {{branch = 'a/b.lock', message = 'm', author = 'A <a@b>'}}"),
                "no name of a branch",
            ),
            (&format!("{HEAD}commit = {{branch = 'a', message = 'm', author = 'A'}}"), "`Name <address>`"),
            (&format!("{HEAD}commit = {{branch = 'a', message = ' ', author = 'A <a@b>'}}"), "is empty"),
            (&format!("{HEAD}max_failures = '5'"), "`max_failures`"),
            (&format!("{HEAD}max_failures = '101%'"), "`max_failures`"),
            (&format!("{HEAD}request = {{find = ['a'], open = ['b'], close = ['c']}}"), "`request` needs a branch"),
            (&format!("{HEAD}[[repository]]\nurl = 'x'\nbranch = 1"), "string"),
        ] {
            let error = Manifest::parse(text, "fleet.toml").unwrap_err();
            assert!(error.message().contains(words), "{text}: {error}");
        }
        for (repository, words) in [
            ("", "no repository"),
            ("[[repository]]\nurl = 'ext::sh -c x'", "the protocol"),
            ("[[repository]]\nurl = 'https://a:b@example.com/x'", "password"),
            ("[[repository]]\npath = 'x'\nurl = 'https://example.com/x'", "either"),
            ("[[repository]]\npath = 'x'\ncommit = 'main'", "no full hash"),
            ("[[repository]]\npath = 'x'\nbranch = '--upload-pack=x'", "no name of a branch"),
            ("[[repository]]\npath = 'a/x'\n[[repository]]\npath = 'b/x'", "have the name `x`"),
            ("[[repository]]\npath = '..'", "its name"),
        ] {
            let manifest = Manifest::parse(&format!("{HEAD}{repository}"), "fleet.toml").unwrap();
            let error = manifest.all(&[]).unwrap_err();
            assert!(error.message().contains(words), "{repository}: {error}");
        }
    }

    #[test]
    fn failures_are_a_number_or_a_share_of_all_tasks() {
        let of = |text: &str| {
            let manifest = Manifest::parse(&format!("{HEAD}max_failures = {text}"), "fleet.toml").unwrap();
            manifest.max_failures.and_then(|most| most.of(250))
        };
        assert_eq!(["0", "7", "'0%'", "'5%'", "'100%'"].map(of), [0, 7, 0, 12, 250].map(Some));
    }

    #[test]
    fn lists_are_lines_or_json() {
        let manifest = Manifest::parse(HEAD, "fleet.toml").unwrap();
        let names = |list: &str| -> Vec<String> {
            manifest.all(&[list]).unwrap().into_iter().filter_map(|one| one.name).collect()
        };
        let lines = "# those of the team\nhttps://example.com/b.git\n../a\n\n{\"url\": \"https://example.com/c\", \"branch\": \"main\"}\n";
        assert_eq!(names(lines), ["a", "b", "c"]);
        assert_eq!(names("[{\"path\": \"x\"}, {\"path\": \"y\", \"name\": \"z\"}]"), ["x", "z"]);
        assert_eq!(names("[\"https://example.com/q\"]"), ["q"]);
        assert!(manifest.all(&["{\"link\": 1}"]).unwrap_err().message().contains("line 1"));
    }
}
