//! The operator's tool: the policy, and a demonstration against a running stack.
//!
//! [`arguments`] is what can be typed. A [`trial`] schedules jobs through the HTTP API and reads
//! what the channels were given; [`report`] counts what came out of it, purely. [`demo`] is one
//! such trial, the benchmark of the local stack another.

#![deny(missing_docs)]

pub mod arguments;
pub mod arrivals;
pub mod demo;
mod environment;
mod failure;
pub mod policy;
pub mod report;
pub mod schedule;
pub mod stack;
mod terminal;
pub mod trial;

pub use failure::Failure;
pub use terminal::{print, tell};

use arguments::{Arguments, Command};

/// How a command ended, when it could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is as it should be.
    InOrder,
    /// The answer is no: a check failed, a change was refused. It has been told why.
    NotInOrder,
}

impl Verdict {
    /// Gives the exit status: 0 or 1.
    pub const fn status(self) -> u8 {
        match self {
            Self::InOrder => 0,
            Self::NotInOrder => 1,
        }
    }
}

/// Carries a command out.
///
/// # Errors
/// [`Failure`] says what kept it from being carried out.
pub async fn run(arguments: Arguments) -> Result<Verdict, Failure> {
    match arguments.command {
        Command::Policy { command } => policy::run(command).await,
        Command::Demo(options) => demo::run(&options).await,
    }
}
