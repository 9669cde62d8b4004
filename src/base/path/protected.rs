//! Paths that no run may write or read: one list, each entry with its reason.
//!
//! A file is on the list if programs obey it unasked: on entering, opening, cloning or committing in the folder that holds it.
//! Shells, editors, agents, git and debuggers have such files. Ordinary files of projects are not on it, even if they name
//! commands. Examples are `package.json`, `Makefile`, workflows of CI services and texts that instruct agents, such as
//! `AGENTS.md`. A policy permits single files of it by their exact path (`paths.allow_protected`), but never the files by which
//! runs are judged, recorded and approved.
//!
//! Names are compared at any depth, and as other file systems may read them. Case, invisible characters, dots and blanks at the
//! end, and everything from a colon on are ignored. Short names of eight letters count too.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use super::RepoPath;

/// The folder of run records, in the workspace's root.
pub const RUNS: &str = ".runs";

/// The folder of the accepted signers, in the workspace's root.
pub const SIGNERS: &str = ".nrv";

/// The prefix of the temporary files that stand beside a target while a transaction is open.
pub const TEMPORARY: &str = ".nrv-";

/// Files and folders that one sort of program obeys.
struct Family {
    /// The reason that no run may write them.
    reason: &'static str,
    /// Their names, between blanks: a component, or several with `/` between; a `*` at one end stands for anything.
    names: &'static str,
}

/// Names that a run never writes, as any component of a path; nothing permits them.
const NEVER_WRITTEN: &[(&str, &str)] = &[
    (".git", "it holds the repository's history and hooks that run by themselves"),
    (SIGNERS, "it says whose signatures count"),
    (RUNS, "it holds the records of runs"),
    ("nrv.lock", "it holds the approvals"),
    ("nrv.lock.sig", "it says who approved"),
    ("nrv.toml", "it is the policy that the run is judged by"),
];

/// Names that a run writes only where the policy permits the path, in the order of the documentation.
const PROTECTED: &[Family] = &[
    Family {
        reason: "a shell runs it when it starts or ends, or when its folder is entered",
        names: ".autoenv .autoenv.zsh .bash_aliases .bash_completion .bash_login .bash_logout .bash_profile .bashrc .config/fish \
                .cshrc .direnv .direnvrc .elvish .envrc .inputrc .kshrc .login .logout .mkshrc .profile .shinit .shrc .tcshrc \
                .xonshrc .xonsh .yashrc .zlogin .zlogout .zprofile .zsh .zshenv .zshrc config.fish",
    },
    Family {
        reason: "a manager of tools runs it when its folder is entered",
        names: ".config/mise .mise .mise.*.toml .mise.toml .mise.local.toml mise.local.toml mise.toml .rtx.toml",
    },
    Family {
        reason: "git runs, includes or fetches what it names, or takes its folder for a repository",
        names: ".config/git .gitconfig .githooks .gitmodules",
    },
    Family {
        reason: "a hook of the repository runs what it names",
        names: ".husky .huskyrc .lefthook .lefthook-local.* .lefthook.* .overcommit.yml .pre-commit-config.yaml .pre-commit-config.yml \
                lefthook-local.* lefthook.json lefthook.toml lefthook.yaml lefthook.yml",
    },
    Family { reason: "another version control runs hooks that it names", names: ".hg .hgrc .jj" },
    Family {
        reason: "an editor runs it, or tasks and tools that it names, when the folder is opened",
        names: "*.code-workspace *.sublime-project *.sublime-workspace .dir-locals-2.el .dir-locals.el .emacs .emacs.d .emacs.el \
                .config/emacs .config/nvim .exrc .externalToolBuilders .fleet .gvimrc .helix .idea .ideavimrc .local.vimrc .lvimrc .nexrc .nova .nvim \
                .nvim.lua .nvimrc .sublime-project .theia .vim .vimrc .vs .vscode .vscode-insiders .ycm_extra_conf.py .zed _exrc _gvimrc _vimrc",
    },
    Family {
        reason: "a development environment runs what it names when the folder is opened",
        names: ".devcontainer .devcontainer.json .gitpod .gitpod.yml .idx .replit devcontainer.json",
    },
    Family {
        reason: "coding agents run hooks, and start servers and commands, that it names",
        names: ".agents .aider* .amazonq .augment .claude .claude.json .cline .clinerules .codeium .codex .continue .continuerc.json \
                .copilot .crush .crush.json .cursor .factory .gemini .github/copilot .github/hooks .goose .junie .kilocode .kiro \
                .mcp.json .opencode .openhands .qoder .qwen .roo .trae .vibe .windsurf .zencoder crush.json opencode.json opencode.jsonc",
    },
    Family {
        reason: "a debugger or an interactive interpreter runs it when it is started in the folder",
        names: ".Rprofile .Renviron .clisprc .gdbinit .gdbearlyinit .ghci .guile .iex.exs .irbrc .ipython .juliarc.jl .lldbinit .myclirc .node_repl_history .ocamlinit \
                .octaverc .pdbrc .pdbrc.py .perldb .pryrc .psqlrc .pythonrc .pythonrc.py .pythonstartup .rdbgrc .rdebugrc .sbclrc .sqliterc .tclshrc .utop",
    },
    Family { reason: "Python runs it when it starts", names: "sitecustomize.py usercustomize.py" },
    Family {
        reason: "a tool takes its options from it, commands among them",
        names: ".ackrc .cargo/config .cargo/config.toml .curlrc .lesskey .lessfilter .my.cnf .ripgreprc .wgetrc",
    },
    Family {
        reason: "it says who may log in, holds keys, or names commands for logins and mail",
        names: ".authinfo .forward .gnupg .k5login .netrc .procmailrc .rhosts .shosts .ssh",
    },
    Family {
        reason: "a terminal or a desktop runs it when it starts",
        names: ".config/autostart .config/systemd .screenrc .tmux.conf .xinitrc .xprofile .xserverrc .xsession .xsessionrc .Xresources .wezterm.lua",
    },
];

