# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The front door, written by hand: everything is built in build/, the source
# tree stays as it is. User space is Autotools (packagers call autogen.sh and
# configure themselves), modules are plain Kbuild folders.
#
#   B=DIR       another build folder      KDIR=DIR  kernel to build modules for
#   KVER=VER    the kernel that the test bed boots (default: newest headers)
#   V=1         show commands             T="10-attach 21-verbs-pv" scenarios

B ?= build
override B := $(abspath $(B))
SHELL := /bin/bash
prefix ?= /usr
V ?= 0
JOBS ?= $(shell nproc)
KVER ?= $(shell export KDIR='$(KDIR)'; . tests/qemu/kver.sh 2>/dev/null && \
	echo $$KVER)
ifndef KDIR
KDIR := $(firstword $(wildcard /lib/modules/$(KVER)/build \
	/usr/src/linux-headers-$(KVER)))
endif
# What 'make install' builds modules for: the running kernel, or that of KDIR.
ifeq ($(origin KDIR),file)
INSTALL_KVER ?= $(shell uname -r)
KDIR_INSTALL = /lib/modules/$(INSTALL_KVER)/build
else
INSTALL_KVER ?= $(KVER)
KDIR_INSTALL = $(KDIR)
endif
MODULES_TO = $(DESTDIR)/lib/modules/$(INSTALL_KVER)/updates
MODULE_DIRS := $(patsubst %/Kbuild,%,$(wildcard frontend/Kbuild \
	backend/helper/Kbuild))
export KVER

Q := $(if $(filter 1,$(V)),,@)
QUIET := $(if $(filter 1,$(V)),,-s)

.PHONY: help deps build user modules demo check check-unit check-kernels
.PHONY: check-xen check-cable check-beside check-package deb bench bench-hca fuzz shell hca-vm install install-user install-modules
.PHONY: uninstall dist distcheck clean distclean

help:
	@echo 'make deps        install what is missing (Debian packages)'
	@echo 'make build       daemon, tools, tests and kernel modules, in build/'
	@echo 'make demo        Xen under QEMU: two guests run verbs programs'
	@echo 'make check       everything: check-unit, check-kernels, check-xen'
	@echo 'make check-unit  no root, no Xen, no HCA'
	@echo 'make check-kernels  modules for 6.1 and 6.12; KDIRS="DIR ..." others'
	@echo 'make fuzz        fuzz targets, FUZZ_TIME=60 seconds each'
	@echo 'make check-xen   scenarios on Xen under QEMU; T="NAME ..." some'
	@echo 'make check-package  packages: build, install, upgrade, purge'
	@echo 'make deb         Debian packages; prints their folder'
	@echo 'make bench       latency and bandwidth: native, PV, PVH'
	@echo 'make shell       dom0 shell with two guests that have a vhca'
	@echo 'make bench-hca   what two modelled ConnectX HCAs cost, as a table'
	@echo 'make hca-vm      a machine with two modelled ConnectX HCAs, and a shell'
	@echo 'make install     DESTDIR, prefix; modules for the running kernel or'
	@echo '                 KDIR; install-user, install-modules: half of it'
	@echo 'make dist        source archive in build/; distcheck: and try it'
	@echo 'make clean       remove build/'

deps:
	$(Q)tests/qemu/deps.sh

build: user modules

# Two makes in one build folder wait for each other.
LOCK = mkdir -p $(B) && flock $(B)/.lock

