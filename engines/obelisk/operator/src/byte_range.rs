//! The part of a source that an answer to a request with `Range` contains.

use voice_calling_obelisk_guest::{HeaderMap, Window};

/// The size of each request to a source.
pub const RANGE_BYTES: usize = 262_144;

/// The largest size of a source if the server does not support `Range`. A larger one is refused at
/// its first page, before anything is created.
const MOST_WHOLE_BYTES: u64 = 16 * 1_048_576;

/// Returns the value of `Range`.
pub fn request(position: u64) -> String {
    let last = position.saturating_add(RANGE_BYTES as u64 - 1);
    format!("bytes={position}-{last}")
}

/// Returns the part of an answer's body to read.
pub fn window(status: u16, headers: &HeaderMap, position: u64) -> Result<Window, String> {
    match header(headers, "content-encoding") {
        None | Some("identity") => {}
        Some(encoding) => return Err(format!("content-encoding is {encoding:?}; expected none")),
    }
    match status {
        206 | 416 => Ok(Window::first(RANGE_BYTES)),
        200 if length(headers).unwrap_or(position) > MOST_WHOLE_BYTES => Err(format!(
            "the server does not support Range; without it, a source may have at most {MOST_WHOLE_BYTES} bytes"
        )),
        200 => Ok(Window::at(position, RANGE_BYTES)),
        _ => Err(format!("the answer is {status}; expected 200, 206 or 416")),
    }
}

/// Returns `true` if the source ends with what was read. Only a length that the server states is
/// trusted: a range may be shorter than requested.
pub fn is_end(
    status: u16,
    headers: &HeaderMap,
    position: u64,
    read: &Window,
) -> Result<bool, String> {
    let became_shorter =
        || format!("the source ends before byte {position}, up to which it was read before");
    if status == 200 {
        return match read.missing() {
            0 => Ok(!read.is_cut()),
            _ => Err(became_shorter()),
        };
    }
    let found = header(headers, "content-range").unwrap_or_default();
    let wrong = |allowed: &str| Err(format!("content-range is {found:?}; expected {allowed}"));
    let Some((range, total)) = found
        .strip_prefix("bytes ")
        .and_then(|it| it.split_once('/'))
    else {
        return wrong("a range of bytes");
    };
    let Some(total) = number(total) else {
        return wrong("a range with the length of the source");
    };
    if status == 416 {
        return match total == position {
            true => Ok(true),
            false => Err(became_shorter()),
        };
    }
    let ends = range
        .split_once('-')
        .map(|(first, last)| (number(first), number(last)));
    let Some((Some(first), Some(last))) = ends else {
        return wrong("a range of bytes");
    };
    if first != position || last < first || last >= total {
        return wrong(&format!("a range from {position}"));
    }
    if read.is_cut() || last - first + 1 != read.bytes().len() as u64 {
        return wrong(&format!(
            "the range of the {} bytes that came",
            read.bytes().len()
        ));
    }
    Ok(last + 1 == total)
}

fn length(headers: &HeaderMap) -> Option<u64> {
    number(header(headers, "content-length")?)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Parses digits alone: Rust would accept `+7` as well.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let fields = fields.iter();
        fields
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    /// Returns whether the source ends with this answer to a request from byte 10 on.
    fn ends(status: u16, content_range: &str, body: &str) -> Result<bool, String> {
        let headers = headers(&[("content-range", content_range)]);
        let mut read = window(status, &headers, 10)?;
        read.take(body.as_bytes());
        is_end(status, &headers, 10, &read)
    }

    #[test]
    fn a_range_ends_the_source_where_its_length_says_so() {
        assert_eq!(request(10), "bytes=10-262153");
        assert_eq!(ends(206, "bytes 10-12/13", "abc"), Ok(true));
        assert_eq!(ends(206, "bytes 10-12/14", "abc"), Ok(false));
        assert_eq!(ends(416, "bytes */10", "not satisfiable"), Ok(true));
    }

    #[test]
    fn a_range_that_says_something_else_is_an_error() {
        for content_range in [
            "",
            "bytes 9-12/13",
            "bytes 11-12/13",
            "bytes 10-11/13",
            "bytes 10-13/14",
            "bytes 10-12/12",
            "bytes 10-12/*",
            "bytes 10-12",
            "bytes */13",
            "bytes 10-+12/13",
            "items 10-12/13",
        ] {
            let error = ends(206, content_range, "abc").unwrap_err();
            assert!(error.contains(content_range), "{error}");
        }
    }

    #[test]
    fn a_source_that_became_shorter_is_no_end() {
        assert!(ends(416, "bytes */9", "").is_err());
        assert!(ends(416, "bytes */11", "").is_err());
        assert!(ends(416, "bytes */*", "").is_err());
        assert!(ends(200, "", "123456789").is_err());
    }

    #[test]
    fn the_whole_source_is_read_from_the_position_on() {
        assert_eq!(ends(200, "", "0123456789"), Ok(true));
        assert_eq!(ends(200, "", "0123456789abc"), Ok(true));
        let long = "0".repeat(10 + RANGE_BYTES);
        assert_eq!(ends(200, "", &long), Ok(true));
        assert_eq!(ends(200, "", &(long + "0")), Ok(false));
        assert!(window(200, &HeaderMap::new(), MOST_WHOLE_BYTES + 1).is_err());
        let large = (MOST_WHOLE_BYTES + 1).to_string();
        assert!(window(200, &headers(&[("content-length", &large)]), 0).is_err());
    }

    #[test]
    fn what_is_no_plain_text_of_the_source_is_not_read() {
        assert!(window(302, &HeaderMap::new(), 0).is_err());
        assert!(window(404, &HeaderMap::new(), 0).is_err());
        assert!(window(206, &headers(&[("content-encoding", "gzip")]), 0).is_err());
        assert!(window(206, &headers(&[("content-encoding", "identity")]), 0).is_ok());
    }
}