/// Names that a script never reads, as any component of a path.
const NEVER_READ: &[(&str, &str)] =
    &[(".git", "it holds the repository's configuration and credentials"), (RUNS, "it holds the records of runs")];

/// The reason that a bare name makes a folder a repository, which git enters and obeys.
const REPOSITORY: &str = "git takes a folder with such a file for a repository, and obeys the configuration there";

/// Characters that file systems or readers ignore.
const UNSEEN: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// The list, indexed for look-up.
struct Index {
    /// Names of one component that hold no `*`: the reason, and true if nothing permits it.
    names: BTreeMap<String, (&'static str, bool)>,
    /// All others: the components in lower case, and the reason.
    others: Vec<(Vec<String>, &'static str)>,
    /// Short names, as some file systems make them: the beginning, the extension, and the entry of the long name.
    short: Vec<(String, String, (&'static str, bool))>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { names: BTreeMap::new(), others: Vec::new(), short: Vec::new() };
    for (name, reason) in NEVER_WRITTEN {
        index.names.insert((*name).to_owned(), (reason, true));
    }
    for Family { reason, names } in PROTECTED {
        for name in names.split_whitespace().map(str::to_lowercase) {
            match name.contains(['*', '/']) {
                true => index.others.push((name.split('/').map(str::to_owned).collect(), reason)),
                false => drop(index.names.insert(name, (reason, false))),
            }
        }
    }
    index.short = index.names.iter().map(|(name, found)| short(name, *found)).collect();
    index
});

/// The beginning of the short name of a long one, with its extension.
fn short(name: &str, found: (&'static str, bool)) -> (String, String, (&'static str, bool)) {
    let bare = name.trim_start_matches('.');
    let (stem, extension) = bare.rsplit_once('.').unwrap_or((bare, ""));
    let kept = |text: &str, n: usize| text.chars().filter(|c| *c != '.').take(n).collect::<String>();
    (kept(stem, 6), kept(extension, 3), found)
}

/// The reason that a run may not write the path; none if this list allows it. The permissions of a policy are another question.
pub fn write_refusal(path: &RepoPath) -> Option<&'static str> {
    find(path).map(|(reason, _)| reason)
}

/// The reason that a run may not write the path under a policy that permits these exact paths.
pub fn write_refusal_unless(path: &RepoPath, permitted: &[String]) -> Option<&'static str> {
    let (reason, is_lasting) = find(path)?;
    (is_lasting || !permitted.iter().any(|known| known == path.as_str())).then_some(reason)
}

/// The reason that no policy can permit a run to write the path; none if one can, or need not.
pub fn lasting_refusal(path: &RepoPath) -> Option<&'static str> {
    find(path).filter(|(_, is_lasting)| *is_lasting).map(|(reason, _)| reason)
}

