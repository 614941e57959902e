//! Fetches pages over a link: the client and the server are on the hosts of a rig.

use std::io::{self, BufRead, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use machine::rig::{Lab, tcp, wire};
use model::failure::Failure;
use serde::{Deserialize, Serialize};
use sys::kernel_file;
use traffic::page::{Fetched, PageServer, fetch};

use crate::role::{Role, RoleProcess, Said, dismissed, here, say};

/// Size of the page that is fetched first and not counted, bytes. It shows the client's window.
const FIRST_PAGE_BYTES: usize = 100;
/// `EPERM` and `ENOENT`.
const NOT_PERMITTED: i32 = 1;
const NO_SUCH: i32 = 2;

/// Which pages are fetched, and from what server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageOrder {
    /// Sizes of the pages, heads included, bytes.
    pub pages: Vec<usize>,
    /// How often each page is fetched.
    pub samples: u32,
    /// The server's initial window, segments.
    pub initial_window: u32,
    /// The server's congestion control; `None` for the namespace's own.
    pub congestion_control: Option<String>,
    /// The longest time of a page; one that takes longer has failed.
    pub patience: Duration,
}

/// The result of fetching pages.
#[derive(Clone, Debug)]
pub struct PagesFetched {
    /// All fetches of each size, in the order of the sizes.
    pub fetched: Vec<Vec<Fetched>>,
    /// The congestion control of the server's connections, by the kernel's name.
    pub congestion_control: String,
}

/// The order to the server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PageServing {
    address: Ipv4Addr,
    client: Ipv4Addr,
    order: PageOrder,
}

/// The order to the client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PageFetching {
    server: SocketAddr,
    order: PageOrder,
}

/// Fetches pages over the link of a rig; `program` is Linerate.
///
/// # Errors
/// Says what could not be done, and where.
pub fn fetch_pages(program: &Path, lab: &Lab, order: &PageOrder) -> Result<PagesFetched, Failure> {
    let [(client, client_address), (server, server_address)] =
        lab.ends().ok_or_else(|| Failure {
            what: "this rig has no client and server with addresses".to_owned(),
            advice: "pages are fetched on a rig of the form `wire`".to_owned(),
        })?;
    let role = Role::PageServer(PageServing {
        address: server_address,
        client: client_address,
        order: order.clone(),
    });
    let mut serving = RoleProcess::start(here(program, Some(server))?, &role)?;
    let (listening, congestion_control): (SocketAddr, String) = serving.said()?;
    let role = Role::PageClient(PageFetching {
        server: listening,
        order: order.clone(),
    });
    let mut fetching = RoleProcess::start(here(program, Some(client))?, &role)?;
    check_room(order, &fetching.said()?)?;
    Ok(PagesFetched {
        fetched: fetching.said()?,
        congestion_control,
    })
}

/// Sets up the server's host, reports where the server listens, and answers until the process is
/// ended.
pub(crate) fn serve(
    serving: &PageServing,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<()> {
    let server = match listen(serving) {
        Ok(server) => server,
        Err(why) => return say(output, &Said::<()>::Err(why)),
    };
    let listening = (server.address()?, server.congestion_control().to_owned());
    say(output, &Said::Ok(listening))?;
    std::thread::spawn(move || server.serve());
    dismissed(input)
}

fn listen(serving: &PageServing) -> Said<PageServer> {
    tcp::forget_and_give_room().map_err(|error| format!("setting TCP up: {error}"))?;
    let segments = serving.order.initial_window;
    tcp::set_initial_window(wire::DEVICE, serving.client, segments)
        .map_err(|error| format!("an initial window of {segments} segments: {error}"))?;
    let wanted = serving.order.congestion_control.as_deref();
    PageServer::listen(serving.address, wanted).map_err(|error| refusal(wanted, &error))
}

/// Why the server could not listen; where an algorithm was refused, with those that there are.
fn refusal(wanted: Option<&str>, error: &io::Error) -> String {
    let list = |name: &str| {
        let list = kernel_file::text(format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control"));
        list.unwrap_or_default()
    };
    match (wanted, error.raw_os_error()) {
        (Some(wanted), Some(NO_SUCH)) => {
            let available = list("available");
            format!("this kernel has no congestion control `{wanted}`; it has: {available}")
        }
        (Some(wanted), Some(NOT_PERMITTED)) => {
            let allowed = list("allowed");
            format!(
                "the congestion control `{wanted}` may not be chosen here; these may: {allowed}"
            )
        }
        _ => error.to_string(),
    }
}

/// Sets up the client's host. Reports how the first page arrived, and then how every page did.
pub(crate) fn fetch_all(fetching: &PageFetching, output: &mut impl Write) -> io::Result<()> {
    let first = fetch_first(fetching).map_err(|error| error.to_string());
    say(output, &first)?;
    if first.is_err() {
        return Ok(());
    }
    let PageFetching { server, order } = fetching;
    let fetch = |page_bytes| fetch(*server, page_bytes, order.patience);
    let of_page = |page_bytes: &usize| (0..order.samples).map(|_| fetch(*page_bytes)).collect();
    let all: io::Result<Vec<Vec<Fetched>>> = order.pages.iter().map(of_page).collect();
    say(output, &all.map_err(|error| error.to_string()))
}

fn fetch_first(PageFetching { server, order }: &PageFetching) -> io::Result<Fetched> {
    tcp::forget_and_give_room()?;
    if let IpAddr::V4(server) = server.ip() {
        tcp::offer_all_room(wire::DEVICE, server)?;
    }
    fetch(*server, FIRST_PAGE_BYTES, order.patience)
}

/// Checks that the client accepts all that the server sends in its first window. Otherwise the
/// client's window would be measured.
fn check_room(order: &PageOrder, first: &Fetched) -> Result<(), Failure> {
    let largest_page = order.pages.iter().max().copied().unwrap_or_default() as u64;
    let window = u64::from(order.initial_window) * u64::from(first.segment_bytes);
    let (room, at_once) = (first.window_bytes, window.min(largest_page));
    if at_once <= u64::from(room) {
        return Ok(());
    }
    Err(Failure {
        what: format!(
            "the server would send {at_once} bytes at once, and this kernel's client takes {room} \
             at first"
        ),
        advice: format!(
            "ask for an initial window of {} segments at most, or for pages of {room} bytes",
            room / first.segment_bytes.max(1)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_window_that_the_client_does_not_take_in_is_refused_with_what_it_does() {
        let first = Fetched {
            handshake_ns: 1,
            response_ns: 1,
            segment_bytes: 1448,
            window_bytes: 65_535,
        };
        let checked = |initial_window, page_bytes| {
            let order = PageOrder {
                pages: vec![100, page_bytes],
                samples: 1,
                initial_window,
                congestion_control: None,
                patience: Duration::ZERO,
            };
            check_room(&order, &first)
        };
        assert_eq!(checked(45, 1_000_000), Ok(()));
        assert_eq!(checked(10_000, 65_535), Ok(()));
        let refused = checked(46, 1_000_000).unwrap_err();
        assert!(refused.what.contains("66608 bytes at once"), "{refused:?}");
        assert!(refused.advice.contains("45 segments"), "{refused:?}");
    }
}
