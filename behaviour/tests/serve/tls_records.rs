//! TLS record by record: clients that send what openssl would not send, or not in that way.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{cipher_suite::TLS13_AES_128_GCM_SHA256, default_provider};
use rustls::crypto::cipher::{OutboundChunks, OutboundPlainMessage};
use rustls::{ClientConfig, ClientConnection, ConnectionTrafficSecrets, ContentType};
use rustls::{ProtocolVersion, RootCertStore, Stream, SupportedCipherSuite};

use super::client::{PATIENCE, get};
use super::server::Server;
use crate::common::Folder;

/// A record with the first five of the 512 bytes of a client's first message.
const BEGUN_HELLO: &[u8] = b"\x16\x03\x01\x00\x05\x01\x00\x01\xfc\x03";
/// The header of a message that announces new keys, without the byte that follows it.
const BEGUN_KEY_UPDATE: &[u8] = &[24, 0, 0, 1];
const APPLICATION_DATA: u8 = 23;
/// More than the kernel buffers for a connection whose client does not read.
const LARGE_BYTES: usize = 20_000_000;

#[test]
fn a_message_that_is_never_finished_ends_its_connection_and_no_other() {
    let server = Trusted::start("cut", &[]);
    let mut cut = server.server.connect();
    cut.send(BEGUN_HELLO);
    cut.stream().shutdown(Shutdown::Write).unwrap();
    assert!(cut.is_closed());
    server.assert_serves();

    let mut broken = server.server.connect();
    broken.send([BEGUN_HELLO, b"\x17\x03\x03\x00\x01x"].concat());
    broken.rest_bytes();
    server.assert_serves();
}

#[test]
fn a_request_is_answered_before_the_message_behind_it_is_whole() {
    let server = Trusted::start("begun", &["--tls-resumption", "off"]);
    let (mut stream, secrets) = server.connect().into_secrets();
    let (first, ConnectionTrafficSecrets::Aes128Gcm { key, iv }) = secrets else {
        panic!("another cipher suite was agreed upon");
    };
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else {
        unreachable!("it is one of TLS 1.3");
    };
    let mut encrypter = suite.aead_alg.encrypter(key, iv);
    let mut record = |typ, content, number| {
        let message = OutboundPlainMessage {
            typ,
            version: ProtocolVersion::TLSv1_2,
            payload: OutboundChunks::Single(content),
        };
        encrypter.encrypt(message, number).unwrap().encode()
    };
    let request = get("/json");
    let request = record(ContentType::ApplicationData, request.as_bytes(), first);
    let begun = record(ContentType::Handshake, BEGUN_KEY_UPDATE, first + 1);
    stream.write_all(&[request, begun].concat()).unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[0], APPLICATION_DATA);
    stream.shutdown(Shutdown::Write).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    server.assert_serves();
}

#[test]
fn little_of_a_file_waits_for_a_client_on_this_machine_that_does_not_read() {
    let folder = Folder::new("tls-records-near-root");
    std::fs::write(folder.path().join("file"), vec![7; 16 << 20]).unwrap();
    let root = folder.path().to_str().unwrap();
    let server = Trusted::start("near", &["--root", root]);
    let mut client = server.connect();
    client.ask(&get("/file"));
    client.flush().unwrap();
    let bytes = settled(|| unsent_bytes(server.server.address.port()));
    assert!(bytes < 384 * 1024, "{bytes} bytes wait");
}

/// The value that `look` settles at: it is not 0 and was the same many times in a row.
fn settled(look: impl Fn() -> u64) -> u64 {
    let (mut last, mut looks) = (0, 0);
    let is_settled = sys::clock::wait_until(PATIENCE, || {
        let seen = look();
        looks = if seen == last && seen > 0 {
            looks + 1
        } else {
            0
        };
        last = seen;
        looks == 20
    });
    assert!(is_settled, "it still changes, or is nothing: {last}");
    last
}

/// Bytes that the kernel holds for the peers of established connections at that port (`tx_queue` of
/// proc_net_tcp.rst).
fn unsent_bytes(port: u16) -> u64 {
    const ESTABLISHED: &str = "01";
    let (end, table) = (format!(":{port:04X}"), "/proc/net/tcp");
    let sockets = std::fs::read_to_string(table).unwrap();
    let each = sockets.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields[1].ends_with(&end) && fields[3] == ESTABLISHED;
        is_it.then(|| u64::from_str_radix(fields[4].split_once(':').unwrap().0, 16).unwrap())
    });
    each.sum()
}

