//! Texts that segments refer to by number, such as file names, as Arrow dictionaries.

use crate::export::calls::{kind_name, mode_name};
use crate::model::Run;
use crate::topics::sites::numbered::Numbered;
use anyhow::Result;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, StringArray};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Maximum number of texts for which dictionaries are always written whole.
const FEW: usize = 1024;

/// Texts of one column, by number; `?` stands for unknown numbers. Equal texts share one dictionary entry, as readers expect.
#[derive(Clone)]
pub(super) struct Texts {
    different: Arc<StringArray>,
    /// For each number: index of its text in `different` (the distinct texts); the last entry is the index of `?`, for unknown numbers.
    places: Arc<[i32]>,
}

impl Default for Texts {
    fn default() -> Self {
        Self::new(std::iter::empty())
    }
}

impl Texts {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let (mut different, mut known) = (Vec::new(), FxHashMap::default());
        let place = |text: &'a str| {
            *known.entry(text).or_insert_with(|| {
                different.push(text);
                (different.len() - 1) as i32
            })
        };
        let places = texts.chain(["?"]).map(place).collect();
        Self { different: Arc::new(StringArray::from(different)), places }
    }

    /// Returns the dictionary key for a text's number, for use with [`Self::of`].
    pub(super) fn key(&self, number: u32) -> i32 {
        self.places.get(number as usize).or(self.places.last()).copied().unwrap_or_default()
    }

    /// Returns the dictionary array of `keys`. If there are more texts than rows, the dictionary contains only the texts used, so that
    /// readers do not get a million names with each batch.
    pub(super) fn of(&self, keys: Int32Array) -> Result<ArrayRef> {
        if self.different.len() <= keys.len().max(FEW) {
            return dictionary(keys, &self.different);
        }
        let (mut used, mut known) = (Vec::new(), FxHashMap::default());
        let mut again = |key: i32| {
            *known.entry(key).or_insert_with(|| {
                used.push(self.different.value(key as usize));
                (used.len() - 1) as i32
            })
        };
        let keys = keys.iter().map(|key| key.map(&mut again)).collect();
        dictionary(keys, &Arc::new(StringArray::from(used)))
    }
}

fn dictionary(keys: Int32Array, texts: &Arc<StringArray>) -> Result<ArrayRef> {
    let values: ArrayRef = Arc::<StringArray>::clone(texts);
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values)?))
}

#[derive(Default)]
pub(super) struct Names {
    pub(super) nodes: Texts,
    pub(super) files: Texts,
    pub(super) data_sets: Texts,
    pub(super) layers: Texts,
    pub(super) ops: Texts,
    pub(super) modes: Texts,
    pub(super) kinds: Texts,
    /// Places in the program, by number of the call site.
    pub(super) places: Texts,
}

impl Names {
    pub(super) fn new(run: &Run, sites: &Numbered) -> Self {
        Self {
            nodes: Texts::new(run.nodes.iter().map(String::as_str)),
            files: Texts::new(run.files.iter().map(|file| file.name.as_str())),
            data_sets: Texts::new(run.data_sets.iter().map(|set| set.path.as_str())),
            layers: Texts::new(run.ops.iter().map(|op| op.layer_name())),
            ops: Texts::new(run.ops.iter().map(|op| op.name.as_str())),
            modes: Texts::new(run.ops.iter().map(|op| mode_name(op.mode.name()))),
            kinds: Texts::new(run.ops.iter().map(|op| kind_name(op.class))),
            places: Texts::new((0..run.sites.frames.len() as u32).map(|number| sites.place(number).unwrap_or("?"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(array: &ArrayRef) -> (Vec<Option<String>>, usize) {
        let array = array.as_any().downcast_ref::<DictionaryArray<Int32Type>>().unwrap();
        let texts = array.downcast_dict::<StringArray>().unwrap();
        (texts.into_iter().map(|text| text.map(str::to_owned)).collect(), array.values().len())
    }

    #[test]
    fn a_dictionary_is_whole_or_has_what_is_used() {
        let some = |text: &str| Some(text.to_owned());
        let of = |texts: &Texts, numbers: &[Option<u32>]| {
            let keys = numbers.iter().map(|number| number.map(|number| texts.key(number)));
            read(&texts.of(keys.collect()).unwrap())
        };
        let few = Texts::new(["a", "b", "a", "b"].into_iter());
        assert_eq!(of(&few, &[Some(3), None, Some(9)]), (vec![some("b"), None, some("?")], 3));
        let names: Vec<String> = (0..FEW * 2).map(|number| format!("f{number}")).collect();
        let many = Texts::new(names.iter().map(String::as_str));
        let expected = vec![some("f2000"), None, some("f7"), some("f2000"), some("?")];
        assert_eq!(of(&many, &[Some(2000), None, Some(7), Some(2000), Some(u32::MAX)]), (expected, 3));
    }
}
