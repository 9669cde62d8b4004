//! The pace of a client on standard streams: its requests wait while too many answers to earlier ones are not read.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{ClientNotification, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{sync::Notify, time::timeout};

use super::hub::AT_ONCE;

/// The most requests that are read and not answered. Some more than calls that are worked on, so that the others are refused.
const UNANSWERED: usize = AT_ONCE + 64;

/// The time after which a client that reads nothing is taken for gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// A transport whose client has to read what it is sent.
pub(super) struct Paced<T> {
    inner: T,
    requests: Arc<Requests>,
}

/// The requests that are read and not answered.
#[derive(Default)]
struct Requests {
    ids: Mutex<BTreeSet<String>>,
    fewer: Notify,
}

impl Requests {
    fn ids(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, id: &RequestId) {
        if self.ids().remove(&id.to_string()) {
            self.fewer.notify_one();
        }
    }

    fn note(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => drop(self.ids().insert(request.id.to_string())),
            // A request that was cancelled gets no answer.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.end(id);
                }
            }
            _ => {}
        }
    }
}

impl<T> Paced<T> {
    pub(super) fn new(inner: T) -> Self {
        Paced { inner, requests: Arc::default() }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Paced<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let requests = Arc::clone(&self.requests);
        let answers = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let sent = self.inner.send(item);
        async move {
            let result = sent.await;
            answers.iter().for_each(|id| requests.end(id));
            result
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while self.requests.ids().len() >= UNANSWERED {
            if timeout(PATIENCE, self.requests.fewer.notified()).await.is_err() {
                tracing::warn!("the client does not read what it is sent; the connection ends");
                return None;
            }
        }
        let message = self.inner.receive().await?;
        self.requests.note(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
