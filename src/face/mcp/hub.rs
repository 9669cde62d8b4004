//! The runs of a server, the workspace as it is now, and who is told when that changes.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rmcp::{RoleServer, service::Peer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{
    base::{Base, Mark},
    confirm::Pending,
    resource::Begun,
    run::{Answer, Order, Run, Terms, Work, held},
    setup::Setup,
    wire::Wire,
};
use base::error::{Code, Error};
use host::Context;
use system::threads;

/// The most runs that clients may hold open.
const OPEN: usize = 32;

/// The most calls that are worked on at the same time, those that wait for their run among them.
pub(super) const AT_ONCE: usize = 256;

/// The time that a client has to take a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// The most clients that are told of changes.
const PEERS: usize = 256;

/// The calls that are one run if they name none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// All of the process.
    Process,
    /// Each by itself.
    Call,
}

/// A client's request, as far as runs are concerned.
#[derive(Clone)]
pub(super) struct Caller {
    /// The client's name and version.
    pub(super) client: String,
    /// The run that the request names.
    pub(super) run: Option<String>,
    pub(super) wire: Wire,
    /// Cancelled if the client takes the request back.
    pub(super) cancelled: CancellationToken,
}

/// The state that all requests to a server share.
pub(super) struct Hub {
    setup: Setup,
    span: Span,
    base: Mutex<Arc<Base>>,
    /// The reason for which the policy of now is not served.
    broken: Mutex<Option<Error>>,
    /// The run of calls that name none.
    session: Mutex<Option<Arc<Run>>>,
    /// The runs that clients have opened, each with its place among them.
    opened: Mutex<BTreeMap<String, (Arc<Run>, OwnedSemaphorePermit)>>,
    places: Arc<Semaphore>,
    /// The runs of single calls.
    single: Mutex<Vec<Arc<Run>>>,
    /// Work that belongs to no open run: how it is stopped, and its thread.
    jobs: Mutex<Vec<(Arc<AtomicBool>, JoinHandle<()>)>>,
    /// Bounds what is worked on at the same time.
    room: Semaphore,
    /// The runs of scripts that this server has begun.
    begun: Mutex<Begun>,
    /// The calls that wait for a confirmation.
    pub(super) pending: Pending,
    changes: watch::Sender<u64>,
    peers: Mutex<Vec<Peer<RoleServer>>>,
}

impl Hub {
    pub(super) fn new(setup: Setup, span: Span) -> Result<Arc<Hub>, Error> {
        let base = Arc::new(Base::open(&setup)?);
        // Reading the scripts takes long, and the first client asks for the tools at once. Without a thread it waits.
        let (early, own) = (Arc::clone(&base), setup.clone());
        let _ = threads::start(move || drop(early.tools(&own).map(<[_]>::len)));
        Ok(Arc::new(Hub {
            setup,
            span,
            base: Mutex::new(base),
            broken: Mutex::default(),
            session: Mutex::default(),
            opened: Mutex::default(),
            places: Arc::new(Semaphore::new(OPEN)),
            single: Mutex::default(),
            jobs: Mutex::default(),
            room: Semaphore::new(AT_ONCE),
            begun: Mutex::default(),
            pending: Pending::new()?,
            changes: watch::Sender::new(0),
            peers: Mutex::default(),
        }))
    }

    pub(super) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The workspace as it was last read.
    pub(super) fn base(&self) -> Arc<Base> {
        Arc::clone(&held(&self.base))
    }

    /// The workspace under the policy of now; an error if that can't be read.
    fn current(&self) -> Result<Arc<Base>, Error> {
        self.read_changes();
        match held(&self.broken).clone() {
            Some(error) => Err(error),
            None => Ok(self.base()),
        }
    }

    /// Reads the policy and the approvals again if they have changed; true if they have.
    fn read_changes(&self) -> bool {
        let base = self.base();
        let mark = Mark::of(&base.context);
        if mark == base.mark {
            // A broken policy that was taken back is none any more.
            return held(&self.broken).take().is_some();
        }
        match Base::open(&self.setup) {
            Ok(opened) => {
                *held(&self.base) = Arc::new(opened);
                *held(&self.broken) = None;
                true
            }
            Err(error) => {
                *held(&self.broken) = Some(error);
                false
            }
        }
    }

