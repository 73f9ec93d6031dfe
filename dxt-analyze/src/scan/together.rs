//! Named analyses in one pass: [`together!`] defines a struct of analyses, and a struct of their partial results with the same field names.

/// Defines a struct of analyses that run in one pass, and a struct of their partial results: `together!(Name, Partial { one, two })`
/// defines `Name { one, two }` and `Partial { one, two }`. `Name` is an analysis if its fields are.
macro_rules! together {
    ($(#[$doc:meta])* $name:ident, $partial:ident { $($part:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[expect(non_camel_case_types, reason = "each part's type has the part's name")]
        pub(crate) struct $name<$($part),+> {
            $(pub(crate) $part: $part,)+
        }

        $(#[$doc])*
        #[expect(non_camel_case_types, reason = "each part's type has the part's name")]
        pub(crate) struct $partial<$($part),+> {
            $(pub(crate) $part: $part,)+
        }

        #[expect(non_camel_case_types, reason = "each part's type has the part's name")]
        impl<$($part: $crate::scan::Analysis),+> $crate::scan::Analysis for $name<$($part),+> {
            type Partial = $partial<$($part::Partial),+>;

            fn start(&self) -> Self::Partial {
                $partial { $($part: self.$part.start(),)+ }
            }

            fn wants(&self, run: &$crate::model::Run, process: $crate::model::ProcessId, head: &trace_format::frame::BlockHead) -> bool {
                false $(|| self.$part.wants(run, process, head))+
            }

            fn ordered(&self) -> bool {
                false $(|| self.$part.ordered())+
            }

            fn block(&self, partial: &mut Self::Partial, block: &$crate::scan::Block<'_>) {
                $($crate::scan::give(&self.$part, &mut partial.$part, block);)+
            }

            fn each<'p>(&'p self, partial: &'p mut Self::Partial, into: &mut Vec<$crate::scan::Alone<'p>>) {
                $(self.$part.each(&mut partial.$part, into);)+
            }

            fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
                $(self.$part.merge(&mut into.$part, other.$part);)+
            }
        }
    };
}
pub(crate) use together;
