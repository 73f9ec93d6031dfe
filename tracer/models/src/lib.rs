//! Small models of the tracer's lock-free parts. Loom runs each in every order that the memory orderings allow, up to a number of
//! times that a thread is put aside. The real code lies in mapped memory, which loom cannot see, so a model states the algorithm
//! once more: the same steps in the same order with the same orderings. Each names the code it stands for. Whoever changes one
//! changes the other. Beside each model stand wrong ones, which must fail: they show what the step that they leave out is for.
//!
//! What loom leaves out: it takes a SeqCst access for an AcqRel one. Where the code counts on one order of all SeqCst accesses, the
//! model has a SeqCst fence between the two accesses, and says so. And of each atomic it remembers the last access only when it looks
//! for another order to try, so a thread that only reads is started last, never the first one.

#[cfg(test)]
mod append_and_cut;
#[cfg(test)]
mod chunks;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod rings;
#[cfg(test)]
mod table;
#[cfg(test)]
mod turns;

/// Runs `model` in every order in which threads are put aside at most `preemptions` times.
#[cfg(test)]
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut all = loom::model::Builder::new();
    all.preemption_bound = Some(preemptions);
    all.check(model);
}
