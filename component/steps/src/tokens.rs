//! The tokens of all accounts, to be masked in a history that is recorded.

use voice_calling_core::settings::PREFIX;
use voice_calling_core::token;

/// What stands in a history where a token stood: a token itself, with which it can be replayed.
pub const MASKED_TOKEN: &str = "masked-token";

/// What the settings have as tokens, whether these are right or wrong.
#[derive(Default)]
pub struct Tokens(Vec<String>);

impl Tokens {
    /// Those of an environment.
    pub fn of_environment(environment: &[(String, String)]) -> Self {
        let variables = environment.iter();
        let tokens = variables.filter(|(name, value)| {
            name.starts_with(PREFIX) && name.ends_with("API_TOKEN") && !value.is_empty()
        });
        let mut tokens: Vec<_> = tokens.map(|(_, token)| token.clone()).collect();
        // One may be a part of another.
        tokens.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        tokens.dedup();
        Self(tokens)
    }

    /// A text in which they are masked as the core masks them.
    pub fn mask(&self, text: &str) -> String {
        let masked = self.0.iter();
        masked.fold(text.to_owned(), |text, token| {
            token::mask_with(MASKED_TOKEN, token, &text)
        })
    }
}
