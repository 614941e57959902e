//! Writes a queueing discipline as tc(8) words it.

use std::fmt;

use super::asked::{Bucket, Buckets, Emulation, Qdisc, Room, Shaper};

impl fmt::Display for Qdisc {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shaper {
            Shaper::Open => {}
            Shaper::Tbf(Buckets { base, peak }) => {
                write!(out, "tbf rate {} burst {}b", bits(&base), base.bytes)?;
                if let Some(peak) = peak {
                    write!(out, " peakrate {} mtu {}b", bits(&peak), peak.bytes)?;
                }
            }
            Shaper::Netem(emulation) => write!(out, "{emulation}")?,
        }
        let Some(room) = self.room else {
            return Ok(());
        };
        let unit = if matches!(room, Room::Bytes(_)) {
            "b"
        } else {
            "p"
        };
        let inner = if self.shaper == Shaper::Open {
            ""
        } else {
            ", "
        };
        write!(out, "{inner}{} limit {}{unit}", room.kind(), room.limit())
    }
}

fn bits(bucket: &Bucket) -> String {
    format!("{}bit", bucket.bytes_per_second.saturating_mul(8))
}

impl fmt::Display for Emulation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: u32| f64::from(part) / f64::from(u32::MAX) * 100.0;
        write!(out, "netem limit {}", self.limit_packets)?;
        if self.delay_ns > 0 {
            write!(out, " delay {}us", self.delay_ns as f64 / 1e3)?;
        }
        if self.loss > 0 {
            write!(out, " loss {:.6}%", percent(self.loss))?;
        }
        if self.reorder > 0 {
            write!(out, " reorder {:.6}%", percent(self.reorder))?;
        }
        if self.bytes_per_second > 0 {
            write!(out, " rate {}bit", self.bytes_per_second.saturating_mul(8))?;
        }
        Ok(())
    }
}
