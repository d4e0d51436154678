/* told.h - what a run tells, collected line by line. */
#ifndef MOUSSE_TESTS_TOLD_H
#define MOUSSE_TESTS_TOLD_H

#include "train/options.h"

#include <string.h>

static char told[8192];

static void collect(void *user, const char *text)
{
  (void)user;
  strncat(told, text, sizeof told - strlen(told) - 2);
  strcat(told, "\n");
}

static const run_notices collector = {collect, NULL};

#endif
