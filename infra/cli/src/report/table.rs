use std::fmt;

use super::{Report, Row, Spread};

const HEADINGS: [&str; 10] = [
    "class",
    "accepted",
    "delivered",
    "lost",
    "twice",
    "early",
    "p50",
    "p99",
    "max",
    "arrived p99",
];
const WIDTHS: [usize; 10] = [15, 10, 10, 6, 6, 6, 8, 8, 8, 12];

/// Shows the table, the chart and the outcome in words.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", line(HEADINGS.map(ToOwned::to_owned)))?;
        for class in &self.classes {
            let name = class.class.as_deref().unwrap_or("(no class)");
            writeln!(f, "{}", line(cells(name, &class.row)))?;
        }
        writeln!(f, "{}", line(cells("all", &self.total)))?;
        writeln!(
            f,
            "p50, p99, max: sent_at - due_at in milliseconds; arrived: the same, at the channel\n"
        )?;
        self.write_chart(f)?;
        let Row { requested, accepted, lost, twice, early, .. } = self.total;
        let refused = requested - accepted;
        let [refused, lost, twice, early] = [refused, lost, twice, early].map(grouped);
        writeln!(f, "\n{refused} not accepted, {lost} lost, {twice} twice, {early} early")
    }
}

fn cells(name: &str, row: &Row) -> [String; 10] {
    let millis = |part: fn(Spread) -> u64| {
        row.sent_after_due.map_or_else(|| "-".to_owned(), |spread| grouped(part(spread)))
    };
    let arrived = row.arrived_after_due.map_or_else(|| "-".to_owned(), |it| grouped(it.p99_millis));
    [
        name.to_owned(),
        grouped(row.accepted),
        grouped(row.delivered),
        grouped(row.lost),
        grouped(row.twice),
        grouped(row.early),
        millis(|spread| spread.p50_millis),
        millis(|spread| spread.p99_millis),
        millis(|spread| spread.max_millis),
        arrived,
    ]
}

/// Sets the first cell to the left of its column, the others to the right.
fn line(cells: [String; 10]) -> String {
    let mut line = String::new();
    for (number, (cell, width)) in cells.into_iter().zip(WIDTHS).enumerate() {
        let set = if number == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
        line.push_str(&set);
    }
    line
}

/// Writes a number with a comma at every thousand.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_comma_at_every_thousand() {
        let shown = [0, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }
}
