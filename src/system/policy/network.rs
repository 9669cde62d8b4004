//! The network: which hosts may be reached, and how many new links an adapter may try.

use serde_json::Value;
use url::Url;

use super::{Permissions, Policy, Refusal};
use base::error::Code;

/// The key of the hosts.
const HOSTS: &str = "net.hosts";

/// The rule of a header.
const HEADER: &str = "header.permissions.network";

impl Policy {
    /// How many new links an adapter is to try over the network: `http_samples` of its params, else of its settings.
    ///
    /// More than its settings permit is refused, and any number if no host may be reached.
    pub fn samples(&self, adapter: &str, params: &Value) -> Result<u64, Refusal> {
        if let [one, others @ ..] = self.parts.as_slice() {
            let first = one.samples(adapter, params)?;
            return others.iter().try_fold(first, |least, part| part.samples(adapter, params).map(|n| n.min(least)));
        }
        let most = self.adapter(adapter).http_samples;
        let asked = match params.get("http_samples") {
            None => most,
            Some(value) => value.as_u64().ok_or_else(|| Refusal {
                code: Code::InvalidInput,
                rule: "params.http_samples".to_owned(),
                reason: "`http_samples` of the params is no whole number".to_owned(),
                remediation: "give a number of links, 0 for none".to_owned(),
            })?,
        };
        if asked > most {
            let key = format!("adapters.{adapter}.http_samples");
            let origin = self.origin(&key);
            let reason =
                format!("`{adapter}` may not try {asked} links over the network: `{key}` is {most} ({origin})");
            let remediation =
                format!("ask for fewer, or set `http_samples` in `[adapters.{adapter}]` of `{}`", self.file);
            return Err(Refusal { code: Code::PermissionDenied, rule: key, reason, remediation });
        }
        let closed = match () {
            () if asked == 0 => None,
            () if self.settings.net.hosts.is_empty() => {
                let why = format!("`{HOSTS}` names no host ({})", self.origin(HOSTS));
                Some((HOSTS, why, format!("name the new hosts in `hosts` of `[net]` in `{}`", self.file)))
            }
            () if self.ceilings.iter().any(|header| header.network.is_empty()) => {
                let why = "the script's header permits no host".to_owned();
                let how = "name the new hosts in `permissions: #{ network: [\"…\"] }` of the script's `WORKFLOW`";
                Some((HEADER, why, how.to_owned()))
            }
            () => None,
        };
        match closed {
            None => Ok(asked),
            Some((rule, why, how)) => Err(Refusal {
                code: Code::PermissionDenied,
                rule: rule.to_owned(),
                reason: format!("`{adapter}` may not try links over the network: {why}"),
                remediation: format!("{how}, or set `http_samples` to 0 in the params"),
            }),
        }
    }

    /// The first rule that forbids to reach a URL: `net.hosts`, or a script's header.
    pub fn reach_refusal(&self, url: &Url) -> Option<Refusal> {
        if !self.parts.is_empty() {
            return self.parts.iter().find_map(|part| part.reach_refusal(url));
        }
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        if !self.net.covers(url) {
            let (key, origin) = (HOSTS, self.origin(HOSTS));
            return Some(Refusal {
                code: Code::PermissionDenied,
                rule: key.to_owned(),
                reason: format!("`{host}` may not be reached: no entry of `{key}` covers it ({origin})"),
                remediation: format!("add `{host}` to `hosts` of `[net]` in `{}`, if runs may reach it", self.file),
            });
        }
        let permits = |header: &Permissions| header.net.covers(url);
        (!self.ceilings.iter().all(permits)).then(|| Refusal {
            code: Code::PermissionDenied,
            rule: HEADER.to_owned(),
            reason: format!(
                "`{host}` may not be reached by the script's header: no entry of its `permissions.network` covers it"
            ),
            remediation: format!("add `{host}` to `permissions.network` of the script's `WORKFLOW`"),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Ceiling, FILE};
    use super::*;

    fn policy(text: &str) -> Policy {
        Policy::parse(text, FILE).unwrap()
    }

    fn with_header(policy: &Policy, hosts: &[&str]) -> Policy {
        let network = hosts.iter().map(|host| (*host).to_owned()).collect();
        policy.tightened(&Ceiling { network, ..Ceiling::default() }).unwrap()
    }

    const OPEN: &str = "[net]\nhosts = ['example.com']\n[adapters.a]\nhttp_samples = 5";

    #[track_caller]
    fn samples(policy: &Policy, params: Value, expected: Result<u64, (Code, &str)>) {
        let found = policy.samples("a", &params);
        let found = found.as_ref().map_err(|refusal| (refusal.code, refusal.rule.as_str()));
        assert_eq!(found.copied(), expected);
    }

    #[test]
    fn an_adapter_tries_what_is_asked_up_to_what_the_policy_permits() {
        let open = policy(OPEN);
        for (params, expected) in [(json!({}), 5), (json!({"http_samples": 2}), 2), (json!({"http_samples": 0}), 0)] {
            samples(&open, params, Ok(expected));
        }
        samples(&open, json!({"http_samples": 6}), Err((Code::PermissionDenied, "adapters.a.http_samples")));
        samples(&open, json!({"http_samples": "2"}), Err((Code::InvalidInput, "params.http_samples")));
        samples(&Policy::default(), json!({}), Ok(0));
        samples(
            &Policy::default(),
            json!({"http_samples": 1}),
            Err((Code::PermissionDenied, "adapters.a.http_samples")),
        );
        let refusal = open.samples("a", &json!({"http_samples": 6})).unwrap_err();
        assert!(refusal.reason.contains("is 5 (line 4 of `nrv.toml`)"), "{}", refusal.reason);
    }

    #[test]
    fn nothing_is_tried_if_no_host_may_be_reached() {
        let closed = policy("[adapters.a]\nhttp_samples = 5");
        samples(&closed, json!({}), Err((Code::PermissionDenied, "net.hosts")));
        samples(&closed, json!({"http_samples": 0}), Ok(0));
        samples(
            &with_header(&policy(OPEN), &[]),
            json!({}),
            Err((Code::PermissionDenied, "header.permissions.network")),
        );
        samples(&with_header(&policy(OPEN), &["b.org"]), json!({}), Ok(5));
    }

    #[test]
    fn both_policy_and_header_name_a_host_that_is_reached() {
        let open = policy("[net]\nhosts = ['*.example.com']");
        let rule =
            |policy: &Policy, url: &str| policy.reach_refusal(&Url::parse(url).unwrap()).map(|refusal| refusal.rule);
        assert_eq!(rule(&open, "https://a.example.com/x"), None);
        assert_eq!(rule(&open, "https://example.com/x").as_deref(), Some(HOSTS));
        assert_eq!(rule(&Policy::default(), "https://a.example.com").as_deref(), Some(HOSTS));
        let script = with_header(&open, &["a.example.com", "b.org"]);
        assert_eq!(rule(&script, "https://a.example.com"), None);
        assert_eq!(rule(&script, "https://b.example.com").as_deref(), Some(HEADER));
        assert_eq!(rule(&script, "https://b.org").as_deref(), Some(HOSTS));
        assert_ne!(script.sha256(), with_header(&open, &["b.org"]).sha256());
    }
}
