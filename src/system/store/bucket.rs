//! A store in a bucket of S3, Google Cloud Storage or Azure, and of servers that speak their protocols.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use object_store::{Error as Failure, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, path::Path};
use tokio::runtime::{Builder, Runtime};
use tokio_stream::StreamExt;

use super::{
    failed::{Failed, too_many},
    provider::{Reached, reach},
};
use crate::net::random_bytes;

/// The times before a create is tried again whose answer was lost or that conflicted with another request.
const PAUSES: &[Duration] =
    &[Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1600), Duration::ZERO];

/// The object that says that the server was seen to keep what is there.
const PROBED: &str = "probed";

/// The most bytes of an object by which the server is probed.
const PROBE: u64 = 1 << 10;

/// A bucket with objects.
#[derive(Debug)]
pub(super) struct Bucket {
    reached: Reached,
    runtime: Runtime,
}

impl Bucket {
    /// The bucket at an address; none if the address is of no kind that is known. Credentials and servers come from the standard
    /// variables: those that begin with `AWS_`, `GOOGLE_` or `AZURE_`. Nothing is sent yet.
    pub(super) fn at(address: &str, environment: &BTreeMap<String, String>) -> Option<Result<Self, String>> {
        let reached = reach(address, environment)?;
        let runtime = Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string());
        Some(reached.and_then(|reached| Ok(Bucket { reached, runtime: runtime? })))
    }

    /// Makes an object; false if there is one of that key with other bytes.
    ///
    /// The answer to a request that succeeded can be lost, and servers refuse one of two requests that meet. The bytes that are there tell
    /// what became of it.
    pub(super) fn create(&self, key: &str, bytes: &[u8]) -> Result<bool, String> {
        let path = self.path(key);
        let mut last = String::new();
        for pause in PAUSES {
            let options = PutOptions::from(PutMode::Create);
            let put = self.reached.store.put_opts(&path, PutPayload::from(bytes.to_vec()), options);
            let error = match self.wait(put)? {
                Ok(_) => return Ok(true),
                Err(error) => error,
            };
            match self.get(key, bytes.len() as u64) {
                Ok(Some(found)) => return Ok(found == bytes),
                Ok(None) => {}
                // It is longer than these bytes.
                Err(Failed::Damaged(_)) => return Ok(false),
                Err(Failed::Unreached(why)) => return Err(why),
            }
            last = self.told(&error);
            std::thread::sleep(*pause);
        }
        Err(last)
    }

    /// The bytes of an object, which are not loaded if they are more than `most`.
    pub(super) fn get(&self, key: &str, most: u64) -> Result<Option<Vec<u8>>, Failed> {
        let path = self.path(key);
        let got = async {
            let got = self.reached.store.get(&path).await?;
            match got.meta.size > most {
                true => Ok(None),
                false => got.bytes().await.map(|bytes| Some(bytes).filter(|bytes| bytes.len() as u64 <= most)),
            }
        };
        match self.wait(got)? {
            Ok(Some(bytes)) => Ok(Some(bytes.into())),
            Ok(None) => Err(Failed::Damaged(format!("it is longer than {most} bytes"))),
            Err(Failure::NotFound { .. }) => Ok(None),
            Err(error) => Err(Failed::Unreached(self.told(&error))),
        }
    }

    pub(super) fn list(&self, folder: &str, most: usize) -> Result<Vec<String>, Failed> {
        let path = self.path(folder);
        let mut found = self.reached.store.list(Some(&path));
        let mut names = Vec::new();
        while let Some(object) = self.wait(found.next())? {
            let object = object.map_err(|error| self.told(&error))?;
            let name = object.location.prefix_match(&path).and_then(|mut parts| parts.next());
            names.extend(name.map(|name| name.as_ref().to_owned()));
            if names.len() > most {
                return Err(too_many(most));
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Sees that the bucket is there, and that its server refuses to make an object that is there already. Some servers do not look.
    pub(super) fn check(&self) -> Result<(), String> {
        let get = |key: &str| self.get(key, PROBE).map_err(|failed| failed.to_string());
        if get(PROBED)?.is_some() {
            return Ok(());
        }
        let key: String =
            random_bytes::<16>().map_err(|error| error.to_string())?.iter().map(|byte| format!("{byte:02x}")).collect();
        let key = format!("probes/{key}");
        if !self.create(&key, b"first")? || self.create(&key, b"second")? || get(&key)?.as_deref() != Some(b"first") {
            return Err("the server writes over objects that are there, and keeps no results apart".to_owned());
        }
        self.create(PROBED, b"").map(drop)
    }

    fn path(&self, key: &str) -> Path {
        key.split('/').fold(self.reached.prefix.clone(), |path, part| path.join(part))
    }

    /// Waits for a request. A client that panics, as on a credential from a file that is no header, is an error.
    fn wait<T>(&self, request: impl Future<Output = T>) -> Result<T, String> {
        catch_unwind(AssertUnwindSafe(|| self.runtime.block_on(request)))
            .map_err(|_| "a request can't be made: look at the credentials and at the address of the server".to_owned())
    }

    /// An error without secrets, and of a server's answer only its code and its sentence: answers repeat what was sent.
    fn told(&self, error: &Failure) -> String {
        let whole = error.to_string();
        let element = |name: &str| {
            let (_, rest) = whole.split_once(&format!("<{name}>"))?;
            Some(rest.split_once('<')?.0)
        };
        let answer = [element("Code"), element("Message")].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let cut = whole.find(['<', '{', '\n']).unwrap_or(whole.len());
        let head = whole.get(..cut).unwrap_or_default().trim_end_matches([':', ' ']);
        let text = if answer.is_empty() { head.to_owned() } else { format!("{head}: {answer}") };
        let text = text.replace(|c: char| c.is_control(), " ");
        self.reached.secrets.iter().fold(text, |text, secret| secret.taken_out_of(&text))
    }
}
