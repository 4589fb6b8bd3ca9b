//! Images of static kernels that come with the package, made where it was packed (`packing`): a first solve then translates and compiles
//! those kernels alone that are made of its problem.
//!
//! The file begins with [`MAGIC`], the [`SOURCES`] of the build, the version of NVRTC that made the images (two numbers) and how many there
//! are. For each of them follow its architecture (two numbers), the [`Key`] by which it is asked for, that of its text, that of its bytes, where
//! it begins in the file and how many bytes it has there. There, it is the function's name and parameters, and the machine code by DEFLATE
//! (RFC 1951), a quarter of what it is. All numbers are of 32 bits, the lowest byte first.

use super::nvrtc::{self, Version};
use leastwise_kernels::StaticKernel;
use leastwise_recording::Precision;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use wgsl_cuda::Parameter;

const MAGIC: [u8; 12] = *b"LWKERNELS\0\0\x02";
const HEAD_BYTES: usize = MAGIC.len() + SOURCES.len() + 12;
const ENTRY_BYTES: usize = 8 + 3 * KEY_BYTES + 8;
const KEY_BYTES: usize = 32;

/// Digest of the sources that decide what a static kernel's machine code is made of (`build.rs`). Images of other sources are not those of
/// this build.
const SOURCES: &str = env!("LEASTWISE_KERNEL_SOURCES");

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

/// A digest. Two texts of one key are not known of SHA-256.
pub(super) type Key = [u8; KEY_BYTES];

/// A static kernel's part, as a device asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    pub kernel: StaticKernel,
    pub precision: Precision,
    pub group_size: u32,
    /// Number among the kernel itself and what may stand in for it.
    pub part: usize,
}

impl Asked {
    fn key(&self) -> Key {
        let Self { kernel, precision, group_size, part } = self;
        Sha256::digest(format!("{}\0{precision:?}\0{group_size}\0{part}", kernel.path())).into()
    }
}

/// A kernel's machine code, and how it is launched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Image {
    /// Name of the function.
    pub entry: String,
    pub parameters: Vec<Parameter>,
    pub code: Vec<u8>,
}

impl Image {
    fn packed(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut add = |number: u32| bytes.extend(number.to_le_bytes());
        add(self.parameters.len() as u32);
        for parameter in &self.parameters {
            let numbers = match *parameter {
                Parameter::Uniform { binding, bytes } => [0, binding, bytes],
                Parameter::Storage { binding, writes, element_bytes } => [1 + u32::from(writes), binding, element_bytes],
            };
            numbers.into_iter().for_each(&mut add);
        }
        add(self.entry.len() as u32);
        bytes.extend(self.entry.as_bytes());
        bytes.extend(compress_to_vec(&self.code, SMALLEST));
        bytes
    }

    /// None of bytes that are no image.
    fn unpacked(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let mut parameters = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (numbers, left) = rest.split_first_chunk::<12>()?;
            rest = left;
            let [kind, binding, bytes] = [0, 4, 8].map(|at| number(&numbers[at..]));
            parameters.push(match kind {
                0 => Parameter::Uniform { binding, bytes },
                1 | 2 => Parameter::Storage { binding, writes: kind == 2, element_bytes: bytes },
                _ => return None,
            });
        }
        let (len, rest) = rest.split_first_chunk()?;
        let (entry, code) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let code = decompress_to_vec_with_limit(code, MOST_BYTES).ok().filter(|code| code.starts_with(ELF))?;
        Some(Self { entry: String::from_utf8(entry.to_vec()).ok()?, parameters, code })
    }
}

/// Manner of compiling a text, whatever the architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Manner {
    /// For one architecture, and no later one.
    pub specific: bool,
    /// Without contraction of products and sums.
    pub exact: bool,
}

/// The key of a text and of how it is compiled.
pub(super) fn key(text: &str, manner: Manner) -> Key {
    let options = nvrtc::options((0, 0), manner, (0, 0));
    Sha256::new().chain_update(options.join(" ")).chain_update("\n").chain_update(text).finalize().into()
}

