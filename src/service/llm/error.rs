//! Failures of models, as errors: a kind, retriability, and the time to wait.
//!
//! Errors quote servers, but never at length, and never a key: the holder of the key removes it.

use std::collections::BTreeMap;

use serde_json::Value;

pub use base::error::model::{Kind, kind};
use base::error::{Code, Error, model::of_kind};
pub(crate) use base::{
    error::model::{lasting, passing},
    text::quoted,
};
use system::{clock, net::Failure};

/// True if a retry may help.
pub(super) fn is_retriable(error: &Error) -> bool {
    error.details().get("retriable") == Some(&Value::Bool(true))
}

/// The pause that the server demands.
pub(super) fn retry_after_ms(error: &Error) -> Option<u64> {
    error.details().get("retry_after_ms")?.as_u64()
}

/// The failure of a model, for adapters of a program's own: `model_unavailable` if it may pass, else `model_failed`.
pub fn failed(kind: Kind, may_pass: bool, message: impl Into<String>) -> Error {
    of_kind(kind, may_pass, message)
}

/// A reply whose end is unknown, since its reader died.
pub fn broken_off() -> Error {
    lasting(Kind::Truncated, "the run died while the model was answering, and the rest of the reply is lost")
        .hint("ask again")
}

/// The request was cancelled.
pub(super) fn cancelled() -> Error {
    Error::new(Code::Cancelled, "the request was cancelled")
}

/// The failure of a connection.
pub(super) fn of_failure(failure: &Failure) -> Error {
    match failure {
        Failure::Cancelled => cancelled(),
        Failure::TimedOut => passing(Kind::Timeout, "the server did not answer in time"),
        Failure::Unreachable(reason) => {
            passing(Kind::Unreachable, format!("the server can't be reached: {}", quoted(reason)))
        }
        Failure::Closed => passing(Kind::Truncated, "the server closed the connection before its reply ended"),
        Failure::Untrusted(reason) => {
            lasting(Kind::Unreachable, format!("no secure connection to the server comes about: {}", quoted(reason)))
                .hint("check `base_url`; `SSL_CERT_FILE` names the certificates of a server that has its own")
        }
        Failure::Garbled => passing(Kind::Server, "what came is no HTTP response"),
        Failure::Unsendable(reason) => {
            Error::new(Code::InvalidInput, format!("the request can't be sent: {}", quoted(reason)))
        }
    }
}

/// The longest pause that a server may plausibly demand: a year.
const LONGEST_WAIT_MS: u64 = 366 * 86_400_000;

/// A server's description of an error, in any of the known forms.
struct Told {
    names: Vec<String>,
    message: String,
    /// The status, which is all that there is inside of a stream.
    status: Option<u16>,
}

impl Told {
    fn of(body: &Value) -> Self {
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let names = [text(error.get("type")), text(error.get("code"))].into_iter().flatten().collect();
        let message = text(Some(error)).or_else(|| text(error.get("message"))).unwrap_or_default();
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        Told { names, message, status: status.filter(|status| (400..600).contains(status)) }
    }

    fn is(&self, names: &[&str]) -> bool {
        self.names.iter().any(|name| names.contains(&name.as_str()))
    }

    /// True if it is about the context: not every server has a name for that.
    fn is_overflow(&self) -> bool {
        let message = self.message.to_lowercase();
        let phrases = ["prompt is too long", "maximum context length", "context window", "context size"];
        self.is(&["exceed_context_size_error", "context_length_exceeded"])
            || phrases.iter().any(|phrase| message.contains(phrase))
    }

    /// True if the server could not read its own model's reply: llama.cpp says so of one that breaks off inside of its form.
    fn is_broken_form(&self) -> bool {
        self.message.contains("output that does not match the expected")
    }
}

