//! Why a path may not be written or read, or a call not be made, with the rule that says so and where it stands.

use super::{
    Permissions, Policy,
    glob::{Lack, PathSet},
};
use base::{
    call::tool_of_call,
    error::{Code, Error},
    path::{RepoPath, earlier, protected},
};

/// The verb for a write, which alone a policy can permit for a protected path.
const WRITTEN: &str = "written";

/// The key of the protected files that runs may write.
pub(super) const PERMITTED: &str = "paths.allow_protected";

/// A rule's no to a path, a call or a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `protected_path` or `permission_denied`.
    pub code: Code,
    /// The rule: `protected`, a key of the policy such as `paths.deny`, or `header.permissions.write`.
    pub rule: String,
    /// A sentence without final period.
    pub reason: String,
    /// Advice on what to do next.
    pub remediation: String,
}

impl Refusal {
    /// The refusal as an error about a path.
    pub fn into_error(self, path: &RepoPath) -> Error {
        Error::from(self).detail("path", path.as_str())
    }

    fn protected(path: &RepoPath, verb: &str, why: &str) -> Self {
        let is_lasting = verb != WRITTEN || protected::lasting_refusal(path).is_some();
        let (never, remediation) = match is_lasting {
            true => ("never ", "leave it out; no policy can permit it".to_owned()),
            false => {
                ("not ", format!("leave it out, or add \"{}\" to `{PERMITTED}` of `nrv.toml`", path.escape_debug()))
            }
        };
        Refusal {
            code: Code::ProtectedPath,
            rule: "protected".to_owned(),
            reason: format!("`{path}` is protected and {never}{verb} by a run: {why}"),
            remediation,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::new(refusal.code, refusal.reason).detail("rule", refusal.rule).hint(refusal.remediation)
    }
}

impl Policy {
    /// Checks that a run may write a path: not protected, not denied, in `paths.write`, in the header's ceiling.
    pub fn may_write(&self, path: &RepoPath) -> Result<(), Error> {
        self.write_refusal(path).map_or(Ok(()), |refusal| Err(refusal.into_error(path)))
    }

    /// Checks that a script may read a path: not protected, not in `paths.read_deny`.
    pub fn may_read(&self, path: &RepoPath) -> Result<(), Error> {
        self.read_refusal(path).map_or(Ok(()), |refusal| Err(refusal.into_error(path)))
    }

    /// The first rule that forbids to write a path.
    pub fn write_refusal(&self, path: &RepoPath) -> Option<Refusal> {
        if !self.parts.is_empty() {
            return self.parts.iter().find_map(|part| part.write_refusal(path));
        }
        if let Some(refusal) = self.protected(path) {
            return Some(refusal);
        }
        if let Some(glob) = self.deny.covering(path) {
            return Some(self.denied(path, "written", "paths.deny", glob));
        }
        if let Some(lack) = self.write.lacks(path) {
            return Some(self.lacking(path, "paths.write", lack));
        }
        self.ceilings.iter().find_map(|Permissions { write: globs, set, .. }| {
            let why = match set.lacks(path)? {
                Lack::Excluded(glob) => format!("`{glob}` of its `permissions.write` excludes it"),
                Lack::NotIncluded if globs.is_empty() => "without `permissions.write` a script only reads".to_owned(),
                Lack::NotIncluded => "no glob of its `permissions.write` covers it".to_owned(),
            };
            Some(Refusal {
                code: Code::PermissionDenied,
                rule: "header.permissions.write".to_owned(),
                reason: format!("`{path}` may not be written by the script's header: {why}"),
                remediation: "permit it in `permissions.write` of the script's `WORKFLOW`".to_owned(),
            })
        })
    }

    /// The refusal of a protected name, by the names that hold for this policy.
    fn protected(&self, path: &RepoPath) -> Option<Refusal> {
        if !self.earlier_names {
            let why = protected::write_refusal_unless(path, &self.settings.paths.allow_protected)?;
            return Some(Refusal::protected(path, WRITTEN, why));
        }
        let why = earlier::write_refusal(path)?;
        let reason = format!("`{path}` is protected and never {WRITTEN} by a run: {why}");
        Some(Refusal { reason, ..Refusal::protected(path, WRITTEN, why) })
    }

    /// The first rule that forbids a script to read a path.
    pub fn read_refusal(&self, path: &RepoPath) -> Option<Refusal> {
        if !self.parts.is_empty() {
            return self.parts.iter().find_map(|part| part.read_refusal(path));
        }
        if let Some(why) = protected::read_refusal(path) {
            return Some(Refusal::protected(path, "read", why));
        }
        self.read_deny.covering(path).map(|glob| self.denied(path, "read", "paths.read_deny", glob))
    }

