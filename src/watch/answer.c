/* answer.c - requests and what is said to them. */
#include "watch/answer.h"

#include "report/page_data.h"
#include "report/report.h"
#include "watch/watch_data.h"
#include "watch/watch_json.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHOSEN = 200, CURVATURE_BYTES = 16 << 20 };

static const char json_kind[] = "application/json; charset=utf-8";
static const char text_kind[] = "text/plain; charset=utf-8";
static const char html_kind[] = "text/html; charset=utf-8";

static const struct {
  const char *path, *type;
  const unsigned char *data;
  const size_t *size;
} parts[] = {
    {"/", html_kind, watch_html, &watch_html_size},
    {"/page.css", "text/css; charset=utf-8", page_css, &page_css_size},
    {"/watch.css", "text/css; charset=utf-8", watch_css, &watch_css_size},
    {"/chart.js", "text/javascript; charset=utf-8", page_chart_js, &page_chart_js_size},
    {"/charts.js", "text/javascript; charset=utf-8", page_charts_js, &page_charts_js_size},
    {"/figures.js", "text/javascript; charset=utf-8", page_figures_js, &page_figures_js_size},
    {"/tools.js", "text/javascript; charset=utf-8", watch_tools_js, &watch_tools_js_size},
    {"/runs.js", "text/javascript; charset=utf-8", watch_runs_js, &watch_runs_js_size},
    {"/run.js", "text/javascript; charset=utf-8", watch_run_js, &watch_run_js_size},
    {"/maps.js", "text/javascript; charset=utf-8", watch_maps_js, &watch_maps_js_size},
    {"/watch.js", "text/javascript; charset=utf-8", watch_js, &watch_js_size},
};

static void give(watch_answer *a, unsigned status, const char *type, const char *content,
                 size_t size)
{
  a->status = status;
  a->type = type;
  a->content = content;
  a->size = size;
}

static void refuse(watch_answer *a, unsigned status, const char *sentence)
{
  mo_buffer_add(&a->body, sentence, strlen(sentence));
  mo_buffer_add(&a->body, "\n", 1);
  give(a, status, text_kind, a->body.data, a->body.size);
}

/* Takes the text. */
static void give_text(watch_answer *a, char *text)
{
  if (text == NULL || !mo_buffer_add(&a->body, text, strlen(text)))
    refuse(a, 500, "No memory for this.");
  else
    give(a, 200, json_kind, a->body.data, a->body.size);
  free(text);
}

/* Takes the document. */
static void give_json(watch_answer *a, json_t *document)
{
  give_text(a, json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(7)));
  json_decref(document);
}

static void answer_runs(watch_answer *a, watch_model *model, const watch_request *request)
{
  (void)request;
  a->cacheable = true;
  a->version = model->version;
  give_json(a, watch_runs_json(model));
}

/* "LAYOUT,FROM"; anything else asks for all. */
static series_request request_of(const char *text)
{
  char *end = NULL;
  const series_request all = {UINT64_MAX, 0};
  if (text == NULL) return all;
  const uint64_t layout = strtoull(text, &end, 10);
  return *end == ',' ? (series_request){layout, strtoull(end + 1, NULL, 10)} : all;
}

static watched_run *chosen(watch_answer *a, watch_model *model, const watch_request *request)
{
  const char *path = guard_argument(request, "run", 0);
  watched_run *run = path != NULL ? watch_run_named(model, path) : NULL;
  if (run == NULL) refuse(a, 404, "There is no such run.");
  return run;
}

static void answer_run(watch_answer *a, watch_model *model, const watch_request *request)
{
  const watched_run *run = chosen(a, model, request);
  if (run == NULL) return;
  give_json(a, watch_run_json(model, run, request_of(guard_argument(request, "steps", 0)),
                              request_of(guard_argument(request, "validations", 0))));
}

