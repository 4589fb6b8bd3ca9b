//! Incidence lists beside those of chunks, for who stores other contributions than the programs of all solvers.

use super::chunk::Allocation;
use super::incidence::{self, Incidence, IncidentSlot};
use super::{LinkedBatch, Links};
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{Command, Device, Kind};
use leastwise_error::Error;
use leastwise_program::ColumnMap;
use std::ops::Range;

/// A list before it has buffers.
pub struct ListWords {
    list: Incidence,
    words: incidence::Words,
    widths: [u32; 2],
}

/// Where the contributions to every slot are: of a product, and of the diagonal blocks. Slots of no width have none.
#[derive(Clone, Copy)]
pub struct Contributions<'a> {
    /// Maps of a product's columns.
    pub product: &'a [ColumnMap],
    /// Maps of the diagonal blocks' columns.
    pub diagonal: &'a [ColumnMap],
    /// Elements between what two instances next to each other contribute.
    pub distance: u32,
}

impl ListWords {
    /// A list for every table that slots with contributions belong to, over the instances `range` of a batch.
    pub async fn of(
        links: &Links,
        batch: &LinkedBatch,
        range: Range<usize>,
        from: Contributions<'_>,
        pace: &Pace,
    ) -> Result<Vec<Self>, Stopped> {
        let has = |slot: u32| [from.product, from.diagonal].iter().any(|maps| maps.get(slot as usize).is_some_and(|map| map.width > 0));
        let slots: Vec<(u32, u32, &[u32])> = batch.moving_slots().into_iter().filter(|(slot, ..)| has(*slot)).collect();
        let none = ColumnMap::default();
        let mut lists = Vec::new();
        for table in super::distinct(slots.iter().map(|slot| slot.1)) {
            let site = links.tables[table as usize].site;
            let mine = slots.iter().filter(|slot| slot.1 == table);
            let mine: Vec<IncidentSlot> = mine
                .map(|(slot, _, variables)| IncidentSlot {
                    indices: &variables[range.clone()],
                    same_as: None,
                    gradient: from.product.get(*slot as usize).unwrap_or(&none),
                    diagonal: from.diagonal.get(*slot as usize).unwrap_or(&none),
                })
                .collect();
            let (list, words) = incidence::build(site, &mine, from.distance, pace).await?;
            lists.push(Self { list, words, widths: [site.tangent, site.packed()] });
        }
        Ok(lists)
    }

    /// The list with its buffers, which are all made or none.
    pub fn place(self, device: &mut Device, label: &str, uploads: &mut Vec<Command>) -> Result<Incidence, Error> {
        let Self { mut list, words, widths } = self;
        let mut allocation = Allocation::new(device);
        list.buffer = allocation.buffer(Kind::Index, list.len, label)?;
        uploads.push(Command::UploadIndices { buffer: list.buffer, offset: 0, data: words.list });
        if let Some(tree) = &mut list.hubs {
            tree.allocate(&mut allocation, widths, &format!("{label}, shared variables"))?;
            uploads.push(Command::UploadIndices { buffer: tree.buffer, offset: 0, data: words.hubs });
        }
        Ok(list)
    }
}
