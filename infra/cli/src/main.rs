//! `spillway`, the operator's tool.

use std::process::ExitCode;

use clap::Parser;
use spillway_cli::arguments::Arguments;
use spillway_cli::{Failure, Verdict};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(spillway_cli::run(arguments)),
        Err(error) => Err(Failure::of(&error)),
    };
    let verdict = ended.unwrap_or_else(|failure| {
        spillway_cli::tell(&failure.to_string());
        Verdict::NotInOrder
    });
    ExitCode::from(verdict.status())
}
