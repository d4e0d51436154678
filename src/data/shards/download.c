/* download.c - published token shards over HTTP(S), with libcurl. */
#include "data/shards/download.h"

#include "base/file.h"
#include "data/shards/shard.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const published_set sets[] = {
    {"fineweb10B", "https://huggingface.co/datasets/kjj0/fineweb10B-gpt2/resolve/main",
     "fineweb", 103, 50257, "10 billion GPT-2 tokens of FineWeb, 100 million a shard (ODC-By)"},
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
  CURL *curl;
  const download_options *options;
  int write_errno;
  bool began;
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

static size_t take_bytes(char *data, size_t size, size_t count, void *user)
{
  transfer *t = user;
  const size_t bytes = size * count;
  if (!t->began && !begin_body(t)) {
    t->write_errno = errno;
    return 0;
  }
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
  if (result == CURLE_WRITE_ERROR)
    return mo_fail(error, MOUSSE_IO, "%s: cannot write: %s", t->part, strerror(t->write_errno));
  if (result == CURLE_HTTP_RETURNED_ERROR)
    return mo_fail(error, MOUSSE_IO, "%s: the server answers %ld", t->url, code);
  return mo_fail(error, MOUSSE_IO, "%s: %s", t->url, curl_easy_strerror(result));
}

static mousse_status attempt(transfer *t, bool *again, mo_error *error)
{
  *again = false;
  t->began = false;
  t->descriptor = open(t->part, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
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

static mousse_status check_shard(const char *path, uint32_t vocabulary, mo_error *error)
{
  mo_shard opened;
  MO_TRY(shard_open(&opened, path, vocabulary, error));
  shard_close(&opened);
  return MOUSSE_OK;
}

/* A part that is complete already, left by a process that died before its last act. */
static bool part_is_whole(const transfer *t)
{
  return access(t->part, F_OK) == 0 &&
         check_shard(t->part, t->options->vocabulary, NULL) == MOUSSE_OK;
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

mousse_status download_shard(const char *url, const char *path, const download_options *options,
                             bool *existed, mo_error *error)
{
  transfer t = {.url = url, .options = options};
  *existed = access(path, F_OK) == 0;
  if (*existed) return check_shard(path, options->vocabulary, error);
  const int length = snprintf(t.part, sizeof t.part, "%s.part", path);
  if (length < 0 || length >= 4096)
    return mo_fail(error, MOUSSE_INVALID_ARGUMENT, "%s: path is too long", path);
  MO_TRY(fetch(&t, error));
  const mousse_status status = check_shard(t.part, options->vocabulary, error);
  if (status != MOUSSE_OK) {
    unlink(t.part); /* the server sent something else: continuing it would be no use */
    return status;
  }
  if (rename(t.part, path) != 0)
    return mo_fail(error, MOUSSE_IO, "%s: cannot rename it into place: %s", t.part,
                   strerror(errno));
  return mo_sync_parent(path, error);
}
