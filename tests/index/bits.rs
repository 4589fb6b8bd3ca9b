//! Vectors of bits: exact hits by Hamming distance, ids, files, and files that are not what they say.

use super::data::{Random, fresh};
use leastwise::anneal::bits::{BitIndex, Wanted};
use leastwise::anneal::file::BITS;
use leastwise::base::container;

/// Packed rows of random bits, those behind the last component zero; `spread` of a byte's values.
fn rows(count: usize, dim: usize, random: &mut Random) -> Vec<u8> {
    let bytes = dim.div_ceil(8);
    let mut all: Vec<u8> = (0..count * bytes).map(|_| random.next() as u8 & random.next() as u8).collect();
    let mask = 0xFF_u8 << (8 * bytes - dim);
    all.chunks_exact_mut(bytes).for_each(|row| row[bytes - 1] &= mask);
    all
}

/// By definition, bit by bit: distances and ids of those that may be found.
fn truth(points: &[(u32, Vec<u8>)], query: &[u8], dim: usize, may: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
    let bit = |row: &[u8], at: usize| row[at / 8] >> (7 - at % 8) & 1;
    let of = |row: &[u8]| (0..dim).filter(|&at| bit(row, at) != bit(query, at)).count() as u32;
    let mut all: Vec<(u32, u32)> = points.iter().filter(|(id, _)| may(*id)).map(|(id, row)| (of(row), *id)).collect();
    all.sort_unstable();
    all
}

#[test]
fn hits_are_exact_with_ties_in_order_of_ids() {
    let seed = fresh();
    let mut random = Random(seed);
    for dim in [1_usize, 7, 8, 63, 64, 65, 128, 250, 256, 384, 520, 1024, 9000] {
        let bytes = dim.div_ceil(8);
        let packed = rows(700, dim, &mut random);
        let mut index = BitIndex::new(dim).expect("an index");
        assert_eq!((index.dim(), index.row_bytes(), index.count()), (dim, bytes, 0));
        assert!(index.search(&packed[..bytes], Wanted::Nearest(3), None).expect("hits").ids.is_empty());
        assert_eq!(index.add(&packed[..500 * bytes]).expect("an id"), 0);
        assert_eq!(index.remove(&[3, 4, 250, 3, 900]), 3);
        assert_eq!(index.add(&packed[500 * bytes..]).expect("an id"), 500);
        let points: Vec<(u32, Vec<u8>)> = packed
            .chunks_exact(bytes)
            .enumerate()
            .map(|(id, row)| (id as u32, row.to_vec()))
            .filter(|(id, _)| ![3, 4, 250].contains(id))
            .collect();
        assert_eq!((index.count(), index.next_id()), (697, 700));
        let queries = rows(9, dim, &mut random);
        let filter: Vec<u8> = (0..700).map(|id| u8::from(id % 3 == 0)).collect();
        for (k, filter) in [(1, None), (10, None), (700, None), (9, Some(&filter[..]))] {
            let hits = index.search(&queries, Wanted::Nearest(k), filter).expect("hits");
            for (query, row) in queries.chunks_exact(bytes).enumerate() {
                let [from, to] = [query, query + 1].map(|at| hits.offsets[at] as usize);
                let mut expected = truth(&points, row, dim, |id| filter.is_none_or(|filter| filter[id as usize] != 0));
                expected.truncate(k);
                let found: Vec<(u32, u32)> = hits.distances[from..to].iter().copied().zip(hits.ids[from..to].iter().copied()).collect();
                assert_eq!(found, expected, "dim {dim}, k {k}, seed {seed}");
            }
        }
        for within in [0, dim as u32 / 4, dim as u32] {
            let hits = index.search(&queries, Wanted::Within(within), None).expect("hits");
            for (query, row) in queries.chunks_exact(bytes).enumerate() {
                let [from, to] = [query, query + 1].map(|at| hits.offsets[at] as usize);
                let mut expected = truth(&points, row, dim, |_| true);
                expected.retain(|(distance, _)| *distance <= within);
                assert!(hits.ids[from..to].iter().eq(expected.iter().map(|(_, id)| id)), "dim {dim}, within {within}, seed {seed}");
            }
        }
        assert_eq!(index.rows(&[699, 0]).expect("rows"), [&packed[699 * bytes..], &packed[..bytes]].concat());
        assert_eq!(index.rows(&[3]).expect_err("gone").code(), "invalid-option");
        let file = index.save();
        let opened = BitIndex::open(&file).expect("the index");
        assert_eq!(opened.save(), file);
        let both = [&index, &opened].map(|index| index.search(&queries, Wanted::Nearest(20), None).expect("hits"));
        assert_eq!(both[0], both[1]);
        // Header and padding beside the rows, and some bytes of ids.
        assert!(file.len() <= 697 * bytes + 512, "{} bytes", file.len());
    }
}

