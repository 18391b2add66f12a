//! JSON as SQS can carry it.

use serde::Serialize;

/// Writes JSON that every SQS message may hold. U+FFFE and U+FFFF are legal in JSON, and so in a
/// job's id, but SQS refuses a message that holds one; both stand only inside strings, where they
/// can be written as escapes.
#[expect(clippy::expect_used, reason = "structs of strings and numbers are always JSON")]
pub(crate) fn to_json<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("a value that is JSON");
    if json.contains(['\u{fffe}', '\u{ffff}']) {
        json.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
    } else {
        json
    }
}
