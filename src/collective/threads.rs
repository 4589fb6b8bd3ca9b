//! Threads as ranks: communicators that share memory.
//!
//! A round is one call of all ranks. Each puts its bytes into its slot and waits; the last to come checks that all made the same
//! call, and hands out all slots. A rank whose communicator is dropped, by a panic or not, ends the round and all later ones.

use super::{Call, Communicator, Fault, Gathered, Traffic};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

struct Round {
    slots: Vec<Option<(Call, Vec<u8>)>>,
    arrived: usize,
    /// Rounds that were completed.
    number: u64,
    /// Bytes of the last completed round, which no rank can miss: the next one waits for all.
    last: Gathered,
    fault: Option<Fault>,
}

struct World {
    round: Mutex<Round>,
    changed: Condvar,
    deadline: Duration,
}

impl World {
    /// A rank that panicked holding the lock has changed nothing by halves.
    fn lock(&self) -> MutexGuard<'_, Round> {
        self.round.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

struct Thread {
    rank: u32,
    size: u32,
    world: Arc<World>,
    traffic: Mutex<Traffic>,
}

/// Communicators of so many threads, in the order of ranks. A call waits for so long.
pub fn threads(size: u32, deadline: Duration) -> Vec<Arc<dyn Communicator>> {
    let round = Round { slots: (0..size).map(|_| None).collect(), arrived: 0, number: 0, last: Gathered::default(), fault: None };
    let world = Arc::new(World { round: Mutex::new(round), changed: Condvar::new(), deadline });
    let rank = |rank| Arc::new(Thread { rank, size, world: world.clone(), traffic: Mutex::default() }) as Arc<dyn Communicator>;
    (0..size).map(rank).collect()
}

/// Group that not all ranks have come to yet.
struct Waiting {
    name: Vec<u8>,
    deadline: Duration,
    ranks: Vec<Option<Arc<dyn Communicator>>>,
}

static WAITING: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());

/// The communicator of a rank of a group of this process that has a name. The first that comes makes the group, and a group is forgotten
/// once all have come.
///
/// # Errors
/// [`Fault::Refused`] for a rank that is not one of the group, that has come already, or that has another deadline than the first.
pub fn threads_of(name: &[u8], rank: u32, size: u32, deadline: Duration) -> Result<Arc<dyn Communicator>, Fault> {
    if rank >= size {
        return Err(Fault::Refused(format!("rank {rank} of {size}: ranks are numbers from 0 to the size of the group less one")));
    }
    let mut groups = WAITING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
        groups.push(Waiting { name: name.to_vec(), deadline, ranks: threads(size, deadline).into_iter().map(Some).collect() });
        groups.len() - 1
    });
    let Waiting { deadline: known, ranks, .. } = &mut groups[place];
    if ranks.len() != size as usize {
        return Err(Fault::Refused(format!("rank {rank} was told of {size} ranks, and another of {}", ranks.len())));
    }
    if *known != deadline {
        let [own, other] = [deadline, *known].map(|deadline| deadline.as_secs_f64());
        return Err(Fault::Refused(format!(
            "rank {rank} waits {own} s for other ranks, and another {other} s: all need the same time limit"
        )));
    }
    let Some(own) = ranks[rank as usize].take() else { return Err(Fault::Refused(format!("there are two ranks {rank}"))) };
    if ranks.iter().all(Option::is_none) {
        groups.swap_remove(place);
    }
    Ok(own)
}

impl Communicator for Thread {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn traffic(&self) -> Traffic {
        *self.traffic.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn exchange(&self, call: Call, own: Vec<u8>) -> Result<Gathered, Fault> {
        let given = own.len();
        let all = self.meet(call, own)?;
        let received = all.iter().map(Vec::len).sum::<usize>() - given;
        self.traffic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).note(call.kind, given, received);
        Ok(all)
    }

    fn give_up(&self, fault: Fault) {
        self.world.lock().fault.get_or_insert(fault);
        self.world.changed.notify_all();
    }
}

