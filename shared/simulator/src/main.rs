//! `spillway-simulator`: runs the service in virtual time.

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use spillway_simulator::faults;
use spillway_simulator::scale::{Usage, day, outage, spike};

/// A run is a matter of allocations above all: millions of jobs, each copied by every port as it
/// would be by the wire. The system's allocator takes half of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs Spillway in virtual time, without anything outside.
#[derive(Debug, Parser)]
#[command(name = "spillway-simulator")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the service under random faults, seed by seed, and checks its promises.
    Faults(faults::Arguments),
    /// Takes very many jobs for one second through the service.
    Spike(spike::Arguments),
    /// Takes a day's jobs through the service.
    Day(day::Arguments),
    /// Lets hours go by without a tick, and takes the backlog through the service.
    Outage(outage::Arguments),
}

fn main() -> ExitCode {
    let began = Instant::now();
    let usage =
        || Usage { wall_seconds: began.elapsed().as_secs_f64(), peak_rss_mib: peak_rss_mib() };
    match Arguments::parse().command {
        Command::Faults(arguments) => faults::command(&arguments),
        Command::Spike(arguments) => spike::command(&arguments, usage),
        Command::Day(arguments) => day::command(&arguments, usage),
        Command::Outage(arguments) => outage::command(&arguments, usage),
    }
}

/// Tells the most memory that the process had, where Linux says so.
fn peak_rss_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1_024)
}
