//! Parts of a plan that are made of patches and their couplings, none of which needs another one: threads make them at the same time.

use super::buffers::LevelWords;
use super::hierarchy::{Hierarchy, Lower};
use super::lists::{Places, Words, places};
use super::pairs::{Coupled, PairList, lists};
use super::patches::Patches;
use super::space::Space;
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::Links;

/// Operations that a link between two slots of an instance takes, about.
const EACH: usize = 16;

/// Basis of all parts.
#[derive(Clone, Copy)]
pub(super) struct Basis<'a> {
    pub(super) links: &'a Links,
    pub(super) space: &'a Space,
    pub(super) patches: &'a Patches,
    pub(super) matrix: &'a Lower,
}

/// All parts of a plan.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) lists: Vec<PairList>,
    pub(super) words: Words,
    pub(super) places: Places,
    pub(super) hierarchy: Hierarchy,
    pub(super) levels: Vec<LevelWords>,
}

enum Part<'a> {
    Lists(Vec<Coupled<'a>>),
    Levels,
    Places,
}

impl Parts {
    pub(super) async fn new(basis: Basis<'_>, coupled: Vec<Coupled<'_>>, pace: &Pace) -> Result<Self, Stopped> {
        let operations = EACH * coupled.iter().map(Coupled::links).sum::<usize>();
        let parts = [Part::Lists(coupled), Part::Levels, Part::Places];
        let mut all = Self::default();
        if parallel::shares(parts.len() as u32, operations).len() == 1 {
            for part in parts {
                all.take(part.make(basis, pace).await?);
            }
        } else {
            let items = (0..).zip(parts).map(|(number, part)| (number..number + 1, part)).collect();
            let made = parallel::ranges(items, |_, part, pace| async move { part.make(basis, &pace).await }, pace);
            made.await?.into_iter().for_each(|made| all.take(made));
        }
        Ok(all)
    }

    /// Takes over a part.
    fn take(&mut self, made: Made) {
        match made {
            Made::Lists(lists) => self.lists = lists,
            Made::Levels(hierarchy, levels) => (self.hierarchy, self.levels) = (hierarchy, levels),
            Made::Places(words, places) => (self.words, self.places) = (words, places),
        }
    }
}

enum Made {
    Lists(Vec<PairList>),
    Levels(Hierarchy, Vec<LevelWords>),
    Places(Words, Places),
}

impl Part<'_> {
    async fn make(self, of: Basis<'_>, pace: &Pace) -> Result<Made, Stopped> {
        Ok(match self {
            Self::Lists(coupled) => Made::Lists(lists(of.matrix, coupled, pace).await?),
            Self::Levels => {
                let hierarchy = Hierarchy::new(of.matrix.clone(), pace).await?;
                let nodes: Vec<u32> = hierarchy.nodes().collect();
                let mut levels = Vec::new();
                for (level, &above) in hierarchy.levels.iter().zip(&nodes[1..]) {
                    levels.push(LevelWords::new(of.space, level, above, pace).await?);
                }
                Made::Levels(hierarchy, levels)
            }
            Self::Places => {
                let (words, places) = places(of.links, of.space, of.patches, pace).await?;
                Made::Places(words, places)
            }
        })
    }
}
