//! The secrets of the webhooks, in Parameter Store.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aws_sdk_ssm::Client;
use spillway_app::ports::{PortError, SecretText, Secrets};
use tokio::sync::Mutex;

use crate::call_error::{CallError, call_error};

/// How long a secret counts as fresh. Parameter Store gives 40 answers a second by default to all
/// functions together.
const FRESH_FOR: Duration = Duration::from_mins(5);
/// How long a call that failed is not made again: an old secret stays in use, or none is had.
const FAILED_FOR: Duration = Duration::from_secs(5);

/// Reads secrets and keeps them. One that cannot be read again stays in use.
#[derive(Debug)]
pub struct SsmSecrets {
    client: Client,
    /// Held while a secret is read, so that the jobs of a pack read it once.
    kept: Mutex<HashMap<String, Kept>>,
}

#[derive(Debug)]
struct Kept {
    secret: Result<SecretText, CallError>,
    until: Instant,
}

impl SsmSecrets {
    /// Reads with `client`.
    pub fn new(client: Client) -> Self {
        Self { client, kept: Mutex::default() }
    }

    async fn read(&self, name: &str) -> Result<SecretText, CallError> {
        let call = self.client.get_parameter().name(name).with_decryption(true);
        let answer = call.send().await.map_err(|error| call_error("GetParameter", error))?;
        let value = answer.parameter.and_then(|parameter| parameter.value);
        let no_value = || CallError::permanent("GetParameter", "the parameter has no value");
        value.map(SecretText::new).ok_or_else(no_value)
    }
}

impl Secrets for SsmSecrets {
    async fn secret(&self, name: &str) -> Result<SecretText, PortError> {
        let mut kept = self.kept.lock().await;
        let old = kept.remove(name);
        let kept_now = match old {
            Some(old) if Instant::now() < old.until => old,
            old => renewed(old, self.read(name).await),
        };
        let secret = kept_now.secret.clone();
        kept.insert(name.to_owned(), kept_now);
        secret.map_err(PortError::from)
    }
}

/// What is kept after a secret was read anew, or was not.
fn renewed(old: Option<Kept>, read: Result<SecretText, CallError>) -> Kept {
    let (secret, kept_for) = match (read, old) {
        (Ok(secret), _) => (Ok(secret), FRESH_FOR),
        (Err(error), Some(Kept { secret: Ok(secret), .. })) => {
            tracing::warn!(?error, "a secret was not read again; the old one stays in use");
            (Ok(secret), FAILED_FOR)
        }
        (Err(error), _) => (Err(error), FAILED_FOR),
    };
    Kept { secret, until: Instant::now() + kept_for }
}
