# Pumice. `make help` lists what there is to make.
SHELL := /bin/bash
.DELETE_ON_ERROR:

GO        ?= go
CC        ?= gcc
BIN       := bin
BUILD     := build
# Examples are compiled once an optimisation level, for all targets in one fat binary.
OFFLOAD   ?= gfx90a gfx906 gfx1030
OPT       ?= -O3
PROFILES  ?= mi210 radeonvii rx6900xt
FUZZTIME  ?= 3s
# Chips that hipcc does not know: scripts/hip-clang compiles for them.
NEWER_OFFLOAD  ?= gfx942 gfx1100 gfx1151 gfx1201
NEWER_PROFILES ?= mi300x rx7900xtx strixhalo rx9070xt
# At -O0 the quick ones, which differ most from -O3: calls, scratch, flat addresses.
NEWER_O0 ?= atomics devicemalloc functionpointers gridsync printf recursion reduction streams vectoradd warp
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

examples_src := $(wildcard examples/*.hip)
faults_src   := $(wildcard examples/faults/*.hip)
examples_hdr := $(wildcard examples/*.h)
exdir        := $(BUILD)/examples/$(patsubst -%,%,$(OPT))

.PHONY: help build demo test test-newest test-isa test-conformance conformance test-go test-examples test-stress stress bench nightly svm-live lint examples examples-all examples-newer test-newer fuzz-short clean deps

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## build          bin/pumice, and the libraries that it preloads
build:
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/pumice ./cmd/pumice
	$(MAKE) -s -C cmd/libpumice OUT=$(abspath $(BIN)) CC="$(CC)" GO="$(GO)"

## deps           install what the examples and tests need (Debian 12, apt)
deps:
	scripts/install-deps

## examples       compile examples/*.hip with hipcc (OFFLOAD="gfx90a ...", OPT=-O3)
examples: $(patsubst examples/%.hip,$(exdir)/%,$(examples_src) $(faults_src))

# Its header warns that it has no inline assembly for the host.
rocrandflags := "-Wno-\#warnings" -lrocrand

# gfx942 has no texture units, and clang 15 cannot compile image functions for gfx90a at -O0.
images := textures surfaces
targets = $(OFFLOAD)
newer_targets = $(NEWER_OFFLOAD)
ifeq ($(OPT),-O0)
$(images:%=$(exdir)/%): targets = $(filter-out gfx90a,$(OFFLOAD))
endif
$(images:%=$(BUILD)/newer/O3/%): newer_targets = $(filter-out gfx942,$(NEWER_OFFLOAD))

hipflags = -std=c++17 -Wall -Wextra -Wno-unused-command-line-argument $(OPT) $(targets:%=--offload-arch=%)

$(exdir)/%: examples/%.hip $(examples_hdr)
	@mkdir -p $(@D)
	@echo "hipcc $(OPT) $<"
	@hipcc $(hipflags) -x hip $< -o $@ $(if $(filter %rocrand,$@),$(rocrandflags))

# The source line of a fault is part of what its report shows, so these carry debug information.
$(exdir)/faults/%: examples/faults/%.hip $(examples_hdr)
	@mkdir -p $(@D)
	@echo "hipcc $(OPT) -g $<"
	@hipcc $(hipflags) -g -x hip $< -o $@ -lhsa-runtime64

examples-all:
	@$(MAKE) -s -j$$(nproc) examples OPT=-O3
	@$(MAKE) -s -j$$(nproc) examples OPT=-O0

## examples-newer compile the examples for gfx942 and later (NEWER_OFFLOAD)
newer := $(filter-out rocrand,$(examples_src:examples/%.hip=%))
examples-newer: $(newer:%=$(BUILD)/newer/O3/%) $(NEWER_O0:%=$(BUILD)/newer/O0/%)

$(BUILD)/newer/O3/%: examples/%.hip $(examples_hdr) scripts/hip-clang
	@echo "hip-clang -O3 $<"
	@scripts/hip-clang -std=c++17 -O3 $(newer_targets:%=--offload-arch=%) $< -o $@

$(BUILD)/newer/O0/%: examples/%.hip $(examples_hdr) scripts/hip-clang
	@echo "hip-clang -O0 $<"
	@scripts/hip-clang -std=c++17 -O0 $(NEWER_OFFLOAD:%=--offload-arch=%) $< -o $@

## test-newer     the examples on mi300x, rx7900xtx, strixhalo, rx9070xt (NEWER_PROFILES)
test-newer: build
	@$(MAKE) -s -j$$(nproc) examples-newer
	scripts/run-examples $(NEWER_PROFILES:%=--gpu %) $(BUILD)/newer/O3 $(BUILD)/newer/O0

## test-newest    some examples by ROCm 7's device library and clang 21, on mi355x and the newer profiles (scripts/hip-clang-21)
NEWEST ?= atomics devicemalloc functionpointers gridsync halves printf recursion reduction scan streams vectoradd warp
test-newest: build
	@scripts/llvm-newer >/dev/null
	@$(MAKE) -s -j$$(nproc) $(NEWEST:%=$(BUILD)/newest/%)
	scripts/run-examples --gpu mi355x $(NEWER_PROFILES:%=--gpu %) $(BUILD)/newest

newest = echo "hip-clang-21 $<"; scripts/hip-clang-21 -std=c++17 -O3 --offload-arch=gfx950 $(NEWER_OFFLOAD:%=--offload-arch=%) $< -o $@

$(BUILD)/newest/%: examples/newest/%.hip $(examples_hdr) scripts/hip-clang-21
	@$(newest)

$(BUILD)/newest/%: examples/%.hip $(examples_hdr) scripts/hip-clang-21
	@$(newest)

## demo           build Pumice and run every example on a virtual GPU
demo: deps build
	@$(MAKE) -s -j$$(nproc) examples OPT=-O3
	scripts/run-examples --gpu mi210 $(exdir)

## test           everything: lint, Go tests, every example on every profile at -O3 and -O0
test: lint build examples-all test-go test-examples test-newer test-conformance test-stress fuzz-short

# Some of Debian's tests of rocRAND and rocPRIM. Their packages are unpacked under build.
test-conformance: build
	$(GO) run ./tools/conformance -jobs $$(nproc) -slice tools/conformance/slice

## conformance    all of Debian's tests of rocRAND and rocPRIM by door A, hours (SUITES="rocrand rocrand6 rocprim")
SUITES ?= rocrand rocrand6 rocprim
conformance: build
	@mkdir -p $(BUILD)/conformance; failed=0; for suite in $(SUITES); do \
	  $(GO) run ./tools/conformance -logs $(BUILD)/conformance/logs/$$suite $$suite | tee $(BUILD)/conformance/$$suite.tsv; \
	  [ $${PIPESTATUS[0]} = 0 ] || failed=1; done; exit $$failed

test-go:
	PUMICE_TEST_ALL=1 $(GO) test -timeout 25m ./...

# Every example by AMD's runtime on Pumice's kernel (door C), by Pumice's own (door A), and by AMD's HIP on Pumice's HSA (door A too);
# then by the engines that are not this machine's default (rocrand takes the interpreter minutes).
test-examples:
	scripts/run-examples --jobs $$(nproc) --rocm system $(PROFILES:%=--gpu %) $(BUILD)/examples/O3 $(BUILD)/examples/O0
	scripts/run-examples --jobs $$(nproc) --rocm pumice $(PROFILES:%=--gpu %) $(BUILD)/examples/O3 $(BUILD)/examples/O0
	scripts/run-examples --jobs $$(nproc) --rocm hsa $(PROFILES:%=--gpu %) $(BUILD)/examples/O3
	scripts/run-examples --jobs $$(nproc) --engine jit-avx2 --gpu mi210 $(BUILD)/examples/O3
	scripts/run-examples --jobs $$(nproc) --engine interp --gpu mi210 $$(find $(BUILD)/examples/O3 -maxdepth 1 -type f ! -name rocrand)

test-stress:
	PUMICE_RUN_OPTIONS="--rocm system" scripts/stress-kill 40

## test-isa       the decoder and assembler against LLVM: a million random words of each target, and whole libraries (an hour)
ISA_CORPUS ?= $(BUILD)/isa-corpus
test-isa:
	@scripts/llvm-newer >/dev/null || echo "no LLVM 21: gfx950 is compared with testdata only"
	PUMICE_ISA_WORDS=1000000 PUMICE_ISA_CORPUS="$$(scripts/isa-corpus $(ISA_CORPUS))" $(GO) test -timeout 120m -run 'LLVM|Objdump|RoundTrip|Plans' ./engine/isa

## lint           gofmt, go vet, staticcheck
lint:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	GOARCH=arm64 $(GO) build -o /dev/null ./cmd/pumice
	$(GO) run $(STATICCHECK) ./...

## fuzz-short     every fuzz target for FUZZTIME
fuzz-short:
	scripts/fuzz-short $(FUZZTIME)

## nightly        random programs on both engines for NIGHTLY of CPU time (12h), random HIP programs on all engines and nine chips, all matrix instructions on other numbers, the references
##                of instructions on compiled code, a million operations of shared virtual memory on each driver, then every fuzz target for five minutes,
##                then all examples at -O0 on the newer chips, and test-isa
NIGHTLY ?= 12h
nightly:
	NIGHTLY_CPU=$(NIGHTLY) $(GO) test ./engine/jit -v -count 1 -timeout 0 -run '^TestNightly$$'
	$(MAKE) build
	$(GO) run ./tools/hipfuzz -files 100 -kernels 24
	$(GO) run ./tools/hipfuzz -files 100 -kernels 24 -gpus mi300x,rx9070xt,rx5700xt,mi100,radeonvii,strixhalo
	MATRIX_ROUNDS=6 MATRIX_SEED=$$(date +%s) $(GO) test ./engine/jit -count 1 -timeout 0 -run '^TestMatrixForms$$'
	PUMICE_TEST_ENGINE=jit $(GO) test ./engine/lift -count 1
	PUMICE_SVM_OPS=1000000 $(GO) test ./kernel/svmsim -count 1 -timeout 0 -run 'TestNoByteIsLost|TestEnginesAgree|TestNothingIsLostWhenThingsFail|TestAnyMachine|TestRealQueue'
	$(MAKE) svm-live
	scripts/fuzz-short 5m
	$(MAKE) test-newer NEWER_O0="$(filter-out $(images),$(newer))"
	$(MAKE) test-isa

## svm-live       a GiB of managed memory on a GPU with 64 MiB, by both runtimes, on both drivers, with XNACK on and off
svm-live: build
	PUMICE_TEST_ALL=1 PUMICE_TEST_SVM_MIB=1024 $(GO) test ./cmd/libpumice/svmlive -count 1 -v -run 'TestLive/.*/.*/.*/oversubscribe$$'

## bench          measure, and append to bench/results.jsonl
bench: build
	@$(MAKE) -s -j$$(nproc) examples OPT=-O3
	@scripts/install-deps bench
	$(GO) run ./bench -root .

## stress         STRESS runs, half of them killed at random, must leave nothing behind
STRESS ?= 1000
stress:
	scripts/stress-kill $(STRESS)

clean:
	rm -rf $(BIN) $(BUILD)
