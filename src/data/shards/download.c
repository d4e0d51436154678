/* download.c - published files over HTTP(S), with libcurl. */
#include "data/shards/download.h"

#include "base/file.h"
#include "data/shards/download_check.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const published_set sets[] = {
    {.name = "fineweb10B",
     .base = "https://huggingface.co/datasets/kjj0/fineweb10B-gpt2/resolve/main",
     .prefix = "fineweb",
     .train_shards = 103,
     .vocabulary = 50257,
     .description = "10 billion GPT-2 tokens of FineWeb, 100 million a shard (ODC-By)",
     .tokenizer_name = "GPT-2's tokenizer (MIT)",
     .tokenizer_base = "https://huggingface.co/openai-community/gpt2/resolve/main",
     .tokenizer = {{"vocab.json", 1042301,
                    "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"},
                   {"merges.txt", 456318,
                    "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"}}},
};

const published_set *published_set_at(unsigned index)
{
  return index < sizeof sets / sizeof *sets ? &sets[index] : NULL;
}

/* One attempt at one file. */
typedef struct transfer {
  const char *url;
  char part[4096 + 8];
  int descriptor;  /* of the part */
  uint64_t offset; /* where this attempt started */
  uint64_t written;
  uint64_t limit; /* the size that the file should have; 0: not known yet */
  CURL *curl;
  const download_expected *expected;
  const download_options *options;
  int write_errno;
  bool began, too_long;
  char sha256[MO_SHA256_TEXT]; /* as the server says; "" if it does not */
} transfer;

/* When the server ignores the range and sends everything, the part begins again. */
static bool begin_body(transfer *t)
{
  long code = 0;
  curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
  t->began = true;
  if (t->offset == 0 || code == 206) return true;
  t->offset = t->written = 0;
  return ftruncate(t->descriptor, 0) == 0 && lseek(t->descriptor, 0, SEEK_SET) == 0;
}

static size_t take_header(char *line, size_t size, size_t count, void *user)
{
  transfer *t = user;
  download_read_header(line, size * count, t->sha256);
  return size * count;
}

/* Would the file become longer than it can be? A server must not fill the disk. */
static bool is_too_long(transfer *t, const char *data, size_t bytes)
{
  char start[16];
  if (t->limit == 0 && t->written == 0) t->limit = download_size(t->expected, data, bytes);
  if (t->limit == 0 && pread(t->descriptor, start, sizeof start, 0) == (ssize_t)sizeof start)
    t->limit = download_size(t->expected, start, sizeof start);
  t->too_long = t->limit > 0 && t->written + bytes > t->limit;
  return t->too_long;
}

static size_t take_bytes(char *data, size_t size, size_t count, void *user)
{
  transfer *t = user;
  const size_t bytes = size * count;
  if (!t->began && !begin_body(t)) {
    t->write_errno = errno;
    return 0;
  }
  if (is_too_long(t, data, bytes)) return 0;
  for (size_t done = 0; done < bytes;) {
    const ssize_t put = write(t->descriptor, data + done, bytes - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      t->write_errno = errno;
      return 0;
    }
    done += (size_t)put;
  }
  t->written += bytes;
  return bytes;
}

static int show(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total,
                curl_off_t up_now)
{
  const transfer *t = user;
  (void)up_total;
  (void)up_now;
  if (t->options->progress != NULL)
    t->options->progress(t->options->user, t->offset + (uint64_t)now,
                         total > 0 ? t->offset + (uint64_t)total : 0);
  return 0;
}

static void configure(transfer *t)
{
  CURL *c = t->curl;
  curl_easy_setopt(c, CURLOPT_URL, t->url);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(c, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, 30L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L); /* a stalled connection is a failure */
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "mousse/" MOUSSE_VERSION_TEXT);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, show);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  /* Not CURLOPT_RESUME_FROM, which fails when the server ignores the range. */
  char range[32];
  snprintf(range, sizeof range, "%llu-", (unsigned long long)t->offset);
  if (t->offset > 0) curl_easy_setopt(c, CURLOPT_RANGE, range); /* copied by curl */
}

/* Worth another try: anything but the server's clear no and our own disk. */
static bool is_final(CURLcode result, long code)
{
  return result == CURLE_WRITE_ERROR || result == CURLE_UNSUPPORTED_PROTOCOL ||
         result == CURLE_URL_MALFORMAT || result == CURLE_OUT_OF_MEMORY ||
         (result == CURLE_HTTP_RETURNED_ERROR && code >= 400 && code < 500 && code != 408 &&
          code != 416 && code != 429);
}

