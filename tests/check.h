/* check.h - cmocka with the headers it needs, for every test. */
#ifndef MOUSSE_TESTS_CHECK_H
#define MOUSSE_TESTS_CHECK_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
