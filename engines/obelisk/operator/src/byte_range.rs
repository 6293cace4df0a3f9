//! The part of a source that an answer to a request with `Range` contains.

use voice_calling_obelisk_guest::Answer;

/// The size of each request to a source.
const RANGE_BYTES: u64 = 262_144;

/// The largest size of a source if the server does not support `Range`. A larger one is refused at
/// its first page, before anything is created.
pub const MOST_WHOLE_BYTES: usize = 16 * 1_048_576;

/// Returns the value of `Range`.
pub fn request(position: u64) -> String {
    let last = position.saturating_add(RANGE_BYTES - 1);
    format!("bytes={position}-{last}")
}

/// A part of a source.
#[derive(Debug, PartialEq)]
pub struct Part<'a> {
    pub bytes: &'a [u8],
    /// Whether the source ends with it. Only a length that the server states is trusted: a range
    /// may be shorter than requested.
    pub is_end: bool,
}

/// Returns the part of the source from `position` on that the answer contains.
pub fn part(answer: &Answer, position: u64) -> Result<Part<'_>, String> {
    match header(answer, "content-encoding") {
        None | Some("identity") => {}
        Some(encoding) => return Err(format!("content-encoding is {encoding:?}; expected none")),
    }
    let became_shorter =
        || format!("the source ends before byte {position}, up to which it was read before");
    match answer.status {
        200 if answer.is_cut => Err(format!(
            "the server does not support Range; without it, a source may have at most {MOST_WHOLE_BYTES} bytes"
        )),
        200 => {
            let position = usize::try_from(position).ok();
            let rest = position.and_then(|position| answer.body.get(position..));
            Ok(Part {
                bytes: rest.ok_or_else(became_shorter)?,
                is_end: true,
            })
        }
        206 => range(answer, position),
        416 => match content_range(answer)?.1 == position {
            true => Ok(Part {
                bytes: &[],
                is_end: true,
            }),
            false => Err(became_shorter()),
        },
        status => Err(format!("the answer is {status}; expected 200, 206 or 416")),
    }
}

/// Returns the range that the answer contains.
fn range(answer: &Answer, position: u64) -> Result<Part<'_>, String> {
    let (range, total) = content_range(answer)?;
    let ends = range
        .split_once('-')
        .map(|(first, last)| (number(first), number(last)));
    let Some((Some(first), Some(last))) = ends else {
        return Err(wrong(answer, "a range of bytes"));
    };
    if first != position || last < first || last >= total {
        return Err(wrong(answer, &format!("a range from {position}")));
    }
    let bytes = answer.body.len() as u64;
    if answer.is_cut || last - first + 1 != bytes {
        return Err(wrong(
            answer,
            &format!("the range of the {bytes} bytes that came"),
        ));
    }
    Ok(Part {
        bytes: &answer.body,
        is_end: last + 1 == total,
    })
}

/// Returns the range in `content-range`, and the length of the source.
fn content_range(answer: &Answer) -> Result<(&str, u64), String> {
    let found = header(answer, "content-range").unwrap_or_default();
    let bytes = found.strip_prefix("bytes ");
    let Some((range, total)) = bytes.and_then(|it| it.split_once('/')) else {
        return Err(wrong(answer, "a range of bytes"));
    };
    match number(total) {
        Some(total) => Ok((range, total)),
        None => Err(wrong(answer, "a range with the length of the source")),
    }
}

fn wrong(answer: &Answer, expected: &str) -> String {
    let found = header(answer, "content-range").unwrap_or_default();
    format!("content-range is {found:?}; expected {expected}")
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let value = answer.headers.get(name);
    value.map(|value| value.to_str().unwrap_or("?"))
}

/// Parses digits alone: Rust would accept `+7` as well.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, header: (&'static str, &str), body: &str) -> Answer {
        let (name, value) = header;
        let fields = [(name.parse().unwrap(), value.parse().unwrap())];
        Answer {
            status,
            headers: fields.into_iter().collect(),
            body: body.into(),
            is_cut: false,
        }
    }

    /// Returns whether the source ends with this answer to a request from byte 10 on.
    fn ends(status: u16, content_range: &str, body: &str) -> Result<bool, String> {
        let answer = answer(status, ("content-range", content_range), body);
        part(&answer, 10).map(|part| part.is_end)
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
        let whole = |body| answer(200, ("content-type", "text/plain"), body);
        for (body, bytes) in [("0123456789", ""), ("0123456789abc", "abc")] {
            let (bytes, is_end) = (bytes.as_bytes(), true);
            assert_eq!(part(&whole(body), 10), Ok(Part { bytes, is_end }));
        }
        let large = Answer {
            is_cut: true,
            ..whole("0123456789abc")
        };
        assert!(part(&large, 0).is_err_and(|error| error.contains("does not support Range")));
    }

    #[test]
    fn what_is_no_plain_text_of_the_source_is_not_read() {
        for status in [302, 404] {
            assert!(ends(status, "bytes 10-12/13", "abc").is_err());
        }
        let encoded = |encoding| answer(200, ("content-encoding", encoding), "abc");
        assert!(part(&encoded("gzip"), 0).is_err());
        assert!(part(&encoded("identity"), 0).is_ok());
    }
}
