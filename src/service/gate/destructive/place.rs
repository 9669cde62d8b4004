//! The place that an operand names, judged by its spelling: nothing is looked up.

use std::borrow::Cow;

use super::value::LETTER;

/// A kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A valuable tree: `/`, a home, a system folder, a drive, or the folder above.
    Root,
    /// Everything in the folder where the command runs.
    Here,
    /// Below a folder of the system.
    System,
    /// Below a home.
    Home,
    /// Upwards from here, or another absolute path.
    Outside,
    /// An entry of a folder for temporary files.
    Temporary,
    /// Dependencies and caches, which can be restored.
    Cache,
    /// A disk or a part of one.
    Device,
    /// An unknown place: a variable, or the output of a command.
    Unknown,
    /// A relative path that goes down.
    Inside,
}

/// Folders that belong to the system.
const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "home",
    "Users",
    "Library",
    "System",
    "Applications",
    "private",
    "Volumes",
    "mnt",
    "media",
    "data",
];

/// Names of files and folders that a build or an install restores.
const CACHES: &[&str] = &[
    ".DS_Store",
    ".angular",
    ".astro",
    ".aws-sam",
    ".cache",
    ".coverage",
    ".dart_tool",
    ".docusaurus",
    ".eggs",
    ".eslintcache",
    ".expo",
    ".gradle",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".jekyll-cache",
    ".jest-cache",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".nyc_output",
    ".output",
    ".parcel-cache",
    ".phpunit.cache",
    ".phpunit.result.cache",
    ".pnpm-store",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".sass-cache",
    ".serverless",
    ".stack-work",
    ".stylelintcache",
    ".svelte-kit",
    ".swc",
    ".terraform",
    ".tox",
    ".turbo",
    ".venv",
    ".vite",
    ".webpack",
    ".yarn-cache",
    ".zig-cache",
    "CMakeCache.txt",
    "CMakeFiles",
    "DerivedData",
    "Thumbs.db",
    "__pycache__",
    "__pypackages__",
    "_build",
    "bower_components",
    "bun.lock",
    "bun.lockb",
    "cmake-build-debug",
    "cmake-build-release",
    "coverage",
    "coverage.txt",
    "coverage.xml",
    "dist-newstyle",
    "elm-stuff",
    "htmlcov",
    "node_modules",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "playwright-report",
    "pnpm-lock.yaml",
    "storybook-static",
    "test-results",
    "tsconfig.tsbuildinfo",
    "venv",
    "yarn.lock",
    "zig-cache",
    "zig-out",
];

/// Folders that Cargo and Maven make in `target`.
const MADE_IN_TARGET: &[&str] = &["classes", "criterion", "debug", "doc", "package", "release", "surefire-reports"];

/// Ends of names of files that a build or an editor restores.
const CACHED_ENDS: &[&str] = &[
    ".egg-info",
    ".elc",
    ".gcda",
    ".gcno",
    ".o",
    ".obj",
    ".pyc",
    ".pyo",
    ".swp",
    ".tsbuildinfo",
    ":Zone.Identifier",
    "~",
];

/// Ends of paths of files and folders that hold credentials.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".aws/credentials",
    ".aws/config",
    ".git-credentials",
    ".kube/config",
    ".kube",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    "etc/shadow",
    "etc/gshadow",
    "etc/sudoers",
    ".vault-token",
    ".azure",
    ".config/gcloud",
    ".config/gcloud/access_tokens.db",
    ".config/gcloud/credentials.db",
    "cookies.sqlite",
    "default/cookies",
    "network/cookies",
    "application_default_credentials.json",
    ".password-store",
    ".local/share/keyrings",
    "login.keychain-db",
    "library/keychains",
    ".terraform.d/credentials.tfrc.json",
    ".config/rclone/rclone.conf",
    ".s3cfg",
    ".boto",
    "kubernetes.io/serviceaccount/token",
    "wallet.dat",
    ".bash_history",
    ".zsh_history",
    ".config/hub",
    "login data",
    "logins.json",
    "key4.db",
    ".electrum/wallets",
    ".ethereum/keystore",
    "proc/self/environ",
    ".gnupg/secring.gpg",
    "config/master.key",
    "secrets.yml",
    ".databrickscfg",
    ".config/op",
    ".snowsql/config",
    "terraform.tfstate",
];

/// Spellings of the folder of temporary files.
const TEMPORARY: &[&str] = &[
    "$TMPDIR/",
    "${TMPDIR}/",
    "$TMP/",
    "${TMP}/",
    "$TEMP/",
    "${TEMP}/",
    "%TEMP%/",
    "%TMP%/",
    "$env:TEMP/",
    "$Env:TEMP/",
];

