//! The standard variables of OpenTelemetry, as far as they concern traces.

use std::collections::BTreeMap;

use base::error::{Code, Error};

/// The time limit of a request, in milliseconds.
const TIMEOUT_MS: u64 = 10_000;

/// The resource by which backends tell services apart.
const SERVICE: &str = "service.name";

/// The destination of spans.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout_ms: u64,
    /// The sender of the spans.
    pub(super) resource: BTreeMap<String, String>,
    /// The span of another program that the command belongs to.
    pub(super) parent: Option<Parent>,
}

/// A span of another program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace: String,
    pub(super) span: String,
}

impl Settings {
    /// The settings by these variables; none if no spans are to be sent. Empty ones count as unset.
    pub(super) fn of(environment: &BTreeMap<String, String>) -> Result<Option<Self>, Error> {
        let value = |name: &str| environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let of_traces = |rest: &str| {
            value(&format!("OTEL_EXPORTER_OTLP_TRACES_{rest}")).or_else(|| value(&format!("OTEL_EXPORTER_OTLP_{rest}")))
        };
        let is_off = value("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || value("OTEL_TRACES_EXPORTER").is_some_and(|value| value.eq_ignore_ascii_case("none"));
        let url = value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(str::to_owned).or_else(|| {
            value("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| format!("{}/v1/traces", base.trim_end_matches('/')))
        });
        let Some(url) = url.filter(|_| !is_off) else { return Ok(None) };
        if let Some(protocol) = of_traces("PROTOCOL").filter(|protocol| !protocol.starts_with("http/")) {
            let message = format!("spans can't be sent by `{}`", protocol.escape_debug());
            return Err(Error::new(Code::Usage, message).hint(
                "set `OTEL_EXPORTER_OTLP_PROTOCOL=http/json`, and the endpoint to the port for HTTP, mostly 4318",
            ));
        }
        let parent = match value("TRACEPARENT").and_then(parent) {
            // Whoever began the trace does not keep it.
            Some((_, false)) => return Ok(None),
            Some((parent, true)) => Some(parent),
            None => None,
        };
        let mut resource: BTreeMap<String, String> = [
            (SERVICE.to_owned(), "nrv".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ]
        .into();
        resource.extend(value("OTEL_RESOURCE_ATTRIBUTES").map(pairs).unwrap_or_default());
        resource.extend(value("OTEL_SERVICE_NAME").map(|name| (SERVICE.to_owned(), name.to_owned())));
        Ok(Some(Settings {
            url,
            headers: of_traces("HEADERS").map(pairs).unwrap_or_default(),
            timeout_ms: of_traces("TIMEOUT").and_then(|value| value.parse().ok()).unwrap_or(TIMEOUT_MS),
            resource,
            parent,
        }))
    }
}

/// The pairs of a list `key=value,key=value`, whose values are encoded as those of URLs.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        Some((decoded(key.trim()), decoded(value.trim()))).filter(|(key, _)| !key.is_empty())
    };
    text.split(',').filter_map(pair).collect()
}

/// A text with the bytes that `%` and two digits stand for; what is no such form stays.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(encoded) => {
                plain.push(encoded);
                at += 3;
            }
            None => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// The span that a `traceparent` names, and true if its trace is kept; none for other text.
fn parent(text: &str) -> Option<(Parent, bool)> {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, span, flags, ..] = parts[..] else { return None };
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
    };
    let is_id = |text: &str, length: usize| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
    if !is_hex(version, 2) || version == "ff" || !is_id(trace, 32) || !is_id(span, 16) || !is_hex(flags, 2) {
        return None;
    }
    let is_kept = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
    Some((Parent { trace: trace.to_owned(), span: span.to_owned() }, is_kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Option<Settings> {
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::of(&environment).unwrap()
    }

    #[track_caller]
    fn url(variables: &[(&str, &str)], expected: Option<&str>) {
        assert_eq!(settings(variables).map(|settings| settings.url).as_deref(), expected, "{variables:?}");
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/");

    #[test]
    fn the_variables_say_where_spans_go() {
        url(&[], None);
        url(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], None);
        url(&[BASE], Some("http://localhost:4318/v1/traces"));
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://example.org/in");
        url(&[BASE, own], Some("https://example.org/in"));
        url(&[BASE, ("OTEL_SDK_DISABLED", "TRUE")], None);
        url(&[BASE, ("OTEL_SDK_DISABLED", "false")], Some("http://localhost:4318/v1/traces"));
        url(&[BASE, ("OTEL_TRACES_EXPORTER", "none")], None);
        url(&[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")], Some("http://localhost:4318/v1/traces"));
    }

    #[test]
    fn a_protocol_that_is_not_spoken_is_an_error() {
        let environment = [BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let error = Settings::of(&environment).unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::Usage, "spans can't be sent by `grpc`"));
    }

    #[test]
    fn headers_and_resources_are_decoded() {
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20a%3Db, x=1%,=2,odd");
        let resources = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=docs");
        let named = settings(&[BASE, headers, resources]).unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(named.headers, [pair("authorization", "Basic a=b"), pair("x", "1%")]);
        assert_eq!(named.resource["service.name"], "other");
        assert_eq!(named.resource["team"], "docs");
        let named = settings(&[BASE, resources, ("OTEL_SERVICE_NAME", "own")]).unwrap();
        assert_eq!(named.resource["service.name"], "own");
    }

    #[test]
    fn a_trace_of_another_program_goes_on() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let with = |text: &str| settings(&[BASE, ("TRACEPARENT", text)]);
        let parent = with(&format!("00-{trace}-{span}-01")).unwrap().parent;
        assert_eq!(parent, Some(Parent { trace: trace.to_owned(), span: span.to_owned() }));
        assert_eq!(with(&format!("00-{trace}-{span}-00")), None);
        for odd in ["", "00", &format!("00-{}-{span}-01", "0".repeat(32)), &format!("00-{trace}-x-01")] {
            assert_eq!(with(odd).unwrap().parent, None, "{odd}");
        }
    }
}
