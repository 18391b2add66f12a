//! What a minute's plan is computed from, and its stored form.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use super::{Cell, ChannelLoad, Histogram, Loads, Waiting, channel_plan};
use crate::name::{ChannelName, ClassName};
use crate::precision::{Lane, PRIORITY_MAX};
use crate::rate::{RATE_PER_SECOND_MAX, Rate};
use crate::time::Minute;

/// The most bytes of a stored record: `DynamoDB` takes items of 400 KB, and some of them are the
/// item's other attributes. About 12,000 cells.
pub const RECORD_BYTES_MAX: usize = 380_000;

/// What the plan of a minute is computed from: it is stored once for each minute, and the plan is
/// never computed from anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRecord {
    /// The minute.
    pub minute: Minute,
    /// The channels that have more jobs than their rate, with what they have to release: the jobs of
    /// the minute, and what is carried in.
    pub channels: Loads,
}

impl PlanRecord {
    /// Builds the record of a minute without more jobs than its channels take.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::PlanRecord, time::Minute};
    /// assert_eq!(PlanRecord::empty(Minute::from_epoch_minutes(0)).to_text(), "");
    /// ```
    pub const fn empty(minute: Minute) -> Self {
        Self { minute, channels: BTreeMap::new() }
    }

    /// Builds the record of a minute from the jobs that were counted in it, and those that the plan
    /// of the minute before carried into it. A channel whose jobs can all be released when they are
    /// due is not in it. A channel that has lost its rate is drained as fast as any may be.
    ///
    /// What does not fit into [`RECORD_BYTES_MAX`] is left out, jobs of this minute first: they are
    /// released when they are due, and the limiter orders them. Carried jobs that did not fit would
    /// be found by reconcile.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::*, name::ChannelName, precision::Lane, rate::Rate};
    /// use spillway_domain::time::Minute;
    /// let minute = Minute::from_epoch_minutes(0);
    /// let sms = ChannelName::new("sms").unwrap();
    /// let rates = [(sms.clone(), Rate::new(100, None, 0).unwrap())].into();
    /// let cell = Cell { lane: Lane::Exact, priority: 1, due_at: minute.start(), class: None };
    /// let record_of = |count| {
    ///     let mut counted = Histogram::default();
    ///     counted.add(&sms, cell.clone(), count);
    ///     PlanRecord::of(minute, &rates, counted, Loads::new())
    /// };
    /// assert!(record_of(100).channels.is_empty());
    /// assert_eq!(record_of(101).channels[&sms].waiting[&cell].count, 101);
    /// ```
    pub fn of(
        minute: Minute,
        rates: &BTreeMap<ChannelName, Rate>,
        counted: Histogram,
        carried: Loads,
    ) -> Self {
        let mut channels = carried;
        for (name, load) in &mut channels {
            let fastest = Rate::new(RATE_PER_SECOND_MAX, None, 0).unwrap_or(load.rate);
            load.rate = rates.get(name).copied().unwrap_or(fastest);
        }
        for (name, cells) in counted.into_channels() {
            let Some(rate) = rates.get(&name) else { continue };
            let load = channels
                .entry(name)
                .or_insert_with(|| ChannelLoad { rate: *rate, waiting: BTreeMap::new() });
            let waiting = |(cell, count)| (cell, Waiting { from_hash: 0, count });
            load.waiting.extend(cells.into_iter().map(waiting));
        }
        channels.retain(|_, load| !channel_plan(minute, load).is_as_due());
        let mut record = Self { minute, channels };
        record.bound();
        record
    }

    /// Lists the minutes that its jobs wait in: its own, and those that something is carried from,
    /// the oldest first.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::PlanRecord, time::Minute};
    /// let minute = Minute::from_epoch_minutes(7);
    /// assert_eq!(PlanRecord::empty(minute).minutes(), [minute].into());
    /// ```
    pub fn minutes(&self) -> BTreeSet<Minute> {
        let cells = self.channels.values().flat_map(|load| load.waiting.keys());
        let mut minutes: BTreeSet<_> = cells.map(|cell| cell.due_at.minute()).collect();
        minutes.insert(self.minute);
        minutes
    }

    /// Tells how many jobs are carried in.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::PlanRecord, time::Minute};
    /// assert_eq!(PlanRecord::empty(Minute::from_epoch_minutes(7)).carried_count(), 0);
    /// ```
    pub fn carried_count(&self) -> u64 {
        let all = self.channels.values().flat_map(|load| &load.waiting);
        let carried = all.filter(|(cell, _)| cell.due_at < self.minute.start());
        carried.fold(0, |sum, (_, waiting)| sum.saturating_add(waiting.count))
    }

