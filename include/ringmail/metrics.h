/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_METRICS_H
#define RINGMAIL_METRICS_H

/*
 * metrics.h - what a runtime counts, as text that a scraper reads.
 *
 *     # HELP ringmail_deliveries_total handler and answer calls
 *     # TYPE ringmail_deliveries_total counter
 *     ringmail_deliveries_total{worker="0"} 1204
 *     ringmail_context_running{context="ingest.parser"} 2
 *
 * The counters of counters.h, by worker, how many actors live in each context
 * (context.h), and what is the process's. Format: Prometheus text exposition,
 * version 0.0.4.
 */

#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What belongs to the process, and to no worker. */
struct rgm_process_counters {
    uint64_t pools_created;  /* by anybody, the library included */
    uint64_t pool_exhausted; /* times a slot was wanted and none was free */
    uint64_t resident_bytes; /* now; 0: the system does not tell */
    uint64_t virtual_bytes;  /* likewise */
};

/* Copy them. Thread: any. Cost: a read of /proc/self/statm, proc(5). */
RGM_API void rgm_process_look(struct rgm_process_counters *ret_counters);

struct rgm_label {
    const char *name;
    const char *value; /* any bytes; escaped as the format wants it */
};

#define RGM_METRICS_LABELS_MAX 16

struct rgm_metrics_options {
    /* Begins every name. Default "ringmail". */
    const char *prefix;
    /* On every sample, before those that are its own. */
    const struct rgm_label *labels;
    size_t labels_count; /* up to RGM_METRICS_LABELS_MAX */
};

/*
 * Write all metrics. options: NULL is all defaults. Numbers are as fresh as
 * rgm_runtime_counters says.
 *
 * Thread:  any.
 * Returns: the length of the whole text in bytes; what fits is in `text`, with a
 *          zero behind it, so a result of size_bytes or more means that it was
 *          cut. -EINVAL for a prefix or label that is not a name, a label that
 *          stands twice, or is called "worker" or "context", or too many.
 * Cost:    no allocation.
 */
RGM_API long rgm_runtime_metrics(struct rgm_runtime *runtime,
                                 const struct rgm_metrics_options *options,
                                 char *text, size_t size_bytes);

/* Whether it may be the name of a metric, or of a label: a letter, underscore or
 * (metrics only) colon, then the same and digits; a label does not begin with
 * two underscores. Thread: any. */
RGM_API bool rgm_metric_name_valid(const char *name);
RGM_API bool rgm_label_name_valid(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_METRICS_H */
