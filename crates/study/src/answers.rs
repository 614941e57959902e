//! Whether servers that are to be compared give the same answers.

use model::Doubt;
use model::message::ServerAnswer;

use crate::refusal::Refusal;

/// Returns a doubt if the servers do not answer alike but may differ.
///
/// # Errors
/// If they do not answer alike and may not differ.
pub(crate) fn compared(answers: &[Titled], may_differ: bool) -> Result<Option<Doubt>, Refusal> {
    match difference(answers) {
        None => Ok(None),
        Some(what) if may_differ => Ok(Some(Doubt::DifferentAnswers { what })),
        Some(what) => Err(Refusal(format!(
            "the two do not answer alike: {what}; see whether that is the same work, and add \
             --different-answers to compare them anyway"
        ))),
    }
}

/// The title of a server, and its answer to each kind of request.
type Titled = (String, Vec<ServerAnswer>);

/// Says how an answer differs from that of the first server; `None` if all are alike.
fn difference(answers: &[Titled]) -> Option<String> {
    let ((a, ones), all) = answers.split_first()?;
    all.iter().find_map(|(b, others)| {
        let mut pairs = ones.iter().zip(others);
        pairs.find_map(|(one, other)| {
            let what = between((a, one), (b, other))?;
            Some(match &one.request {
                Some(name) => format!("to `{name}` {what}"),
                None => what,
            })
        })
    })
}

fn between((a, one): (&str, &ServerAnswer), (b, other): (&str, &ServerAnswer)) -> Option<String> {
    if one.status != other.status {
        let (one, other) = (one.status, other.status);
        return Some(format!("{a} with status {one}, {b} with {other}"));
    }
    let types = [one, other].map(|answer| answer.content_type.as_deref());
    if types[0].map(normal) != types[1].map(normal) {
        let [one, other] = types.map(named);
        return Some(format!("{a} with {one}, {b} with {other}"));
    }
    // What changes between answers of one server is `None`, and is not compared.
    let (bytes, other_bytes) = (one.body_bytes?, other.body_bytes?);
    if bytes != other_bytes {
        return Some(format!(
            "{a} with a body of {bytes} bytes, {b} with {other_bytes}"
        ));
    }
    let (hash, other_hash) = (one.body_hash.as_ref()?, other.body_hash.as_ref()?);
    (hash != other_hash).then(|| format!("{a} and {b} with different bodies of {bytes} bytes"))
}

/// Normalises a content type: spaces and capitals have no meaning (RFC 9110, section 8.3.1).
fn normal(content_type: &str) -> String {
    content_type.to_ascii_lowercase().replace(' ', "")
}

fn named(content_type: Option<&str>) -> String {
    content_type.map_or_else(
        || "no content type".to_owned(),
        |of| {
            let of = foreign::clipped(of, MOST_LETTERS);
            format!("content type `{of}`")
        },
    )
}

/// Most letters shown of a content type. Real ones are shorter, but a server may say anything.
const MOST_LETTERS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(title: &str) -> Titled {
        let answer = ServerAnswer {
            request: None,
            status: 200,
            content_type: Some("text/html; charset=utf-8".to_owned()),
            body_bytes: Some(27),
            body_hash: Some("1".to_owned()),
        };
        (title.to_owned(), vec![answer])
    }

    /// Says how B differs from A once `change` is applied to it.
    fn of(change: impl Fn(&mut ServerAnswer)) -> Option<String> {
        let (a, mut b) = (answer("A"), answer("B"));
        change(&mut b.1[0]);
        difference(&[a.clone(), a, b])
    }

    #[test]
    fn status_content_type_length_and_a_steady_body_are_compared_with_those_of_the_first() {
        let typed = |content_type: Option<&str>| {
            let content_type = content_type.map(str::to_owned);
            of(|answer| answer.content_type.clone_from(&content_type))
        };
        assert_eq!(of(|_| {}), None);
        assert_eq!(
            typed(Some("Text/HTML;charset=UTF-8")),
            None,
            "it says the same"
        );
        assert_eq!(of(|answer| answer.body_hash = None), None, "it changes");
        let changes =
            |answer: &mut ServerAnswer| (answer.body_bytes, answer.body_hash) = (None, None);
        assert_eq!(of(changes), None, "its length does, too");
        let of_one_length = |answer: &mut ServerAnswer| {
            (answer.body_bytes, answer.body_hash) = (Some(28), None);
        };
        for (found, said) in [
            (
                of(|answer| answer.status = 204),
                "A with status 200, B with 204",
            ),
            (typed(None), "B with no content type"),
            (
                typed(Some("text/plain")),
                "B with content type `text/plain`",
            ),
            (typed(Some(&"x".repeat(200))), "xx…`"),
            (of(of_one_length), "A with a body of 27 bytes, B with 28"),
            (
                of(|answer| answer.body_hash = Some("2".to_owned())),
                "different bodies of 27 bytes",
            ),
        ] {
            let found = found.unwrap();
            assert!(found.contains(said), "{found}");
        }
    }

    #[test]
    fn of_a_mix_each_kind_of_request_is_compared_with_its_like() {
        let (mut a, mut b) = (answer("A"), answer("B"));
        for (name, of_b) in [("one", 200), ("two", 204)] {
            let kind = |status| ServerAnswer {
                request: Some(name.to_owned()),
                status,
                ..answer("").1.remove(0)
            };
            a.1.push(kind(200));
            b.1.push(kind(of_b));
        }
        let said = difference(&[a, b]).unwrap();
        assert_eq!(said, "to `two` A with status 200, B with 204");
    }
}