configure: configure.ac Makefile.am $(shell find backend frontend tests tools \
		xenstore -name Makefile.inc) $(wildcard m4/*.m4)
	$(Q)$(LOCK) ./autogen.sh >$(B)/autogen.log 2>&1 || \
		{ tail -n 20 $(B)/autogen.log; exit 1; }
	$(Q)touch $@

$(B)/config.status: configure
	$(Q)$(LOCK) sh -c 'cd $(B) && $(CURDIR)/configure -q --prefix=$(prefix) \
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
# $(call kbuild,KERNEL FOLDER,OUTPUT FOLDER,EXTRA ARGUMENTS)
define kbuild
	@test -e "$(1)/Makefile" || { \
		echo "no kernel build folder at '$(1)': run 'make deps' or set KDIR"; \
		exit 1; }
	$(Q)set -e; for d in $(MODULE_DIRS); do \
		mkdir -p $(2)/$$d; \
		ln -sf $(CURDIR)/$$d/Kbuild $(CURDIR)/$$d/*.[ch] $(2)/$$d/; \
	done; ln -sfn $(CURDIR)/include $(2)/include; \
	for d in $(MODULE_DIRS); do \
		$(LOCK) $(MAKE) $(QUIET) -C $(1) M=$(2)/$$d V=$(V) $(3); \
	done
endef

modules:
	$(call kbuild,$(KDIR),$(B)/kmod,modules)

UNIT = $(MAKE) $(QUIET) -C $(B) -j$(JOBS) check
check-unit: user
	$(Q)$(UNIT)

FUZZ_TIME ?= 60
fuzz: user
	$(Q)$(MAKE) $(QUIET) -C $(B) fuzz FUZZ_TIME=$(FUZZ_TIME)

KERNELS = tests/kbuild/check.sh --build $(B)/kernels $(KDIRS)
check-kernels: deps
	$(Q)$(KERNELS)

check-xen: deps build
	$(Q)tests/qemu/run --build $(B) --out $(B)/xen $(T)

check-cable: deps build
	$(Q)tests/hca/build-qemu.sh >/dev/null
	$(Q)tests/hca/two-machines.sh --build $(B)

deb: deps $(B)/config.status
	$(Q)tests/package/check.sh --build $(B) --debs

check-package: deps $(B)/config.status
	$(Q)tests/package/check.sh --build $(B)

# check-unit and check-kernels, when everything is built: 'user' would take the
# installed files from under the machine that runs meanwhile.
check-beside:
	$(Q)rc=0; $(UNIT) || rc=$$?; $(KERNELS) && exit $$rc

check: deps build
	$(Q)tests/check.sh $(B) "$(MAKE)"

demo: deps build
	$(Q)tests/qemu/run -v --build $(B) --out $(B)/xen demo

# Doorbells in a guest: these fail if they cost more than on bare metal.
RATIOS = 37-doorbell-ratio-pv 38-doorbell-ratio-pvh
bench: deps build
	$(Q)tests/qemu/run -v --build $(B) --out $(B)/xen bench $(RATIOS)
	$(Q)python3 tests/bench/report.py $(B)/xen/bench/raw $(B)/bench.json \
		$(RATIOS:%=$(B)/xen/%/bench.json)

bench-hca: deps build
	$(Q)tests/qemu/run -v --build $(B) --out $(B)/xen bench-hca

shell: deps build
	$(Q)tests/qemu/run --build $(B) --shell tests/qemu/shell.sh

hca-vm: deps build
	$(Q)tests/qemu/run --build $(B) --shell tests/qemu/hca-vm.sh

install: install-user install-modules
	$(Q)test -n "$(DESTDIR)" || tools/installed.sh $(INSTALL_KVER)

# For packagers: with DESTDIR nothing outside of it is touched.
install-user: user
	$(Q)$(MAKE) $(QUIET) -C $(B) install DESTDIR=$(DESTDIR)

install-modules:
	$(call kbuild,$(KDIR_INSTALL),$(B)/kmod-$(INSTALL_KVER),modules)
	$(Q)install -d $(MODULES_TO)
	$(Q)find $(B)/kmod-$(INSTALL_KVER) -name '*.ko' -exec sh -c 'set -e; \
		for m; do to=$(MODULES_TO)/$${m##*/}; \
		install -m 644 "$$m" "$$to"; strip --strip-debug "$$to"; \
		echo " $$to"; done' sh {} +

uninstall: $(B)/config.status
	$(Q)$(MAKE) $(QUIET) -C $(B) uninstall DESTDIR=$(DESTDIR)
	$(Q)rm -f $(MODULES_TO)/xen-vhca*.ko
	$(Q)test -n "$(DESTDIR)" || tools/installed.sh $(INSTALL_KVER)

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
