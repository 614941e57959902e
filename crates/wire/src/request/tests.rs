//! What the parser accepts and what it refuses.

use super::*;

const LIMITS: Limits = Limits {
    head_bytes: 256,
    fields: 4,
};

fn read(text: &str) -> Result<Option<(Request<'_>, usize)>, Refusal> {
    parse(text.as_bytes(), LIMITS)
}

fn request(text: &str) -> Request<'_> {
    read(text).unwrap().expect("the head is complete").0
}

#[test]
fn a_plain_request_is_read_and_its_length_told() {
    let text = "GET /json?x=1 HTTP/1.1\r\nHost: a.example:8080\r\nAccept: */*\r\n\r\nGET /";
    let (request, used) = read(text).unwrap().unwrap();
    assert_eq!(used, text.len() - "GET /".len());
    let expected = Request {
        method: Method::Get,
        target: b"/json?x=1",
        version: Version::Http11,
        keep_alive: true,
        expects_continue: false,
        body: Body::None,
        fields: b"Host: a.example:8080\r\nAccept: */*\r\n",
    };
    assert_eq!(request, expected);
}

#[test]
fn a_field_is_found_by_its_name_whatever_the_case_and_however_often() {
    let request =
        request("GET / HTTP/1.1\r\nHost: a\r\nrange: \tb: c \r\nX:1\r\nx: 2\r\n\r\nRange: no");
    assert_eq!(request.value("Range"), Some(&b"b: c"[..]));
    assert_eq!(request.values("X").collect::<Vec<_>>(), [b"1", b"2"]);
    // Nobody knows which of two values is meant.
    assert_eq!(request.value("X"), None);
    assert_eq!(request.value("Rang"), None);
}

#[test]
fn every_shorter_piece_of_a_request_asks_for_more() {
    let text =
        "\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    for end in 0..text.len() {
        assert_eq!(read(&text[..end]), Ok(None), "{:?}", &text[..end]);
    }
    assert!(request(text).expects_continue);
    assert_eq!(request(text).body, Body::Length(3));
}

#[test]
fn the_version_and_the_connection_field_decide_whether_it_is_kept() {
    let keeps = |version: &str, connection: &str| {
        let text = format!("GET / HTTP/{version}\r\nHost: a\r\nConnection: {connection}\r\n\r\n");
        request(&text).keep_alive
    };
    assert!(keeps("1.1", "x"));
    assert!(!keeps("1.1", "x , CLOSE"));
    assert!(keeps("1.0", "Keep-Alive"));
    assert!(!keeps("1.0", "x"));
    assert!(!keeps("1.0", "keep-alive, close"));
}

