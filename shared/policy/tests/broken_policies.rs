//! What is said about policies that are not in order, with the lines.

use spillway_domain::rate::Rate;
use spillway_policy::parse;

/// A class that is in order, on lines 1 to 5.
const OTP: &str = "[classes.otp]
early_seconds = 0
late_seconds = 0
priority = 0
lateness_budget_seconds = 2
";

fn errors(text: &str) -> Vec<String> {
    match parse(text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.as_slice().iter().map(ToString::to_string).collect(),
    }
}

/// [`OTP`] with one line replaced.
fn otp(line: &str, instead: &str) -> String {
    assert!(OTP.contains(line), "no line {line}");
    OTP.replace(line, instead)
}

fn sqs(more: &str) -> String {
    format!("[channels.inbox]\nkind = \"sqs\"\nqueue_url = \"https://queue\"\n{more}\n")
}

fn cases_of_numbers_of_classes() -> Vec<(String, Vec<&'static str>)> {
    vec![
        (
            otp("late_seconds = 0", "late_seconds = -1"),
            vec!["line 3: classes.otp.late_seconds must not be negative"],
        ),
        (
            otp("late_seconds = 0", "late_seconds = -99999999999999999999"),
            vec!["line 3: classes.otp.late_seconds must not be negative"],
        ),
        (
            otp("priority = 0", "priority = 1.5"),
            vec!["line 4: classes.otp.priority must be a whole number"],
        ),
        (
            otp("priority = 0", "priority = 1.0"),
            vec!["line 4: classes.otp.priority must be a whole number"],
        ),
        (
            otp("priority = 0", "priority = nan"),
            vec!["line 4: classes.otp.priority must be a whole number"],
        ),
        (otp("priority = 0", "priority = 10"), vec!["line 4: classes.otp.priority must be 0 to 9"]),
        (
            otp("priority = 0", "priority = 256"),
            vec!["line 4: classes.otp.priority must be 0 to 9"],
        ),
        (
            otp("late_seconds = 0", "late_seconds = 86401"),
            vec!["line 3: classes.otp.late_seconds must be 0 to 86400"],
        ),
        (
            otp("early_seconds = 0", "early_seconds = 4294967296"),
            vec!["line 2: classes.otp.early_seconds must be 0 to 86400"],
        ),
        (
            otp("early_seconds = 0", "early_seconds = 999999999999999999999999999999999999999999"),
            vec!["line 2: classes.otp.early_seconds must be 0 to 86400"],
        ),
        (
            otp("budget_seconds = 2", "budget_seconds = 31622401"),
            vec!["line 5: classes.otp.lateness_budget_seconds must be at most 31622400"],
        ),
        (
            otp("late_seconds = 0", "late_seconds = 60\nexpires_after_seconds = 60"),
            vec!["line 4: classes.otp.expires_after_seconds must be more than late_seconds"],
        ),
        (
            otp("late_seconds = 0", "late_seconds = 60\nexpires_after_seconds = 31622401"),
            vec!["line 4: classes.otp.expires_after_seconds must be at most 31622400"],
        ),
    ]
}

fn cases_of_numbers_of_channels() -> Vec<(String, Vec<&'static str>)> {
    vec![
        (sqs("attempts_max = 0"), vec!["line 4: channels.inbox.attempts_max must be 1 to 100"]),
        (
            sqs("backoff_seconds_min = 10\nbackoff_seconds_max = 9"),
            vec!["line 4: channels.inbox.backoff_seconds_min must be 1 to backoff_seconds_max"],
        ),
        (
            sqs("backoff_seconds_min = 400\nbackoff_seconds_max = \"9\""),
            vec!["line 5: channels.inbox.backoff_seconds_max must be a whole number, not a text"],
        ),
        (
            sqs("backoff_seconds_max = 0"),
            vec!["line 1: channels.inbox.backoff_seconds_min must be 1 to backoff_seconds_max"],
        ),
        (
            sqs("backoff_seconds_max = 86401"),
            vec!["line 4: channels.inbox.backoff_seconds_max must be at most 86400"],
        ),
        (
            sqs("send_timeout_millis = 99"),
            vec!["line 4: channels.inbox.send_timeout_millis must be 100 to 10000"],
        ),
    ]
}

