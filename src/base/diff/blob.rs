//! Git's object names, for patches that delete a binary file without showing it.

use sha2::Digest;

/// The old name of an `index` line, if it is complete and the new one marks a deletion.
pub(super) fn deleted(rest: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(rest).ok()?;
    let (old, new) = line.split_whitespace().next()?.split_once("..")?;
    let is_whole = matches!(old.len(), 40 | 64) && old.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_whole && new.len() == old.len() && new.bytes().all(|byte| byte == b'0')).then(|| old.to_ascii_lowercase())
}

/// The SHA-1 name of contents.
pub(super) fn name(bytes: &[u8]) -> String {
    let head = format!("blob {}\0", bytes.len());
    hex(&sha1::Sha1::new().chain_update(head).chain_update(bytes).finalize())
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// True if git would give the bytes this name: SHA-1 or SHA-256 of them behind their length.
pub(super) fn is_named(bytes: &[u8], name: &str) -> bool {
    let head = format!("blob {}\0", bytes.len());
    let found = match name.len() {
        40 => self::name(bytes),
        _ => hex(&sha2::Sha256::new().chain_update(head).chain_update(bytes).finalize()),
    };
    found == name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_git() {
        assert!(is_named(b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"));
        assert!(!is_named(b"hello", "ce013625030ba8dba906f756967f9e9ca394464a"));
        assert!(is_named(b"", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"));
    }

    #[test]
    fn only_whole_names_of_deletions_are_taken() {
        let (old, zeros) = ("ce013625030ba8dba906f756967f9e9ca394464a", "0".repeat(40));
        assert_eq!(deleted(format!("{old}..{zeros} 100644\n").as_bytes()).as_deref(), Some(old));
        assert_eq!(deleted(format!("{old}..{old}\n").as_bytes()), None);
        assert_eq!(deleted(b"ce01362..0000000\n"), None);
    }
}
