//! Small models of the tracer's lock-free algorithms. Loom runs each model in every order that the memory orderings allow, up to a bound on
//! preemptions. The real code works on mapped memory, which loom cannot observe, so a model repeats the algorithm: the same steps in the
//! same order with the same memory orderings. Each model names its code; change both together. Each model has faulty variants, which omit a
//! step and must fail, to show the purpose of that step.
//!
//! Limits of loom: it treats a SeqCst access as AcqRel. If the code relies on the total order of SeqCst accesses, the model has a SeqCst
//! fence between the two accesses, and says so. Of each atomic, loom tracks only the last access when it looks for another order to try,
//! so a thread that only reads is started last, never first.

#[cfg(test)]
mod append_and_cut;
#[cfg(test)]
mod chunks;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod fixed_table;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod rings;
#[cfg(test)]
mod table;
#[cfg(test)]
mod turns;

/// Runs `model` in every order of its threads that has at most `preemptions` preemptions.
#[cfg(test)]
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut all = loom::model::Builder::new();
    all.preemption_bound = Some(preemptions);
    all.check(model);
}