#[test]
fn rows_that_are_none_are_refused() {
    let mut index = BitIndex::new(12).expect("an index");
    let code = |result: Result<u32, leastwise::Error>| result.expect_err("refused").code();
    assert_eq!(code(index.add(&[1, 0, 3])), "data-length");
    // The lowest four bits of the second byte belong to no component.
    assert_eq!(code(index.add(&[1, 16, 1, 8])), "invalid-option");
    assert_eq!(index.count(), 0);
    index.add(&[1, 16, 255, 240]).expect("an id");
    for (queries, wanted, filter, expected) in [
        (&[1][..], Wanted::Nearest(1), None, "data-length"),
        (&[1, 1], Wanted::Nearest(1), None, "invalid-option"),
        (&[1, 16], Wanted::Nearest(0), None, "invalid-option"),
        (&[1, 16], Wanted::Nearest(1), Some(&[1][..]), "data-length"),
    ] {
        assert_eq!(index.search(queries, wanted, filter).expect_err("refused").code(), expected);
    }
    for dim in [0, usize::MAX, 1 << 30] {
        assert_eq!(BitIndex::new(dim).map(drop).expect_err("refused").code(), "invalid-option");
    }
}

#[test]
fn hostile_files_of_bits_are_refused() {
    let mut random = Random(fresh());
    let mut index = BitIndex::new(20).expect("an index");
    index.add(&rows(100, 20, &mut random)).expect("an id");
    index.remove(&[5]);
    let file = index.save();
    let check = |changed: &[u8], must_fail: bool| match BitIndex::open(changed) {
        Err(error) => {
            assert!(["file-format", "file-truncated", "file-corrupt", "file-version", "out-of-memory"].contains(&error.code()), "{error}")
        }
        Ok(index) => {
            assert!(!must_fail);
            index.search(&[0, 0, 0], Wanted::Nearest(3), None).expect("hits");
        }
    };
    for length in 0..file.len() {
        check(&file[..length], true);
    }
    for _ in 0..300 {
        let mut changed = file.clone();
        changed[random.below(file.len())] ^= 1 << random.below(8);
        check(&changed, true);
    }
    let mutated = |of: u32, change: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut sections = container::read(&BITS, &file).expect("sections");
        change(sections.iter_mut().find(|section| section.kind == of).expect("the section").bytes.to_mut());
        container::write(&BITS, &sections)
    };
    for field in 0..3 {
        for value in [0, 1, 7, 98, 100, 1 << 20, 1 << 31, u32::MAX] {
            check(&mutated(1, &mut |bytes| bytes[4 * field..][..4].copy_from_slice(&u32::to_le_bytes(value))), field < 2);
        }
    }
    for of in [1, 2, 3] {
        for _ in 0..200 {
            let mut noise = |bytes: &mut Vec<u8>| {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            };
            check(&mutated(of, &mut noise), false);
        }
        check(&mutated(of, &mut |bytes| bytes.push(0)), true);
        check(&mutated(of, &mut Vec::clear), true);
        let mut sections = container::read(&BITS, &file).expect("sections");
        sections.retain(|section| section.kind != of);
        check(&container::write(&BITS, &sections), of != 2);
    }
    // Bits behind the last component.
    check(&mutated(3, &mut |bytes| bytes[2] |= 1), true);
}
