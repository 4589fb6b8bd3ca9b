//! Files made to do harm: their checksums are right.

use super::data::Random;
use super::memory::scarcely;
use super::{indexes, mixture, small};
use leastwise::anneal::file::INDEX;
use leastwise::anneal::index::{Index, Reader};
use leastwise::base::container::{self, Section};

/// A file with its sections, and a way to put other bytes into one.
fn with_section(file: &[u8], kind: u32, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut sections = container::read(&INDEX, file).expect("sections");
    let section = sections.iter_mut().find(|section| section.kind == kind).expect("the section");
    change(section.bytes.to_mut());
    container::write(&INDEX, &sections)
}

/// The header's checksum again after it was changed.
fn sign(file: &mut [u8]) {
    let sections = u32::from_le_bytes(file[12..16].try_into().expect("4 bytes")) as usize;
    let end = (64 + 32 * sections).next_multiple_of(64).min(file.len());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&file[..60]), &file[64..end]);
    file[60..64].copy_from_slice(&checksum.to_le_bytes());
}

fn refused(file: &[u8]) {
    let error = Index::open(file).map(|_| ()).expect_err("a hostile file");
    assert!(["file-format", "file-truncated", "file-corrupt"].contains(&error.code()), "{error}");
}

#[test]
fn sizes_that_are_not_there_are_refused() {
    let (points, dim) = small();
    for index in indexes(&points, dim, 5) {
        let file = index.save();
        // dim, clusters, count, next id, exponent, code, detail, blocks of the rotation, its bits, κ.
        for field in 0..10 {
            for value in [0, 1, 11, 301, 1 << 16, 1 << 24, 1 << 31, u32::MAX - 1, u32::MAX, f32::NAN.to_bits()] {
                let changed = with_section(&file, 1, |shape| shape[field * 4..][..4].copy_from_slice(&value.to_le_bytes()));
                // Some values are harmless; none may panic, hang or take much memory.
                if let Ok(index) = Index::open(&changed) {
                    index.search(&points[..index.dim()], 3, None, None).expect("hits");
                }
                let must_fail = field < 3 && value != [12, 5, 300][field] && value > 0;
                assert!(!must_fail || Index::open(&changed).is_err(), "{}: field {field} = {value}", index.code().name());
            }
        }
    }
}

#[test]
fn tables_that_lie_are_refused() {
    let (points, dim) = small();
    let file = indexes(&points, dim, 5).pop().expect("an index").save();
    let sections = u32::from_le_bytes(file[12..16].try_into().expect("4 bytes")) as usize;
    let mut random = Random(2);
    for round in 0..4000 {
        let mut changed = file.clone();
        // A word of the header or of the table.
        let at = match round % 4 {
            0 => 12,
            1 => 16 + 4 * random.below(2),
            _ => 64 + 4 * random.below(8 * sections),
        };
        let value = match random.below(4) {
            0 => random.next() as u32,
            1 => u32::MAX - random.below(3) as u32,
            2 => random.below(64) as u32,
            _ => u32::from_le_bytes(changed[at..at + 4].try_into().expect("4 bytes")).wrapping_add(64),
        };
        if changed[at..at + 4] == value.to_le_bytes() {
            continue;
        }
        changed[at..at + 4].copy_from_slice(&value.to_le_bytes());
        sign(&mut changed);
        refused(&changed);
    }
}

#[test]
fn a_code_that_was_is_refused_by_name() {
    let index = indexes(&mixture(100, 6, 3, 1), 6, 3).swap_remove(0);
    // The sixth number of the first section.
    let file = with_section(&index.save(), 1, |shape| shape[20..24].copy_from_slice(&3u32.to_le_bytes()));
    let Err(error) = Index::open(&file) else { panic!("it was opened") };
    assert!(error.to_string().contains("product quantisation"), "{error}");
}

