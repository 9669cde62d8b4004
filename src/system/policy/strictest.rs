//! The strictest of two policies: what either forbids is forbidden, and of each limit the smaller one counts.
//!
//! Both are kept: gates judge under each, and the stricter verdict counts. Merged settings are only for what the host itself
//! counts and asks for.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    Adapter, Adapters, Budget, Calls, Ci, Confirm, Destructive, DiffSize, Evaluators, Exec, Gates, Llm, LlmPrices,
    LlmProvider, LlmTimeouts, Net, OnFailure, Paths, Policy, Run, Script, SecretRule, Secrets, Settings, Tools,
    key::EVALUATORS, provider::HEURISTIC,
};
use crate::base::{error::Error, frame::Limits, json};

impl Policy {
    /// The policy that permits what both permit, such as the one that a run began under and that of today.
    pub fn strictest(one: &Policy, other: &Policy) -> Result<Policy, Error> {
        if one.sha256 == other.sha256 && one.locked == other.locked {
            return Ok(one.clone());
        }
        let sha256 = json::sha256(&json!({"strictest": [one.sha256, other.sha256]}))?;
        Ok(Policy {
            settings: settings(&one.settings, &other.settings),
            locked: one.locked || other.locked,
            ci: one.ci || other.ci,
            parts: vec![one.clone(), other.clone()],
            sha256,
            ..one.clone()
        })
    }

    /// The policies of which this one is the strictest; none if it is one by itself.
    pub fn parts(&self) -> &[Policy] {
        &self.parts
    }
}

fn settings(one: &Settings, other: &Settings) -> Settings {
    Settings {
        // Paths are asked of both.
        paths: Paths {
            allow_protected: common(&one.paths.allow_protected, &other.paths.allow_protected),
            ..one.paths.clone()
        },
        adapters: adapters(&one.adapters, &other.adapters),
        gates: gates(&one.gates, &other.gates),
        confirm: confirm(&one.confirm, &other.confirm),
        budget: budget(&one.budget, &other.budget),
        evaluators: evaluators(&one.evaluators, &other.evaluators),
        commitments: either(&one.commitments, &other.commitments),
        exec: exec(&one.exec, &other.exec),
        ci: Ci {
            locked: one.ci.locked || other.ci.locked,
            confirm: one.ci.confirm.max(other.ci.confirm),
            cassettes: one.ci.cassettes.max(other.ci.cassettes),
        },
        calls: Calls { approved: both_allow(one.calls.approved.as_ref(), other.calls.approved.as_ref()) },
        llm: llm(&one.llm, &other.llm),
        net: Net { hosts: common(&one.net.hosts, &other.net.hosts) },
        script: Script { limits: limits(&one.script.limits, &other.script.limits) },
        retention: other.retention.clone(),
        run: run(&one.run, &other.run),
    }
}

fn adapters(one: &Adapters, other: &Adapters) -> Adapters {
    let names = one.named.keys().chain(other.named.keys());
    let settings_of = |all: &Adapters, name: &str| all.named.get(name).cloned().unwrap_or_default();
    let named: BTreeMap<String, Adapter> = names
        .map(|name| {
            let (one, other) = (settings_of(one, name), settings_of(other, name));
            let merged = Adapter {
                // Asked of both as well.
                paths: one.paths,
                max_files: one.max_files.min(other.max_files),
                timeout_ms: one.timeout_ms.min(other.timeout_ms),
                http_samples: one.http_samples.min(other.http_samples),
                rate_per_min: smaller(one.rate_per_min, other.rate_per_min),
            };
            (name.clone(), merged)
        })
        .collect();
    Adapters {
        approved: both_allow(one.approved.as_ref(), other.approved.as_ref()),
        strict_tools: one.strict_tools || other.strict_tools,
        named,
    }
}

