/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the files of the family "hx" share: an HCA with a host command register
 * and context memory in the host. There are two generations of it, a ConnectX-3
 * (m4, of the driver mlx4) and an InfiniHost III Lx (mt, of the driver mthca). What
 * is the same in both is in cx_hx*.c, and where they differ struct hx_kind says how.
 * Who does what:
 *   cx_hx.c	power-on, registers
 *   cx_hx_cmd.c	the command register, the table of commands
 *   cx_hx_icm.c	context memory: which page of it is where, page lists in it
 *   cx_hx_hca.c	the HCA's life
 *   cx_hx_port.c	the port and its agents
 *   cx_hx_mpt.c	memory keys; cx_hx_queue.c: EQs, CQs, SRQs; cx_hx_qp.c: QPs
 *   cx_hx_mcg.c	multicast groups
 *   cx_hx_wqe.c	send WQEs; cx_hx_mlx.c: those of the management QPs
 *   cx_m4.c	doorbells of a ConnectX-3; cx_m4_ctx.c: its contexts; cx_m4_cap.c: what
 *   		it tells of itself
 *   cx_mt.c, cx_mt_ctx.c, cx_mt_cap.c	the same of an InfiniHost; cx_mt_wqe.c: its send
 *   		WQEs and completion entries
 * The driver chooses all numbers of objects. They may go on above the size of
 * their table: the lower bits are the slot, the object has the whole number.
 */
#ifndef CX_HX_H
#define CX_HX_H

#include "cx_eng.h"
#include "cx_mt_prm.h"

#define HX_LOG_ICM	36u		/* octets of context memory, at most */
#define HX_LOG_CHUNK	6u		/* pages of it that are kept together */
#define HX_LOG_MAP_MOST	12u		/* pages of one entry of a list */

#define HX_LOG_CMDS	4u		/* commands under way */
#define HX_LOG_BF	8u		/* octets of a BlueFlame buffer */

/* How far the driver has come. */
enum hx_state { HX_OFF, HX_FW, HX_UP };

struct hx_icm {
	uint64_t **chunk;		/* pages' bus addresses | 1, or 0 */
	uint64_t pages;			/* that are mapped */
};

struct cx_hx {
	enum hx_state state;
	uint32_t hcr[HX_HCR_WORDS];
	uint64_t fa_pages, aux_pages;
	struct hx_icm icm;
	/* Of INIT_HCA. */
	uint8_t init[HX_INIT_BYTES];
	uint64_t mtt_base, dmpt_base;	/* what MTTs' addresses begin at; of the MPTs */
	uint64_t uarc_base;		/* of the records ... */
	uint8_t log_uarc;		/* ... and how many octets a UAR page has of them */
	uint8_t log_mpt, log_mcg;
	uint8_t log_cqe;		/* octets */
	uint32_t sqp_base;		/* of CONF_SPECIAL_QP; 0: none */
	uint8_t *given_back;		/* a bit for each MPT that is software's */
	struct cx_ids mgms;		/* entries of the multicast table */
	uint32_t mgm_walks;		/* through it so far */
};

/* ---- where the generations differ ---- */
/* A field: the arguments of hx_get() behind the structure. */
struct hx_place {
	uint16_t at;
	uint8_t hi, lo;
};

static inline uint32_t hx_at(const void *p, struct hx_place place)
{
	return hx_get(p, place.at, place.hi, place.lo);
}

/* A field of a QP's context that moves take: for which it is mandatory, or by which bit. */
struct hx_field {
	uint16_t at;
	uint8_t hi, lo, must;
	uint32_t opt;
};

enum { HX_TO_INIT = BIT(0), HX_TO_RTR = BIT(1), HX_TO_RTS = BIT(2) };

#define HX_FIELD(field, must, opt) { field, must, opt }
/* A GID, of four words. */
#define HX_FIELD_GID(at, must, opt) \
	{ at, 31, 0, must, opt }, { (at) + 4, 31, 0, must, opt }, \
	{ (at) + 8, 31, 0, must, opt }, { (at) + 12, 31, 0, must, opt }

struct hx_qpc {
	const struct hx_field *fields;
	unsigned int nr;
	uint32_t opt_alt;		/* the bit of the alternate path */
	uint16_t alt, alt_bytes, rgid;
	uint8_t port1;			/* the first port's number */
	uint8_t log_msg;		/* octets of a message, at most */
	struct hx_place pd, pkey, port, grh, bits, rlid, ack, sgid, hop, tclass,
			flow, sl, rnr_retry;
};

/* What has a buffer and a record. */
enum hx_context { HX_EQC, HX_CQC, HX_SRQC, HX_QPC };

struct hx_cmd_desc;

