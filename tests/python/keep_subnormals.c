// Preloaded into TensorFlow by tensorflow_support.py: its threads flush subnormals to zero, by
// these functions, so that its kernels are seen only in part. With these they keep the state that
// they have.
int _ZN3tsl4port16SetDenormalStateERKNS0_13DenormalStateE(const void* state) { return state != 0; }

// ScopedFlushDenormal: the constructor flushes, the destructor of its base restores.
void _ZN3tsl4port19ScopedFlushDenormalC1Ev(void* scope) { (void)scope; }
void _ZN3tsl4port19ScopedFlushDenormalC2Ev(void* scope) { (void)scope; }
void _ZN3tsl4port31ScopedRestoreFlushDenormalStateD1Ev(void* scope) { (void)scope; }
void _ZN3tsl4port31ScopedRestoreFlushDenormalStateD2Ev(void* scope) { (void)scope; }
