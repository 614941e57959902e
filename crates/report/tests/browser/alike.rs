//! Whether two pictures show the same layout.
//!
//! Browsers and fonts of two versions put the same letters on slightly different pixels, so pixels
//! are not compared but cells of them: letters that stand a third of a pixel elsewhere change the
//! mean of a cell by a few levels, while a line that moved, a mark that is gone or another colour
//! changes it by dozens, and does so in hundreds of cells.

use std::io::Cursor;

/// Side of a cell, device pixels.
const CELL: usize = 8;
/// Cells differ if their means are further apart than this, of 255 levels.
const LEVELS: f64 = 20.0;
/// The share of cells that may differ. One line of the answer is 1 % of a picture.
const MOST_DIFFERENT: f64 = 0.002;

/// A decoded picture: three bytes for each pixel.
#[derive(Clone)]
pub(crate) struct Pixels {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Pixels {
    /// Decodes a PNG of eight bits a channel, with or without transparency.
    pub(crate) fn of(png: &[u8]) -> Self {
        let decoder = png::Decoder::new(Cursor::new(png));
        let mut reader = decoder.read_info().expect("the picture is a PNG");
        let size = reader.output_buffer_size().expect("the picture has a size");
        let mut bytes = vec![0; size];
        let frame = reader.next_frame(&mut bytes).expect("the picture is whole");
        let channels = frame.color_type.samples();
        Self {
            width: frame.width as usize,
            height: frame.height as usize,
            rgb: bytes[..frame.buffer_size()]
                .chunks(channels)
                .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .collect(),
        }
    }

    /// Why the two do not show the same layout; `None` where they do.
    pub(crate) fn unlike(&self, other: &Self) -> Option<String> {
        let sizes = [self, other].map(|picture| (picture.width, picture.height));
        if sizes[0] != sizes[1] {
            return Some(format!("sizes differ: {:?} and {:?}", sizes[0], sizes[1]));
        }
        let cells = self.cells().zip(other.cells());
        let differs =
            |(a, b): &([f64; 3], [f64; 3])| a.iter().zip(b).any(|(a, b)| (a - b).abs() > LEVELS);
        let different = cells.filter(differs).count() as f64;
        let share = different / self.cells().count() as f64;
        (share > MOST_DIFFERENT).then(|| format!("{:.1} % of the cells differ", share * 100.0))
    }

    /// The mean colour of each cell.
    fn cells(&self) -> impl Iterator<Item = [f64; 3]> + '_ {
        let rows = (0..self.height).step_by(CELL);
        rows.flat_map(move |y| (0..self.width).step_by(CELL).map(move |x| self.mean(x, y)))
    }

    fn mean(&self, left: usize, top: usize) -> [f64; 3] {
        let mut sum = [0.0; 3];
        let (right, bottom) = ((left + CELL).min(self.width), (top + CELL).min(self.height));
        for y in top..bottom {
            for x in left..right {
                let at = (y * self.width + x) * 3;
                for (sum, level) in sum.iter_mut().zip(&self.rgb[at..at + 3]) {
                    *sum += f64::from(*level);
                }
            }
        }
        sum.map(|sum| sum / ((right - left) * (bottom - top)) as f64)
    }

    /// A picture with its letters a little darker or lighter, as another version of a font
    /// would set them.
    pub(crate) fn with_other_hinting(&self) -> Self {
        let mut other = self.clone();
        for (index, level) in other.rgb.iter_mut().enumerate() {
            let step = [0, 3, 6, 9, 12][index / 3 % 5];
            *level = if index % 2 == 0 {
                level.saturating_sub(step)
            } else {
                level.saturating_add(step)
            };
        }
        other
    }

    /// A picture with all that lies below a line moved down by some pixels.
    pub(crate) fn with_a_gap(&self, from: usize, pixels: usize) -> Self {
        let mut other = self.clone();
        let row = self.width * 3;
        other.rgb.copy_within(
            from * row..(self.height - pixels) * row,
            (from + pixels) * row,
        );
        other
    }
}
