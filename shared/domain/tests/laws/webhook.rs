//! R21: which URLs and addresses a webhook may have.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use spillway_domain::address::not_public;
use spillway_domain::webhook::{UrlError, WebhookUrl};

use crate::arbitrary::seeded;

#[test]
fn a_url_of_a_public_host_is_taken() {
    for url in [
        "https://hooks.example.com",
        "https://hooks.example.com/",
        "https://hooks.example.com:443/in?key=1&x=@%23",
        "https://hooks.example.com:8443?x",
        "https://xn--mnchen-3ya.example/~a/b;c=d,e!$*()+",
        "https://0x7f.1.hooks.example.com/",
    ] {
        assert!(WebhookUrl::parse(url, false).is_ok(), "{url}");
    }
}

#[test]
fn a_hostile_url_is_refused_when_the_policy_is_read() {
    let cases = [
        // Addresses, in every way that some reader of URLs takes one.
        ("https://127.0.0.1/", UrlError::Loopback),
        ("https://169.254.169.254/latest/meta-data/", UrlError::Host),
        ("https://10.0.0.1/", UrlError::Host),
        ("https://8.8.8.8/", UrlError::Host),
        ("https://2130706433/", UrlError::Host),
        ("https://017700000001/", UrlError::Host),
        ("https://0177.0.0.1/", UrlError::Host),
        ("https://0x7f000001/", UrlError::Host),
        ("https://0x7f.0x0.0x0.0x1/", UrlError::Host),
        ("https://127.1/", UrlError::Host),
        ("https://127.0.0.1./", UrlError::Host),
        ("https://a.example.0xa9fea9fe/", UrlError::Host),
        ("https://[::1]/", UrlError::Loopback),
        ("https://[::]/", UrlError::Host),
        ("https://[::ffff:169.254.169.254]/", UrlError::Host),
        ("https://[fd00:ec2::254]/", UrlError::Host),
        ("https://[fe80::1%25eth0]/", UrlError::Host),
        // Names that stand for the machine itself, or for what a search list makes of them.
        ("https://localhost/", UrlError::Loopback),
        ("https://localhost:8443/", UrlError::Loopback),
        ("https://LOCALHOST/", UrlError::Host),
        ("https://localhost./", UrlError::Host),
        ("https://metadata/", UrlError::Host),
        ("https://metadata.google.internal./", UrlError::Host),
        // Users, and what is read as one.
        ("https://hooks.example.com@169.254.169.254/", UrlError::UserInfo),
        ("https://user:password@hooks.example.com/", UrlError::UserInfo),
        ("https://@hooks.example.com/", UrlError::UserInfo),
        ("https://hooks.example.com%40169.254.169.254/", UrlError::Host),
        ("https://hooks.example.com\\@169.254.169.254/", UrlError::Characters),
        ("https://169.254.169.254#@hooks.example.com/", UrlError::Fragment),
        // Hosts that are none.
        ("https:///hooks.example.com/", UrlError::Host),
        ("https://.example.com/", UrlError::Host),
        ("https://hooks..example.com/", UrlError::Host),
        ("https://-hooks.example.com/", UrlError::Host),
        ("https://hooks_.example.com/", UrlError::Host),
        ("https://hooks.example.com:443:22/", UrlError::Port),
        ("https://%31%32%37.0.0.1/", UrlError::Host),
        // Digits of other scripts, and characters that are dropped or change a line.
        ("https://\u{2460}\u{2461}\u{2466}.0.0.1/", UrlError::Characters),
        ("https://hooks.example\u{3002}com/", UrlError::Characters),
        ("https://hooks.example.com/\r\nhost: a", UrlError::Characters),
        ("https://hooks.exa\tmple.com/", UrlError::Characters),
        (" https://hooks.example.com/", UrlError::Characters),
        // Schemes.
        ("http://hooks.example.com/", UrlError::PlainHttp),
        ("HTTPS://hooks.example.com/", UrlError::Scheme),
        ("//hooks.example.com/", UrlError::Scheme),
        ("file:///etc/passwd", UrlError::Scheme),
        ("gopher://hooks.example.com/", UrlError::Scheme),
        ("", UrlError::Scheme),
        // Ports.
        ("https://hooks.example.com:22/", UrlError::Port),
        ("https://hooks.example.com:80/", UrlError::Port),
        ("https://hooks.example.com:0/", UrlError::Port),
        ("https://hooks.example.com:00443/", UrlError::Port),
        ("https://hooks.example.com:+443/", UrlError::Port),
        ("https://hooks.example.com:65979/", UrlError::Port),
        ("https://hooks.example.com:/", UrlError::Port),
    ];
    for (url, error) in cases {
        assert_eq!(WebhookUrl::parse(url, false), Err(error), "{url}");
    }
    let long = format!("https://hooks.example.com/{}", "a".repeat(2_048));
    assert_eq!(WebhookUrl::parse(&long, false), Err(UrlError::Characters));
}

