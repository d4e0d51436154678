/* test_requests.c - who may ask, and what is answered: without sockets. */
#include "scratch.h"
#include "study/report_runs.h"
#include "watch/answer.h"
#include "watch/watch_json.h"

#include <math.h>
#include <string.h>

static const watch_guard local = {.bound = ""};
static const watch_guard open_guard = {
    .bound = "0.0.0.0", .machine = "lab", .token = "0123456789abcdef"};

static unsigned status_of(const watch_guard *guard, watch_request request)
{
  const char *sentence = NULL;
  if (request.method == NULL) request.method = "GET";
  if (request.path == NULL) request.path = "/api/runs";
  const unsigned status = guard_check(guard, &request, &sentence);
  assert_true((status == 200) == (sentence[0] == '\0'));
  return status;
}

#define STATUS(guard, ...) status_of(guard, (watch_request){__VA_ARGS__})

static void only_our_names_are_hosts(void **state)
{
  static const char *const good[] = {"127.0.0.1", "127.0.0.1:8787", "localhost:1",
                                     "LOCALHOST:80", "[::1]:8787"};
  static const char *const bad[] = {"evil.com",
                                    "127.0.0.1.evil.com",
                                    "localhost.evil.com",
                                    "10.0.0.1",
                                    "0.0.0.0:8787",
                                    "",
                                    "127.0.0.1:8a",
                                    "[::1",
                                    "[127.0.0.1",
                                    "127.0.0.1@evil",
                                    ":80",
                                    "lab"};
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    assert_int_equal(STATUS(&local, .host = good[i]), 200);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(STATUS(&local, .host = bad[i]), 421);
  assert_int_equal(STATUS(&local, .host = NULL), 421);
}

static void other_sites_are_refused(void **state)
{
  const char *host = "127.0.0.1:8787";
  (void)state;
  assert_int_equal(STATUS(&local, .host = host, .origin = "http://127.0.0.1:8787"), 200);
  assert_int_equal(STATUS(&local, .host = host, .origin = "http://evil.com"), 403);
  assert_int_equal(STATUS(&local, .host = host, .origin = "null"), 403);
  assert_int_equal(STATUS(&local, .host = host, .origin = "http://127.0.0.1:9999"), 403);
  assert_int_equal(STATUS(&local, .host = host, .site = "cross-site"), 403);
  assert_int_equal(STATUS(&local, .host = host, .site = "same-site"), 403);
  assert_int_equal(STATUS(&local, .host = host, .site = "same-origin"), 200);
  assert_int_equal(STATUS(&local, .host = host, .site = "none"), 200);
  /* a link to the page may be followed; nothing of it can be read from there */
  assert_int_equal(STATUS(&local, .host = host, .site = "cross-site", .path = "/"), 200);
}

static void nothing_is_taken(void **state)
{
  const char *host = "localhost";
  (void)state;
  assert_int_equal(STATUS(&local, .host = host, .method = "POST"), 405);
  assert_int_equal(STATUS(&local, .host = host, .method = "DELETE"), 405);
  assert_int_equal(STATUS(&local, .host = host, .method = "HEAD"), 200);
  assert_int_equal(STATUS(&local, .host = host, .has_body = true), 413);
}

static void a_token_is_asked_for(void **state)
{
  const char *host = "10.1.2.3:8787";
  const watch_argument right = {"token", "0123456789abcdef"},
                       wrong = {"token", "0123456789abcde"};
  (void)state;
  assert_int_equal(STATUS(&open_guard, .host = host), 401);
  assert_int_equal(STATUS(&open_guard, .host = "evil.com"), 421);
  assert_int_equal(STATUS(&open_guard, .host = "lab:8787"), 401);
  assert_int_equal(STATUS(&open_guard, .host = host, .arguments = &right, .argument_count = 1),
                   200);
  assert_int_equal(STATUS(&open_guard, .host = host, .arguments = &wrong, .argument_count = 1),
                   401);
  assert_int_equal(
      STATUS(&open_guard, .host = host, .cookie = "a=b; mousse_token_8787=0123456789abcdef"),
      200);
  assert_int_equal(
      STATUS(&open_guard, .host = "lab", .cookie = "mousse_token=0123456789abcdef"), 200);
  assert_int_equal(
      STATUS(&open_guard, .host = host, .cookie = "xmousse_token_8787=0123456789abcdef"), 401);
  assert_int_equal(
      STATUS(&open_guard, .host = host, .cookie = "mousse_token_8788=0123456789abcdef"), 401);
  assert_int_equal(STATUS(&open_guard, .host = host, .cookie = "mousse_token_8787="), 401);
  assert_int_equal(STATUS(&open_guard, .host = host, .cookie = "mousse_token_8787"), 401);
  assert_int_equal(
      STATUS(&open_guard, .host = host, .authorization = "Bearer 0123456789abcdef"), 200);
  assert_int_equal(STATUS(&open_guard, .host = host, .authorization = "Bearer "), 401);
}

