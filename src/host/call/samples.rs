//! Samples of new links, tried over HTTP once the verifier passed: a move to a host that does not have the pages is undone.
//!
//! The verifier says which links are new, the seed chooses among them, and the policy says how many and on which hosts.

use std::sync::atomic::AtomicBool;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    Context,
    change::{pipeline::Pipeline, stored_proposal::StoredProposal},
    context::check_stop,
};
use adapter::contract::{Failure, Invocation, Verdict};
use base::{error::Error, seed};
use record::FileRef;
use system::{
    net::{self, Outcome},
    policy::Policy,
    workspace::parallel_map,
};

/// No link of the sample is missing on its new host.
const NO_404S_SAMPLED: &str = "no_404s_sampled";

/// The artefact: what was tried and what came of it. It holds no time.
#[derive(Serialize)]
struct Samples<'a> {
    tool: &'a str,
    samples: &'a [Outcome],
}

/// Writes into an input how many links are to be tried, where the adapter knows that parameter and the input is silent.
pub(crate) fn fill_in(schema: &str, input: &mut Map<String, Value>, samples: u64) {
    let known = || {
        let schema = serde_json::from_str::<Value>(schema).unwrap_or_default();
        schema.pointer("/properties/http_samples").is_some()
    };
    if let Some(Value::Object(params)) = input.get_mut("params")
        && samples > 0
        && known()
    {
        params.entry("http_samples").or_insert_with(|| json!(samples));
    }
}

/// Tries a sample of the new links and adds what it found to the verdict; the artefact, if there was anything to try.
pub(crate) fn try_samples(
    pipeline: &Pipeline<'_, '_>,
    stored: &StoredProposal,
    offered: Vec<String>,
    verdict: &mut Verdict,
) -> Result<Option<FileRef>, Error> {
    let Pipeline { run, recorder, position, .. } = pipeline;
    let input = &stored.invocation;
    let urls = chosen(&run.policy, input, offered)?;
    if urls.is_empty() || !verdict.passed {
        return Ok(None);
    }
    let limit = Limit { timeout_ms: input.constraints.timeout_ms, stop: run.deadline.stop() };
    let samples = ask(run.context, &run.policy, limit, &urls)?;
    judge(&samples, verdict);
    let tool = &input.tool;
    recorder.write_artifact(position, tool, "samples", &Samples { tool, samples: &samples }).map(Some)
}

/// Tries the samples of a finished run again, as far as the policy permits it now.
pub(crate) fn try_again(
    context: &Context,
    input: &Invocation,
    offered: Vec<String>,
    verdict: &mut Verdict,
) -> Result<(), Error> {
    let policy = &context.policy;
    let mut urls = chosen(policy, input, offered).unwrap_or_default();
    urls.retain(|url| url::Url::parse(url).is_ok_and(|url| policy.reach_refusal(&url).is_none()));
    if !urls.is_empty() && verdict.passed {
        let limit = Limit { timeout_ms: policy.adapter(&input.tool).timeout_ms, stop: &context.options.cancel };
        judge(&ask(context, policy, limit, &urls)?, verdict);
    }
    Ok(())
}

/// The sample: as many as are asked for and permitted.
fn chosen(policy: &Policy, input: &Invocation, offered: Vec<String>) -> Result<Vec<String>, Error> {
    let samples = policy.samples(&input.tool, &input.params)?;
    Ok(seed::choose(input.constraints.seed, "http_samples", offered, samples))
}

/// The limits for trying samples.
struct Limit<'a> {
    timeout_ms: u64,
    stop: &'a AtomicBool,
}

fn ask(context: &Context, policy: &Policy, limit: Limit<'_>, urls: &[String]) -> Result<Vec<Outcome>, Error> {
    let Limit { timeout_ms, stop } = limit;
    let refusal = |url: &url::Url| policy.reach_refusal(url).map(|refusal| refusal.reason);
    // Whoever cancels is heard before the next request, not when the deadline's thread has passed it on.
    let cancelled = || context.check_cancelled().is_err() || check_stop(stop).is_err();
    let client = net::Client::new(net::Options { refusal: &refusal, timeout_ms, cancelled: &cancelled });
    let outcomes = parallel_map(context.options.threads, urls, |url| client.ask(url));
    check_stop(stop)?;
    Ok(outcomes)
}

/// Adds what came of the samples to the verdict.
fn judge(samples: &[Outcome], verdict: &mut Verdict) {
    verdict.checks.push(NO_404S_SAMPLED.to_owned());
    verdict.sample_size = samples.iter().filter(|sample| sample.was_tried()).count() as u64;
    let faults = samples.iter().filter_map(|sample| Some((&sample.url, sample.fault()?)));
    verdict.failures.extend(faults.map(|(url, fault)| Failure::new(NO_404S_SAMPLED, format!("`{url}` {fault}"))));
    verdict.passed = verdict.failures.is_empty();
    let mut redirects = samples.iter().filter_map(|sample| Some((&sample.url, sample.redirect()?)));
    if let Some((from, to)) = redirects.next() {
        let (n, all) = (1 + redirects.count(), verdict.sample_size);
        verdict.remarks.push(format!("{n} of {all} samples redirect, such as {from} to {to}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: Value, params: Value, samples: u64, expected: Value) {
        let Value::Object(mut input) = json!({"params": params}) else { unreachable!("it is a map") };
        fill_in(&schema.to_string(), &mut input, samples);
        assert_eq!(input["params"], expected);
    }

    /// However many an adapter offers.
    #[test]
    fn no_more_are_chosen_than_the_policy_gives() {
        let policy = "[net]\nhosts = ['a.com']\n[adapters.x]\nhttp_samples = 3";
        let policy = Policy::parse(policy, system::policy::FILE).unwrap();
        let input = |params: Value| {
            let value = json!({
                "tool": "x", "version": "1", "mode": "apply", "target": {"repo_path": ".", "glob": "*"},
                "params": params, "constraints": {"max_files": 1, "timeout_ms": 1, "seed": 1},
            });
            serde_json::from_value::<Invocation>(value).unwrap()
        };
        let offered = || (0..20).map(|n| format!("http://a.com/{n}")).collect();
        let n = |policy: &Policy, params: Value| chosen(policy, &input(params), offered()).map(|urls| urls.len());
        assert_eq!((n(&policy, json!({})), n(&policy, json!({"http_samples": 2}))), (Ok(3), Ok(2)));
        assert_eq!(n(&Policy::default(), json!({})), Ok(0));
        assert!(n(&policy, json!({"http_samples": 4})).is_err());
    }

    #[test]
    fn an_input_that_is_silent_asks_for_what_the_policy_says() {
        let knows = || json!({"properties": {"http_samples": {}}});
        check(knows(), json!({"a": 1}), 7, json!({"a": 1, "http_samples": 7}));
        check(knows(), json!({"http_samples": 0}), 7, json!({"http_samples": 0}));
        check(knows(), json!({}), 0, json!({}));
        check(json!({}), json!({}), 7, json!({}));
        check(knows(), json!("x"), 7, json!("x"));
    }
}
