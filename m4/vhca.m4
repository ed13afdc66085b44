# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors

# VHCA_CHECK_HEADERS: what pkg-config does not tell.
AC_DEFUN([VHCA_CHECK_HEADERS], [
	AC_CHECK_HEADERS([xen/io/ring.h], [],
		[AC_MSG_ERROR([xen/io/ring.h not found (Debian: libxen-dev)])],
		[[#include <stddef.h>
#include <stdint.h>
#include <string.h>]])
	AC_CHECK_HEADERS([xen/sys/gntdev.h], [],
		[AC_MSG_ERROR([xen/sys/gntdev.h not found (Debian: libxen-dev)])],
		[[#include <stdint.h>
#include <xen/xen.h>
#include <xen/grant_table.h>]])
	AC_CHECK_HEADERS([rdma/ib_user_verbs.h rdma/ib_user_ioctl_verbs.h], [],
		[AC_MSG_ERROR([$ac_header not found (Debian: linux-libc-dev)])])
	AC_CHECK_HEADERS([sys/pidfd.h])
	AC_SEARCH_LIBS([pthread_create], [pthread], [],
		[AC_MSG_ERROR([no POSIX threads])])
])

# VHCA_CHECK_MLX5: what the HCA model of the tests is written in terms of; its
# include folder in the build folder is tests/hca/include.
AC_DEFUN([VHCA_CHECK_MLX5], [
	AC_CHECK_HEADER([infiniband/mlx5dv.h])
	AC_MSG_CHECKING([for linux/mlx5/mlx5_ifc.h])
	have_mlx5_ifc=no
	AS_IF([test "$ac_cv_header_infiniband_mlx5dv_h" = yes &&
		mlx5_ifc=`"$srcdir/tests/hca/mlx5-include.sh" \
			tests/hca/include 2>/dev/null`],
		[have_mlx5_ifc=yes
		AC_MSG_RESULT([$mlx5_ifc])],
		[AC_MSG_RESULT([no])])
	AM_CONDITIONAL([HAVE_MLX5_IFC], [test "$have_mlx5_ifc" = yes])
])

# VHCA_CFLAGS: compiler flags in VHCA_WARN and VHCA_SAN.
AC_DEFUN([VHCA_CFLAGS], [
	VHCA_WARN="-Wall -Wextra -Wmissing-prototypes -Wshadow -Wvla"
	AS_IF([test "x$enable_werror" = xyes],
		[VHCA_WARN="$VHCA_WARN -Werror"])
	VHCA_SAN=
	AS_IF([test "x$enable_sanitizers" = xyes],
		[VHCA_SAN="-fsanitize=address,undefined"
		VHCA_SAN="$VHCA_SAN -fno-sanitize-recover=undefined"
		VHCA_SAN="$VHCA_SAN -fno-omit-frame-pointer"])
	AC_SUBST([VHCA_WARN])
	AC_SUBST([VHCA_SAN])
])
