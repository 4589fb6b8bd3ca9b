//! The dispatches of a clustering's kernels.

use super::super::points::Points;
use super::super::state;
use super::{Chunk, Piece, RUNS, Workspace, trials_for};
use leastwise_cpu::twins::{POTENTIALS_ABREAST, SHARE, runs_for, tile};
use leastwise_device::{Command, Dispatch, KernelId, PARAM_WORDS, Slice, binding::*};
use leastwise_kernel::Fixed;

/// Points and keys of a stable sort.
#[derive(Clone, Copy)]
pub struct Sort {
    pub keys_at: u32,
    pub keys: u32,
    pub shift: u32,
    pub mask: u32,
    /// In which order points come; 0, 1, … without.
    pub from: Option<u32>,
    pub to: u32,
}

/// Every key is as it is.
const WHOLE: u32 = u32::MAX;

/// What is summed for `centroid_sums`.
#[derive(Clone, Copy)]
pub struct Sums {
    pub clusters: u32,
    pub first: u32,
    pub members: u32,
    pub weighted: bool,
}

/// A soft assignment.
#[derive(Clone, Copy)]
pub struct Soft {
    pub clusters: u32,
    pub shares: u32,
    /// Room for the responsibilities of a block of points.
    pub scores: Slice,
}

impl Workspace {
    fn kernel(&self, kernel: Fixed) -> KernelId {
        let found = self.kernels.iter().find(|(known, _)| *known == kernel);
        found.map_or(KernelId(u32::MAX), |(_, id)| *id)
    }

    /// A dispatch over so many items.
    fn over(&self, kernel: Fixed, items: u32, words: &[u32], bound: &[(usize, Slice)]) -> Command {
        let mut bindings = [None; COUNT];
        bound.iter().for_each(|(slot, slice)| bindings[*slot] = Some(*slice));
        let mut all = [0; PARAM_WORDS];
        all[..words.len()].copy_from_slice(words);
        Command::Dispatch(Dispatch { kernel: self.kernel(kernel), bindings, count: items, single_group: false, words: all })
    }

    /// A dispatch of so many workgroups.
    fn groups(&self, kernel: Fixed, groups: u32, words: &[u32], bound: &[(usize, Slice)]) -> Command {
        self.over(kernel, groups * self.limits.group_size, words, bound)
    }

    fn single(&self, kernel: Fixed, words: &[u32], bound: &[(usize, Slice)]) -> Command {
        match self.over(kernel, 1, words, bound) {
            Command::Dispatch(dispatch) => Command::Dispatch(Dispatch { single_group: true, ..dispatch }),
            other => other,
        }
    }

    /// Uploads of the points of a chunk, a few at a time.
    pub fn uploads(&self, chunk: Chunk, points: &Points) -> Vec<Command> {
        let (width, each) = (self.dimensions as usize, 1 << 20);
        let (begin, end) = (chunk.first as usize * width, (chunk.first + chunk.count) as usize * width);
        let upload = |first: usize| Command::UploadSingles {
            buffer: chunk.points.buffer,
            offset: (first - begin) as u32,
            data: points.values.clone(),
            first,
            len: each.min(end - first) as u32,
        };
        (begin..end).step_by(each).map(upload).collect()
    }

    /// ‖x‖² of a chunk's points.
    pub fn squares(&self, chunk: Chunk) -> Command {
        let bound = [(ARENA, chunk.points), (VECTOR_IN, self.sums), (VECTOR_OUT, self.squares), (STATE, self.state)];
        self.over(Fixed::Norms, chunk.count, &[self.dimensions, chunk.first, 0, 0, state::ALWAYS], &bound)
    }

    /// ‖a‖² of so many anchors; less T ln p, where sums of soft assignments are there.
    pub fn norms(&self, piece: Piece, clusters: u32, soft_shares: u32) -> Command {
        let bound = [(ARENA, piece.anchors), (VECTOR_IN, self.sums), (VECTOR_OUT, piece.norms), (STATE, self.state)];
        self.over(Fixed::Norms, clusters, &[self.dimensions, 0, soft_shares.min(1), soft_shares, state::DONE], &bound)
    }

    fn here(piece: Piece, clusters: u32) -> u32 {
        clusters.saturating_sub(piece.first).min(piece.count)
    }

