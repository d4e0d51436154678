/* fuzz_source.c - a whole input file from any bytes: text or JSON lines, plain, gzip or zstd. The
 * first byte says which name the file has. However text is cut, the documents are the same.
 *
 * The file is one in memory, and its names are links to it in a folder.
 */
#include "base/file.h"
#include "data/text/corpus.h"
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char folder[] = "/tmp/mousse-fuzz-XXXXXX";
static const char *const names[] = {"a.txt", "a.jsonl"};

static void remove_folder(void)
{
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  rmdir(folder);
}

static int make_folder(void)
{
  const int fd = memfd_create("input", MFD_CLOEXEC);
  FUZZ_CHECK(fd >= 0 && mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[64], target[64];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    FUZZ_CHECK(symlink(target, path) == 0);
  }
  return fd;
}

/* All documents, each after a byte 1. */
static mousse_status read_all(const char *path, size_t piece_bytes, mo_buffer *text)
{
  mo_corpus *corpus = NULL;
  corpus_piece piece = {0};
  mo_error error = {{0}};
  const corpus_options options = {.separator = "--", .piece_bytes = piece_bytes};
  FUZZ_CHECK(corpus_open(&corpus, &path, 1, &options, &error) == MOUSSE_OK);
  mousse_status status = corpus_next(corpus, &piece, &error);
  for (; status == MOUSSE_OK && piece.length > 0;
       status = corpus_next(corpus, &piece, &error)) {
    FUZZ_CHECK(piece.length <= piece_bytes);
    FUZZ_CHECK(mo_buffer_add(text, "\1", piece.starts_document ? 1 : 0));
    FUZZ_CHECK(mo_buffer_add(text, piece.text, piece.length));
  }
  FUZZ_CHECK(status == MOUSSE_OK || error.text[0] != '\0');
  corpus_close(corpus);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static int fd = -1;
  char path[64];
  mo_buffer whole = {0}, pieces = {0};
  if (size == 0) return 0;
  if (fd < 0) fd = make_folder();
  snprintf(path, sizeof path, "%s/%s", folder, names[data[0] % 2]);
  FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data + 1, size - 1, 0) == (ssize_t)size - 1);
  const mousse_status first = read_all(path, 1 << 16, &whole);
  FUZZ_CHECK(read_all(path, 7, &pieces) == first);
  if (first == MOUSSE_OK)
    FUZZ_CHECK(whole.size == pieces.size &&
               (whole.size == 0 || memcmp(whole.data, pieces.data, whole.size) == 0));
  mo_buffer_close(&whole);
  mo_buffer_close(&pieces);
  return 0;
}
