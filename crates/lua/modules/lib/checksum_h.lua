-- Declares the C functions of lib.checksum, for programs that call them by `ffi.C`.
require("lib.checksum")
return true
