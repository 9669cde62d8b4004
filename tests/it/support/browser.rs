//! Chromium without a window, for pages that nrv writes.
#![expect(clippy::disallowed_methods, reason = "tests run programs and read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::need;

/// Arguments that restrict the browser to one page.
const QUIET: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
];

/// A browser.
pub(crate) struct Browser {
    program: PathBuf,
}

/// The result of a page.
pub(crate) struct Seen {
    /// The document after it was loaded.
    pub(crate) dom: String,
    /// Its messages on the console.
    pub(crate) console: Vec<String>,
}

impl Browser {
    /// Finds Chromium. Where it is missing, the test needs `browser` and is skipped.
    pub(crate) fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let found = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
        let program = found.into_iter().find(|program| program.is_file());
        if program.is_none() {
            need::skip("browser");
        }
        program.map(|program| Browser { program })
    }

    /// Loads a page and returns its document. `more` are further switches.
    pub(crate) fn load(&self, page: &Path, more: &[&str]) -> Seen {
        let profile = tempfile::tempdir().unwrap();
        let output = Command::new(&self.program)
            .args(QUIET)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(more)
            .arg("--dump-dom")
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{log}");
        // Pages of the browser itself complain of a slow network where there is none.
        let is_own = |line: &&str| line.contains("source: chrome://");
        let console = log.lines().filter(|line| line.contains("CONSOLE") && !is_own(line)).map(str::to_owned).collect();
        Seen { dom: String::from_utf8_lossy(&output.stdout).into_owned(), console }
    }
}