/* Telemetry is read now, as far as one request goes; "more": ask again. */
static void answer_curvature(watch_answer *a, watch_model *model, const watch_request *request)
{
  watched_run *run = chosen(a, model, request);
  bool more = false;
  if (run == NULL) return;
  curvature_map *map = watched_run_curvature(run, model->root, CURVATURE_BYTES, &more);
  if (map == NULL) {
    refuse(a, 500, "No memory for this.");
    return;
  }
  json_t *all = curvature_json(map, guard_argument(request, "quantity", 0),
                               guard_argument(request, "matrix", 0));
  json_object_set_new(all, "more", json_boolean(more));
  give_json(a, all);
}

/* The document of a report on the runs that are named, or on all when none is; NULL: the answer
 * says why not. Of those named, some may have been removed meanwhile. */
static json_t *report_of(watch_answer *a, watch_model *model, const watch_request *request)
{
  watched_run *runs[MOST_CHOSEN];
  size_t named = 0, count = 0;
  mo_error error = {{0}};
  json_t *results = NULL;
  const char *path = NULL;
  while ((path = guard_argument(request, "run", named)) != NULL && named++ < MOST_CHOSEN) {
    watched_run *run = watch_run_named(model, path);
    if (run != NULL) runs[count++] = run;
  }
  const bool all = named == 0;
  if (named > MOST_CHOSEN) {
    refuse(a, 400, "At most 200 runs can be named. Name none for a report on all.");
    return NULL;
  }
  if (!all && count == 0) {
    refuse(a, 404, "There is no such run.");
    return NULL;
  }
  if (watch_report(model, all ? model->runs : runs, all ? model->count : count, &results,
                   &error) == MOUSSE_OK)
    return results;
  refuse(a, 404, error.text);
  return NULL;
}

static void answer_report(watch_answer *a, watch_model *model, const watch_request *request)
{
  json_t *results = report_of(a, model, request);
  if (results == NULL) return;
  give_text(a, report_drawing(results));
  json_decref(results);
}

static void answer_page(watch_answer *a, watch_model *model, const watch_request *request)
{
  mo_error error = {{0}};
  json_t *results = report_of(a, model, request);
  if (results == NULL) return;
  if (report_page(results, &a->body, &error) == MOUSSE_OK)
    give(a, 200, html_kind, a->body.data, a->body.size);
  else
    refuse(a, 500, error.text);
  a->download = "report.html";
  json_decref(results);
}

static void answer_events(watch_answer *a, watch_model *model, const watch_request *request)
{
  (void)model, (void)request;
  a->stream = true;
  give(a, 200, "text/event-stream", NULL, 0);
}

static const struct {
  const char *path;
  void (*answer)(watch_answer *, watch_model *, const watch_request *);
} calls[] = {
    {"/api/runs", answer_runs},           {"/api/run", answer_run},
    {"/api/curvature", answer_curvature}, {"/api/report", answer_report},
    {"/report.html", answer_page},        {"/api/events", answer_events},
};

static void route(watch_answer *a, watch_model *model, const watch_request *request)
{
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strcmp(request->path, parts[i].path) == 0) {
      give(a, 200, parts[i].type, (const char *)parts[i].data, *parts[i].size);
      return;
    }
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (strcmp(request->path, calls[i].path) == 0) {
      watch_model_lock(model);
      calls[i].answer(a, model, request);
      watch_model_unlock(model);
      return;
    }
  refuse(a, 404, "There is nothing here. The runs are at /.");
}

void watch_answer_make(watch_answer *a, watch_model *model, const watch_guard *guard,
                       const watch_request *request)
{
  const char *sentence = NULL;
  *a = (watch_answer){.status = 500};
  const unsigned status = guard_check(guard, request, &sentence);
  if (status == 200)
    route(a, model, request);
  else
    refuse(a, status, sentence);
}

void watch_answer_release(watch_answer *a)
{
  mo_buffer_close(&a->body);
  *a = (watch_answer){0};
}