struct hx_kind {
	const struct hx_cmd_desc *cmds;	/* its own */
	/* A store to BAR 2; one to BAR 0 that is none of the family's, or NULL. */
	void (*uar_write)(struct cx_dev *d, uint64_t offset, uint64_t value,
			  unsigned int size);
	void (*reg_write)(struct cx_dev *d, uint64_t offset, uint32_t value);
	uint32_t first_uar;		/* that queues may have */
	uint32_t eqs;
	uint8_t first_vector;		/* number of an EQ's context that is vector 0 */
	uint8_t resize, moderate;	/* opcode modifiers of MODIFY_CQ */
	bool send_inval;		/* a send may end the peer's key */
	bool mtt_absolute;		/* an MTT's address is one of context memory */
	struct {
		uint16_t bytes;		/* of an entry of the multicast table */
		bool counted;		/* it has a number of members, or they have bits */
	} mgm;
	struct {
		struct hx_place pd, log_page;
		uint8_t log_less;	/* the page's size is told less that */
	} mpt;
	struct hx_place srq_stride;
	const struct hx_qpc *qpc;
	/* The buffer of a queue of so many octets. */
	enum cx_status (*buf)(struct cx_dev *d, struct cx_buf *b,
			      enum hx_context what, const uint8_t *context,
			      uint64_t size);
	/* Its record, as the engines know it. */
	uint64_t (*record)(const struct cx_dev *d, enum hx_context what,
			   const uint8_t *context);
	/* Where a QP's queues are in their buffer; its octets. */
	uint64_t (*layout)(const struct cx_dev *d, struct cx_qp *qp);
};

extern const struct hx_qpc hx_m4_qpc, hx_mt_qpc;
enum cx_status hx_m4_buf(struct cx_dev *d, struct cx_buf *b,
			 enum hx_context what, const uint8_t *context,
			 uint64_t size);
uint64_t hx_m4_record(const struct cx_dev *d, enum hx_context what,
		      const uint8_t *context);
uint64_t hx_m4_layout(const struct cx_dev *d, struct cx_qp *qp);
enum cx_status hx_mt_buf(struct cx_dev *d, struct cx_buf *b,
			 enum hx_context what, const uint8_t *context,
			 uint64_t size);
uint64_t hx_mt_record(const struct cx_dev *d, enum hx_context what,
		      const uint8_t *context);
uint64_t hx_mt_layout(const struct cx_dev *d, struct cx_qp *qp);

/* ---- cx_hx.c ---- */
int hx_init(struct cx_dev *d);
void hx_exit(struct cx_dev *d);
void hx_quiesce(struct cx_dev *d);
void hx_power_on(struct cx_dev *d);
uint64_t hx_pages_held(const struct cx_dev *d);
uint32_t hx_reg_read(struct cx_dev *d, uint64_t offset);
void hx_reg_write(struct cx_dev *d, uint64_t offset, uint64_t value,
		  unsigned int size);
#define HX_FAMILY_COMMON \
	.init = hx_init, .exit = hx_exit, .quiesce = hx_quiesce, \
	.power_on = hx_power_on, .pages_held = hx_pages_held, \
	.read = hx_reg_read, .write = hx_reg_write, \
	.wqe_read = hx_wqe_read, .local = hx_local
/*
 * A doorbell of two words comes as one store, or as two stores in this order
 * (32-bit CPUs): whether both are there.
 */
bool hx_two_words(struct cx_dev *d, uint64_t offset, uint64_t value,
		  unsigned int size, uint32_t word[2]);
void hx_cq_ring(struct cx_dev *d, uint32_t page, const uint32_t word[2]);

/* ---- cx_hx_icm.c ---- */
/* A page of context memory is there from now on: 0, -EINVAL, -ENOMEM. */
int hx_icm_map(struct cx_hx *hx, uint64_t virt, uint64_t bus, uint32_t log);
void hx_icm_unmap(struct cx_hx *hx, uint64_t virt, uint32_t pages);
void hx_icm_free(struct cx_hx *hx);
/* 0, -EFAULT. */
int hx_icm_read(struct cx_dev *d, uint64_t virt, void *to, size_t len);
int hx_icm_write(struct cx_dev *d, uint64_t virt, const void *from, size_t len);
/* nr bus addresses (big endian, flags off) of the MTTs there; -EFAULT. */
int hx_mtts(struct cx_dev *d, uint64_t mtt, void *pas, uint32_t nr);
/* Where a page of context memory is on the bus; -EFAULT. */
int hx_icm_bus(struct cx_hx *hx, uint64_t virt, uint64_t *bus);
/* Whether one of those from one address to before another is that page. */
bool hx_icm_covers(const struct cx_hx *hx, uint64_t from, uint64_t to, uint64_t bus);
/* The buffer of a queue; the pages are counted. */
struct hx_queue {
	uint64_t mtt;
	uint32_t log_page;		/* less 12 */
	uint64_t size;
};
enum cx_status hx_buf(struct cx_dev *d, struct cx_buf *b,
		      const struct hx_queue *q);
void hx_buf_free(struct cx_dev *d, struct cx_buf *b);
/* Writes the octet from one place to before another: 0, -EFAULT. */
int hx_buf_fill(struct cx_dev *d, const struct cx_buf *b, uint64_t from, uint64_t to,
		uint8_t octet);

