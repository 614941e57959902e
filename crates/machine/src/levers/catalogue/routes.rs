//! How TCP begins on the connections that take a route.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::RouteMetric;
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

/// 0 takes the metric away, and the kernel's own beginning counts.
const SEGMENTS: Accepts = Accepts::Range(0, 1000);

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "initial-window",
            title: "what TCP sends before it hears anything",
            group: Group::Tcp,
            scope: Scope::Device,
            binds: Binds::Connect,
            worst: Worst::Access(
                "the route is set anew as a whole: what of it went wrong is the way to the machine",
            ),
            about: "Segments that a connection may send at its beginning, for each route of IPv4 \
                through the device; 0 for the kernel's own, which is 10.",
            helps: "answers of 15 to 50 kB on fresh connections over long ways: a round trip less",
            hurts: "bursts at the beginning of each connection, which slow or full ways drop",
            published: Some(
                "10 in the place of at most 4: about 10 % less latency of HTTP answers on average, \
                0.5 % more sent again (http://research.google.com/pubs/pub36640.html, 2010)",
            ),
        },
        places: Places::Routes(RouteMetric::InitialWindow),
        accepts: SEGMENTS,
        advised: Advised::Depends("20 or 30 where pages are larger than 14 kB and ways are fast"),
    },
    Tunable {
        card: Card {
            name: "initial-receive-window",
            title: "what the other end may send before it hears anything",
            group: Group::Tcp,
            scope: Scope::Device,
            binds: Binds::Connect,
            worst: Worst::Access(
                "the route is set anew as a whole: what of it went wrong is the way to the machine",
            ),
            about: "Segments of the first window that is offered to the other end, for each route \
                of IPv4 through the device; 0 for the kernel's own.",
            helps: "uploads on fresh connections over long ways, where the other end begins with \
                a large window",
            hurts: "nothing that we know of; the receive buffer bounds it",
            published: None,
        },
        places: Places::Routes(RouteMetric::InitialReceiveWindow),
        accepts: SEGMENTS,
        advised: Advised::Depends("as many as the other end's initial window"),
    },
    Tunable {
        card: Card {
            name: "quick-acknowledgements",
            title: "what is received is acknowledged at once",
            group: Group::Tcp,
            scope: Scope::Device,
            binds: Binds::Connect,
            worst: Worst::Access(
                "the route is set anew as a whole: what of it went wrong is the way to the machine",
            ),
            about: "With 1, TCP sends an acknowledgement for each segment that it receives by a route, \
                for each route of IPv4 through the device; with 0 it waits for 40 to 200 ms whether an \
                answer can take it along.",
            helps: "1: programs at the other end that wait for an acknowledgement before they send \
                more, as those without TCP_NODELAY do",
            hurts: "1: a segment for each request, where the answer would have told the same",
            published: None,
        },
        places: Places::Routes(RouteMetric::QuickAcknowledgements),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Depends("0, unless the other end waits and cannot be changed"),
    },
];
