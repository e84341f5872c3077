-- What Snabb's programs print as their version.
return { version = "sluss", extra_version = "" }
