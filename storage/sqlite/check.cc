#include "storage/sqlite/check.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/escaping.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/migrations.h"

namespace samebits::storage::sqlite {
namespace {

constexpr absl::Duration kBusyTimeout = absl::Seconds(10);
constexpr int kMostDamage = 100;  // lines that SQLite reports
constexpr char kRestore[] = "stop the server and restore a backup (samebits restore FILE --replace)";
constexpr char kDeleteJob[] = "delete or cancel the job (samebits jobs ID --delete, --cancel), or restore a backup";
constexpr char kRegister[] = "delete the kernel (DeleteKernel) and register its text again, or restore a backup";
constexpr char kImport[] = "delete the profile and import its text again, or restore a backup";
constexpr char kReport[] = "restore a backup, and report it: the program broke a rule of its own";

// A rule about rows: the query yields a text for each row that breaks it.
struct Rule {
  int since;  // schema version
  const char* check;
  const char* what;
  const char* remedy;
  const char* sql;
};

#define SAMEBITS_NEVER "9223372036854775807"
#define SAMEBITS_TASK_NAME "j.id || ' task ' || t.task"
constexpr Rule kRules[] = {
    {1, "kernels-text", "kernels without a text", kRegister,
     "SELECT lower(hex(digest)) FROM kernels WHERE NOT EXISTS (SELECT 1 FROM kernel_texts WHERE kernel = digest)"},
    {1, "kernels-size", "kernels whose text has another size than is noted", kRegister,
     "SELECT lower(hex(digest)) FROM kernels JOIN kernel_texts ON kernel = digest WHERE size_bytes <> length(text)"},
    {1, "signatures-digest", "signatures whose digest is no digest", kReport,
     "SELECT lower(hex(kernel)) FROM signatures WHERE digest IS NOT NULL AND (length(digest) <> 32 OR"
     " digest GLOB '*[^0-9a-f]*')"},
    {1, "totals", "totals that the rows do not add up to", kReport,
     "SELECT kernels || ' kernels, ' || text_bytes || ' bytes, ' || signatures || ' signatures are noted' FROM totals"
     " WHERE kernels <> (SELECT count(*) FROM kernels) OR signatures <> (SELECT count(*) FROM signatures)"
     " OR text_bytes <> (SELECT coalesce(sum(size_bytes), 0) FROM kernels)"},
    {1, "totals-row", "the row of totals is not there", kReport,
     "SELECT 'totals' WHERE (SELECT count(*) FROM totals) <> 1"},
    {2, "jobs-body", "jobs without a request", kDeleteJob,
     "SELECT id FROM jobs WHERE NOT EXISTS (SELECT 1 FROM job_bodies WHERE job = sequence)"},
    {2, "jobs-tasks", "jobs without tasks, or whose tasks are not numbered from 0", kDeleteJob,
     "SELECT id FROM jobs WHERE (SELECT count(*) FROM tasks WHERE job = sequence) = 0 OR"
     " (SELECT count(*) FROM tasks WHERE job = sequence) <> (SELECT max(task) + 1 FROM tasks WHERE job = sequence) OR"
     " (SELECT min(task) FROM tasks WHERE job = sequence) <> 0"},
    {2, "jobs-open-tasks", "open jobs with a wrong count of unfinished tasks", kDeleteJob,
     "SELECT id FROM jobs WHERE state = 0 AND open_tasks <>"
     " (SELECT count(*) FROM tasks WHERE job = sequence AND tasks.state < 2)"},
    {2, "jobs-open-end", "open jobs with an end or an error", kDeleteJob,
     "SELECT id FROM jobs WHERE state = 0 AND (end_time_micros <> " SAMEBITS_NEVER " OR error_code <> 0)"},
    {2, "jobs-ended-tasks", "ended jobs with unfinished tasks", kReport,
     "SELECT id FROM jobs WHERE state <> 0 AND (open_tasks <> 0 OR EXISTS"
     " (SELECT 1 FROM tasks WHERE job = sequence AND tasks.state < 2))"},
    {2, "jobs-ended-time", "ended jobs without a time of their end", kReport,
     "SELECT id FROM jobs WHERE state <> 0 AND end_time_micros = " SAMEBITS_NEVER},
    {2, "jobs-succeeded", "succeeded jobs with an error or without a completed task", kReport,
     "SELECT id FROM jobs WHERE state = 1 AND (error_code <> 0 OR NOT EXISTS"
     " (SELECT 1 FROM tasks WHERE job = sequence AND tasks.state = 2))"},
    {2, "jobs-cause", "failed or cancelled jobs without a cause", kReport,
     "SELECT id FROM jobs WHERE state IN (2, 3) AND error_code NOT BETWEEN 1 AND 16"},
    {2, "jobs-start", "jobs that started without a time of it", kReport,
     "SELECT id FROM jobs WHERE start_time_micros = " SAMEBITS_NEVER " AND EXISTS"
     " (SELECT 1 FROM tasks WHERE job = sequence AND attempt > 0)"},
    {2, "leases-held", "leased tasks without token, worker or deadline", kDeleteJob,
     "SELECT " SAMEBITS_TASK_NAME " FROM tasks t JOIN jobs j ON j.sequence = t.job WHERE t.state = 1 AND"
     " (t.token < 1 OR t.worker = '' OR t.attempt < 1 OR t.lease_deadline_micros = " SAMEBITS_NEVER ")"},
    {2, "leases-ended", "tasks that are not leased and have a lease's deadline", kDeleteJob,
     "SELECT " SAMEBITS_TASK_NAME " FROM tasks t JOIN jobs j ON j.sequence = t.job WHERE t.state <> 1 AND"
     " t.lease_deadline_micros <> " SAMEBITS_NEVER},
    {2, "leases-tokens", "tokens that two tasks have", kDeleteJob,
     "SELECT token FROM tasks WHERE token > 0 GROUP BY token HAVING count(*) > 1"},
    {2, "leases-counter", "tokens above the counter that they are drawn from", kReport,
     "SELECT max(token) FROM tasks HAVING max(token) > (SELECT value FROM counters WHERE name = 'lease_token')"},
    {2, "tasks-attempts", "tasks with more attempts than they may have", kReport,
     "SELECT " SAMEBITS_TASK_NAME " FROM tasks t JOIN jobs j ON j.sequence = t.job WHERE t.attempt > t.max_attempts"},
    {2, "tasks-done", "completed or failed tasks that were never leased", kReport,
     "SELECT " SAMEBITS_TASK_NAME " FROM tasks t JOIN jobs j ON j.sequence = t.job WHERE t.state IN (2, 3) AND"
     " (t.attempt < 1 OR t.token < 1)"},
    {2, "tasks-failed", "failed tasks without a cause", kReport,
     "SELECT " SAMEBITS_TASK_NAME " FROM tasks t JOIN jobs j ON j.sequence = t.job WHERE t.state = 3 AND"
     " t.error_code NOT BETWEEN 1 AND 16"},
    {2, "tasks-cancelled", "cancelled tasks of open jobs", kDeleteJob,
     "SELECT " SAMEBITS_TASK_NAME " FROM tasks t JOIN jobs j ON j.sequence = t.job WHERE t.state = 4 AND j.state = 0"},
    {2, "tasks-priority", "tasks with another priority than their job's", kReport,
     "SELECT " SAMEBITS_TASK_NAME " FROM tasks t JOIN jobs j ON j.sequence = t.job WHERE t.priority <> j.priority"},
    {2, "attempts-once", "attempts that ended twice", kReport,
     "SELECT j.id || ' task ' || a.task || ' attempt ' || a.attempt FROM task_attempts a JOIN jobs j ON"
     " j.sequence = a.job GROUP BY a.job, a.task, a.attempt HAVING count(*) > 1"},
    {2, "attempts-task", "attempts that their task did not make", kReport,
     "SELECT j.id || ' task ' || a.task || ' attempt ' || a.attempt FROM task_attempts a JOIN jobs j ON"
     " j.sequence = a.job LEFT JOIN tasks t ON t.job = a.job AND t.task = a.task WHERE t.task IS NULL OR"
     " a.attempt NOT BETWEEN 1 AND t.attempt"},
    {5, "units-ended", "finished parts of jobs that have ended", kReport,
     "SELECT j.id || ' task ' || u.task || ' unit ' || u.unit FROM task_units u JOIN jobs j ON j.sequence = u.job"
     " WHERE j.state <> 0"},
    {5, "units-leased", "finished parts of tasks that were never leased", kReport,
     "SELECT j.id || ' task ' || u.task || ' unit ' || u.unit FROM task_units u JOIN jobs j ON j.sequence = u.job"
     " JOIN tasks t ON t.job = u.job AND t.task = u.task WHERE t.attempt < 1"},
    {2, "counters", "counters that are not there", kReport,
     "SELECT name FROM (SELECT 'lease_token' AS name UNION SELECT 'session' UNION SELECT 'finished_jobs')"
     " WHERE name NOT IN (SELECT name FROM counters)"},
    {2, "counters-finished", "a wrong count of ended jobs", kReport,
     "SELECT value || ' noted' FROM counters WHERE name = 'finished_jobs' AND value <>"
     " (SELECT count(*) FROM jobs WHERE state <> 0)"},
    {2, "sessions", "sessions above the counter that they are drawn from, or that two workers have", kReport,
     "SELECT id FROM workers WHERE session > (SELECT value FROM counters WHERE name = 'session') OR"
     " session IN (SELECT session FROM workers GROUP BY session HAVING count(*) > 1)"},
    {2, "reproducers-name", "reproducers without a name", kReport, "SELECT sequence FROM reproducers WHERE id = ''"},
};

constexpr int kSinceProfiles = 4;  // schema version

Digest DigestOf(std::string_view bytes) {
  Digest digest{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

std::string Shown(std::string_view text) {
  return absl::CHexEscape(absl::string_view(text.data(), std::min<size_t>(text.size(), 200)));
}

// One run over an open database.
class Checker {
 public:
  Checker(Connection& connection, const ContentChecks& content) : db_(connection), content_(content) {}

  absl::StatusOr<CheckReport> Run(int version) {
    report_.schema_version = version;
    report_.latest_version = LatestSchemaVersion();
    for (const auto step : {&Checker::File, &Checker::Schema}) {
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
      if (!report_.findings.empty()) return std::move(report_);  // what is built on it means nothing
    }
    for (const auto step : {&Checker::Rows, &Checker::Kernels, &Checker::Jobs, &Checker::Profiles, &Checker::Sizes})
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
    return std::move(report_);
  }

 private:
  void Add(const char* check, const char* what, const char* remedy, std::string example) {
    for (Finding& known : report_.findings)
      if (known.check == check) {
        ++known.count;
        return;
      }
    report_.findings.push_back({check, what, std::move(example), remedy, 1});
  }
  template <typename OnRow>
  absl::Status Each(std::string_view sql, OnRow on_row) {
    absl::StatusOr<Statement> statement = db_.Prepare(sql);
    if (!statement.ok()) return statement.status();
    while (true) {
      const absl::StatusOr<bool> row = statement->Step();
      if (!row.ok()) return row.status();
      if (!*row) return absl::OkStatus();
      on_row(*statement);
    }
  }
  bool HasJobs() const { return report_.schema_version >= 2; }

  absl::Status File() {
    absl::Status status = Each(absl::StrCat("PRAGMA integrity_check(", kMostDamage, ")"), [&](const Statement& row) {
      if (row.Text(0) != "ok") Add("file", "damage of the file", kRestore, Shown(row.Text(0)));
    });
    if (absl::IsDataLoss(status)) {
      Add("file", "damage of the file", kRestore, std::string(status.message()));
      return absl::OkStatus();
    }
    if (!status.ok() || !report_.findings.empty()) return status;
    return Each("PRAGMA foreign_key_check", [&](const Statement& row) {
      Add("references", "rows that refer to rows that are not there", kRestore, std::string(row.Text(0)));
    });
  }

  // The schema must be what the migrations make.
  absl::Status Schema() {
    absl::StatusOr<Connection> fresh = Connection::Open(":memory:", Connection::Mode::kReadWriteCreate, kBusyTimeout);
    if (!fresh.ok()) return fresh.status();
    if (absl::Status status = MigrateTo(*fresh, report_.schema_version); !status.ok()) return status;
    const auto expected = ReadSchema(*fresh), found = ReadSchema(db_);
    if (!expected.ok()) return expected.status();
    if (!found.ok()) return found.status();
    for (const auto& [has, lacks, what] :
         {std::tuple(&*expected, &*found, "misses "), std::tuple(&*found, &*expected, "has besides ")})
      for (const auto& [name, sql] : *has)
        if (lacks->count({name, sql}) == 0)
          Add("schema", "tables, indexes or triggers that differ from those of its version", kRestore, what + name);
    return absl::OkStatus();
  }
  using Objects = std::set<std::pair<std::string, std::string>>;  // name and definition
  static absl::StatusOr<Objects> ReadSchema(Connection& connection) {
    absl::StatusOr<Statement> statement =
        connection.Prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'");
    if (!statement.ok()) return statement.status();
    Objects objects;
    while (true) {
      const absl::StatusOr<bool> row = statement->Step();
      if (!row.ok()) return row.status();
      if (!*row) return objects;
      objects.emplace(statement->Text(0), statement->Text(1));
    }
  }

  absl::Status Rows() {
    for (const Rule& rule : kRules) {
      if (report_.schema_version < rule.since) continue;
      absl::Status status = Each(rule.sql, [&](const Statement& row) {
        Add(rule.check, rule.what, rule.remedy, Shown(row.Text(0)));
      });
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Adds what `check` says of a row.
  template <typename Check, typename... Args>
  void Content(const Check& check, const char* name, const char* what, const char* remedy, const std::string& row,
               const Args&... args) {
    if (check == nullptr) return;
    if (const std::string wrong = check(args...); !wrong.empty())
      Add(name, what, remedy, absl::StrCat(row, ": ", wrong));
  }

  absl::Status Kernels() {
    absl::Status status = Each(
        "SELECT digest, description, text FROM kernels JOIN kernel_texts ON kernel = digest", [&](const Statement& row) {
          const std::string name = Hex(row.Blob(0));
          Content(content_.text, "kernels-digest", "kernels whose text has another digest", kRegister, name,
                  DigestOf(row.Blob(0)), row.Blob(2));
          Content(content_.kernel, "kernels-description", "kernels whose description cannot be read", kRegister, name,
                  row.Blob(1));
        });
    if (!status.ok()) return status;
    return Each("SELECT kernel, coalesce(digest, ''), body FROM signatures", [&](const Statement& row) {
      Content(content_.signature, "signatures-body", "signatures that are not what is stored of them", kRegister, Hex(row.Blob(0)),
              row.Text(1), row.Blob(2));
    });
  }

  absl::Status Jobs() {
    if (!HasJobs()) return absl::OkStatus();
    absl::Status status = Each(
        "SELECT id, kind, spec, result, state FROM jobs JOIN job_bodies ON job = sequence", [&](const Statement& row) {
          const std::string id(row.Text(0));
          Content(content_.job, "jobs-request", "jobs whose request cannot be read", kDeleteJob, id, row.Text(1),
                  row.Blob(2));
          if (row.Int(4) == 1)
            Content(content_.result, "jobs-result", "succeeded jobs whose result cannot be read", kDeleteJob, id,
                    row.Text(1), row.Blob(3));
        });
    if (!status.ok()) return status;
    status = Each("SELECT id, body FROM reproducers", [&](const Statement& row) {
      Content(content_.reproducer, "reproducers-body", "reproducers that cannot be read",
              "restore a backup, or delete it (samebits reproducers NAME --delete)", std::string(row.Text(0)),
              row.Blob(1));
    });
    if (!status.ok()) return status;
    return Each("SELECT id, description FROM workers", [&](const Statement& row) {
      Content(content_.worker, "workers-description", "workers whose description cannot be read",
              "restart the worker: it describes itself anew", std::string(row.Text(0)), row.Blob(1));
    });
  }

  absl::Status Profiles() {
    if (report_.schema_version < kSinceProfiles) return absl::OkStatus();
    return Each("SELECT digest, description, text FROM arch_profiles", [&](const Statement& row) {
      const std::string name = Hex(row.Blob(0));
      Content(content_.profile_text, "profiles-digest", "arch profiles whose text has another digest", kImport, name,
              DigestOf(row.Blob(0)), row.Blob(2));
      Content(content_.profile, "profiles-description", "arch profiles whose description cannot be read", kImport,
              name, row.Blob(1));
    });
  }

  absl::Status Sizes() {
    const std::pair<const char*, uint64_t*> counts[] = {
        {"kernels", &report_.kernels}, {"signatures", &report_.signatures},   {"jobs", &report_.jobs},
        {"tasks", &report_.tasks},     {"reproducers", &report_.reproducers}, {"workers", &report_.workers},
        {"arch_profiles", &report_.profiles}};
    for (const auto& [table, count] : counts) {
      if (report_.schema_version < kSinceProfiles && count == &report_.profiles) continue;
      if (!HasJobs() && count != &report_.kernels && count != &report_.signatures) continue;
      const absl::StatusOr<int64_t> rows = db_.QueryInt(absl::StrCat("SELECT count(*) FROM ", table));
      if (!rows.ok()) return rows.status();
      *count = static_cast<uint64_t>(*rows);
    }
    return absl::OkStatus();
  }

  Connection& db_;
  const ContentChecks& content_;
  CheckReport report_;
};

absl::StatusOr<CheckReport> CheckOpen(Connection& connection, const ContentChecks& content) {
  // One read transaction: all steps see one state.
  if (absl::Status status = connection.Execute("BEGIN"); !status.ok()) return status;
  const absl::StatusOr<int> version = ReadSchemaVersion(connection);
  if (!version.ok()) return version.status();
  if (*version == 0) return absl::FailedPreconditionError("is empty: a server has yet to make a database of it");
  if (*version > LatestSchemaVersion())
    return absl::FailedPreconditionError(absl::StrCat("has schema version ", *version, ", this program knows up to ",
                                                      LatestSchemaVersion(), "; use the newer program"));
  return Checker(connection, content).Run(*version);
}

}  // namespace

absl::StatusOr<CheckReport> CheckDatabase(const std::string& path, const ContentChecks& content) {
  if (access(path.c_str(), F_OK) != 0) return absl::NotFoundError(absl::StrCat(path, ": there is no database"));
  absl::StatusOr<Connection> connection = Connection::Open(path, Connection::Mode::kReadOnly, kBusyTimeout);
  if (!connection.ok()) return connection.status();
  absl::StatusOr<CheckReport> report = CheckOpen(*connection, content);
  if (!report.ok())
    return absl::Status(report.status().code(), absl::StrCat(path, ": ", report.status().message()));
  return report;
}

}  // namespace samebits::storage::sqlite