#[test]
fn the_absolute_form_is_reduced_to_its_path() {
    assert_eq!(
        request("GET HTTP://a.example/json HTTP/1.1\r\nHost: a\r\n\r\n").target,
        b"/json"
    );
    assert_eq!(
        request("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n").target,
        b"/"
    );
    assert_eq!(
        request("GET https://a/json HTTP/1.1\r\nHost: a\r\n\r\n").target,
        b"/json"
    );
    assert_eq!(
        request("GET http://a?x/y HTTP/1.1\r\nHost: a\r\n\r\n").target,
        b"/"
    );
    for wrong in ["http:///json", "ftp://a/", "json", "*", "http://?x"] {
        let text = format!("GET {wrong} HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(read(&text), Err(Refusal::RequestLine), "{wrong}");
    }
}

#[test]
fn a_request_that_two_parsers_could_read_in_two_ways_is_refused() {
    let cases = [
        (
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            Refusal::Framing,
        ),
        (
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            Refusal::Framing,
        ),
        ("Content-Length: 1, 1\r\n", Refusal::Framing),
        ("Content-Length: +1\r\n", Refusal::Framing),
        ("Content-Length:\r\n", Refusal::Framing),
        ("Content-Length: 18446744073709551616\r\n", Refusal::Framing),
        (
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            Refusal::Framing,
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            Refusal::Framing,
        ),
        (
            "Transfer-Encoding: gzip, chunked\r\n",
            Refusal::TransferCoding,
        ),
        ("Accept : x\r\n", Refusal::Field),
        ("Accept: x\r\n continued\r\n", Refusal::Field),
        (" Accept: x\r\n", Refusal::Field),
        ("Accept: x\n", Refusal::Field),
        ("Accept: x\rAccept: y\r\n", Refusal::Field),
        ("Accept: \0\r\n", Refusal::Field),
        ("Acc(ept: x\r\n", Refusal::Field),
        (": x\r\n", Refusal::Field),
        ("no colon\r\n", Refusal::Field),
        ("Host: b\r\n", Refusal::Host),
        ("Expect: 200-ok\r\n", Refusal::Expectation),
    ];
    for (fields, refusal) in cases {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        assert_eq!(read(&text), Err(refusal), "{fields:?}");
    }
}

#[test]
fn a_host_is_needed_and_must_look_like_one() {
    assert_eq!(read("GET / HTTP/1.1\r\n\r\n"), Err(Refusal::Host));
    assert!(read("GET / HTTP/1.0\r\n\r\n").is_ok());
    assert!(read("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n").is_ok());
    for wrong in ["a b", "a@b", "a/b", "a,b"] {
        let text = format!("GET / HTTP/1.1\r\nHost: {wrong}\r\n\r\n");
        assert_eq!(read(&text), Err(Refusal::Host), "{wrong}");
    }
}

#[test]
fn a_transfer_coding_has_no_place_in_the_older_version() {
    let with = |version: &str| {
        format!("GET / HTTP/{version}\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n")
    };
    assert_eq!(request(&with("1.1")).body, Body::Chunked);
    assert_eq!(read(&with("1.0")), Err(Refusal::Framing));
}

#[test]
fn a_wrong_request_line_is_refused_as_soon_as_it_is_seen() {
    let cases = [
        ("\x16\x03\x01", Refusal::RequestLine),
        (" GET", Refusal::RequestLine),
        ("GET  /", Refusal::RequestLine),
        ("GET /\r\n", Refusal::RequestLine),
        ("GET /\tHTTP/1.1", Refusal::RequestLine),
        ("GET / HTTP/1.1\n", Refusal::RequestLine),
        ("GET / HTTP/1.1 \r\n", Refusal::RequestLine),
        ("GET / http/1.1\r\n", Refusal::RequestLine),
        ("GET / HTTP/1.10\r\n", Refusal::RequestLine),
        ("GET / HTTP/2.0\r\n", Refusal::Version),
        ("BREW /", Refusal::UnknownMethod),
        ("get /", Refusal::UnknownMethod),
    ];
    for (text, refusal) in cases {
        assert_eq!(read(text), Err(refusal), "{text:?}");
    }
}

#[test]
fn a_head_beyond_its_limits_is_refused_complete_or_not() {
    let long_target = format!("GET /{}", "a".repeat(LIMITS.head_bytes));
    assert_eq!(read(&long_target), Err(Refusal::TargetTooLong));
    let long_field = format!("GET / HTTP/1.1\r\nHost: {}", "a".repeat(LIMITS.head_bytes));
    assert_eq!(read(&long_field), Err(Refusal::HeadTooLarge));
    assert_eq!(
        read(&format!("{long_field}\r\n\r\n")),
        Err(Refusal::HeadTooLarge)
    );
    let many = |count: usize| {
        format!(
            "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
            "A: b\r\n".repeat(count)
        )
    };
    assert!(read(&many(LIMITS.fields - 1)).is_ok());
    assert_eq!(read(&many(LIMITS.fields)), Err(Refusal::HeadTooLarge));
}

#[test]
fn no_single_changed_byte_makes_it_panic_or_read_beyond_the_head() {
    let text = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nConnection: close\r\n\r\n";
    for place in 0..text.len() {
        for byte in 0..=255 {
            let mut changed = *text;
            changed[place] = byte;
            if let Ok(Some((_, used))) = parse(&changed, LIMITS) {
                assert!(changed[..used].ends_with(b"\r\n\r\n"));
            }
        }
    }
}
