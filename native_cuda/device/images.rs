//! Images of static kernels that come with the package, made where it was packed (`packing`): a first solve then compiles those kernels
//! alone that are made of its problem.
//!
//! The file begins with [`MAGIC`], the version of NVRTC that made the images (two numbers), how many there are, and for each of them its
//! architecture (two numbers), the [`key`] of its text, where it begins in the file and how many bytes it has there, by DEFLATE (RFC 1951) a
//! quarter of what it is. All numbers are of 32 bits, the lowest byte first.

use super::nvrtc;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

const MAGIC: [u8; 12] = *b"LWKERNELS\0\0\x01";
const ENTRY_BYTES: usize = 8 + KEY_BYTES + 8;
const KEY_BYTES: usize = 32;

/// Images of a file at most: a damaged head must not ask for all memory.
const MOST: u32 = 1 << 20;

/// Bytes of an image at most.
const MOST_BYTES: usize = 1 << 26;

/// Level of DEFLATE that makes the smallest files.
const SMALLEST: u8 = 9;

/// Beginning of machine code.
const ELF: &[u8] = b"\x7fELF";

/// Compute capability: major and minor number.
pub(super) type Architecture = (i32, i32);

/// Identity of a text and of how it is compiled. Two texts of one key are not known of SHA-256.
pub(super) type Key = [u8; KEY_BYTES];

/// How a text is compiled, whatever the architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Manner {
    /// For one architecture, and no later one.
    pub specific: bool,
    /// Without contraction of products and sums.
    pub exact: bool,
}

pub(super) fn key(text: &str, manner: Manner) -> Key {
    let options = nvrtc::options((0, 0), manner, (0, 0));
    Sha256::new().chain_update(options.join(" ")).chain_update("\n").chain_update(text).finalize().into()
}

static GIVEN: OnceLock<PathBuf> = OnceLock::new();

static OPENED: LazyLock<Option<Result<Images, String>>> = LazyLock::new(|| {
    let path = chosen(std::env::var_os("LEASTWISE_IMAGES"), GIVEN.get())?;
    Some(Images::open(&path).map_err(|error| format!("{}: {error}", path.display())))
});

/// Names the file of images that comes with the package. It is read with the first device; `LEASTWISE_IMAGES` names another file, or none
/// where it is empty.
pub fn use_images(path: PathBuf) {
    let _ = GIVEN.set(path);
}

fn chosen(named: Option<OsString>, given: Option<&PathBuf>) -> Option<PathBuf> {
    match named {
        Some(named) => Some(PathBuf::from(named)).filter(|path| !path.as_os_str().is_empty()),
        None => given.cloned(),
    }
}

/// The images of this process; none where no file was named, and the reason where it can't be read.
pub(super) fn opened() -> Option<Result<&'static Images, &'static str>> {
    OPENED.as_ref().map(|opened| opened.as_ref().map_err(|reason| &reason[..]))
}

/// A file of images.
pub(super) struct Images {
    file: Mutex<File>,
    /// Where each image begins, and its bytes.
    places: HashMap<(Architecture, Key), (u32, u32)>,
    /// The version of NVRTC that made them.
    version: (i32, i32),
}

