//! Requests of several kinds as one protocol of the load loop. Each connection draws its next
//! request from a generator of its own, so that a seed repeats the sequence of every connection.

mod kind;
mod template;

use model::random::SplitMix64;
use model::reading::Ledger;
use model::request::MixSpec;
use wire::response::ResponseReader;

use super::http::{self, HttpProtocol, RequestError};
use crate::protocol::{Fate, Framing, Protocol};
use kind::Kind;

pub use template::{TemplateError, VARIABLES_MAX, has_template};

/// Streams of the seed: each connection derives its own from the first; the second draws the
/// requests that are shown beforehand. Blocks of an open loop use the streams from 0 on.
const CONNECTIONS_STREAM: u32 = u32::MAX;
const SAMPLES_STREAM: u32 = u32::MAX - 1;

/// The reasons why requests cannot be mixed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    #[error("there is no request in it")]
    Empty,
    #[error("its weight is 0: give it one of at least 1, or leave it out")]
    Weightless,
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// Several kinds of request and how often each is sent.
#[derive(Debug)]
pub struct Mix {
    kinds: Vec<Kind>,
    /// For each kind, the sum of its weight and the weights of all kinds before it.
    sums: Vec<u64>,
    seed: u64,
}

impl Mix {
    /// Prepares the kinds. `host` is that of [`HttpProtocol::new`]. An error comes with the index
    /// of the kind that it is about.
    ///
    /// # Errors
    /// [`MixError`] if there is no kind at all, or for a kind that cannot be sent.
    pub fn new(host: &str, spec: &MixSpec) -> Result<Self, (usize, MixError)> {
        let MixSpec { seed, kinds: specs } = spec;
        let samples = SplitMix64::new(*seed).stream(SAMPLES_STREAM);
        let kinds = (0..).zip(specs).map(|(index, spec)| {
            let kind = Kind::new(host, spec, samples.clone());
            kind.map_err(|error| (index, error))
        });
        let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
        if kinds.is_empty() {
            return Err((0, MixError::Empty));
        }
        let mut sum = 0;
        let sums = specs.iter().map(|spec| {
            sum += u64::from(spec.weight);
            sum
        });
        Ok(Self {
            sums: sums.collect(),
            kinds,
            seed: *seed,
        })
    }

    /// Returns one request of each kind as it may be sent, in the order of the specifications.
    pub fn samples(&self) -> Vec<&HttpProtocol> {
        self.kinds.iter().map(|kind| &kind.request).collect()
    }

    /// Whether all requests of a kind are identical.
    pub fn is_constant(&self, kind: usize) -> bool {
        self.kinds[kind].template.is_none()
    }

    /// Switches the comparison of bodies off for one kind, whose answers rightly differ.
    pub fn compare_no_bodies(&mut self, kind: usize) {
        self.kinds[kind].request.compare_no_bodies();
    }

    #[inline]
    fn draw(&self, random: &mut SplitMix64) -> usize {
        let total = self.sums.last().copied().unwrap_or(1);
        let drawn = random.below(usize::try_from(total).unwrap_or(usize::MAX)) as u64;
        self.sums.partition_point(|sum| *sum <= drawn)
    }
}

/// What one thread remembers of each kind.
#[derive(Debug)]
pub struct MixMemory {
    kinds: Vec<KindMemory>,
}

#[derive(Debug, Default)]
struct KindMemory {
    answers: http::Memory,
    ledger: Ledger,
}

/// The state of one connection: which request it sends, and how far its answer has come.
#[derive(Debug)]
pub struct MixExchange {
    random: SplitMix64,
    kind: usize,
    /// The request, where it is made from a template. It has room for the longest.
    bytes: Vec<u8>,
    /// One reader for answers with bodies, and one for those to HEAD, which have none.
    readers: [ResponseReader; 2],
}

impl Protocol for Mix {
    type Request = [u8];
    type Input = [u8];
    type Memory = MixMemory;
    type Exchange = MixExchange;

    fn memory(&self) -> MixMemory {
        MixMemory {
            kinds: self.kinds.iter().map(|_| KindMemory::default()).collect(),
        }
    }

    fn exchange(&self, connection: u32) -> MixExchange {
        let longest = self.kinds.iter().map(Kind::most_bytes).max();
        let random = SplitMix64::new(self.seed).stream(CONNECTIONS_STREAM);
        MixExchange {
            random: random.stream(connection),
            kind: 0,
            bytes: Vec::with_capacity(longest.unwrap_or(0)),
            readers: [ResponseReader::new(false), ResponseReader::new(true)],
        }
    }

    #[inline]
    fn begin(&self, memory: &mut MixMemory, exchange: &mut MixExchange) {
        exchange.kind = self.draw(&mut exchange.random);
        let kind = &self.kinds[exchange.kind];
        if let Some(template) = &kind.template {
            template.render(&mut exchange.random, &mut exchange.bytes);
        }
        let memory = &mut memory.kinds[exchange.kind];
        memory.ledger.sent += 1;
        let reader = &mut exchange.readers[usize::from(kind.request.is_head())];
        kind.request.begin(&mut memory.answers, reader);
    }

    #[inline]
    fn request<'a>(&'a self, exchange: &'a MixExchange) -> &'a [u8] {
        let kind = &self.kinds[exchange.kind];
        match kind.template {
            Some(_) => &exchange.bytes,
            None => kind.request.bytes(),
        }
    }

    fn constant_request(&self) -> Option<&[u8]> {
        None
    }

    #[inline]
    fn read(&self, memory: &mut MixMemory, exchange: &mut MixExchange, input: &[u8]) -> Framing {
        let request = &self.kinds[exchange.kind].request;
        let answers = &mut memory.kinds[exchange.kind].answers;
        let reader = &mut exchange.readers[usize::from(request.is_head())];
        request.read(answers, reader, input)
    }

    fn read_end(&self, memory: &mut MixMemory, exchange: &mut MixExchange) -> Framing {
        let request = &self.kinds[exchange.kind].request;
        let answers = &mut memory.kinds[exchange.kind].answers;
        let reader = &mut exchange.readers[usize::from(request.is_head())];
        request.read_end(answers, reader)
    }

    fn first_status(&self, memory: &MixMemory) -> Option<u16> {
        let mut kinds = self.kinds.iter().zip(&memory.kinds);
        kinds.find_map(|(kind, memory)| kind.request.first_status(&memory.answers))
    }

    #[inline]
    fn ended(&self, memory: &mut MixMemory, exchange: &MixExchange, fate: Fate) {
        *bin(&mut memory.kinds[exchange.kind].ledger, fate) += 1;
    }

    fn kinds(&self, memory: &MixMemory) -> Vec<Ledger> {
        memory.kinds.iter().map(|kind| kind.ledger).collect()
    }
}

fn bin(ledger: &mut Ledger, fate: Fate) -> &mut u64 {
    let errors = &mut ledger.errors;
    match fate {
        Fate::Answered => &mut ledger.answered,
        Fate::Status => &mut errors.status,
        Fate::Malformed => &mut errors.malformed,
        Fate::Body => &mut errors.body,
        Fate::Closed => &mut errors.closed,
        Fate::Timeout => &mut errors.timeout,
        Fate::Unfinished => &mut errors.unfinished,
    }
}

#[cfg(test)]
mod tests;
