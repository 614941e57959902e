//! Whether servers that are to be compared answer alike.

use model::Doubt;
use model::message::ServerAnswer;

use crate::campaign::CampaignError;

/// What is doubtful of servers that do not answer alike.
///
/// # Errors
/// That they do not, unless they may differ.
pub(crate) fn compared(
    answers: &[(String, ServerAnswer)],
    may_differ: bool,
) -> Result<Option<Doubt>, CampaignError> {
    match difference(answers) {
        None => Ok(None),
        Some(what) if may_differ => Ok(Some(Doubt::DifferentAnswers { what })),
        Some(what) => Err(CampaignError::DifferentAnswers(what)),
    }
}

/// In what an answer differs from that of the first server, in words; `None` where all are alike.
fn difference(answers: &[(String, ServerAnswer)]) -> Option<String> {
    let (first, others) = answers.split_first()?;
    others.iter().find_map(|other| between(first, other))
}

fn between(
    (a, one): &(String, ServerAnswer),
    (b, other): &(String, ServerAnswer),
) -> Option<String> {
    if one.status != other.status {
        let (one, other) = (one.status, other.status);
        return Some(format!("{a} with status {one}, {b} with {other}"));
    }
    // Bodies that change from answer to answer may be of any length.
    let (hash, other_hash) = (one.body_hash.as_ref()?, other.body_hash.as_ref()?);
    if one.body_bytes != other.body_bytes {
        let (one, other) = (one.body_bytes, other.body_bytes);
        return Some(format!("{a} with a body of {one} bytes, {b} with {other}"));
    }
    let bytes = one.body_bytes;
    (hash != other_hash).then(|| format!("{a} and {b} with other bodies of {bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(
        title: &str,
        status: u16,
        body_bytes: u64,
        body_hash: Option<&str>,
    ) -> (String, ServerAnswer) {
        let answer = ServerAnswer {
            status,
            body_bytes,
            body_hash: body_hash.map(str::to_owned),
        };
        (title.to_owned(), answer)
    }

    #[test]
    fn status_length_and_a_steady_body_are_compared_with_those_of_the_first() {
        let a = answer("A", 200, 27, Some("1"));
        let to = |b| difference(&[a.clone(), a.clone(), b]);
        assert_eq!(to(answer("B", 200, 27, Some("1"))), None);
        assert_eq!(to(answer("B", 200, 5, None)), None, "it changes");
        for (b, said) in [
            (answer("B", 204, 27, Some("1")), "status 200, B with 204"),
            (answer("B", 200, 28, Some("2")), "27 bytes, B with 28"),
            (answer("B", 200, 27, Some("2")), "other bodies of 27 bytes"),
        ] {
            let found = to(b).unwrap();
            assert!(found.contains(said), "{found}");
        }
    }
}
