//! Which addresses a webhook may not be sent to: those that are not of the public Internet (R21).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The blocks of IPv4 that are refused, from IANA's registry of special-purpose addresses. The
/// instance metadata service (169.254.169.254) and the one for credentials of containers
/// (169.254.170.2) are link-local.
const REFUSED_V4: [(Ipv4Addr, u32, &str); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8, "unspecified"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "behind a carrier's NAT"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// The block of IPv6 that global unicast addresses are given out of; all else is refused.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The blocks of IPv6 that are refused by a name of their own. The first is of protocols, Teredo
/// among them, the second is 6to4: both carry an address of IPv4, and nobody needs them.
const REFUSED_V6: [(Ipv6Addr, u32, &str); 10] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique-local"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

/// The block in which NAT64 carries an address of IPv4, which is judged in its place.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Tells what an address is when it is not of the public Internet: private, loopback, link-local
/// and the like, also in the forms in which IPv6 carries such an address; none for a public one.
///
/// ```
/// use spillway_domain::address::not_public;
/// assert_eq!(not_public("::ffff:169.254.169.254".parse().unwrap()), Some("link-local"));
/// assert_eq!(not_public("8.8.8.8".parse().unwrap()), None);
/// ```
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u128::from(address.to_bits());
    let is_in = |block: Ipv4Addr, length| starts_alike(bits, block.to_bits().into(), 32 - length);
    REFUSED_V4.into_iter().find(|(block, length, _)| is_in(*block, *length)).map(|(.., what)| what)
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let is_in = |(block, length): (Ipv6Addr, u32)| {
        starts_alike(address.to_bits(), block.to_bits(), 128 - length)
    };
    if let Some(carried) = address.to_ipv4_mapped() {
        return not_public_v4(carried);
    }
    if is_in(NAT64) {
        let [.., a, b, c, d] = address.octets();
        return not_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    let named = REFUSED_V6.into_iter().find(|(block, length, _)| is_in((*block, *length)));
    match named {
        Some((.., what)) => Some(what),
        None if is_in(GLOBAL_UNICAST) => None,
        None => Some("reserved"),
    }
}

/// Tells whether two addresses are equal but for their last bits.
fn starts_alike(a: u128, b: u128, last_bits: u32) -> bool {
    (a ^ b).checked_shr(last_bits).unwrap_or(0) == 0
}
