//! A run of a client: a thread that holds its host, and answers one order after another.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{
    lines::{conceal, concealed},
    wire::Wire,
};
use base::{
    call::Call,
    error::{Code, Error},
};
use host::{Context, Finished, Flags, Host, Positions, Request, Silent, State};
use system::threads;

/// The most orders of a run that wait.
const WAITING: usize = 64;

/// The most proposals that a run keeps.
const PROPOSALS: usize = 256;

/// The state of a finished run with which nobody goes on.
const BLOCK: &str = "block";

/// Work for a run.
#[derive(Debug)]
pub(super) enum Work {
    /// A call.
    Call(Box<Call>),
    /// The change of an adapter that was proposed in this run.
    Apply {
        /// The adapter.
        tool: String,
        /// The proposal's id.
        proposal: String,
    },
    /// The gate's word on a tool that is no call.
    Admit {
        /// The tool.
        tool: String,
        /// Its parameters.
        params: Value,
    },
    /// Nothing but a run.
    Open,
    /// The end of the run.
    Close,
}

/// The answer to an order.
#[derive(Debug)]
pub(super) enum Answer {
    /// The reply of the call.
    Reply { run: String, reply: Value },
    /// The call failed. The run goes on if nothing is said of its end.
    Failed { run: Option<String>, error: Error },
    /// The call waits for a confirmation, and with it the run. The error says for which.
    Waits { run: String, error: Error },
    /// The run has ended; none if there was none.
    Closed(Option<Box<Finished>>),
    /// The run was over before the order came.
    Gone,
}

impl Answer {
    /// The answer of a run that has ended, or waits.
    pub(super) fn of(finished: Finished) -> Self {
        match (finished.state, finished.error) {
            (State::Suspended, Some(error)) => Answer::Waits { run: finished.run, error },
            (_, Some(error)) => Answer::Failed { run: Some(finished.run), error },
            (_, None) => Answer::Reply { run: finished.run, reply: finished.result },
        }
    }
}

