//! The adapter of a program that embeds the host.

/// A tool whose changes are deterministic and provable.
///
/// ```
/// use nrv::{
///     Adapter, Adapters, ChangeSet, Error,
///     adapter::{
///         Context,
///         contract::{Baseline, Counted, Counts, Invocation, Proposal},
///         evidence::{Evidence, Measured},
///     },
/// };
///
/// /// Changes nothing; `examples/embed` has one that does.
/// struct Idle;
///
/// impl Adapter for Idle {
///     fn name(&self) -> &str {
///         "idle"
///     }
///     fn version(&self) -> &str {
///         "1.0"
///     }
///     fn summary(&self) -> &str {
///         "change nothing"
///     }
///     fn params_schema(&self) -> &str {
///         r#"{"type": "object"}"#
///     }
///     fn counts(&self) -> Counted<'_> {
///         Counted::default()
///     }
///     fn domain(&self) -> Vec<&str> {
///         vec!["**/*.md"]
///     }
///     fn propose(&self, _: &Context<'_>, _: &Invocation) -> Result<Proposal, Error> {
///         let baseline = Baseline::default();
///         Ok(Proposal { baseline, counts: Counts::new(), changes: ChangeSet::default() })
///     }
///     fn measure(&self, _: &Context<'_>, _: &Invocation, _: &Evidence<'_>) -> Result<Measured, Error> {
///         Ok(Measured::default())
///     }
/// }
///
/// let adapters = Adapters::default().with(Idle)?;
/// assert_eq!(adapters.find("idle")?.summary(), "change nothing");
/// # Ok::<(), nrv::Error>(())
/// ```
pub use adapter::Adapter;
