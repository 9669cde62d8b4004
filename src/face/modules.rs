//! The public modules of the library. Each documents the names that programs need, and re-exports the rest as hidden.

/// Adapters of your own: the context that they read by, their contract, and the evidence of their verifier.
pub mod adapter {
    pub use ::adapter::Context;
    #[doc(hidden)]
    pub use ::adapter::*;

    /// The input and the answers of an adapter.
    pub mod contract {
        #[doc(hidden)]
        pub use ::adapter::contract::*;
        pub use ::adapter::contract::{
            Baseline, Counted, Counts, Failure, FileHash, Invocation, Mode, Proposal, Target,
        };
    }

    /// The measurements and findings of a verifier.
    pub mod evidence {
        #[doc(hidden)]
        pub use ::adapter::evidence::*;
        pub use ::adapter::evidence::{Evidence, Examined, Measured};
    }
}

/// Change sets made of diffs and whole files.
pub mod apply {
    #[doc(hidden)]
    pub use ::service::apply::*;
    pub use ::service::apply::{AppliedHunk, ApplyOptions, ApplyOutcome, ApplyStatus, ApplyStrategy};
}

/// A program becomes one of nrv's own processes here, before its `main` does anything else.
pub mod entry {
    #[doc(hidden)]
    pub use crate::face::entry::*;
    pub use crate::face::entry::{THREAD, main_if_requested, main_if_requested_with};
}

/// Protocols above the door: planners, graphs of calls, and agents.
pub mod flow {
    #[doc(hidden)]
    pub use ::flow::*;
    pub use ::flow::{Door, RunDoor};

    /// Nodes of work that wait for one another.
    pub mod graph {
        #[doc(hidden)]
        pub use ::flow::graph::*;
        pub use ::flow::graph::{Ended, Functions, Graph, run};
    }

    /// A model that works by tools of the host.
    pub mod agent {
        #[doc(hidden)]
        pub use ::flow::agent::*;
        pub use ::flow::agent::{Action, Conversation, Conversed, Reply, Stopped, Turn, converse};

        /// The form of a model's replies:
        ///
        /// ```
        /// use nrv::{
        ///     Error,
        ///     flow::agent::{Action, ActionHandler, Reply, Turn},
        /// };
        ///
        /// /// Replies of the form `READ path`.
        /// struct Lines;
        ///
        /// impl ActionHandler for Lines {
        ///     fn handle(&mut self, reply: &Reply) -> Result<Turn, Error> {
        ///         let Some(path) = reply.text.strip_prefix("READ ") else { return Ok(Turn::unread(reply)) };
        ///         let params = serde_json::json!({"path": path.trim()});
        ///         let read = Action { id: "1".to_owned(), tool: "files_read".to_owned(), params };
        ///         Ok(Turn { message: reply.text.clone(), actions: vec![read], feedback: None })
        ///     }
        ///
        ///     fn instructions(&self) -> String {
        ///         "Reply with one line: READ and the path of a file.".to_owned()
        ///     }
        /// }
        /// # let turn = Lines.handle(&Reply { text: "READ a.md".to_owned(), ..Reply::default() })?;
        /// # assert_eq!(turn.actions[0].tool, "files_read");
        /// # Ok::<(), Error>(())
        /// ```
        pub use ::flow::agent::ActionHandler;
    }

    /// Plans of tools: made, checked and turned into a graph.
    pub mod planner {
        #[doc(hidden)]
        pub use ::flow::planner::*;
        pub use ::flow::planner::{Plan, Planner, Request, plan, plan_with_model, validate};

        /// The orders that go with a plan:
        ///
        /// ```
        /// let orders = nrv::flow::planner::orders(["link_updater"]);
        /// assert!(orders.starts_with("Use the link_updater DTA in dry-run mode first.\n"));
        /// ```
        pub use ::flow::planner::orders;
    }
}

/// Gates: verdicts on commands, uses of tools and changes, as pure functions of a subject and a policy.
pub mod gate {
    #[doc(hidden)]
    pub use ::gate::*;
    pub use ::gate::{
        Decision, GateResult, Rules, Verdict, decide, evaluate_command, evaluate_edit, evaluate_tool_use,
    };
}

/// Language models: a typed request in, ordered events and a checked reply out; and `toolkit`, for what a reply proposes.
///
/// The toolkit uses the host and the models do not, so they are separate crates inside.
pub mod llm {
    #[doc(no_inline)]
    pub use crate::face::toolkit;
    #[doc(hidden)]
    pub use ::llm::*;
    pub use ::llm::{
        Capabilities, Cassettes, Command, Finish, Heuristic, Http, LlmClient, LlmClientConfig, LlmHandle, LlmRequest,
        LlmRequestBuilder, LlmStream, LlmStreamEvent, Message, Model, Orchestrator, Reply, Retry, Role, Sampling,
        Served, Service, Timeouts, Tool, ToolCall, ToolChoice, Transport, Usage, Wire, WireOptions, client, parse_as,
        parse_plan, plan_schema,
    };
}

/// Prompts that are composed of parts and fit a model's window.
pub mod prompt {
    #[doc(hidden)]
    pub use ::service::prompt::*;
    pub use ::service::prompt::{Composed, Part, compose};
}

/// Micro-edits: requests, handles and outcomes as data, and the toolkit that makes them.
pub mod edit {
    pub use crate::face::toolkit::micro::{MicroChangeToolkit, Target};
    pub use ::service::edit::{EditOutcome, EditStatus};
    #[doc(hidden)]
    pub use base::micro::*;
    pub use base::micro::{Edit, Find, Handle};
}
