//! Random numbers from a seed.

/// Draws numbers from a seed (SplitMix64): the same seed, the same numbers, on every machine.
///
/// ```
/// use spillway_testkit::Dice;
///
/// let (mut one, mut other) = (Dice::from_seed(7), Dice::from_seed(7));
/// assert_eq!(one.below(1_000), other.below(1_000));
/// ```
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Takes a seed. A test prints it, so that its run can be repeated.
    pub const fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws a number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number below `bound`; 0 when the bound is 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.number() % bound }
    }

    /// Draws a place in a list of so many; 0 when it is empty.
    pub fn place(&mut self, len: usize) -> usize {
        let bound = u64::try_from(len).unwrap_or(u64::MAX);
        usize::try_from(self.below(bound)).unwrap_or(0)
    }

    /// Answers yes in `per_mille` of 1,000 draws.
    pub const fn is_hit(&mut self, per_mille: u16) -> bool {
        self.below(1_000) < per_mille as u64
    }
}
