//! Writers of counter records, stripe layouts and heat maps.

use super::error::{Error, Result, check, expect};
use super::region::RegionWriter;
use crate::counters::{CounterRecord, float_names, int_names};
use crate::heatmap::HeatmapRecord;
use crate::lustre::LustreRecord;
use crate::module::Module;
use std::io::Write;

/// Size of the field for the name of an OST pool, including the NUL, in bytes.
const POOL_BYTES: usize = 16;
/// Value of fields of version 1 that the caller cannot state: numbers of OSTs and MDTs of the file system, first OST requested.
const UNKNOWN: i64 = -1;

/// Version of the stripe layout records that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LustreVersion {
    /// Version 1: one component for the whole file, which every Darshan since 3.1 reads.
    V1,
    /// Version 2: any number of components. Darshan reads this version since 3.4.6; earlier versions of `darshan-dxt-parser` stop at it.
    V2,
}

pub(super) fn counters<W: Write>(
    region: &mut RegionWriter<'_, W>,
    module: Module,
    record: &CounterRecord,
) -> Result<()> {
    expect(module, "integer counters", int_names(module).len() as u64, record.ints.len() as u64)?;
    expect(module, "float counters", float_names(module).len() as u64, record.floats.len() as u64)?;
    region.put_u64(record.id)?;
    region.put_i64(record.rank)?;
    if matches!(module, Module::H5D | Module::PnetcdfVar) {
        region.put_u64(record.file_id.unwrap_or(0))?;
    }
    region.put_with(|bytes| {
        bytes.extend(record.ints.iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend(record.floats.iter().flat_map(|value| value.to_le_bytes()));
        if let Some(daos) = record.daos {
            bytes.extend(daos.pool.iter().chain(&daos.container));
            let (high, low) = daos.object.unwrap_or_default();
            if module == Module::Daos {
                bytes.extend(high.to_le_bytes().iter().chain(&low.to_le_bytes()));
            }
        }
    })
}

pub(super) fn lustre<W: Write>(
    region: &mut RegionWriter<'_, W>,
    version: LustreVersion,
    record: &LustreRecord,
) -> Result<()> {
    for component in &record.components {
        let count = u64::try_from(component.stripe_count).unwrap_or(0);
        expect(Module::Lustre, "OSTs in a component", count, component.osts.len() as u64)?;
        check("the name of an OST pool", component.pool.as_bytes().len() as u64, POOL_BYTES as u64 - 1)?;
    }
    region.put_u64(record.id)?;
    region.put_i64(record.rank)?;
    match version {
        LustreVersion::V1 => {
            let [component] = record.components.as_slice() else {
                let (what, found) = ("components, in version 1", record.components.len() as u64);
                return Err(Error::Shape { module: Module::Lustre, what, expected: 1, found });
            };
            for number in [UNKNOWN, UNKNOWN, UNKNOWN, component.stripe_size, component.stripe_count] {
                region.put_i64(number)?;
            }
        }
        LustreVersion::V2 => {
            region.put_u64(record.components.len() as u64)?;
            region.put_u64(record.components.iter().map(|component| component.osts.len() as u64).sum())?;
            for part in &record.components {
                let extent = [part.extent_start, part.extent_end];
                for number in [part.stripe_size, part.stripe_count, part.pattern, part.flags].into_iter().chain(extent)
                {
                    region.put_i64(number)?;
                }
                region.put_i64(part.mirror_id)?;
                let mut pool = [0; POOL_BYTES];
                pool[..part.pool.as_bytes().len()].copy_from_slice(part.pool.as_bytes());
                region.put(&pool)?;
            }
        }
    }
    for component in &record.components {
        region.put_with(|bytes| bytes.extend(component.osts.iter().flat_map(|ost| ost.to_le_bytes())))?;
    }
    Ok(())
}

pub(super) fn heatmap<W: Write>(region: &mut RegionWriter<'_, W>, record: &HeatmapRecord) -> Result<()> {
    let bins = record.write_bytes.len() as u64;
    expect(Module::Heatmap, "bins of reads, as many as of writes", bins, record.read_bytes.len() as u64)?;
    region.put_u64(record.id)?;
    region.put_i64(record.rank)?;
    region.put_f64(record.bin_width_seconds)?;
    region.put_u64(bins)?;
    // The Darshan runtime writes pointers into these bytes.
    region.put(&[0; 16])?;
    region.put_with(|bytes| {
        bytes.extend(record.write_bytes.iter().chain(&record.read_bytes).flat_map(|count| count.to_le_bytes()));
    })
}