#[test]
fn contents_out_of_range_are_refused() {
    let points = mixture(100, 6, 3, 1);
    let nan = 0x7E00_u16.to_le_bytes();
    for mut index in indexes(&points, 6, 3) {
        index.remove(&[5]);
        let file = index.save();
        refused(&with_section(&file, 2, |info| info.clear()));
        refused(&with_section(&file, 2, |info| *info = b"[1]".to_vec()));
        refused(&with_section(&file, 2, |info| *info = vec![b'['; 1 << 20]));
        refused(&with_section(&file, 2, |info| *info = vec![0xFF, 0xFE]));
        refused(&with_section(&file, 3, |anchors| anchors[..2].copy_from_slice(&nan)));
        refused(&with_section(&file, 3, |anchors| anchors.truncate(10)));
        refused(&with_section(&file, 4, |labels| labels.fill(0xFF)));
        // Five ids, a gap of one, and 94.
        for runs in
            [&[5, 1][..], &[5, 1, 93], &[5, 1, 95], &[5, 2, 94], &[5, 0, 94], &[5, 1, 94, 0], &[5, 129, 0, 94], &[0, 6], &[133; 9], &[]]
        {
            refused(&with_section(&file, 5, |ids| *ids = runs.to_vec()));
        }
        let kinds: Vec<u32> = container::read(&INDEX, &file).expect("sections").iter().map(|section| section.kind).collect();
        for &kind in &kinds {
            // One section fewer, and one of another length.
            let mut sections = container::read(&INDEX, &file).expect("sections");
            sections.retain(|section| section.kind != kind);
            // Without ids these are 0 to 98.
            assert_eq!(Index::open(&container::write(&INDEX, &sections)).is_ok(), kind == 5);
            if kind != 2 {
                refused(&with_section(&file, kind, |bytes| bytes.push(0)));
            }
        }
        for kind in 5..14 {
            if !kinds.contains(&kind) {
                let mut sections = container::read(&INDEX, &file).expect("sections");
                sections.push(Section { kind, bytes: vec![0; 48].into() });
                sections.sort_by_key(|section| section.kind);
                refused(&container::write(&INDEX, &sections));
            }
        }
        for kind in [6, 9] {
            if kinds.contains(&kind) {
                refused(&with_section(&file, kind, |reals| reals[..4].copy_from_slice(&f32::INFINITY.to_le_bytes())));
            }
        }
        if index.code().is_whole() {
            let wrong: &[u8] = if index.code().name() == "f32" { &1e16f32.to_le_bytes() } else { &[0, 0x7c] };
            refused(&with_section(&file, 11, |codes| codes[..wrong.len()].copy_from_slice(wrong)));
            let nan: &[u8] = if index.code().name() == "f32" { &f32::NAN.to_le_bytes() } else { &[0, 0x7e] };
            refused(&with_section(&file, 11, |codes| codes[..nan.len()].copy_from_slice(nan)));
        }
        if index.code().name() == "bits" {
            refused(&with_section(&file, 8, |bits| bits[0] = 13));
            refused(&with_section(&file, 8, |bits| bits[0] = 0));
            refused(&with_section(&file, 9, |spread| spread[..4].fill(0)));
            refused(&with_section(&file, 11, |codes| codes[..2].copy_from_slice(&nan)));
        }
    }
}

#[test]
fn noise_is_refused() {
    let mut random = Random(6);
    for length in 0..600 {
        let mut noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        assert!(Index::open(&noise).is_err());
        // With a good beginning.
        for (place, byte) in noise.iter_mut().zip(b"LWINDEX\n\x01\0\0\0") {
            *place = *byte;
        }
        assert!(Index::open(&noise).is_err());
    }
}

#[test]
fn contents_at_random_do_no_harm() {
    let (points, dim) = small();
    let mut random = Random(12);
    for index in indexes(&points, dim, 5) {
        let file = index.save();
        let kinds: Vec<(u32, usize)> = container::read(&INDEX, &file).expect("sections").iter().map(|s| (s.kind, s.bytes.len())).collect();
        for _ in 0..300 {
            let (kind, length) = kinds[random.below(kinds.len())];
            let changed = with_section(&file, kind, |bytes| {
                for _ in 0..1 + random.below(4) {
                    bytes[random.below(length)] = random.next() as u8;
                }
            });
            if let Ok(index) = Index::open(&changed) {
                let queries = &points[..index.dim().min(points.len())];
                if queries.len() == index.dim() {
                    index.search(queries, 3, None, None).expect("hits");
                    index.reconstruct(&index.ids()[..1]).expect("a row");
                }
            }
        }
    }
}

