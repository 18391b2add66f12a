//! What `template.yaml` deploys, against the code that runs there.

mod functions;
mod permissions;
mod queues;
mod storage;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

use crate::repository;

/// The template as JSON, its short tags written out: `!Ref A` is `{"Ref": "A"}`.
pub(crate) fn template() -> Value {
    parse(&repository::read("template.yaml"))
}

fn parse(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1);
    value(&documents[0])
}

fn value(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(boolean)) => json!(boolean),
        Yaml::Value(Scalar::Integer(integer)) => json!(integer),
        Yaml::Value(Scalar::FloatingPoint(number)) => json!(number.into_inner()),
        Yaml::Value(Scalar::String(text)) => json!(text),
        Yaml::Sequence(items) => items.iter().map(value).collect(),
        Yaml::Mapping(fields) => {
            let name = |key: &Yaml<'_>| key.as_str().expect("a key is a text").to_owned();
            let fields = fields.iter().map(|(key, field)| (name(key), value(field)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Yaml::Tagged(tag, node) => {
            let function = match tag.suffix.as_str() {
                "Ref" => "Ref".to_owned(),
                "Condition" => "Condition".to_owned(),
                other => format!("Fn::{other}"),
            };
            json!({ function: value(node) })
        }
        other => panic!("not a value of a template: {other:?}"),
    }
}

/// The resources of a type with their names.
pub(crate) fn resources<'a>(
    template: &'a Value,
    of_type: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let all = template["Resources"].as_object().unwrap().iter();
    all.filter(move |(_, resource)| resource["Type"] == of_type)
        .map(|(name, resource)| (name.as_str(), resource))
}

/// The properties of a resource; a missing one is null.
pub(crate) fn properties<'a>(template: &'a Value, name: &str) -> &'a Value {
    let resource = &template["Resources"][name];
    assert!(resource.is_object(), "there is no {name}");
    &resource["Properties"]
}

#[test]
fn short_tags_are_read_as_the_functions_that_they_stand_for() {
    let read = parse("{a: !Ref B, c: !GetAtt D.Arn, e: !If [F, [!Sub 'g', 1], true]}");
    let written = json!({
        "a": { "Ref": "B" },
        "c": { "Fn::GetAtt": "D.Arn" },
        "e": { "Fn::If": ["F", [{ "Fn::Sub": "g" }, 1], true] },
    });
    assert_eq!(read, written);
}