    /// The pieces that so many anchors lie in, and how many of them each has.
    pub fn pieces_of(&self, clusters: u32) -> impl Iterator<Item = (Piece, u32)> {
        self.pieces.iter().map(move |piece| (*piece, Self::here(*piece, clusters))).filter(|(_, here)| *here > 0)
    }

    /// Workgroups of `assign` over a chunk.
    fn tiles(&self, chunk: Chunk) -> u32 {
        chunk.count.div_ceil(tile(self.limits.group_size).0 as u32)
    }

    /// The nearest of so many anchors, of every point of a chunk.
    pub fn assign(&self, chunk: Chunk, clusters: u32, commands: &mut Vec<Command>) {
        let pieces: Vec<_> = self.pieces_of(clusters).collect();
        for (number, (piece, here)) in pieces.iter().enumerate() {
            let flags = u32::from(self.direct)
                | u32::from(number == 0) << 1
                | u32::from(number + 1 == pieces.len()) << 2
                | u32::from(self.by_fours) << 3;
            let words = [
                chunk.count,
                self.dimensions,
                *here,
                piece.first,
                chunk.first,
                self.places.labels,
                self.places.before,
                flags,
                state::DONE,
                self.first_tile(chunk),
                self.count,
            ];
            let bound = [
                (ARENA, chunk.points),
                (DATA, piece.anchors),
                (INDEX, self.table),
                (VECTOR_IN, self.squares),
                (VECTOR_OUT, self.nearest),
                (JACOBIAN, piece.norms),
                (STATE, self.state),
                (PARTIALS, self.partials),
            ];
            commands.push(self.groups(Fixed::Assign, self.tiles(chunk), &words, &bound));
        }
    }

    /// The first partial of a chunk's workgroups, after those of the energy.
    fn first_tile(&self, chunk: Chunk) -> u32 {
        let before: u32 = self.chunks.iter().take_while(|other| other.first < chunk.first).map(|other| self.tiles(*other)).sum();
        2 * RUNS + before
    }

    fn all_tiles(&self) -> u32 {
        self.chunks.iter().map(|chunk| self.tiles(*chunk)).sum()
    }

    /// A stable sort of all points.
    pub fn sort(&self, sort: Sort, commands: &mut Vec<Command>) {
        let places = self.places;
        let begins = if sort.keys_at == places.keys && sort.mask != WHOLE { places.map } else { places.begins };
        let blocks = Self::part(self.table, places.blocks, self.blocks * sort.keys);
        commands.push(Command::Clear { slice: blocks });
        let from = [sort.from.unwrap_or(0), u32::from(sort.from.is_some())];
        let words = [
            self.count,
            sort.keys,
            self.block,
            places.blocks,
            sort.keys_at,
            sort.shift,
            sort.mask,
            from[0],
            from[1],
            state::DONE,
            begins,
            sort.to,
        ];
        let bound = [(INDEX, self.table), (STATE, self.state)];
        commands.push(self.groups(Fixed::Tally, self.blocks, &words[..10], &bound));
        commands.push(self.over(Fixed::Spread, sort.keys, &[self.blocks, sort.keys, places.blocks, places.counts, state::DONE], &bound));
        commands.push(self.single(Fixed::Offsets, &[sort.keys, places.counts, begins, state::DONE], &bound));
        commands.push(self.groups(Fixed::Scatter, self.blocks, &words, &bound));
    }

    /// Members of so many clusters, in ascending order.
    pub fn members(&self, clusters: u32, commands: &mut Vec<Command>) {
        let sort = Sort { keys_at: self.places.labels, keys: clusters, shift: 0, mask: WHOLE, from: None, to: self.places.members };
        self.sort(sort, commands);
    }

    /// Members by distance, of equal distance in ascending order; and weights that leave out those at the ends.
    pub fn members_by_distance(&self, clusters: u32, commands: &mut Vec<Command>) {
        let places = self.places;
        let bound = [(INDEX, self.table), (VECTOR_IN, self.nearest), (STATE, self.state)];
        commands.push(self.over(Fixed::Keys, self.count, &[places.keys, state::DONE], &bound));
        let mut from = None;
        for (digit, to) in [places.aside, places.members, places.aside, places.members].into_iter().enumerate() {
            self.sort(Sort { keys_at: places.keys, keys: 256, shift: 8 * digit as u32, mask: 255, from, to }, commands);
            from = Some(to);
        }
        self.sort(Sort { keys_at: places.labels, keys: clusters, shift: 0, mask: WHOLE, from, to: places.aside }, commands);
        self.weigh(places.aside, true, commands);
    }

