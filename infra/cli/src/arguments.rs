//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const EXIT_STATUS: &str = "\
Exit status:
  0  done
  1  refused, failed, or not as it should be; standard error tells what
  2  the command was not understood";

/// The operator's tool of Spillway, a service that delivers jobs at their time.
#[derive(Debug, Parser)]
#[command(name = "spillway", version, after_help = EXIT_STATUS)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the tool can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check, show or replace the policy: the classes and channels in force.
    Policy {
        /// What to do with it.
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Send jobs through a local stack and count what comes out.
    ///
    /// Schedules 2,000 jobs for one second and 300 in the minutes around it, waits, reads what the
    /// channels `inbox` and `bus` were given, and prints a table and a chart. The status is 1
    /// when a job was not accepted, lost, delivered twice or early.
    #[command(after_help = concat!("\
Environment:
  SPILLWAY_URL, INBOX_QUEUE_URL, BUS_QUEUE_URL, AWS_ENDPOINT_URL, AWS_REGION, and credentials

Examples:
  spillway demo --env-file .local/stack.env
  spillway demo --json > demo.json

", "\
Exit status:
  0  every job arrived once, and not before its time
  1  it did not, or the stack could not be reached
  2  the command was not understood"))]
    Demo(DemoOptions),
}

/// What can be done with a policy.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Read a policy file and tell what is wrong with it, with its lines.
    #[command(after_help = concat!("\
Examples:
  spillway policy check infra/policy.toml
  spillway policy show | spillway policy check -

", "\
Exit status:
  0  the policy is in order
  1  it is not, or could not be read; standard error tells why
  2  the command was not understood"))]
    Check {
        /// The file, or - for standard input.
        file: PathBuf,
    },
    /// Print the policy in force: the stored one, or the one compiled in.
    #[command(after_help = concat!("\
Examples:
  spillway policy show --control-table spillway-control --jobs-table spillway-jobs > policy.toml

", "\
Exit status:
  0  done
  1  the tables could not be read
  2  the command was not understood"))]
    Show {
        /// Where it is stored.
        #[command(flatten)]
        tables: TableOptions,
    },
    /// Put a policy in place of the one in force; every function has it within a minute.
    ///
    /// A policy that takes away a class or a channel is refused while a job waits for it.
    #[command(after_help = concat!("\
Examples:
  spillway policy apply policy.toml --control-table spillway-control --jobs-table spillway-jobs

", "\
Exit status:
  0  it is stored, or was in force already
  1  it is not in order, a job waits for what it takes away, another was stored meanwhile, or the
     tables could not be reached
  2  the command was not understood"))]
    Apply {
        /// The file, or - for standard input.
        file: PathBuf,
        /// Where it is stored.
        #[command(flatten)]
        tables: TableOptions,
    },
}

/// The tables of a stack.
#[derive(Args, Clone, Debug)]
pub struct TableOptions {
    /// The control table.
    #[arg(long, env = "SPILLWAY_CONTROL_TABLE")]
    pub control_table: String,
    /// The jobs table.
    #[arg(long, env = "SPILLWAY_JOBS_TABLE")]
    pub jobs_table: String,
}

/// How to run the demonstration.
#[derive(Args, Clone, Debug)]
pub struct DemoOptions {
    /// A file of NAME=value lines, whose values go before those of the environment.
    #[arg(long)]
    pub env_file: Option<PathBuf>,
    /// Print one JSON object in place of the table.
    #[arg(long)]
    pub json: bool,
    /// The second that most jobs ask for, such as 2026-12-01T09:00:00Z. By default it is the first
    /// whole minute that is 150 s away when the last call is answered.
    #[arg(long, value_name = "INSTANT")]
    pub peak_at: Option<jiff::Timestamp>,
    /// How long to wait for a job after the last was due.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub patience_seconds: u64,
    /// The stack's lookahead, to tell which jobs are staged by prefetch alone.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, env = "SPILLWAY_LOOKAHEAD_SECONDS")]
    pub lookahead_seconds: u16,
}
