//! Arguments with a fixed set of names, whose documentation comes from the library.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::str::FromStr;
use strum::{EnumMessage, VariantArray};

/// Returns a parser for the names of a library's enumeration.
pub(super) fn choice<T>() -> impl TypedValueParser<Value = T>
where
    T: Clone + EnumMessage + FromStr + Into<&'static str> + Send + Sync + VariantArray,
{
    let value = |choice: &T| {
        let help = choice.get_documentation().unwrap_or_default();
        PossibleValue::new(choice.clone().into()).help(help.trim_end_matches('.'))
    };
    PossibleValuesParser::new(T::VARIANTS.iter().map(value)).map(|name| {
        let Ok(choice) = name.parse() else {
            unreachable!("clap lets only names of choices pass")
        };
        choice
    })
}
