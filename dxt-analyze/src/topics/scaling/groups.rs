//! Groups runs that are repeats of each other, and orders the groups.

use super::measure::RunRow;
use std::cmp::Ordering;

/// Property of a run by which runs are grouped: runs with equal values count as repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Groups runs with the same number of ranks.
    Ranks,
    /// Groups runs with the same number of nodes.
    Nodes,
    /// Groups runs with the same name of the program.
    Program,
    /// Groups runs with the same MPI library and version.
    Mpi,
    /// Groups runs whose first trace or log files are in the same directory.
    Folder,
    /// Groups nothing: each run is a group of its own.
    Run,
    /// Groups runs with the same command line argument at this position, counted from 1.
    Place(usize),
    /// Groups runs with the same value of the program option of this name, or of an argument `name=value`.
    Option(String),
}

impl GroupBy {
    /// Parses one grouping key, such as `ranks` or the name of a program option.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "ranks" => Self::Ranks,
            "nodes" => Self::Nodes,
            "program" => Self::Program,
            "mpi" => Self::Mpi,
            "folder" => Self::Folder,
            "run" => Self::Run,
            other => other.parse().map_or_else(|_| Self::Option(other.to_owned()), Self::Place),
        }
    }

    /// Parses grouping keys (such as `ranks`) separated by commas.
    #[must_use]
    pub fn parse_all(text: &str) -> Vec<Self> {
        text.split(',').map(str::trim).filter(|key| !key.is_empty()).map(Self::parse).collect()
    }

    /// Returns the run's value of this grouping key, such as its number of ranks, as text; `-` if the run has none.
    #[must_use]
    pub fn key(&self, run: &RunRow) -> String {
        let none = || "-".to_owned();
        match self {
            Self::Ranks => run.job.ranks.to_string(),
            Self::Nodes => run.job.nodes.map_or_else(none, |nodes| nodes.to_string()),
            Self::Program => run.job.program.clone(),
            Self::Mpi => run.mpi.clone().unwrap_or_else(none),
            Self::Folder => folder(&run.job.source),
            Self::Run => run.job.source.clone(),
            Self::Place(place) => place.checked_sub(1).and_then(|at| run.args.get(at).cloned()).unwrap_or_else(none),
            Self::Option(name) => value_of(&run.args, name).unwrap_or_else(none),
        }
    }
}

fn folder(source: &str) -> String {
    let parent = std::path::Path::new(source).parent().and_then(std::path::Path::file_name);
    parent.map_or_else(|| ".".to_owned(), |name| name.to_string_lossy().into_owned())
}

impl std::fmt::Display for GroupBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ranks => "ranks",
            Self::Nodes => "nodes",
            Self::Program => "program",
            Self::Mpi => "mpi",
            Self::Folder => "folder",
            Self::Run => "run",
            Self::Place(place) => return write!(f, "{place}"),
            Self::Option(name) => name,
        })
    }
}

/// Returns the value of the program option `name` from `-t 1m`, `-t1m`, `-t=1m`, `--transfer=1m` or `transfer=1m`; for an option without a
/// value, the option's name. `None` if the option is not given.
fn value_of(args: &[String], name: &str) -> Option<String> {
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let Some(behind) = arg.strip_prefix(name) else { continue };
        if let Some(value) = behind.strip_prefix('=') {
            return Some(value.to_owned());
        }
        let is_short = name.len() == 2 && name.starts_with('-') && !name.ends_with('-');
        match behind {
            "" => {
                return Some(rest.next().filter(|next| !is_option(next)).map_or_else(|| name.to_owned(), Clone::clone));
            }
            value if is_short => return Some(value.to_owned()),
            _ => {}
        }
    }
    None
}

/// True if an argument is an option; negative numbers are values.
fn is_option(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Orders lists of key values lexicographically, comparing values by [`order`].
#[must_use]
pub fn order_all(a: &[String], b: &[String]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| order(a, b)).find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Orders key values: numbers by value, with binary units (`64k` before `1M`), and before texts.
#[must_use]
pub fn order(a: &str, b: &str) -> Ordering {
    match (number(a), number(b)) {
        (Some(one), Some(two)) => one.total_cmp(&two).then_with(|| a.cmp(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn number(text: &str) -> Option<f64> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let power = match unit.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|value| value * 1024_f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(args: &[&str], name: &str) -> Option<String> {
        value_of(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<String>>(), name)
    }

    #[test]
    fn an_option_has_its_value_however_it_is_written() {
        for args in [&["-b", "1g", "-t", "64k"][..], &["-t64k"], &["-t=64k", "-b"], &["x", "-t", "64k", "-t", "1m"]] {
            assert_eq!(value(args, "-t").as_deref(), Some("64k"), "{args:?}");
        }
        assert_eq!(value(&["--transfer=64k"], "--transfer").as_deref(), Some("64k"));
        assert_eq!(value(&["--transfers", "8", "--transfer", "64k"], "--transfer").as_deref(), Some("64k"));
        assert_eq!(value(&["size=3"], "size").as_deref(), Some("3"));
        assert_eq!(value(&["-c", "-t", "1"], "-c").as_deref(), Some("-c"));
        assert_eq!(value(&["-c"], "-c").as_deref(), Some("-c"));
        assert_eq!(value(&["-d", "-5"], "-d").as_deref(), Some("-5"));
        assert_eq!(value(&["a"], "-t"), None);
    }

    #[test]
    fn keys_are_ordered_as_people_expect() {
        let mut keys = ["1m", "zfs", "64k", "-", "8", "100", "4MiB", "nfs", "512"];
        keys.sort_by(|a, b| order(a, b));
        assert_eq!(keys, ["8", "100", "512", "64k", "1m", "4MiB", "-", "nfs", "zfs"]);
        assert_eq!(GroupBy::parse("3"), GroupBy::Place(3));
        assert_eq!(GroupBy::parse("-t"), GroupBy::Option("-t".into()));
    }
}
