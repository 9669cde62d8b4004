//! A store in a bucket of S3, Google Cloud Storage or Azure, and of servers that speak their protocols.

use std::{collections::BTreeMap, time::Duration};

use object_store::{
    BackoffConfig, Error as Failure, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig,
    aws::{AmazonS3Builder, S3ConditionalPut},
    azure::MicrosoftAzureBuilder,
    gcp::GoogleCloudStorageBuilder,
    path::Path,
};
use tokio::runtime::{Builder, Runtime};
use url::Url;

use super::connection::Connector;
use crate::system::net::Way;

/// A request is tried so often again.
const RETRIES: usize = 5;

/// The time after which no request is tried again.
const PATIENCE: Duration = Duration::from_secs(60);

/// A bucket with objects.
#[derive(Debug)]
pub(super) struct Bucket {
    store: Box<dyn ObjectStore>,
    /// The part of all keys that the address gives.
    prefix: Path,
    runtime: Runtime,
}

impl Bucket {
    /// The bucket at an address; none if the address is of no kind that is known. Credentials and servers come from the standard
    /// variables: those that begin with `AWS_`, `GOOGLE_` or `AZURE_`. Nothing is sent yet.
    pub(super) fn at(address: &str, environment: &BTreeMap<String, String>) -> Option<Result<Self, String>> {
        let url = Url::parse(address).ok()?;
        let build = match url.scheme() {
            "s3" => s3,
            "gs" => gcs,
            "az" => azure,
            _ => return None,
        };
        let open = || {
            let host = url.host_str().filter(|host| !host.is_empty()).ok_or("it names no bucket")?;
            if url.query().is_some() || url.fragment().is_some() || url.port().is_some() || !url.username().is_empty() {
                return Err("it has more than a bucket and a path".to_owned());
            }
            let prefix = Path::from_url_path(url.path()).map_err(|error| error.to_string())?;
            let store = build(host, environment).map_err(|error| error.to_string())?;
            let runtime = Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
            Ok(Bucket { store, prefix, runtime })
        };
        Some(open())
    }

    /// Makes an object; false if there is one of that key with other bytes.
    ///
    /// The answer to a request that succeeded can be lost. The bytes that are there tell.
    pub(super) fn create(&self, key: &str, bytes: &[u8]) -> Result<bool, String> {
        let path = self.path(key);
        let put = || {
            let options = PutOptions::from(PutMode::Create);
            self.runtime.block_on(self.store.put_opts(&path, PutPayload::from(bytes.to_vec()), options))
        };
        for is_last in [false, true] {
            let error = match put() {
                Ok(_) => return Ok(true),
                Err(error) => error,
            };
            let is_taken = matches!(error, Failure::AlreadyExists { .. } | Failure::Precondition { .. });
            match self.get(key) {
                Ok(Some(found)) => return Ok(found == bytes),
                Ok(None) if !is_last => {}
                Err(error) if is_taken => return Err(error),
                Ok(None) | Err(_) => return Err(error.to_string()),
            }
        }
        Ok(false)
    }

    pub(super) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let path = self.path(key);
        let got = async { self.store.get(&path).await?.bytes().await };
        match self.runtime.block_on(got) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(Failure::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, String> {
        let path = self.path(folder);
        let listed = self.runtime.block_on(self.store.list_with_delimiter(Some(&path)));
        let listed = listed.map_err(|error| error.to_string())?;
        let names = listed.objects.iter().map(|object| &object.location).chain(&listed.common_prefixes);
        let mut names: Vec<String> = names.filter_map(|path| path.filename().map(str::to_owned)).collect();
        names.sort();
        Ok(names)
    }

    fn path(&self, key: &str) -> Path {
        key.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }
}

type Built = object_store::Result<Box<dyn ObjectStore>>;

/// A provider's store, by its variables.
macro_rules! built {
    ($builder:expr, $start:literal, $environment:expr) => {{
        let builder = $builder.with_retry(retry()).with_http_connector(Connector(Way::of($environment)));
        let builder = variables($start, $environment).fold(builder, |builder, (key, value)| match key.parse() {
            Ok(key) => builder.with_config(key, value),
            Err(_) => builder,
        });
        Ok(Box::new(builder.build()?))
    }};
}

fn s3(bucket: &str, environment: &BTreeMap<String, String>) -> Built {
    let builder = AmazonS3Builder::new().with_conditional_put(S3ConditionalPut::ETagMatch);
    built!(builder.with_bucket_name(bucket), "AWS_", environment)
}

fn gcs(bucket: &str, environment: &BTreeMap<String, String>) -> Built {
    built!(GoogleCloudStorageBuilder::new().with_bucket_name(bucket), "GOOGLE_", environment)
}

fn azure(container: &str, environment: &BTreeMap<String, String>) -> Built {
    built!(MicrosoftAzureBuilder::new().with_container_name(container), "AZURE_", environment)
}

/// The variables of a provider, in lower case.
fn variables<'e>(
    start: &'e str,
    environment: &'e BTreeMap<String, String>,
) -> impl Iterator<Item = (String, String)> + 'e {
    let own = environment.iter().filter(move |(name, _)| name.starts_with(start));
    own.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
}

fn retry() -> RetryConfig {
    RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: PATIENCE }
}
