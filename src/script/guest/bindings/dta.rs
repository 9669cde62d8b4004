//! `nrv.dta(name)`: adapters, and the phases of one.

use rhai::{Dynamic, Engine, NativeCallContext};

use crate::guest::bindings::{Field, Namespace, fields, host::Host, interface::ADAPTER, registry};
use base::call::Call;

const INPUT: &[Field] = fields! {
    target: "map" = fields! { glob: "string | array", repo_path: "string?" }, params: "map",
    constraints: "map?" = fields! { max_files: "int?", timeout_ms: "int?", seed: "int?" },
    tool: "string?", version: "string?", mode: "string?",
};

const DESCRIPTION: &[Field] = fields! {
    name: "string", version: "string", summary: "string", domain: "array",
    applies_if: "map?" = fields! { count: "string", above: "int" },
    policy: "map" = fields! {
        approved: "bool", paths: "array", max_files: "int", timeout_ms: "int", rate_per_min: "int?", http_samples: "int",
        strict_tools: "bool",
    },
    phases: "array", input_schema: "map", output_schema: "map",
};

pub(super) const PROPOSAL: &[Field] = fields! {
    id: "string", tool: "string", version: "string", phase: "string", baseline: "map",
    skipped: "array" = fields! { path: "string", reason: "string" },
    findings: "array?" = fields! {
        path: "string", line: "int?", place: "string", kind: "string", reason: "string", candidates: "array?",
    },
    proposed_changes: "map",
    files: "array" = fields! { path: "string", added: "int", removed: "int" }, artifacts: "array", patch: "string",
};

pub(super) const OUTPUT: &[Field] = fields! {
    tool: "string", ok: "bool", phase: "string", baseline: "map", proposed_changes: "map", applied_changes: "map",
    run: "string", artifacts: "array", verifier: "map" = VERIFIER,
};

const VERIFIER: &[Field] = fields! {
    passed: "bool", checks: "array", sample_size: "int",
    failures: "array" = fields! { check: "string", path: "string?", reason: "string" }, remarks: "array?",
};

pub(super) const NAMESPACE: Namespace = Namespace {
    receiver: ADAPTER,
    doc: "An approved adapter: it proposes a change, the host applies it and a verifier in another process checks it.",
    calls: registry! {
        ADAPTER;
        /// Applies a proposal that `propose` returned, and verifies it; returns the adapter's output.
        ///
        /// If the verifier does not pass, everything is undone and the error is `verification_failed`.
        ///
        /// ```rhai
        /// let links = nrv.dta("link_updater");
        /// let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
        /// let proposal = links.propose(#{ target: #{ glob: "site/**" }, params: hosts });
        /// links.apply(proposal).applied_changes
        /// ```
        apply(proposal: "map") -> "map" = OUTPUT;
        /// The adapter's name, version, globs, policy, phases and schemas.
        ///
        /// ```rhai
        /// nrv.dta("link_updater").describe().input_schema
        /// ```
        describe() -> "map" = DESCRIPTION;
        /// Counts and proposes without side effects; returns `#{id, baseline, …}`. `nrv dta describe NAME` shows the schema of `params`.
        ///
        /// ```rhai
        /// let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
        /// nrv.dta("link_updater").propose(#{ target: #{ glob: "site/**" }, params: hosts }).files
        /// ```
        propose(input: "map" = INPUT) -> "map" = PROPOSAL;
        /// Runs all phases in one call, by the input's `mode`; returns the adapter's output.
        ///
        /// ```rhai
        /// let hosts = #{ from_hosts: ["old.example.com"], to_host: "https://new.example.com" };
        /// nrv.dta("link_updater").run(#{ mode: "dry-run", target: #{ glob: "site/**" }, params: hosts }).ok
        /// ```
        run(input: "map" = INPUT) -> "map" = OUTPUT;
    },
    register,
};

/// The handle that `nrv.dta(name)` returns.
#[derive(Clone)]
pub(super) struct Adapter {
    host: Host,
    tool: String,
}

impl Adapter {
    /// The handle of an adapter, which may not exist.
    pub(super) fn new(host: &Host, tool: &str) -> Self {
        Adapter { host: host.clone(), tool: tool.to_owned() }
    }
}

fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Adapter>("adapter");
    engine.register_fn("describe", |ctx: NativeCallContext<'_>, this: &mut Adapter| {
        this.host.call(&ctx, Call::DtaDescribe { tool: this.tool.clone() })
    });
    engine.register_fn("propose", |ctx: NativeCallContext<'_>, this: &mut Adapter, input: Dynamic| {
        let input = this.host.json(&ctx, &input)?;
        this.host.call(&ctx, Call::DtaPropose { tool: this.tool.clone(), input })
    });
    engine.register_fn("apply", |ctx: NativeCallContext<'_>, this: &mut Adapter, proposal: Dynamic| {
        let proposal = this.host.json(&ctx, &proposal)?;
        this.host.call(&ctx, Call::DtaApply { tool: this.tool.clone(), proposal })
    });
    engine.register_fn("run", |ctx: NativeCallContext<'_>, this: &mut Adapter, input: Dynamic| {
        let input = this.host.json(&ctx, &input)?;
        this.host.call(&ctx, Call::DtaRun { tool: this.tool.clone(), input })
    });
}
