//! R20: how failed jobs are put back.

use proptest::prelude::*;
use spillway_domain::job::{Generation, Job, State};
use spillway_domain::pack::PackEntry;
use spillway_domain::redrive::{REDRIVE_WINDOW_SECONDS_MAX, Redrive, RedriveWindow, redrive};
use spillway_domain::staging::bucket_minute;
use spillway_domain::time::Instant;

use crate::arbitrary::{instant, job_id, seeded, shard_count, stored_job};

fn window() -> impl Strategy<Value = RedriveWindow> {
    (1..=REDRIVE_WINDOW_SECONDS_MAX)
        .prop_map(|seconds| RedriveWindow::from_seconds(seconds).unwrap())
}

fn entry(job: &Job, later: i64) -> PackEntry {
    let generation = Generation::from_number(job.generation.number() + later);
    PackEntry { job_id: job.id.clone(), generation }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn a_redriven_job_is_released_at_a_whole_second_of_its_window(
        id in job_id(), now in instant(), seconds in 1..=REDRIVE_WINDOW_SECONDS_MAX,
    ) {
        let window = RedriveWindow::from_seconds(seconds).unwrap();
        let release_at = window.release_at(&id, now);
        prop_assert_eq!(release_at, release_at.ceil_to_second());
        let begins_at = now.ceil_to_second();
        prop_assert!(release_at >= begins_at);
        prop_assert!(release_at < begins_at.plus_seconds(i64::from(seconds)));
    }

    #[test]
    fn a_redriven_job_keeps_what_was_asked_and_begins_its_attempts_and_its_expiry_again(
        job in stored_job(), window in window(), now in instant(), shards in shard_count(),
    ) {
        let job = Job { state: State::Failed, bucket: None, ..job };
        let decided = redrive(&entry(&job, 0), Some(&job), window, now, shards);
        let Redrive::Move(again) = decided else { panic!("{decided:?}") };
        prop_assert!(again.release_at >= job.due_at && again.release_at >= now);
        prop_assert_eq!(again.bucket.unwrap().minute, bucket_minute(again.release_at, now));
        let after = job.contract.expires_after_seconds;
        let expires_at = after.map(|after| again.release_at.plus_seconds(i64::from(after)));
        let expected = Job {
            state: State::Scheduled,
            release_at: again.release_at,
            bucket: again.bucket,
            expires_at,
            attempts: 0,
            claim: None,
            finished_at: None,
            redriven_at: Some(now),
            ..job
        };
        prop_assert_eq!(*again, expected);
    }

    #[test]
    fn only_a_failed_job_of_the_entrys_own_life_is_put_back_and_no_unfinished_one_loses_its_entry(
        job in stored_job(), window in window(), later in -1_i64..=1, shards in shard_count(),
    ) {
        let now = Instant::from_millis(0);
        let decided = redrive(&entry(&job, later), Some(&job), window, now, shards);
        let is_own = later == 0;
        let expected_move = is_own && job.state == State::Failed;
        prop_assert_eq!(matches!(decided, Redrive::Move(_)), expected_move);
        let ended_otherwise = is_own && job.state.is_finished() && job.state != State::Failed;
        prop_assert_eq!(decided == Redrive::Drop, later < 0 || ended_otherwise);
    }
}

#[test]
fn redriven_jobs_fill_their_window_evenly() {
    let window = RedriveWindow::from_seconds(60).unwrap();
    let mut counts = [0_u32; 60];
    for number in 0..60_000 {
        let id = spillway_domain::name::JobId::new(format!("job-{number}")).unwrap();
        let place = window.release_at(&id, Instant::from_millis(0)).as_millis() / 1_000;
        counts[usize::try_from(place).unwrap()] += 1;
    }
    // 1,000 each, give or take six standard deviations.
    assert!(counts.iter().all(|count| (810..=1_190).contains(count)), "{counts:?}");
}