/// Spellings of a home.
const HOMES: &[&str] = &["$HOME", "${HOME}", "%USERPROFILE%", "$env:USERPROFILE", "~"];

/// Folders below `/` with downloads and restorable files of packages, and with files that only people read.
const MADE_AGAIN: &[&str] = &[
    "root/.cache",
    "root/.npm",
    "usr/local/share/doc",
    "usr/local/share/locale",
    "usr/local/share/man",
    "usr/share/doc",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "var/cache/apk",
    "var/cache/apt",
    "var/cache/dnf",
    "var/cache/ldconfig",
    "var/cache/libdnf5",
    "var/cache/man",
    "var/cache/yum",
    "var/cache/zypp",
    "var/lib/apt/lists",
    "var/tmp",
];

impl Place {
    /// The place of an operand of a command that runs in a folder; if none, where the line begins.
    pub(super) fn within(folder: Option<&str>, operand: &str) -> Self {
        match folder {
            None => Place::of(operand),
            // Dependencies and caches can be restored wherever a project is.
            Some(folder) => match (Place::of(operand), Place::of(folder)) {
                (Place::Cache, there) if there != Place::Root && !operand.starts_with('/') => Place::Cache,
                _ => Place::of(&below(folder, operand)),
            },
        }
    }

    /// The place of an operand.
    pub(super) fn of(operand: &str) -> Self {
        let operand = operand.trim_matches('"');
        if is_device(operand) {
            return Place::Device;
        }
        let path: Cow<'_, str> =
            if operand.contains('\\') { operand.replace('\\', "/").into() } else { operand.into() };
        let path = &*path;
        if let Some(place) = of_variable(path) {
            return place;
        }
        // A process number and a random one don't lead anywhere.
        let random = ["$$", "$RANDOM", "${RANDOM}", "$PPID", "$BASHPID", "${BASHPID}"];
        let random = random.iter().filter(|_| path.contains('$'));
        let told =
            random.fold(
                Cow::Borrowed(path),
                |told, name| {
                    if told.contains(name) { told.replace(name, "").into() } else { told }
                },
            );
        let unknown = told.contains(['$', '`']) || told.contains("<(");
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        let upwards = names.contains(&"..");
        let drive = names.first().is_some_and(|name| name.len() == 2 && name.ends_with(':'));
        if is_made_again(path) {
            return Place::Temporary;
        }
        if path.starts_with('/') || drive {
            return absolute(if drive { &names[1..] } else { &names }, upwards, unknown);
        }
        match names.as_slice() {
            _ if upwards && names.iter().all(|name| matches!(*name, ".." | "*")) => Place::Root,
            _ if upwards => Place::Outside,
            _ if unknown => Place::Unknown,
            [] if path.is_empty() => Place::Inside,
            [] | ["*" | ".*" | "**" | "*.*" | "{*,.*}" | ".[!.]*"] => Place::Here,
            _ if names.iter().any(|name| is_cache(name)) => Place::Cache,
            _ if names.windows(2).any(|two| two[0] == "target" && MADE_IN_TARGET.contains(&two[1])) => Place::Cache,
            _ => Place::Inside,
        }
    }

    /// True if the files there are worth keeping.
    pub(super) fn is_kept(self) -> bool {
        !matches!(self, Place::Temporary | Place::Cache)
    }
}

/// The path of an operand from the line's start, for a command that runs in `folder`.
pub(super) fn below(folder: &str, operand: &str) -> String {
    let bare = operand.trim_matches('"');
    let is_drive = bare.as_bytes().get(1) == Some(&b':');
    if bare.starts_with(['/', '~', '$', '%', '\\', '`']) || bare.starts_with("<(") || is_drive {
        return operand.to_owned();
    }
    let mut names: Vec<&str> = Vec::new();
    for name in folder.split('/').chain(bare.split('/')).filter(|name| !name.is_empty() && *name != ".") {
        match names.last() {
            Some(last) if name == ".." && *last != ".." && !last.contains(['~', '$']) => drop(names.pop()),
            _ => names.push(name),
        }
    }
    let start = if folder.starts_with('/') { "/" } else { "" };
    match names.is_empty() && start.is_empty() {
        true => ".".to_owned(),
        false => format!("{start}{}", names.join("/")),
    }
}

/// True if a path is in a restorable folder of the system.
pub(super) fn is_made_again(path: &str) -> bool {
    let Some(path) = path.strip_prefix('/').filter(|path| !path.contains(['$', '`'])) else { return false };
    let path = path.trim_end_matches('/');
    let is_below =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    !path.split('/').any(|name| name == "..") && MADE_AGAIN.iter().any(|folder| is_below(folder))
}

