//! Decides from the seed alone what goes wrong.

use std::collections::{BTreeMap, BTreeSet};

use spillway_testkit::Dice;

use super::kind::{Fired, Kind, Place};
use super::mix::Mix;

/// What is left out of a run, to find out what its failure needs.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The jobs that are handed in; none: all.
    pub jobs: Option<BTreeSet<usize>>,
    /// The kinds of faults that do not happen.
    pub without: BTreeSet<Kind>,
    /// The faults that happen; none: all.
    pub only: Option<BTreeSet<(Kind, Place)>>,
}

impl Filter {
    fn lets(&self, kind: Kind, place: Place) -> bool {
        !self.without.contains(&kind)
            && self.only.as_ref().is_none_or(|only| only.contains(&(kind, place)))
    }

    pub(super) fn has_kind(&self, kind: Kind) -> bool {
        !self.without.contains(&kind)
    }

    pub(super) fn has_job(&self, number: usize) -> bool {
        self.jobs.as_ref().is_none_or(|jobs| jobs.contains(&number))
    }
}

/// What goes wrong in a run. Every decision is a function of the seed and of its place, so that
/// leaving one fault or one job out changes no other decision.
#[derive(Debug)]
pub(super) struct Chance {
    seed: u64,
    pub(super) mix: Mix,
    filter: Filter,
    counts: BTreeMap<(u16, u64), u32>,
    is_quiet: bool,
    pub(super) fired: Vec<Fired>,
}

impl Chance {
    pub(super) fn new(seed: u64, mix: Mix, filter: Filter) -> Self {
        let (counts, fired) = (BTreeMap::new(), Vec::new());
        Self { seed, mix, filter, counts, is_quiet: false, fired }
    }

    /// Lets nothing go wrong any more.
    pub(super) const fn be_quiet(&mut self) {
        self.is_quiet = true;
    }

    /// Gives the place of the next thing of a sort that happens to a subject, and the dice for it.
    pub(super) fn next(&mut self, what: u16, subject: &str) -> (Place, Dice) {
        let subject = hash(subject);
        let nth = self.counts.entry((what, subject)).or_default();
        *nth += 1;
        let place = Place { what, subject, nth: *nth };
        (place, self.dice_at(place))
    }

    fn dice_at(&self, place: Place) -> Dice {
        let mut dice = Dice::from_seed(self.seed ^ place.subject.rotate_left(17));
        let salt = u64::from(place.what) << 32 | u64::from(place.nth);
        let mut dice = Dice::from_seed(dice.number() ^ salt);
        Dice::from_seed(dice.number())
    }

    /// Draws one of the kinds, or none.
    pub(super) fn draw(&self, kinds: &[Kind], place: Place, dice: &mut Dice) -> Option<Kind> {
        let mut point = dice.below(10_000);
        if self.is_quiet {
            return None;
        }
        for kind in kinds {
            let rate = u64::from(self.mix.rate(*kind));
            if point < rate {
                return self.filter.lets(*kind, place).then_some(*kind);
            }
            point -= rate;
        }
        None
    }

    /// Tells whether a fault that is due may happen.
    pub(super) fn lets(&self, kind: Kind, place: Place) -> bool {
        !self.is_quiet && self.filter.lets(kind, place)
    }

    pub(super) fn fire(&mut self, kind: Kind, place: Place, text: String) {
        self.fired.push(Fired { kind, place, text });
    }
}

/// A small, fast hash that is the same on every machine (FNV-1a).
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
