use std::fmt;

use super::PortError;

/// A secret's text. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Gives the secret out.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(…)")
    }
}

/// The secrets that sign what goes to webhooks.
pub trait Secrets: Send + Sync {
    /// Reads the secret that the parameter `name` holds. It may be some minutes old.
    fn secret(&self, name: &str) -> impl Future<Output = Result<SecretText, PortError>> + Send;
}