/// True if a path below a home begins with a dot there: most programs keep their settings under such names.
pub(super) fn is_setting_of_user(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let at = if matches!(names.first(), Some(&("home" | "Users"))) { 2 } else { 1 };
    names.get(at).is_some_and(|name| name.starts_with('.'))
}

/// True if a path is that of a stream, which holds no data.
pub(super) fn is_stream(path: &str) -> bool {
    let name = path.strip_prefix("/dev/").unwrap_or_default();
    matches!(name, "null" | "stderr" | "stdin" | "stdout" | "tty")
        || name.starts_with("fd/")
        || name.starts_with("pts/")
}

/// True if a path is that of the input of a command.
pub(super) fn is_input(path: &str) -> bool {
    let of_process = |rest: &str| rest.split_once("/fd/").is_some_and(|(_, number)| !number.contains('/'));
    path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.strip_prefix("/proc/").is_some_and(of_process)
}

/// True if a name is one of dependencies or caches.
pub(super) fn is_cache(name: &str) -> bool {
    CACHES.binary_search(&name).is_ok()
        || CACHED_ENDS.iter().any(|end| name.len() > end.len() && name.ends_with(end))
        || name.contains(LETTER)
}

/// True if a name is that of an archive, a package or a log: one file, which `rm` may delete without `-r` too.
pub(super) fn is_archive(path: &str) -> bool {
    let ends = [
        ".7z", ".bz2", ".deb", ".gem", ".gz", ".jar", ".log", ".rpm", ".tar", ".tgz", ".tmp", ".whl", ".xz", ".zip",
        ".zst",
    ];
    ends.iter().any(|end| path.len() > end.len() && path.ends_with(end))
}

/// True if a path is that of a folder of temporary files itself.
pub(super) fn is_temporary(path: &str) -> bool {
    matches!(path.trim_end_matches('/'), "/tmp" | "/var/tmp" | "/private/tmp")
}

/// True if a path is that of a file with credentials, or of a folder full of them.
pub(super) fn is_secret(operand: &str) -> bool {
    // Most words are not secret, and lack the characters that all secret paths have.
    if !operand.bytes().any(|byte| b"./\\_ ".contains(&byte)) {
        return false;
    }
    let operand = operand.rsplit(['@', '=']).next().unwrap_or(operand);
    let is_plain = !operand.bytes().any(|byte| byte == b'\\' || byte.is_ascii_uppercase());
    let path: Cow<'_, str> =
        if is_plain { operand.into() } else { operand.replace('\\', "/").to_ascii_lowercase().into() };
    let path = path.trim_end_matches(['/', '*']);
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = SECRETS.iter().any(|secret| {
        path.strip_suffix(secret).is_some_and(|before| before.is_empty() || before.ends_with(['/', ':']))
    });
    let key =
        name.starts_with("id_") && ["rsa", "dsa", "ecdsa", "ed25519"].iter().any(|kind| name[3..].starts_with(kind));
    let env = name == ".env"
        || name.starts_with(".env.") && !["example", "sample", "template", "dist", "test"].contains(&&name[5..]);
    let folders = ["/.ssh/", "/.aws/", "/.gnupg/", "/.azure/", "/.password-store/"];
    let open = ["config", "known_hosts", "known_hosts.old", "allowed_signers", "environment"];
    let inside = folders.iter().any(|folder| path.contains(folder)) && !name.contains(".pub") && !open.contains(&name);
    ends && path != "credentials" || inside || key && !name.contains(".pub") || env
}

fn of_variable(path: &str) -> Option<Place> {
    if let Some(rest) = TEMPORARY.iter().find_map(|start| path.strip_prefix(start)) {
        let plain = !rest.trim_matches(['/', '*', '.']).is_empty() && !rest.contains(['$', '`']);
        return Some(if plain && !rest.split('/').any(|name| name == "..") {
            Place::Temporary
        } else {
            Place::Unknown
        });
    }
    let rest = HOMES.iter().find_map(|home| path.strip_prefix(home))?;
    match rest.trim_end_matches(['/', '*', '.']) {
        "" if rest.is_empty() || rest.starts_with('/') => Some(Place::Root),
        _ if rest.starts_with('/') => Some(Place::Home),
        user if path.starts_with('~') && !user.contains('/') => Some(Place::Root),
        _ if path.starts_with('~') => Some(Place::Home),
        _ => Some(Place::Unknown),
    }
}

