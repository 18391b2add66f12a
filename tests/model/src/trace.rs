//! Traces as lines that a person reads.

use std::fmt;

use crate::checker::Verdict;
use crate::steps::{Step, letter};
use crate::world::{Row, Token, World};

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} g{}", self.state.as_str(), self.generation)?;
        if self.state.is_finished() {
            return Ok(());
        }
        if let Some(claim) = self.claim {
            match claim.token {
                Token::Run(slot) => write!(f, " by {}", letter(usize::from(slot)))?,
                Token::Gone => write!(f, " by one who is gone")?,
            }
            if claim.left < 0 { write!(f, ", run out")? } else { write!(f, " for {}", claim.left)? }
        }
        if self.release_in > 0 {
            write!(f, ", release in {}", self.release_in)?;
        }
        write!(f, ", attempts {}", self.attempts)?;
        if self.maybe_sent { f.write_str(", maybe sent") } else { Ok(()) }
    }
}

/// Says what of the rows and the queue a step changed.
fn changes(before: Option<&World>, after: &World) -> Vec<String> {
    let is_of_two = after.rows.iter().flatten().count() > 1;
    let mut changes = Vec::new();
    for (job, row) in after.rows.iter().enumerate() {
        if before.and_then(|world| world.rows[job]) != *row {
            let name = if is_of_two { format!("row {}", job + 1) } else { "row".to_owned() };
            let row = row.map_or_else(|| "none".to_owned(), |row| row.to_string());
            changes.push(format!("{name}: {row}"));
        }
    }
    let delays =
        |world: &World| -> Vec<i8> { world.messages.iter().map(|message| message.delay).collect() };
    let queued = delays(after);
    if before.map(delays).unwrap_or_default() != queued {
        let each: Vec<_> = queued.iter().map(|delay| format!("in {delay}")).collect();
        let queue = if each.is_empty() { "empty".to_owned() } else { each.join(", ") };
        changes.push(format!("queue: {queue}"));
    }
    changes
}

/// Writes the steps of a way that begins in a world, numbered from `first`.
fn lines(
    from: Option<&World>,
    first: usize,
    way: &[Step],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut before = from;
    for (number, step) in way.iter().enumerate() {
        writeln!(f, "{:>4}. {}", first + number, step.words)?;
        for change in changes(before, &step.world) {
            writeln!(f, "        {change}")?;
        }
        before = Some(&step.world);
    }
    Ok(())
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => writeln!(f, "every promise is kept"),
            Self::TooMany => {
                writeln!(f, "there are more states than --states allows: nothing is proved")
            }
            Self::Broken(promise, way) => {
                lines(None, 1, way, f)?;
                writeln!(f, "broken: {promise}")
            }
            Self::Lost(way, around) => {
                lines(None, 1, way, f)?;
                if !around.is_empty() {
                    writeln!(f, "      and from here on, again and again:")?;
                    lines(way.last().map(|step| &step.world), way.len() + 1, around, f)?;
                }
                writeln!(f, "broken: {}", crate::promises::Promise::NeverLost)
            }
        }
    }
}