/* A browser shows the cookies of a host to all its ports. */
static void servers_of_one_host_have_their_own_cookies(void **state)
{
  static const char *const hosts[] = {"lab",      "lab:8787",   "lab:8788", "[::1]",
                                      "[::1]:90", "lab:123456", "lab:8x"};
  static const char *const names[] = {"mousse_token", "mousse_token_8787", "mousse_token_8788",
                                      "mousse_token", "mousse_token_90",   "mousse_token",
                                      "mousse_token"};
  static const watch_guard other = {.bound = "0.0.0.0", .machine = "lab", .token = "other"};
  const char *cookies = "mousse_token_8787=0123456789abcdef; mousse_token_8788=other";
  (void)state;
  assert_int_equal(STATUS(&open_guard, .host = "lab:8787", .cookie = cookies), 200);
  assert_int_equal(STATUS(&other, .host = "lab:8788", .cookie = cookies), 200);
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    char name[GUARD_COOKIE];
    guard_cookie_name(&(watch_request){.host = hosts[i]}, name);
    assert_string_equal(name, names[i]);
  }
}

static void tokens_are_new_each_time(void **state)
{
  char one[GUARD_TOKEN], other[GUARD_TOKEN];
  (void)state;
  assert_true(guard_make_token(one) && guard_make_token(other));
  assert_int_equal(strlen(one), 32);
  assert_string_not_equal(one, other);
}

static unsigned answer_with(watch_model *model, const char *path,
                            const watch_argument *arguments, size_t count, json_t **document)
{
  watch_answer answer;
  const watch_request request = {.method = "GET",
                                 .path = path,
                                 .host = "localhost",
                                 .arguments = arguments,
                                 .argument_count = count};
  watch_answer_make(&answer, model, &local, &request);
  const unsigned status = answer.status;
  if (document != NULL) *document = json_loadb(answer.content, answer.size, 0, NULL);
  watch_answer_release(&answer);
  return status;
}

static unsigned answer_to(watch_model *model, const char *path, const char *run,
                          json_t **document)
{
  const watch_argument argument = {"run", run};
  return answer_with(model, path, &argument, run != NULL, document);
}

static const char metrics[] =
    "{\"step\": 0, \"tokens\": 0, \"val_loss\": 5}\n"
    "{\"step\": 1, \"tokens\": 10, \"loss\": 4, \"lr\": 0.1, \"grad_norm\": 1, \"seconds\": "
    "2}\n"
    "{\"step\": 1, \"matrix\": \"h.0.q\", \"update_rms\": 0.5, \"left_condition\": null}\n"
    "{\"step\": 1, \"tokens\": 10, \"val_loss\": 3.5}\n";

