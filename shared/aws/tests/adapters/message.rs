use proptest::prelude::*;
use spillway_app::ports::{DeadLetter, QueueMessage};
use spillway_aws::message::{
    MessageError, dead_letter_from_json, dead_letter_to_json, from_json, to_json,
};
use spillway_domain::attempt::DeliveryRecord;
use spillway_domain::job::Generation;
use spillway_domain::name::{ChannelName, ClassName};
use spillway_domain::pack::packs;
use spillway_domain::pack::{DueJob, PACK_BYTES_MAX, PACK_JOBS_MAX, Pack, PackEntry, PackKey};
use spillway_domain::precision::Lane;

use crate::sample::{self, NINE};

fn pack(ids: &[&str]) -> Pack {
    let channel = ChannelName::new("inbox").unwrap();
    let entry = |id: &&str| PackEntry {
        job_id: sample::id(id),
        generation: Generation::from_number(1_796_112_000_123),
    };
    Pack {
        key: PackKey { release_at: NINE, channel, lane: Lane::Exact },
        hops: 2,
        entries: ids.iter().map(entry).collect(),
    }
}

fn record() -> DeliveryRecord {
    DeliveryRecord {
        job_id: sample::id("birthday:42"),
        generation: Generation::from_number(7),
        attempts: 1,
        sent_at: NINE,
        delivered_at: NINE.plus_millis(20),
        ttl_at: NINE.plus_seconds(604_800),
    }
}

fn letter(reason: &str) -> DeadLetter {
    DeadLetter {
        job_id: sample::id("birthday:42"),
        generation: Generation::from_number(7),
        channel: ChannelName::new("inbox").unwrap(),
        class: Some(ClassName::new("otp").unwrap()),
        attempts: 5,
        reason: reason.to_owned(),
        failed_at: NINE,
    }
}

#[test]
fn a_release_is_written_like_this() {
    let json = to_json(&QueueMessage::Release(pack(&["birthday:42", "a\"b"])));
    assert_eq!(
        json,
        "{\"kind\":\"release\",\"release_at\":1796115600000,\"channel\":\"inbox\",\
         \"lane\":\"exact\",\"hops\":2,\
         \"jobs\":[[\"birthday:42\",1796112000123],[\"a\\\"b\",1796112000123]]}"
    );
}

#[test]
fn a_record_is_written_like_this() {
    let json = to_json(&QueueMessage::Record(record()));
    assert_eq!(
        json,
        "{\"kind\":\"record\",\"job_id\":\"birthday:42\",\"generation\":7,\"attempts\":1,\
         \"sent_at\":1796115600000,\"delivered_at\":1796115600020,\"ttl_at\":1796720400000}"
    );
}

proptest! {
    #[test]
    fn a_release_is_read_back_as_it_was_written(
        ids in prop::collection::vec(sample::ids(), 0..20),
        hops in any::<u32>(),
        generation in any::<i64>(),
    ) {
        let mut pack = pack(&[]);
        let generation = Generation::from_number(generation);
        pack.hops = hops;
        pack.entries = ids.into_iter().map(|job_id| PackEntry { job_id, generation }).collect();
        let message = QueueMessage::Release(pack);
        prop_assert_eq!(from_json(&to_json(&message)).unwrap(), message);
    }

    #[test]
    fn a_dead_letter_is_read_back_as_it_was_written(reason in any::<String>()) {
        let letter = letter(&reason);
        prop_assert_eq!(dead_letter_from_json(&dead_letter_to_json(&letter)).unwrap(), letter);
    }
}

#[test]
fn a_record_is_read_back_as_it_was_written() {
    let message = QueueMessage::Record(record());
    assert_eq!(from_json(&to_json(&message)).unwrap(), message);
}

#[test]
fn characters_that_sqs_refuses_are_written_as_escapes() {
    let message = QueueMessage::Release(pack(&["a\u{fffe}\u{ffff}b"]));
    let json = to_json(&message);
    assert!(json.contains("a\\ufffe\\uffffb"), "{json}");
    assert_eq!(from_json(&json).unwrap(), message);
}

#[test]
fn a_body_of_no_known_shape_is_an_error() {
    let bodies = [
        "",
        "null",
        "[]",
        "not json",
        r#"{"release_at":0}"#,
        r#"{"kind":"wake"}"#,
        r#"{"kind":"release","release_at":0,"channel":"inbox","lane":"exact","hops":0}"#,
        r#"{"kind":"release","release_at":0,"channel":"inbox","lane":"exact","hops":-1,"jobs":[]}"#,
        r#"{"kind":"release","release_at":"0","channel":"inbox","lane":"exact","hops":0,"jobs":[]}"#,
        r#"{"kind":"release","release_at":0,"channel":"a","lane":"exact","hops":0,"jobs":[["a"]]}"#,
        r#"{"kind":"record","job_id":"a","generation":1}"#,
    ];
    for body in bodies {
        assert!(matches!(from_json(body), Err(MessageError::Shape(_))), "{body}");
    }
}

#[test]
fn a_body_with_an_impossible_value_is_an_error_that_names_the_field() {
    let release = |channel: &str, lane: &str, id: &str| {
        format!(
            r#"{{"kind":"release","release_at":0,"channel":"{channel}","lane":"{lane}","hops":0,"jobs":[["{id}",1]]}}"#
        )
    };
    let cases = [
        (release("In Box", "exact", "a"), "channel"),
        (release("inbox", "fast", "a"), "lane"),
        (release("inbox", "exact", "a b"), "jobs"),
    ];
    for (body, name) in cases {
        match from_json(&body) {
            Err(MessageError::Field { field, .. }) => assert_eq!(field, name),
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn the_fullest_packs_stay_below_what_sqs_bills_as_one_request() {
    let longest = "n".repeat(64);
    let ids: [fn(usize) -> String; 4] = [
        |number| format!("{number:03}{}", "\"".repeat(252)),
        |number| format!("{number:03}{}", "x".repeat(252)),
        |number| format!("{number:03}{}", "\u{fffe}".repeat(84)),
        |number| number.to_string(),
    ];
    for id in ids {
        let jobs = (0..250).map(|number| DueJob {
            key: PackKey {
                release_at: NINE,
                channel: ChannelName::new(longest.clone()).unwrap(),
                lane: Lane::Movable,
            },
            entry: PackEntry {
                job_id: sample::id(&id(number)),
                generation: Generation::from_number(i64::MAX),
            },
            class: None,
            priority: 1,
        });
        for mut pack in packs(jobs) {
            pack.hops = u32::MAX;
            assert!(pack.entries.len() <= PACK_JOBS_MAX);
            let bytes = to_json(&QueueMessage::Release(pack)).len();
            assert!(bytes <= PACK_BYTES_MAX, "{bytes}");
        }
    }
}
