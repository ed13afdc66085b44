# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The front door, written by hand: everything is built in build/, the source
# tree stays as it is. User space is Autotools (packagers call autogen.sh and
# configure themselves), modules are plain Kbuild folders.
#
#   B=DIR       another build folder      KDIR=DIR  kernel to build modules for
#   KVER=VER    the kernel that the test bed boots (default: newest headers)
#   DEPS=no     install nothing, whatever is missing
#   V=1         show commands             T="10-attach 21-verbs-pv" scenarios
#   SUITE=trixie  Debian release of the test bed's machines (default: this machine's)
#   GUEST_SUITE=bookworm  that of their guests (default: SUITE)
#   ARCH=arm64  with build, user, modules, deb: compile for that, of Debian 12 or SUITE

# For another release than this machine's all is compiled in a root of that one.
HOST_SUITE := $(shell . /etc/os-release 2>/dev/null; echo $$VERSION_CODENAME)
FOREIGN := $(filter-out $(HOST_SUITE),$(SUITE))
ifneq ($(SUITE),)
export SUITE
endif
# Guests of another release than dom0's.
ifneq ($(GUEST_SUITE),)
export GUEST_SUITE
GUEST_B := $(abspath build$(addprefix /,$(filter-out $(HOST_SUITE),$(GUEST_SUITE))))
endif

