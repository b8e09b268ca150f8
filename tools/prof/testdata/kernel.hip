extern "C" __attribute__((global)) void scale(float *x, float by) {
  unsigned i = __builtin_amdgcn_workitem_id_x();
  x[i] =
      x[i] * by; // line 4
}
