//! Sections in one little-endian file, each at a multiple of 64 bytes, so that the file can be mapped into memory.
//!
//! | at | what |
//! |---|---|
//! | 0 | what it is a file of: the `magic` of a [`Format`] |
//! | 8 | version, u32 |
//! | 12 | sections, u32 |
//! | 16 | bytes of the file, u64 |
//! | 24 | 36 zero bytes |
//! | 60 | CRC-32C of bytes 0 to 59 and of the table with its padding |
//! | 64 | table: for every section kind u32, CRC-32C u32 of its bytes and padding, offset u64, length u64, 8 zero bytes |
//!
//! Sections follow the table in ascending order of their kinds, each once, without gaps but for zeros up to the next multiple of 64. So there is one
//! way to write any content, nothing can overlap, and every byte of the file is covered by a checksum.

use crate::FileError;
use std::borrow::Cow;

/// A kind of file: its first bytes, the versions that are read, of which the last is written, and its name in messages.
#[derive(Debug)]
pub struct Format {
    /// First bytes of a file of this kind.
    pub magic: [u8; 8],
    /// Oldest version that is read.
    pub oldest: u32,
    /// Version that is written.
    pub version: u32,
    /// Name in messages, with its article.
    pub name: &'static str,
}

const HEADER: usize = 64;
const ENTRY: usize = 32;
const ALIGNMENT: usize = 64;
const CHECKSUM_AT: usize = 60;

/// Most sections of a file.
const MOST_SECTIONS: usize = 32;

/// What header and table take at most.
pub const MOST_HEADER: usize = HEADER + MOST_SECTIONS * ENTRY;

/// What header, table and padding of so many sections take at most.
pub const fn most_overhead(sections: usize) -> usize {
    HEADER + sections * (ENTRY + ALIGNMENT) + ALIGNMENT
}

impl Format {
    /// Error for a file that is not of this kind, or is not as it must be.
    pub fn refuse(&self, why: impl Into<String>) -> FileError {
        FileError::Format { what: self.name, why: why.into() }
    }
}

/// A kind, which is its name to programs, and its bytes.
pub struct Section<'a> {
    /// Kind: the section's name to programs.
    pub kind: u32,
    /// Its bytes, without padding.
    pub bytes: Cow<'a, [u8]>,
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(ALIGNMENT)
}

/// Bytes of a file with sections of these lengths.
pub fn length(sections: impl ExactSizeIterator<Item = usize>) -> usize {
    aligned(HEADER + sections.len() * ENTRY) + sections.map(aligned).sum::<usize>()
}

/// The bytes of a file with these sections.
///
/// # Panics
/// When kinds don't ascend.
pub fn write(format: &Format, sections: &[Section]) -> Vec<u8> {
    assert!(sections.is_sorted_by(|a, b| a.kind < b.kind), "sections ascend");
    let total = length(sections.iter().map(|section| section.bytes.len()));
    let mut file = Vec::with_capacity(total);
    file.extend(format.magic);
    file.extend(format.version.to_le_bytes());
    file.extend((sections.len() as u32).to_le_bytes());
    file.extend((total as u64).to_le_bytes());
    file.resize(aligned(HEADER + sections.len() * ENTRY), 0);
    for (index, section) in sections.iter().enumerate() {
        let offset = file.len();
        file.extend_from_slice(&section.bytes);
        file.resize(aligned(file.len()), 0);
        let checksum = crc32c::crc32c(&file[offset..]);
        let entry = &mut file[HEADER + index * ENTRY..][..ENTRY];
        entry[..4].copy_from_slice(&section.kind.to_le_bytes());
        entry[4..8].copy_from_slice(&checksum.to_le_bytes());
        entry[8..16].copy_from_slice(&(offset as u64).to_le_bytes());
        entry[16..24].copy_from_slice(&(section.bytes.len() as u64).to_le_bytes());
    }
    let checksum = header_checksum(&file[..aligned(HEADER + sections.len() * ENTRY)]);
    file[CHECKSUM_AT..HEADER].copy_from_slice(&checksum.to_le_bytes());
    file
}

fn header_checksum(header: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..CHECKSUM_AT]), &header[HEADER..])
}

/// A row of the table, checked.
struct Entry {
    kind: u32,
    checksum: u32,
    offset: usize,
    length: usize,
}

impl Entry {
    fn check(&self, format: &Format, padded: &[u8]) -> Result<(), FileError> {
        if crc32c::crc32c(padded) != self.checksum {
            return Err(FileError::Corrupt { what: format!("section {}", self.kind) });
        }
        if padded[self.length..].iter().any(|&byte| byte != 0) {
            return Err(format.refuse(format!("section {} isn't followed by zeros", self.kind)));
        }
        Ok(())
    }
}

/// The table of a file, checked against what the header says of it.
pub struct Table {
    format: &'static Format,
    version: u32,
    entries: Vec<Entry>,
    total: usize,
}