/// A file of anchors at the origin, and what else it says.
fn made(shape: [u32; 10], rest: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let anchors = vec![0; 2 * shape[0] as usize * shape[1] as usize];
    let shape: Vec<u8> = shape.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut sections = vec![(1, shape), (2, b"{}".to_vec()), (3, anchors)];
    sections.retain(|(kind, _)| rest.iter().all(|(other, _)| other != kind));
    sections.extend(rest.iter().cloned());
    sections.sort_by_key(|(kind, _)| *kind);
    let sections: Vec<Section> = sections.into_iter().map(|(kind, bytes)| Section { kind, bytes: bytes.into() }).collect();
    container::write(&INDEX, &sections)
}

#[test]
fn few_bytes_that_would_be_much_memory_are_refused() {
    let one = 1.0_f32.to_bits();
    // Dimensions and clusters beyond what there can be.
    refused(&made([(1 << 20) + 1, 1, 0, 0, 0, 0, 0, 0, 0, one], &[(4, Vec::new())]));
    refused(&made([1, (1 << 24) + 1, 0, 0, 0, 0, 0, 0, 0, one], &[(4, Vec::new())]));
    Index::open(&made([1 << 12, 3, 0, 0, 0, 0, 0, 0, 0, one], &[(4, Vec::new())])).expect("an index");
    // JSON takes many times as much in memory as in a file.
    let mut long = b"{\"a\":[0".to_vec();
    long.extend(b",0".repeat(1 << 19));
    long.extend(b"]}");
    refused(&made([1, 1, 0, 0, 0, 0, 0, 0, 0, one], &[(2, long), (4, Vec::new())]));
}

#[test]
fn a_bit_a_vector_is_counted_before_it_is_read() {
    // 32 bits a label, id and place of a list, of one in the file.
    let count = 1 << 26;
    let file = made([1, 1, count, count, 0, 0, 0, 0, 0, 1.0_f32.to_bits()], &[(4, vec![0; count as usize / 8])]);
    let error = scarcely(256 << 20, || Index::open(&file).map(|_| ()).expect_err("too little memory"));
    assert_eq!(error.code(), "out-of-memory");
    assert!(error.to_string().contains("the index of this file"), "{error}");
    let mut reader = Reader::default();
    let error = scarcely(1 << 20, || reader.push(&file).expect_err("too little memory"));
    assert_eq!(error.code(), "out-of-memory");
}

#[test]
fn what_is_no_rotation_is_refused_and_what_hardly_is_one_is_made_one() {
    let (dim, blocks) = (64_u32, 1);
    let file = |units: f32, entries: Vec<u8>| {
        let reals = |value: f32| value.to_le_bytes().repeat(dim as usize);
        let shape = [dim, 1, 0, 0, 0, 4, 8, blocks, 8, 1.0_f32.to_bits()];
        made(shape, &[(4, Vec::new()), (6, reals(units)), (7, entries), (8, vec![1; 64]), (9, reals(1.0)), (11, Vec::new())])
    };
    let ones = vec![1; 64 * 64];
    refused(&file(0.0, ones.clone()));
    for row in [0, 40, 63] {
        let mut zero = ones.clone();
        zero[row * 64..][..64].fill(0);
        refused(&file(0.125, zero));
    }
    // All rows alike: what is missing comes from the axes.
    let mut index = Index::open(&file(0.125, ones)).expect("an index");
    let points = mixture(40, 64, 2, 3);
    let ids = index.add(&points).expect("ids");
    let back = index.reconstruct(&ids).expect("vectors");
    let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|value| f64::from(value * value)).sum::<f64>();
    let [left, whole] = [squares(&mut points.iter().zip(&back).map(|(a, b)| a - b)), squares(&mut points.iter().copied())];
    assert!(left < 0.6 * whole, "a bit a coordinate leaves {left} of {whole}");
}
