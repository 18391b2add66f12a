use spillway_app::ports::QueueMessage;

/// A pack's fields beside its entries: names, an instant, a channel of 64 characters, a lane, hops.
const PACK_BYTES: usize = 256;
/// An entry's fields beside its id: names, a generation of 20 characters, punctuation.
const ENTRY_BYTES: usize = 64;
/// A record's fields beside its id: names, a generation, an attempt, three instants.
const RECORD_BYTES: usize = 256;

/// Bounds the bytes of a message's body from above, as the domain does when it fills packs: the
/// JSON itself is the business of the adapter that writes it.
pub fn body_bytes(message: &QueueMessage) -> usize {
    match message {
        QueueMessage::Release(pack) => {
            let entries = pack.entries.iter();
            PACK_BYTES
                + entries.map(|entry| ENTRY_BYTES + escaped(entry.job_id.as_str())).sum::<usize>()
        }
        QueueMessage::Record(record) => RECORD_BYTES + escaped(record.job_id.as_str()),
    }
}

/// A quotation mark is the one character of an id that JSON writes as two.
fn escaped(id: &str) -> usize {
    id.len() + id.matches('"').count()
}