/* The outcome of one attempt in words; *again: it may be tried once more. */
static mousse_status judge(transfer *t, CURLcode result, bool *again, mo_error *error)
{
  long code = 0;
  curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
  *again = result != CURLE_OK && !is_final(result, code);
  if (result == CURLE_OK) return MOUSSE_OK;
  if (code == 416) { /* the part is longer than the file: it is of something else */
    if (ftruncate(t->descriptor, 0) != 0) *again = false;
    return mo_fail(error, MOUSSE_IO, "%s: the server has fewer bytes than %s", t->url, t->part);
  }
  if (t->too_long)
    return mo_fail(error, MOUSSE_BAD_FORMAT,
                   "%s: the server sends more than the %llu bytes that the file can have",
                   t->url, (unsigned long long)t->limit);
  if (result == CURLE_WRITE_ERROR)
    return mo_fail(error, MOUSSE_IO, "%s: cannot write: %s", t->part, strerror(t->write_errno));
  if (result == CURLE_HTTP_RETURNED_ERROR)
    return mo_fail(error, MOUSSE_IO, "%s: the server answers %ld", t->url, code);
  return mo_fail(error, MOUSSE_IO, "%s: %s", t->url, curl_easy_strerror(result));
}

static mousse_status attempt(transfer *t, bool *again, mo_error *error)
{
  *again = false;
  t->began = t->too_long = false;
  t->limit = 0;
  t->descriptor = open(t->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (t->descriptor < 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot create: %s", t->part, strerror(errno));
  const off_t end = lseek(t->descriptor, 0, SEEK_END);
  t->offset = t->written = end > 0 ? (uint64_t)end : 0;
  t->curl = curl_easy_init();
  mousse_status status = MOUSSE_OK;
  if (t->curl == NULL) {
    status = mo_fail(error, MOUSSE_NO_MEMORY, "%s: no memory to download", t->url);
  } else {
    configure(t);
    status = judge(t, curl_easy_perform(t->curl), again, error);
    curl_easy_cleanup(t->curl);
  }
  if (status == MOUSSE_OK && fsync(t->descriptor) != 0)
    status = mo_fail(error, MOUSSE_IO, "%s: cannot sync: %s", t->part, strerror(errno));
  if (status != MOUSSE_OK && lseek(t->descriptor, 0, SEEK_END) == 0)
    unlink(t->part); /* nothing to go on with */
  close(t->descriptor);
  return status;
}

static void pause_for(double seconds)
{
  struct timespec time = {.tv_sec = (time_t)seconds,
                          .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

/* Only the headers, for the checksum that they may name. */
static bool ask_checksum(transfer *t)
{
  t->offset = 0;
  t->curl = curl_easy_init();
  if (t->curl == NULL) return false;
  configure(t);
  curl_easy_setopt(t->curl, CURLOPT_NOBODY, 1L);
  curl_easy_setopt(t->curl, CURLOPT_NOPROGRESS, 1L);
  const CURLcode result = curl_easy_perform(t->curl);
  curl_easy_cleanup(t->curl);
  return result == CURLE_OK;
}

/* A part that is complete already, left by a process that died before its last act. Only where
 * its contents say so: the size alone does not. A shard of the right length may hold the bytes
 * of a damaged transfer, so the server is asked; without an answer it is fetched again. */
static bool part_is_whole(transfer *t)
{
  const download_expected *e = t->expected;
  return (e->vocabulary > 0 || e->sha256 != NULL) && access(t->part, F_OK) == 0 &&
         download_check(t->part, e, "", NULL) == MOUSSE_OK &&
         (e->sha256 != NULL || ask_checksum(t)) &&
         download_check(t->part, e, t->sha256, NULL) == MOUSSE_OK;
}

static mousse_status fetch(transfer *t, mo_error *error)
{
  double pause = t->options->first_pause;
  bool again = false;
  if (part_is_whole(t)) return MOUSSE_OK;
  mousse_status status = attempt(t, &again, error);
  for (int i = 0; i < t->options->retries && again; i++, pause *= 2) {
    pause_for(pause);
    status = attempt(t, &again, error);
  }
  return status;
}

mousse_status download_file(const char *url, const char *path,
                            const download_expected *expected, const download_options *options,
                            bool *existed, mo_error *error)
{
  transfer t = {.url = url, .expected = expected, .options = options};
  *existed = access(path, F_OK) == 0;
  if (*existed) return download_check(path, expected, "", error);
  const int length = snprintf(t.part, sizeof t.part, "%s.part", path);
  if (length < 0 || length >= 4096)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", path);
  MO_TRY(fetch(&t, error));
  const mousse_status status = download_check(t.part, expected, t.sha256, error);
  if (status != MOUSSE_OK) {
    unlink(t.part); /* the server sent something else: continuing it would be no use */
    return status;
  }
  if (rename(t.part, path) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot rename it into place: %s", t.part,
                   strerror(errno));
  return mo_sync_parent(path, error);
}

mousse_status download_url(char *url, size_t capacity, const char *base, const char *name,
                           mo_error *error)
{
  size_t length = strlen(base);
  while (length > 0 && base[length - 1] == '/') length--;
  const int used = snprintf(url, capacity, "%.*s/%s", (int)length, base, name);
  if (used > 0 && (size_t)used < capacity) return MOUSSE_OK;
  return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: the address is too long", base);
}