    /// Weights of members by their places in a list, or by their distances.
    pub fn weigh(&self, members: u32, trims: bool, commands: &mut Vec<Command>) {
        let bound = [(INDEX, self.table), (VECTOR_IN, self.nearest), (VECTOR_OUT, self.weights), (STATE, self.state)];
        let words = [members, self.places.begins, self.places.labels, state::DONE, u32::from(trims)];
        commands.push(self.over(Fixed::Weigh, self.count, &words, &bound));
    }

    /// Adds a chunk's members to the sums of a piece's clusters (or of candidates, which are one piece).
    pub fn centroid_sums(&self, chunk: Chunk, sums: Sums, commands: &mut Vec<Command>) {
        let alone = self.chunks.len() == 1;
        let flags = u32::from(sums.weighted) | u32::from(chunk.first > 0) << 1 | u32::from(alone) << 2;
        let shares = self.shares(sums.clusters);
        let words = [
            sums.clusters,
            sums.first,
            self.dimensions,
            shares,
            chunk.first,
            chunk.count,
            sums.members,
            self.places.begins,
            state::DONE,
            flags,
        ];
        let bound = [(ARENA, chunk.points), (INDEX, self.table), (VECTOR_IN, self.weights), (VECTOR_OUT, self.sums), (STATE, self.state)];
        commands.push(self.groups(Fixed::CentroidSums, sums.clusters * shares, &words, &bound));
    }

    /// Anchors go to the means that the sums say, or as `flags` say of `update`.
    pub fn update(&self, anchors: Slice, velocity: Slice, clusters: u32, flags: u32, commands: &mut Vec<Command>) {
        let bound = [(VECTOR_IN, self.sums), (VECTOR_OUT, anchors), (JACOBIAN, velocity), (STATE, self.state)];
        let words = [clusters, self.dimensions, self.shares(clusters), flags, state::DONE];
        commands.push(self.over(Fixed::Update, clusters * self.dimensions, &words, &bound));
    }

    /// How far the points of a chunk are from the anchors that their labels say.
    pub fn distances(&self, chunk: Chunk, clusters: u32, by_fours: bool, commands: &mut Vec<Command>) {
        for (piece, here) in self.pieces_of(clusters) {
            let words =
                [chunk.count, self.dimensions, here, piece.first, chunk.first, self.places.labels, state::DONE, u32::from(by_fours)];
            let bound =
                [(ARENA, chunk.points), (DATA, piece.anchors), (INDEX, self.table), (VECTOR_OUT, self.nearest), (STATE, self.state)];
            commands.push(self.over(Fixed::Distances, chunk.count, &words, &bound));
        }
    }

    /// The energy, from the distances to the nearest anchors; and the end of the iteration. `relabelled` says by whom labels were
    /// changed last.
    pub fn converge(&self, relabelled: bool, commands: &mut Vec<Command>) {
        let runs = RUNS.min(self.count.div_ceil(self.limits.group_size)).max(1);
        let column = Self::part(self.nearest, 0, self.count);
        commands.push(self.groups(Fixed::Sum, runs, &[0, RUNS, self.count], &[(VECTOR_IN, column), (PARTIALS, self.partials)]));
        let changes = if relabelled { self.count.div_ceil(self.limits.group_size) } else { self.all_tiles() };
        let bound = [(STATE, self.state), (PARTIALS, self.partials)];
        commands.push(self.single(Fixed::Converge, &[0, runs, RUNS, state::DONE, 2 * RUNS, changes], &bound));
    }

    /// Labels by way of the map.
    pub fn relabel(&self, from: u32, commands: &mut Vec<Command>) {
        let words = [from, self.places.map, self.places.labels, self.places.before, 2 * RUNS];
        commands.push(self.over(Fixed::Relabel, self.count, &words, &[(INDEX, self.table), (PARTIALS, self.partials)]));
    }

    /// Close anchors become one; the map says which.
    pub fn merge(&self, clusters: u32, half: bool, commands: &mut Vec<Command>) {
        let piece = self.pieces[0];
        let words = [clusters, self.dimensions, self.places.counts, self.places.map, u32::from(half) << 2];
        let bound = [(INDEX, self.table), (VECTOR_OUT, piece.anchors), (JACOBIAN, self.sums), (STATE, self.state)];
        commands.push(self.single(Fixed::Merge, &words, &bound));
    }

