//! What a template makes of a payload.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use spillway_template::{RenderError, check, render};

fn rendered(source: &str, payload: &str) -> serde_json::Value {
    assert_eq!(check(source), Ok(()));
    serde_json::from_str(&render(source, payload).unwrap()).unwrap()
}

fn unfit(line: usize, source: &str, payload: &str) -> String {
    match render(source, payload) {
        Err(RenderError::Unfit { line: found, what }) if found == line => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_payload_s_values_come_out_as_json() {
    let source = r#"{"to": {{ payload.email }}, "text": {{ "Hello " ~ payload.name }},
        "items": [{% for item in payload.items %}{{ item|upper }}{{ "," if not loop.last }}{% endfor %}]}"#;
    let payload = r#"{"email":"a@b.example","name":"Zo\u00eb \"Z\"","items":["a","b"]}"#;
    let source =
        source.replace(r#"{{ "," if not loop.last }}"#, "{% if not loop.last %},{% endif %}");
    let expected = serde_json::json!({
        "to": "a@b.example", "text": "Hello Zoë \"Z\"", "items": ["A", "B"],
    });
    assert_eq!(rendered(&source, payload), expected);
}

/// Whatever a payload holds, it stays inside the value that the template writes it into.
#[test]
fn a_payload_cannot_write_anything_but_a_value() {
    for text in [r#"","admin":true,"x":""#, "{{ payload }}", "</script>", "\\", "\u{2028}\n\0"] {
        let payload = serde_json::json!({ "name": text });
        let made = rendered(r#"{"name": {{ payload.name }}}"#, &payload.to_string());
        assert_eq!(made, payload);
    }
}

#[test]
fn numbers_lists_and_nothing_keep_their_kind() {
    let payload = r#"{"a":1,"b":1.5,"c":null,"d":[true],"e":{"f":-9007199254740993}}"#;
    let expected: serde_json::Value = serde_json::from_str(payload).unwrap();
    assert_eq!(rendered("{{ payload }}", payload), expected);
}

#[test]
fn what_the_payload_has_not_is_told_with_the_template_s_line() {
    let source = "{\n  \"to\": {{ payload.email }},\n  \"cc\": {{ payload.cc.email }}\n}";
    assert!(unfit(2, source, "{}").starts_with("undefined value"));
    assert!(unfit(3, source, r#"{"email":"a"}"#).starts_with("undefined value"));
    assert!(unfit(2, source, "null").starts_with("undefined value"));
    assert!(!unfit(1, "{{ payload + 1 }}", "\"a\"").is_empty());
    let lenient = "{{ payload.cc|default(\"none\") }}";
    assert_eq!(rendered(lenient, "{}"), "none");
    assert_eq!(rendered("{% if payload.a is defined %}1{% else %}2{% endif %}", "{}"), 2);
}

#[test]
fn the_output_may_be_as_large_as_a_payload() {
    let payload = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert!(render("{{ payload }}", &payload(65_536)).is_ok());
    assert_eq!(render(" {{ payload }}", &payload(65_536)), Err(RenderError::TooLarge));
    let twice = "[{{ payload }},{{ payload }}]";
    assert_eq!(render(twice, &payload(40_000)), Err(RenderError::TooLarge));
}

#[test]
fn the_work_is_bounded() {
    let endless = "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}1";
    assert_eq!(check(endless), Ok(()));
    assert_eq!(render(endless, "null"), Err(RenderError::TooLong));
    let thousand =
        "[{% for item in payload %}{{ item }}{% if not loop.last %},{% endif %}{% endfor %}]";
    let payload = serde_json::json!((0..1_000).collect::<Vec<_>>());
    assert_eq!(rendered(thousand, &payload.to_string()), payload);
}

#[test]
fn the_output_must_be_json() {
    for source in ["Hello {{ payload }}", "", "{\"a\": }", "1 2", "[1,]"] {
        assert!(matches!(render(source, "1"), Err(RenderError::NotJson(_))), "{source}");
    }
}

#[test]
fn what_is_no_template_is_refused_with_its_line() {
    for (source, says) in [
        ("{\n{{ payload.", "is no template, line 2 of it: syntax error"),
        ("{% for a in payload %}", "is no template, line 1 of it: syntax error"),
        ("1\n{{ payload|nonsense }}", "line 2 of it: unknown filter"),
        ("{{ nonsense(1) }}", "names nonsense"),
        ("{{ user.name }}", "names user; its only variable is payload"),
        ("{% include 'other' %}", "is no template, line 1 of it: "),
    ] {
        let error = check(source).unwrap_err();
        assert!(error.starts_with(says), "{source}: {error}");
    }
}