# Another architecture is cross-compiled, against the libraries of a root of it. One that
# is only in the environment was meant for somebody else.
TARGET := $(if $(filter command,$(origin ARCH)),$(ARCH))
ifneq ($(filter-out arm64,$(TARGET)),)
$(error ARCH=$(TARGET): arm64, or leave it out for this machine's own)
endif
ifneq ($(TARGET),)
CROSS := $(CURDIR)/tests/qemu/arm/root.sh --configure
CROSS_HEADERS = [ -n "$$KDIR" ] || KDIR=$$(tests/kbuild/headers.sh 6.1 $(TARGET)) || exit 1;
export CROSS_COMPILE ?= aarch64-linux-gnu-
endif

B ?= build$(addprefix /,$(FOREIGN))$(addprefix /,$(TARGET))
override B := $(abspath $(B))
SHELL := /bin/bash
prefix ?= /usr
V ?= 0
JOBS ?= $(shell nproc)

# The kernel is looked up by the recipes, in the shell: make reads this file
# before 'deps' installs its headers. These are what the user gave, or nothing.
FIND_KERNEL = $(CROSS_HEADERS) . tests/qemu/lib/kver.sh
# What 'make install' builds modules for: the running kernel, or that of KDIR.
FIND_INSTALL_KERNEL = KVER=$$(uname -r); \
	[ -z "$$KDIR" ] || KVER=''; \
	: "$${KDIR:=/lib/modules/$$KVER/build}"; $(FIND_KERNEL)
MODULES_TO = $(DESTDIR)/lib/modules/$$KVER/updates

Q := $(if $(filter 1,$(V)),,@)
QUIET := $(if $(filter 1,$(V)),,-s)

.PHONY: help deps build user modules demo check soak check-unit check-kernels
.PHONY: deps-build deps-unit deps-install check-debug check-xen check-other check-next check-udata check-cable check-built check-other-udata check-other-xen soak-status check-package deb bench bench-hca fuzz shell hca-vm install install-user install-modules
.PHONY: check-upstream demo-dom0less prepare check-bare uninstall dist distcheck clean distclean

help:
	@echo 'make deps        install what is missing (Debian packages)'
	@echo 'make build       daemon, tools, tests and kernel modules, in build/;'
	@echo '                 ARCH=arm64: for that, in build/arm64/'
	@echo 'make demo        Xen under QEMU: two guests run verbs programs'
	@echo 'make demo-dom0less  the same on Arm, Xen without dom0; VHCA_XEN_SRC=PLACE'
	@echo 'make prepare     what demo does before it boots: install, build, fetch'
	@echo 'make check       everything, in its short form; what CI runs'
	@echo 'make soak        the long forms: before a release, or a large change;'
	@echo '                 RESUME=no: with the scenarios that have passed before'
	@echo 'make soak-status which scenarios have passed with these sources'
	@echo 'make check-unit  no root, no Xen, no HCA'
	@echo 'make check-kernels  modules for 6.1 and 6.12; KDIRS="DIR ..." others'
	@echo 'make fuzz        fuzz targets, FUZZ_TIME=60 seconds each'
	@echo 'make check-xen   scenarios on Xen under QEMU; T="NAME ..." some'
	@echo 'make check-other  some of them on the other Debian release (12, 13)'
	@echo 'make check-next  some of them on the next Debian release (forky)'
	@echo 'make check-package  packages: build, install, upgrade, purge'
	@echo 'make check-upstream  patches for other trees: they apply, compile, ...'
	@echo 'make check-debug frontend and helper on a kernel with KASAN, lockdep, ...'
	@echo 'make check-bare  build and prepare, as first commands of a new machine'
	@echo 'make deb         Debian packages; prints their folder; ARCH=arm64'
	@echo 'make bench       latency and bandwidth: native, PV, PVH; table, plot'
	@echo 'make shell       dom0 shell with two guests that have a vhca'
	@echo 'make bench-hca   what two modelled ConnectX HCAs cost, as a table'
	@echo 'make hca-vm      a machine with two modelled ConnectX HCAs, and a shell'
	@echo 'make install     DESTDIR, prefix; modules for the running kernel or'
	@echo '                 KDIR; install-user, install-modules: half of it'
	@echo 'make dist        source archive in build/; distcheck: and try it'
	@echo 'make clean       remove build/'

# What a target needs is installed before anything looks for it.
DEPS ?= yes
INSTALL_DEPS = $(if $(filter no,$(DEPS)),true,tests/qemu/image/deps.sh)
deps:
	$(Q)$(INSTALL_DEPS) all
deps-build:
	$(Q)$(INSTALL_DEPS) $(if $(TARGET),arm,build)
deps-unit:
	$(Q)$(INSTALL_DEPS) unit
deps-install:
	$(Q)$(INSTALL_DEPS) install

ifeq ($(FOREIGN),)
build: user modules
else
BUILD_ROOT = $(if $(TARGET),$(FOREIGN_HEADERS) tests/package/cross.sh --in $(CURDIR) $(B) \
	$${KDIR%/usr/src/*} -- env SUITE=$(SUITE) KDIR=$$KDIR JOBS=$(JOBS), \
	tests/qemu/image/build-root.sh --in $(B) --)
# Of the kernel that its machines have.
FOREIGN_HEADERS = KDIR=$$(tests/kbuild/headers.sh 6.12 $(TARGET) $(FOREIGN)) || exit 1;
build: configure | deps
	$(Q)mkdir -p $(B); $(BUILD_ROOT) make $(QUIET) DEPS=no $(if $(TARGET),ARCH=$(TARGET)) \
		B=$(B) V=$(V) KCFLAGS="$$KCFLAGS" build
endif

# Two makes in one build folder wait for each other.
LOCK = mkdir -p $(B) && flock $(B)/.lock

configure: configure.ac Makefile.am $(shell find backend frontend tests tools \
		xenstore -name Makefile.inc) $(wildcard m4/*.m4) | deps-build
	$(Q)$(LOCK) ./autogen.sh >$(B)/autogen.log 2>&1 || \
		{ tail -n 20 $(B)/autogen.log; exit 1; }
	$(Q)touch $@

$(B)/config.status: configure | deps-build
	$(Q)$(LOCK) sh -c 'cd $(B) && \
		$(CROSS) $(CURDIR)/configure -q --prefix=$(prefix) \
		--sysconfdir=/etc --localstatedir=/var $(CONFIGURE_ARGS) \
		>configure.log 2>&1' || { tail -n 20 $(B)/configure.log; \
		echo "configure failed: 'make deps' installs what is missing"; \
		exit 1; }

user: $(B)/config.status
	$(Q)$(LOCK) $(MAKE) $(QUIET) -C $(B) -j$(JOBS) all
	$(Q)rm -rf $(B)/stage
	$(Q)$(LOCK) $(MAKE) $(QUIET) -C $(B) install DESTDIR=$(B)/stage \
		>$(B)/stage.log 2>&1 || { tail -n 20 $(B)/stage.log; exit 1; }

# Kbuild writes beside its sources: give it a tree of links instead.
# $(call kbuild,OUTPUT FOLDER,[tests]): for the kernel in $KDIR, in the shell.
kbuild = set -e; echo "modules for $$KVER" && \
	for d in $$(tools/kbuild-tree.sh $(1) $(2)); do \
		$(LOCK) $(MAKE) $(QUIET) -j$(JOBS) -C "$$KDIR" M=$(1)/$$d V=$(V) modules; \
	done

modules: | deps-build
	$(Q)$(FIND_KERNEL); $(call kbuild,$(B)/kmod,tests)

UNIT = $(MAKE) $(QUIET) -C $(B) -j$(JOBS) check
check-unit: user | deps-unit
	$(Q)$(UNIT)

FUZZ_TIME ?= 60
fuzz: user | deps-unit
	$(Q)$(MAKE) $(QUIET) -C $(B) fuzz FUZZ_TIME=$(FUZZ_TIME)

# Only sparse looks at what 'make build' compiled.
KERNELS = tests/kbuild/check.sh --build $(B)/kernels $(if $(FOREIGN),,--built $(B)/kmod)
check-kernels: $(if $(FOREIGN),,modules) | deps
	$(Q)$(KERNELS) $(KDIRS)

# Programs for arm64, if a scenario that is to run has a machine of that kind: in the
# short tier those of Xen 4.22 only. A machine of Debian 12 has the compiler of its kernel;
# that of another release is in a root.
ARM_T = $(if $(T),$(shell grep -lsE '^\# machine: (dom0less|arm64)' \
	$(T:%=tests/qemu/scenarios/%.sh)),$(filter soak,$(VHCA_TIER))$(VHCA_XEN_SRC))
NEEDS_ARM = $(if $(FOREIGN)$(filter bookworm,$(HOST_SUITE)),$(ARM_T))
check-xen: build | deps
	$(Q)$(if $(GUEST_B),$(MAKE) $(QUIET) SUITE=$(GUEST_SUITE) GUEST_SUITE= \
		B=$(GUEST_B) build)
	$(Q)$(if $(NEEDS_ARM),$(ARM),true)
	$(Q)tests/qemu/run $(PROVEN) --build $(B) --out $(B)/xen \
		$(if $(GUEST_B),--guest-build $(GUEST_B)) $(T)

check-cable: build | deps
	$(Q)tests/hca/build-qemu.sh >/dev/null
	$(Q)tests/hca/two-machines.sh --build $(B) $(if $(filter soak,$(VHCA_TIER)),--address)

# For another architecture all is done in a root that has its libraries.
ifeq ($(TARGET),)
deb: $(B)/config.status | deps
	$(Q)tests/package/check.sh --build $(B) --debs
else
deb:
	$(Q)CROSS_ARCH=$(TARGET) $(MAKE) $(QUIET) ARCH= B=$(B:%/$(TARGET)=%) deb
endif

check-package: $(B)/config.status | deps
	$(Q)tests/package/check.sh --build $(B)

# Patches for Linux and Xen, in the newest sources that Debian has.
check-upstream: | deps
	$(Q)$(INSTALL_DEPS) debug
	$(Q)tests/upstream/check.sh --build $(B)/upstream

# In a Debian root of its own, which takes nothing from this machine; what it
# compiled, this machine need not compile again. Of another release: it has another
# QEMU, so a scenario runs, too.
CACHE = $${XDG_CACHE_HOME:-$$HOME/.cache}/xen-vhca
check-bare: | deps
	$(Q)tests/bare/check.sh --build $(B) $(if $(FOREIGN),--suite $(FOREIGN) \
		--boot "$(or $(T),35-doorbell-pvh)",--export "$(CACHE)" \
		$(if $(filter yes,$(UNLESS_PASSED)),--unless-passed))

# check-unit and check-kernels, when everything is built. 'check-other' and 'check-next' (soak)
# compile for the other releases of Debian.
check-built:
	$(Q)rc=0; $(UNIT) || rc=$$?; $(KERNELS) --less-other && exit $$rc

# check: all in its short form; soak: the long forms, before a release. For another release:
# the scenarios. The rest of it is this machine's.
ifeq ($(FOREIGN),)
check: build | deps
	$(Q)tests/check.sh $(B) "$(MAKE)"
soak: build | deps
	$(Q)VHCA_RESUME=$(RESUME) tests/check.sh $(B) "$(MAKE)" soak
else
check: check-xen
soak: export VHCA_TIER = soak
soak: export VHCA_RESUME = $(RESUME)
soak: check-xen
endif

# Which scenarios of 'make soak' have passed with these sources: they are not run again.
# Another release or kernel for which nothing was built has no row.
RESUME ?= yes
STATUS = $(MAKE) $(QUIET) PROVEN=--proven
# $(call status,BUILD FOLDER,TARGET that builds in it,ARGUMENTS of make)
status = $(Q)if [ -d $(1)/kmod ]; then $(STATUS) $(3); \
	else echo "$(1:$(B)/%=%): nothing was built ('make $(2)' builds)"; fi
soak-status: export VHCA_TIER = soak
soak-status:
	$(Q)$(STATUS) check-xen
	$(call status,$(B)/$(OTHER),check-other,SUITE=$(OTHER) B=$(B)/$(OTHER) check-xen)
	$(call status,$(B)/$(NEXT),check-next,check-next)
	$(call status,$(B)/debug,check-debug,check-debug)

# Of machines of another release: what describes its drivers' udata, and the HCA model, held
# against the headers of its kernel.
UDATA_T = tests/unit/test_provider tests/unit/test_provider_hw tests/unit/test_provider_udata \
	tests/hca/unit/test_rich
check-udata: build
	$(Q)tests/qemu/image/build-root.sh --in $(B) -- sh -ec 'make -s -C "$$0" "$$@"; \
		for t; do "$$0/$$t" >"$$0/udata.log" 2>&1 || \
		{ cat "$$0/udata.log"; exit 1; }; echo "ok   $$t"; done' $(B) $(UDATA_T)

# The other release in a short form: an HCA with doorbell pages, traffic, suspend.
OTHER = $(if $(filter trixie,$(HOST_SUITE)),bookworm,trixie)
OTHER_T = 47-doorbell-suspend
check-other-udata check-other-xen: export KCFLAGS = -Werror
check-other: check-other-udata
	$(Q)$(MAKE) $(QUIET) check-other-xen
check-other-udata:
	$(Q)$(MAKE) $(QUIET) SUITE=$(OTHER) B=$(B)/$(OTHER) check-udata
check-other-xen:
	$(Q)$(MAKE) $(QUIET) SUITE=$(OTHER) B=$(B)/$(OTHER) \
		T="$(or $(T),$(OTHER_T))" check-xen

# The next release, as it is today: whether what comes will still work.
NEXT = forky
NEXT_T = 00-boot 20-verbs-pvh 21-verbs-pv
check-next: export KCFLAGS = -Werror
check-next:
	$(Q)$(MAKE) $(QUIET) SUITE=$(NEXT) B=$(B)/$(NEXT) T="$(or $(T),$(NEXT_T))" check-xen

# What a kernel finds that looks at itself: frontend and helper, in dom0 and guests.
# The short forms, which take much longer there.
DEBUG_T = 04-debug-kernel 10-attach 12-helper-guards-memory 21-verbs-pv 34-doorbell-pv \
	40-exit 41-kill-guest 43-cycles 44-mappings 45-doorbell-kill 47-doorbell-suspend \
	48-verbs-twice 49-faults 49-faults-hca 50-suspend 61-hostile-backend \
	56-kernel-verbs 57-nvme-pv 61-hostile-backend-kernel 67-hostile-mlx5
# Guests of that kernel are large, and a saved one is a file in dom0's memory.
check-debug: | deps
	$(Q)$(INSTALL_DEPS) debug
	$(Q)kernel=$$(tests/qemu/image/debug-kernel.sh) || exit 1; \
	export VHCA_KERNEL=$$kernel KDIR=$$kernel/build DEPS=no; \
	$(MAKE) B=$(B)/debug build && \
	VHCA_TIER=check TIME_SCALE=$${TIME_SCALE:-8} DOM0_MEM=$${DOM0_MEM:-3072} \
		tests/qemu/run $(PROVEN) --build $(B)/debug \
		--out $(B)/debug/xen $(or $(T),$(DEBUG_T))

# Images and QEMU are kept: 'demo' takes a minute then.
prepare: build | deps
	$(Q)tests/qemu/run --prepare --build $(B) demo

demo: build | deps
	$(Q)tests/qemu/run -v --build $(B) --out $(B)/xen demo

# Without dom0, on Arm, whose Xen Debian does not have: VHCA_XEN_SRC names its sources.
ARM = $(MAKE) $(QUIET) ARCH=arm64 B=$(B)/arm64 build
demo-dom0less: | deps
	$(Q)tests/qemu/arm/xen.sh >/dev/null
	$(Q)$(ARM)
	$(Q)tests/qemu/run -v --build $(B) --out $(B)/xen demo-dom0less

# Doorbells in a guest: these fail if they cost more than on bare metal.
RATIOS = 37-doorbell-ratio-pv 38-doorbell-ratio-pvh
BENCH_DIRS = $(addprefix $(B)/xen/,bench $(RATIOS))
# What counts; make check runs them, too.
COUNT_T = tests/unit/test_counts tests/unit/test_store tests/unit/kernel/test_front_life \
	tests/unit/kernel/test_helper_dmabuf
# Whatever fails: what was measured is reported, nothing of an earlier run.
bench: build | deps
	$(Q)rm -rf $(BENCH_DIRS) $(B)/counts.txt $(B)/counts.log
	$(Q)rc=0; \
	tests/qemu/run -v --build $(B) --out $(B)/xen bench $(RATIOS) || rc=$$?; \
	python3 tests/bench/report.py $(B)/bench.json $(BENCH_DIRS) || rc=$$?; \
	python3 tests/bench/plot.py $(B)/bench.json $(B)/bench.svg || rc=$$?; \
	$(MAKE) $(QUIET) -C $(B) $(COUNT_T) || rc=$$?; \
	for t in $(COUNT_T); do \
		VHCA_COUNTS=$(B) $(B)/$$t >>$(B)/counts.log 2>&1 || rc=$$?; \
	done; \
	python3 tests/bench/counts.py docs/results/performance.md $(B)/counts.txt \
		$(B)/bench.json || rc=$$?; \
	exit $$rc

bench-hca: build | deps
	$(Q)tests/qemu/run -v --build $(B) --out $(B)/xen bench-hca

shell: build | deps
	$(Q)tests/qemu/run --build $(B) --shell tests/qemu/scenarios/shell.sh

hca-vm: build | deps
	$(Q)tests/qemu/run --build $(B) --shell tests/qemu/scenarios/hca-vm.sh

install: install-user install-modules
	$(Q)test -n "$(DESTDIR)" || { $(FIND_INSTALL_KERNEL); \
		tools/installed.sh $$KVER; }

# For packagers: with DESTDIR nothing outside of it is touched.
install-user: user
	$(Q)$(MAKE) $(QUIET) -C $(B) install DESTDIR=$(DESTDIR)

install-modules: | deps-install
	$(Q)$(FIND_INSTALL_KERNEL); $(call kbuild,$(B)/kmod-$$KVER); \
	install -d $(MODULES_TO); \
	find $(B)/kmod-$$KVER -name '*.ko' -exec sh -c 'set -e; \
		to=$$0; for m; do \
		install -m 644 "$$m" "$$to"; strip --strip-debug "$$to/$${m##*/}"; \
		echo " $$to/$${m##*/}"; done' $(MODULES_TO) {} +

uninstall: $(B)/config.status
	$(Q)$(MAKE) $(QUIET) -C $(B) uninstall DESTDIR=$(DESTDIR)
	$(Q)if [ -n "$$KDIR" ]; then $(FIND_KERNEL); else KVER=$$(uname -r); fi; \
	rm -f $(MODULES_TO)/xen-vhca*.ko; \
	test -n "$(DESTDIR)" || tools/installed.sh $$KVER

dist: $(B)/config.status
	$(Q)$(MAKE) $(QUIET) -C $(B) dist
	@ls $(B)/*.tar.*

# The archive builds, passes its tests and installs, sources read-only.
distcheck: $(B)/config.status
	$(Q)$(MAKE) $(QUIET) -C $(B) distcheck >$(B)/distcheck.log 2>&1 || \
		{ tail -n 30 $(B)/distcheck.log; exit 1; }
	@ls $(B)/*.tar.*

clean:
	$(Q)rm -rf $(B)

distclean: clean
	$(Q)rm -rf configure aclocal.m4 autom4te.cache build-aux config.h.in \
		Makefile.in