fn evaluators(one: &Evaluators, other: &Evaluators) -> Evaluators {
    let rates = [one.max_violation_rate, other.max_violation_rate].into_iter().flatten();
    // Without a list all fail the run, with one those fail it that it names, and then it is undone.
    let fail = match (&one.fail, &other.fail) {
        (Some(one), Some(other)) => Some(either(one, other)),
        (None, None) => None,
        (None, Some(_)) | (Some(_), None) => Some(EVALUATORS.iter().map(|name| (*name).to_owned()).collect()),
    };
    Evaluators {
        fail,
        forbidden_commands: either(&one.forbidden_commands, &other.forbidden_commands),
        forbidden_dependencies: either(&one.forbidden_dependencies, &other.forbidden_dependencies),
        max_rework: one.max_rework.min(other.max_rework),
        max_violation_rate: rates.reduce(f64::min),
    }
}

fn exec(one: &Exec, other: &Exec) -> Exec {
    Exec {
        sandbox: one.sandbox.max(other.sandbox),
        network: one.network && other.network,
        read: common(&one.read, &other.read),
        timeout_ms: one.timeout_ms.min(other.timeout_ms),
        grace_ms: one.grace_ms.min(other.grace_ms),
        env: common(&one.env, &other.env),
        output: one.output.min(other.output),
        stored: one.stored.min(other.stored),
        memory: smaller(one.memory, other.memory),
        file_size: smaller(one.file_size, other.file_size),
        processes: smaller(one.processes, other.processes),
        disk: smaller(one.disk, other.disk),
        scratch: common_globs(&one.scratch, &other.scratch),
        // Each policy allows by its own.
        allow: Vec::new(),
    }
}

/// The providers that both have: a run sends nothing to where one of its policies would not have sent it.
fn llm(one: &Llm, other: &Llm) -> Llm {
    let both =
        |(name, other): (&String, &LlmProvider)| Some((name.clone(), provider(one.providers.get(name)?, other)?));
    let providers: BTreeMap<String, LlmProvider> = other.providers.iter().filter_map(both).collect();
    // A run goes on with the provider that it began with. If none is left, a request that names none finds none.
    let defaults = || [&one.default, &other.default].into_iter().flatten();
    let there = |name: &&String| providers.contains_key(*name) || *name == HEURISTIC;
    let default = defaults().find(there).or(defaults().next()).cloned();
    Llm { default, cassettes: one.cassettes.max(other.cassettes), providers }
}

/// The provider under the smaller limits and the larger prices; none if they are two different ones.
fn provider(one: &LlmProvider, other: &LlmProvider) -> Option<LlmProvider> {
    let prices = match (one.prices, other.prices) {
        (Some(one), Some(other)) => Some(LlmPrices {
            input: one.input.max(other.input),
            cached: Some(one.cached.unwrap_or(one.input).max(other.cached.unwrap_or(other.input))),
            output: one.output.max(other.output),
        }),
        (one, other) => one.or(other),
    };
    let merged = LlmProvider {
        timeouts: LlmTimeouts {
            read_ms: one.timeouts.read_ms.min(other.timeouts.read_ms),
            total_ms: one.timeouts.total_ms.min(other.timeouts.total_ms),
        },
        prices,
        rate_per_min: smaller(one.rate_per_min, other.rate_per_min),
        context_tokens: smaller(one.context_tokens, other.context_tokens),
        max_output_tokens: smaller(one.max_output_tokens, other.max_output_tokens),
        ..other.clone()
    };
    let same = LlmProvider {
        timeouts: merged.timeouts,
        prices: merged.prices,
        rate_per_min: merged.rate_per_min,
        context_tokens: merged.context_tokens,
        max_output_tokens: merged.max_output_tokens,
        ..one.clone()
    };
    (merged == same).then_some(merged)
}

fn gates(one: &Gates, other: &Gates) -> Gates {
    Gates {
        destructive: Destructive {
            enabled: one.destructive.enabled || other.destructive.enabled,
            decision: one.destructive.decision.max(other.destructive.decision),
            // Each policy judges by its own.
            allow: Vec::new(),
            rule: Vec::new(),
        },
        diff_size: DiffSize {
            warn_lines: one.diff_size.warn_lines.min(other.diff_size.warn_lines),
            block_lines: smaller(one.diff_size.block_lines, other.diff_size.block_lines),
            run_warn_lines: one.diff_size.run_warn_lines.min(other.diff_size.run_warn_lines),
            run_block_lines: smaller(one.diff_size.run_block_lines, other.diff_size.run_block_lines),
        },
        secrets: Secrets {
            enabled: one.secrets.enabled || other.secrets.enabled,
            decision: one.secrets.decision.max(other.secrets.decision),
            allow: common(&one.secrets.allow, &other.secrets.allow),
            rule: secret_rules(&one.secrets.rule, &other.secrets.rule),
        },
        tools: Tools {
            enabled: one.tools.enabled || other.tools.enabled,
            allowed: common(&one.tools.allowed, &other.tools.allowed),
        },
    }
}