    /// Tells clients if the lists have changed, and forgets runs that are over.
    pub(super) async fn look_for_changes(&self) {
        held(&self.opened).retain(|_, (run, _)| !run.is_over());
        held(&self.single).retain(|run| !run.is_over());
        held(&self.jobs).retain(|(_, thread)| !thread.is_finished());
        if !self.read_changes() {
            return;
        }
        self.changes.send_modify(|n| *n += 1);
        let peers = std::mem::take(&mut *held(&self.peers));
        let mut reached = Vec::new();
        for peer in peers {
            let told = async { peer.notify_tool_list_changed().await.and(peer.notify_prompt_list_changed().await) };
            // A client that reads nothing is told nothing more.
            if matches!(tokio::time::timeout(PATIENCE, told).await, Ok(Ok(()))) {
                reached.push(peer);
            }
        }
        held(&self.peers).extend(reached);
    }

    /// Tells a client of changes from now on.
    pub(super) fn tell(&self, peer: Peer<RoleServer>) {
        let mut peers = held(&self.peers);
        peers.retain(|peer| !peer.is_transport_closed());
        if peers.len() < PEERS {
            peers.push(peer);
        }
    }

    /// Counts the changes of the lists.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Does work in the run to which a request belongs.
    pub(super) async fn perform(self: &Arc<Self>, caller: &Caller, work: Work) -> Answer {
        let failed = |error| Answer::Failed { run: caller.run.clone(), error };
        match (&caller.run, self.span) {
            (Some(id), _) => match self.find(id) {
                Some(run) => order(&run, caller, work).await,
                None => Answer::Gone,
            },
            (None, Span::Process) => match self.session(caller) {
                Ok(run) => order(&run, caller, work).await,
                Err(error) => failed(error),
            },
            (None, Span::Call) => match Run::start(self.terms(caller, true)) {
                Ok(run) => {
                    held(&self.single).push(Arc::clone(&run));
                    alone(&run, caller, work).await
                }
                Err(error) => failed(error),
            },
        }
    }

