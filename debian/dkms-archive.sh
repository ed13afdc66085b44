# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Goes into the postinst of @NAME@-dkms, after DKMS's own part. That one loads modules that
# were compiled elsewhere (docs/guide/install.md); from Debian 13 on it installs them only for
# kernels whose headers are there, so what is built and not installed is installed here.
if [ "$1" = configure ]; then
	dkms status -m @NAME@ |
		sed -n 's/^\([^,]*\), \([^,]*\), \([^:]*\): built.*/\1 \2 \3/p' |
		while read -r module kernel arch; do
			[ ! -d "/lib/modules/$kernel" ] ||
				dkms install "$module" -k "$kernel" -a "$arch"
		done
fi