/// The reason that a run may write nothing in a folder, under a policy that permits these exact paths.
///
/// A folder with protected files among others, such as `.github`, is not one of those.
pub fn folder_refusal(path: &RepoPath, permitted: &[String]) -> Option<&'static str> {
    let (reason, is_lasting) = named(path, false)?;
    let below =
        |known: &String| known.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    (is_lasting || !permitted.iter().any(below)).then_some(reason)
}

/// The reason that a script may not read the path; none if this list allows it.
pub fn read_refusal(path: &RepoPath) -> Option<&'static str> {
    let hit = |name: &str| NEVER_READ.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    path.components().find_map(hit).map(|(_, reason)| *reason)
}

/// True for the name of a temporary file of a transaction.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

/// Folders that no listing enters.
pub fn is_hidden_folder(name: &str) -> bool {
    NEVER_READ.iter().any(|(known, _)| name.eq_ignore_ascii_case(known))
}

/// The list for people: each family with its reason.
pub fn families() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    PROTECTED.iter().map(|family| (family.reason, family.names.split_whitespace().collect()))
}

/// The reason of the entry that covers a file, and true if nothing permits it.
fn find(path: &RepoPath) -> Option<(&'static str, bool)> {
    if is_temporary(path.file_name()) {
        return Some(("names of that form are kept for open transactions", true));
    }
    if path.file_name() == "HEAD" {
        return Some((REPOSITORY, false));
    }
    named(path, true)
}

/// The same by the components alone. An entry of several components also covers a file in the place of the first ones. A link
/// there would bring in the whole entry from elsewhere.
fn named(path: &RepoPath, is_file: bool) -> Option<(&'static str, bool)> {
    let index = &*INDEX;
    // On other systems a backslash separates folders.
    let parts: Vec<Cow<'_, str>> = path.split(['/', '\\']).filter(|part| !part.is_empty()).map(plain).collect();
    for (at, part) in parts.iter().enumerate() {
        if let Some(found) = index.names.get(part.as_ref()).copied().or_else(|| by_short_name(part)) {
            return Some(found);
        }
        let rest = &parts[at..];
        let covered = index.others.iter().find(|(entry, _)| {
            let is_whole = rest.len() >= entry.len() || is_file;
            is_whole && entry.iter().zip(rest).all(|(pattern, part)| matches(pattern, part))
        });
        if let Some((_, reason)) = covered {
            return Some((reason, false));
        }
    }
    None
}

/// True if a name matches a pattern with at most one `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
    }
}

/// The entry whose short name this is, such as `git~1`.
fn by_short_name(name: &str) -> Option<(&'static str, bool)> {
    let (start, rest) = name.split_once('~')?;
    let (number, extension) = rest.split_once('.').unwrap_or((rest, ""));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // Eight characters hold the tilde and the number as well.
    let length = 7_usize.saturating_sub(number.len()).min(6);
    let is_start = |known: &str| length > 0 && start.len() == known.len().min(length) && known.starts_with(start);
    let hit = INDEX.short.iter().find(|(known, ending, _)| is_number && is_start(known) && ending == extension);
    hit.map(|(_, _, found)| *found)
}

