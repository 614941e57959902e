//! Requests with numbers that are drawn again for each request: `{id:1..100000}`.
//!
//! A name stands for one number within a request: where `{id:1..100000}` occurs once, `{id}` is the
//! same number elsewhere. Other braces, such as those of JSON, are ordinary text.

mod scan;

use std::ops::Range;

use model::random::SplitMix64;

use scan::{Placeholder, Span, places};

/// Largest number of variables in one request.
pub const VARIABLES_MAX: usize = 16;
/// Digits of the largest number, `u64::MAX`.
const DIGITS_MAX: usize = 20;
const HEAD_END: &[u8] = b"\r\n\r\n";
const LENGTH_HEADER: &[u8] = b"\r\nContent-Length: ";

/// What is wrong with a template. No part of a query is repeated, because it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error(
        "`{0}` has no range of whole numbers from the lower to the higher: write {{id:1..1000}}"
    )]
    Range(String),
    #[error("`{0}` has two different ranges, but a name stands for one number within a request")]
    TwoRanges(String),
    #[error("it draws more than {VARIABLES_MAX} numbers")]
    Many,
    #[error(
        "the path holds a brace that belongs to no template: write {{id:1..1000}}, or %7B and %7D \
         for the braces themselves"
    )]
    StrayBrace,
}

/// Whether a text contains a template, right or wrong.
pub fn has_template(text: &str) -> bool {
    places(text.as_bytes()).any(|place| place.span.is_some())
}

/// A request in pieces: fixed text, and numbers to fill in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
    variables: Vec<Variable>,
    /// Length of the body without its numbers, bytes.
    body_bytes: usize,
    /// Indices of the numbers in the body, one for each occurrence.
    in_body: Vec<usize>,
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<[u8]>),
    Number(usize),
    /// The length of the body, in digits.
    Length,
}

#[derive(Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    span: Span,
}

impl Template {
    /// Takes a whole request apart, including its body where `takes_body` is set; `None` where
    /// there is no template.
    pub(super) fn of_request(
        request: &[u8],
        takes_body: bool,
    ) -> Result<Option<Self>, TemplateError> {
        let end = find(request, HEAD_END).unwrap_or(request.len());
        let (head, rest) = request.split_at(end);
        let (between, body) = rest.split_at(HEAD_END.len().min(rest.len()));
        let read_body = if takes_body { body } else { &[] };
        let mut template = Self {
            pieces: Vec::new(),
            variables: variables(&[head, read_body])?,
            body_bytes: 0,
            in_body: Vec::new(),
        };
        check_path(head, &template.variables)?;
        if template.variables.is_empty() {
            return Ok(None);
        }
        let (before, length) = head.split_at(length_at(head));
        template.add(before);
        if !length.is_empty() {
            template.pieces.push(Piece::Length);
        }
        template.text(between);
        let body_start = template.pieces.len();
        if takes_body {
            template.add(body);
        } else {
            template.text(body);
        }
        template.measure(body_start);
        Ok(Some(template))
    }

    /// Adds a part of the request, as text and numbers.
    fn add(&mut self, bytes: &[u8]) {
        let mut from = 0;
        for place in places(bytes) {
            let Some(index) = index_of(&self.variables, &place.name) else {
                continue;
            };
            self.text(&bytes[from..place.at.start]);
            self.pieces.push(Piece::Number(index));
            from = place.at.end;
        }
        self.text(&bytes[from..]);
    }

    fn text(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.pieces.push(Piece::Text(bytes.into()));
        }
    }

    /// Notes the text length and the numbers of the body, which begins with piece `body_start`.
    fn measure(&mut self, body_start: usize) {
        for piece in &self.pieces[body_start..] {
            match piece {
                Piece::Text(text) => self.body_bytes += text.len(),
                Piece::Number(index) => self.in_body.push(*index),
                Piece::Length => {}
            }
        }
    }

    /// Returns the length of the longest request that the template can make, bytes.
    pub(super) fn most_bytes(&self) -> usize {
        let most = |piece: &Piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Number(_) | Piece::Length => DIGITS_MAX,
        };
        self.pieces.iter().map(most).sum()
    }

    /// Writes the next request to `to`, in place of what is there. Allocates nothing where `to` has
    /// room for [`Self::most_bytes`].
    #[inline]
    pub(super) fn render(&self, random: &mut SplitMix64, to: &mut Vec<u8>) {
        let mut numbers = [0; VARIABLES_MAX];
        for (number, variable) in numbers.iter_mut().zip(&self.variables) {
            *number = variable.span.draw(random);
        }
        to.clear();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => to.extend_from_slice(text),
                Piece::Number(index) => push_number(numbers[*index], to),
                Piece::Length => push_number(self.length(&numbers), to),
            }
        }
    }

    /// Returns the length of the body with these numbers in it.
    fn length(&self, numbers: &[u64; VARIABLES_MAX]) -> u64 {
        let digits = self.in_body.iter().map(|index| digits(numbers[*index]));
        (self.body_bytes + digits.sum::<usize>()) as u64
    }
}

/// Returns the names that have a range, each once.
fn variables(texts: &[&[u8]]) -> Result<Vec<Variable>, TemplateError> {
    let mut found: Vec<Variable> = Vec::new();
    for place in texts.iter().flat_map(|text| places(text)) {
        let Placeholder { name, span, .. } = place;
        let Some(span) = span else { continue };
        let span = span.map_err(TemplateError::Range)?;
        match index_of(&found, &name) {
            Some(index) if found[index].span != span => {
                return Err(TemplateError::TwoRanges(name));
            }
            Some(_) => {}
            None => found.push(Variable { name, span }),
        }
    }
    if found.len() > VARIABLES_MAX {
        return Err(TemplateError::Many);
    }
    Ok(found)
}

fn index_of(variables: &[Variable], name: &str) -> Option<usize> {
    variables.iter().position(|variable| variable.name == name)
}

/// Refuses a brace in the request line that belongs to no template, because it was meant to be one.
fn check_path(head: &[u8], variables: &[Variable]) -> Result<(), TemplateError> {
    let line = &head[..find(head, b"\r\n").unwrap_or(head.len())];
    let known = places(line).filter(|place| index_of(variables, &place.name).is_some());
    let taken: Vec<Range<usize>> = known.map(|place| place.at).collect();
    let mut braces = (0..line.len()).filter(|at| b"{}".contains(&line[*at]));
    let is_stray = braces.any(|at| !taken.iter().any(|range| range.contains(&at)));
    if is_stray {
        return Err(TemplateError::StrayBrace);
    }
    Ok(())
}

/// Returns where the digits of a `Content-Length` begin that is the last header of a head; the end
/// of the head without one.
fn length_at(head: &[u8]) -> usize {
    let last_line = head.windows(2).rposition(|bytes| bytes == b"\r\n");
    let last_line = &head[last_line.unwrap_or(head.len())..];
    match last_line.starts_with(LENGTH_HEADER) {
        true => head.len() - (last_line.len() - LENGTH_HEADER.len()),
        false => head.len(),
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |tens| tens as usize + 1)
}

#[inline]
fn push_number(mut number: u64, to: &mut Vec<u8>) {
    let from = to.len();
    to.resize(from + digits(number), b'0');
    for digit in to[from..].iter_mut().rev() {
        *digit = b"0123456789"[(number % 10) as usize];
        number /= 10;
    }
}

#[cfg(test)]
mod tests;
