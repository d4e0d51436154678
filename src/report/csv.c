/* csv.c - writes CSV. */
#include "report/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(csv_writer *csv, const char *text, size_t size)
{
  if (csv->status == MOUSSE_OK)
    csv->status = mo_writer_write(&csv->file, text, size, csv->error);
}

void csv_open(csv_writer *csv, const char *path, mo_error *error)
{
  *csv = (csv_writer){.error = error};
  csv->status = mo_writer_open(&csv->file, path, error);
}

static void separate(csv_writer *csv)
{
  if (csv->inside) put(csv, ",", 1);
  csv->inside = true;
}

void csv_text(csv_writer *csv, const char *text)
{
  separate(csv);
  if (strpbrk(text, ",\"\r\n") == NULL) {
    put(csv, text, strlen(text));
    return;
  }
  put(csv, "\"", 1);
  for (const char *from = text; *from != '\0';) {
    const size_t plain = strcspn(from, "\"");
    put(csv, from, plain);
    from += plain;
    if (*from == '"') put(csv, "\"\"", 2);
    from += *from == '"';
  }
  put(csv, "\"", 1);
}

/* Nine digits give a float back; whole numbers are written as such. */
void csv_number(csv_writer *csv, double value)
{
  char text[40] = "";
  if (isfinite(value))
    snprintf(text, sizeof text, value == rint(value) && fabs(value) < 1e15 ? "%.0f" : "%.9g",
             value);
  csv_text(csv, text);
}

void csv_end_row(csv_writer *csv)
{
  put(csv, "\n", 1);
  csv->inside = false;
}

mousse_status csv_close(csv_writer *csv)
{
  if (csv->status == MOUSSE_OK) return mo_writer_commit(&csv->file, csv->error);
  mo_writer_abandon(&csv->file);
  return csv->status;
}