static void answers_are_documents(void **state)
{
  watch_model m;
  mo_error error = {{0}};
  json_t *document = NULL;
  mo_make_directories(scratch_path(state, "r"), &error);
  scratch_write(state, "r/config.yaml", "num_iterations: 10\nlr: 0.5\n", 26);
  scratch_write(state, "r/metrics.jsonl", metrics, strlen(metrics));
  assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
  watch_model_refresh(&m);
  assert_int_equal(answer_to(&m, "/api/runs", NULL, &document), 200);
  const json_t *row = json_array_get(json_object_get(document, "runs"), 0);
  assert_string_equal(json_string_value(json_object_get(row, "run")), "r");
  assert_true(json_number_value(json_object_get(row, "best")) == 3.5);
  json_decref(document);
  assert_int_equal(answer_to(&m, "/api/run", "r", &document), 200);
  const json_t *series = json_object_get(document, "series");
  assert_int_equal(json_array_size(json_object_get(series, "step")), 1);
  json_decref(document);
  assert_int_equal(answer_to(&m, "/api/curvature", "r", &document), 200);
  assert_int_equal(json_array_size(json_object_get(document, "matrices")), 1);
  json_decref(document);
  assert_int_equal(answer_to(&m, "/api/report", "r", &document), 200);
  assert_true(json_array_size(json_object_get(document, "figures")) > 3);
  json_decref(document);
  static const char *const outside[] = {"..", "../..", "/etc", "r/..", "r/", "./r", "", "R"};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
    assert_int_equal(answer_to(&m, "/api/run", outside[i], NULL), 404);
  assert_int_equal(answer_to(&m, "/../../etc/passwd", NULL, NULL), 404);
  assert_int_equal(answer_to(&m, "/report.html", "r", NULL), 200);
  /* a report on other runs than those named would be taken for one on them */
  enum { NAMED = 201 };
  watch_argument named[NAMED] = {{"run", "gone"}, {"run", "r"}};
  for (size_t i = 2; i < NAMED; i++) named[i] = named[1];
  assert_int_equal(answer_to(&m, "/api/report", NULL, NULL), 200);
  assert_int_equal(answer_to(&m, "/api/report", "gone", NULL), 404);
  assert_int_equal(answer_with(&m, "/api/report", named, 2, NULL), 200);
  assert_int_equal(answer_with(&m, "/api/report", named, NAMED - 1, NULL), 200);
  assert_int_equal(answer_with(&m, "/report.html", named, NAMED, NULL), 400);
  watch_model_close(&m);
}

/* The milliseconds of a step in the table of a report's only run. */
static double step_milliseconds(json_t *results)
{
  enum { COLUMN = 7 };
  double found = -1;
  size_t i = 0;
  json_t *figure = NULL;
  json_array_foreach(json_object_get(results, "figures"), i, figure)
  {
    const json_t *table = json_array_get(json_object_get(figure, "tables"), 0);
    if (strcmp(json_string_value(json_object_get(figure, "id")), "runs") != 0) continue;
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(table, "columns"), COLUMN)),
        "ms per step");
    const json_t *row = json_array_get(json_object_get(table, "rows"), 0);
    found = json_number_value(json_array_get(row, COLUMN));
  }
  json_decref(results);
  return found;
}

/* Slow at its end, and then as an archive tells of it. */
static void reports_have_the_median_of_a_step(void **state)
{
  static const char result[] = "{\"status\": \"complete\", \"step_seconds\": 0.25}";
  mo_buffer text = {0};
  mo_error error = {{0}};
  mo_make_directories(scratch_path(state, "r"), &error);
  scratch_write(state, "r/config.yaml", "num_iterations: 1030\n", 21);
  for (int i = 1; i <= 1030; i++) {
    char line[160];
    const int size = snprintf(line, sizeof line,
                              "{\"step\": %d, \"tokens\": %d, \"loss\": 4, \"lr\": 0.1, "
                              "\"grad_norm\": 1, \"seconds\": %g}\n",
                              i, i, i <= 1000 ? 0.1 : 0.5);
    assert_true(mo_buffer_add(&text, line, (size_t)size));
  }
  scratch_write(state, "r/metrics.jsonl", text.data, text.size);
  mo_buffer_close(&text);
  for (int archived = 0; archived < 2; archived++) {
    watch_model m;
    run_records records = {0};
    json_t *live = NULL, *read = NULL;
    if (archived) scratch_write(state, "r/result.json", result, strlen(result));
    assert_int_equal(watch_model_open(&m, *state, &error), MOUSSE_OK);
    watch_model_refresh(&m);
    assert_int_equal(watch_report(&m, m.runs, m.count, &live, &error), MOUSSE_OK);
    assert_int_equal(run_records_find(&records, *state, RECORD_CURVES, &error), MOUSSE_OK);
    assert_int_equal(report_runs(&records, "c", NAN, &read, &error), MOUSSE_OK);
    const double wanted = step_milliseconds(read);
    assert_true(fabs(wanted - (archived ? 250 : 100)) < 1e-6);
    assert_true(fabs(step_milliseconds(live) - wanted) < 1e-6);
    run_records_release(&records);
    watch_model_close(&m);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_our_names_are_hosts),
      cmocka_unit_test(other_sites_are_refused),
      cmocka_unit_test(nothing_is_taken),
      cmocka_unit_test(a_token_is_asked_for),
      cmocka_unit_test(tokens_are_new_each_time),
      cmocka_unit_test(servers_of_one_host_have_their_own_cookies),
      scratch_test(answers_are_documents),
      scratch_test(reports_have_the_median_of_a_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
