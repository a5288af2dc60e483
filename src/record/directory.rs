//! The folder of a run and its one writer.

use super::cell::one_line;
use super::files::{AppendFile, Lock};
use super::reader::Tables;
use super::table::{Row, RunColumns, encode, header};
use super::{CaseKey, CaseRows, Environment, LedgerRow, Measurement, RecordError, SampleRow, Status, StepRow};
use jiff::civil::Date;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The open files of a run. While it exists no other process can write to the folder.
pub struct RunDirectory {
    path: PathBuf,
    run: RunColumns,
    /// In the order they are written: the measurement comes last, its presence marks a case as complete.
    pub(super) files: Vec<AppendFile>,
    _lock: Lock,
}

/// A run that goes on.
pub struct Resumed {
    /// Where its rows go.
    pub directory: RunDirectory,
    /// What it was begun with.
    pub environment: Environment,
    /// The cases that need not be run again.
    pub done: HashSet<CaseKey>,
    /// Their rows.
    pub rows: Vec<Measurement>,
}

const FILES: [&str; 4] = [SampleRow::FILE, StepRow::FILE, LedgerRow::FILE, Measurement::FILE];

/// The files that a run consists of.
pub const RUN_FILES: [&str; 5] = [Measurement::FILE, LedgerRow::FILE, StepRow::FILE, SampleRow::FILE, Environment::FILE];

impl Resumed {
    /// Notes in `environment.json` that the run is gone on with, now and by this command line.
    ///
    /// # Errors
    /// [`RecordError::Io`] where the file cannot be written; it is then as it was.
    pub fn note(&mut self) -> Result<(), RecordError> {
        self.environment.note_resumption();
        self.environment.write(self.directory.path())
    }
}

impl RunDirectory {
    /// Makes the folder with its parents, `environment.json` and the four CSV files with their headers.
    ///
    /// # Errors
    /// [`RecordError::HoldsRun`] where any of these files is there already, [`RecordError::Locked`] where another process is
    /// about to make them, [`RecordError::Io`] where the system refuses; no file is left behind then.
    pub fn create(path: &Path, environment: &Environment) -> Result<Self, RecordError> {
        fs::create_dir_all(path).map_err(RecordError::io("create", path))?;
        let lock = Lock::acquire(path)?;
        if let Some(file) = RUN_FILES.into_iter().find(|file| path.join(file).symlink_metadata().is_ok()) {
            return Err(RecordError::HoldsRun { path: path.to_owned(), file });
        }
        Self::begin(path, environment, lock).inspect_err(|_| {
            for file in RUN_FILES {
                // None of them was there before; the error that counts is the first one.
                let _ = fs::remove_file(path.join(file));
            }
        })
    }

    fn begin(path: &Path, environment: &Environment, lock: Lock) -> Result<Self, RecordError> {
        environment.write(path)?;
        let headers = [header::<SampleRow>()?, header::<StepRow>()?, header::<LedgerRow>()?, header::<Measurement>()?];
        let mut files = Vec::with_capacity(FILES.len());
        for (name, header) in FILES.into_iter().zip(headers) {
            let mut file = AppendFile::create(path.join(name))?;
            file.append(&header)?;
            files.push(file);
        }
        Ok(Self::new(path, environment, files, lock))
    }

    /// Opens a run to go on with it. What an interruption left half written is removed: a last line without its end, and
    /// rows of cases that have no measurement. So are cases that were skipped, for them to be run again.
    ///
    /// # Errors
    /// [`RecordError`] as [`super::Run::read`], and where another process is writing; nothing was changed then. Where the
    /// system refuses to write, every file still holds what it held or what it should.
    pub fn resume(path: &Path) -> Result<Resumed, RecordError> {
        if !path.join(Measurement::FILE).exists() {
            return Err(RecordError::NoRun { path: path.to_owned() });
        }
        let lock = Lock::acquire(path)?;
        let (environment, mut tables) = Tables::load(path, true)?;
        tables.measurements.retain(|row| row.status != Status::Skipped);
        tables.drop_unfinished();
        tables.save(&RunColumns::of(&environment))?;
        let files = FILES.into_iter().map(|name| AppendFile::open(path.join(name))).collect::<Result<_, _>>()?;
        let directory = Self::new(path, &environment, files, lock);
        Ok(Resumed { directory, environment, done: tables.cases(), rows: tables.measurements.rows })
    }

    fn new(path: &Path, environment: &Environment, files: Vec<AppendFile>, lock: Lock) -> Self {
        Self { path: path.to_owned(), run: RunColumns::of(environment), files, _lock: lock }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `environment.json` anew, whole or not at all: with what became known after the run began.
    ///
    /// # Errors
    /// [`RecordError::Io`] where the system refuses; the file is then as it was.
    pub fn update(&self, environment: &Environment) -> Result<(), RecordError> {
        environment.write(&self.path)
    }

    /// Appends the rows of a case, each file's as one write, the measurement last.
    ///
    /// # Errors
    /// [`RecordError::Value`] where a sample's time is not a finite number, [`RecordError::Io`] where the system refuses, for
    /// instance on a full disk. Nothing of the case is kept then; the rows before it stay as they were.
    pub fn append(&mut self, rows: &CaseRows) -> Result<(), RecordError> {
        let measurement = Measurement { reason: one_line(&rows.measurement.reason), ..rows.measurement.clone() };
        let texts = [
            encode(&rows.samples, &self.run)?,
            encode(&rows.steps, &self.run)?,
            encode(&rows.ledger, &self.run)?,
            encode(&[measurement], &self.run)?,
        ];
        let lengths: Vec<u64> = self.files.iter().map(|file| file.length).collect();
        let written = self.files.iter_mut().zip(&texts).try_for_each(|(file, text)| file.append(text));
        written.inspect_err(|_| {
            for (file, length) in self.files.iter_mut().zip(lengths) {
                file.cut_back(length);
            }
        })
    }
}

/// A device's name as part of a file's: its letters and digits of ASCII, lower-case, with single dashes in between.
pub fn slug(device_name: &str) -> String {
    const LONGEST: usize = 40;
    let words = device_name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut device = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    device.truncate(LONGEST);
    if device.is_empty() { "device".to_owned() } else { device.trim_end_matches('-').to_owned() }
}

/// A folder under `base` for a new run: `<date>-<device>`, with `-2`, `-3` and so on where that is taken. Of the device's
/// name the letters and digits of ASCII are kept, lower-case, with single dashes in between.
pub fn default_directory(base: &Path, device_name: &str, date: Date) -> PathBuf {
    let device = slug(device_name);
    let mut path = base.join(format!("{date}-{device}"));
    let mut number = 2;
    while path.symlink_metadata().is_ok() {
        path = base.join(format!("{date}-{device}-{number}"));
        number += 1;
    }
    path
}