impl Thread {
    fn meet(&self, call: Call, own: Vec<u8>) -> Result<Gathered, Fault> {
        let World { changed, deadline, .. } = &*self.world;
        let mut round = self.world.lock();
        if let Some(fault) = &round.fault {
            return Err(fault.clone());
        }
        round.slots[self.rank as usize] = Some((call, own));
        round.arrived += 1;
        if round.arrived == self.size as usize {
            let slots: Vec<_> = round.slots.iter_mut().filter_map(Option::take).collect();
            round.arrived = 0;
            round.fault = mismatch(&slots);
            if round.fault.is_none() {
                round.last = Arc::new(slots.into_iter().map(|(_, bytes)| bytes).collect());
                round.number += 1;
            }
            changed.notify_all();
            return round.fault.clone().map_or_else(|| Ok(round.last.clone()), Err);
        }
        // A deadline that no clock has is none.
        let (number, until) = (round.number, Instant::now().checked_add(*deadline));
        loop {
            // A complete call counts, whatever came after it.
            if round.number != number {
                return Ok(round.last.clone());
            }
            if let Some(fault) = &round.fault {
                return Err(fault.clone());
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                let missing = (0..self.size).filter(|rank| round.slots[*rank as usize].is_none()).collect();
                let fault = Fault::Late { call: call.label, missing, within: *deadline };
                round.fault = Some(fault.clone());
                changed.notify_all();
                return Err(fault);
            }
            // Few platforms wait as long as a duration can say: they are asked again.
            let turn = left.min(Duration::from_secs(3600));
            round = changed.wait_timeout(round, turn).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

/// The first call that is not that of rank 0.
fn mismatch(slots: &[(Call, Vec<u8>)]) -> Option<Fault> {
    let name = |(call, bytes): &(Call, Vec<u8>)| format!("{} \"{}\" of {} bytes", call.kind.name(), call.label, bytes.len());
    let rank = slots.iter().position(|slot| slot.0 != slots[0].0)?;
    Some(Fault::Mismatch { rank: rank as u32, called: name(&slots[rank]), expected: name(&slots[0]) })
}

impl Drop for Thread {
    fn drop(&mut self) {
        let mut round = self.world.lock();
        round.fault.get_or_insert(Fault::Gone { rank: self.rank, size: self.size, panicked: std::thread::panicking() });
        self.world.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DEADLINE, Kind, everybody, told};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Results of all ranks, each a thread of its own; none of one that panicked.
    fn run<T: Send>(size: u32, deadline: Duration, each: impl Fn(Arc<dyn Communicator>) -> T + Sync) -> Vec<Option<T>> {
        let each = &each;
        std::thread::scope(|scope| {
            let start = |rank| scope.spawn(move || catch_unwind(AssertUnwindSafe(|| each(rank))).ok());
            let started: Vec<_> = threads(size, deadline).into_iter().map(start).collect();
            started.into_iter().map(|thread| thread.join().expect("a panic is caught")).collect()
        })
    }

    #[test]
    fn sums_are_those_of_the_order_of_ranks_whoever_comes_first() {
        let terms = [1e16, 1.0, -1e16, 3.0];
        for size in 1..=4u32 {
            let expected = terms[1..size as usize].iter().fold(terms[0], |sum, term| sum + term);
            for late in 0..size {
                let sums = run(size, DEADLINE, |ranks| {
                    if ranks.rank() == late {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    ranks.sum("terms", &[terms[ranks.rank() as usize]]).map(|sums| sums[0].to_bits())
                });
                assert_eq!(sums, vec![Some(Ok(expected.to_bits())); size as usize]);
            }
        }
    }

    #[test]
    fn calls_give_every_rank_the_same_and_are_counted() {
        let found = run(3, DEADLINE, |ranks| {
            let own = f64::from(ranks.rank());
            let mut seen = Vec::new();
            for _ in 0..50 {
                seen = ranks.gather_varying("rows", &vec![own; ranks.rank() as usize]).unwrap().concat();
            }
            seen.extend(ranks.broadcast("first", &[7.0 + own]).unwrap());
            seen.extend(ranks.largest("most", &[own, -own]).unwrap());
            seen.extend(ranks.gather("all", &[own]).unwrap().concat());
            ranks.barrier("end").unwrap();
            ranks.agree("numbers", 5).unwrap();
            (seen, ranks.traffic())
        });
        for (rank, found) in (0u64..).zip(found) {
            let (seen, traffic) = found.unwrap();
            assert_eq!(seen, [1.0, 2.0, 2.0, 7.0, 2.0, 0.0, 0.0, 1.0, 2.0]);
            let gather = traffic.of(Kind::Gather);
            assert_eq!((gather.calls, gather.given, gather.received), (52, 400 * rank + 16, 400 * (3 - rank) + 32));
            assert_eq!(traffic.of(Kind::Reduce).received, 32);
            assert_eq!(traffic.of(Kind::Broadcast).given, if rank == 0 { 8 } else { 0 });
            assert_eq!(traffic.total().calls, 55);
        }
    }

    #[test]
    fn a_rank_that_dies_or_leaves_ends_the_calls_of_all_others_at_once() {
        for panics in [true, false] {
            let begun = Instant::now();
            let found = run(4, DEADLINE, |ranks| {
                ranks.barrier("start").unwrap();
                if ranks.rank() == 2 {
                    assert!(!panics, "rank 2 dies");
                    return Ok(());
                }
                let fault = ranks.barrier("end");
                // It stays so.
                assert_eq!(ranks.sum("more", &[1.0]).map(drop), fault);
                fault
            });
            let gone = Some(Err(Fault::Gone { rank: 2, size: 4, panicked: panics }));
            assert_eq!([&found[0], &found[1], &found[3]], [&gone; 3]);
            assert!(begun.elapsed() < DEADLINE, "nobody waited for the deadline");
        }
    }

    #[test]
    fn other_calls_and_other_sizes_are_told_to_all() {
        let found = run(3, DEADLINE, |ranks| match ranks.rank() {
            1 => ranks.sum("energies", &[1.0, 2.0]).map(drop),
            _ => ranks.sum("energies", &[1.0]).map(drop),
        });
        let [called, expected] = ["reduce \"energies\" of 16 bytes", "reduce \"energies\" of 8 bytes"].map(String::from);
        assert_eq!(found, vec![Some(Err(Fault::Mismatch { rank: 1, called, expected })); 3]);
        let found = run(2, DEADLINE, |ranks| if ranks.rank() == 1 { ranks.barrier("x") } else { ranks.sum("x", &[]).map(drop) });
        assert!(found.iter().all(|found| matches!(found, Some(Err(Fault::Mismatch { rank: 1, .. })))), "{found:?}");
        let found = run(3, DEADLINE, |ranks| {
            let differs = ranks.agree("data", u64::from(ranks.rank() / 2));
            (differs, ranks.barrier("after"))
        });
        assert_eq!(found, vec![Some((Err(Fault::Differs { what: "data", rank: 2 }), Ok(()))); 3]);
    }

    #[test]
    fn a_rank_that_is_late_is_named() {
        let gate = std::sync::Barrier::new(2);
        let found = run(2, Duration::from_millis(20), |ranks| {
            // Rank 1 is there, but does not call before rank 0 has given up.
            let fault = if ranks.rank() == 1 { Ok(()) } else { ranks.barrier("costs") };
            gate.wait();
            (fault, ranks.barrier("later"))
        });
        for (rank, found) in found.into_iter().enumerate() {
            let (first, later) = found.unwrap();
            let late = Fault::Late { call: "costs", missing: vec![1], within: Duration::from_millis(20) };
            assert!(late.to_string().contains("rank 1 did not come within 0.02 s"), "{late}");
            assert_eq!((first, later), (if rank == 1 { Ok(()) } else { Err(late.clone()) }, Err(late)));
        }
    }

    #[test]
    fn a_rank_that_gives_up_tells_all_others_why() {
        let broken = Fault::Broken { rank: 1, size: 3, message: "the GPU hangs".into() };
        let begun = Instant::now();
        let found = run(3, DEADLINE, |ranks| {
            ranks.barrier("start").unwrap();
            if ranks.rank() == 1 {
                ranks.give_up(broken.clone());
            }
            let first = ranks.barrier("end");
            ranks.give_up(Fault::Refused("a later reason".into()));
            (first, ranks.barrier("after"))
        });
        assert_eq!(found, vec![Some((Err(broken.clone()), Err(broken.clone()))); 3]);
        assert!(begun.elapsed() < DEADLINE, "nobody waited for the deadline");
    }

    #[test]
    fn ranks_of_a_name_find_each_other() {
        let come = |name: &[u8], rank, size| threads_of(name, rank, size, DEADLINE);
        let group = [come(b"one", 1, 2).unwrap(), come(b"other", 0, 1).unwrap()];
        let refused = [come(b"one", 1, 2), come(b"one", 0, 3), come(b"two", 2, 2)].map(|rank| rank.err().map(|fault| fault.to_string()));
        let expected = [
            "there are two ranks 1",
            "rank 0 was told of 3 ranks, and another of 2",
            "rank 2 of 2: ranks are numbers from 0 to the size of the group less one",
        ];
        assert_eq!(refused, expected.map(|message| Some(message.into())));
        let impatient = threads_of(b"one", 0, 2, Duration::from_millis(1500)).err();
        let message = "rank 0 waits 1.5 s for other ranks, and another 30 s: all need the same time limit";
        assert_eq!(impatient, Some(Fault::Refused(message.into())));
        let zero = come(b"one", 0, 2).unwrap();
        let sums = std::thread::scope(|scope| {
            let sum = |rank: &Arc<dyn Communicator>| rank.sum("terms", &[1.0 + f64::from(rank.rank())]);
            let other = scope.spawn(move || sum(&zero));
            [sum(&group[0]), other.join().unwrap(), sum(&group[1])]
        });
        assert_eq!(sums, [Ok(vec![3.0]), Ok(vec![3.0]), Ok(vec![1.0])]);
        // Once all have come, the name is free.
        assert!(come(b"one", 0, 3).is_ok());
    }

    #[test]
    fn a_deadline_may_be_as_long_as_any() {
        let found = run(2, Duration::MAX, |ranks| ranks.sum("terms", &[1.0]).map(|sums| sums[0]));
        assert_eq!(found, vec![Some(Ok(2.0)); 2]);
    }

    #[test]
    fn a_failure_of_one_rank_is_its_own_and_known_to_the_others() {
        let found = run(3, DEADLINE, |ranks| {
            let own = if ranks.rank() == 1 { Err(Fault::Refused("no memory".into())) } else { Ok(ranks.rank()) };
            (everybody(&*ranks, own), everybody(&*ranks, Ok::<u32, Fault>(7)))
        });
        let refused = |message: &str| Err::<u32, _>(Fault::Refused(message.into()));
        let elsewhere = refused("rank 1 could not set up its part: it has the reason");
        let expected = [elsewhere.clone(), refused("no memory"), elsewhere];
        assert_eq!(found, expected.map(|first| Some((first, Ok(7)))));
        // A failure of its own says more than that the others are gone.
        let found = run(2, DEADLINE, |ranks| if ranks.rank() == 0 { everybody(&*ranks, refused("no memory")) } else { Ok(7) });
        assert_eq!(found, [Some(refused("no memory")), Some(Ok(7))]);
    }

    #[test]
    fn words_of_all_ranks_are_heard_in_one_call_unless_one_failed() {
        let found = run(3, DEADLINE, |ranks| {
            let own = [u64::MAX - u64::from(ranks.rank()), 5];
            let all = told(&*ranks, "words", Some(own));
            let failed = told(&*ranks, "words", (ranks.rank() != 2).then_some(own));
            (all, failed, ranks.traffic().of(Kind::Gather).calls)
        });
        let elsewhere = Err(Fault::Refused("rank 2 could not set up its part: it has the reason".into()));
        for (rank, found) in found.into_iter().enumerate() {
            let failed = if rank == 2 { Ok(Vec::new()) } else { elsewhere.clone() };
            assert_eq!(found, Some((Ok([0, 1, 2].map(|rank| [u64::MAX - rank, 5]).into()), failed, 2)));
        }
    }
}
