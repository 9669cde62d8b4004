//! The places of findings, and their permissions.

use super::{ALLOW, Found, find::Span};
use base::hash::Sha256;

/// The findings for ranges, which are sorted.
pub(super) fn found(text: &[u8], spans: &[Span<'_>]) -> Vec<Found> {
    let mut findings = Vec::with_capacity(spans.len());
    let (mut line, mut line_start, mut seen) = (1u32, 0, 0);
    for span in spans {
        for feed in memchr::memchr_iter(b'\n', &text[seen..span.start]) {
            line += 1;
            line_start = seen + feed + 1;
        }
        seen = span.start;
        findings.push(Found {
            rule: span.rule.to_owned(),
            start: span.start,
            end: span.end,
            line,
            column: u32::try_from(span.start - line_start).unwrap_or(u32::MAX).saturating_add(1),
            sha256_prefix: prefix(&text[span.start..span.end]),
            allowed_by: allowed(text, line_start, span),
        });
    }
    findings
}

/// The first eight hex digits of a secret's hash.
pub(super) fn prefix(secret: &[u8]) -> String {
    Sha256::of(secret).to_string()[..8].to_owned()
}

/// The inline permission of the line in which a finding begins, if it names the rule.
fn allowed(text: &[u8], line_start: usize, span: &Span<'_>) -> Option<String> {
    // A line may be long: the permission of a finding stands near it.
    let before = &text[line_start.max(span.start.saturating_sub(1024))..span.start];
    let after = &text[span.end..(span.end + 1024).min(text.len())];
    let after = &after[..memchr::memchr(b'\n', after).unwrap_or(after.len())];
    let permits = |part: &[u8]| {
        memchr::memmem::find_iter(part, ALLOW).any(|at| {
            let rest = part[at + ALLOW.len()..].trim_ascii_start();
            let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-').unwrap_or(rest.len());
            &rest[..end] == span.rule.as_bytes()
        })
    };
    (permits(before) || permits(after)).then(|| format!("{ALLOW} {}", span.rule))
}