/// The error of an answer with a status other than 200.
pub(super) fn of_status(status: u16, headers: &BTreeMap<String, String>, body: &str) -> Error {
    let told = serde_json::from_str(body).map_or_else(
        |_| Told { names: Vec::new(), message: body.to_owned(), status: None },
        |body: Value| Told::of(&body),
    );
    let waits = headers.contains_key("retry-after") || headers.contains_key("retry-after-ms");
    let (kind, retriable) = judged(status, waits, &told);
    let what = match kind {
        Kind::Server if (300..400).contains(&status) => redirect(headers),
        _ if told.message.trim().is_empty() => format!("the server answered with {status}"),
        _ => format!("the server answered with {status}: {}", quoted(&told.message)),
    };
    let error = of_kind(kind, retriable, what).detail("status", status);
    match wait_ms(headers).filter(|_| retriable) {
        Some(ms) => error.detail("retry_after_ms", ms),
        None => error,
    }
}

fn redirect(headers: &BTreeMap<String, String>) -> String {
    let to = headers.get("location").map_or("nowhere", String::as_str);
    format!("the server redirects to `{}`, and redirects are not followed", quoted(to))
}

fn judged(status: u16, waits: bool, told: &Told) -> (Kind, bool) {
    match status {
        401 | 403 => (Kind::Authentication, false),
        // Without a pause it may be a spending limit, and retries would go on for ever.
        429 => (Kind::RateLimit, waits && !told.is(&["insufficient_quota", "billing_error"])),
        408 | 504 => (Kind::Timeout, true),
        503 | 529 => (Kind::Overloaded, true),
        501 | 505 => (Kind::Server, false),
        500.. if told.is_broken_form() => (Kind::MalformedJson, false),
        500.. => (Kind::Server, true),
        400 | 413 | 422 if told.is_overflow() => (Kind::ContextOverflow, false),
        400..500 if told.is(&["content_policy_violation", "content_filter"]) => (Kind::Refusal, false),
        _ => (Kind::Server, false),
    }
}

/// The pause that the headers give in seconds, in milliseconds or as a date, which is measured from the server's own.
fn wait_ms(headers: &BTreeMap<String, String>) -> Option<u64> {
    let number = |name: &str| headers.get(name)?.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    let date = |name: &str| clock::parse_http(headers.get(name)?);
    let ms = number("retry-after-ms").or_else(|| Some(number("retry-after")? * 1000.0));
    // A float is converted to the nearest integer in range.
    let ms = ms.map(|ms| ms.ceil() as u64);
    let ms = ms.or_else(|| Some(date("retry-after")?.saturating_sub(date("date")?)));
    // A longer pause means never, and records hold no such number.
    ms.map(|ms| ms.min(LONGEST_WAIT_MS))
}

/// True if a body reports an error, in any of the known forms.
pub(super) fn is_error(body: &Value) -> bool {
    let has_error = match &body["error"] {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Array(_) | Value::Bool(true) | Value::Number(_) => true,
    };
    has_error || body["object"] == "error" || body["type"] == "error"
}

