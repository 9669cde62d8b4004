//! A real server: llama.cpp's, with a model of half a megabyte that `tests/llm/install` makes.
#![expect(clippy::disallowed_methods, reason = "tests run programs and read the environment")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
};

use crate::{
    repository,
    support::{need, site::Running},
};

/// A server, which ends with this.
pub(crate) struct Llama {
    url: String,
    _process: Running,
}

/// The folder where `tests/llm/install` puts a server. Where it is missing, the test is skipped.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let folder = repository::root().join("target/llm");
    let there = folder.join(format!("{name}.installed")).is_file();
    if !there {
        need::skip(if name == "llama" { "model-server" } else { name });
    }
    there.then_some(folder)
}

/// Starts a Python program with its stdin kept open, and waits until it prints its address.
pub(crate) fn start(python: &Path, arguments: &[&str]) -> (Running, String) {
    let mut command = Command::new(python);
    command.args(arguments).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(repository::root());
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut process = Running(child);
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("http://"), "{arguments:?} did not start: {line:?}");
    (process, line.trim().to_owned())
}

impl Llama {
    /// Starts a server with the model `tiny`, if it is installed.
    pub(crate) fn start() -> Option<Self> {
        installed("llama").map(|folder| Llama::serving(&folder, "tiny", 2048))
    }

    /// Starts a server with the model `smollm2`, which is installed only on request.
    pub(crate) fn start_large() -> Option<Self> {
        installed("smollm2").map(|folder| Llama::serving(&folder, "smollm2", 2048))
    }

    /// Starts a server with the model `tiny` and room for requests of this many tokens.
    pub(crate) fn with_context(tokens: u32) -> Option<Self> {
        installed("llama").map(|folder| Llama::serving(&folder, "tiny", tokens))
    }

    fn serving(folder: &Path, name: &str, context: u32) -> Self {
        let model = folder.join(format!("{name}.gguf"));
        let context = context.to_string();
        let arguments = ["tests/llm/serve.py", model.to_str().unwrap(), name, &context];
        let (process, url) = start(&folder.join("llama/bin/python"), &arguments);
        Llama { url, _process: process }
    }

    /// The server that tests share; it ends with them.
    pub(crate) fn shared() -> Option<&'static Self> {
        static SHARED: LazyLock<Option<Llama>> = LazyLock::new(Llama::start);
        SHARED.as_ref()
    }

    /// The base URL for a dialect.
    pub(crate) fn base_url(&self, dialect: &str) -> String {
        format!("{}{}", self.url, if dialect.starts_with("openai") { "/v1" } else { "" })
    }
}
