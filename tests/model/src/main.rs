//! Searches the protocol's model within the given bounds.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use spillway_model::bounds::Bounds;
use spillway_model::checker::{Verdict, search};
use spillway_model::fault::Fault;
use spillway_model::rule::Rule;

/// Searches every order of the protocol's steps within bounds, and ends with status 1 and the
/// shortest trace when a promise breaks.
#[derive(Debug, Parser)]
#[command(name = "spillway-model")]
struct Options {
    /// Jobs; two travel in one pack.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    jobs: u8,
    /// Faults that happen at most, of any kinds.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=9))]
    faults: u8,
    /// Only these kinds of faults, with commas between them.
    #[arg(long, value_delimiter = ',', value_parser = fault_names())]
    only: Vec<String>,
    /// Calls that follow the creation at most: reschedule, cancel, redrive, replayed import.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=9))]
    calls: u8,
    /// Calls under way at once.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    callers: u8,
    /// Let the jobs expire.
    #[arg(long)]
    expire: bool,
    /// Leave this rule of docs/protocol.md out.
    #[arg(long, value_name = "RULE", value_parser = clap::value_parser!(u8).range(1..=12))]
    without: Option<u8>,
    /// Give up beyond so many states.
    #[arg(long, default_value_t = 100_000_000)]
    states: usize,
}

fn fault_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Fault::ALL.map(Fault::name))
}

impl Options {
    fn bounds(&self) -> Bounds {
        let is_meant = |fault: &Fault| {
            self.only.is_empty() || self.only.iter().any(|name| name == fault.name())
        };
        Bounds {
            kinds: Fault::ALL.into_iter().filter(is_meant).collect(),
            callers: usize::from(self.callers),
            expire: self.expire,
            without: self.without.and_then(|number| Rule::numbered(usize::from(number))),
            states_max: self.states,
            ..Bounds::new(usize::from(self.jobs), self.faults, self.calls)
        }
    }
}

fn main() -> ExitCode {
    let bounds = Options::parse().bounds();
    if let Some(rule) = bounds.without {
        println!("without {rule}");
    }
    let began_at = Instant::now();
    let found = search(&bounds);
    let seconds = began_at.elapsed().as_secs_f64();
    print!("{}", found.verdict);
    println!("{} states, {} steps, {seconds:.1} s", found.states, found.steps);
    match found.verdict {
        Verdict::Kept => ExitCode::SUCCESS,
        Verdict::Broken(..) | Verdict::Lost(..) => ExitCode::from(1),
        Verdict::TooMany => ExitCode::from(3),
    }
}
