//! The tokens of JSON that serde_json has checked. They are split by hand, since serde_json reads a
//! skipped value again at each level of its nesting, and any other number without its digits.

/// The characters that only separate tokens.
const SEPARATORS: [char; 6] = [' ', '\t', '\r', '\n', ',', ':'];

/// A token of a value.
#[derive(Clone, Copy)]
pub(crate) enum Token<'a> {
    /// The beginning of an object or an array.
    Object,
    Array,
    /// The end of either.
    End,
    /// The name of a member, as it is written.
    Name(&'a str),
    /// A value that is neither an object nor an array, as it is written.
    Scalar(&'a str),
}

/// The tokens in a text, in linear time.
pub(crate) struct Tokens<'a>(pub(crate) &'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let text = self.0.trim_start_matches(SEPARATORS);
        let first = text.chars().next()?;
        let end = match first {
            '{' | '}' | '[' | ']' => Some(1),
            '"' => string_end(text),
            _ => text.find(|next| SEPARATORS.contains(&next) || matches!(next, '}' | ']')),
        };
        let (token, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest.trim_ascii_start();
        Some(match first {
            '{' => Token::Object,
            '[' => Token::Array,
            '}' | ']' => Token::End,
            _ if self.0.starts_with(':') => Token::Name(token),
            _ => Token::Scalar(token),
        })
    }
}

/// Returns the end of the string at the beginning of a text.
fn string_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let quote = text[1..].find(|next| {
        let is_quote = next == '"' && !is_escaped;
        is_escaped = next == '\\' && !is_escaped;
        is_quote
    });
    Some(quote? + 2)
}
