//! The kinds of files: in some only certain findings count.

/// The kind of a file by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    /// Written by a package manager: full of hashes.
    Locked,
    /// Names and values, bare or not.
    Settings,
    /// Anything else.
    Other,
}

impl File {
    pub(super) fn of(path: Option<&str>) -> File {
        const LOCKED: &[&str] = &[
            "package-lock.json",
            "npm-shrinkwrap.json",
            "pnpm-lock.yaml",
            "yarn.lock",
            "deno.lock",
            "bun.lock",
            "Cargo.lock",
            "poetry.lock",
            "Pipfile.lock",
            "uv.lock",
            "Gemfile.lock",
            "composer.lock",
            "go.sum",
            "go.work.sum",
            "flake.lock",
            "gradle.lockfile",
            "verification-metadata.xml",
            "mix.lock",
            "pubspec.lock",
            "Podfile.lock",
            "packages.lock.json",
        ];
        const SETTINGS: &[&str] =
            &["env", "ini", "properties", "conf", "cfg", "cnf", "config", "netrc", "pgpass", "tfvars", "envrc"];
        let Some(path) = path else { return File::Other };
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit('.').next().unwrap_or_default();
        if LOCKED.contains(&name) {
            File::Locked
        } else if SETTINGS.contains(&extension) || name.starts_with(".env") {
            File::Settings
        } else {
            File::Other
        }
    }

    pub(super) fn is_locked(self) -> bool {
        self == File::Locked
    }

    pub(super) fn is_settings(self) -> bool {
        self == File::Settings
    }
}
