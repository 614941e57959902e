//! A session driven by hand: what it reads from records, and what it writes as records.

use std::io;
use std::ops::DerefMut;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedConnectionCommon,
    UnbufferedStatus, WriteTraffic,
};

/// A session of a server or of a client, which differ only in how rustls is asked to go on.
pub(super) trait Session: DerefMut<Target = UnbufferedConnectionCommon<Self::Side>> {
    type Side;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Side>;
}

impl Session for UnbufferedServerConnection {
    type Side = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Side> {
        self.process_tls_records(incoming)
    }
}

impl Session for UnbufferedClientConnection {
    type Side = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Side> {
        self.process_tls_records(incoming)
    }
}

/// The result of reading some records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    /// Bytes that are done with; the rest must be shown again, with more behind them.
    pub(super) used: usize,
    /// Bytes of content that were written into the room.
    pub(super) content: usize,
    /// The peer announced that nothing will follow.
    pub(super) is_end: bool,
}

/// Has the session read records. What it answers by itself, as in a handshake, is appended to
/// `answers`; `room` is at least as long as `incoming`.
///
/// # Errors
/// The peer broke the rules; what it is told about that is in `answers`.
pub(super) fn read<S: Session>(
    session: &mut S,
    incoming: &mut [u8],
    room: &mut [u8],
    answers: &mut Vec<u8>,
) -> Result<Read, rustls::Error> {
    let mut read = Read::default();
    loop {
        let status = session.process(&mut incoming[read.used..]);
        let goes_on = match status.state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                while let Some(record) = traffic.next_record() {
                    let content = record?.payload;
                    room[read.content..][..content.len()].copy_from_slice(content);
                    read.content += content.len();
                }
                Ok(true)
            }
            Ok(ConnectionState::EncodeTlsData(message)) => {
                append(message, answers);
                Ok(true)
            }
            Ok(ConnectionState::TransmitTlsData(message)) => {
                message.done();
                Ok(true)
            }
            Ok(ConnectionState::PeerClosed) => {
                read.is_end = true;
                Ok(true)
            }
            Ok(_) => Ok(false),
            Err(error) => Err(error),
        };
        read.used += status.discard;
        match goes_on {
            Ok(true) => {}
            Ok(false) => return Ok(read),
            Err(error) => {
                append_queued(session, answers);
                return Err(error);
            }
        }
    }
}

/// After an error, appends what was queued for the peer, such as an alert. The session returns it
/// before it looks at its input, and may get no more input.
fn append_queued(session: &mut impl Session, answers: &mut Vec<u8>) {
    while session.wants_write() {
        match session.process(&mut []).state {
            Ok(ConnectionState::EncodeTlsData(message)) => append(message, answers),
            _ => return,
        }
    }
}

/// Has the session write as soon as it may; what it has to say before that is appended to
/// `answers`. `unused` is what [`read`] has left: if it is part of a message that spans several
/// records, the session remembers places in it and looks for them at every call.
///
/// # Errors
/// When it may not write, because the handshake is not done or the connection is over.
pub(super) fn write<S: Session>(
    session: &mut S,
    unused: &mut [u8],
    answers: &mut Vec<u8>,
    act: impl FnOnce(&mut WriteTraffic<'_, S::Side>) -> Result<usize, EncryptError>,
) -> io::Result<usize> {
    loop {
        match session.process(unused).state {
            Ok(ConnectionState::EncodeTlsData(message)) => append(message, answers),
            Ok(ConnectionState::TransmitTlsData(message)) => message.done(),
            Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                return act(&mut traffic).map_err(io::Error::other);
            }
            Ok(_) => return Err(io::ErrorKind::NotConnected.into()),
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

/// Appends a message, which first says how much room it needs.
fn append<D>(mut message: EncodeTlsData<'_, D>, answers: &mut Vec<u8>) {
    if let Err(EncodeError::InsufficientSize(needed)) = message.encode(&mut []) {
        let begin = answers.len();
        answers.resize(begin + needed.required_size, 0);
        message
            .encode(&mut answers[begin..])
            .expect("it has the room that it asked for");
    }
}