    /// Why an adapter may not write a path that the policy would allow; see `[adapters.NAME] paths`.
    pub fn adapter_refusal(&self, adapter: &str, path: &RepoPath) -> Option<Refusal> {
        if !self.parts.is_empty() {
            return self.parts.iter().find_map(|part| part.adapter_refusal(adapter, path));
        }
        let set: &PathSet = self.adapters.get(adapter)?;
        set.lacks(path).map(|lack| self.lacking(path, &format!("adapters.{adapter}.paths"), lack))
    }

    /// The first rule that forbids a call that the program adds.
    ///
    /// The policy approves of it; a script's header has to permit it as well, if the call `needs_permission`.
    pub fn call_refusal(&self, name: &str, needs_permission: bool) -> Option<Refusal> {
        if !self.parts.is_empty() {
            return self.parts.iter().find_map(|part| part.call_refusal(name, needs_permission));
        }
        let key = "calls.approved";
        // Of the tools of servers the policy lists those that may be used.
        let approved = self.settings.calls.approved.as_ref().filter(|_| tool_of_call(name).is_none());
        if approved.is_some_and(|list| !list.iter().any(|known| known == name)) {
            return Some(Refusal {
                code: Code::NotApproved,
                rule: key.to_owned(),
                reason: format!("the call `{name}` is not approved by `{key}` ({})", self.origin(key)),
                remediation: format!("add `{name}` to `{key}`, if runs may make it"),
            });
        }
        let permits = |header: &Permissions| header.calls.iter().any(|known| known == name);
        let lacks = needs_permission && !self.ceilings.iter().all(permits);
        lacks.then(|| Refusal {
            code: Code::PermissionDenied,
            rule: "header.permissions.calls".to_owned(),
            reason: format!("the call `{name}` is not permitted by the script's header"),
            remediation: format!("add `permissions: #{{ calls: [\"{name}\"] }}` to the script's `WORKFLOW`"),
        })
    }

    fn denied(&self, path: &RepoPath, verb: &str, key: &str, glob: &str) -> Refusal {
        Refusal {
            code: Code::PermissionDenied,
            rule: key.to_owned(),
            reason: format!("`{path}` may not be {verb}: `{glob}` of `{key}` covers it ({})", self.origin(key)),
            remediation: format!("leave it out, or change `{key}` in `{}`", self.file),
        }
    }

    fn lacking(&self, path: &RepoPath, key: &str, lack: Lack<'_>) -> Refusal {
        let why = match lack {
            Lack::Excluded(glob) => format!("`{glob}` of `{key}` excludes it"),
            Lack::NotIncluded => format!("no glob of `{key}` covers it"),
        };
        Refusal {
            code: Code::PermissionDenied,
            rule: key.to_owned(),
            reason: format!("`{path}` may not be written: {why} ({})", self.origin(key)),
            remediation: format!("leave it out, or change `{key}` in `{}`", self.file),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ceiling, FILE};
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).unwrap()
    }

    #[track_caller]
    fn write(policy: &Policy, text: &str, rule: Option<&str>) {
        assert_eq!(policy.write_refusal(&path(text)).map(|refusal| refusal.rule).as_deref(), rule, "{text}");
        assert_eq!(policy.may_write(&path(text)).is_ok(), rule.is_none());
    }

    #[test]
    fn by_default_everything_but_protected_paths_may_be_written() {
        let policy = Policy::default();
        write(&policy, "a/b.html", None);
        write(&policy, ".env", None);
        for protected in [".git/hooks/pre-commit", "a/.GIT/x", "nrv.toml", ".runs/x", ".bashrc"] {
            write(&policy, protected, Some("protected"));
        }
        let error = policy.may_write(&path("nrv.lock")).unwrap_err();
        assert_eq!(error.code(), Code::ProtectedPath);
        assert!(error.hint_text().is_some());
    }

    #[test]
    fn no_policy_permits_a_protected_path() {
        let policy = Policy::parse("[paths]\nwrite = ['**', '.git/**']\nread_deny = []", FILE).unwrap();
        write(&policy, ".git/config", Some("protected"));
        assert_eq!(policy.may_read(&path(".git/config")).unwrap_err().code(), Code::ProtectedPath);
    }

    #[test]
    fn a_policy_permits_protected_files_by_their_exact_path() {
        let policy = Policy::parse("[paths]\nallow_protected = ['.envrc', './a/.vscode/x.json']", FILE).unwrap();
        write(&policy, ".envrc", None);
        write(&policy, "a/.vscode/x.json", None);
        write(&policy, "a/.envrc", Some("protected"));
        write(&policy, ".vscode/x.json", Some("protected"));
        let both = Policy::strictest(&policy, &Policy::default()).unwrap();
        write(&both, ".envrc", Some("protected"));
        assert_eq!(both.settings().paths.allow_protected, Vec::<String>::new());
        let narrow = Policy::parse("[paths]\nallow_protected = ['.envrc']\ndeny = ['.envrc']", FILE).unwrap();
        write(&narrow, ".envrc", Some("paths.deny"));
        let refusal = Policy::default().write_refusal(&path(".envrc")).unwrap();
        assert_eq!(refusal.remediation, "leave it out, or add \".envrc\" to `paths.allow_protected` of `nrv.toml`");
    }

