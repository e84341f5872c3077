//! From what TOML says to the values that classes read.

use engine::{OptionValue, Step};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The name under which serde's types for dates of TOML look for one.
const DATE: &str = "$__toml_private_datetime";

/// A value of TOML as one of the engine's; what is wrong with it, and where, if it is a number that no class could read.
pub(super) fn value(written: &Spanned<DeValue<'_>>) -> Result<OptionValue, (Range<usize>, &'static str)> {
    Ok(match written.get_ref() {
        DeValue::String(text) => OptionValue::Text(text.to_string()),
        DeValue::Integer(number) => {
            let number = i128::from_str_radix(number.as_str(), number.radix());
            OptionValue::Integer(number.map_err(|_| (written.span(), "integer number overflowed"))?)
        }
        DeValue::Float(number) => {
            let is_infinite = number.as_str().contains("inf");
            let number: Option<f64> = number.as_str().parse().ok();
            let number = number.filter(|number| is_infinite || !number.is_infinite());
            OptionValue::Float(number.ok_or((written.span(), "floating-point number overflowed"))?)
        }
        DeValue::Boolean(value) => OptionValue::Bool(*value),
        DeValue::Datetime(date) => {
            OptionValue::Table(BTreeMap::from([(DATE.to_owned(), OptionValue::Text(date.to_string()))]))
        }
        DeValue::Array(items) => OptionValue::List(items.iter().map(value).collect::<Result<_, _>>()?),
        DeValue::Table(entries) => OptionValue::Table(table(entries)?),
    })
}

fn table(entries: &DeTable<'_>) -> Result<BTreeMap<String, OptionValue>, (Range<usize>, &'static str)> {
    entries.iter().map(|(name, written)| Ok((name.get_ref().to_string(), value(written)?))).collect()
}

/// The value at the end of a path, if it is there.
pub(super) fn at<'t, 'v>(table: &'t DeTable<'v>, path: &[Step]) -> Option<&'t Spanned<DeValue<'v>>> {
    let (Step::Name(option), inside) = path.split_first()? else { return None };
    inside.iter().try_fold(table.get(option.as_str())?, |value, step| match (value.get_ref(), step) {
        (DeValue::Table(table), Step::Name(name)) => table.get(name.as_str()),
        (DeValue::Array(items), Step::Index(index)) => items.get(*index),
        _ => None,
    })
}

/// The place where a name stands in the table that is this value.
pub(super) fn name_in(value: &DeValue<'_>, name: &str) -> Option<Range<usize>> {
    let DeValue::Table(table) = value else { return None };
    table.get_key_value(name).map(|(key, _)| key.span())
}