    /// Writes the record as text: for each channel a line `channel NAME RATE BURST RESERVE`, then a
    /// line `LANE PRIORITY SECOND CLASS COUNT FROM_HASH` for each of its cells. The second is
    /// counted from the beginning of the minute, a class that is not there is `-`, and the hash, in
    /// hexadecimal digits, is left out when it is 0.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::PlanRecord, time::Minute};
    /// let text = "channel sms 500 100 50\nexact 0 -60 otp 7 8000000000000000\nmovable 9 0 - 900\n";
    /// let record = PlanRecord::parse(Minute::from_epoch_minutes(0), text).unwrap();
    /// assert_eq!(record.to_text(), text);
    /// ```
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, load) in &self.channels {
            text.push_str(&channel_line(name, load.rate));
            for (cell, waiting) in &load.waiting {
                text.push_str(&cell_line(self.minute, cell, *waiting));
            }
        }
        text
    }

    /// Reads a record that [`Self::to_text`] has written; `None` when it is anything else.
    ///
    /// ```
    /// use spillway_domain::{drain_plan::PlanRecord, time::Minute};
    /// let minute = Minute::from_epoch_minutes(0);
    /// assert_eq!(PlanRecord::parse(minute, ""), Some(PlanRecord::empty(minute)));
    /// assert_eq!(PlanRecord::parse(minute, "exact 0 0 - 1\n"), None); // of no channel
    /// ```
    pub fn parse(minute: Minute, text: &str) -> Option<Self> {
        let mut record = Self::empty(minute);
        let mut channel: Option<ChannelName> = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("channel ") {
                let (name, rate) = read_channel(rest)?;
                let load = ChannelLoad { rate, waiting: BTreeMap::new() };
                record.channels.insert(name.clone(), load);
                channel = Some(name);
            } else {
                let (cell, waiting) = read_cell(minute, line)?;
                record.channels.get_mut(channel.as_ref()?)?.waiting.insert(cell, waiting);
            }
        }
        Some(record)
    }

    /// Leaves out what does not fit.
    fn bound(&mut self) {
        if self.to_text().len() <= RECORD_BYTES_MAX {
            return;
        }
        let (minute, channels) = (self.minute, core::mem::take(&mut self.channels));
        let mut bytes: usize = 0;
        for is_carried in [true, false] {
            for (name, load) in &channels {
                for (cell, waiting) in &load.waiting {
                    if (cell.due_at < minute.start()) != is_carried {
                        continue;
                    }
                    let has_line = self.channels.contains_key(name);
                    let line = if has_line { 0 } else { channel_line(name, load.rate).len() };
                    bytes = bytes.saturating_add(line);
                    bytes = bytes.saturating_add(cell_line(minute, cell, *waiting).len());
                    if bytes > RECORD_BYTES_MAX {
                        return;
                    }
                    let kept = self.channels.entry(name.clone()).or_insert_with(|| ChannelLoad {
                        rate: load.rate,
                        waiting: BTreeMap::new(),
                    });
                    kept.waiting.insert(cell.clone(), *waiting);
                }
            }
        }
    }
}

fn channel_line(name: &ChannelName, rate: Rate) -> String {
    let (per_second, burst, reserve) = (rate.per_second(), rate.burst(), rate.reserve_per_second());
    format!("channel {name} {per_second} {burst} {reserve}\n")
}

fn read_channel(line: &str) -> Option<(ChannelName, Rate)> {
    let mut words = line.split(' ');
    let name = ChannelName::new(words.next()?).ok()?;
    let mut number = || words.next()?.parse().ok();
    let rate = Rate::new(number()?, Some(number()?), number()?).ok()?;
    words.next().is_none().then_some((name, rate))
}

fn cell_line(minute: Minute, cell: &Cell, waiting: Waiting) -> String {
    let Cell { lane, priority, due_at, class } = cell;
    let second = due_at.millis_since(minute.start()) / 1_000;
    let class = class.as_ref().map_or("-", ClassName::as_str);
    let mut line = format!("{} {priority} {second} {class} {}", lane.as_str(), waiting.count);
    if waiting.from_hash > 0 {
        // Writing to a string cannot fail.
        write!(line, " {:x}", waiting.from_hash).ok();
    }
    line.push('\n');
    line
}

fn read_cell(minute: Minute, text: &str) -> Option<(Cell, Waiting)> {
    let mut words = text.split(' ');
    let lane = Lane::parse(words.next()?)?;
    let priority = words.next()?.parse().ok().filter(|priority| *priority <= PRIORITY_MAX)?;
    let due_at = minute.start().plus_seconds(words.next()?.parse().ok()?);
    let class = match words.next()? {
        "-" => None,
        name => Some(ClassName::new(name).ok()?),
    };
    let count = words.next()?.parse().ok()?;
    let from_hash = words.next().map_or(Some(0), |hash| u64::from_str_radix(hash, 16).ok())?;
    let cell = Cell { lane, priority, due_at, class };
    words.next().is_none().then_some((cell, Waiting { from_hash, count }))
}