/// The rules of both, by which records are kept free of secrets. Two rules of one name get different ones.
fn secret_rules(one: &[SecretRule], other: &[SecretRule]) -> Vec<SecretRule> {
    let more = other.iter().filter(|rule| !one.contains(rule)).map(|rule| {
        let taken = one.iter().any(|known| known.id == rule.id);
        SecretRule { id: if taken { format!("{}-2", rule.id) } else { rule.id.clone() }, ..rule.clone() }
    });
    one.iter().cloned().chain(more).collect()
}

fn confirm(one: &Confirm, other: &Confirm) -> Confirm {
    Confirm {
        mode: one.mode.max(other.mode),
        yes_flag: one.yes_flag && other.yes_flag,
        auto: common(&one.auto, &other.auto),
        expires: one.expires.min(other.expires),
        approvers: both_allow(one.approvers.as_ref(), other.approvers.as_ref()),
        granted: common(&one.granted, &other.granted),
    }
}

fn budget(one: &Budget, other: &Budget) -> Budget {
    Budget {
        calls: one.calls.min(other.calls),
        files: one.files.min(other.files),
        diff_lines: one.diff_lines.min(other.diff_lines),
        bytes: one.bytes.min(other.bytes),
        wall_s: one.wall_s.min(other.wall_s),
        exec_s: one.exec_s.min(other.exec_s),
        tokens: one.tokens.min(other.tokens),
        cost: smaller(one.cost, other.cost),
        record: one.record.min(other.record),
    }
}

fn limits(one: &Limits, other: &Limits) -> Limits {
    Limits {
        operations: one.operations.min(other.operations),
        memory: one.memory.min(other.memory),
        cpu_s: one.cpu_s.min(other.cpu_s),
        call_depth: one.call_depth.min(other.call_depth),
        string: smaller(one.string, other.string),
        array: smaller(one.array, other.array),
        map: smaller(one.map, other.map),
        reply_bytes: one.reply_bytes.min(other.reply_bytes),
    }
}

fn run(one: &Run, other: &Run) -> Run {
    let undoes = [one, other].iter().any(|run| run.on_failure == OnFailure::Undo);
    Run {
        on_failure: if undoes { OnFailure::Undo } else { OnFailure::Keep },
        allow_dirty: one.allow_dirty && other.allow_dirty,
        keep_flag: one.keep_flag && other.keep_flag,
        allow_dirty_flag: one.allow_dirty_flag && other.allow_dirty_flag,
        lock_wait_ms: one.lock_wait_ms.min(other.lock_wait_ms),
    }
}

/// The smaller limit; none is no limit.
fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// What is in both lists; no list allows all.
fn both_allow(one: Option<&Vec<String>>, other: Option<&Vec<String>>) -> Option<Vec<String>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(common(one, other)),
        (one, other) => one.or(other).cloned(),
    }
}

fn either<T: PartialEq + Clone>(one: &[T], other: &[T]) -> Vec<T> {
    one.iter().chain(other.iter().filter(|item| !one.contains(item))).cloned().collect()
}

/// The globs of both, and what either excludes.
fn common_globs(one: &[String], other: &[String]) -> Vec<String> {
    let (excluded, taken): (Vec<String>, Vec<String>) =
        either(one, other).into_iter().partition(|glob| glob.starts_with('!'));
    let mut globs: Vec<String> = taken.into_iter().filter(|glob| one.contains(glob) && other.contains(glob)).collect();
    if !globs.is_empty() {
        globs.extend(excluded);
    }
    globs
}

fn common<T: PartialEq + Clone>(one: &[T], other: &[T]) -> Vec<T> {
    one.iter().filter(|item| other.contains(item)).cloned().collect()
}