    /// Two candidates of every cluster, at two of its members.
    pub fn seed(&self, chunk: Chunk, clusters: u32, parts: [u32; 2], commands: &mut Vec<Command>) {
        let places = self.places;
        let words = [self.dimensions, chunk.first, chunk.count, 0, places.members, places.begins, parts[0], parts[1]];
        let bound = [(ARENA, chunk.points), (INDEX, self.table), (VECTOR_OUT, self.candidates)];
        commands.push(self.over(Fixed::Seed, 2 * clusters * self.dimensions, &words, &bound));
    }

    /// The nearer of its cluster's candidates, of every point of a chunk.
    pub fn divide(&self, chunk: Chunk, commands: &mut Vec<Command>) {
        let words = [chunk.count, self.dimensions, chunk.first, 0, self.places.labels, self.places.keys];
        let bound = [(ARENA, chunk.points), (DATA, self.candidates), (INDEX, self.table), (VECTOR_OUT, self.divided)];
        commands.push(self.over(Fixed::Divide, chunk.count, &words, &bound));
    }

    /// Where `totals` puts its first or its second sums.
    pub fn totals_at(&self, second: bool) -> u32 {
        if second { self.totals.len / 2 } else { 0 }
    }

    /// Sums over members of two of the points' numbers, two a cluster.
    pub fn totals(&self, numbers: Slice, clusters: u32, second: bool, commands: &mut Vec<Command>) {
        let words = [clusters, self.places.members, self.places.begins, self.count];
        let totals = Slice { offset: self.totals_at(second), len: 2 * clusters, ..self.totals };
        commands.push(self.groups(Fixed::Totals, clusters, &words, &[(INDEX, self.table), (VECTOR_IN, numbers), (VECTOR_OUT, totals)]));
    }

    /// Workgroups of what goes over a chunk's rows to choose where anchors start, which have so many rows at a time.
    fn runs_of_chunk(&self, abreast: u32) -> u32 {
        runs_for(self.chunks.first().map_or(1, |chunk| chunk.count), abreast * self.limits.group_size / SHARE)
    }

    fn number_of(&self, chunk: Chunk) -> u32 {
        chunk.first / self.chunks[0].count
    }

    /// How far the points of a chunk are from the anchors so far, of which this one came last.
    pub fn farthest(&self, chunk: Chunk, anchor: u32, commands: &mut Vec<Command>) {
        let Some((piece, row)) = self.row(anchor) else { return };
        let runs = self.runs_of_chunk(1);
        let partial = self.number_of(chunk) * 2 * runs;
        let words = [chunk.count, self.dimensions, row, chunk.first, u32::from(anchor == 0), partial];
        let bound = [(ARENA, chunk.points), (DATA, piece.anchors), (VECTOR_OUT, self.nearest), (PARTIALS, self.partials)];
        commands.push(self.groups(Fixed::Farthest, runs, &words, &bound));
    }

    /// Candidates that an anchor is chosen from, where they are at random.
    pub fn trials(&self, clusters: u32) -> u32 {
        trials_for(clusters).min(self.candidates.len / self.dimensions).min(self.uniforms.len / clusters.max(1)).max(1)
    }

    /// Where an anchor starts: itself, or its candidates.
    pub fn starts(&self, anchor: u32, candidates: bool) -> Option<(Slice, u32)> {
        if candidates { Some((self.candidates, 0)) } else { self.row(anchor).map(|(piece, row)| (piece.anchors, row)) }
    }

    /// Chooses points that rows start at: the farthest without numbers at random, else one for each of so many of these. Rows start
    /// there, if all points are in one chunk.
    pub fn pick(&self, (rows, row): (Slice, u32), at_random: Option<(u32, u32)>, commands: &mut Vec<Command>) {
        let (uniform, picks) = at_random.unwrap_or((0, 1));
        let words = [
            self.runs_of_chunk(1),
            self.chunks[0].count,
            self.count,
            u32::from(at_random.is_some()),
            uniform,
            self.places.choice,
            self.dimensions,
            row,
            u32::from(self.chunks.len() == 1),
        ];
        let bound = [
            (ARENA, self.chunks[0].points),
            (DATA, self.uniforms),
            (INDEX, self.table),
            (VECTOR_IN, self.nearest),
            (VECTOR_OUT, rows),
            (PARTIALS, self.partials),
        ];
        commands.push(self.groups(Fixed::Pick, picks, &words, &bound));
    }

