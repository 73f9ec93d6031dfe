//! Compiles the variadic functions of the library: stable Rust has no way to define one.

fn main() {
    let source = "src/hooks/variadic.c";
    println!("cargo:rerun-if-changed={source}");
    cc::Build::new().file(source).flag("-fvisibility=hidden").flag("-fno-builtin").opt_level(2).compile("dxt_variadic");
    // A call from one wrapped function to another stays in the library: fprintf's goes to this library's vfprintf and to no
    // other one's, which would see the call twice.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}
