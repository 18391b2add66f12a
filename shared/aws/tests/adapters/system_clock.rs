use spillway_app::ports::Clock;
use spillway_aws::system_clock::SystemClock;
use spillway_domain::time::Instant;

#[tokio::test]
async fn a_wait_never_ends_before_its_instant_by_the_same_clock() {
    for step in 0..40 {
        let at = SystemClock.now().plus_millis(step % 7);
        SystemClock.sleep_until(at).await;
        assert!(SystemClock.now() >= at);
    }
}

#[tokio::test]
async fn a_wait_for_the_past_is_over_at_once() {
    SystemClock.sleep_until(Instant::from_millis(-1)).await;
    SystemClock.sleep_until(SystemClock.now().plus_seconds(-3_600)).await;
}