/// A name as other file systems may read it: in lower case, up to a colon, without invisible characters, and without final dots
/// and blanks.
fn plain(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && byte != b':';
    if name.bytes().all(is_plain) && !name.ends_with(['.', ' ']) {
        return Cow::Borrowed(name);
    }
    let is_unseen = |c: &char| UNSEEN.iter().any(|(first, last)| (*first..=*last).contains(c));
    let folded = name.chars().filter(|c| !is_unseen(c)).flat_map(fold);
    let text: String = folded.take_while(|c| *c != ':').collect();
    Cow::Owned(text.trim_end_matches(['.', ' ']).to_owned())
}

/// A letter in lower case; letters that some systems fold to ASCII become that.
fn fold(c: char) -> impl Iterator<Item = char> {
    let c = match c {
        '\u{ff01}'..='\u{ff5e}' => u32::from(c).checked_sub(0xfee0).and_then(char::from_u32).unwrap_or(c),
        '\u{130}' | '\u{131}' => 'i',
        '\u{17f}' => 's',
        other => other,
    };
    c.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[track_caller]
    fn refused(paths: &[&str]) {
        for text in paths {
            assert!(write_refusal(&path(text)).is_some(), "{text:?}");
        }
    }

    #[track_caller]
    fn open(paths: &[&str]) {
        for text in paths {
            assert_eq!(write_refusal(&path(text)), None, "{text:?}");
        }
    }

    #[test]
    fn protected_at_any_depth_and_in_any_case() {
        refused(&[
            ".git/x.html",
            "a/.GIT/config",
            ".runs/x",
            "NRV.toml",
            "a/.vscode/tasks.json",
            "a/.nrv-1-2",
            ".nrv/x",
        ]);
        open(&[".gitignore", "git/x", "a.git/x", "runs/x", ".github/workflows/ci.yml"]);
    }

    #[test]
    fn what_programs_run_by_themselves_is_protected() {
        refused(&[
            ".envrc",
            "a/.zshenv",
            ".bash_login",
            ".inputrc",
            ".config/fish/config.fish",
            ".direnv/x",
            "mise.toml",
            ".mise.ci.toml",
        ]);
        refused(&[
            ".vimrc",
            ".exrc",
            ".nvim.lua",
            ".emacs",
            ".dir-locals.el",
            "x.code-workspace",
            ".zed/tasks.json",
            ".devcontainer/x",
        ]);
        refused(&[
            ".claude/settings.json",
            ".cursor/mcp.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            ".aider.conf.yml",
        ]);
        refused(&[
            ".github/hooks/nrv.json",
            ".clinerules/hooks/PreToolUse",
            ".mcp.json",
            ".kiro/hooks/x",
            "opencode.json",
        ]);
        refused(&[
            ".husky/pre-commit",
            ".githooks/x",
            "lefthook.yml",
            ".pre-commit-config.yaml",
            ".gitmodules",
            ".hg/hgrc",
        ]);
        refused(&[
            ".ssh/config",
            ".gnupg/gpg.conf",
            ".netrc",
            ".gdbinit",
            ".lldbinit",
            ".Rprofile",
            ".psqlrc",
            "sitecustomize.py",
        ]);
        refused(&[".cargo/config.toml", ".tmux.conf", ".ripgreprc", "mirror/HEAD", ".config/systemd/user/x.service"]);
    }

    #[test]
    fn ordinary_files_of_projects_are_not() {
        open(&[
            "package.json",
            "Makefile",
            "Dockerfile",
            "pyproject.toml",
            "conftest.py",
            "setup.py",
            "build.rs",
            ".npmrc",
            ".yarnrc.yml",
        ]);
        open(&[
            "AGENTS.md",
            "CLAUDE.md",
            ".cursorrules",
            ".github/copilot-instructions.md",
            ".github/workflows/x.yml",
            ".gitlab-ci.yml",
        ]);
        open(&[
            ".gitattributes",
            ".editorconfig",
            ".env",
            ".tool-versions",
            ".python-version",
            ".nvmrc",
            "rust-toolchain.toml",
        ]);
        open(&[
            ".cargo/audit.toml",
            ".config/nextest.toml",
            "src/head.rs",
            "head",
            "HEADER",
            "docs/claude.md",
            "a~1",
            ".config/x",
            ".vimrc.md",
        ]);
        open(&[
            ".gıtignore",
            "a:b",
            "vscode/x",
            "environ",
            "profile",
            "login",
            "git~x",
            "gitter~1",
            "gi~1",
            ".github/dependabot.yml",
        ]);
    }

    #[test]
    fn names_that_another_file_system_takes_for_a_protected_one_are_protected() {
        refused(&[
            ".git /x",
            ".git./x",
            ".git . ./x",
            ".git::$INDEX_ALLOCATION/x",
            ".git:x",
            "GIT~1/x",
            "git~12/x",
            "a/Gitmod~1",
        ]);
        refused(&[
            ".g\u{200b}it/x",
            ".git\u{200d}/hooks",
            ".\u{feff}envrc",
            ".g\u{131}t/x",
            ".G\u{130}T/x",
            ".\u{ff47}it/x",
            ".ba\u{17f}hrc",
        ]);
        refused(&[
            ".git\\hooks\\x",
            "a\\.envrc",
            "NRV~1.TOM",
            "vscode~1/tasks.json",
            "BASHRC~1",
            ".Envrc.",
            ".vimrc ",
            "bashr~12",
        ]);
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_brings_no_protected_file() {
        refused(&[".github", ".cargo", ".config"]);
        assert_eq!(folder_refusal(&path(".github"), &[]), None);
        assert!(folder_refusal(&path(".github/hooks"), &[]).is_some());
        assert!(folder_refusal(&path(".vscode"), &[]).is_some());
        assert_eq!(folder_refusal(&path(".vscode"), &[".vscode/settings.json".to_owned()]), None);
    }

    #[test]
    fn a_policy_permits_by_exact_path_what_is_not_lasting() {
        let permitted = [".envrc", "a/.vscode/x.json", ".git/hooks/x", "nrv.toml", ".git "].map(str::to_owned);
        let refuses = |text: &str| write_refusal_unless(&path(text), &permitted).is_some();
        assert!(!refuses(".envrc") && !refuses("a/.vscode/x.json") && !refuses("src/x"));
        for text in ["a/.envrc", ".ENVRC", ".envrc ", "a/.vscode/y.json", ".git/hooks/x", "nrv.toml", ".git "] {
            assert!(refuses(text), "{text:?}");
        }
        assert!(lasting_refusal(&path(".runs/x")).is_some() && lasting_refusal(&path(".envrc")).is_none());
    }

    /// The list as the documentation has it.
    fn page() -> String {
        let row = |(reason, names): (&str, Vec<&str>)| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("| {} | {reason} |\n", names.join(" "))
        };
        format!("| Files and folders | Because |\n|---|---|\n{}", families().map(row).collect::<String>())
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the page is compared with, or blessed from, the list")]
    fn the_page_has_the_list() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protected.md");
        let (text, page) = (std::fs::read_to_string(file).unwrap(), page());
        let at = text.find("| Files and folders |").unwrap();
        let end = text[at..].find("\n\n").map_or(text.len(), |end| at + end + 1);
        if std::env::var_os("NRV_BLESS").is_some() {
            std::fs::write(file, format!("{}{page}{}", &text[..at], &text[end..])).unwrap();
        } else {
            assert!(text[at..end] == page, "docs/protected.md is old; run the tests with NRV_BLESS=1");
        }
    }

    #[test]
    fn each_name_stands_once() {
        let mut names: Vec<String> = families().flat_map(|(_, names)| names).map(str::to_lowercase).collect();
        names.extend(NEVER_WRITTEN.iter().map(|(name, _)| (*name).to_owned()));
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn policy_is_readable_but_records_are_not() {
        assert!(read_refusal(&RepoPath::parse("nrv.toml").unwrap()).is_none());
        assert!(read_refusal(&RepoPath::parse("sub/.Git/config").unwrap()).is_some());
    }
}