impl Images {
    pub fn open(path: &Path) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut head = [0; MAGIC.len() + 12];
        file.read_exact(&mut head)?;
        let (magic, numbers) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(wrong("no file of images, or one of another version of this package"));
        }
        let [major, minor, count] = [0, 4, 8].map(|at| number(&numbers[at..]));
        let table_bytes = u64::from(count) * ENTRY_BYTES as u64;
        if count > MOST || table_bytes > bytes {
            return Err(wrong("its head says more images than the file can have"));
        }
        let mut table = vec![0; table_bytes as usize];
        file.read_exact(&mut table)?;
        let mut places = HashMap::with_capacity(count as usize);
        for entry in table.chunks_exact(ENTRY_BYTES) {
            let (architecture, rest) = entry.split_at(8);
            let (key, place) = rest.split_at(KEY_BYTES);
            let [major, minor] = [0, 4].map(|at| number(&architecture[at..]) as i32);
            let [begin, len] = [0, 4].map(|at| number(&place[at..]));
            if u64::from(begin) + u64::from(len) > bytes {
                return Err(wrong("it ends before its last image does"));
            }
            places.insert(((major, minor), key.try_into().expect("an entry has a key")), (begin, len));
        }
        Ok(Self { file: Mutex::new(file), places, version: (major as i32, minor as i32) })
    }

    /// Who made them and for what, say `NVRTC 12.9, for compute capability 8.0, 9.0`.
    pub fn description(&self) -> String {
        let architectures: Vec<_> = self.architectures().iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
        format!("NVRTC {}.{}, for compute capability {}", self.version.0, self.version.1, architectures.join(", "))
    }

    /// The architectures there are images for, the oldest first.
    pub fn architectures(&self) -> BTreeSet<Architecture> {
        self.places.keys().map(|(architecture, _)| *architecture).collect()
    }

    /// Those of them whose code a GPU runs, the newest first: of its major number and no later minor one.
    pub fn running_on(&self, (major, minor): Architecture) -> Vec<Architecture> {
        self.architectures().into_iter().rev().filter(|of| of.0 == major && of.1 <= minor).collect()
    }

    /// The image of a text, for the first of these architectures that has one. Specific code is for an architecture of its own.
    pub fn find(&self, architectures: &[Architecture], text: &str, manner: Manner) -> Option<Vec<u8>> {
        let key = key(text, manner);
        architectures.iter().find_map(|architecture| self.read(*self.places.get(&(*architecture, key))?))
    }

    /// The image of a key, if this version of NVRTC made it.
    pub fn made(&self, version: (i32, i32), architecture: Architecture, key: Key) -> Option<Vec<u8>> {
        let place = self.places.get(&(architecture, key)).filter(|_| version == self.version)?;
        self.read(*place)
    }

    /// Some image for an architecture, to see if the driver takes what this NVRTC made.
    pub fn any(&self, architecture: Architecture) -> Option<Vec<u8>> {
        let smallest = self.places.iter().filter(|((of, _), _)| *of == architecture).min_by_key(|(at, (_, len))| (*len, **at));
        smallest.and_then(|(_, place)| self.read(*place))
    }

    fn read(&self, (begin, len): (u32, u32)) -> Option<Vec<u8>> {
        let mut packed = vec![0; len as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(begin.into())).and_then(|_| file.read_exact(&mut packed)).ok()?;
        }
        decompress_to_vec_with_limit(&packed, MOST_BYTES).ok().filter(|image| image.starts_with(ELF))
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

