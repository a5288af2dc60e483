//! Files that stay valid: appended to or cut back, replaced as a whole or not at all, locked while written.

use super::RecordError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What an [`AppendFile`] writes to: a file, or one in a test that fails on demand.
pub(super) trait Storage: Send {
    /// Makes the file end at `length` and writes there.
    fn write_at(&mut self, length: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes the file end at `length`.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Storage for File {
    fn write_at(&mut self, length: u64, bytes: &[u8]) -> io::Result<()> {
        self.cut(length)?;
        self.seek(SeekFrom::Start(length))?;
        self.write_all(bytes)?;
        self.flush()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A file that grows by whole rows.
pub(super) struct AppendFile {
    pub(super) path: PathBuf,
    pub(super) storage: Box<dyn Storage>,
    /// Where the last row that counts ends.
    pub(super) length: u64,
}

impl AppendFile {
    /// A file that must not exist yet.
    pub(super) fn create(path: PathBuf) -> Result<Self, RecordError> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(RecordError::io("create", &path))?;
        Ok(Self { path, storage: Box::new(file), length: 0 })
    }

    /// A file that is there, complete.
    pub(super) fn open(path: PathBuf) -> Result<Self, RecordError> {
        let file = OpenOptions::new().write(true).open(&path).map_err(RecordError::io("open", &path))?;
        let length = file.metadata().map_err(RecordError::io("open", &path))?.len();
        Ok(Self { path, storage: Box::new(file), length })
    }

    /// Writes after the last row; on failure the bytes do not count, and the next write goes over them.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.storage.write_at(self.length, bytes).map_err(RecordError::io("write", &self.path))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Forgets what lies past `length`. Best effort: where it fails, the next write cuts again, and a reader leaves out rows
    /// without a measurement.
    pub(super) fn cut_back(&mut self, length: u64) {
        self.length = length;
        let _ = self.storage.cut(length);
    }
}

/// Writes a whole file beside its place and moves it there, so that a reader sees the old or the new content, never a part.
///
/// # Errors
/// [`RecordError::Io`] where the system refuses; no part is left behind then.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|source| {
        // The error that counts is the first one.
        let _ = fs::remove_file(&temporary);
        RecordError::io("write", path)(source)
    })
}

/// Exclusive use of a run directory. It is a file of its own because Windows keeps others from even reading a locked one.
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    pub(super) fn acquire(directory: &Path) -> Result<Self, RecordError> {
        let path = directory.join(".lock");
        let open = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = open.map_err(RecordError::io("create", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, _file: file }),
            Err(TryLockError::WouldBlock) => Err(RecordError::Locked { path: directory.to_owned() }),
            Err(TryLockError::Error(source)) => Err(RecordError::io("lock", &path)(source)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // What locks is the open file, not its name; one left behind does no harm.
        let _ = fs::remove_file(&self.path);
    }
}
