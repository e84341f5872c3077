use super::{Found, OptionValue, ReadError, ReadErrorKind};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Flat,
    Round(u8),
    Sized { height: u8 },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    shapes: Vec<Shape>,
    size: Option<u64>,
    address: Option<Ipv4Addr>,
}

fn table(entries: &[(&str, OptionValue)]) -> OptionValue {
    OptionValue::Table(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

fn text(text: &str) -> OptionValue {
    OptionValue::Text(text.to_owned())
}

fn shapes(shapes: &[OptionValue]) -> OptionValue {
    table(&[("shapes", OptionValue::List(shapes.to_vec()))])
}

#[track_caller]
fn wrong(value: &OptionValue) -> ReadError {
    value.read::<Options>().expect_err("this is wrong")
}

#[test]
fn options_are_read_from_values() {
    let sized = table(&[("sized", table(&[("height", OptionValue::Integer(2))]))]);
    let round = table(&[("round", OptionValue::Integer(7))]);
    let value = shapes(&[text("flat"), round, sized]);
    let read: Options = value.read().unwrap();
    assert_eq!(read.shapes, [Shape::Flat, Shape::Round(7), Shape::Sized { height: 2 }]);
    assert_eq!((read.size, read.address), (None, None));
    let value = table(&[("size", OptionValue::Integer(u64::MAX.into())), ("address", text("192.0.2.1"))]);
    let read: Options = value.read().unwrap();
    assert_eq!((read.size, read.address), (Some(u64::MAX), Some(Ipv4Addr::new(192, 0, 2, 1))));
    assert_eq!(OptionValue::Table(BTreeMap::new()).read::<BTreeMap<String, u8>>(), Ok(BTreeMap::new()));
}

#[test]
fn a_value_is_read_from_any_format() {
    let value = shapes(&[
        text("flat"),
        OptionValue::Bool(true),
        OptionValue::Integer(1 << 80),
        OptionValue::Float(0.5),
    ]);
    assert_eq!(value.read::<OptionValue>().unwrap(), value);
}

#[test]
fn an_error_says_where_it_is_and_of_which_kind() {
    for (value, told) in [
        (
            shapes(&[text("flat"), text("flt")]),
            "`shapes[1]`: expected one of [\"flat\", \"round\", \"sized\"], found \"flt\"",
        ),
        (
            shapes(&[OptionValue::Integer(5)]),
            "`shapes[0]`: expected one of [\"flat\", \"round\", \"sized\"], found 5",
        ),
        (
            shapes(&[table(&[("sized", table(&[("height", OptionValue::Float(1.5))]))])]),
            "`shapes[0].sized.height`: expected u8, found 1.5",
        ),
        (shapes(&[table(&[("sized", table(&[]))])]), "`shapes[0].sized`: `height` is missing"),
        (
            table(&[("shpes", text(""))]),
            "unknown name `shpes`, expected one of [\"shapes\", \"size\", \"address\"]",
        ),
        (table(&[("size", OptionValue::Integer(-1))]), "`size`: expected u64, found -1"),
        (
            table(&[("size", OptionValue::Integer(1 << 80))]),
            "`size`: expected u64, found 1208925819614629174706176",
        ),
        (table(&[("size", OptionValue::List(Vec::new()))]), "`size`: expected u64, found a list"),
        (table(&[("address", text("1.2.3"))]), "`address`: invalid IPv4 address syntax"),
        (text("x"), "expected struct Options, found \"x\""),
    ] {
        assert_eq!(wrong(&value).to_string(), told);
    }
    let error = wrong(&table(&[("size", OptionValue::Bool(true))]));
    assert_eq!(error.kind, ReadErrorKind::Type { found: Found::Bool(true), expected: "u64".to_owned() });
}
