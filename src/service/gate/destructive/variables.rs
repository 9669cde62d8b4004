//! Variables of the environment that programs obey: the value is judged as those programs take it.
//!
//! Code that lies on the disk is not read, unless the line itself has written it.

use std::sync::LazyLock;

use super::{
    names::Names,
    value::Value,
    walk::{Context, Walk},
};

/// The use that a program makes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// A command, alone or with arguments.
    Command,
    /// A text in which a shell replaces `$(…)`.
    Prompt,
    /// The path of a file that this program runs first.
    Script(&'static str),
    /// A folder in which this program finds files of these names, and runs them.
    Folder(&'static str, &'static [&'static str]),
    /// Options of this program.
    Options(&'static str),
    /// Code for this program.
    Code(&'static str),
    /// Commands of an editor.
    Keys,
    /// A setting of git: its value, or the name and the value.
    Setting,
    /// The body of a function that a shell imports.
    Function,
}

/// The variables of each use. `*` stands for any text, once.
const USES: &[(&str, Use)] = &[
    ("EDITOR VISUAL PAGER BROWSER SHELL FCEDIT TERMINAL MANPAGER MANOPT LESSOPEN LESSCLOSE LESSEDIT", Use::Command),
    ("GIT_SSH_COMMAND GIT_SSH GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF", Use::Command),
    ("GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS SVN_SSH SVN_EDITOR SVN_MERGE", Use::Command),
    ("HGEDITOR CVS_RSH CVSEDITOR RSYNC_RSH RSYNC_CONNECT_PROG SUDO_EDITOR SYSTEMD_EDITOR", Use::Command),
    ("SYSTEMD_PAGER KUBE_EDITOR GH_EDITOR GH_PAGER GH_BROWSER GLAB_EDITOR AWS_PAGER BAT_PAGER", Use::Command),
    ("DELTA_PAGER PSQL_EDITOR PSQL_PAGER BUNDLER_EDITOR HOMEBREW_EDITOR HOMEBREW_BROWSER", Use::Command),
    ("FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND FZF_ALT_C_COMMAND PARALLEL_SHELL TMUX_SHELL", Use::Command),
    ("CC CXX CPP LD AR AS FC F77 NM RANLIB STRIP OBJCOPY OBJDUMP RUSTC RUSTDOC MAKE CMAKE", Use::Command),
    ("YACC LEX PKG_CONFIG INSTALL CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER", Use::Command),
    ("RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER", Use::Command),
    ("CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER CARGO_TARGET_*_RUNNER CARGO_TARGET_*_LINKER", Use::Command),
    ("npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL npm_config_editor npm_config_git", Use::Command),
    ("npm_config_shell npm_config_viewer npm_config_node_gyp YARN_SCRIPT_SHELL RUBYSHELL", Use::Command),
    ("PROMPT_COMMAND CMAKE_MAKE_PROGRAM SCCACHE_WRAPPER CCACHE_PREFIX CCACHE_COMPILER", Use::Command),
    ("WATCH_COMMAND PYTHON NODE PIP PERL RUBY NPM npm_execpath VIM NVIM TEXEDIT WINEDITOR", Use::Command),
    ("PS0 PS1 PS2 PS3 PS4 PROMPT RPROMPT", Use::Prompt),
    ("BASH_ENV ENV", Use::Script("sh")),
    ("PYTHONSTARTUP", Use::Script("python")),
    ("ZDOTDIR HOME", Use::Folder("sh", &[".zshenv", ".zshrc", ".bashrc", ".bash_profile", ".profile", ".kshrc"])),
    ("PYTHONPATH PYTHONUSERBASE", Use::Folder("python", &["sitecustomize.py", "usercustomize.py"])),
    ("GIT_EXEC_PATH", Use::Folder("sh", &["git-*"])),
    ("TAR_OPTIONS", Use::Options("tar")),
    ("MAKEFLAGS GNUMAKEFLAGS MFLAGS", Use::Options("make")),
    ("PERL5OPT", Use::Options("perl")),
    ("RUBYOPT", Use::Options("ruby")),
    ("NODE_OPTIONS", Use::Options("node")),
    ("GOFLAGS", Use::Options("go")),
    ("ZIPOPT", Use::Options("zip")),
    ("UNZIP UNZIPOPT", Use::Options("unzip")),
    ("PARALLEL", Use::Options("parallel")),
    ("PERL5DB", Use::Code("perl")),
    ("EXINIT VIMINIT GVIMINIT NVIMINIT LESS", Use::Keys),
    ("GIT_CONFIG_PARAMETERS GIT_CONFIG_VALUE_*", Use::Setting),
    ("BASH_FUNC_*", Use::Function),
];

/// The uses of names without `*`.
static BY_NAME: LazyLock<Names<Use>> = LazyLock::new(|| {
    let mut by_name = Names::default();
    for (names, one) in USES {
        names.split(' ').filter(|name| !name.contains('*')).for_each(|name| by_name.add(name.into(), *one));
    }
    by_name
});

/// The use of a variable, if programs obey it.
fn use_of(name: &str) -> Option<Use> {
    let fits = |pattern: &str| pattern.split_once('*').is_some_and(|(start, end)| is_between(name, start, end));
    BY_NAME.of(name).next().copied().or_else(|| {
        let open = ["BASH_FUNC_", "CARGO_TARGET_", "GIT_CONFIG_"].iter().any(|start| name.starts_with(start));
        let mut uses = USES.iter().filter(|_| open);
        uses.find(|(names, _)| names.split(' ').any(fits)).map(|(_, one)| *one)
    })
}

fn is_between(name: &str, start: &str, end: &str) -> bool {
    name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
}

impl Walk<'_> {
    /// Judges the value of a variable as the programs take it that obey the variable.
    pub(super) fn environment(&mut self, name: &str, value: &str, ctx: Context<'_>) {
        let Some(one) = use_of(name).filter(|_| !value.is_empty()) else { return };
        self.deeper(|walk| match one {
            Use::Command => walk.guess(value, ctx),
            Use::Prompt => walk.expanded(value, ctx),
            Use::Script(program) => {
                walk.expanded(value, ctx);
                walk.script_file(value, &[program.to_owned()], ctx);
            }
            Use::Folder(program, names) => walk.first_files(value, program, names, ctx),
            Use::Options(program) => {
                let mut argv = vec![program.to_owned()];
                argv.extend(words(value));
                walk.command(&argv, Context { input: None, ..ctx });
            }
            Use::Code(program) => walk.fed(value, &[program.to_owned()], ctx),
            Use::Keys => walk.escapes(&["vim".to_owned(), format!("+{value}")], ctx),
            Use::Setting => {
                let plain = value.replace('\'', "");
                let (name, value) = plain.split_once('=').unwrap_or(("", &plain));
                walk.setting(name, value, ctx);
            }
            Use::Function => walk.guess(value.trim_start().trim_start_matches("()"), ctx),
        });
    }

    /// A setting of git whose value git may run: `alias.x=!rm`, `core.editor=vi`.
    pub(super) fn setting(&mut self, name: &str, value: &str, ctx: Context<'_>) {
        self.guess(value.trim_start_matches('!'), ctx);
        if !value.starts_with('!') && (name.is_empty() || name.starts_with("alias.")) {
            self.guess(&format!("git {value}"), ctx);
        }
    }

    /// The files of a folder that a program runs before all others, if the line has written them.
    fn first_files(&mut self, folders: &str, program: &str, names: &[&str], ctx: Context<'_>) {
        if self.files.is_empty() {
            return;
        }
        let is_first = |path: &str, folder: &str| {
            let name = match folder {
                "" | "." => path.strip_prefix("./").unwrap_or(path),
                _ => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default(),
            };
            names.iter().any(|known| match known.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == *known,
            })
        };
        for folder in folders.split(':') {
            let folder = folder.strip_prefix("$PWD/").unwrap_or(folder).trim_end_matches('/');
            let found: Vec<String> = self.files.keys().filter(|path| is_first(path, folder)).cloned().collect();
            found.iter().for_each(|path| self.script_file(path, &[program.to_owned()], ctx));
        }
    }

    /// A program that the line has written, by its path or in a folder of `PATH`.
    pub(super) fn own_program(&mut self, argv: &[String], ctx: Context<'_>) {
        // A shell can't start the output of a process.
        if self.files.is_empty() || argv[0].starts_with("<(") || argv[0].starts_with(">(") {
            return;
        }
        let run = [vec!["sh".to_owned()], argv.to_vec()].concat();
        if argv[0].contains('/') {
            self.disguised(argv);
            return self.script_file(&argv[0], &run, ctx);
        }
        let Some(Value::Text(folders)) = self.variables.get("PATH") else { return };
        let place = |folder: &str| format!("{}/{}", folder.trim_end_matches('/'), argv[0]);
        let paths: Vec<String> = folders.split(':').map(place).collect();
        paths.iter().for_each(|path| self.script_file(path, &run, ctx));
    }

    /// Runs `inner` with further variables, which end with it.
    pub(super) fn lend(&mut self, variables: Vec<(String, Value)>, inner: impl FnOnce(&mut Self)) {
        let mut before = Vec::with_capacity(variables.len());
        for (name, value) in variables {
            before.push((name.clone(), self.variables.insert(name, value)));
        }
        inner(self);
        for (name, value) in before.into_iter().rev() {
            match value {
                Some(value) => drop(self.variables.insert(name, value)),
                None => drop(self.variables.remove(&name)),
            }
        }
    }
}

/// Words between blanks; a backslash keeps a blank in its word.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, words.last_mut()) {
            ('\\', Some(last)) => last.extend(characters.next()),
            (blank, Some(_)) if blank.is_ascii_whitespace() => words.push(String::new()),
            (other, Some(last)) => last.push(other),
            (_, None) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_stands_twice() {
        let mut names: Vec<&str> = USES.iter().flat_map(|(names, _)| names.split(' ')).collect();
        names.sort_unstable();
        assert_eq!(names.windows(2).filter(|pair| pair[0] == pair[1]).collect::<Vec<_>>(), Vec::<&[&str]>::new());
    }

    #[test]
    fn a_pattern_of_names_holds_for_each_of_them() {
        assert_eq!(use_of("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER"), Some(Use::Command));
        assert_eq!(use_of("CARGO_TARGET_DIR"), None);
        assert_eq!(use_of("BASH_FUNC_f%%"), Some(Use::Function));
        assert_eq!(use_of("RUST_LOG"), None);
    }
}