fn cases_of_rates() -> Vec<(String, Vec<&'static str>)> {
    const RATE: &str = "line 4: channels.inbox.rate_per_second must be 1 to 1000000";
    const BURST: &str = "line 5: channels.inbox.burst must be a twentieth of rate_per_second to \
                         rate_per_second";
    vec![
        (sqs("rate_per_second = 0"), vec![RATE]),
        (sqs("rate_per_second = 1000001"), vec![RATE]),
        (
            sqs("rate_per_second = -5\nburst = 3"),
            vec!["line 4: channels.inbox.rate_per_second must not be negative"],
        ),
        (
            sqs("rate_per_second = 2.5"),
            vec!["line 4: channels.inbox.rate_per_second must be a whole number"],
        ),
        (sqs("rate_per_second = 500\nburst = 501"), vec![BURST]),
        (sqs("rate_per_second = 481\nburst = 24"), vec![BURST]),
        (sqs("rate_per_second = 1\nburst = 0"), vec![BURST]),
        (
            sqs("rate_per_second = 500\nreserve_per_second = 500"),
            vec!["line 5: channels.inbox.reserve_per_second must be less than rate_per_second"],
        ),
        (
            sqs("burst = 5\nreserve_per_second = 5"),
            vec![
                "line 4: channels.inbox.burst needs rate_per_second",
                "line 5: channels.inbox.reserve_per_second needs rate_per_second",
            ],
        ),
    ]
}

fn cases_of_types() -> Vec<(String, Vec<&'static str>)> {
    vec![
        (
            otp("early_seconds = 0", "early_seconds = \"5\""),
            vec!["line 2: classes.otp.early_seconds must be a whole number, not a text"],
        ),
        (
            otp("early_seconds = 0", "early_seconds = true"),
            vec!["line 2: classes.otp.early_seconds must be a whole number, not true or false"],
        ),
        (
            otp("early_seconds = 0", "early_seconds = 2026-12-01"),
            vec!["line 2: classes.otp.early_seconds must be a whole number, not a date"],
        ),
        ("classes = 5\n".to_owned(), vec!["line 1: classes must be a table, not a number"]),
        (
            "[[classes]]\n[[classes]]\n".to_owned(),
            vec!["line 1: classes must be a table, not a list"],
        ),
        (
            "[classes]\notp = [1]\n".to_owned(),
            vec!["line 2: classes.otp must be a table, not a list"],
        ),
        (
            sqs("paused = \"yes\""),
            vec!["line 4: channels.inbox.paused must be true or false, not a text"],
        ),
        (
            sqs("paused = 1"),
            vec!["line 4: channels.inbox.paused must be true or false, not a number"],
        ),
        (
            "[channels.bus]\nkind = \"eventbridge\"\nbus_name = 7\n".to_owned(),
            vec!["line 3: channels.bus.bus_name must be a text in quotes, not a number"],
        ),
        (
            "[channels.bus]\nkind = 1\nbus_name = \"b\"\n".to_owned(),
            vec!["line 2: channels.bus.kind must be a text in quotes, not a number"],
        ),
    ]
}

fn cases_of_fields() -> Vec<(String, Vec<&'static str>)> {
    vec![
        (otp("priority = 0\n", ""), vec!["line 1: classes.otp.priority is required"]),
        (
            "\n[classes.otp]\n".to_owned(),
            vec![
                "line 2: classes.otp.early_seconds is required",
                "line 2: classes.otp.late_seconds is required",
                "line 2: classes.otp.lateness_budget_seconds is required",
                "line 2: classes.otp.priority is required",
            ],
        ),
        (
            otp("priority = 0", "priority = 0\nurgent = 1"),
            vec![
                "line 5: classes.otp.urgent is unknown; known are early_seconds, late_seconds, \
                 priority, expires_after_seconds, lateness_budget_seconds",
            ],
        ),
        (
            format!("{OTP}\n[class.alert]\n"),
            vec!["line 7: class is unknown; known are classes, channels"],
        ),
        (
            sqs("rate = 5"),
            vec![
                "line 4: channels.inbox.rate is unknown; known are kind, queue_url, bus_name, \
                 url, secret_parameter, allow_loopback, template, paused, attempts_max, \
                 backoff_seconds_min, backoff_seconds_max, send_timeout_millis, \
                 rate_per_second, burst, reserve_per_second",
            ],
        ),
        (
            sqs("bus_name = \"default\""),
            vec![
                "line 4: channels.inbox.bus_name is a field of kind eventbridge; this channel is \
                 of kind sqs",
            ],
        ),
        (
            "[channels.bus]\nkind = \"eventbridge\"\nqueue_url = \"q\"\n".to_owned(),
            vec![
                "line 1: channels.bus.bus_name is required",
                "line 3: channels.bus.queue_url is a field of kind sqs; this channel is of kind \
                 eventbridge",
            ],
        ),
        (
            "[channels.bus]\nbus_name = \"b\"\n".to_owned(),
            vec!["line 1: channels.bus.kind is required"],
        ),
        (
            "[channels.bus]\nkind = \"SQS\"\nqueue_url = \"q\"\n".to_owned(),
            vec!["line 2: channels.bus.kind must be sqs, eventbridge or webhook"],
        ),
        (
            "[channels.bus]\nkind = \"eventbridge\"\nbus_name = \"\"\n".to_owned(),
            vec!["line 3: channels.bus.bus_name must not be empty"],
        ),
    ]
}

