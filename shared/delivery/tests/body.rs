//! The form that every channel gets.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use spillway_app::ports::Delivery;
use spillway_delivery::{body, delivery_id, rfc_3339};
use spillway_domain::name::{ClassName, JobId};
use spillway_domain::spec::Payload;
use spillway_domain::time::Instant;

/// 2026-12-01T09:00:00Z.
const NINE: Instant = Instant::from_millis(1_796_115_600_000);

fn delivery(id: &str, payload: &str) -> Delivery {
    Delivery {
        job_id: JobId::new(id).unwrap(),
        created_at: NINE.plus_seconds(-3_600),
        requested_at: NINE,
        due_at: NINE,
        sent_at: NINE.plus_millis(3),
        class: None,
        attempt: 1,
        payload: Payload::from_canonical_json(payload).unwrap(),
    }
}

#[test]
fn a_delivery_is_written_like_this() {
    let mut delivery = delivery("birthday:42", r#"{"user":1.50}"#);
    delivery.class = Some(ClassName::new("otp").unwrap());
    delivery.attempt = 2;
    let id = delivery_id(&delivery.job_id, delivery.created_at);
    let expected = format!(
        "{{\"job_id\":\"birthday:42\",\"delivery_id\":\"{id}\",\
         \"requested_at\":\"2026-12-01T09:00:00.000Z\",\"due_at\":\"2026-12-01T09:00:00.000Z\",\
         \"sent_at\":\"2026-12-01T09:00:00.003Z\",\"class\":\"otp\",\"attempt\":2,\
         \"payload\":{{\"user\":1.50}}}}"
    );
    assert_eq!(body(&delivery).unwrap(), expected);
}

#[test]
fn a_job_without_a_class_says_so() {
    let json = body(&delivery("a", "null")).unwrap();
    assert!(json.contains("\"class\":null"), "{json}");
}

#[test]
fn the_delivery_id_is_the_same_over_attempts_and_another_for_another_life_of_the_id() {
    let id = JobId::new("a").unwrap();
    assert_eq!(delivery_id(&id, NINE), delivery_id(&id, NINE));
    assert_ne!(delivery_id(&id, NINE), delivery_id(&id, NINE.plus_millis(1)));
    assert_eq!(delivery_id(&id, NINE).len(), 64);
}

#[test]
fn a_payload_that_is_not_json_is_refused() {
    assert!(body(&delivery("a", "{")).is_err());
    assert!(body(&delivery("a", "1 2")).is_err());
}

#[test]
fn instants_are_written_to_the_millisecond_in_utc() {
    let cases = [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_796_115_600_250, "2026-12-01T09:00:00.250Z"),
        (i64::MAX, "9999-12-30T22:00:00.999Z"),
    ];
    for (millis, text) in cases {
        assert_eq!(rfc_3339(Instant::from_millis(millis)), text);
    }
}
