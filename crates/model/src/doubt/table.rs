//! The macro by which a family of doubts is declared: each doubt once, with all its texts.

/// Declares an enum of doubts. Each doubt has its figures, then its sentence as `format!` takes it,
/// which may name the figures, and its advice. `severity` says how bad it is, where doubts of a
/// kind differ in that. `apart` distinguishes doubts of one kind that are different things to a
/// reader. Families within the enum are listed in `families`.
macro_rules! doubts {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $(
                $(#[$doc:meta])*
                $doubt:ident $({ $($(#[$figure_doc:meta])* $figure:ident: $type:ty,)+ })? =>
                    ($($what:tt)+), $advice:expr
                    $(, severity: $severity:expr)? $(, apart: $apart:expr)?;
            )+
        }
        $(families { $($(#[$family_doc:meta])* $family:ident($of:ty),)+ })?
    ) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$doc])* $doubt $({ $($(#[$figure_doc])* $figure: $type,)+ })?,)+
            $($($(#[$family_doc])* $family($of),)+)?
        }

        impl $name {
            /// What is doubtful, in one sentence.
            pub fn what(&self) -> String {
                match self {
                    $(Self::$doubt $({ $($figure),+ })? => {
                        $($(let _ = $figure;)+)?
                        format!($($what)+)
                    })+
                    $($(Self::$family(doubt) => doubt.what(),)+)?
                }
            }

            /// What to do about it.
            pub fn advice(&self) -> &'static str {
                match self {
                    $(Self::$doubt { .. } => $advice,)+
                    $($(Self::$family(doubt) => doubt.advice(),)+)?
                }
            }

            /// Whether two doubts are of one kind, so that a reader needs only the worse.
            pub fn is_same_kind(&self, other: &Self) -> bool {
                $($(if let (Self::$family(one), Self::$family(other)) = (self, other) {
                    return one.is_same_kind(other);
                })+)?
                std::mem::discriminant(self) == std::mem::discriminant(other)
                    && self.apart() == other.apart()
            }

            /// Orders doubts of one kind: a worse one is larger. The number has no scale; it is
            /// always 0 for a kind without better and worse.
            pub fn severity(&self) -> f64 {
                match self {
                    $(Self::$doubt $({ $($figure),+ })? => {
                        $($(let _ = $figure;)+)?
                        0.0 $(+ $severity)?
                    })+
                    $($(Self::$family(doubt) => doubt.severity(),)+)?
                }
            }

            /// What distinguishes doubts of one kind; empty if nothing does.
            fn apart(&self) -> String {
                match self {
                    $(Self::$doubt $({ $($figure),+ })? => {
                        $($(let _ = $figure;)+)?
                        String::new() $(+ $apart)?
                    })+
                    $($(Self::$family(_) => String::new(),)+)?
                }
            }
        }
    };
}

pub(super) use doubts;
