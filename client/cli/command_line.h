#ifndef SAMEBITS_CLIENT_CLI_COMMAND_LINE_H_
#define SAMEBITS_CLIENT_CLI_COMMAND_LINE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/exit_code.h"
#include "client/launch/launch_spec.h"

namespace samebits::cli {

enum class Command : uint8_t {
  kServe,
  kRegister,
  kCompare,
  kPartition,
  kExplain,
  kSignature,
  kInspect,
  kCiCheck,
  kCompletion,
  kManual,
  kVersion,
  kGemmCheckVectors,
  kGemmDescribe,
  kGemmEmulate,
  kGemmSimulate,
  kGemmProbe,
  kGemmInvariance,
  kProfileBuild,
  kProfileShow,
  kProfileDiff,
  kProfileDefects,
  kProfileImport,
  kProfileList,
  kProfileExport,
  kProfileDelete,
  kVerify,
  kJobs,
  kFleet,
  kReproducers,
  kBackup,
  kRestore,
  kFsck,
  kFleetEnrol,
  kToken,
  kHealEvaluate,
  kHealAttribute,
  kHealDecompose,
  kHealSweep,
  kHealQkv,
  kHealPolicy,
  kHealServeCost,
  kHealInstructionMix,
};
enum class Format : uint8_t { kHuman, kJson };

// Options of `serve`. Unset ones keep the server's defaults.
struct ServeOptions {
  std::string listen, metrics;  // "none" as metrics: no endpoint
  std::string data;             // folder; empty: the user's data folder
  bool in_memory = false;
  bool allow_remote_plaintext = false;
  std::string tls_cert, tls_key, tls_client_ca, token_file, audit_file;
  std::optional<int> threads;
  std::optional<uint64_t> cache_entries;
  std::optional<double> check_seconds, drain_seconds, lease_seconds, keep_jobs_hours;
  std::optional<uint32_t> max_jobs, max_jobs_of_principal, max_kept_jobs;  // 0: no limit
  std::string log_level;  // "", "debug", "info", "warning", "error"
};

// Options of `verify`, `jobs`, `reproducers` and `fleet`.
struct JobOptions {
  std::string seed, request_id;
  std::vector<std::string> distributions, devices;
  int runs = 0, priority = 0;                  // runs 0: the server's default
  double deadline_seconds = 0;                 // 0: the server's default
  bool no_wait = false;                        // of verify
  bool open_only = false, watch = false, cancel = false, remove = false;  // of jobs; remove: also of reproducers
  std::string out;                             // of reproducers: folder to write to
  bool drain = false, undo = false, revoke = false;  // of fleet
  uint32_t uses = 1;                           // of fleet enrol
  std::vector<std::string> names;              // operations, reproducers or workers
  std::string role, principal;                 // of token
  double hours = 0;                            // of token and fleet enrol; 0: never; the server's default
};

// Options of the commands `heal ...`; numbers that are 0 and texts that are empty keep the job's defaults.
struct HealOptions {
  std::string model, prompts, synthetic_prompts;  // a file; COUNTxLENGTH[:SEED]
  int limit = 0;                                  // the first prompts of the file
  std::string device, journal, output;            // file of finished parts; folder for files
  std::string anchor;
  int max_new_tokens = 0, slots = 0, rows = 0, used_prompts = 0;
  std::vector<std::string> configurations, schedules;
  std::string configuration, variant, baseline;
  bool skip_mse = false, skip_flips = false;
  int fitted_rows = 0, least_bits = 0, most_bits = 0, most_skipped = 0;
  std::optional<double> tolerated_rate;
  double budget = 0;
  std::vector<int> batches, contexts;
  int rounds = 0, warmup_steps = 0, steps = 0;
  std::vector<std::string> files, engine;  // of instruction-mix; configurations, or "all"
  std::string shape = "qwen3-8b";
  std::string target, match, group;
  bool all_kernels = false;
};

// Options of the commands `gemm ...` and `profile ...`.
struct GemmOptions {
  std::string folder;                // check-vectors
  std::string desc;                  // a descriptor's text, or @FILE
  int sm = 0;                        // architecture of the matrix units; 0: not given
  int64_t m = 0, n = 0, k = -1;      // shape; k < 0: not given
  std::string a, b, c, bias, out;    // files
  double alpha = 1, beta = 0;
  int threads = 0;                   // 0: one per core
  int64_t count = 100;               // simulate: hidden descriptors
  uint64_t seed = 0;
  bool no_defects = false;
  std::string profile, other_profile;          // files of arch profiles
  std::string types, layout = "TN";            // of a problem
  std::string library = "cublaslt", device_name, driver = "unknown", kinds;  // a library to study, and what of it
  std::string on;                              // device of a worker
  std::vector<std::string> problems;           // MxNxK each, of probe --server
  std::vector<std::string> outputs;            // ROW,COLUMN each, of emulate; empty: all
  int64_t summed_k = 0;                        // 0: k
  int device = 0;
  int64_t workspace = 32 << 20, shapes = 1000, most_k = 200000, first_m = 1, last_m = 8192;
  double seconds = 1e9;
  bool models = false, no_models = false;
};

// Options of `backup`, `restore` and `fsck`; the data folder is that of `serve`.
struct MaintenanceOptions {
  std::string file;      // the backup; of fsck: the database, empty: the data folder's
  bool replace = false;  // of restore
};

// Options of `ci check`.
struct CiOptions {
  std::string baseline, candidate;
  bool update_baseline = false;
  std::vector<std::string> fail_on = {"changed", "unknown", "gone"};
  std::string json, junit, sarif;  // files to write; empty: none
  int explain = 20;                // changed kernels that are explained
};

// What the user asked for.
struct CommandLine {
  Command command = Command::kVersion;
  std::string server;  // HOST:PORT; empty: the client's default
  std::string tls_ca, tls_cert, tls_key, token_file;  // of the connection to it
  bool token_over_plaintext = false;
  bool local = false;
  std::optional<Format> format;  // unset: the command's default
  std::string color = "auto";    // "auto", "always", "never"
  bool quiet = false, verbose = false;
  bool watch = false;  // of compare, explain, partition and ci check: answer again after each change
  double timeout_seconds = 120;
  bool ignore_signed_zero = false, strict_contraction = false;
  std::string language;   // "ptx", "amdgcn"; empty: by content
  bool symbolic = false;  // grid and scalar arguments are withheld
  std::vector<std::string> kernels;
  std::string manifest, reference;
  std::string svg, html;                          // files that `explain` writes; empty: none
  std::string pairs;                              // file of pairs of ids of the manifest; "-": standard input
  launch::LaunchSpec launch;                      // for every kernel
  std::array<launch::LaunchSpec, 2> side_launch;  // of A and B, over `launch`
  int jobs = 0;                                   // 0: one per core
  ServeOptions serve;
  JobOptions job;
  MaintenanceOptions maintenance;
  GemmOptions gemm;
  HealOptions heal;
  CiOptions ci;
  std::string shell;  // of `completion`: "bash" or "zsh"
};

// A command line, or what the process returns because there is none (help was printed, or an error on stderr).
struct ParsedCommandLine {
  std::optional<CommandLine> command_line;
  ExitCode exit_code = ExitCode::kEquivalent;
};

// Completion of the command line for "bash" or "zsh", and the manual page in troff, made from the options as they are.
std::string CompletionScript(const std::string& shell);
std::string ManualPage();

// Parses arguments and the environment variable SAMEBITS_SERVER. Prints help on stdout, errors on stderr.
ParsedCommandLine ParseCommandLine(int argc, const char* const* argv);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_COMMAND_LINE_H_