    #[test]
    fn what_runs_are_judged_by_can_not_be_permitted() {
        for bad in
            [".git/config", "a/.GIT/x", ".runs/x", "nrv.toml", "nrv.lock", ".nrv/allowed_signers", ".git /x", "git~1/x"]
        {
            let error = Policy::parse(&format!("paths.allow_protected = [\"{bad}\"]"), FILE).unwrap_err();
            assert_eq!((error.code(), &error.details()["line"]), (Code::InvalidPolicy, &1.into()), "{bad}: {error}");
        }
        for bad in ["../x", "/x", "*.code-workspace", ".vscode/**", "!a", ""] {
            Policy::parse(&format!("paths.allow_protected = [\"{bad}\"]"), FILE).unwrap_err();
        }
    }

    #[test]
    fn secrets_are_not_read_unless_the_policy_says_so() {
        let policy = Policy::default();
        for secret in [".env", "a/.env.local", "k/server.pem", "server.key", ".ssh/id_rsa"] {
            assert_eq!(policy.may_read(&path(secret)).unwrap_err().code(), Code::PermissionDenied, "{secret}");
        }
        for open in ["nrv.toml", "a.html", "env", "idea.txt"] {
            policy.may_read(&path(open)).unwrap();
        }
        let open = Policy::parse("[paths]\nread_deny = ['**/*.pem']", FILE).unwrap();
        open.may_read(&path(".env")).unwrap();
    }

    #[test]
    fn deny_wins_over_write_and_the_message_names_the_line() {
        let policy = Policy::parse("[paths]\nwrite = ['site/**', '!site/x.html']\ndeny = ['old']", FILE).unwrap();
        write(&policy, "site/a.html", None);
        write(&policy, "site/x.html", Some("paths.write"));
        write(&policy, "b.html", Some("paths.write"));
        write(&policy, "site/old/a.html", Some("paths.deny"));
        let error = policy.may_write(&path("site/old/a.html")).unwrap_err();
        assert_eq!(
            error.message(),
            "`site/old/a.html` may not be written: `old` of `paths.deny` covers it (line 3 of `nrv.toml`)"
        );
        assert_eq!(error.details()["rule"], "paths.deny");
    }

    #[test]
    fn both_policy_and_header_must_allow() {
        let policy = Policy::parse("[paths]\nwrite = ['site/**']", FILE).unwrap();
        let ceiling = Ceiling { write: vec!["**/*.html".to_owned()], ..Ceiling::default() };
        let policy = policy.tightened(&ceiling).unwrap();
        write(&policy, "site/a.html", None);
        write(&policy, "b.html", Some("paths.write"));
        write(&policy, "site/a.css", Some("header.permissions.write"));
        let reader = Policy::default().tightened(&Ceiling::default()).unwrap();
        write(&reader, "a", Some("header.permissions.write"));
    }

    #[test]
    fn a_call_is_approved_by_the_policy_and_permitted_by_the_header() {
        let create = "tickets.create";
        let rule = |policy: &Policy, needed| policy.call_refusal(create, needed).map(|refusal| refusal.rule);
        let header = |policy: &Policy, calls: &[&str]| {
            let calls = calls.iter().map(|name| (*name).to_owned()).collect();
            policy.tightened(&Ceiling { calls, ..Ceiling::default() }).unwrap()
        };
        let policy = Policy::default();
        assert_eq!(rule(&policy, true), None);
        assert_eq!(rule(&header(&policy, &[create]), true), None);
        assert_eq!(rule(&header(&policy, &["tickets"]), true).as_deref(), Some("header.permissions.calls"));
        assert_eq!(rule(&header(&policy, &[]), false), None);
        assert_ne!(header(&policy, &[create]).sha256(), header(&policy, &[]).sha256());
        let strict = Policy::parse("[calls]\napproved = ['tickets.list']", FILE).unwrap();
        let refusal = header(&strict, &[create]).call_refusal(create, false).unwrap();
        assert_eq!((refusal.code, refusal.rule.as_str()), (Code::NotApproved, "calls.approved"));
        assert!(refusal.reason.contains("line 2"), "{}", refusal.reason);
    }

    #[test]
    fn an_adapter_has_paths_of_its_own() {
        let policy = Policy::parse("[adapters.a]\npaths = ['docs/**']", FILE).unwrap();
        assert_eq!(policy.adapter_refusal("a", &path("docs/x")), None);
        assert_eq!(policy.adapter_refusal("b", &path("x")), None);
        let refusal = policy.adapter_refusal("a", &path("x")).unwrap();
        assert_eq!(refusal.rule, "adapters.a.paths");
        assert!(refusal.reason.contains("line 2"), "{}", refusal.reason);
    }
}