#[test]
fn the_machine_itself_is_allowed_by_name_and_nothing_else_with_it() {
    for url in
        ["http://127.0.0.1:9/", "http://localhost:65535/", "https://[::1]:1/", "http://[::1]"]
    {
        assert!(WebhookUrl::parse(url, true).is_ok(), "{url}");
        assert_eq!(WebhookUrl::parse(url, false), Err(UrlError::Loopback), "{url}");
    }
    for (url, error) in [
        ("http://127.0.0.2/", UrlError::Host),
        ("http://10.0.0.1/", UrlError::Host),
        ("http://hooks.example.com/", UrlError::PlainHttp),
        ("http://127.0.0.1:0/", UrlError::Port),
        ("http://127.0.0.1@10.0.0.1/", UrlError::UserInfo),
    ] {
        assert_eq!(WebhookUrl::parse(url, true), Err(error), "{url}");
    }
}

proptest! {
    #![proptest_config(seeded())]

    /// The standard library knows some of the kinds, and says the same of them.
    #[test]
    fn what_is_public_is_none_of_the_kinds_that_the_standard_library_knows(
        bits in prop_oneof![any::<u32>(), (0..=255_u32).prop_map(|first| first << 24 | 1)],
    ) {
        let address = Ipv4Addr::from_bits(bits);
        let is_known = address.is_private() || address.is_loopback() || address.is_link_local()
            || address.is_multicast() || address.is_broadcast() || address.is_unspecified()
            || address.is_documentation();
        prop_assert!(!is_known || not_public(address.into()).is_some(), "{}", address);
    }

    #[test]
    fn an_address_of_ipv4_is_judged_alike_in_its_forms_of_ipv6(bits in any::<u32>()) {
        let address = Ipv4Addr::from_bits(bits);
        let plain = not_public(address.into());
        prop_assert_eq!(not_public(IpAddr::V6(address.to_ipv6_mapped())), plain);
        let [a, b, c, d] = address.octets();
        let by_nat64 = Ipv6Addr::from([0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d]);
        prop_assert_eq!(not_public(IpAddr::V6(by_nat64)), plain);
        prop_assert!(not_public(IpAddr::V6(address.to_ipv6_compatible())).is_some());
    }

    #[test]
    fn no_text_makes_the_check_of_a_url_panic_and_none_is_taken_with_a_user(text in ".{0,60}") {
        for allow_loopback in [false, true] {
            let url = format!("https://{text}");
            let authority = text.split(['/', '?']).next().unwrap();
            let is_taken = WebhookUrl::parse(&url, allow_loopback).is_ok();
            prop_assert!(!is_taken || !authority.contains('@'));
        }
    }
}

#[test]
fn the_edges_of_the_blocks_are_where_they_are() {
    for (address, is_public) in [
        ("9.255.255.255", true),
        ("11.0.0.0", true),
        ("100.63.255.255", true),
        ("100.64.0.0", false),
        ("100.127.255.255", false),
        ("100.128.0.0", true),
        ("126.255.255.255", true),
        ("128.0.0.0", true),
        ("169.253.255.255", true),
        ("169.255.0.0", true),
        ("172.15.255.255", true),
        ("172.32.0.0", true),
        ("192.167.255.255", true),
        ("192.169.0.0", true),
        ("198.17.255.255", true),
        ("198.20.0.0", true),
        ("223.255.255.255", true),
        ("2000::", true),
        ("2001:1ff:ffff::", false),
        ("2001:200::", true),
        ("2001:db7::1", true),
        ("2001:db9::", true),
        ("2003::", true),
        ("3ffe::", true),
        ("3fff:1000::", true),
        ("3fff:fff::", false),
        ("1fff::", false),
        ("fbff::", false),
    ] {
        assert_eq!(not_public(address.parse().unwrap()).is_none(), is_public, "{address}");
    }
}
