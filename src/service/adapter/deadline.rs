//! The end of an adapter's time.

use super::{Context, contract::Invocation};
use base::error::{Code, Error};
use system::clock::Stopwatch;

/// The time that an invocation gives to a phase.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    clock: Stopwatch,
    most_ms: u64,
    phase: &'static str,
}

impl Deadline {
    /// Begins a phase; `phase` completes the sentence "… took longer than".
    pub fn begin(input: &Invocation, phase: &'static str) -> Self {
        Deadline { clock: Stopwatch::start(), most_ms: input.constraints.timeout_ms, phase }
    }

    /// The milliseconds that are left, at least 1.
    pub fn left_ms(&self) -> u64 {
        self.most_ms.saturating_sub(self.clock.elapsed_ms()).max(1)
    }

    /// The milliseconds that the phase has in all.
    pub fn most_ms(&self) -> u64 {
        self.most_ms
    }

    /// `cancelled` if the run was cancelled, `budget_exhausted` if the time is over.
    pub fn check(&self, ctx: &Context<'_>) -> Result<(), Error> {
        ctx.check_cancelled()?;
        let Deadline { clock, most_ms, phase } = self;
        if clock.elapsed_ms() <= *most_ms {
            return Ok(());
        }
        Err(Error::new(
            Code::BudgetExhausted,
            format!("{phase} took longer than `constraints.timeout_ms` allows ({most_ms} ms)"),
        )
        .detail("timeout_ms", *most_ms)
        .hint("raise `constraints.timeout_ms`, and `timeout_ms` of the adapter in `nrv.toml`, or narrow `target.glob`; nothing was changed"))
    }
}
