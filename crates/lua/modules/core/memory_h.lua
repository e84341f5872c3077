-- Memory that several processes map on demand. This engine has no such memory: the functions exist and do nothing.
require("ffi").cdef[[
int memory_demand_mappings;
void memory_sigsegv_setup(int huge_page_size, const char *path);
]]
return true
