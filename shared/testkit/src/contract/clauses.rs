//! The lists of the clauses, and the macros that make a test of each.

/// Makes a test of every clause about the jobs table and its index. The argument is the path of a
/// function that is given a clause's name and the clause:
/// `fn run(clause: &str, holds: impl AsyncFnOnce(&Table))` with `Table: JobsTable`.
/// The example is in [`contract`](crate::contract).
#[macro_export]
macro_rules! jobs_contract {
    ($run:path) => {
        $crate::clause_tests!($run, intake: [
            a_row_that_was_never_written_is_none,
            a_created_row_is_read_as_it_was_written,
            a_known_id_is_not_created_again,
            of_ten_creations_at_once_one_is_done,
            a_reschedule_replaces_a_waiting_row,
            a_reschedule_forgets_refused_attempts,
            a_reschedule_of_another_generation_is_refused,
            a_reschedule_of_a_claimed_row_is_refused,
            a_reschedule_of_a_row_that_may_have_been_sent_is_refused,
            a_reschedule_of_a_finished_row_is_refused,
            a_reschedule_without_a_row_is_refused,
            of_ten_reschedules_at_once_one_is_done,
            a_cancel_ends_a_waiting_row,
            a_cancelled_row_still_says_that_it_may_have_been_sent,
            a_cancel_of_another_generation_is_refused,
            a_cancel_of_a_claimed_row_is_refused,
            a_cancel_of_a_finished_row_is_refused,
            a_cancel_without_a_row_is_refused,
            of_a_cancel_and_a_claim_at_once_one_is_done,
        ]);
        $crate::clause_tests!($run, holding: [
            a_claim_takes_a_waiting_row_and_answers_it,
            of_ten_claims_at_once_one_is_done,
            a_claim_of_another_generation_is_refused,
            a_claim_without_a_row_is_refused,
            a_claim_is_early_by_a_second_and_a_half_at_most,
            a_claim_of_a_held_row_is_refused,
            a_claim_that_ran_out_is_taken_over_and_marked,
            a_claim_keeps_the_mark_of_an_earlier_attempt,
            a_claim_beyond_the_attempts_is_refused,
            a_claim_of_a_finished_row_is_refused,
            a_repeated_claim_is_refused_and_shows_its_own_token,
            giving_back_takes_the_attempt_back,
            only_the_holder_gives_back,
            a_retry_lets_the_job_wait_for_its_next_attempt,
            only_the_holder_retries,
            a_repeated_retry_does_not_revive_a_cancelled_job,
            a_waiting_job_returns_to_the_table,
            a_return_to_an_earlier_release_is_refused,
            only_a_waiting_row_returns_to_the_table,
        ]);
        $crate::clause_tests!($run, endings: [
            a_delivery_ends_a_claimed_row,
            a_delivery_needs_no_token,
            a_delivery_overrides_failed_and_expired,
            a_delivery_does_not_override_a_cancel_or_a_delivery,
            a_delivery_of_another_generation_is_refused,
            no_ending_creates_a_row,
            a_failure_ends_the_holders_row,
            a_failed_row_still_says_that_it_may_have_been_sent,
            a_failure_of_one_who_does_not_hold_is_refused,
            a_run_out_claim_without_attempts_left_has_failed,
            a_claim_with_time_or_attempts_left_has_not_failed,
            a_row_that_nobody_holds_expires,
            a_row_does_not_expire_before_its_time,
            a_row_that_is_held_or_over_does_not_expire,
        ]);
        $crate::clause_tests!($run, redrives: [
            a_redrive_puts_a_failed_row_back,
            a_redriven_row_that_never_expired_still_does_not,
            a_redrive_takes_no_mark_away,
            a_redriven_row_begins_its_attempts_again_and_ends_like_any_other,
            a_redrive_of_a_row_that_has_not_failed_is_refused,
            a_redrive_of_another_generation_is_refused,
            a_redrive_without_a_row_is_refused,
            of_ten_redrives_at_once_one_is_done,
            a_redriven_job_is_in_its_new_bucket,
        ]);
        $crate::clause_tests!($run, index: [
            an_unfinished_job_is_in_its_bucket,
            a_finished_job_leaves_the_index,
            a_rescheduled_job_moves_to_its_new_bucket,
            a_retried_job_moves_to_the_bucket_of_its_next_attempt,
            a_returned_job_moves_to_its_new_bucket,
            a_bucket_is_read_in_order_of_release,
            a_page_goes_on_after_the_job_that_it_is_given,
            a_bucket_without_jobs_is_empty,
        ]);
    };
}