impl Table {
    /// Reads the table off a file's beginning; `None` where more of it is needed. Nothing is believed that isn't there.
    pub fn read(format: &'static Format, start: &[u8]) -> Result<Option<Self>, FileError> {
        let magic = &format.magic;
        let known = start.len().min(magic.len());
        if start[..known] != magic[..known] {
            return Err(format.refuse(format!("it doesn't begin with {}", String::from_utf8_lossy(magic).trim_end())));
        }
        if start.len() < 12 {
            return Ok(None);
        }
        let version = u32_at(start, 8);
        if !(format.oldest..=format.version).contains(&version) {
            return Err(FileError::Version { found: version, expected: format.version });
        }
        if start.len() < HEADER {
            return Ok(None);
        }
        let count = u32_at(start, 12) as usize;
        if count > MOST_SECTIONS {
            return Err(format.refuse(format!("{count} sections, where {MOST_SECTIONS} are the most")));
        }
        let header = aligned(HEADER + count * ENTRY);
        if start.len() < header {
            return Ok(None);
        }
        if header_checksum(&start[..header]) != u32_at(start, CHECKSUM_AT) {
            return Err(FileError::Corrupt { what: "the header".into() });
        }
        if start[24..CHECKSUM_AT].iter().chain(&start[HEADER + count * ENTRY..header]).any(|&byte| byte != 0) {
            return Err(format.refuse("unused bytes of the header aren't zero"));
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(count);
        let mut next = header;
        for row in start[HEADER..HEADER + count * ENTRY].chunks_exact(ENTRY) {
            let kind = u32_at(row, 0);
            if entries.last().is_some_and(|last| last.kind >= kind) || row[24..].iter().any(|&byte| byte != 0) {
                return Err(format.refuse("its table of sections isn't in order"));
            }
            let length = usize::try_from(u64_at(row, 16)).ok().filter(|&length| length <= isize::MAX as usize - ALIGNMENT);
            let end = length.and_then(|length| next.checked_add(aligned(length)));
            let (Some(length), Some(end), true) = (length, end, u64_at(row, 8) == next as u64) else {
                return Err(format.refuse(format!("section {kind} isn't where the one before ends")));
            };
            entries.push(Entry { kind, checksum: u32_at(row, 4), offset: next, length });
            next = end;
        }
        if u64_at(start, 16) != next as u64 {
            return Err(format.refuse("its length isn't that of its sections"));
        }
        Ok(Some(Self { version, format, entries, total: next }))
    }

    /// Bytes of the file.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Where the first section begins.
    pub fn header(&self) -> usize {
        aligned(HEADER + self.entries.len() * ENTRY)
    }

    /// The version that the file says it has.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Where a section's bytes begin, how many there are, and how many with padding.
    pub fn place(&self, kind: u32) -> Option<(usize, usize, usize)> {
        let entry = self.entries.iter().find(|entry| entry.kind == kind)?;
        Some((entry.offset, entry.length, aligned(entry.length)))
    }

    /// All sections but one, checked, of the bytes before and behind it.
    ///
    /// # Errors
    /// [`FileError`] if these are not as many as there must be, or were damaged.
    pub fn without<'a>(&self, kind: u32, before: &'a [u8], behind: &'a [u8]) -> Result<Vec<Section<'a>>, FileError> {
        let (offset, _, padded) = self.place(kind).ok_or_else(|| self.format.refuse(format!("section {kind} is missing")))?;
        let end = offset + padded;
        for (what, needed, got) in [("the file's beginning", offset, before.len()), ("the file's end", self.total - end, behind.len())] {
            if got != needed {
                return Err(FileError::Truncated { what: what.into(), needed: needed as u64, got: got as u64 });
            }
        }
        let rest = self.entries.iter().filter(|entry| entry.kind != kind);
        rest.map(|entry| {
            let padded = aligned(entry.length);
            let bytes = if entry.offset < offset { &before[entry.offset..][..padded] } else { &behind[entry.offset - end..][..padded] };
            entry.check(self.format, bytes)?;
            Ok(Section { kind: entry.kind, bytes: Cow::Borrowed(&bytes[..entry.length]) })
        })
        .collect()
    }

    /// Bytes of a section with its padding; none beyond the last.
    pub fn padded(&self, section: usize) -> Option<usize> {
        self.entries.get(section).map(|entry| aligned(entry.length))
    }

    /// A section of its padded bytes, checked.
    pub fn section(&self, section: usize, mut padded: Vec<u8>) -> Result<Section<'static>, FileError> {
        let entry = &self.entries[section];
        entry.check(self.format, &padded)?;
        padded.truncate(entry.length);
        Ok(Section { kind: entry.kind, bytes: Cow::Owned(padded) })
    }

    /// The sections of a whole file.
    fn sections<'a>(&self, file: &'a [u8]) -> Result<Vec<Section<'a>>, FileError> {
        if file.len() < self.total {
            return Err(FileError::Truncated { what: "the file".into(), needed: self.total as u64, got: file.len() as u64 });
        }
        if file.len() > self.total {
            return Err(self.format.refuse(format!("{} bytes follow its end", file.len() - self.total)));
        }
        self.entries
            .iter()
            .map(|entry| {
                let padded = &file[entry.offset..entry.offset + aligned(entry.length)];
                entry.check(self.format, padded)?;
                Ok(Section { kind: entry.kind, bytes: Cow::Borrowed(&padded[..entry.length]) })
            })
            .collect()
    }
}

/// The sections of a file, all checked.
pub fn read<'a>(format: &'static Format, file: &'a [u8]) -> Result<Vec<Section<'a>>, FileError> {
    match Table::read(format, file)? {
        Some(table) => table.sections(file),
        None => Err(ends_in_header(file)),
    }
}

/// CRC-32C of bytes, as tables have it.
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The version of a file that was [read](read()).
pub fn version(file: &[u8]) -> u32 {
    u32_at(file, 8)
}

/// What a file is that ends before its sections begin.
pub fn ends_in_header(start: &[u8]) -> FileError {
    FileError::Truncated { what: "the header".into(), needed: header_bytes(start) as u64, got: start.len() as u64 }
}

/// What the header needs at least, as far as it is there.
fn header_bytes(start: &[u8]) -> usize {
    if start.len() < HEADER { HEADER } else { aligned(HEADER + u32_at(start, 12) as usize * ENTRY) }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}
