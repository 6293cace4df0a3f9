//! The part of a body that is kept.

/// A range of a body: the bytes before it are skipped, those after it are not read.
#[derive(Debug, PartialEq, Eq)]
pub struct Window {
    to_skip: u64,
    most_bytes: usize,
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Window {
    /// Returns a window of the first bytes.
    pub fn first(most_bytes: usize) -> Self {
        Self::at(0, most_bytes)
    }

    /// Returns a window of the bytes from a position on.
    pub fn at(position: u64, most_bytes: usize) -> Self {
        Self {
            to_skip: position,
            most_bytes,
            bytes: Vec::new(),
            is_cut: false,
        }
    }

    /// Adds the next bytes of the body. Returns `true` if more are wanted.
    pub fn take(&mut self, chunk: &[u8]) -> bool {
        let skipped = chunk
            .len()
            .min(self.to_skip.try_into().unwrap_or(usize::MAX));
        self.to_skip -= skipped as u64;
        let chunk = &chunk[skipped..];
        let room = self.most_bytes - self.bytes.len();
        self.is_cut = chunk.len() > room;
        self.bytes
            .extend_from_slice(&chunk[..chunk.len().min(room)]);
        !self.is_cut
    }

    /// Returns the bytes of the range.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns `true` if the body continues after the range.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the number of bytes by which the body falls short of the range's beginning.
    pub fn missing(&self) -> u64 {
        self.to_skip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window_of(position: u64, most_bytes: usize, chunks: &[&str]) -> Window {
        let mut window = Window::at(position, most_bytes);
        for chunk in chunks {
            if !window.take(chunk.as_bytes()) {
                break;
            }
        }
        window
    }

    #[test]
    fn a_window_is_the_same_however_the_body_comes() {
        for chunks in [
            &["abcdefgh"][..],
            &["abc", "de", "", "fgh"],
            &["a", "bcdefg", "h"],
        ] {
            for (position, most_bytes, expected, is_cut) in [
                (0, 8, "abcdefgh", false),
                (0, 9, "abcdefgh", false),
                (0, 7, "abcdefg", true),
                (3, 5, "defgh", false),
                (3, 4, "defg", true),
                (8, 4, "", false),
                (7, 0, "", true),
            ] {
                let window = window_of(position, most_bytes, chunks);
                assert_eq!(window.bytes(), expected.as_bytes());
                assert_eq!(
                    (window.is_cut(), window.missing()),
                    (is_cut, 0),
                    "{position}"
                );
            }
        }
    }

    #[test]
    fn a_body_that_ends_before_the_window_lacks_bytes() {
        let window = window_of(10, 4, &["abc", "defgh"]);
        assert_eq!((window.bytes(), window.missing()), (&b""[..], 2));
    }
}
