//! The lists that hold a program, looked up once for each command.

use std::sync::LazyLock;

use super::{names::Names, wrapper};

/// Programs that run their input, or a script, line by line.
const SHELLS: &[&str] = &[
    "ash",
    "bash",
    "cmd",
    "csh",
    "dash",
    "elvish",
    "fish",
    "ksh",
    "mksh",
    "nu",
    "oksh",
    "osh",
    "posh",
    "powershell",
    "pwsh",
    "rbash",
    "rc",
    "sh",
    "tcsh",
    "xonsh",
    "yash",
    "zsh",
];

/// Programs that show, copy or send their files.
const READERS: &[&str] = &[
    "7z",
    "ack",
    "ag",
    "awk",
    "aws",
    "az",
    "azcopy",
    "b2",
    "base32",
    "base64",
    "basenc",
    "bat",
    "batcat",
    "brotli",
    "bun",
    "bzip2",
    "cat",
    "ccrypt",
    "cmp",
    "code",
    "column",
    "comm",
    "copy-item",
    "cp",
    "cpio",
    "croc",
    "curl",
    "cut",
    "dd",
    "deno",
    "diff",
    "diff3",
    "docker",
    "dog",
    "ed",
    "egrep",
    "emacs",
    "ex",
    "expand",
    "fgrep",
    "find",
    "fmt",
    "fold",
    "ftp",
    "gawk",
    "gc",
    "gcloud",
    "get-content",
    "gh",
    "gist",
    "glab",
    "gpg",
    "gpg2",
    "grep",
    "gsutil",
    "gzip",
    "hd",
    "head",
    "hexdump",
    "http",
    "install",
    "ipython",
    "join",
    "jq",
    "kubectl",
    "less",
    "lftp",
    "ln",
    "look",
    "lz4",
    "m4",
    "mail",
    "mawk",
    "mc",
    "more",
    "most",
    "mutt",
    "mv",
    "nano",
    "nawk",
    "nc",
    "nl",
    "node",
    "nvim",
    "oc",
    "od",
    "openssl",
    "paste",
    "pax",
    "pbcopy",
    "perl",
    "pg",
    "php",
    "podman",
    "pr",
    "pypy",
    "python",
    "python3",
    "qrencode",
    "rclone",
    "rev",
    "rg",
    "rsync",
    "ruby",
    "s3cmd",
    "scp",
    "sdiff",
    "sed",
    "select-string",
    "sendmail",
    "sftp",
    "shuf",
    "smbclient",
    "sort",
    "split",
    "sqlite3",
    "ssh-copy-id",
    "strings",
    "tac",
    "tail",
    "tar",
    "tee",
    "tftp",
    "transfer",
    "type",
    "ugrep",
    "unexpand",
    "uniq",
    "uuencode",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "wget",
    "wormhole",
    "xclip",
    "xh",
    "xsel",
    "xxd",
    "xz",
    "yq",
    "zcat",
    "zip",
    "zstd",
];

/// Programs that only show or keep their arguments.
const DATA: &[&str] = &[
    ":",
    "[",
    "[[",
    "ack",
    "ag",
    "aichat",
    "aider",
    "alias",
    "amp",
    "apk",
    "apropos",
    "apt",
    "apt-cache",
    "apt-get",
    "awk",
    "basename",
    "bd",
    "bind",
    "brew",
    "cargo",
    "cat",
    "cd",
    "claude",
    "code",
    "codex",
    "compgen",
    "complete",
    "copilot",
    "cp",
    "cursor-agent",
    "cut",
    "declare",
    "diff",
    "dirname",
    "dnf",
    "do",
    "docker",
    "echo",
    "egrep",
    "export",
    "false",
    "fgrep",
    "file",
    "for",
    "fzf",
    "gem",
    "gemini",
    "git",
    "go",
    "grep",
    "hash",
    "head",
    "help",
    "history",
    "in",
    "info",
    "jira",
    "jq",
    "kubectl",
    "less",
    "llm",
    "ln",
    "local",
    "logger",
    "ls",
    "man",
    "mkdir",
    "more",
    "mv",
    "nano",
    "notify-send",
    "npm",
    "ntfy",
    "ollama",
    "opencode",
    "pacman",
    "pgrep",
    "pip",
    "pnpm",
    "podman",
    "printf",
    "ps",
    "pushd",
    "read",
    "readonly",
    "rg",
    "say",
    "sed",
    "service",
    "set",
    "sgpt",
    "sort",
    "stat",
    "systemctl",
    "tail",
    "tee",
    "test",
    "tldr",
    "touch",
    "tr",
    "true",
    "type",
    "typeset",
    "unalias",
    "uniq",
    "unset",
    "vi",
    "vim",
    "wc",
    "whatis",
    "where",
    "whereis",
    "which",
    "yarn",
    "yq",
    "yum",
];

/// Programs that run others after options that take one value, or two, and that change with each version.
const SCANNED: &[&str] = &[
    "bpftrace",
    "bwrap",
    "capsh",
    "cgexec",
    "concurrently",
    "criu",
    "cross-env",
    "daemonize",
    "dockerize",
    "dumb-init",
    "firejail",
    "gdb",
    "heaptrack",
    "hyperfine",
    "kcov",
    "lldb",
    "nodemon",
    "perf",
    "pm2",
    "rr",
    "s6-setuidgid",
    "script",
    "setarch",
    "sg",
    "softlimit",
    "start-stop-daemon",
    "systemd-nspawn",
    "tini",
    "trickle",
    "uftrace",
    "unbuffer",
    "valgrind",
    "wait-for-it",
    "wait4x",
    "watchexec",
];

