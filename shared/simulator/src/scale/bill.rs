//! What a run would have cost: what was used, at the prices of us-east-1 on demand.

use serde::Serialize;

/// What is paid, in dollars for a million, or for a second and gibibyte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// A million write units of a table on demand.
    pub write_units_million: f64,
    /// A million read units of a table on demand.
    pub read_units_million: f64,
    /// A million SQS requests, each of 64 KB.
    pub sqs_requests_million: f64,
    /// A million Lambda requests.
    pub lambda_requests_million: f64,
    /// A second of a Lambda function with a gibibyte, on Arm.
    pub gb_second: f64,
}

impl Prices {
    /// us-east-1, on demand, late 2026.
    pub const US_EAST_1: Self = Self {
        write_units_million: 0.625,
        read_units_million: 0.125,
        sqs_requests_million: 0.40,
        lambda_requests_million: 0.20,
        gb_second: 0.000_013_333_4,
    };
}

/// What is paid for. The channels' own requests, the gateway, logs and storage are not in it, nor
/// the polls of an event source that find nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bill {
    /// Write units of the jobs table.
    pub table_write_units: u64,
    /// Write units of its index.
    pub index_write_units: u64,
    /// Write units of the control table.
    pub control_write_units: u64,
    /// Read units: pages of the index, half a unit for each begun 4 KB; rows and the control table.
    pub read_units: f64,
    /// SQS requests: sends, receives and deletes of batches, one for each begun 64 KB.
    pub sqs_requests: u64,
    /// Lambda requests, of all functions.
    pub lambda_requests: u64,
    /// Lambda's gibibyte-seconds, of all functions, as they ran in virtual time.
    pub gb_seconds: f64,
}

impl Bill {
    /// Adds it all up, in dollars.
    pub fn dollars(&self, prices: &Prices) -> f64 {
        let writes = self.table_write_units + self.index_write_units + self.control_write_units;
        let millions = count(writes) * prices.write_units_million
            + self.read_units * prices.read_units_million
            + count(self.sqs_requests) * prices.sqs_requests_million
            + count(self.lambda_requests) * prices.lambda_requests_million;
        millions / 1e6 + self.gb_seconds * prices.gb_second
    }
}

/// A count as a factor: exact below 2^53, more than any run counts.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub(super) const fn count(number: u64) -> f64 {
    number as f64
}