static GIVEN: OnceLock<PathBuf> = OnceLock::new();

static OPENED: LazyLock<Option<Result<Images, String>>> = LazyLock::new(|| {
    let path = chosen(std::env::var_os("LEASTWISE_IMAGES"), GIVEN.get())?;
    let opened = Images::open(&path).map_err(|error| error.to_string());
    let own = opened.and_then(|images| if images.is_own { Ok(images) } else { Err("images of another build of this addon".into()) });
    Some(own.map_err(|reason| format!("{}: {reason}", path.display())))
});

/// Names the file of images that comes with the package; false where another was named before. It is read once, when a device is opened or
/// [`found`](super::found) is asked: later it has no effect. `LEASTWISE_IMAGES` names another file, or none where it is empty.
pub fn use_images(path: PathBuf) -> bool {
    GIVEN.set(path).is_ok()
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
    /// True if they are of the sources of this build.
    is_own: bool,
    /// Places of images by the kernel that is asked for.
    asked: HashMap<(Architecture, Key), Place>,
    /// The same by its text.
    texts: HashMap<(Architecture, Key), Place>,
    /// The version of NVRTC that made them.
    version: Version,
}

/// Beginning, length and digest of an image's bytes.
#[derive(Clone, Copy)]
struct Place {
    begin: u32,
    len: u32,
    digest: Key,
}

impl Images {
    pub fn open(path: &Path) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut head = [0; HEAD_BYTES];
        file.read_exact(&mut head)?;
        let (magic, rest) = head.split_at(MAGIC.len());
        let (sources, numbers) = rest.split_at(SOURCES.len());
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
        let (mut asked, mut texts) = (HashMap::with_capacity(count as usize), HashMap::with_capacity(count as usize));
        for entry in table.chunks_exact(ENTRY_BYTES) {
            let (architecture, keys) = entry.split_at(8);
            let (by_kernel, rest) = keys.split_first_chunk::<KEY_BYTES>().expect("an entry has three keys");
            let (by_text, rest) = rest.split_first_chunk::<KEY_BYTES>().expect("an entry has three keys");
            let (digest, place) = rest.split_first_chunk::<KEY_BYTES>().expect("an entry has three keys");
            let [major, minor] = [0, 4].map(|at| number(&architecture[at..]) as i32);
            let [begin, len] = [0, 4].map(|at| number(&place[at..]));
            if u64::from(begin) + u64::from(len) > bytes {
                return Err(wrong("it ends before its last image does"));
            }
            let place = Place { begin, len, digest: *digest };
            asked.insert(((major, minor), *by_kernel), place);
            texts.insert(((major, minor), *by_text), place);
        }
        let (is_own, version) = (sources == SOURCES.as_bytes(), (major as i32, minor as i32));
        Ok(Self { file: Mutex::new(file), is_own, asked, texts, version })
    }

    /// Maker and purpose, say `compiled by NVRTC 12.9, for compute capability 8.0, 9.0`.
    pub fn description(&self) -> String {
        let architectures: Vec<_> = self.architectures().iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
        format!("compiled by NVRTC {}.{}, for compute capability {}", self.version.0, self.version.1, architectures.join(", "))
    }

    /// The architectures there are images for, the oldest first.
    pub fn architectures(&self) -> BTreeSet<Architecture> {
        self.asked.keys().map(|(architecture, _)| *architecture).collect()
    }

    /// The architectures whose code a GPU runs, the newest first: of its major number and no later minor one.
    pub fn running_on(&self, (major, minor): Architecture) -> Vec<Architecture> {
        self.architectures().into_iter().rev().filter(|of| of.0 == major && of.1 <= minor).collect()
    }

    /// A static kernel's image for the first of these architectures that has one.
    pub fn find(&self, architectures: &[Architecture], asked: &Asked) -> Option<Image> {
        let key = asked.key();
        architectures.iter().find_map(|architecture| self.read(*self.asked.get(&(*architecture, key))?))
    }

    /// The machine code that this version of NVRTC made of a text.
    pub fn made(&self, version: Version, architecture: Architecture, text: Key) -> Option<Vec<u8>> {
        let place = self.texts.get(&(architecture, text)).filter(|_| version == self.version)?;
        self.read(*place).map(|image| image.code)
    }

    /// The smallest image for an architecture that is not damaged, to see if the driver takes what this NVRTC made.
    pub fn smallest(&self, architecture: Architecture) -> Option<Image> {
        let own = self.asked.iter().filter(|((of, _), _)| *of == architecture);
        let mut places: Vec<Place> = own.map(|(_, place)| *place).collect();
        places.sort_unstable_by_key(|place| (place.len, place.begin));
        places.into_iter().find_map(|place| self.read(place))
    }

    /// None of bytes that are not those which were written.
    fn read(&self, Place { begin, len, digest }: Place) -> Option<Image> {
        let mut packed = vec![0; len as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(begin.into())).and_then(|_| file.read_exact(&mut packed)).ok()?;
        }
        (Key::from(Sha256::digest(&packed)) == digest).then(|| Image::unpacked(&packed)).flatten()
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

