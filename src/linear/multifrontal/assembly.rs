//! The assembly of fronts: blocks of the matrix, and what children change.

use super::tree::{NONE, Tree};
use crate::matrix::{System, packed};
use crate::sparse::Structure;
use leastwise_base::task::{Pace, Stopped};
use std::ops::Range;

/// Flag of a block whose rows are columns of the front.
const TRANSPOSED: u32 = 1 << 31;

/// Places in fronts of the matrix's blocks, and of the rows of their children.
pub struct Assembly {
    /// First block and first link of each front, and one past the last.
    blocks_of: Vec<u32>,
    links_of: Vec<u32>,
    blocks: Vec<Block>,
    links: Vec<Link>,
}

/// A block of the matrix below its diagonal, at a place in a front.
struct Block {
    part: u32,
    number: u32,
    row: u32,
    column: u32,
}

/// Rows below a front that follow each other in its parent, too: the first one there and here.
#[derive(Clone, Copy)]
pub struct Link {
    /// First row among those below the front.
    pub from: u32,
    /// Its place in the parent.
    pub to: u32,
    /// Number of rows.
    pub len: u32,
}

impl Assembly {
    /// The places in the fronts of a tree.
    pub async fn new(structure: Structure<'_>, tree: &Tree, pace: &Pace) -> Result<Self, Stopped> {
        let Structure { pattern, blocks: by_columns, .. } = structure;
        let count = tree.fronts.len();
        let mut parts_of = vec![Vec::new(); pattern.tables.len()];
        (0..).zip(&pattern.parts).for_each(|(number, part)| parts_of[part.row as usize].push(number));
        let (mut child, mut sibling) = (vec![NONE; count], vec![NONE; count]);
        let mut place = vec![0u32; tree.order.len()];
        let mut of_children = vec![Vec::new(); count];
        let (mut blocks_of, mut blocks) = (vec![0], Vec::new());
        for (number, front) in tree.fronts.iter().enumerate() {
            let mut next = 0;
            for &row in front.variables.clone().collect::<Vec<_>>().iter().chain(tree.rows(front)) {
                place[row as usize] = next;
                next += tree.width(row) as u32;
            }
            for at in front.variables.clone() {
                let variable = tree.order[at as usize];
                let mut put = |other: u32, part: u32, number: u32| {
                    let other = tree.inverse[other as usize];
                    if other > at {
                        blocks.push(Block { part, number, row: place[other as usize], column: place[at as usize] });
                    }
                };
                by_columns.of(variable).iter().for_each(|&(row, part, block)| put(row, part, block));
                let table = pattern.table_of(variable);
                for &number in &parts_of[table] {
                    let part = &pattern.parts[number as usize];
                    let columns = pattern.tables[part.column as usize].first;
                    part.row(variable - pattern.tables[table].first)
                        .for_each(|(block, column)| put(columns + column, number | TRANSPOSED, block));
                }
            }
            blocks_of.push(blocks.len() as u32);
            let mut next = child[number];
            while next != NONE {
                of_children[next as usize] = links(tree, next, &place);
                next = sibling[next as usize];
            }
            if front.parent != NONE {
                sibling[number] = std::mem::replace(&mut child[front.parent as usize], number as u32);
            }
            pace.spend(16 * (front.rows.len() + blocks.len() - blocks_of[number] as usize)).await?;
        }
        let mut links_of = vec![0];
        let mut links = Vec::new();
        for own in of_children {
            links.extend(own);
            links_of.push(links.len() as u32);
        }
        Ok(Self { blocks_of, links_of, blocks, links })
    }

    /// Links of a front to its parent.
    pub fn links(&self, front: u32) -> &[Link] {
        &self.links[self.links_of[front as usize] as usize..self.links_of[front as usize + 1] as usize]
    }

    /// Adds the matrix's values to the panel of a front; false if one is not finite.
    pub fn add_matrix(&self, tree: &Tree, number: u32, system: &System<'_>, panel: &mut [f64]) -> bool {
        let (front, pattern) = (&tree.fronts[number as usize], &system.matrix.pattern);
        let (height, mut is_finite) = (front.height, true);
        let mut at = 0;
        for place in front.variables.clone() {
            let variable = tree.order[place as usize];
            let table = &pattern.tables[pattern.table_of(variable)];
            let (block, scalars) = (system.matrix.diagonal(table, variable - table.first), table.scalars_of(variable - table.first));
            for (c, damping) in system.damping[scalars].iter().enumerate() {
                let column = &mut panel[(at + c) * height + at..];
                for r in c..table.width as usize {
                    column[r] += block[packed(r, c)];
                }
                column[c] += damping;
                is_finite &= column[c..table.width as usize].iter().all(|value| value.is_finite());
            }
            at += table.width as usize;
        }
        for block in &self.blocks[self.blocks_of[number as usize] as usize..self.blocks_of[number as usize + 1] as usize] {
            let part = &pattern.parts[(block.part & !TRANSPOSED) as usize];
            let values = &system.matrix.lower[part.base as usize + block.number as usize * part.size() as usize..][..part.size() as usize];
            let first = &mut panel[block.column as usize * height + block.row as usize..];
            for (r, row) in values.chunks_exact(part.width as usize).enumerate() {
                is_finite &= row.iter().all(|value| value.is_finite());
                if block.part & TRANSPOSED == 0 {
                    row.iter().enumerate().for_each(|(c, value)| first[c * height + r] += value);
                } else {
                    first[r * height..].iter_mut().zip(row).for_each(|(entry, value)| *entry += value);
                }
            }
        }
        is_finite
    }
}

/// Links of a child to its parent, whose variables have these places.
fn links(tree: &Tree, child: u32, place: &[u32]) -> Vec<Link> {
    let (mut links, mut from): (Vec<Link>, u32) = (Vec::new(), 0);
    for &row in tree.rows(&tree.fronts[child as usize]) {
        let (to, len) = (place[row as usize], tree.width(row) as u32);
        match links.last_mut() {
            Some(link) if link.to + link.len == to => link.len += len,
            _ => links.push(Link { from, to, len }),
        }
        from += len;
    }
    links
}

/// Columns of a front, of which the rows from `base` on are there.
pub struct Columns<'a> {
    /// Columns, as the front numbers them.
    pub range: Range<usize>,
    /// First row.
    pub base: usize,
    /// Rows of a column.
    pub stride: usize,
    /// Values by columns.
    pub values: &'a mut [f64],
}

impl Columns<'_> {
    /// Adds the lower triangle of a child's change, of so many rows.
    pub fn add(&mut self, links: &[Link], change: &[f64], rows: usize) {
        for (number, link) in links.iter().enumerate() {
            let to = link.to as usize;
            let columns = self.range.start.max(to)..self.range.end.min(to + link.len as usize);
            for column in columns {
                let source = &change[(column - to + link.from as usize) * rows..][..rows];
                let target = &mut self.values[(column - self.range.start) * self.stride..][..self.stride];
                let (skipped, base) = (column - to, self.base);
                let mut add = |to: usize, from: usize, len: usize| {
                    let target = &mut target[to - base..][..len];
                    target.iter_mut().zip(&source[from..][..len]).for_each(|(entry, change)| *entry += change);
                };
                add(column, link.from as usize + skipped, link.len as usize - skipped);
                links[number + 1..].iter().for_each(|link| add(link.to as usize, link.from as usize, link.len as usize));
            }
        }
    }
}