/* ---- cx_hx_cmd.c ---- */
struct hx_cmd {
	uint16_t opcode;
	uint8_t op_mod;
	uint32_t in_mod;
	uint64_t in_param;		/* an address, or the parameter itself */
	uint64_t out_param;		/* as in_param; also the answer */
	uint8_t in[HX_MAILBOX];
	uint8_t out[HX_MAILBOX];	/* zeroed */
};

typedef enum cx_status (*hx_cmd_fn)(struct cx_dev *d, struct hx_cmd *c);

struct hx_cmd_desc {
	uint16_t opcode;
	const char *name;		/* NULL ends a table */
	hx_cmd_fn fn;
	enum hx_state state;		/* that is needed at least */
	uint16_t in, out;		/* octets of mailboxes */
};

/*
 * HW2SW_x and 2RST answer in a mailbox unless the opcode modifier says no. No driver
 * looks at what is in it, so they have none here.
 */
extern const struct hx_cmd_desc hx_cmds_hca[], hx_cmds_port[], hx_cmds_mpt[],
	hx_cmds_queue[], hx_cmds_qp[], hx_cmds_mcg[], hx_cmds_m4[], hx_cmds_mt[];
/* Runs what the register holds. */
void hx_hcr_run(struct cx_dev *d);

#define HX_FW_PAGES_NEEDED	96u

/* ---- cx_hx_mpt.c ---- */
/* Pages of context memory were unmapped: SYNC_TPT reads no entry of them. */
void hx_mpts_gone(struct cx_hx *hx, uint64_t virt, uint32_t pages);

/* ---- objects ---- */
void hx_objects_free(struct cx_dev *d);
void hx_eq_free(struct cx_dev *d, struct cx_eq *eq);
void hx_cq_free(struct cx_dev *d, struct cx_cq *cq);
void hx_srq_free(struct cx_dev *d, struct cx_srq *srq);
void hx_qp_free(struct cx_dev *d, struct cx_qp *qp);
void hx_mgms_free(struct cx_dev *d);
/* The tables have these sizes, by INIT_HCA. */
void hx_mgms_init(struct cx_dev *d);
/* Who is a member of which group: an entry was written, or there is a new QP. */
bool hx_mgms_changed(struct cx_dev *d);

/* Rows of the tables of both generations, whose entries have other sizes. */
enum cx_status hx_read_mgm(struct cx_dev *d, struct hx_cmd *c);
enum cx_status hx_write_mgm(struct cx_dev *d, struct hx_cmd *c);

/* ---- what a device tells of itself ---- */
struct hx_value {
	struct hx_place place;
	uint32_t value;
};

#define HX_VALUE(field, value) { { field }, value }
#define HX_SET_ALL(p, t) \
	hx_set_all(p, t, sizeof(t) / sizeof((t)[0]))
void hx_set_all(uint8_t *p, const struct hx_value *t, size_t nr);
/* QUERY_ADAPTER's name of the board, 16 octets. */
void hx_board(uint8_t *out, const char *name);

/* ---- cx_hx_wqe.c, cx_hx_mlx.c ---- */
/* Octets of a send WQE from its octet off on. */
int hx_wqe_copy(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		uint32_t off, void *to, uint32_t len);
int hx_wqe_read(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		struct cx_swqe *w);
uint8_t hx_local(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w);
/* QP 1 takes any P_Key of the port: which one it was is told by its index. */
uint32_t hx_pkey_index(const struct cx_dev *d, const struct cx_qp *qp,
		       const struct cx_frame *f);
/* What the vendor's octet of an error's completion says. */
uint8_t hx_vendor(const struct cx_comp *comp);
/* Takes the headers and the ICRC out of the pieces of a WQE; -EINVAL. */
int hx_mlx_headers(struct cx_dev *d, const struct cx_qp *qp,
		   struct cx_swqe *w);
/* Path bits by which a frame came. */
static inline uint32_t hx_path_bits(const struct cx_dev *d,
				    const struct cx_frame *f)
{
	return cx_frame_is_multicast(f) ? 0 :
	       f->dlid & ((1u << d->port.lmc) - 1);
}

/* ---- cx_m4_wqe.c ---- */
int hx_m4_sq_posted(struct cx_dev *d, const struct cx_qp *qp, uint16_t *pi);
int hx_m4_wqe_peek(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		   struct cx_swqe *w);
void hx_m4_complete(struct cx_dev *d, struct cx_qp *qp, struct cx_cq *cq,
		    const struct cx_comp *comp);

/* ---- cx_mt_wqe.c ---- */
int hx_mt_sq_posted(struct cx_dev *d, const struct cx_qp *qp, uint16_t *pi);
int hx_mt_wqe_peek(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		   struct cx_swqe *w);
void hx_mt_complete(struct cx_dev *d, struct cx_qp *qp, struct cx_cq *cq,
		    const struct cx_comp *comp);

#endif
