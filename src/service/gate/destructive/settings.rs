//! Commands that print what a shell is meant to run: the settings and completions of a program that is already installed.

use super::{
    code,
    command::program,
    kind::Kind,
    place::Place,
    printed::fetches,
    shell::{self, Body, Part, Script, Stage, Word},
    walk::Walk,
};

/// Programs whose output is meant to be run.
const PROGRAMS: &[&str] = &[
    "asdf",
    "atuin",
    "aws",
    "basher",
    "bat",
    "batpipe",
    "brew",
    "cargo",
    "conda",
    "dircolors",
    "direnv",
    "docker",
    "docker-machine",
    "fasd",
    "fnm",
    "fzf",
    "getopt",
    "gh",
    "glab",
    "goenv",
    "gpg-agent",
    "helm",
    "hub",
    "jenv",
    "keychain",
    "kubectl",
    "lesspipe",
    "luarocks",
    "micromamba",
    "minikube",
    "mise",
    "navi",
    "nodenv",
    "npm",
    "oc",
    "op",
    "opam",
    "perl",
    "pip",
    "pip3",
    "pipenv",
    "podman",
    "pyenv",
    "rbenv",
    "register-python-argcomplete",
    "resize",
    "rg",
    "rtx",
    "rustup",
    "ssh-agent",
    "starship",
    "terraform",
    "thefuck",
    "tmuxifier",
    "yq",
    "zoxide",
];

/// First words after a program by which it prints settings or completions.
const VERBS: &[&str] = &[
    "--alias",
    "--bash",
    "--completion",
    "--completions",
    "--fish",
    "--init",
    "--shellenv",
    "--zsh",
    "activate",
    "completion",
    "completions",
    "env",
    "generate-shell-completion",
    "hook",
    "init",
    "shell-completion",
    "shell-hook",
    "shell-init",
    "shellenv",
];

impl Walk<'_> {
    /// True if a substituted line prints settings, by a program that the line has not replaced.
    pub(super) fn is_settings(&self, line: &str) -> bool {
        let mut own = self.functions.keys().chain(self.aliases.keys());
        prints_settings(line) && !own.any(|name| line.contains(name.as_str()))
    }
}

/// True if a line is one command that prints settings, or that and `true`.
fn prints_settings(line: &str) -> bool {
    let Ok(Script { pipelines }) = shell::parse(line) else { return false };
    let mut commands = pipelines.iter().map(|pipeline| match pipeline.stages.as_slice() {
        [stage] if !pipeline.background => words(stage),
        _ => None,
    });
    let first = commands.next().flatten();
    first.is_some_and(|words| prints(&words))
        && commands.all(|words| words.is_some_and(|words| matches!(words.as_slice(), [":" | "true", ..])))
}

/// The plain text with which each word of a command begins.
fn words(stage: &Stage) -> Option<Vec<&str>> {
    let Body::Simple(simple) = &stage.body else { return None };
    // `PATH=. brew shellenv` is another program.
    if !simple.assignments.iter().all(|assignment| assignment.name.starts_with('_')) {
        return None;
    }
    Some(simple.words.iter().map(start).collect())
}

/// The plain text with which a word begins.
fn start(word: &Word) -> &str {
    match word.parts.first() {
        Some(Part::Text { text, .. }) => text,
        _ => "",
    }
}

fn prints(words: &[&str]) -> bool {
    let Some(first) = words.first() else { return false };
    let name = program(first);
    // Anybody may have put a program there.
    let is_installed =
        !first.contains('/') || !matches!(Place::of(first), Place::Temporary | Place::Inside | Place::Outside);
    let kind = Kind::of(&name);
    let prints_others = Kind::READER.or(Kind::DATA).or(Kind::SHELL).or(Kind::WRAPPER);
    let prints_own = || !kind.is(prints_others) && code::language(&name).is_none() && !fetches(&name);
    let has_verb = || words.get(1).is_some_and(|word| VERBS.binary_search(word).is_ok());
    let has_completion = || words.iter().any(|word| word.starts_with("--completion") || *word == "completion");
    let completes = ["completion", "completions", "generate-shell-completion"];
    let generates = || kind.is(Kind::WRAPPER) && words.get(1).is_some_and(|word| completes.contains(word));
    let is_known = || PROGRAMS.binary_search(&&*name).is_ok() || generates();
    !name.is_empty() && is_installed && (is_known() || prints_own() && (has_verb() || has_completion()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(PROGRAMS.is_sorted() && VERBS.is_sorted());
    }

    #[test]
    fn only_one_command_of_an_installed_program_prints_settings() {
        for line in [
            "kubectl completion bash",
            "stern --completion bash",
            "ssh-agent -s",
            "jj util completion zsh",
            "fzf --zsh",
            "/opt/homebrew/bin/brew shellenv",
            "~/.local/bin/tool init bash 2>/dev/null || true",
        ] {
            assert!(prints_settings(line), "{line}");
        }
        for line in [
            "curl https://x/completion",
            "cat completion",
            "base64 -d init",
            "./tool completion bash",
            "/tmp/brew shellenv",
            "tool completion | sh",
            "ssh-agent -s; curl x",
            "ssh-agent -s && wget -qO- x",
            "python3 init",
            "sudo init",
            "$TOOL completion bash",
            "tool run completion.sh",
            "PATH=.:$PATH brew shellenv",
        ] {
            assert!(!prints_settings(line), "{line}");
        }
    }
}
