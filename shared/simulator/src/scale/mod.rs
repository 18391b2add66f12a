//! What the service does at scale: a spike of jobs for one second, and a day of jobs, through the
//! real use cases over the in-memory ports, in virtual time.
//!
//! [`spike`] and [`day`] are the commands. Either makes a [`Workload`], lets [`run`](run::run)
//! take it through intake, prefetch and dispatch, and prints the [`Report`] of what the
//! [`Meter`] has seen. The [`WorkerRate`] stands for the workers: it hands out no more than they take.

mod bill;
mod call_times;
mod command;
pub mod day;
mod meter;
pub mod outage;
mod report;
pub mod run;
mod sizes;
pub mod spike;
pub mod staging;
mod table;
mod times_of_day;
mod worker_rate;
mod workers;
mod workload;

pub use bill::{Bill, Prices};
pub use command::Usage;
pub use meter::Meter;
pub use report::{BusiestMinute, Lateness, Report};
pub use run::Plan;
pub use times_of_day::TimesOfDay;
pub use worker_rate::WorkerRate;
pub use workload::{IntakeCall, Workload};