/// Writes a file of images that this version of NVRTC made.
pub(super) fn write(to: &mut impl Write, version: (i32, i32), images: &[(Architecture, Key, Vec<u8>)]) -> io::Result<()> {
    to.write_all(&MAGIC)?;
    for number in [version.0 as u32, version.1 as u32, images.len() as u32] {
        to.write_all(&number.to_le_bytes())?;
    }
    let packed: Vec<_> = images.iter().map(|(_, _, image)| compress_to_vec(image, SMALLEST)).collect();
    let mut begin = MAGIC.len() + 12 + images.len() * ENTRY_BYTES;
    for (((major, minor), key, _), packed) in images.iter().zip(&packed) {
        to.write_all(&major.to_le_bytes())?;
        to.write_all(&minor.to_le_bytes())?;
        to.write_all(key)?;
        let place = u32::try_from(begin).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "images of more than 4 GB"))?;
        to.write_all(&place.to_le_bytes())?;
        to.write_all(&(packed.len() as u32).to_le_bytes())?;
        begin += packed.len();
    }
    packed.iter().try_for_each(|packed| to.write_all(packed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Manner = Manner { specific: false, exact: false };

    fn image(byte: u8, len: usize) -> Vec<u8> {
        [ELF, &vec![byte; len]].concat()
    }

    /// A file of these bytes that goes with the test.
    struct Written(PathBuf);

    impl Written {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let path = std::env::temp_dir().join(format!("leastwise-images-{name}-{}", std::process::id()));
            std::fs::write(&path, bytes).expect("a file is written");
            Self(path)
        }
    }

    impl Drop for Written {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn bytes() -> Vec<u8> {
        let exact = Manner { exact: true, ..PLAIN };
        let images = [
            ((8, 0), key("one", PLAIN), image(1, 5)),
            ((8, 6), key("one", PLAIN), image(2, 0)),
            ((8, 0), key("two", exact), image(3, 9)),
            ((9, 0), key("one", PLAIN), b"no machine code".to_vec()),
        ];
        let mut bytes = Vec::new();
        write(&mut bytes, (12, 9), &images).expect("memory takes it");
        bytes
    }

    #[test]
    fn an_image_is_found_by_its_text_and_for_gpus_that_run_it() {
        let file = Written::new("found", &bytes());
        let images = Images::open(&file.0).expect("a file of images");
        assert_eq!(images.description(), "NVRTC 12.9, for compute capability 8.0, 8.6, 9.0");
        assert_eq!(images.running_on((8, 9)), [(8, 6), (8, 0)]);
        assert_eq!(images.running_on((8, 0)), [(8, 0)]);
        assert_eq!(images.running_on((9, 0)), [(9, 0)]);
        assert!(images.running_on((7, 5)).is_empty() && images.running_on((10, 0)).is_empty());
        let find = |gpu, text: &str, exact| images.find(&images.running_on(gpu), text, Manner { exact, ..PLAIN });
        assert_eq!(find((8, 9), "one", false), Some(image(2, 0)));
        assert_eq!(find((8, 0), "one", false), Some(image(1, 5)));
        assert_eq!(find((8, 6), "two", true), Some(image(3, 9)), "of an older one, where the newer has none");
        assert_eq!((find((8, 6), "two", false), find((8, 6), "three", false), find((7, 5), "one", false)), (None, None, None));
        assert_eq!(find((9, 0), "one", false), None, "what is no machine code is not taken");
        // The smallest in the file.
        assert!([Some(image(1, 5)), Some(image(3, 9))].contains(&images.any((8, 0))));
        assert_eq!(images.any((7, 5)), None);
        let made = |version, architecture| images.made(version, architecture, key("one", PLAIN));
        assert_eq!(made((12, 9), (8, 0)), Some(image(1, 5)));
        assert_eq!((made((13, 0), (8, 0)), made((12, 9), (7, 5))), (None, None));
    }

    #[test]
    fn a_file_that_is_cut_or_not_of_images_says_so() {
        let whole = bytes();
        for cut in 0..whole.len() {
            let file = Written::new("cut", &whole[..cut]);
            assert!(Images::open(&file.0).is_err(), "of {cut} bytes");
        }
        let mut greedy = whole.clone();
        greedy[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
        for (bytes, said) in [(greedy, "more images"), (b"something of thirty bytes or so".to_vec(), "another version")] {
            let file = Written::new("wrong", &bytes);
            let error = Images::open(&file.0).err().expect("it is refused").to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn the_environment_names_another_file_or_none() {
        let given = PathBuf::from("/given");
        assert_eq!(chosen(None, Some(&given)), Some(given.clone()));
        assert_eq!(chosen(Some("/other".into()), Some(&given)), Some("/other".into()));
        assert_eq!(chosen(Some(OsString::new()), Some(&given)), None);
        assert_eq!(chosen(None, None), None);
    }

    #[test]
    fn keys_tell_how_a_text_is_compiled() {
        let all =
            [(false, false), (false, true), (true, false), (true, true)].map(|(specific, exact)| key("text", Manner { specific, exact }));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 4);
        assert_ne!(key("text", PLAIN), key("texts", PLAIN));
    }
}
