//! Where a channel of kind webhook sends to (R21).

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::net::IpAddr;

use crate::address::not_public;

/// The most characters of a webhook's URL.
pub const URL_CHARS_MAX: usize = 2_048;
/// The ports of public hosts that a webhook may be sent to: that of HTTPS and its usual second.
/// Any other is more likely another service than a receiver of webhooks.
pub const PORTS: [u16; 2] = [443, 8_443];
/// The most characters of a parameter's name: the bound of Parameter Store.
pub const PARAMETER_CHARS_MAX: usize = 1_011;
/// The most characters of a host's name: the bound of DNS.
const HOST_CHARS_MAX: usize = 253;
/// The most characters of a part of a host's name: the bound of DNS.
const LABEL_CHARS_MAX: usize = 63;
/// The hosts that stand for the machine itself.
const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The target of a channel of kind webhook.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Webhook {
    /// Where its jobs go.
    pub url: WebhookUrl,
    /// The parameter that holds the secret which signs them.
    pub secret_parameter: String,
    /// The policy allows the machine itself as a target, and plain HTTP to it.
    pub allow_loopback: bool,
}

/// A URL that was checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebhookUrl(String);

/// Says why a text is no URL of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It has characters that no URL has, or those that readers of URLs take differently.
    #[error("must be 1 to 2048 visible ASCII characters without quotes, \\ ^ ` {{ | }} < >")]
    Characters,
    /// It begins with neither `https://` nor `http://`.
    #[error("must begin with https://")]
    Scheme,
    /// It begins with `http://`, and its host is not the machine itself.
    #[error("must begin with https://; http:// is for the machine itself")]
    PlainHttp,
    /// It ends in a fragment, which is never sent.
    #[error("must not have a fragment (#)")]
    Fragment,
    /// It names a user before its host.
    #[error("must not name a user or a password (@)")]
    UserInfo,
    /// Its host is an address, or something that is read as one.
    #[error("must name its host by a name in lower case, such as hooks.example.com")]
    Host,
    /// Its host is the machine itself, which the policy does not allow.
    #[error("must not point to the machine itself without allow_loopback = true")]
    Loopback,
    /// It has a port that is not allowed.
    #[error("must have port 443 or 8443")]
    Port,
}

/// Which addresses a host may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those of the public Internet.
    Public,
    /// Those of the machine itself.
    Loopback,
}

impl WebhookUrl {
    /// Checks a URL: HTTPS, a host by its name, no user, no fragment, one of [`PORTS`]. With
    /// `allow_loopback` also the machine itself, on any port and by plain HTTP.
    ///
    /// # Errors
    /// [`UrlError`] names the first rule that the text breaks.
    ///
    /// ```
    /// use spillway_domain::webhook::{UrlError, WebhookUrl};
    /// assert!(WebhookUrl::parse("https://hooks.example.com/in?v=1", false).is_ok());
    /// assert_eq!(WebhookUrl::parse("https://0x7f000001/", false), Err(UrlError::Host));
    /// ```
    pub fn parse(text: &str, allow_loopback: bool) -> Result<Self, UrlError> {
        if text.len() > URL_CHARS_MAX || !text.chars().all(is_of_url) {
            return Err(UrlError::Characters);
        }
        let (is_plain, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err(UrlError::Scheme),
        };
        if rest.contains('#') {
            return Err(UrlError::Fragment);
        }
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let (host, port) = host_and_port(authority);
        match Reach::of_host(host) {
            Reach::Loopback if !allow_loopback => return Err(UrlError::Loopback),
            Reach::Loopback => check_port(port, |_| true)?,
            Reach::Public if !is_host_name(host) => return Err(UrlError::Host),
            Reach::Public if is_plain => return Err(UrlError::PlainHttp),
            Reach::Public => check_port(port, |port| PORTS.contains(&port))?,
        }
        Ok(Self(text.to_owned()))
    }

    /// Shows the URL as it was given.
    ///
    /// ```
    /// use spillway_domain::webhook::WebhookUrl;
    /// let url = WebhookUrl::parse("https://hooks.example.com", false).unwrap();
    /// assert_eq!(url.as_str(), "https://hooks.example.com");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Reach {
    /// Tells which addresses a host may stand for, by its name alone.
    ///
    /// ```
    /// use spillway_domain::webhook::Reach;
    /// assert_eq!(Reach::of_host("localhost"), Reach::Loopback);
    /// assert_eq!(Reach::of_host("hooks.example.com"), Reach::Public);
    /// ```
    pub fn of_host(host: &str) -> Self {
        if LOOPBACK_HOSTS.contains(&host) { Self::Loopback } else { Self::Public }
    }

    /// Tells what an address is when the host may not stand for it; none when it may.
    ///
    /// ```
    /// use spillway_domain::webhook::Reach;
    /// let address = "127.0.0.1".parse().unwrap();
    /// assert_eq!(Reach::Public.refusal(address), Some("loopback"));
    /// assert_eq!(Reach::Loopback.refusal(address), None);
    /// ```
    pub fn refusal(self, address: IpAddr) -> Option<&'static str> {
        match self {
            Self::Public => not_public(address),
            Self::Loopback if address.is_loopback() => None,
            Self::Loopback => Some("not loopback"),
        }
    }
}

/// Tells whether a text can be a parameter's name: 1 to [`PARAMETER_CHARS_MAX`] letters, digits
/// and any of `. - _ /`.
///
/// ```
/// use spillway_domain::webhook::is_parameter_name;
/// assert!(is_parameter_name("/spillway/hook") && !is_parameter_name("two words"));
/// ```
pub fn is_parameter_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    (1..=PARAMETER_CHARS_MAX).contains(&name.len()) && name.chars().all(is_allowed)
}

fn is_of_url(c: char) -> bool {
    let is_ambiguous = matches!(c, '"' | '\'' | '\\' | '^' | '`' | '{' | '|' | '}' | '<' | '>');
    c.is_ascii_graphic() && !is_ambiguous
}

/// Splits `host:port`; the colons of an address in brackets are its own.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    let after_brackets = authority.rfind(']').map_or(0, |end| end + 1);
    match authority.get(after_brackets..).and_then(|rest| rest.find(':')) {
        Some(colon) => {
            let (host, port) = authority.split_at(after_brackets + colon);
            (host, port.get(1..))
        }
        None => (authority, None),
    }
}

/// Tells whether a host is a name of DNS with two parts or more. What ends in a number, or in
/// something that readers of URLs take for one (`0x7f`), is an address.
fn is_host_name(host: &str) -> bool {
    let is_label = |label: &str| {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let has_edge = label.starts_with('-') || label.ends_with('-');
        (1..=LABEL_CHARS_MAX).contains(&label.len()) && label.chars().all(is_allowed) && !has_edge
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.len() <= HOST_CHARS_MAX
        && host.contains('.')
        && host.split('.').all(is_label)
        && last.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Checks a port if there is one: a decimal number as it is usually written.
fn check_port(port: Option<&str>, is_allowed: impl Fn(u16) -> bool) -> Result<(), UrlError> {
    let Some(text) = port else { return Ok(()) };
    let is_plain = text.chars().all(|c| c.is_ascii_digit()) && !text.starts_with('0');
    match text.parse() {
        Ok(port) if is_plain && is_allowed(port) => Ok(()),
        _ => Err(UrlError::Port),
    }
}
