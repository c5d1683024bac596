# NVTX 3 is in headers alone. They look for a tool in the environment, and else call what this pointer names. Each
# of their objects defines it as a weak null pointer. This definition is weak too, and a linker takes the first one:
# gclang names this file before all others. So the runtime learns of ranges, and a program may still name its own
# tool with a definition that is not weak.
	.weak	InitializeInjectionNvtx2_fnptr
	.type	InitializeInjectionNvtx2_fnptr, @object
	.size	InitializeInjectionNvtx2_fnptr, 8
	.section	.data.rel, "aw", @progbits
	.balign	8
InitializeInjectionNvtx2_fnptr:
	.quad	InitializeInjectionNvtx2
	.section	.note.GNU-stack, "", @progbits
