/* told.h - what a run tells, collected line by line. */
#ifndef MOUSSE_TESTS_TOLD_H
#define MOUSSE_TESTS_TOLD_H

#include "train/options.h"

#include <string.h>

static char notices[4096];

static void collect(void *user, const char *text)
{
  (void)user;
  strncat(notices, text, sizeof notices - strlen(notices) - 2);
  strcat(notices, "\n");
}

static const run_notices collector = {collect, NULL};

#endif
