//! R12: jobs in packs.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spillway_domain::job::Generation;
use spillway_domain::name::{ChannelName, JOB_ID_BYTES_MAX, JobId, NAME_CHARS_MAX};
use spillway_domain::pack::{
    DueJob, OpenPacks, PACK_BYTES_MAX, PACK_JOBS_MAX, Pack, PackEntry, PackKey, packs,
};
use spillway_domain::precision::Lane;
use spillway_domain::time::Instant;

use crate::arbitrary::seeded;

fn key(second: i64, channel: &str, lane: Lane) -> PackKey {
    let channel = ChannelName::new(channel).unwrap();
    PackKey { release_at: Instant::from_millis(second * 1_000), channel, lane }
}

fn entry(id: String, generation: i64) -> PackEntry {
    PackEntry { job_id: JobId::new(id).unwrap(), generation: Generation::from_number(generation) }
}

/// Jobs of a few seconds, channels and lanes, each with an id of its own.
fn due_jobs() -> impl Strategy<Value = Vec<DueJob>> {
    let channel = prop_oneof![9 => Just("inbox"), 1 => Just("bus")];
    let lane = prop::sample::select(&Lane::ALL[..]);
    let key =
        (0_i64..2, channel, lane).prop_map(|(second, channel, lane)| key(second, channel, lane));
    prop::collection::vec((key, 1_i64..4), 0..700).prop_map(|jobs| {
        let due_job = |(number, (key, generation))| DueJob {
            key,
            entry: entry(format!("job-{number}"), generation),
            class: None,
            priority: 1,
        };
        jobs.into_iter().enumerate().map(due_job).collect()
    })
}

fn by_key(jobs: impl Iterator<Item = (PackKey, PackEntry)>) -> BTreeMap<PackKey, Vec<PackEntry>> {
    let mut of_key = BTreeMap::<_, Vec<_>>::new();
    for (key, entry) in jobs {
        of_key.entry(key).or_default().push(entry);
    }
    of_key
}

fn unpacked(packs: Vec<Pack>) -> impl Iterator<Item = (PackKey, PackEntry)> {
    packs
        .into_iter()
        .flat_map(|pack| pack.entries.into_iter().map(move |entry| (pack.key.clone(), entry)))
}

/// The pack as JSON with its fields' names in full: no shorter than any message that carries it.
fn json_bytes(pack: &Pack) -> usize {
    let entries = pack.entries.iter().map(|entry| {
        let id = entry.job_id.as_str().replace('"', "\\\"");
        format!(r#"{{"job_id":"{id}","generation":{}}}"#, entry.generation.number()).len() + 1
    });
    let PackKey { release_at, channel, lane } = &pack.key;
    let head = format!(
        r#"{{"release":{{"release_at":{},"channel":"{channel}","lane":"{}","hops":100,"entries":[]}}}}"#,
        release_at.as_millis(),
        lane.as_str(),
    );
    head.len() + entries.sum::<usize>()
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn every_job_is_in_one_pack_of_its_own_second_channel_and_lane(jobs in due_jobs()) {
        let given = by_key(jobs.iter().map(|job| (job.key.clone(), job.entry.clone())));
        prop_assert_eq!(by_key(unpacked(packs(jobs))), given);
    }

    #[test]
    fn no_pack_is_empty_and_none_holds_more_than_a_hundred_jobs(jobs in due_jobs()) {
        for pack in packs(jobs) {
            prop_assert!((1..=PACK_JOBS_MAX).contains(&pack.entries.len()));
            prop_assert_eq!(pack.hops, 0);
        }
    }

    #[test]
    fn packs_are_as_few_as_a_hundred_jobs_each_allow(jobs in due_jobs()) {
        let of_key = by_key(jobs.iter().map(|job| (job.key.clone(), job.entry.clone())));
        let fewest = of_key.values().map(|entries| entries.len().div_ceil(PACK_JOBS_MAX)).sum::<usize>();
        prop_assert_eq!(packs(jobs).len(), fewest);
    }

    #[test]
    fn flushing_between_jobs_loses_none(jobs in due_jobs(), every in 1_usize..200) {
        let given = by_key(jobs.iter().map(|job| (job.key.clone(), job.entry.clone())));
        let mut open = OpenPacks::default();
        let mut sent = Vec::new();
        for (number, job) in jobs.into_iter().enumerate() {
            sent.extend(open.add(job));
            if number % every == 0 {
                sent.extend(open.flush());
            }
        }
        sent.extend(open.flush());
        prop_assert_eq!(open.flush().count(), 0);
        prop_assert_eq!(by_key(unpacked(sent)), given);
    }

    #[test]
    fn passing_on_counts_a_hop_and_keeps_channel_and_lane(jobs in due_jobs(), second in 0_i64..100) {
        for pack in packs(jobs) {
            let release_at = Instant::from_millis(second * 1_000);
            let passed_on = pack.passed_on(release_at, pack.entries.clone());
            let key = PackKey { release_at, ..pack.key.clone() };
            prop_assert_eq!(passed_on, Pack { key, hops: pack.hops + 1, entries: pack.entries });
        }
    }
}

#[test]
fn a_full_pack_of_the_longest_ids_fits_its_message() {
    let key = key(4_102_444_800, &"c".repeat(NAME_CHARS_MAX), Lane::Movable);
    let job = |n: usize| {
        let id = format!("{n:02}{}", "\"".repeat(JOB_ID_BYTES_MAX - 2));
        DueJob { key: key.clone(), entry: entry(id, i64::MAX), class: None, priority: 1 }
    };
    let packs = packs((0..PACK_JOBS_MAX).map(job));
    assert_eq!(packs.len(), 1);
    let bytes = json_bytes(&packs[0]);
    assert!(bytes > 50_000, "the case is as large as it gets: {bytes}");
    assert!(bytes <= PACK_BYTES_MAX, "{bytes}");
}