/// The error that comes as an event in the middle of a reply.
pub(super) fn of_event(event: &Value) -> Error {
    let told = Told::of(event);
    let (kind, retriable) = match () {
        () if told.is(&["overloaded_error"]) => (Kind::Overloaded, true),
        () if told.is(&["rate_limit_error", "rate_limit_exceeded"]) => (Kind::RateLimit, false),
        () if told.is(&["authentication_error", "permission_error", "invalid_api_key"]) => {
            (Kind::Authentication, false)
        }
        () if told.is(&["timeout_error"]) => (Kind::Timeout, true),
        () if told.is_overflow() => (Kind::ContextOverflow, false),
        () if told.is_broken_form() => (Kind::MalformedJson, false),
        () if told.is(&["content_policy_violation", "content_filter"]) => (Kind::Refusal, false),
        () if told.is(&["invalid_request_error", "not_found_error", "not_supported_error"]) => (Kind::Server, false),
        () => told.status.map_or((Kind::Server, true), |status| judged(status, false, &told)),
    };
    of_kind(kind, retriable, format!("the server reported an error: {}", quoted(&told.message)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(status: u16, headers: &[(&str, &str)], body: &Value, expected: (Kind, bool, Option<u64>)) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let error = of_status(status, &headers, &body.to_string());
        assert_eq!(
            (kind(&error), is_retriable(&error), retry_after_ms(&error)),
            (Some(expected.0), expected.1, expected.2)
        );
        let code = if expected.1 { Code::ModelUnavailable } else { Code::ModelFailed };
        assert_eq!((error.code(), error.code().exit_code()), (code, if expected.1 { 75 } else { 1 }));
        assert!(error.hint_text().is_some());
    }

    #[test]
    fn statuses_are_told_apart() {
        let told = |kind: &str, message: &str| json!({"error": {"type": kind, "message": message}});
        let limit = told("rate_limit_error", "Rate limit exceeded.");
        check(429, &[("retry-after", "2")], &limit, (Kind::RateLimit, true, Some(2000)));
        check(429, &[("retry-after-ms", "150")], &limit, (Kind::RateLimit, true, Some(150)));
        let until = ("retry-after", "Sun, 22 Nov 2026 10:00:00 GMT");
        check(429, &[until], &limit, (Kind::RateLimit, true, None));
        check(429, &[until, ("date", "Sun, 22 Nov 2026 09:59:30 GMT")], &limit, (Kind::RateLimit, true, Some(30_000)));
        check(429, &[until, ("date", "Sun, 22 Nov 2026 10:00:01 GMT")], &limit, (Kind::RateLimit, true, Some(0)));
        for never in ["1e300", "inf"] {
            check(429, &[("retry-after", never)], &limit, (Kind::RateLimit, true, Some(LONGEST_WAIT_MS)));
        }
        check(429, &[], &limit, (Kind::RateLimit, false, None));
        let quota = json!({"error": {"code": "insufficient_quota", "message": "no money"}});
        check(429, &[("retry-after", "2")], &quota, (Kind::RateLimit, false, None));
        let broken =
            told("server_error", "The model produced output that does not match the expected peg-native format");
        check(500, &[], &broken, (Kind::MalformedJson, false, None));
        assert_eq!(kind(&of_event(&broken)), Some(Kind::MalformedJson));
        check(529, &[], &told("overloaded_error", "Service overloaded."), (Kind::Overloaded, true, None));
        check(503, &[("retry-after", "0.5")], &json!({}), (Kind::Overloaded, true, Some(500)));
        check(500, &[], &json!({"error": "oh"}), (Kind::Server, true, None));
        check(501, &[], &told("not_supported_error", "no embeddings"), (Kind::Server, false, None));
        check(401, &[], &told("authentication_error", "Unauthorized."), (Kind::Authentication, false, None));
        check(404, &[], &told("not_found_error", "File Not Found"), (Kind::Server, false, None));
        check(307, &[("location", "http://elsewhere/")], &json!({}), (Kind::Server, false, None));
    }

    #[test]
    fn an_error_within_a_stream_is_judged_by_its_code() {
        for (code, expected) in [
            (json!(400), (Kind::Server, false)),
            (json!(401), (Kind::Authentication, false)),
            (json!(429), (Kind::RateLimit, false)),
            (json!(502), (Kind::Server, true)),
            (json!(503), (Kind::Overloaded, true)),
            (json!(7), (Kind::Server, true)),
            (json!("x"), (Kind::Server, true)),
        ] {
            let body = json!({"error": {"code": code, "message": "no"}});
            let error = of_event(&body);
            assert!(is_error(&body));
            assert_eq!((kind(&error), is_retriable(&error)), (Some(expected.0), expected.1), "{code}");
        }
        for none in [json!({"error": null}), json!({"error": ""}), json!({"error": {}}), json!({"choices": []})] {
            assert!(!is_error(&none), "{none}");
        }
    }

    #[test]
    fn an_overflow_is_one_in_every_dialect() {
        for body in [
            json!({"error": {"code": 400, "message": "request (12019 tokens) exceeds", "type": "exceed_context_size_error"}}),
            json!({"error": {"code": "context_length_exceeded", "message": "too long"}}),
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}),
            json!({"error": {"message": "This model's maximum context length is 4096 tokens", "code": 400}}),
        ] {
            check(400, &[], &body, (Kind::ContextOverflow, false, None));
        }
    }

    #[test]
    fn what_a_server_says_is_cut_and_made_safe() {
        let error = of_status(500, &BTreeMap::new(), &format!("\u{1b}[2J{}", "x".repeat(10_000)));
        assert!(error.message().len() < 600 && error.message().contains("\\u{1b}"), "{error}");
    }
}
