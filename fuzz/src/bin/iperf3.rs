//! The messages of iperf3 at both ends: what is accepted lies within its bounds and can be written
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use wire::iperf3::{
    DatagramHead, MOST_PARAMETER_BYTES, MOST_STREAMS, Parameters, Results, State, framed, length,
    stream_id,
};

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else {
        return;
    };
    if let Some(state) = State::read(*kind) {
        assert_eq!(state.byte(), *kind);
    }
    if let Some((head, _)) = rest.split_first_chunk() {
        let taken = length(*head, MOST_PARAMETER_BYTES);
        assert!(taken.is_err() || taken.is_ok_and(|bytes| bytes <= MOST_PARAMETER_BYTES as usize));
    }
    for is_wide in [false, true] {
        if let Some(head) = DatagramHead::read(rest, is_wide) {
            let mut again = [0; 16];
            head.write(&mut again, is_wide);
            let read = DatagramHead::read(&again, is_wide).expect("there is room for it");
            assert_eq!(read.number, head.number);
            // Microseconds beyond a second count as seconds, for which there may not be enough
            // room.
            let fits = head.sent_us / 1_000_000 <= u64::from(u32::MAX);
            assert!(read.sent_us == head.sent_us || !fits);
        }
    }
    if let Ok(asked) = Parameters::read(rest) {
        assert!((1..=u64::from(MOST_STREAMS)).contains(&asked.parallel) && asked.tcp != asked.udp);
        let json = framed(&asked).split_off(4);
        assert_eq!(Parameters::read(&json).ok(), Some(asked));
    }
    let ids: Vec<u32> = (0..usize::from(*kind % 4)).map(stream_id).collect();
    if let Ok(results) = Results::<Value>::read(rest, &ids) {
        let mut read_ids: Vec<u64> = results.streams.iter().map(|one| one.id).collect();
        read_ids.sort_unstable();
        assert!(read_ids.into_iter().eq(ids.iter().map(|id| u64::from(*id))));
        let json = framed(&results).split_off(4);
        assert_eq!(Results::read(&json, &ids).ok(), Some(results));
    }
});
