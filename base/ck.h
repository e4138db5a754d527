/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_CK_H
#define RGI_BASE_CK_H

/*
 * ck.h - how does a file get Concurrency Kit's operations and not all of them?
 *
 * It calls them `inline` only where a compiler optimises; elsewhere they are plain
 * static functions, which gcc then compiles into every object, the 250 that are not
 * used as well. That was nearly half of the time a debug build took for most files.
 */

#include <ck_cc.h>

#if !defined(__OPTIMIZE__)
#undef CK_CC_INLINE
#define CK_CC_INLINE CK_CC_UNUSED inline
#endif

#include <ck_pr.h>

#endif /* RGI_BASE_CK_H */
