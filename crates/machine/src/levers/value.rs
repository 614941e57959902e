//! The value of a knob, and how the kernel and a person write it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::tree::chosen;

/// A value of a kernel setting, as the journal stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Number(i64),
    /// Several numbers in one file, or the CPUs of a mask.
    Numbers(Vec<i64>),
    Word(String),
}

/// How a file of the kernel writes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    Number,
    /// Numbers with white space between them.
    Numbers,
    Word,
    /// All words that may be chosen, the current one in brackets.
    Chosen,
    /// A mask of CPUs: hexadecimal, a comma after each 32 bits.
    CpuMask,
    /// A list of CPUs such as `0-3,8`.
    CpuList,
}

impl Form {
    /// Parses the text of a file; `None` if the text has another form.
    pub(crate) fn parse(self, text: &str) -> Option<Value> {
        let text = text.trim();
        match self {
            Self::Number => text.parse().ok().map(Value::Number),
            Self::Numbers => numbers(text).map(Value::Numbers),
            Self::Word => is_word(text).then(|| Value::Word(text.to_owned())),
            Self::Chosen => chosen(text).map(Value::Word),
            Self::CpuMask => cpus_of_mask(text).map(Value::Numbers),
            Self::CpuList => cpus_of_list(text).map(Value::Numbers),
        }
    }

    /// Parses a value as a person types it. A mask is typed as a list of CPUs.
    pub(crate) fn parse_typed(self, text: &str) -> Option<Value> {
        match self {
            Self::Chosen => Self::Word.parse(text),
            Self::CpuMask => Self::CpuList.parse(text),
            Self::Numbers => Self::Numbers.parse(&text.replace(',', " ")),
            form => form.parse(text),
        }
    }

    /// Returns the text that the kernel accepts.
    pub(crate) fn print(self, value: &Value) -> String {
        match (self, value) {
            (Self::CpuMask, Value::Numbers(cpus)) => mask_of_cpus(cpus),
            (Self::CpuList, Value::Numbers(cpus)) => list_of_cpus(cpus),
            (_, value) => value.to_string(),
        }
    }

    /// Returns the value as a person types and reads it.
    pub(crate) fn show(self, value: &Value) -> String {
        match (self, value) {
            (Self::CpuMask | Self::CpuList, Value::Numbers(cpus)) if cpus.is_empty() => {
                "none".to_owned()
            }
            (Self::CpuMask, value) => Self::CpuList.print(value),
            (form, value) => form.print(value),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::Word(word) => out.write_str(word),
            Self::Numbers(numbers) => {
                let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                out.write_str(&texts.join(" "))
            }
        }
    }
}

fn numbers(text: &str) -> Option<Vec<i64>> {
    let numbers = text.split_whitespace().map(str::parse);
    numbers.collect::<Result<_, _>>().ok()
}

/// Whether a text is one word, without white space or control characters. Only such a text can be a
/// word of a kernel file, and stand in a line of the journal.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn cpus_of_mask(text: &str) -> Option<Vec<i64>> {
    let digits = text.replace(',', "");
    if digits.is_empty() {
        return None;
    }
    let nibbles = digits.chars().rev().map(|digit| digit.to_digit(16));
    let nibbles: Vec<u32> = nibbles.collect::<Option<_>>()?;
    let bits = (0..).zip(nibbles).flat_map(|(index, nibble)| {
        let bits = (0..4).filter(move |bit| nibble >> bit & 1 == 1);
        bits.map(move |bit| index * 4 + bit)
    });
    Some(bits.collect())
}

fn mask_of_cpus(cpus: &[i64]) -> String {
    let words = cpus.iter().max().map_or(1, |last| last / 32 + 1);
    let word = |word: i64| {
        let bits = cpus.iter().filter(|cpu| *cpu / 32 == word);
        bits.fold(0_u32, |mask, cpu| mask | 1 << (cpu % 32))
    };
    let words = (0..words).rev().map(|index| format!("{:08x}", word(index)));
    words.collect::<Vec<_>>().join(",")
}

fn cpus_of_list(text: &str) -> Option<Vec<i64>> {
    if text.is_empty() || text == "none" {
        return Some(Vec::new());
    }
    let mut cpus = sys::cpu::parse_list(text).ok()?;
    // Sorted, as a mask is read, so that another order of the same CPUs is the same value.
    cpus.sort_unstable();
    cpus.dedup();
    let numbers = cpus.into_iter().map(i64::try_from);
    numbers.collect::<Result<_, _>>().ok()
}

fn list_of_cpus(cpus: &[i64]) -> String {
    let cpus = cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok());
    sys::cpu::format_list(&cpus.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_what_it_writes() {
        let cases = [
            (Form::Number, "-1", Value::Number(-1)),
            (
                Form::Numbers,
                "4096 131072 6291456",
                Value::Numbers(vec![4096, 131_072, 6_291_456]),
            ),
            (Form::Word, "bbr", Value::Word("bbr".to_owned())),
            (
                Form::CpuMask,
                "00000001,00000003",
                Value::Numbers(vec![0, 1, 32]),
            ),
            (Form::CpuList, "0-2,5", Value::Numbers(vec![0, 1, 2, 5])),
        ];
        for (form, text, value) in cases {
            assert_eq!(form.parse(text).as_ref(), Some(&value), "{text}");
            assert_eq!(form.print(&value), text);
        }
    }

    #[test]
    fn a_choice_is_the_word_in_brackets() {
        let read = Form::Chosen.parse("always [madvise] never\n");
        assert_eq!(read, Some(Value::Word("madvise".to_owned())));
        assert_eq!(Form::Chosen.parse("always madvise"), None);
    }

    #[test]
    fn a_person_types_a_mask_as_a_list_and_numbers_with_commas() {
        let cpus = Some(Value::Numbers(vec![0, 1]));
        assert_eq!(Form::CpuMask.parse_typed("0-1"), cpus);
        assert_eq!(
            Form::CpuMask.parse_typed("none"),
            Some(Value::Numbers(vec![]))
        );
        assert_eq!(Form::CpuMask.parse_typed("1,0,1"), cpus);
        assert_eq!(Form::Numbers.parse_typed("0,1"), cpus);
    }

    #[test]
    fn an_empty_mask_is_zero_and_no_text_is_no_mask() {
        assert_eq!(Form::CpuMask.print(&Value::Numbers(vec![])), "00000000");
        assert_eq!(Form::CpuMask.parse(""), None);
        assert_eq!(Form::Word.parse("two words"), None);
    }
}