/// An image on its way into a file.
pub(super) struct Entry {
    pub architecture: Architecture,
    pub asked: Asked,
    /// The key of its text.
    pub text: Key,
    pub image: Image,
}

/// Writes a file of images that this version of NVRTC made, of the sources of this build.
pub(super) fn write(to: &mut impl Write, version: Version, entries: &[Entry]) -> io::Result<()> {
    to.write_all(&MAGIC)?;
    to.write_all(SOURCES.as_bytes())?;
    for number in [version.0 as u32, version.1 as u32, entries.len() as u32] {
        to.write_all(&number.to_le_bytes())?;
    }
    let mut images = Vec::new();
    // One text may be that of several kernels, or of both precisions.
    let mut known: HashMap<(Architecture, &Key, &str), Place> = HashMap::new();
    let first = HEAD_BYTES + entries.len() * ENTRY_BYTES;
    for Entry { architecture, asked, text, image } in entries {
        let Place { begin, len, digest } = *known.entry((*architecture, text, &image.entry)).or_insert_with(|| {
            let (packed, begin) = (image.packed(), first + images.len());
            images.extend_from_slice(&packed);
            Place { begin: begin as u32, len: packed.len() as u32, digest: Sha256::digest(&packed).into() }
        });
        to.write_all(&architecture.0.to_le_bytes())?;
        to.write_all(&architecture.1.to_le_bytes())?;
        to.write_all(&asked.key())?;
        to.write_all(text)?;
        to.write_all(&digest)?;
        to.write_all(&begin.to_le_bytes())?;
        to.write_all(&len.to_le_bytes())?;
    }
    if u32::try_from(first + images.len()).is_err() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "images of more than 4 GB"));
    }
    to.write_all(&images)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_kernels::{Arguments, pcg, step};

    const PLAIN: Manner = Manner { specific: false, exact: false };

    fn asked(part: usize) -> Asked {
        Asked { kernel: pcg::Curvature::KERNEL, precision: Precision::F64, group_size: 256, part }
    }

    fn image(byte: u8, len: usize) -> Image {
        let parameters = vec![
            Parameter::Uniform { binding: 0, bytes: 32 },
            Parameter::Storage { binding: 1, writes: false, element_bytes: 8 },
            Parameter::Storage { binding: 7, writes: true, element_bytes: 4 },
        ];
        Image { entry: "leastwise_kernel".into(), parameters, code: [ELF, &vec![byte; len]].concat() }
    }

    fn entry(architecture: Architecture, part: usize, image: Image) -> Entry {
        Entry { architecture, asked: asked(part), text: key(&format!("text {part}"), PLAIN), image }
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
        let entries = [
            entry((8, 0), 0, image(1, 5)),
            entry((8, 6), 0, image(2, 0)),
            entry((8, 0), 1, image(3, 900)),
            entry((9, 0), 0, Image { code: b"no machine code".to_vec(), ..image(0, 0) }),
        ];
        let mut bytes = Vec::new();
        write(&mut bytes, (12, 9), &entries).expect("memory takes it");
        bytes
    }

    #[test]
    fn an_image_is_found_by_its_kernel_and_for_gpus_that_run_it() {
        let file = Written::new("found", &bytes());
        let images = Images::open(&file.0).expect("a file of images");
        assert!(images.is_own);
        assert_eq!(images.description(), "compiled by NVRTC 12.9, for compute capability 8.0, 8.6, 9.0");
        assert_eq!(images.running_on((8, 9)), [(8, 6), (8, 0)]);
        assert_eq!(images.running_on((8, 0)), [(8, 0)]);
        assert_eq!(images.running_on((9, 0)), [(9, 0)]);
        assert!(images.running_on((7, 5)).is_empty() && images.running_on((10, 0)).is_empty());
        let find = |gpu, asked: Asked| images.find(&images.running_on(gpu), &asked);
        assert_eq!(find((8, 9), asked(0)), Some(image(2, 0)));
        assert_eq!(find((8, 0), asked(0)), Some(image(1, 5)));
        assert_eq!(find((8, 6), asked(1)), Some(image(3, 900)), "of an older one, where the newer has none");
        assert_eq!(find((9, 0), asked(0)), None, "what is no machine code is not taken");
        for other in [
            Asked { precision: Precision::F32, ..asked(0) },
            Asked { group_size: 64, ..asked(0) },
            Asked { kernel: step::Sum::KERNEL, ..asked(0) },
            asked(2),
        ] {
            assert_eq!(find((8, 6), other), None, "{other:?}");
        }
        assert_eq!(images.smallest((8, 0)), Some(image(1, 5)));
        assert_eq!(images.smallest((7, 5)), None);
        let made = |version, architecture| images.made(version, architecture, key("text 0", PLAIN));
        assert_eq!(made((12, 9), (8, 0)), Some(image(1, 5).code));
        assert_eq!((made((13, 0), (8, 0)), made((12, 9), (7, 5))), (None, None));
    }

    #[test]
    fn a_file_that_is_cut_or_not_of_images_says_so() {
        let whole = bytes();
        for cut in 0..whole.len() {
            let file = Written::new("cut", &whole[..cut]);
            assert!(Images::open(&file.0).is_err(), "of {cut} bytes");
        }
        let (mut greedy, mut other) = (whole.clone(), whole);
        greedy[HEAD_BYTES - 4..HEAD_BYTES].copy_from_slice(&u32::MAX.to_le_bytes());
        other[MAGIC.len()] ^= 1;
        assert!(!Images::open(&Written::new("other", &other).0).expect("a file of images").is_own);
        for (bytes, said) in [(greedy, "more images"), (vec![b'x'; 200], "another version")] {
            let file = Written::new("wrong", &bytes);
            let error = Images::open(&file.0).err().expect("it is refused").to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn damaged_images_are_none() {
        let whole = image(1, 500).packed();
        assert_eq!(Image::unpacked(&whole), Some(image(1, 500)));
        for cut in 0..whole.len() {
            assert_eq!(Image::unpacked(&whole[..cut]), None, "of {cut} bytes");
        }
        // A file's own digests find what an image's form does not show.
        let whole = bytes();
        let begin = HEAD_BYTES + 4 * ENTRY_BYTES;
        for at in begin..begin + image(1, 5).packed().len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            let file = Written::new("damaged", &damaged);
            let images = Images::open(&file.0).expect("a file of images");
            assert_eq!((images.find(&[(8, 0)], &asked(0)), images.find(&[(8, 6)], &asked(0))), (None, Some(image(2, 0))), "byte {at}");
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
