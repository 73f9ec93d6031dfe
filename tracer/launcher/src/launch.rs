//! Kinds of commands to run: a program, a wrapper such as env(1), or an MPI launcher. A launcher passes the variables to its ranks on every
//! node and is not traced itself.

use crate::place::temporary;
use crate::settings::Settings;
use crate::texts::{has, joined, say, variable};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::NamedTempFile;

/// Kind of the command that dxt-run runs, which determines how environment variables reach the traced program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Program,
    Wrapper,
    /// Launcher that passes its own environment to the ranks.
    Environment,
    OpenMpi,
    Hydra,
}

const WRAPPERS: [&str; 11] =
    ["env", "timeout", "nice", "nohup", "setsid", "stdbuf", "taskset", "numactl", "time", "ionice", "chrt"];

/// Returns the last component of the path `word` (name of a program).
pub(crate) fn base(word: &OsStr) -> String {
    Path::new(word).file_name().unwrap_or(word).to_string_lossy().into_owned()
}

impl Kind {
    pub(crate) fn of(program: &OsStr) -> Self {
        let name = base(program);
        match name.as_str() {
            "orterun" | "prterun" => Self::of_mpirun(program),
            "srun" | "flux" | "aprun" | "jsrun" => Self::Environment,
            _ if WRAPPERS.contains(&&*name) => Self::Wrapper,
            _ if matches!(name.split('.').next(), Some("mpirun" | "mpiexec")) => Self::of_mpirun(program),
            _ => Self::Program,
        }
    }

    /// Determines the MPI implementation of an mpirun from its `--version` output.
    fn of_mpirun(program: &OsStr) -> Self {
        let said = Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
        let said = said.map(|output| output.stdout).unwrap_or_default();
        let says = |names: &[&str]| names.iter().any(|name| has(&said, name.as_bytes()));
        if says(&["Open MPI", "OpenRTE", "Open RTE", "PRRTE", "Spectrum MPI"]) {
            Self::OpenMpi
        } else if says(&["HYDRA", "Intel(R) MPI"]) {
            Self::Hydra
        } else {
            Self::Environment
        }
    }

    pub(crate) fn is_launcher(self) -> bool {
        !matches!(self, Self::Program | Self::Wrapper)
    }
}

/// Returns the file that lists the programs to run (Open MPI's --app, MPICH's -configfile, srun's --multi-prog), and the index of the
/// file's word in the command `words`; `None` without such a file.
pub(crate) fn listing(kind: Kind, words: &[OsString]) -> Option<(usize, PathBuf)> {
    let at = words.iter().enumerate().skip(1).find_map(|(at, word)| {
        let found = match (kind, word.to_str()) {
            (Kind::OpenMpi, Some("-app" | "--app")) | (Kind::Hydra, Some("-configfile" | "--configfile")) => {
                Some(at + 1)
            }
            // With --multi-prog the file is in the program's place: the first word that names a file with lines that begin with ranks.
            (Kind::Environment, Some("--multi-prog")) => (at + 1..words.len()).find(|at| lists_ranks(&words[*at])),
            _ => return is_program(word).then_some(None),
        };
        Some(found)
    })??;
    let file = PathBuf::from(words.get(at)?);
    file.is_file().then_some((at, file))
}

/// True if `word` contains a slash and names a program, where the launcher's options end.
pub(crate) fn is_program(word: &OsStr) -> bool {
    word.as_bytes().contains(&b'/') && crate::files::program(word).is_some()
}

fn lists_ranks(word: &OsStr) -> bool {
    let begins =
        |line: &[u8]| line.trim_ascii_start().first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'*');
    let text = if Path::new(word).is_file() { std::fs::read(word).unwrap_or_default() } else { Vec::new() };
    text.split(|byte| *byte == b'\n').any(begins)
}

/// Command that dxt-run runs: its words, additional environment variables, and a temporary file that is deleted on drop.
pub(crate) struct Run {
    pub(crate) words: Vec<OsString>,
    pub(crate) variables: Vec<(String, OsString)>,
    _copy: Option<NamedTempFile>,
}

const LIST: &str = "OMPI_MCA_mca_base_env_list";

impl Run {
    /// Builds the command from its `words` so that the launcher passes the settings to the ranks by its own means (options or environment).
    /// `launched`: variables for the launcher itself. `listing`: file that lists the programs to run, and its index in `words`.
    pub(crate) fn new(
        kind: Kind,
        words: &[OsString],
        settings: &Settings,
        launched: &[(String, OsString)],
        listing: Option<(usize, PathBuf)>,
    ) -> Self {
        let mut run = Self { words: words.to_vec(), variables: launched.to_vec(), _copy: None };
        match kind {
            Kind::OpenMpi => run.hand_to_open_mpi(settings, listing),
            Kind::Hydra => {
                let options = settings.0.iter().flat_map(|(name, value)| ["-genv".into(), name.into(), value.clone()]);
                run.words.splice(1..1, options);
            }
            _ => run.variables.extend(settings.0.iter().cloned()),
        }
        run
    }

