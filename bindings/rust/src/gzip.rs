//! Bodies that a gateway has compressed, although none was asked for.

use bytes::Bytes;
use flate2::write::GzDecoder;
use std::io::{self, Write};
use std::mem;

/// Decompresses a body piece by piece, as far as it may be read.
pub(crate) struct Gunzip(GzDecoder<Limited>);

impl Gunzip {
    /// One byte more than `max_bytes` is enough to see that a body is too large.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self(GzDecoder::new(Limited {
            bytes: Vec::new(),
            left: max_bytes.saturating_add(1),
        }))
    }

    /// Returns what a piece contains, which may be nothing yet.
    pub(crate) fn decompress(&mut self, piece: &[u8]) -> Result<Bytes, String> {
        let written = self.0.write_all(piece).and_then(|()| self.0.flush());
        self.taken(written)
    }

    /// Returns the rest of the body.
    pub(crate) fn finish(&mut self) -> Result<Option<Bytes>, String> {
        let finished = self.0.try_finish();
        let rest = self.taken(finished)?;
        Ok((!rest.is_empty()).then_some(rest))
    }

    fn taken(&mut self, written: io::Result<()>) -> Result<Bytes, String> {
        let output = self.0.get_mut();
        match written {
            Err(error) if output.left > 0 => Err(format!("the body is not gzip: {error}")),
            _ => Ok(mem::take(&mut output.bytes).into()),
        }
    }
}

struct Limited {
    bytes: Vec<u8>,
    left: usize,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let taken = &bytes[..bytes.len().min(self.left)];
        self.bytes.extend_from_slice(taken);
        self.left -= taken.len();
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_body_is_decompressed_in_pieces_up_to_its_limit() {
        let text = "text ".repeat(20_000);
        for (max_bytes, expected) in [(200_000, 100_000), (100_000, 100_000), (9, 10)] {
            for piece_bytes in [1, 1_000] {
                let mut gunzip = Gunzip::new(max_bytes);
                let mut read = Vec::new();
                for piece in gzip(text.as_bytes()).chunks(piece_bytes) {
                    read.extend(gunzip.decompress(piece).unwrap());
                }
                read.extend(gunzip.finish().unwrap().unwrap_or_default());
                assert_eq!(read, text.as_bytes()[..expected]);
            }
        }
    }

    #[test]
    fn a_body_that_ends_early_or_is_no_gzip_is_an_error_after_what_was_read() {
        let text = b"some text";
        let whole = gzip(text);
        let mut gunzip = Gunzip::new(100);
        let read = gunzip.decompress(&whole[..whole.len() - 4]).unwrap();
        assert_eq!(read, &text[..]);
        assert!(gunzip.finish().is_err());
        assert!(Gunzip::new(100).decompress(b"plain text").is_err());
    }
}
