//! Keys of servers: read from a file or given, put into a header, and removed from answers.

use std::{
    fmt,
    fs::{self, File},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::Path,
};

use base::error::{Code, Error};

/// The replacement of a key.
const TAKEN_OUT: &str = "[key]";

/// The largest size of a file with a key.
const MAX_FILE: u64 = 16 << 10;

/// The permission bits with which others than the owner and their group read or write a file.
const OTHERS: u32 = 0o006;

/// Text that must never be shown: it is put into a header, and is in no output.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret, without the white space around it.
    pub fn new(text: &str) -> Self {
        Secret(text.trim().to_owned())
    }

    /// Reads a secret from a file that lies outside of a folder.
    ///
    /// A file that everybody on the machine can read or write is refused. A warning would go unread where nobody watches, and
    /// `chmod` fixes it for good.
    pub fn read(file: &Path, outside: &Path) -> Result<Self, Error> {
        let name = file.display();
        let failed = |error: &std::io::Error| {
            Error::io(format_args!("the key file `{name}` can't be read"), error).hint("name a file that holds the key")
        };
        let refuse = |what: &str, hint: &str| {
            Err(Error::new(Code::Unreadable, format!("the key file `{name}` {what}")).hint(hint))
        };
        let real = fs::canonicalize(file).map_err(|error| failed(&error))?;
        let folder = fs::canonicalize(outside).unwrap_or_else(|_| outside.to_owned());
        if real.starts_with(folder) || file.starts_with(outside) {
            return refuse("lies in the workspace", "keep keys outside of it, where no run reads or commits them");
        }
        // Checked before it is opened: opening a pipe would block.
        let look = fs::metadata(&real).map_err(|error| failed(&error))?;
        if !look.is_file() {
            return refuse("is no regular file", "name a file that holds the key");
        }
        if look.permissions().mode() & OTHERS != 0 {
            let hint = format!("take that away with `chmod o= {name}`, or give the key in the environment");
            return refuse("can be read or written by everybody on this machine", &hint);
        }
        #[expect(clippy::disallowed_methods, reason = "a key lies outside of the tree")]
        let opened = File::open(&real).map_err(|error| failed(&error))?;
        let mut text = String::new();
        let length = opened.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|error| failed(&error))?;
        let secret = Secret::new(&text);
        match length as u64 > MAX_FILE || !secret.is_key() {
            true => refuse("holds no key", "it has to hold the key on one line, and nothing else"),
            false => Ok(secret),
        }
    }

    /// True if it can be a key: characters that are valid in a header, on one line.
    pub fn is_key(&self) -> bool {
        !self.0.is_empty() && self.0.chars().all(|c| c.is_ascii_graphic())
    }

    /// The secret itself, for a header or a program's environment.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// True for a placeholder such as `none` or `ollama`, for servers without keys; replies may well contain it.
    pub fn is_stand_in(&self) -> bool {
        let has_digit = self.0.chars().any(|c| c.is_ascii_digit());
        self.0.len() < if has_digit { 8 } else { 12 }
    }

    /// The text without the secret.
    pub fn taken_out_of(&self, text: &str) -> String {
        match self.0.is_empty() {
            true => text.to_owned(),
            false => text.replace(&self.0, TAKEN_OUT),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Removes a secret from a reply that comes in pieces, wherever the pieces split it. A possible beginning of it is held back.
#[derive(Debug)]
pub struct Sieve {
    secret: Option<Secret>,
    held: String,
}

impl Sieve {
    /// A sieve for this secret; it removes nothing if there is none, or a placeholder.
    pub fn of(secret: Option<&Secret>) -> Self {
        Sieve { secret: secret.filter(|secret| !secret.is_stand_in()).cloned(), held: String::new() }
    }

    /// The text that can be passed on after this piece.
    pub fn pass(&mut self, piece: &str) -> String {
        let Some(Secret(secret)) = &self.secret else { return piece.to_owned() };
        self.held.push_str(piece);
        let mut passed = String::new();
        while let Some(at) = self.held.find(secret.as_str()) {
            passed.push_str(&self.held[..at]);
            passed.push_str(TAKEN_OUT);
            self.held.drain(..at + secret.len());
        }
        let from = self.held.len().saturating_sub(secret.len() - 1);
        let begins = |at: &usize| self.held.get(*at..).is_some_and(|rest| secret.starts_with(rest));
        let keep = (from..=self.held.len()).find(begins).unwrap_or(self.held.len());
        passed.extend(self.held.drain(..keep));
        passed
    }

    /// The text held back, once no more pieces come.
    pub fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;

    fn key_file(folder: &Path, text: &str, mode: u32) -> std::path::PathBuf {
        let file = folder.join("key");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[track_caller]
    fn refused(file: &Path, outside: &Path, words: &str) {
        let error = Secret::read(file, outside).unwrap_err();
        assert!(error.message().contains(words) && error.hint_text().is_some(), "{error:?}");
        assert!(!format!("{error:?}").contains("canary"));
    }

    #[test]
    fn a_key_comes_from_a_file_outside_of_the_workspace_that_not_everybody_reads() {
        let (home, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = key_file(home.path(), "sk-canary-1\n", 0o600);
        assert_eq!(Secret::read(&file, tree.path()).unwrap().text(), "sk-canary-1");
        refused(&file, home.path(), "lies in the workspace");
        let link = tree.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        refused(&link, tree.path(), "lies in the workspace");
        refused(&key_file(home.path(), "sk-canary-1", 0o644), tree.path(), "by everybody on this machine");
        assert!(Secret::read(&key_file(home.path(), "sk-canary-1", 0o640), tree.path()).is_ok());
    }

    #[test]
    fn what_holds_no_key_is_none() {
        let (home, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for text in ["", " \n", "sk-canary\nsk-other", "key = 1", &"x".repeat(20_000)] {
            refused(&key_file(home.path(), text, 0o600), tree.path(), "holds no key");
        }
        refused(home.path(), tree.path(), "is no regular file");
        refused(&home.path().join("none"), tree.path(), "can't be read");
    }

    #[test]
    fn a_secret_is_taken_out_wherever_the_pieces_part_it() {
        for (secret, text) in [
            ("sk-canary-77", "a sk-canary-77, sk-canary, sk-sk-canary-77! sk-canar"),
            ("1aab1aac1aab", "1aab1aab1aac1aab1aac1aab1aaba1aab1aac1aab"),
            ("é-canary-123", "aéé-canary-123é"),
        ] {
            let whole = Secret::new(secret).taken_out_of(text);
            let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            for (one, two) in cuts.iter().flat_map(|one| cuts.iter().map(move |two| (*one, *two))) {
                if one > two {
                    continue;
                }
                let mut sieve = Sieve::of(Some(&Secret::new(secret)));
                let mut passed = String::new();
                for piece in [&text[..one], &text[one..two], &text[two..]] {
                    passed.push_str(&sieve.pass(piece));
                    assert!(!passed.contains(secret));
                }
                assert_eq!(passed + sieve.rest().as_str(), whole, "{secret} at {one} and {two}");
            }
        }
    }

    #[test]
    fn without_a_secret_everything_passes_at_once() {
        assert_eq!(Sieve::of(None).pass("sk-"), "sk-");
        for word in ["", "ollama", "not-needed", "test123"] {
            assert_eq!(Sieve::of(Some(&Secret::new(word))).pass(word), word);
        }
    }
}