    /// Opens a run that later requests name.
    pub(super) async fn open(self: &Arc<Self>, caller: &Caller) -> Answer {
        let failed = |error| Answer::Failed { run: None, error };
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let error = Error::new(Code::LockTimeout, format!("{OPEN} runs are open already"));
            return failed(error.hint("close one with `run_close`"));
        };
        let run = match Run::start(self.terms(caller, true)) {
            Ok(run) => run,
            Err(error) => return failed(error),
        };
        let answer = order(&run, caller, Work::Open).await;
        if let Answer::Reply { run: id, .. } = &answer {
            held(&self.opened).insert(id.clone(), (run, place));
        }
        answer
    }

    /// Ends a run that is open here; `None` if there is none of that id, or if it has ended by itself.
    pub(super) async fn close(&self, caller: &Caller, id: &str) -> Option<Answer> {
        let run = self.find(id)?;
        let answer = order(&run, caller, Work::Close).await;
        held(&self.opened).remove(id);
        Some(answer).filter(|answer| !matches!(answer, Answer::Gone))
    }

    /// Does work that is no call of an open run, on a thread of its own.
    pub(super) async fn apart(
        self: &Arc<Self>,
        caller: &Caller,
        job: impl FnOnce(&Context, &Setup, &mut Wire) -> Answer + Send + 'static,
    ) -> Answer {
        let (stop, (reply, answer)) = (Arc::new(AtomicBool::new(false)), oneshot::channel());
        let (hub, wanted, mut wire) = (Arc::clone(self), Arc::clone(&stop), caller.wire.clone());
        let started = threads::start(move || {
            let context = hub.current().and_then(|base| base.for_run(wanted));
            drop(reply.send(match context {
                Ok(context) => job(&context, &hub.setup, &mut wire),
                Err(error) => Answer::Failed { run: None, error },
            }));
        });
        match started {
            Ok(thread) => held(&self.jobs).push((Arc::clone(&stop), thread)),
            Err(error) => return Answer::Failed { run: None, error },
        }
        answered(answer, &caller.cancelled, || stop.store(true, Ordering::Relaxed)).await
    }

    fn find(&self, id: &str) -> Option<Arc<Run>> {
        let opened = held(&self.opened).get(id).map(|(run, _)| Arc::clone(run));
        let session = || held(&self.session).clone();
        opened.or_else(|| session().filter(|run| run.id().as_deref() == Some(id)))
    }

    fn session(self: &Arc<Self>, caller: &Caller) -> Result<Arc<Run>, Error> {
        let mut session = held(&self.session);
        match session.as_ref() {
            Some(run) => Ok(Arc::clone(run)),
            None => Ok(Arc::clone(session.insert(Run::start(self.terms(caller, false))?))),
        }
    }

    fn terms(self: &Arc<Self>, caller: &Caller, once: bool) -> Terms {
        let hub = Arc::clone(self);
        Terms {
            open: Arc::new(move |cancel| hub.current()?.for_run(cancel)),
            client: caller.client.clone(),
            flags: self.setup.flags,
            once,
        }
    }

    /// Leave to work; `lock_timeout` if too much is worked on already.
    pub(super) fn admit(&self) -> Result<SemaphorePermit<'_>, Error> {
        self.room.try_acquire().map_err(|_| {
            Error::new(Code::LockTimeout, format!("{AT_ONCE} calls are worked on already")).hint("call again later")
        })
    }

    /// Remembers the run of a script that a client asked for.
    pub(super) fn remember(&self, run: &str) {
        held(&self.begun).insert(run.to_owned());
    }

    /// The runs of scripts that clients of this server have asked for.
    pub(super) fn begun(&self) -> Begun {
        held(&self.begun).clone()
    }

    /// Stops whatever is worked on.
    pub(super) fn cancel_all(&self) {
        self.runs().iter().for_each(|run| run.cancel());
        held(&self.jobs).iter().for_each(|(stop, _)| stop.store(true, Ordering::Relaxed));
    }

    fn runs(&self) -> Vec<Arc<Run>> {
        let opened: Vec<Arc<Run>> = held(&self.opened).values().map(|(run, _)| Arc::clone(run)).collect();
        let single = held(&self.single).clone();
        opened.into_iter().chain(single).chain(held(&self.session).clone()).collect()
    }

    /// Ends all runs, and waits until their records are sealed.
    pub(super) async fn close_all(&self, patience: Duration) {
        let jobs = std::mem::take(&mut *held(&self.jobs)).into_iter().map(|(_, thread)| thread);
        let ends: Vec<_> = self.runs().iter().filter_map(|run| run.end()).chain(jobs).collect();
        let all = tokio::task::spawn_blocking(move || ends.into_iter().for_each(|thread| drop(thread.join())));
        if tokio::time::timeout(patience, all).await.is_err() {
            tracing::warn!("a run did not end in time; `nrv recover` closes its record");
        }
    }
}

/// Gives a run an order, and waits for the answer.
async fn order(run: &Arc<Run>, caller: &Caller, work: Work) -> Answer {
    let (reply, answer) = oneshot::channel();
    let stop = Arc::new(AtomicBool::new(false));
    run.give(Order { work, wire: caller.wire.clone(), stop: Arc::clone(&stop), reply });
    answered(answer, &caller.cancelled, || run.stop(&stop)).await
}

/// Does work in a run of its own, which is over then.
async fn alone(run: &Arc<Run>, caller: &Caller, work: Work) -> Answer {
    let answer = order(run, caller, work).await;
    let Answer::Reply { run: id, reply } = answer else {
        drop(run.end());
        return answer;
    };
    // What the run comes to as a whole decides.
    let closed = order(run, &Caller { cancelled: CancellationToken::new(), ..caller.clone() }, Work::Close).await;
    match closed {
        Answer::Closed(Some(finished)) => match finished.error {
            Some(error) => Answer::Failed { run: Some(id), error },
            None => Answer::Reply { run: id, reply },
        },
        Answer::Closed(None) => Answer::Reply { run: id, reply },
        other => other,
    }
}

/// Waits for an answer; a request that is taken back is stopped, and its answer waited for.
async fn answered(mut answer: oneshot::Receiver<Answer>, cancelled: &CancellationToken, stop: impl FnOnce()) -> Answer {
    tokio::select! {
        biased;
        answer = &mut answer => answer.unwrap_or(Answer::Gone),
        () = cancelled.cancelled() => {
            stop();
            answer.await.unwrap_or(Answer::Gone)
        }
    }
}
