//! Ids in a file: how many follow each other that are there, how many that are not, and so on, each in seven bits a byte (LEB128). Vectors that
//! were taken out cost a byte or two a run, not four bytes for each that stays.

/// Runs of ascending ids from 0 on: there, not there, there…
fn runs(ids: &[u32]) -> impl Iterator<Item = u32> {
    let (mut place, mut next) = (0, 0);
    let mut is_there = false;
    std::iter::from_fn(move || {
        is_there = !is_there;
        if !is_there {
            let gap = ids.get(place)? - next;
            next += gap;
            return Some(gap);
        }
        if place == ids.len() {
            return None;
        }
        let start = place;
        while ids.get(place) == Some(&next) {
            (place, next) = (place + 1, next.saturating_add(1));
        }
        Some((place - start) as u32)
    })
}

pub fn pack(ids: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for mut run in runs(ids) {
        while run > 127 {
            bytes.push(run as u8 | 128);
            run >>= 7;
        }
        bytes.push(run as u8);
    }
    bytes
}

/// So many ids below `end`; nothing where bytes are not what [`pack`] makes of them.
pub fn unpack(bytes: &[u8], count: usize, end: u32) -> Option<Vec<u32>> {
    let mut ids = Vec::with_capacity(count);
    let (mut next, mut is_there, mut bytes) = (0_u32, true, bytes.iter());
    while ids.len() < count {
        let mut run = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = *bytes.next()?;
            run |= u64::from(byte & 127) << shift;
            if byte < 128 {
                // Neither zeros at its end nor a run of nothing within.
                if (byte == 0 && shift > 0) || (run == 0 && next > 0) {
                    return None;
                }
                break;
            }
        }
        let last = next.checked_add(u32::try_from(run).ok()?).filter(|&last| last <= end)?;
        if is_there {
            if run > (count - ids.len()) as u64 {
                return None;
            }
            ids.extend(next..last);
        }
        (next, is_there) = (last, !is_there);
    }
    bytes.next().is_none().then_some(ids)
}
