//! The limiter of the channels' rates, in the control table.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use spillway_app::ports::{Limiter, PortError};
use spillway_domain::limiter::{Decision, Leasing, SliceState, Tat, TatMove, TokenRequest};
use spillway_domain::name::ChannelName;

use crate::attributes::{Item, number};
use crate::call_error::out_of_shape;
use crate::control_item;
use crate::expression::{Expression, Written};
use crate::schema::control as name;

/// How often a lease is tried: each of its writes is refused when another dispatcher came in
/// between, and the answer then says which one to try next.
const LEASE_TRIES_MAX: u32 = 8;

/// The limiter's slices, one item each.
#[derive(Clone, Debug)]
pub struct DynamoDbLimiter {
    client: Client,
    table: String,
}

impl DynamoDbLimiter {
    /// Reaches the slices in the control table.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }
}

impl Limiter for DynamoDbLimiter {
    /// Writes under opposite conditions, so that nothing is read and written back: `tat` goes on
    /// from where it is, or starts anew when it lies in the past. What a refused one finds there
    /// decides which is tried next, or that there is no lease.
    async fn lease_tokens(
        &self,
        channel: &ChannelName,
        request: &TokenRequest,
    ) -> Result<Leasing, PortError> {
        let key = control_item::slice_key(channel, request.slice);
        // Where many ask, it lies ahead.
        let mut moves =
            (TatMove::Follow, request.is_kept_from_reserve().then_some(TatMove::Follow));
        for _ in 0..LEASE_TRIES_MAX {
            let (changes, condition) = expressions(moves);
            let update = with_values(Expression::update(changes, condition), moves, request);
            let key = (name::KEY, key.as_str());
            let found =
                match update.run_update(&self.client, &self.table, key, ReturnValue::AllNew).await?
                {
                    Written::Done(item) => {
                        let tat = state(item)?.tat.unwrap_or(Tat::at(request.from));
                        return Ok(Leasing::Leased(request.lease(tat)));
                    }
                    Written::Refused(item) => state(item)?,
                };
            match request.decision(found) {
                Decision::AskAgain(at) => return Ok(Leasing::AskAgain(at)),
                Decision::Lease(of, reserve) => moves = (of, reserve),
            }
        }
        Err(PortError::Transient("other dispatchers lease all the time".into()))
    }
}

fn state(item: Option<Item>) -> Result<SliceState, PortError> {
    control_item::slice_state(item.unwrap_or_default()).map_err(out_of_shape)
}

/// The update of each pair of moves, and its condition.
const fn expressions(moves: (TatMove, Option<TatMove>)) -> (&'static str, &'static str) {
    use TatMove::{Follow, Start};
    match moves {
        (Follow, None) => ("SET #tat = #tat + :span", "#tat BETWEEN :from AND :limit"),
        (Start, None) => ("SET #tat = :start", "attribute_not_exists(#tat) OR #tat < :from"),
        (Follow, Some(Follow)) => (
            "SET #tat = #tat + :span, #movable_tat = #movable_tat + :movable_span",
            "#tat BETWEEN :from AND :limit AND #movable_tat BETWEEN :from AND :limit",
        ),
        (Follow, Some(Start)) => (
            "SET #tat = #tat + :span, #movable_tat = :movable_start",
            "#tat BETWEEN :from AND :limit \
             AND (attribute_not_exists(#movable_tat) OR #movable_tat < :from)",
        ),
        (Start, Some(Follow)) => (
            "SET #tat = :start, #movable_tat = #movable_tat + :movable_span",
            "(attribute_not_exists(#tat) OR #tat < :from) \
             AND #movable_tat BETWEEN :from AND :limit",
        ),
        (Start, Some(Start)) => (
            "SET #tat = :start, #movable_tat = :movable_start",
            "(attribute_not_exists(#tat) OR #tat < :from) \
             AND (attribute_not_exists(#movable_tat) OR #movable_tat < :from)",
        ),
    }
}

/// Gives the placeholders of a pair of moves their values, and no others: a value that no
/// expression names is an error.
fn with_values<'a>(
    update: Expression<'a>,
    (of, reserve): (TatMove, Option<TatMove>),
    request: &TokenRequest,
) -> Expression<'a> {
    let from = Tat::at(request.from);
    let mut update = update.with("from", nanos(from));
    if of == TatMove::Follow || reserve == Some(TatMove::Follow) {
        update = update.with("limit", nanos(request.limit()));
    }
    let span = request.span_nanos();
    update = match of {
        TatMove::Follow => update.with("span", number(span)),
        TatMove::Start => update.with("start", nanos(from.plus_nanos(span))),
    };
    let span = request.movable_span_nanos();
    match reserve {
        None => update,
        Some(TatMove::Follow) => update.with("movable_span", number(span)),
        Some(TatMove::Start) => update.with("movable_start", nanos(from.plus_nanos(span))),
    }
}

fn nanos(tat: Tat) -> AttributeValue {
    number(tat.as_nanos())
}