#[test]
fn a_client_that_ends_with_its_request_gets_its_answer_and_the_end_at_once() {
    let server = Trusted::start("ended", &["--idle-timeout", "10m"]);
    let mut client = server.connect();
    client.ask(&get("/json"));
    client.session.send_close_notify();
    client.flush().unwrap();
    let answer = client.rest().unwrap();
    assert!(answer.ends_with(r#"{"message":"Hello, World!"}"#));
}

#[test]
fn records_without_content_do_not_put_off_the_idle_timeout() {
    let server = Trusted::start("empty", &["--idle-timeout", "1s"]);
    let mut client = server.connect();
    let pace = Duration::from_millis(300);
    client.stream.set_read_timeout(Some(pace)).unwrap();
    // Fewer requests for new keys than get a client cut off.
    let has_ended = (0..25).any(|_| {
        let _ = client.session.refresh_traffic_keys();
        client.flush().is_err() || client.reads_an_end()
    });
    assert!(has_ended, "the connection is still open");
}

#[test]
fn a_client_that_idles_too_long_or_whose_server_stops_is_told_of_the_end() {
    let server = Trusted::start("told", &["--idle-timeout", "1s"]);
    assert_eq!(server.connect().rest().unwrap(), "");

    let server = Trusted::start("stopped", &["--idle-timeout", "10m"]);
    let mut client = server.connect();
    // Once this is answered the server has seen the end of the handshake.
    client.ask(&get("/json"));
    client.flush().unwrap();
    client.wait_for_content();
    server.server.terminate();
    client.rest().unwrap();
}

#[test]
fn a_stop_lets_a_client_shake_hands_and_be_answered() {
    let server = Trusted::start("shaking", &[]);
    let mut client = server.begin();
    server.server.terminate();
    client.shake_hands();
    client.ask(&get("/json"));
    client.flush().unwrap();
    let answer = client.rest().unwrap();
    assert!(answer.contains("Connection: close"), "{answer}");
    assert!(server.server.wait().0.success());
}

#[test]
fn what_follows_the_last_request_does_not_cut_off_its_answer() {
    for kernel in ["auto", "off"] {
        let folder = Folder::new(&format!("tls-records-late-{kernel}"));
        std::fs::write(folder.path().join("large"), "x".repeat(LARGE_BYTES)).unwrap();
        let root = folder.path().to_str().unwrap();
        let server = Trusted::start("late", &["--kernel-tls", kernel, "--root", root]);
        let mut client = server.connect();
        client.ask(&get("/large").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        client.flush().unwrap();
        client.wait_for_content();
        client.ask("\r\n");
        client.flush().unwrap();
        let came = client.rest().unwrap();
        assert!(came.ends_with(&"x".repeat(LARGE_BYTES)), "{kernel}");
    }
}

/// A server whose certificate its clients check.
struct Trusted {
    server: Server,
    config: Arc<ClientConfig>,
}

impl Trusted {
    fn start(name: &str, flags: &[&str]) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let folder = Folder::new(&format!("tls-records-{name}"));
        let [cert, key] = [
            ("cert.pem", made.cert.pem()),
            ("key.pem", made.signing_key.serialize_pem()),
        ]
        .map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let files = ["--workers", "1", "--tls-cert", &cert, "--tls-key", &key];
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        Self {
            server: Server::start(&[&files, flags].concat()),
            config: Arc::new(config(roots)),
        }
    }

    /// A client that has finished the handshake.
    fn connect(&self) -> Client {
        let mut client = self.begin();
        client.shake_hands();
        client
    }

    /// A client that has not begun the handshake.
    fn begin(&self) -> Client {
        let name = "localhost".try_into().unwrap();
        let stream = TcpStream::connect(self.server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client {
            session: ClientConnection::new(self.config.clone(), name).unwrap(),
            stream,
        }
    }

    /// Checks that the server serves another connection.
    fn assert_serves(&self) {
        let mut client = self.connect();
        client.ask("GET /plaintext HTTP/1.0\r\n\r\n");
        client.flush().unwrap();
        assert!(client.rest().unwrap().ends_with("Hello, World!"));
    }
}

struct Client {
    session: ClientConnection,
    stream: TcpStream,
}

impl Client {
    fn shake_hands(&mut self) {
        while self.session.is_handshaking() || self.session.wants_write() {
            self.session.complete_io(&mut self.stream).unwrap();
        }
    }

    fn ask(&mut self, request: &str) {
        let mut writer = self.session.writer();
        writer.write_all(request.as_bytes()).unwrap();
    }

    /// Sends all records in one segment.
    fn flush(&mut self) -> io::Result<()> {
        let mut records = Vec::new();
        while self.session.wants_write() {
            self.session.write_tls(&mut records)?;
        }
        self.stream.write_all(&records)
    }

    /// Waits until content has arrived.
    fn wait_for_content(&mut self) {
        let has_content = |session: &mut ClientConnection| {
            let state = session.process_new_packets().unwrap();
            state.plaintext_bytes_to_read() > 0
        };
        while !has_content(&mut self.session) {
            self.session.read_tls(&mut self.stream).unwrap();
        }
    }

    /// Everything that comes until the server says that nothing follows.
    fn rest(&mut self) -> io::Result<String> {
        let mut text = String::new();
        Stream::new(&mut self.session, &mut self.stream).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Reads until nothing comes for a while; returns whether the connection has ended.
    fn reads_an_end(&mut self) -> bool {
        loop {
            match self.session.read_tls(&mut self.stream) {
                Ok(0) => return true,
                Ok(_) => _ = self.session.process_new_packets().unwrap(),
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
    }

    /// The socket, and the secrets that it takes to go on sending by hand.
    fn into_secrets(self) -> (TcpStream, (u64, ConnectionTrafficSecrets)) {
        let secrets = self.session.dangerous_extract_secrets().unwrap();
        (self.stream, secrets.tx)
    }
}

fn config(roots: RootCertStore) -> ClientConfig {
    let provider = CryptoProvider {
        cipher_suites: vec![TLS13_AES_128_GCM_SHA256],
        ..default_provider()
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.enable_secret_extraction = true;
    config
}