/// An order to a run.
pub(super) struct Order {
    pub(super) work: Work,
    pub(super) wire: Wire,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// The terms of a thread for runs.
#[derive(Clone)]
pub(super) struct Terms {
    /// The workspace under the policy of now, with this wish to stop.
    pub(super) open: Arc<dyn Fn(Arc<AtomicBool>) -> Result<Context, Error> + Send + Sync>,
    /// The client's name and version.
    pub(super) client: String,
    pub(super) flags: Flags,
    /// True if no other run follows the first one.
    pub(super) once: bool,
}

/// A run, as the protocol's thread sees it.
pub(super) struct Run {
    orders: Mutex<Option<SyncSender<Order>>>,
    cancel: Arc<AtomicBool>,
    /// The wish to stop of the order that is worked on.
    current: Arc<Mutex<Option<Arc<AtomicBool>>>>,
    /// The id of the run that is open.
    id: Arc<Mutex<Option<String>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Run {
    /// Starts a thread for a run. The run begins with its first order, and again after it has ended.
    pub(super) fn start(terms: Terms) -> Result<Arc<Run>, Error> {
        let (orders, taken) = sync_channel(WAITING);
        let (cancel, current, id) = (Arc::new(AtomicBool::new(false)), Arc::default(), Arc::default());
        let desk = Desk {
            terms,
            orders: taken,
            cancel: Arc::clone(&cancel),
            current: Arc::clone(&current),
            id: Arc::clone(&id),
        };
        let thread = Mutex::new(Some(threads::start(move || desk.work())?));
        Ok(Arc::new(Run { orders: Mutex::new(Some(orders)), cancel, current, id, thread }))
    }

    /// Gives an order. `lock_timeout` if too many wait already.
    pub(super) fn give(&self, order: Order) {
        let refused = |order: Order, error| drop(order.reply.send(Answer::Failed { run: None, error }));
        match held(&self.orders).as_ref().map(|orders| orders.try_send(order)) {
            // Without a reply it is known to be gone.
            None | Some(Ok(())) => {}
            Some(Err(TrySendError::Full(order))) => {
                let error = Error::new(Code::LockTimeout, format!("{WAITING} calls of this run wait already"));
                refused(order, error.hint("wait for their answers, then call again"));
            }
            Some(Err(TrySendError::Disconnected(order))) => drop(order.reply.send(Answer::Gone)),
        }
    }

    /// Stops the order with this wish to stop, if it is the one that is worked on. One that waits finds the wish when its turn comes.
    pub(super) fn stop(&self, stop: &Arc<AtomicBool>) {
        stop.store(true, Ordering::Relaxed);
        let current = held(&self.current);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, stop)) {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// Stops the order that is worked on, whichever it is.
    pub(super) fn cancel(&self) {
        if let Some(stop) = held(&self.current).as_ref() {
            stop.store(true, Ordering::Relaxed);
        }
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// The id of the run that is open; none between two.
    pub(super) fn id(&self) -> Option<String> {
        held(&self.id).clone()
    }

    /// True if nothing answers orders any more.
    pub(super) fn is_over(&self) -> bool {
        held(&self.thread).as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the run once its orders are done; the thread that does it.
    pub(super) fn end(&self) -> Option<JoinHandle<()>> {
        drop(held(&self.orders).take());
        held(&self.thread).take()
    }
}

/// A lock whose holder never panics in between.
pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error for an order to a run that has ended.
pub(super) fn over() -> Error {
    Error::new(
        Code::InvalidInput,
        "the run is not open here: it was closed, waits for a confirmation, or rested for `mcp.idle`",
    )
    .hint("open another with `run_open`, or leave `run` out")
}

/// The thread of a run.
struct Desk {
    terms: Terms,
    orders: Receiver<Order>,
    cancel: Arc<AtomicBool>,
    current: Arc<Mutex<Option<Arc<AtomicBool>>>>,
    id: Arc<Mutex<Option<String>>>,
}

impl Desk {
    /// Answers orders until nobody gives any. Runs follow one another.
    fn work(&self) {
        while let Ok(order) = self.orders.recv() {
            if matches!(order.work, Work::Close) {
                let _ = order.reply.send(Answer::Closed(None));
                continue;
            }
            self.cancel.store(false, Ordering::Relaxed);
            match (self.terms.open)(Arc::clone(&self.cancel)) {
                Ok(context) => {
                    self.run(&context, order);
                    *held(&self.id) = None;
                    if self.terms.once {
                        return;
                    }
                }
                Err(error) => drop(order.reply.send(Answer::Failed { run: None, error })),
            }
        }
    }

    /// Answers orders in one run: until it is closed, has had nothing to do for long, waits, or can do nothing more.
    fn run(&self, context: &Context, first: Order) {
        let request = Request::client(context, &self.terms.client, self.terms.flags);
        let Order { work, mut wire, stop, reply } = first;
        let host = match Host::start(context, request, &mut wire) {
            Ok(host) => host,
            Err(error) => return drop(reply.send(Answer::Failed { run: None, error })),
        };
        *held(&self.id) = Some(host.run_id().to_owned());
        let idle = Duration::from_secs(context.policy.settings().mcp.idle);
        let mut open = OpenRun { context, host, positions: Positions::default(), proposals: BTreeMap::new() };
        let mut next = Order { work, wire, stop, reply };
        loop {
            let Order { work, mut wire, stop, reply } = next;
            *held(&self.current) = Some(Arc::clone(&stop));
            let answer = if stop.load(Ordering::Relaxed) { Err(cancelled()) } else { open.perform(work, &mut wire) };
            *held(&self.current) = None;
            open.host.take_back_cancel();
            let rested = open.host.rest();
            let run = open.host.run_id().to_owned();
            match answer {
                Ok(Some(value)) => drop(reply.send(Answer::Reply { run, reply: value })),
                Err(error) if !host::ends_run(error.code()) => {
                    drop(reply.send(Answer::Failed { run: Some(run), error }));
                }
                ended => return drop(reply.send(end(open.host, ended.map(|_| Value::Null), &mut wire))),
            }
            next = match self.orders.recv_timeout(idle) {
                Ok(order) => order,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return match open.host.finish(Ok(Value::Null), &mut Silent) {
                        Ok(Finished { error: Some(error), run, .. }) => tracing::warn!("run {run} has failed: {error}"),
                        Ok(_) => {}
                        Err(error) => tracing::warn!("a run could not be sealed: {error}"),
                    };
                }
            };
            rested.end();
        }
    }
}

/// Ends a run, and says how.
fn end(host: Host<'_>, outcome: Result<Value, Error>, wire: &mut Wire) -> Answer {
    let (run, is_close) = (host.run_id().to_owned(), outcome.is_ok());
    match host.finish(outcome, wire) {
        Ok(finished) if is_close => Answer::Closed(Some(Box::new(finished))),
        Ok(finished) => Answer::of(finished),
        Err(error) => Answer::Failed { run: Some(run), error },
    }
}

fn cancelled() -> Error {
    Error::new(Code::Cancelled, "the call was cancelled before it began")
}

/// A run that is open.
struct OpenRun<'a> {
    context: &'a Context,
    host: Host<'a>,
    positions: Positions,
    /// The proposals of adapters, as the host gave them out.
    proposals: BTreeMap<String, Value>,
}

impl OpenRun<'_> {
    /// The reply of an order; none if the run is to end.
    fn perform(&mut self, work: Work, wire: &mut Wire) -> Result<Option<Value>, Error> {
        let call = match work {
            Work::Call(call) => *call,
            Work::Apply { tool, proposal } => self.apply(tool, &proposal)?,
            Work::Admit { tool, params } => return self.admit(tool, params, wire).map(Some),
            Work::Open => return Ok(Some(json!({"run": self.host.run_id(), "mode": self.host.mode()}))),
            Work::Close => return Ok(None),
        };
        let position = self.positions.take(&call);
        let proposes = matches!(call, Call::DtaPropose { .. });
        let quotes = matches!(call, Call::FilesGrep { .. } | Call::EditFind(_));
        let reply = self.host.perform(&position, call, wire);
        let mut reply = reply.map_err(|error| concealed(self.context, error))?;
        if quotes {
            conceal(self.context, &mut reply);
        }
        if let Some(id) = reply["id"].as_str().filter(|_| proposes) {
            if self.proposals.len() >= PROPOSALS {
                self.proposals.pop_first();
            }
            self.proposals.insert(id.to_owned(), reply.clone());
        }
        Ok(Some(reply))
    }

    /// The call that applies a proposal of this run.
    fn apply(&self, tool: String, id: &str) -> Result<Call, Error> {
        match self.proposals.get(id) {
            Some(proposal) => Ok(Call::DtaApply { tool, proposal: proposal.clone() }),
            None => Err(Error::new(Code::NotFound, format!("this run has no proposal `{}`", id.escape_debug())).hint(
                format!("`dta_{tool}_propose` makes one in the same run; a run that is closed or idle forgets it"),
            )),
        }
    }

    /// Asks the gates about a tool that is no call, where they have a list of tools.
    fn admit(&mut self, tool: String, params: Value, wire: &mut Wire) -> Result<Value, Error> {
        if !self.host.policy().settings().gates.tools.enabled {
            return Ok(Value::Null);
        }
        let call = Call::GateEvaluateToolUse { tool: tool.clone(), params };
        let position = self.positions.take(&call);
        let verdict = self.host.perform(&position, call, wire)?;
        if verdict["decision"] == BLOCK {
            let reason = verdict["reason"].as_str().unwrap_or("it is not in `gates.tools.allowed`").to_owned();
            return Err(Error::new(Code::NotApproved, format!("the tool `{tool}` may not be used: {reason}")));
        }
        Ok(verdict)
    }
}