#[test]
fn a_template_that_is_not_in_order_is_refused_with_its_line() {
    let check = |source: &str| match source {
        "good" => Ok(()),
        other => Err(format!("is no template: {other}")),
    };
    let policy = |template: &str| sqs(&format!("paused = true\ntemplate = '{template}'"));
    assert!(spillway_policy::parse_with(&policy("good"), check).is_ok());
    let errors = spillway_policy::parse_with(&policy("bad"), check).unwrap_err();
    assert_eq!(errors.to_string(), "line 5: channels.inbox.template is no template: bad");
}

fn hook(more: &str) -> String {
    format!("[channels.hook]\nkind = \"webhook\"\n{more}\n")
}

#[test]
fn a_webhook_that_is_not_in_order_is_refused() {
    let secret = "secret_parameter = \"/hook\"";
    let url = "url = \"https://hooks.example.com/\"";
    for (more, expected) in [
        (
            String::new(),
            vec![
                "line 1: channels.hook.secret_parameter is required",
                "line 1: channels.hook.url is required",
            ],
        ),
        (
            format!("{url}\nsecret_parameter = \"\""),
            vec![
                "line 4: channels.hook.secret_parameter must be 1 to 1011 letters, digits and any of . - _ /",
            ],
        ),
        (
            format!("{url}\n{secret}\nbus_name = \"b\""),
            vec![
                "line 5: channels.hook.bus_name is a field of kind eventbridge; this channel is of kind webhook",
            ],
        ),
        (
            format!("{secret}\nurl = \"http://127.0.0.1/\""),
            vec![
                "line 4: channels.hook.url must not point to the machine itself without allow_loopback = true",
            ],
        ),
        (
            format!("{secret}\nurl = \"http://hooks.example.com/\""),
            vec![
                "line 4: channels.hook.url must begin with https://; http:// is for the machine itself",
            ],
        ),
        (format!("{secret}\nallow_loopback = true\nurl = \"http://127.0.0.1:1/\""), vec![]),
        (format!("{secret}\n{url}"), vec![]),
    ] {
        assert_eq!(errors(&hook(&more)), expected, "{more}");
    }
}

const NAME_RULE: &str = "must be 1 to 64 of a-z, 0-9, - and _, beginning with a letter";

#[test]
fn a_class_or_a_channel_with_a_bad_name_is_refused() {
    for (name, shown) in [
        ("\"one time\"", "\"one time\""),
        ("OTP", "OTP"),
        ("7days", "7days"),
        ("\"\"", "\"\""),
        ("\"a.b\"", "\"a.b\""),
    ] {
        let class = OTP.replace("otp", name);
        let expected = format!("line 1: classes.{shown} is not a name: {NAME_RULE}");
        assert_eq!(errors(&class), [expected]);
        let channel = sqs("").replace("inbox", name);
        let expected = format!("line 1: channels.{shown} is not a name: {NAME_RULE}");
        assert_eq!(errors(&channel), [expected]);
    }
    let long = "a".repeat(65);
    let expected = format!("line 1: classes.{long} is not a name: {NAME_RULE}");
    assert_eq!(errors(&OTP.replace("otp", &long)), [expected]);
}