    /// Adds options that make Open MPI pass on the settings. Open MPI refuses -x together with mca_base_env_list; if that list is used, the
    /// settings are appended to the list.
    fn hand_to_open_mpi(&mut self, settings: &Settings, listing: Option<(usize, PathBuf)>) {
        let mut list = OsString::new();
        for (name, value) in &settings.0 {
            list.push(";");
            list.push(joined(name, value));
        }
        if let Some(mut all) = variable(LIST) {
            all.push(&list);
            self.variables.push((LIST.to_owned(), all));
            return self.extend_lists(&list);
        }
        if self.words.iter().any(|word| word == "mca_base_env_list") {
            return self.extend_lists(&list);
        }
        if let Some((at, file)) = listing {
            return self.copy_listing(settings, at, &file);
        }
        // In `a : b`, each program has its own options.
        let options: Vec<OsString> =
            settings.0.iter().flat_map(|(name, value)| ["-x".into(), joined(name, value)]).collect();
        let words = std::mem::take(&mut self.words);
        for (at, word) in words.into_iter().enumerate() {
            let begins = at == 0 || word == ":";
            self.words.push(word);
            if begins {
                self.words.extend(options.iter().cloned());
            }
        }
    }

    fn extend_lists(&mut self, list: &OsStr) {
        for at in 1..self.words.len() {
            if self.words[at - 1] == "mca_base_env_list" {
                self.words[at].push(list);
            }
        }
    }

    /// Copies the --app file and adds -x options to each line. With --app, Open MPI ignores options of the command line, and splits lines
    /// at spaces even inside quotes.
    fn copy_listing(&mut self, settings: &Settings, at: usize, file: &Path) {
        let mut options: Vec<u8> = Vec::new();
        let mut through = Vec::new();
        for (name, value) in &settings.0 {
            let mut value = value.as_bytes().to_vec();
            if name == "LD_PRELOAD" {
                value.iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = b':');
            }
            options.extend([b"-x ", name.as_bytes()].concat());
            if value.iter().any(|byte| byte.is_ascii_whitespace() || b"\"'\\".contains(byte)) {
                through.push((name.clone(), OsStr::from_bytes(&value).to_owned()));
            } else {
                options.extend([b"=", &*value].concat());
            }
            options.push(b' ');
        }
        let text = std::fs::read(file).unwrap_or_default();
        let mut copied = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if !matches!(line.trim_ascii().first(), None | Some(b'#')) {
                copied.extend(&options);
            }
            copied.extend(line);
        }
        let made = tempfile::Builder::new().prefix("dxt-run.").rand_bytes(8).tempfile_in(temporary());
        match made.and_then(|mut copy| copy.write_all(&copied).map(|()| copy)) {
            Ok(copy) => {
                self.words[at] = copy.path().into();
                self.variables.extend(through);
                self._copy = Some(copy);
            }
            Err(_) => say!(
                "failed to create a file in {}: the programs listed in {} are not traced",
                temporary().display(),
                file.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn each_launcher_gets_the_variables_in_its_way() {
        let settings = Settings(vec![("A".into(), "1 2".into())]);
        let run = |kind, line: &str| Run::new(kind, &words(line), &settings, &[], None);
        assert_eq!(run(Kind::OpenMpi, "m a : b").words, ["m", "-x", "A=1 2", "a", ":", "-x", "A=1 2", "b"]);
        assert_eq!(run(Kind::Hydra, "m a : b").words, ["m", "-genv", "A", "1 2", "a", ":", "b"]);
        let listed = run(Kind::OpenMpi, "m --mca mca_base_env_list B=1 a");
        assert_eq!(listed.words[3], "B=1;A=1 2");
        let by_environment = run(Kind::Environment, "srun a");
        assert_eq!((by_environment.words, by_environment.variables), (words("srun a"), settings.0.clone()));
    }

    #[test]
    fn files_of_programs_are_found_before_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list");
        std::fs::write(&file, "# ranks\n0-1 ./a\n").unwrap();
        let find =
            |kind, line: &str| listing(kind, &words(&line.replace('@', file.to_str().unwrap()))).map(|(at, _)| at);
        assert_eq!(find(Kind::OpenMpi, "mpirun --app @"), Some(2));
        assert_eq!(find(Kind::Hydra, "mpiexec -n 2 -configfile @"), Some(4));
        assert_eq!(find(Kind::Environment, "srun --multi-prog -n 2 @"), Some(4));
        assert_eq!(find(Kind::OpenMpi, "mpirun /bin/sh --app @"), None);
        assert_eq!(find(Kind::OpenMpi, "mpirun --app /no/such"), None);
        assert_eq!(find(Kind::Hydra, "mpiexec --app @"), None);
    }
}
