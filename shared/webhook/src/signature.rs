//! The signature of the Standard Webhooks scheme.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What the scheme writes before a secret.
const SECRET_PREFIX: &str = "whsec_";
/// How many bytes the scheme wants a secret to have.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// What the scheme writes before a signature by HMAC-SHA256.
const SIGNATURE_PREFIX: &str = "v1,";

/// Says that a parameter does not hold secrets of the scheme. It tells nothing of what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be whsec_ and 24 to 64 bytes in base64; several are separated by spaces")]
pub struct SecretError;

/// Signs a body: the value of the header `webhook-signature`, one signature for each secret of
/// `secrets`. While a secret is replaced, the parameter holds the new one and the old one,
/// separated by a space, and receivers take whichever they know.
///
/// ```
/// use spillway_webhook::signature::signature;
/// let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// let signature = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
/// assert_eq!(signature.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
/// ```
pub fn signature(
    secrets: &str,
    id: &str,
    timestamp_seconds: i64,
    body: &str,
) -> Result<String, SecretError> {
    let signed = format!("{id}.{timestamp_seconds}.{body}");
    let signatures = secrets.split_whitespace().map(|secret| {
        let key = key(secret)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| SecretError)?;
        mac.update(signed.as_bytes());
        Ok(format!("{SIGNATURE_PREFIX}{}", STANDARD.encode(mac.finalize().into_bytes())))
    });
    let signatures = signatures.collect::<Result<Vec<_>, SecretError>>()?;
    if signatures.is_empty() { Err(SecretError) } else { Ok(signatures.join(" ")) }
}

fn key(secret: &str) -> Result<Vec<u8>, SecretError> {
    let text = secret.strip_prefix(SECRET_PREFIX).ok_or(SecretError)?;
    let key = STANDARD.decode(text).map_err(|_| SecretError)?;
    if SECRET_BYTES.contains(&key.len()) { Ok(key) } else { Err(SecretError) }
}
