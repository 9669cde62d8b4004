//! The providers of buckets: the address of a store, and the standard variables by which its provider is reached.

use std::collections::BTreeMap;

use object_store::{
    BackoffConfig, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, S3ConditionalPut},
    azure::MicrosoftAzureBuilder,
    gcp::GoogleCloudStorageBuilder,
    path::Path,
};
use url::Url;

use super::connection::Connector;
use crate::net::{Secret, Way};

/// A request that was refused for a while is sent so often again.
const RETRIES: usize = 5;

/// The time after which it is not.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Words in the names of variables whose values nobody may see.
const SECRET: &[&str] = &["key", "secret", "token", "password", "credential"];

/// Words in the names of variables with the address of a server.
const SERVERS: &[&str] = &["endpoint", "base_url"];

/// Options that would start a program, or that the store itself decides.
const REFUSED: &[&str] = &["azure_use_azure_cli", "aws_conditional_put"];

/// The providers.
#[derive(Clone, Copy, Debug)]
enum Provider {
    S3,
    GoogleCloudStorage,
    Azure,
}

/// A bucket that can be reached.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) store: Box<dyn ObjectStore>,
    /// The part of all keys that the address gives.
    pub(super) prefix: Path,
    /// The texts that no message may show.
    pub(super) secrets: Vec<Secret>,
}

/// Reaches the bucket of an address; none if the address is of no kind that is known. Nothing is sent yet.
pub(super) fn reach(address: &str, environment: &BTreeMap<String, String>) -> Option<Result<Reached, String>> {
    let (scheme, rest) = address.split_once("://")?;
    let provider = match scheme {
        "s3" => Provider::S3,
        "gs" => Provider::GoogleCloudStorage,
        "az" => Provider::Azure,
        _ => return None,
    };
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || b".-_".contains(&c));
    Some(if is_name(bucket) { provider.reach(bucket, path, environment) } else { Err("it names no bucket".to_owned()) })
}

impl Provider {
    fn reach(self, bucket: &str, path: &str, environment: &BTreeMap<String, String>) -> Result<Reached, String> {
        let prefix = Path::parse(path.trim_end_matches('/')).map_err(|error| error.to_string())?;
        let variables = self.variables(environment)?;
        let has = |words: &[&str], name: &str| words.iter().any(|word| name.contains(word));
        let secrets = variables.iter().filter(|(name, _)| has(SECRET, name)).map(|(_, value)| Secret::new(value));
        let secrets: Vec<Secret> = secrets.filter(|secret| !secret.is_stand_in()).collect();
        let way = Way::of(environment);
        let store = match self {
            Provider::S3 => s3(bucket, &variables, way),
            Provider::GoogleCloudStorage => gcs(bucket, &variables, way),
            Provider::Azure => azure(bucket, &variables, way),
        };
        let store = store.map_err(|error| secrets.iter().fold(error.to_string(), |text, one| one.taken_out_of(&text)));
        Ok(Reached { store: store?, prefix, secrets })
    }

    /// The variables of the provider, in lower case. Empty ones count as unset.
    fn variables(self, environment: &BTreeMap<String, String>) -> Result<Vec<(String, String)>, String> {
        let start = match self {
            Provider::S3 => "AWS_",
            Provider::GoogleCloudStorage => "GOOGLE_",
            Provider::Azure => "AZURE_",
        };
        let mut found = Vec::new();
        for (name, value) in environment.iter().filter(|(name, _)| name.starts_with(start)) {
            let (key, value) = (name.to_ascii_lowercase(), value.trim());
            if value.is_empty() || REFUSED.contains(&key.as_str()) {
                continue;
            }
            // A key in JSON may have several lines.
            if value.chars().any(char::is_control) && !value.starts_with('{') {
                return Err(format!("the variable `{name}` has more than one line"));
            }
            if SERVERS.iter().any(|word| key.contains(word)) && !is_server(value) {
                return Err(format!("the variable `{name}` is no address such as `https://HOST`"));
            }
            found.push((key, value.to_owned()));
        }
        Ok(found)
    }
}

/// True for an address of http or https without user and password.
fn is_server(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    })
}

type Built = object_store::Result<Box<dyn ObjectStore>>;

/// A provider's builder with its variables. What the address says is set afterwards, so that no variable outranks it.
macro_rules! configured {
    ($builder:expr, $variables:expr, $way:expr) => {{
        let builder = $builder.with_retry(retry()).with_http_connector(Connector($way));
        $variables.iter().fold(builder, |builder, (key, value)| match key.parse() {
            Ok(key) => builder.with_config(key, value),
            Err(_) => builder,
        })
    }};
}

fn s3(bucket: &str, variables: &[(String, String)], way: Way) -> Built {
    let builder = configured!(AmazonS3Builder::new(), variables, way);
    Ok(Box::new(builder.with_bucket_name(bucket).with_conditional_put(S3ConditionalPut::ETagMatch).build()?))
}

fn gcs(bucket: &str, variables: &[(String, String)], way: Way) -> Built {
    let builder = configured!(GoogleCloudStorageBuilder::new(), variables, way);
    Ok(Box::new(builder.with_bucket_name(bucket).build()?))
}

fn azure(container: &str, variables: &[(String, String)], way: Way) -> Built {
    let builder = configured!(MicrosoftAzureBuilder::new(), variables, way);
    Ok(Box::new(builder.with_container_name(container).build()?))
}

fn retry() -> RetryConfig {
    RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: PATIENCE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_address_is_a_bucket_and_a_path() {
        let none = BTreeMap::new();
        assert!(reach("file:///x", &none).is_none() && reach("folder", &none).is_none());
        for address in ["s3://", "s3:///x", "s3://a:b@c/x", "s3://:pw@c/x", "s3://bucket:80/x", "s3://b/../x"] {
            assert!(reach(address, &none).unwrap().is_err(), "{address}");
        }
        let reached = reach("s3://bucket/a b/c/", &none).unwrap().unwrap();
        assert_eq!((reached.prefix.as_ref(), reached.store.to_string().as_str()), ("a b/c", "AmazonS3(bucket)"));
    }

    #[test]
    fn the_address_outranks_variables_and_empty_ones_are_unset() {
        let set =
            environment(&[("AWS_BUCKET", "other"), ("AWS_ENDPOINT_URL", " "), ("AWS_CONDITIONAL_PUT", "disabled")]);
        let reached = reach("s3://bucket", &set).unwrap().unwrap();
        assert_eq!(reached.store.to_string(), "AmazonS3(bucket)");
        let set = environment(&[("AZURE_STORAGE_ACCOUNT_NAME", "a"), ("AZURE_CONTAINER_NAME", "other")]);
        assert!(reach("az://bucket", &set).unwrap().unwrap().store.to_string().contains("bucket"));
    }

    #[test]
    fn wrong_variables_are_refused_without_their_values() {
        for (name, value) in [
            ("AWS_ENDPOINT_URL", "127.0.0.1:canary-9000"),
            ("AWS_ENDPOINT_URL", "http://user:canary-1234@127.0.0.1:9000"),
            ("AWS_SESSION_TOKEN", "canary\n1234"),
        ] {
            let why = reach("s3://bucket", &environment(&[(name, value)])).unwrap().unwrap_err();
            assert!(why.contains(name) && !why.contains("canary"), "{why}");
        }
    }
}
