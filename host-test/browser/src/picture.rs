//! Pictures for the documentation, which every clone of the repository carries.

use std::cmp::Reverse;
use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Filter};

type Colour = [u8; 3];

/// The same picture in at most 256 colours, as PNG: a third of the bytes. Only the edges of letters
/// have more, and those become the nearest of them.
///
/// # Errors
/// Where `png` is not a PNG with 8 bits for each of red, green and blue.
pub fn with_few_colours(png: &[u8]) -> Result<Vec<u8>> {
    let mut reader = Decoder::new(std::io::Cursor::new(png)).read_info()?;
    let size = reader.output_buffer_size().context("a picture too large")?;
    let mut pixels = vec![0; size];
    let info = reader.next_frame(&mut pixels)?;
    let samples = info.color_type.samples();
    let is_rgb = matches!(info.color_type, ColorType::Rgb | ColorType::Rgba);
    ensure!(
        is_rgb && info.bit_depth == BitDepth::Eight,
        "a picture is {:?} of {:?}; expected RGB of 8 bits",
        info.color_type,
        info.bit_depth
    );
    let pixels = pixels.chunks_exact(samples);
    let colours: Vec<Colour> = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    let (palette, indexes) = reduced(&colours);

    let mut smaller = Vec::new();
    let mut encoder = Encoder::new(&mut smaller, info.width, info.height);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(palette.concat());
    encoder.set_compression(Compression::High);
    // Neighbouring indexes say nothing about each other.
    encoder.set_filter(Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indexes)?;
    writer.finish()?;
    Ok(smaller)
}

/// Colours that are this close look the same: by two in each of red, green and blue.
const SAME: u32 = 12;

/// The most frequent colours of those that look different, and for each pixel the index of the
/// nearest of them.
fn reduced(pixels: &[Colour]) -> (Vec<Colour>, Vec<u8>) {
    let mut counts: HashMap<Colour, usize> = HashMap::new();
    for pixel in pixels {
        *counts.entry(*pixel).or_default() += 1;
    }
    let mut colours: Vec<Colour> = counts.keys().copied().collect();
    // The colour decides between equal counts: the same picture gives the same bytes.
    colours.sort_by_key(|colour| (Reverse(counts[colour]), *colour));
    let mut palette: Vec<Colour> = Vec::new();
    for colour in colours {
        let is_new = palette.iter().all(|other| distance(*other, colour) > SAME);
        if is_new && palette.len() < 256 {
            palette.push(colour);
        }
    }
    let mut nearest: HashMap<Colour, u8> = HashMap::new();
    let index = |pixel: &Colour| {
        *nearest
            .entry(*pixel)
            .or_insert_with(|| find(&palette, *pixel))
    };
    let indexes = pixels.iter().map(index).collect();
    (palette, indexes)
}

fn find(palette: &[Colour], colour: Colour) -> u8 {
    // Of at most 256 there is an index in a byte.
    (0..=u8::MAX)
        .zip(palette)
        .min_by_key(|(_, other)| distance(**other, colour))
        .map_or(0, |(index, _)| index)
}

fn distance(one: Colour, other: Colour) -> u32 {
    let parts = one.into_iter().zip(other);
    parts
        .map(|(one, other)| u32::from(one.abs_diff(other)).pow(2))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_colours_stay_and_those_that_look_the_same_become_one() {
        let greys = (0..=255).step_by(5).map(|grey| [grey; 3]);
        let mut pixels: Vec<Colour> = greys.flat_map(|grey| [grey; 2]).collect();
        let frequent = pixels.len();
        pixels.extend([[10, 10, 11], [200, 0, 0]]);
        let (palette, indexes) = reduced(&pixels);
        let drawn = indexes.iter().map(|index| palette[usize::from(*index)]);
        let drawn: Vec<Colour> = drawn.collect();
        assert_eq!(drawn[..frequent], pixels[..frequent]);
        assert_eq!(drawn[frequent..], [[10; 3], [200, 0, 0]]);
        assert_eq!(palette.len(), 53);
    }

    #[test]
    fn a_picture_has_256_colours_at_most() {
        let pixels: Vec<Colour> = (0..600_u32)
            .map(|n| [(n % 40 * 6) as u8, (n / 40 * 6) as u8, 0])
            .collect();
        let (palette, indexes) = reduced(&pixels);
        assert_eq!((palette.len(), indexes.len()), (256, 600));
    }
}