/// Programs that change, replace or remove each of their files.
const CHANGES: &[&str] = &[
    "add-content",
    "bzip2",
    "chattr",
    "chgrp",
    "chmod",
    "chown",
    "clear-content",
    "crudini",
    "del",
    "del-cli",
    "dos2unix",
    "ed",
    "emacs",
    "erase",
    "ex",
    "gmv",
    "gzip",
    "ln",
    "mkfifo",
    "mknod",
    "mmv",
    "mount",
    "move-item",
    "mv",
    "nano",
    "nvim",
    "out-file",
    "patch",
    "remove-item",
    "rename",
    "rename-item",
    "ri",
    "rimraf",
    "rm",
    "rmdir",
    "sd",
    "set-content",
    "setfacl",
    "shred",
    "sponge",
    "srm",
    "tee",
    "touch",
    "trash",
    "trash-put",
    "truncate",
    "umount",
    "unlink",
    "vi",
    "vim",
    "wipe",
    "xz",
    "zstd",
];

/// Programs that write their last operand, or into that folder.
const COPIES: &[&str] = &["copy-item", "cp", "gcp", "gmv", "install", "ln", "move-item", "mv", "rsync", "scp"];

/// Programs that can change files in place, by an option.
const EDITS: &[&str] = &["awk", "gawk", "gsed", "jq", "perl", "ruby", "sed", "tomlq", "yq"];

/// A set of the lists in which a program stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    /// It runs its input, or a script, line by line.
    pub(super) const SHELL: Kind = Kind(1);
    /// It shows, copies or sends its files.
    pub(super) const READER: Kind = Kind(1 << 1);
    /// It only shows or keeps its arguments.
    pub(super) const DATA: Kind = Kind(1 << 2);
    /// Any of its arguments may be the program that it runs.
    pub(super) const SCANNED: Kind = Kind(1 << 3);
    /// It may run another program.
    pub(super) const WRAPPER: Kind = Kind(1 << 4);
    /// It changes, replaces or removes each of its files.
    pub(super) const CHANGES: Kind = Kind(1 << 5);
    /// It writes its last operand.
    pub(super) const COPIES: Kind = Kind(1 << 6);
    /// It can change files in place, by an option.
    pub(super) const EDITS: Kind = Kind(1 << 7);

    /// The kind of a program, by its bare name.
    pub(super) fn of(program: &str) -> Kind {
        KINDS.of(program).fold(Kind::default(), |all, one| Kind(all.0 | one.0))
    }

    /// True if the program is in one of some lists.
    pub(super) fn is(self, some: Kind) -> bool {
        self.0 & some.0 != 0
    }

    /// The union of both.
    pub(super) const fn or(self, other: Kind) -> Kind {
        Kind(self.0 | other.0)
    }
}

static KINDS: LazyLock<Names<Kind>> = LazyLock::new(|| {
    let mut kinds = Names::default();
    let lists = [
        (Kind::SHELL, SHELLS),
        (Kind::READER, READERS),
        (Kind::DATA, DATA),
        (Kind::SCANNED, SCANNED),
        (Kind::CHANGES, CHANGES),
        (Kind::COPIES, COPIES),
        (Kind::EDITS, EDITS),
    ];
    for (kind, names) in lists {
        names.iter().for_each(|name| kinds.add((*name).into(), kind));
    }
    wrapper::names().for_each(|name| kinds.add(name.into(), Kind::WRAPPER));
    kinds
});

/// The names of all programs that are in a list.
pub(super) fn programs() -> impl Iterator<Item = &'static str> {
    KINDS.names()
}

/// True if a program runs its input line by line.
pub(super) fn is_shell(name: &str) -> bool {
    Kind::of(name).is(Kind::SHELL)
}

/// True if any of its arguments may be the program that it runs.
pub(super) fn is_scanned(program: &str) -> bool {
    Kind::of(program).is(Kind::SCANNED) || is_loader(program)
}

/// True if it is the loader of programs, or an emulator of a processor.
pub(super) fn is_loader(program: &str) -> bool {
    let starts = ["ld-linux", "ld-musl", "qemu-aarch64", "qemu-arm", "qemu-i386", "qemu-riscv", "qemu-x86_64"];
    program == "ld.so" || program.contains('-') && starts.iter().any(|start| program.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(CHANGES.is_sorted() && COPIES.is_sorted() && EDITS.is_sorted());
    }

    #[test]
    fn a_program_has_every_kind_of_which_it_is() {
        assert!(Kind::of("bash").is(Kind::SHELL) && !Kind::of("bash").is(Kind::CHANGES));
        assert!(Kind::of("mv").is(Kind::COPIES) && Kind::of("mv").is(Kind::CHANGES) && Kind::of("mv").is(Kind::DATA));
        assert!(Kind::of("git-rebase").is(Kind::WRAPPER) && Kind::of("sudo").is(Kind::WRAPPER));
        assert_eq!(Kind::of("nobody-knows-it"), Kind::default());
    }
}