fn absolute(names: &[&str], upwards: bool, unknown: bool) -> Place {
    // `/tmp/../etc` is `/etc`, unless `tmp` is a link.
    let mut down: Vec<&str> = Vec::new();
    for name in names {
        match *name {
            ".." => drop(down.pop()),
            name => down.push(name),
        }
    }
    let below = |rest: &[&str]| !rest.is_empty() && !unknown && !upwards;
    match down.as_slice() {
        [] | ["*" | ".*"] => Place::Root,
        ["tmp"] | ["private", "tmp"] => Place::System,
        ["tmp", rest @ ..] | ["var" | "private", "tmp", rest @ ..] | ["private", "var", "tmp", rest @ ..]
            if below(rest) =>
        {
            Place::Temporary
        }
        ["var", "folders", rest @ ..] | ["private", "var", "folders", rest @ ..] | ["dev", "shm", rest @ ..]
            if below(rest) =>
        {
            Place::Temporary
        }
        ["home" | "Users" | "Windows" | "Program Files"] | ["home" | "Users", _] | ["home" | "Users", _, "*"] => {
            Place::Root
        }
        ["home" | "Users", ..] | ["root", _, ..] => Place::Home,
        [top] | [top, "*"] if SYSTEM.contains(top) => Place::Root,
        [top, ..] if SYSTEM.contains(top) || matches!(*top, "Windows" | "Program Files" | "ProgramData") => {
            Place::System
        }
        _ if unknown => Place::Unknown,
        _ => Place::Outside,
    }
}

fn is_device(operand: &str) -> bool {
    let kinds = [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "dm-", "loop", "sr", "nbd", "zd",
        "mem", "kmem", "port", "zvol/", "rsd", "ram", "vg", "bcache", "fd0", "block/", "drbd",
    ];
    match operand.strip_prefix("/dev/") {
        Some(name) => kinds.iter().any(|kind| name.starts_with(kind)),
        None => operand.to_ascii_lowercase().starts_with(r"\\.\physicaldrive"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_operand_is_below_the_folder_where_the_command_runs() {
        for (folder, operand, place) in [
            ("/etc", "passwd", Place::System),
            ("/", "etc", Place::Root),
            ("/tmp/x", "*", Place::Temporary),
            ("build", "*", Place::Inside),
            ("build", "..", Place::Here),
            ("build", "../..", Place::Root),
            ("node_modules", "x", Place::Cache),
            ("~", "x", Place::Home),
            ("/etc", "/tmp/x", Place::Temporary),
        ] {
            assert_eq!(Place::within(Some(folder), operand), place, "{folder} {operand}");
        }
    }

    #[test]
    fn places_are_told_from_how_they_are_written() {
        for (operand, place) in [
            ("/", Place::Root),
            ("//", Place::Root),
            ("/*", Place::Root),
            ("/.", Place::Root),
            ("~", Place::Root),
            ("~/", Place::Root),
            ("~/*", Place::Root),
            ("${HOME}/", Place::Root),
            ("~root", Place::Root),
            (".", Place::Here),
            ("./", Place::Here),
            ("*", Place::Here),
            ("target/debug/incremental", Place::Cache),
            ("target", Place::Inside),
            ("./x.XXXXXX", Place::Inside),
            ("./x.\u{e000}\u{e000}\u{e000}", Place::Cache),
            ("/tmp/*", Place::Temporary),
            ("/var/tmp", Place::Temporary),
            ("/var/lib/apt/lists/*", Place::Temporary),
            ("/var/lib/apt/lists/../../dpkg", Place::System),
            ("/var/lib/apt", Place::System),
            ("/usr/share/documents", Place::System),
            (concat!("/", "root/.cache/pip"), Place::Temporary),
            ("../../", Place::Root),
            (concat!("/", "home/me"), Place::Root),
            (r"C:\", Place::Root),
            ("/etc", Place::Root),
            ("/tmp/../etc/x", Place::System),
            ("/tmp", Place::System),
            ("~/x", Place::Home),
            ("$HOME/x", Place::Home),
            ("../x", Place::Outside),
            ("/tmp/x", Place::Temporary),
            ("/var/tmp/*", Place::Temporary),
            ("$TMPDIR/x", Place::Temporary),
            ("$TMPDIR/../x", Place::Unknown),
            ("$TMPDIR", Place::Unknown),
            ("/tmp/$X", Place::Unknown),
            ("/tmp/x.$$", Place::Temporary),
            ("/tmp/foo..bar", Place::Temporary),
            ("node_modules", Place::Cache),
            ("./a/node_modules/", Place::Cache),
            ("../node_modules", Place::Outside),
            ("~/node_modules", Place::Home),
            ("src", Place::Inside),
            ("build", Place::Inside),
            ("$X", Place::Unknown),
            ("/dev/sda1", Place::Device),
        ] {
            assert_eq!(Place::of(operand), place, "{operand}");
        }
    }
}