    /// Has rows start where the choices are that are in this chunk.
    pub fn adopt(&self, chunk: Chunk, (rows, row): (Slice, u32), picks: u32, commands: &mut Vec<Command>) {
        let words = [chunk.first, chunk.count, self.dimensions, row, self.places.choice];
        let bound = [(ARENA, chunk.points), (INDEX, self.table), (VECTOR_OUT, rows)];
        commands.push(self.over(Fixed::Adopt, picks * self.dimensions, &words, &bound));
    }

    /// What candidates would leave of a chunk's distances.
    pub fn potentials(&self, chunk: Chunk, trials: u32, commands: &mut Vec<Command>) {
        let runs = self.runs_of_chunk(POTENTIALS_ABREAST);
        let words = [chunk.count, self.dimensions, trials, chunk.first, self.number_of(chunk) * runs * trials];
        let bound = [(ARENA, chunk.points), (DATA, self.candidates), (VECTOR_IN, self.nearest), (PARTIALS, self.partials)];
        commands.push(self.groups(Fixed::Potentials, runs, &words, &bound));
    }

    /// The candidate that leaves least becomes the anchor.
    pub fn elect(&self, anchor: u32, trials: u32, commands: &mut Vec<Command>) {
        let Some((piece, row)) = self.row(anchor) else { return };
        let runs = self.runs_of_chunk(POTENTIALS_ABREAST) * self.chunks.len() as u32;
        let bound = [(DATA, self.candidates), (VECTOR_OUT, piece.anchors), (PARTIALS, self.partials)];
        commands.push(self.single(Fixed::Elect, &[runs, trials, self.dimensions, row, 0], &bound));
    }

    fn row(&self, anchor: u32) -> Option<(Piece, u32)> {
        let piece = self.pieces.iter().find(|piece| anchor >= piece.first && anchor < piece.first + piece.count)?;
        Some((*piece, anchor - piece.first))
    }

    /// Copies a row of anchors or candidates, or several.
    pub fn copy_rows(&self, from: Slice, row: u32, to: Slice, at: u32, rows: u32) -> Command {
        let slice = |of: Slice, row: u32| Self::part(of, row * self.dimensions, rows * self.dimensions);
        Command::Copy { from: slice(from, row), to: slice(to, at) }
    }

    /// Pairs of anchors are measured (0), split (1) or joined (2), from the piece's rows to the candidates'.
    pub fn pairs(&self, pairs: u32, what: u32, seed: u32, commands: &mut Vec<Command>) {
        let table = Slice { offset: 0, len: self.table.len, ..self.table };
        let bound = [
            (DATA, self.pieces[0].anchors),
            (INDEX, table),
            (VECTOR_IN, self.uniforms),
            (VECTOR_OUT, self.candidates),
            (STATE, self.state),
            (PARTIALS, self.totals),
        ];
        commands.push(self.groups(Fixed::Pairs, pairs, &[self.dimensions, what, seed, 0], &bound));
    }

    /// A soft assignment of a block of a chunk's points to so many anchors, and what it adds to their sums.
    pub fn soft(&self, soft: Soft, chunk: Chunk, first: u32, count: u32, commands: &mut Vec<Command>) {
        let piece = self.pieces[0];
        let (rows, columns) = tile(self.limits.group_size);
        let tiles = |items: u32, side: usize| items.div_ceil(side as u32);
        let bound = [(ARENA, chunk.points), (DATA, piece.anchors), (VECTOR_IN, piece.norms), (VECTOR_OUT, soft.scores)];
        let words = [count, self.dimensions, soft.clusters, 0, first];
        commands.push(self.groups(Fixed::Scores, tiles(count, rows) * tiles(soft.clusters, columns), &words, &bound));
        let bound = [(VECTOR_IN, self.squares), (VECTOR_OUT, soft.scores), (STATE, self.state), (PARTIALS, self.partials)];
        commands.push(self.over(Fixed::Soften, count, &[soft.clusters, chunk.first + first, 0], &bound));
        let bound = [(ARENA, chunk.points), (VECTOR_IN, soft.scores), (VECTOR_OUT, self.sums)];
        let words = [count, self.dimensions, soft.clusters, soft.shares, first, u32::from(chunk.first + first > 0)];
        let groups = (self.dimensions / columns as u32 + 1) * tiles(soft.clusters, rows) * soft.shares;
        commands.push(self.groups(Fixed::Blend, groups, &words, &bound));
    }
}
