//! Jobs that their channels refuse, and an operator who puts them back.

use spillway_domain::redrive::RedriveWindow;
use spillway_domain::time::Instant;
use spillway_testkit::{Dice, Reply};

use super::{Call, What, Workload, Writer, millis};

/// Tells these draws from the rest of the run, which is the same with them and without.
const SALT: u64 = 0x5ED5_1FE7;
/// How many runs of 1,000 have a channel that refuses.
const REFUSING_PER_MILLE: u16 = 300;
/// How many of the others have an operator who looks for failed jobs.
const REDRIVEN_PER_MILLE: u16 = 300;
/// The windows of redrives, in seconds: released at once, staged by the redrive, left to the ticks.
const WINDOWS: [u32; 5] = [1, 5, 40, 240, 900];
/// How long faults go on after the last redrive, in seconds.
const FAULTS_GO_ON_SECONDS: i64 = 60;

/// How a channel takes the first deliveries of a job, one after another.
pub(in crate::faults) type Refusals = Vec<(usize, Vec<Reply>)>;

impl Workload {
    /// Adds, to some runs, jobs that are refused until they have failed, and redrives.
    pub(in crate::faults) fn with_failures(mut self, seed: u64) -> Self {
        let mut dice = Dice::from_seed(seed ^ SALT);
        let is_refusing = dice.is_hit(REFUSING_PER_MILLE);
        if is_refusing {
            self.refuse(&mut dice);
        }
        if is_refusing || dice.is_hit(REDRIVEN_PER_MILLE) {
            self.redrive(&mut dice);
        }
        self
    }

    /// Jobs of a few seconds, each refused for good once or twice, or for now until it has failed.
    fn refuse(&mut self, dice: &mut Dice) {
        let mut writer = Writer::new(dice, self.began_at, self.lookahead_seconds);
        writer.job_count = self.job_count;
        for _ in 0..5 + writer.dice.below(15) {
            let requested_at = writer.requested_between(30, 400);
            let asked = writer.asked();
            let job = writer.new_job(requested_at, asked);
            let often = usize::try_from(self.attempts_max).unwrap_or(1);
            let replies = match writer.dice.below(4) {
                0 => vec![Reply::Refuse; often],
                1 => vec![Reply::RefuseForGood; 2],
                _ => vec![Reply::RefuseForGood],
            };
            self.refusals.push((job.0, replies));
            let at = writer.between(0, 60);
            writer.accept(at, vec![job]);
        }
        self.job_count = writer.job_count;
        let (calls, last_at) = (writer.calls, writer.last_at);
        self.calls.extend(calls);
        self.quiet_at = self.quiet_at.max(last_at.plus_seconds(FAULTS_GO_ON_SECONDS));
    }

    fn redrive(&mut self, dice: &mut Dice) {
        let span = u64::try_from(self.quiet_at.millis_since(self.began_at)).unwrap_or(1);
        for _ in 0..2 + dice.below(4) {
            let at: Instant = self.began_at.plus_millis(millis(dice.below(span)));
            let window = RedriveWindow::from_seconds(WINDOWS[dice.place(WINDOWS.len())]);
            let tries = 1 + u32::try_from(dice.below(2)).unwrap_or(0);
            self.calls.extend(window.map(|window| Call { at, what: What::Redrive(window), tries }));
        }
    }
}
