//! The `Idempotency-Key` header.

use axum::http::HeaderMap;
use sha2::{Digest, Sha256};
use spillway_domain::name::JobId;

use crate::problem::{Kind, Problem};

const NAME: &str = "idempotency-key";
/// The most characters of a key, as of a job's id.
const CHARS_MAX: usize = 255;
/// The bytes of the hash that an id shows: 128 bits keep keys apart.
const HASH_BYTES: usize = 16;

/// What a caller names a call, so that the same call again finds the same jobs.
#[derive(Clone, Debug)]
pub(crate) struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Reads the header, if it is there.
    ///
    /// # Errors
    /// 400 unless it is 1 to 255 visible ASCII characters.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let Some(value) = headers.get(NAME) else {
            return Ok(None);
        };
        let key = value.as_bytes();
        let is_good = (1..=CHARS_MAX).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
        let text = String::from_utf8(key.to_vec()).ok().filter(|_| is_good);
        text.map(|text| Some(Self(text))).ok_or_else(|| {
            let detail = "the Idempotency-Key must be 1 to 255 visible ASCII characters";
            Problem::new(Kind::InvalidIdempotencyKey, detail)
        })
    }

    /// Gives the id of the job that a call with this key alone is about.
    pub(crate) fn job_id(&self) -> Result<JobId, Problem> {
        id_of_hash(self.0.as_bytes())
    }

    /// Gives the id of the job at a position of a bulk call. A key has no line break, so that this
    /// is no other key's text.
    pub(crate) fn job_id_at(&self, position: usize) -> Result<JobId, Problem> {
        id_of_hash(format!("{}\n{position}", self.0).as_bytes())
    }
}

fn id_of_hash(text: &[u8]) -> Result<JobId, Problem> {
    let hash = Sha256::digest(text);
    let digits = hash.iter().take(HASH_BYTES).flat_map(|byte| [byte >> 4, byte & 0xf]);
    let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    JobId::new(format!("idem-{hex}")).map_err(Problem::internal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn read(value: &[u8]) -> Result<Option<IdempotencyKey>, Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(NAME, HeaderValue::from_bytes(value).unwrap());
        IdempotencyKey::read(&headers)
    }

    #[test]
    fn an_id_is_the_first_half_of_the_sha_256_of_the_key() {
        // printf abc | sha256sum
        let key = read(b"abc").unwrap().unwrap();
        assert_eq!(key.job_id().unwrap().as_str(), "idem-ba7816bf8f01cfea414140de5dae2223");
    }

    #[test]
    fn positions_of_one_key_and_keys_that_look_like_a_position_have_ids_of_their_own() {
        let (key, other) = (read(b"abc").unwrap().unwrap(), read(b"abc0").unwrap().unwrap());
        let ids = [key.job_id(), key.job_id_at(0), key.job_id_at(1), other.job_id()];
        let ids: std::collections::BTreeSet<_> = ids.into_iter().map(Result::unwrap).collect();
        assert_eq!(ids.len(), 4);
    }

    #[test]
    fn a_key_is_1_to_255_visible_ascii_characters() {
        assert!(IdempotencyKey::read(&HeaderMap::new()).unwrap().is_none());
        assert!(read(&[b'~'; 255]).is_ok());
        for refused in [&b""[..], &[b'a'; 256], b"a b", b"a\tb", "ü".as_bytes(), b"\xff"] {
            assert!(read(refused).is_err(), "{refused:?}");
        }
    }
}
