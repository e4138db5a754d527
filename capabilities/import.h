/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_IMPORT_H
#define CAPABILITIES_IMPORT_H

/*
 * import.h - what do the kernel providers do alike with imported sockets?
 *
 * Each looks whether the record's descriptor is what the record is about, fills
 * the names in and sets the mode. Whatever can fail does so before anything is
 * changed. Thread of all of them: any. Returns: 0, -EBADF or -EINVAL.
 */

#include <ringmail/import.h>

RGM_MUST_USE int rgi_import_stream(struct rgm_connect *record);
RGM_MUST_USE int rgi_import_listener(struct rgm_listen *record);
RGM_MUST_USE int rgi_import_packet(struct rgm_packet_open *record);

#endif /* CAPABILITIES_IMPORT_H */
