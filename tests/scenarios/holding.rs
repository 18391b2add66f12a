//! Never early: by the sender's clock against the row, whatever the other clocks say.

use spillway_domain::precision::Lane;
use spillway_domain::spec::JobSpec;
use spillway_testkit::build::{at, class, job_spec};
use spillway_testkit::{Dice, Quirks};

use crate::service::Service;

#[test]
fn jobs_of_every_class_leave_within_their_windows_under_skewed_clocks() {
    for skew_millis in [-2_000, -500, 0, 500, 2_000] {
        let service = Service::at(at("2026-12-01T08:40:00Z"));
        let mut driver = service.outside.driver();
        service.start_ticks(&driver);
        for lane in Lane::ALL {
            let seed = u64::try_from(skew_millis + 2_000).unwrap();
            let quirks = Quirks {
                dice: Dice::from_seed(seed),
                doubled_per_mille: 100,
                doubled_within_millis: 5_000,
                late_millis_max: 900,
                is_shuffled: true,
            };
            service.outside.queue.set_quirks(lane, quirks);
            service.start_dispatch_on(&driver, lane, skew_millis);
        }
        let names = ["otp", "alert", "deadline", "reminder", "birthday", "transactional"];
        let jobs = (0..300).map(|number| {
            let spec = job_spec(at("2026-12-01T09:00:00Z").plus_millis(number * 17));
            let class = class(names[usize::try_from(number).unwrap() % names.len()]);
            (format!("job-{number}"), JobSpec { class: Some(class), ..spec })
        });
        driver.run(service.accept(jobs.collect()));
        driver.run_for_seconds(3_600);
        service.assert_each_delivered_once();
        for arrival in service.outside.channel.arrivals() {
            let job = service.outside.store.job(arrival.delivery.job_id.as_str()).unwrap();
            assert!(arrival.delivery.sent_at >= job.times().earliest_at, "{job:?}");
        }
    }
}

#[test]
fn an_exact_job_leaves_on_its_second_when_its_message_is_in_time() {
    let service = Service::at(at("2026-12-01T08:50:00Z"));
    let mut driver = service.outside.driver();
    service.start_ticks(&driver);
    service.start_dispatch(&driver);
    let jobs = (0..200).map(|number| {
        let requested_at = at("2026-12-01T09:00:00Z").plus_millis(number * 333);
        (format!("job-{number}"), job_spec(requested_at))
    });
    driver.run(service.accept(jobs.collect()));
    driver.run_for_seconds(1_200);
    service.assert_each_delivered_once();
    for arrival in service.outside.channel.arrivals() {
        assert_eq!(arrival.delivery.sent_at, arrival.delivery.due_at);
    }
}
