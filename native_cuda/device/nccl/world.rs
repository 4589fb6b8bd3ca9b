//! Faults that ranks of one process tell each other, which NCCL tells to nobody whose kernel waits.

use super::lock;
use leastwise_collective::Fault;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// For so long what is enqueued may still end well after a rank is gone: it may have made its call before.
const GRACE: Duration = Duration::from_millis(250);

/// Ranks of a group that are in this process.
pub struct World {
    size: u32,
    /// Rank and GPU of each.
    members: Mutex<Vec<(u32, usize)>>,
    /// Number of those that have left or aborted their communicator.
    ended: AtomicU32,
    fault: Mutex<Option<(Fault, Instant)>>,
}

/// Groups that are alive, by their id.
static WORLDS: Mutex<Vec<([u8; 128], Weak<World>)>> = Mutex::new(Vec::new());

impl World {
    /// Adds a rank on a GPU.
    ///
    /// # Errors
    /// [`Fault::Refused`] for a rank that is not one of the group, or is there already, and for a GPU that another rank has. All ranks
    /// that are there have the same then.
    pub fn enter(id: [u8; 128], (rank, size): (u32, u32), gpu: usize) -> Result<Arc<Self>, Fault> {
        if rank >= size {
            return Err(Fault::Refused(format!("rank {rank} of {size}: ranks are numbers from 0 to the size of the group less one")));
        }
        let world = {
            let mut worlds = lock(&WORLDS);
            worlds.retain(|(_, world)| world.strong_count() > 0);
            let known = worlds.iter().find(|(known, _)| *known == id).and_then(|(_, world)| world.upgrade());
            known.unwrap_or_else(|| {
                let world = Arc::new(Self { size, members: Mutex::default(), ended: AtomicU32::new(0), fault: Mutex::default() });
                worlds.push((id, Arc::downgrade(&world)));
                world
            })
        };
        let mut members = lock(&world.members);
        let refused = if world.size != size {
            Some(format!("rank {rank} was told of {size} ranks, and another of {}", world.size))
        } else if members.iter().any(|member| member.0 == rank) {
            Some(format!("there are two ranks {rank}"))
        } else {
            let other = members.iter().find(|member| member.1 == gpu);
            other.map(|other| format!("ranks {} and {rank} are both on GPU {gpu}: NCCL needs a GPU for each rank", other.0))
        };
        if let Some(message) = refused {
            return Err(world.fail(Fault::Refused(message)));
        }
        members.push((rank, gpu));
        drop(members);
        Ok(world)
    }

    /// The fault, and since when there is one.
    pub fn fault(&self) -> Option<(Fault, Instant)> {
        lock(&self.fault).clone()
    }

    /// The fault, once what was enqueued before it had time to end.
    pub fn ended(&self) -> Option<Fault> {
        self.fault().filter(|(fault, since)| !matches!(fault, Fault::Gone { .. }) || since.elapsed() >= GRACE).map(|(fault, _)| fault)
    }

    /// Tells a fault to all; gives the first one.
    pub fn fail(&self, fault: Fault) -> Fault {
        lock(&self.fault).get_or_insert_with(|| (fault, Instant::now())).0.clone()
    }

    /// Counts a rank whose communicator is no more.
    pub fn left(&self) {
        self.ended.fetch_add(1, Ordering::AcqRel);
    }

    /// Waits until no communicator of this process is left, for so long at most; true if none is.
    pub fn wait_for_others(&self, longest: Duration) -> bool {
        let begun = Instant::now();
        loop {
            if self.ended.load(Ordering::Acquire) as usize >= lock(&self.members).len() {
                return true;
            }
            if begun.elapsed() >= longest {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_can_not_enter_ends_the_group_for_all() {
        let refused = |first: (u32, u32, usize), second: (u32, u32, usize), number: u8| {
            let enter = |(rank, size, gpu)| World::enter([number; 128], (rank, size), gpu);
            let world = enter(first).unwrap();
            let Err(Fault::Refused(message)) = enter(second) else { panic!("it entered") };
            assert_eq!(world.ended(), Some(Fault::Refused(message.clone())));
            message
        };
        assert_eq!(refused((0, 2, 0), (1, 2, 0), 1), "ranks 0 and 1 are both on GPU 0: NCCL needs a GPU for each rank");
        assert_eq!(refused((1, 2, 0), (1, 2, 1), 2), "there are two ranks 1");
        assert_eq!(refused((0, 2, 0), (1, 3, 1), 3), "rank 1 was told of 3 ranks, and another of 2");
        assert!(matches!(World::enter([4; 128], (2, 2), 0), Err(Fault::Refused(_))));
        // A group that is gone may come again.
        assert!(World::enter([1; 128], (1, 2), 0).is_ok());
    }

    #[test]
    fn calls_before_a_death_have_time_to_end() {
        let world = World::enter([5; 128], (0, 1), 0).unwrap();
        let gone = Fault::Gone { rank: 0, size: 1, panicked: true };
        assert_eq!((world.fail(gone.clone()), world.ended()), (gone.clone(), None));
        std::thread::sleep(GRACE);
        assert_eq!(world.ended(), Some(gone.clone()));
        assert_eq!(world.fail(Fault::Refused("later".into())), gone, "the first one stays");
        world.left();
        assert!(world.wait_for_others(Duration::from_secs(5)));
    }
}
