//! The heads of `corpus.txt`, each with the recorded outcome of each parser.

const TEXT: &str = include_str!("corpus.txt");

/// What a parser makes of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Take,
    Refuse,
    /// The head is not complete.
    More,
}

/// One line of the corpus.
pub(crate) struct Case {
    pub(crate) ours: Outcome,
    pub(crate) httparse: Outcome,
    pub(crate) node: Outcome,
    pub(crate) name: String,
    pub(crate) head: Vec<u8>,
}

/// Every case, in the order of the file.
pub(crate) fn cases() -> Vec<Case> {
    let lines = TEXT
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(case).collect()
}

fn case(line: &str) -> Case {
    let mut columns = line.splitn(5, '|');
    let mut column = || {
        columns
            .next()
            .unwrap_or_else(|| panic!("five columns: {line}"))
    };
    let [ours, httparse, node] = [outcome(column()), outcome(column()), outcome(column())];
    let name = column().trim().to_owned();
    let head = unescaped(column().strip_prefix(' ').unwrap_or_default());
    Case {
        ours,
        httparse,
        node,
        name,
        head,
    }
}

pub(crate) fn outcome(word: &str) -> Outcome {
    match word.trim() {
        "take" => Outcome::Take,
        "refuse" => Outcome::Refuse,
        "more" => Outcome::More,
        other => panic!("`{other}` is no outcome"),
    }
}

/// `\r`, `\n`, `\t` and `\xHH` stand for one byte each; every other character for itself.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, left) = match (first, after) {
            (b'\\', [b'r', left @ ..]) => (b'\r', left),
            (b'\\', [b'n', left @ ..]) => (b'\n', left),
            (b'\\', [b't', left @ ..]) => (b'\t', left),
            (b'\\', [b'x', high, low, left @ ..]) => (digit(*high) * 16 + digit(*low), left),
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = left;
    }
    bytes
}

fn digit(character: u8) -> u8 {
    let value = char::from(character)
        .to_digit(16)
        .expect("a digit of base sixteen");
    u8::try_from(value).expect("below sixteen")
}