fn cases_of_grammar() -> Vec<(String, Vec<&'static str>)> {
    vec![
        (format!("{OTP}\n{OTP}"), {
            vec![
                "line 7: classes.otp is there twice",
                "line 8: classes.otp.early_seconds is there twice",
                "line 9: classes.otp.late_seconds is there twice",
                "line 10: classes.otp.priority is there twice",
                "line 11: classes.otp.lateness_budget_seconds is there twice",
            ]
        }),
        (format!("{OTP}\n[classes.\"otp\"]\n"), vec!["line 7: classes.otp is there twice"]),
        (
            otp("priority = 0", "priority = 0\npriority = 1"),
            vec!["line 5: classes.otp.priority is there twice"],
        ),
        (otp("priority = 0", "priority ="), vec!["line 4: classes.otp.priority has no value"]),
        (
            otp("priority = 0", "priority = 007"),
            vec![
                "line 4: classes.otp.priority is not TOML: unexpected leading zero, expected \
                 nothing",
            ],
        ),
        (
            otp("priority = 0", "priority = high"),
            vec![
                "line 4: classes.otp.priority is not TOML: string values must be quoted, expected \
                 literal string",
            ],
        ),
        (
            otp("[classes.otp]", "[classes.otp"),
            vec!["line 1: is not TOML: unclosed table, expected `]`"],
        ),
        (
            otp("priority = 0", "priority 0"),
            vec!["line 4: is not TOML: key with no value, expected `=`"],
        ),
    ]
}

#[test]
fn each_fault_of_a_policy_is_named_with_its_line() {
    let cases = [
        cases_of_numbers_of_classes(),
        cases_of_numbers_of_channels(),
        cases_of_rates(),
        cases_of_types(),
        cases_of_fields(),
        cases_of_grammar(),
    ];
    let cases: Vec<_> = cases.into_iter().flatten().collect();
    assert!(cases.len() >= 40);
    for (text, expected) in cases {
        assert_eq!(errors(&text), expected, "\n{text}");
    }
}

#[test]
fn all_faults_of_a_policy_are_named_at_once_in_the_order_of_their_lines() {
    let text = "[classes.Otp]
early_seconds = -1
late_seconds = 0
priority = 12
lateness_budget_seconds = 2
colour = \"red\"

[channels.inbox]
kind = \"sqs\"
paused = 1

[more]
";
    let lines: Vec<_> =
        parse(text).unwrap_err().as_slice().iter().map(|error| error.line).collect();
    assert_eq!(lines, [1, 2, 4, 6, 8, 10, 12]);
}

#[test]
fn a_fault_of_grammar_does_not_hide_the_faults_of_other_lines() {
    let text = otp("early_seconds = 0", "early_seconds =").replace("priority = 0", "priority = 12");
    assert_eq!(
        errors(&text),
        [
            "line 2: classes.otp.early_seconds has no value",
            "line 4: classes.otp.priority must be 0 to 9"
        ]
    );
}

#[test]
fn lines_are_counted_across_windows_line_ends_and_comments() {
    let text = format!("# comment\r\n\r\n{}", otp("priority = 0", "priority = 12"));
    let text = text.replace("= 12\n", "= 12\r\n");
    assert_eq!(errors(&text), ["line 6: classes.otp.priority must be 0 to 9"]);
}

#[test]
fn a_policy_without_classes_or_channels_is_in_order() {
    for text in ["", "# nothing\n", "[classes]\n", "[channels]\n", OTP, &sqs("")] {
        assert_eq!(errors(text), [""; 0], "{text}");
    }
}

#[test]
fn a_rate_alone_has_a_burst_of_its_fifth_and_no_reserve() {
    for (text, expected) in [
        ("rate_per_second = 500", Rate::new(500, Some(100), 0)),
        ("rate_per_second = 3", Rate::new(3, Some(1), 0)),
        ("rate_per_second = 180\nburst = 9\nreserve_per_second = 20", Rate::new(180, Some(9), 20)),
    ] {
        let policy = parse(&sqs(text)).unwrap();
        let rates: Vec<_> = policy.rates().map(|(_, rate)| rate).collect();
        assert_eq!(rates, [expected.unwrap()], "{text}");
    }
    assert_eq!(parse(&sqs("")).unwrap().rates().count(), 0);
}

#[test]
fn fields_may_be_written_in_every_way_that_toml_knows() {
    let inline = "classes = { otp = { early_seconds = 0, late_seconds = 0x1E, priority = 0b1, \
                  lateness_budget_seconds = 1_000 } }";
    let dotted = "classes.otp.early_seconds = +0\nclasses.otp.late_seconds = 30\n\
                  classes.otp.priority = 0o1\nclasses.otp.lateness_budget_seconds = 1000\n";
    let policy = parse(inline).unwrap();
    assert_eq!(policy, parse(dotted).unwrap());
    let contract = policy.classes.values().next().unwrap();
    assert_eq!((contract.late_seconds, contract.priority), (30, 1));
}