/// Makes a test of every clause about the control table, as [`jobs_contract!`](crate::jobs_contract)
/// does: `fn run(clause: &str, holds: impl AsyncFnOnce(&Table))` with `Table: ControlTable`.
#[macro_export]
macro_rules! control_contract {
    ($run:path) => {
        $crate::clause_tests!($run, control: [
            a_new_stack_has_no_staging_state,
            the_watermark_moves_forward_alone,
            the_visits_are_read_as_they_were_written,
            an_older_run_does_not_write_its_visits,
            of_two_runs_at_once_one_writes_its_visits,
            the_shard_counts_are_read_as_they_were_written,
            an_older_run_does_not_write_its_shard_counts,
            of_two_runs_at_once_one_writes_its_shard_counts,
        ]);
        $crate::clause_tests!($run, units: [
            a_plan_is_written_once,
            a_plan_is_read_as_it_was_written,
            the_largest_plan_is_stored_whole,
            of_two_plans_at_once_one_is_in_force,
            a_split_is_written_once,
            of_two_splits_at_once_one_is_in_force,
            a_lease_is_held_until_it_runs_out,
            of_ten_runs_at_once_one_takes_the_lease,
            a_run_takes_its_own_lease_again,
            a_unit_that_was_left_is_taken_at_once,
            a_unit_that_is_done_is_leased_to_nobody,
            a_checkpoint_outlives_its_holder,
            progress_of_a_former_holder_is_refused,
            progress_of_a_unit_that_nobody_took_is_refused,
            repeated_progress_is_answered_as_the_first,
        ]);
        $crate::clause_tests!($run, pace: [
            a_new_stack_has_reserved_no_time,
            reservations_follow_one_another,
            a_reservation_begins_now_when_what_is_reserved_is_past,
            a_reservation_begins_at_the_last_instant_at_the_latest,
            no_reservation_begins_when_the_last_instant_is_past,
            of_five_reservations_at_once_no_two_overlap,
        ]);
        $crate::clause_tests!($run, limiter: [
            the_first_lease_begins_when_it_is_wanted,
            leases_follow_one_another,
            a_lease_begins_when_it_is_wanted_where_the_last_one_is_past,
            no_lease_begins_beyond_its_lanes_limit,
            movable_work_stands_behind_exact_work,
            movable_work_leaves_the_reserve_to_exact_work,
            channels_and_slices_have_tokens_of_their_own,
            of_five_leases_at_once_no_two_overlap,
        ]);
        $crate::clause_tests!($run, policy: [
            a_new_stack_has_no_stored_policy,
            stored_policies_are_counted_from_one,
            a_policy_made_from_another_version_is_not_stored,
            of_two_policies_at_once_one_is_stored,
            a_waiting_job_is_found_by_its_class_and_its_channel,
            a_finished_job_waits_for_nothing,
        ]);
    };
}

/// Makes a test of every clause about the queues, as [`jobs_contract!`](crate::jobs_contract) does:
/// `fn run(clause: &str, holds: impl AsyncFnOnce(&Lanes))` with `Lanes: Queues`.
#[macro_export]
macro_rules! queue_contract {
    ($run:path) => {
        $crate::clause_tests!($run, queue: [
            a_batch_arrives_as_it_was_sent,
            ten_of_the_largest_packs_fit_into_a_batch,
            a_record_arrives_as_it_was_sent,
            each_lane_has_a_queue_of_its_own,
            a_delayed_message_arrives,
            an_empty_batch_has_no_answers,
            the_depth_counts_waiting_messages_alone,
        ]);
        $crate::clause_tests!($run, dead_letters: [
            an_entry_is_received_as_it_was_sent,
            each_lane_has_a_dead_letter_queue_of_its_own,
            at_most_ten_entries_are_received_at_once,
            a_received_entry_is_hidden_and_comes_again,
            a_deleted_entry_does_not_come_again,
            deleting_again_is_safe,
        ]);
    };
}

/// Makes a test of each clause of one part.
#[doc(hidden)]
#[macro_export]
macro_rules! clause_tests {
    ($run:path, $part:ident: [$($clause:ident),+ $(,)?]) => {
        mod $part {
            // The caller's function may be named from where the macro stands.
            #[allow(unused_imports)]
            use super::*;

            $(
                #[test]
                fn $clause() {
                    $run(stringify!($clause), async |ports| {
                        $crate::contract::$part::$clause(ports).await;
                    });
                }
            )+
        }
    };
}
