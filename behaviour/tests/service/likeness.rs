//! Services whose answers change, as those of ordinary applications do: an answer is right if it is
//! like its description.

use model::run::Blocks;

use crate::common::{answer, refused};
use crate::service::bench::{Bench, RUN_FAKE};

const BODY: &str = "'{\"message\":\"{message}\"}'";

/// An application that counts its answers and sends the count in each, in chunks.
const APPLICATION: &str = r#"
[files]
"app.py" = '''
import http.server, itertools, json, sys

COUNT = itertools.count()

class App(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        body = json.dumps(dict(shop=dict(open=True), served=next(COUNT))).encode()
        self.send_response(203)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024

host, port = sys.argv[1].rsplit(":", 1)
Server((host, int(port)), App).serve_forever()
'''
[start]
arguments = ["-c", "exec python3 {dir}/app.py {listen}"]
"#;

#[test]
fn an_application_whose_answers_change_is_measured() {
    assert_measured_on("loopback");
}

/// Measures the application on this rig and asserts that each of its answers is accepted.
pub(crate) fn assert_measured_on(rig: &str) {
    let start = "[start]\narguments = [\"-c\", \"exec linerate serve --workers 1 --listen 127.0.0.1:{port}\"]";
    let bench = Bench::with_fake("like", start, APPLICATION);
    let like = "{ status = 203, header = { content-type = \"application/json; charset=utf-8\" }, \
                length = [20, 99], regex = '\"served\": \\d+', json = { \"/shop/open\" = true } }";
    let file = bench.0.path().join("services/fake.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let ready = text.replace(
        "{ http = \"/json\" }",
        "{ exchange = { send = \"\", expect = \"\" } }",
    );
    std::fs::write(&file, ready.replace(BODY, like)).unwrap();
    let run = [&RUN_FAKE[..9], &[rig, "--rig", rig]].concat();
    answer(&mut bench.linerate(&run));
    let blocks = bench.0.text(&format!("{rig}/blocks.jsonl"));
    let blocks = <Blocks>::parse(&blocks).unwrap().records;
    let mut of_application = blocks.iter().filter(|block| block.arm != "floor");
    assert!(of_application.any(|block| block.reading.answered > 0));
    for block in &blocks {
        assert_eq!(block.reading.ledger.errors.failed(), 0, "{}", block.arm);
    }
    bench.assert_nothing_is_left();
}

#[test]
fn an_answer_unlike_its_description_is_refused_with_what_was_seen_and_nothing_is_measured() {
    for (like, said) in [
        ("status = 204", "with status 200, and not with 204"),
        (
            "length = [1, 26]",
            "with a body of 27 bytes, and not of 1 to 26",
        ),
        (
            "header = { x-shop = \"1\" }",
            "without the header `x-shop`, and not with `x-shop: 1`",
        ),
        (
            "header = { Content-Type = \"text/html\" }",
            "with `Content-Type: application/json`, and not",
        ),
        (
            "regex = \"Hallo\"",
            "with a body in which `Hallo` finds nothing",
        ),
        (
            "json = { \"/message\" = \"Hi\" }",
            "with a body that has `\"Hello, World!\"` at `/message`, and not `\"Hi\"`",
        ),
        (
            "json = { \"/items/0\" = 1 }",
            "with a body that has nothing at `/items/0`, and not `1`",
        ),
    ] {
        let bench = Bench::with_fake("unlike", BODY, &format!("{{ {like} }}"));
        let output = bench.run_fake();
        let words = refused(&output);
        let said = format!("Fake answers `GET /json` {said}");
        assert!(words.contains(&said), "no `{said}` in: {words}");
        bench.assert_nothing_is_left();
        assert_eq!(bench.0.text("run/blocks.jsonl"), "", "nothing was measured");
    }
}
