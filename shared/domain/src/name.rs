//! Validated names: of a job, a class and a channel.

use alloc::string::String;
use core::fmt;

/// The most bytes of UTF-8 that a job's id may have (R29).
pub const JOB_ID_BYTES_MAX: usize = 255;
/// The most characters that a class's or a channel's name may have.
pub const NAME_CHARS_MAX: usize = 64;

/// Says why a text is not a job's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobIdError {
    /// It is empty or longer than [`JOB_ID_BYTES_MAX`].
    #[error("must have 1 to 255 bytes of UTF-8")]
    Length,
    /// It holds a character that an id may not have.
    #[error("must not hold white space, control characters or any of / ? # % \\")]
    Character,
    /// It is `.` or `..`, which a path would swallow.
    #[error("must not be . or ..")]
    Dots,
}

/// A job's id, chosen by the caller or by the service: 1 to 255 bytes of UTF-8 without white
/// space, control characters or any of `/ ? # % \`, and not `.` or `..` (R29).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(String);

impl JobId {
    /// Checks an id.
    ///
    /// # Errors
    /// [`JobIdError`] names the rule that the text breaks.
    ///
    /// ```
    /// use spillway_domain::name::{JobId, JobIdError};
    /// assert_eq!(JobId::new("birthday:42:2026").unwrap().as_str(), "birthday:42:2026");
    /// assert_eq!(JobId::new("a b"), Err(JobIdError::Character));
    /// ```
    pub fn new(id: impl Into<String>) -> Result<Self, JobIdError> {
        let id = id.into();
        let is_refused = |c: char| {
            c.is_whitespace() || c.is_control() || matches!(c, '/' | '?' | '#' | '%' | '\\')
        };
        if id.is_empty() || id.len() > JOB_ID_BYTES_MAX {
            Err(JobIdError::Length)
        } else if id.contains(is_refused) {
            Err(JobIdError::Character)
        } else if id == "." || id == ".." {
            Err(JobIdError::Dots)
        } else {
            Ok(Self(id))
        }
    }

    /// Shows the id as it was given.
    ///
    /// ```
    /// # use spillway_domain::name::JobId;
    /// assert_eq!(JobId::new("a").unwrap().as_str(), "a");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says that a text is not the name of a class or a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 64 of a-z, 0-9, - and _, beginning with a letter")]
pub struct NameError;

fn checked_name(name: String) -> Result<String, NameError> {
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let fits = name.len() <= NAME_CHARS_MAX && name.chars().all(is_allowed);
    if begins_well && fits { Ok(name) } else { Err(NameError) }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(String);

        impl $type {
            /// Checks a name: 1 to 64 of `a-z`, `0-9`, `-` and `_`, beginning with a letter.
            ///
            /// # Errors
            /// [`NameError`] when it is anything else.
            ///
            /// ```
            #[doc = concat!("use spillway_domain::name::", stringify!($type), " as Name;")]
            /// assert!(Name::new("one-time_code2").is_ok());
            /// assert!(Name::new("Two words").is_err());
            /// ```
            pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
                checked_name(name.into()).map(Self)
            }

            /// Shows the name.
            ///
            /// ```
            #[doc = concat!("use spillway_domain::name::", stringify!($type), " as Name;")]
            /// assert_eq!(Name::new("a").unwrap().as_str(), "a");
            /// ```
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type!(
    /// The name of a class, a named precision contract of the policy.
    ClassName
);
name_type!(
    /// The name of a channel, a named destination of the policy.
    ChannelName
);
