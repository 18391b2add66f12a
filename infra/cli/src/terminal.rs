//! What is written for the person at the keyboard, or for the program behind the pipe.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

/// How far the plain lines of a progress are apart.
const PLAIN_LINES_APART: Duration = Duration::from_secs(15);

/// Writes a text to standard output. A reader that has gone away has read enough.
///
/// # Errors
/// Every other error of writing, such as a full disk.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::of(&error)),
        _ => Ok(()),
    }
}

/// Writes a line to standard error. There is nowhere to tell that it could not be written.
pub fn tell(line: &str) {
    writeln!(io::stderr().lock(), "{line}").ok();
}

/// How far something has come: a bar on a terminal, a plain line now and then anywhere else.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    told_at: Option<Instant>,
}

impl Progress {
    /// Begins at nothing of `total`.
    pub(crate) fn new(total: u64) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            bar.with_style(bar_style())
        });
        Self { bar, told_at: None }
    }

    /// Shows that `done` are done, with some words on the rest.
    pub(crate) fn show(&mut self, done: u64, words: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.set_message(words.to_owned());
        } else if self.told_at.is_none_or(|at| at.elapsed() >= PLAIN_LINES_APART) {
            self.told_at = Some(Instant::now());
            tell(words);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar_style() -> ProgressStyle {
    // Without colours, so that there are none to switch off.
    ProgressStyle::with_template("{elapsed_precise} [{bar:30}] {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
