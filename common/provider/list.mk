# SPDX-License-Identifier: GPL-2.0
# The one list of these files: Kbuild and automake read it.
provider_sources = common/provider/cm.c common/provider/lookup.c common/provider/mlx4.c \
	common/provider/mlx5.c common/provider/rxe.c
