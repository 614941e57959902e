//! Templates of requests.

use super::*;

fn rendered(request: &str, takes_body: bool, seed: u64) -> String {
    let template = Template::of_request(request.as_bytes(), takes_body);
    let template = template.unwrap().unwrap();
    let mut bytes = Vec::with_capacity(template.most_bytes());
    let room = bytes.capacity();
    template.render(&mut SplitMix64::new(seed), &mut bytes);
    assert_eq!(bytes.capacity(), room, "it is written without allocating");
    String::from_utf8(bytes).unwrap()
}

fn error(path: &str) -> TemplateError {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    Template::of_request(request.as_bytes(), true).unwrap_err()
}

#[test]
fn a_name_is_one_number_in_path_header_and_body_and_the_length_is_that_of_the_body() {
    let request = "POST /i/{id:7..7} HTTP/1.1\r\nHost: a\r\nX: {id}\r\nContent-Length: 99\r\n\r\n\
        {\"id\": {id}, \"n\": {n:10..10}, \"o\": {}}";
    assert_eq!(
        rendered(request, true, 1),
        "POST /i/7 HTTP/1.1\r\nHost: a\r\nX: 7\r\nContent-Length: 27\r\n\r\n\
         {\"id\": 7, \"n\": 10, \"o\": {}}"
    );
}

#[test]
fn a_body_that_takes_no_templates_is_sent_as_it_is() {
    let request = "POST /{id:3..3} HTTP/1.1\r\nContent-Length: 4\r\n\r\n{id}";
    let expected = "POST /3 HTTP/1.1\r\nContent-Length: 4\r\n\r\n{id}";
    assert_eq!(rendered(request, false, 1), expected);
}

#[test]
fn numbers_come_from_the_whole_range_with_both_its_ends() {
    let request = "GET /{id:9..11} HTTP/1.1\r\n\r\n";
    let drawn: std::collections::BTreeSet<String> =
        (0..200).map(|seed| rendered(request, true, seed)).collect();
    let expected = ["10", "11", "9"].map(|id| format!("GET /{id} HTTP/1.1\r\n\r\n"));
    assert_eq!(drawn.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_request_without_a_range_has_no_template() {
    let request = b"POST / HTTP/1.1\r\nContent-Length: 20\r\n\r\n{\"a\": {b: 1}, {id}}  ";
    assert_eq!(Template::of_request(request, true), Ok(None));
}

#[test]
fn a_faulty_template_is_refused_with_its_fault() {
    for path in ["/{id:5..1}", "/{id:1..}", "/{id:1...5}", "/{id:1..x}"] {
        assert!(matches!(error(path), TemplateError::Range(_)), "{path}");
    }
    let range = "/{id:0..18446744073709551615}";
    assert!(matches!(error(range), TemplateError::Range(_)));
    let twice = error("/{id:1..5}/{id:1..6}");
    assert_eq!(twice, TemplateError::TwoRanges("id".to_owned()));
    for path in ["/{id}", "/{id:x}", "/}", "/{id:1..2}/{other}", "/{"] {
        assert_eq!(error(path), TemplateError::StrayBrace, "{path}");
    }
    let many: Vec<String> = (0..=VARIABLES_MAX)
        .map(|n| format!("/{{v{n}:1..2}}"))
        .collect();
    assert_eq!(error(&many.concat()), TemplateError::Many);
}

#[test]
fn the_digits_of_a_number_are_counted() {
    for number in [0, 1, 9, 10, 99, 100, u64::MAX] {
        let mut written = Vec::new();
        push_number(number, &mut written);
        assert_eq!(written, number.to_string().into_bytes());
    }
}
