#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/command_builder.h"
#include "client/cli/help_text.h"
#include "client/cli/shell_text.h"
#include "client/cli/version.h"

namespace samebits::cli {
namespace {

using launch::LaunchSpec;

// `group` "" hides the flags from help.
void AddLaunchFlags(CLI::App* app, LaunchFlags* flags, const std::string& group) {
  const auto add = [&](const char* option, auto& value, const char* type, const char* what) {
    return app->add_option(flags->prefix + option, value, what)->type_name(type)->group(group);
  };
  add("entry", flags->entry, "NAME", "Entry; needed where the text has several");
  add("block", flags->block, "X[,Y[,Z]]", "Threads of a block");
  add("grid", flags->grid, "X[,Y[,Z]]", "Blocks; unknown: every grid");
  add("shared", flags->shared, "BYTES", "Dynamic shared memory");
  add("arg", flags->args, "[NAME=]VALUE", "Argument, once per parameter; see below")->allow_extra_args(false);
  add("output", flags->outputs, "BUFFER", "Compare this buffer, repeatable; default: all that are written")
      ->allow_extra_args(false);
}

absl::StatusOr<LaunchSpec> ToSpec(const LaunchFlags& flags) {
  LaunchSpec spec;
  if (!flags.entry.empty()) spec.entry = flags.entry;
  if (!flags.block.empty()) {
    absl::StatusOr<checker::Dim3> block = launch::ParseDim3(flags.block, flags.prefix + "block");
    if (!block.ok()) return block.status();
    spec.block = *block;
  }
  spec.grid_set = !flags.grid.empty();
  if (spec.grid_set && flags.grid != "unknown") {
    absl::StatusOr<checker::Dim3> grid = launch::ParseDim3(flags.grid, flags.prefix + "grid");
    if (!grid.ok()) return grid.status();
    spec.grid = *grid;
  }
  spec.shared_bytes = flags.shared;
  spec.args_set = !flags.args.empty();
  if (spec.args_set) spec.args.emplace();
  for (const std::string& text : flags.args) {
    absl::StatusOr<launch::ArgSpec> arg = launch::ParseArg(text, flags.prefix + "arg");
    if (!arg.ok()) return arg.status();
    spec.args->push_back(*std::move(arg));
  }
  if (!flags.outputs.empty()) spec.outputs = flags.outputs;
  return spec;
}

void AddCheckOptions(CLI::App* app, CommandLine* line) {
  app->add_flag("--ignore-signed-zero", line->ignore_signed_zero, "Count +0 and -0 as the same value");
  app->add_flag("--strict-contraction", line->strict_contraction,
                "UNKNOWN, not an assumption, where the assembler may fuse a multiplication into an addition");
  app->add_flag("--symbolic", line->symbolic,
                "For all sizes: withhold the grid and scalar arguments, even where the launch gives them");
}

// A command that takes kernels with their launches.
CLI::App* AddKernelCommand(CLI::App* app, Builder* b, Command command, const char* name, const char* summary,
                           const char* footer) {
  CLI::App* sub = AddCommand(app, b, command, name, summary, absl::StrCat(footer, "\n\n", kLaunchHelp));
  AddCommonOptions(sub, b);
  sub->add_option("--manifest", b->line.manifest, "JSON Lines, a kernel and its launch a row; KERNEL is an id")
      ->type_name("FILE");
  AddCheckOptions(sub, &b->line);
  sub->add_option("--language", b->line.language, "Read texts as ptx or amdgcn (default: by content, as servers do)")
      ->check(CLI::IsMember({"ptx", "amdgcn"}));
  AddLaunchFlags(sub, &b->common, "Launch");
  return sub;
}

CLI::Option* AddKernels(CLI::App* sub, Builder* b, const char* name, const char* what) {
  return sub->add_option(name, b->line.kernels, what)->type_name("KERNEL");
}

void AddWatch(CLI::App* sub, CommandLine* line) {
  sub->add_flag("--watch", line->watch, "Answer again whenever one of the files changes, until Ctrl-C");
}

CLI::App* AddPairCommand(CLI::App* app, Builder* b, Command command, const char* name, const char* summary,
                         const char* footer) {
  CLI::App* sub = AddKernelCommand(app, b, command, name, summary, footer);
  AddKernels(sub, b, "kernels", "The two kernels, A and B")->expected(0, 2);
  sub->add_option("--pairs", b->line.pairs, "With --manifest: JSON Lines {\"a\": ID, \"b\": ID}, answered one a line")
      ->type_name("FILE");
  AddWatch(sub, &b->line);
  for (LaunchFlags& side : b->sides) AddLaunchFlags(sub, &side, "");
  return sub;
}

void AddJobs(CLI::App* sub, CommandLine* line) {
  AddThreads(sub, "--jobs", &line->jobs, "Threads with --local; default: one per core");
}

// The environment is read where the folder is needed: as an option's default it would win over the flag, because several
// commands share the value.
void AddData(CLI::App* sub, Builder* b) {
  sub->add_option("--data", b->line.serve.data, "Folder of the database; default $SAMEBITS_DATA")->type_name("DIR");
}

void AddServe(CLI::App* app, Builder* b) {
  ServeOptions& o = b->line.serve;
  CLI::App* sub = AddCommand(app, b, Command::kServe, "serve", "Run the server", kServeHelp);
  sub->add_option("--listen", o.listen, "Address of the gRPC endpoint")->type_name("HOST:PORT");
  sub->add_option("--metrics", o.metrics, "Address of the Prometheus endpoint, or none")->type_name("HOST:PORT");
  AddData(sub, b);
  sub->add_flag("--in-memory", o.in_memory, "Keep everything in memory; lost at exit");
  AddThreads(sub, "--threads", &o.threads, "Threads that check; default: one per core");
  sub->add_option("--cache-entries", o.cache_entries, "Signatures kept in memory")->type_name("N");
  AddSeconds(sub, "--check-seconds", &o.check_seconds, "Longest time of one check");
  AddSeconds(sub, "--drain-seconds", &o.drain_seconds, "Longest wait for running calls at the end");
  AddSeconds(sub, "--lease-seconds", &o.lease_seconds, "A worker silent for so long loses its tasks");
  const auto count = [&](const char* name, std::optional<uint32_t>& value, const char* what) {
    sub->add_option(name, value, what)->type_name("N");
  };
  count("--max-jobs", o.max_jobs, "Open jobs; more are refused; 0: any number; default 20000");
  count("--max-jobs-per-principal", o.max_jobs_of_principal, "Open jobs of one caller; default 1000");
  count("--max-kept-jobs", o.max_kept_jobs, "Ended jobs that are kept, the latest ones; default 100000");
  sub->add_option("--keep-jobs-hours", o.keep_jobs_hours, "Ended jobs are deleted after so long; default 168")
      ->check(CLI::Range(0.0, 1e6).description(""))->type_name("HOURS");
  AddChoice(sub, "--log-level", &o.log_level, {"debug", "info", "warning", "error"}, "Least level that is logged");
  sub->add_option("--tls-cert", o.tls_cert, "Certificate of the server; encrypts connections")->type_name("FILE");
  sub->add_option("--tls-key", o.tls_key, "Its key")->type_name("FILE");
  sub->add_option("--tls-client-ca", o.tls_client_ca, "Certificates that must have signed those of clients")
      ->type_name("FILE");
  sub->add_option("--tokens", o.token_file, "Tokens of callers; see samebits token")->type_name("FILE");
  sub->add_option("--audit-log", o.audit_file, "File that gets a line about each change; default: in the log")
      ->type_name("FILE");
  sub->add_flag("--allow-remote-plaintext", o.allow_remote_plaintext,
                "Permit an address other than loopback without encryption");
}

void AddMaintenance(CLI::App* app, Builder* b) {
  MaintenanceOptions& o = b->line.maintenance;
  const auto add = [&](Command command, const char* name, const char* summary, const char* help, const char* file) {
    CLI::App* sub = AddCommand(app, b, command, name, summary, help);
    AddData(sub, b);
    AddChoice(sub, "--format", &b->format, {"human", "json"}, "Form of the answer");
    sub->add_option("file", o.file, file)->type_name("FILE");
    return sub;
  };
  add(Command::kBackup, "backup", "Copy the database, beside a running server", kBackupHelp, "The copy")
      ->get_option("file")->required();
  CLI::App* restore = add(Command::kRestore, "restore", "Put a backup in place of the database", kRestoreHelp, "The backup");
  restore->get_option("file")->required();
  restore->add_flag("--replace", o.replace, "Move a database that is there aside");
  add(Command::kFsck, "fsck", "Check that a database is whole", kFsckHelp, "A database; default: that of the data folder");
}

void AddVerify(CLI::App* app, Builder* b) {
  JobOptions& o = b->line.job;
  CLI::App* sub = AddKernelCommand(app, b, Command::kVerify, "verify", "Run launches on workers and compare their bytes",
                                   kVerifyHelp);
  AddKernels(sub, b, "kernels", "Kernels; with --manifest: ids, default all");
  const auto many = [&](const char* name, std::vector<std::string>& value, const char* type, const char* what) {
    sub->add_option(name, value, what)->type_name(type)->group("Run")->allow_extra_args(false);
  };
  many("--buffer", b->buffers, "SPEC", "A buffer and its contents, repeatable; see below");
  many("--distribution", o.distributions, "NAME", "Inputs, repeatable");
  many("--device", o.devices, "TARGET", "Where to run, repeatable; default: every device");
  const auto one = [&](const char* name, auto& value, const char* type, const char* what) {
    sub->add_option(name, value, what)->type_name(type)->group("Run");
  };
  one("--seed", o.seed, "TEXT", "Seed of the inputs");
  one("--runs", o.runs, "N", "Runs on each input; default 2");
  one("--priority", o.priority, "N", "Higher goes first, -100 to 100");
  one("--deadline", o.deadline_seconds, "SECONDS", "Longest time until the result; default 3600");
  one("--request-id", o.request_id, "ID", "The same id and request give the same job");
  sub->add_flag("--no-wait", o.no_wait, "Print the job's name and do not wait for it")->group("Run");
}

void AddJobCommands(CLI::App* app, Builder* b) {
  JobOptions& o = b->line.job;
  CLI::App* jobs = AddCommand(app, b, Command::kJobs, "jobs", "List, show, watch, cancel or delete jobs", kJobsHelp);
  AddCommonOptions(jobs, b);
  jobs->add_option("jobs", o.names, "Jobs to show; default: a list of all")->type_name("JOB");
  jobs->add_flag("--open", o.open_only, "List only jobs that have not ended");
  jobs->add_flag("--watch", o.watch, "Wait for the end, with live progress");
  jobs->add_flag("--cancel", o.cancel, "Cancel the jobs");
  jobs->add_flag("--delete", o.remove, "Delete the jobs, which must have ended");
  CLI::App* reproducers = AddCommand(app, b, Command::kReproducers, "reproducers",
                                     "List or fetch what contradicted a verdict", kReproducersHelp);
  AddCommonOptions(reproducers, b);
  reproducers->add_option("reproducers", o.names, "Reproducers to show; default: a list of all")->type_name("NAME");
  reproducers->add_option("--out", o.out, "Write texts, launches and results into this folder")->type_name("DIR");
  reproducers->add_flag("--delete", o.remove, "Delete the reproducers");
  CLI::App* fleet = AddCommand(app, b, Command::kFleet, "fleet", "Show workers and their devices", kFleetHelp);
  AddCommonOptions(fleet, b);
  fleet->add_option("workers", o.names, "Workers; default: all")->type_name("WORKER");
  fleet->add_flag("--watch", o.watch, "Show all workers, and what they run, again after each change, until Ctrl-C");
  fleet->add_flag("--drain", o.drain, "Give the workers nothing new");
  fleet->add_flag("--undrain", o.undo, "Take the workers back into service");
  fleet->add_flag("--revoke", o.revoke, "Forget the tokens of workers that enrolled, and stop what they run");
  CLI::App* enrol = AddCommand(fleet, b, Command::kFleetEnrol, "enrol", "Let workers get tokens of their own",
                               kFleetEnrolHelp);
  AddCommonOptions(enrol, b);
  enrol->add_option("worker", o.names, "For this worker alone, whose token it replaces; default: any without a token")
      ->type_name("WORKER")->expected(0, 1);
  enrol->add_option("--uses", o.uses, "Workers that may use it; default 1")->check(CLI::Range(1, 10000).description(""))
      ->type_name("N");
  enrol->add_option("--hours", o.hours, "Until it expires; default 1")->check(CLI::Range(0.001, 720.0).description(""))
      ->type_name("N");
}

void AddToken(CLI::App* app, Builder* b) {
  JobOptions& o = b->line.job;
  CLI::App* sub = AddCommand(app, b, Command::kToken, "token", "Make a token for callers of a server", kTokenHelp);
  sub->add_option("role", o.role, "What it allows")
      ->check(CLI::IsMember({"viewer", "submitter", "worker", "admin"}).description(""))
      ->type_name("viewer|submitter|worker|admin")->required();
  sub->add_option("principal", o.principal, "Whose it is; of a worker its --id")->type_name("NAME")->required();
  sub->add_option("--hours", o.hours, "Until it expires; default: never")->check(CLI::Range(0.001, 1e6).description(""))
      ->type_name("N");
}

void AddDescriptor(CLI::App* sub, GemmOptions* o) {
  sub->add_option("descriptor", o->desc, "A descriptor's text, or @FILE")->type_name("DESC")->required();
  sub->add_option("--sm", o->sm, "Architecture of the matrix units, 90 for sm_90")
      ->check(CLI::Range(1, 999).description(""))
      ->type_name("SM");
}

CLI::Option* AddProfile(CLI::App* sub, GemmOptions* o) {
  return sub->add_option("--profile", o->profile, "An arch profile: a file, or archProfiles/... of the server")->type_name("FILE|NAME");
}

CLI::Option* AddTypes(CLI::App* sub, GemmOptions* o) {
  sub->add_option("--layout", o->layout, "How B and A lie, as of cuBLAS's column-major call")
      ->check(CLI::IsMember({"TN", "NN", "NT", "TT"}).description(""))
      ->type_name("TN|NN|NT|TT")
      ->capture_default_str();
  return sub->add_option("--types", o->types, "Types of A, B, the accumulator and the output: bf16,bf16,f32,bf16")
      ->type_name("TYPES");
}

void AddSides(CLI::App* sub, GemmOptions* o) {
  sub->add_option("--m", o->m, "Rows of A")->type_name("N");
  sub->add_option("--n", o->n, "Rows of B")->type_name("N");
  sub->add_option("--k", o->k, "Length of their rows")->type_name("N");
}

void AddLibrary(CLI::App* sub, GemmOptions* o, const std::vector<std::string>& libraries) {
  sub->add_option("--library", o->library, "The library to study; simulated ones need no GPU")
      ->check(CLI::IsMember(libraries).description(""))
      ->type_name(absl::StrJoin(libraries, "|"))
      ->capture_default_str();
  sub->add_option("--device", o->device, "GPU, by its number")->type_name("N")->capture_default_str();
  sub->add_option("--workspace", o->workspace, "Bytes of workspace that the library may use")->type_name("BYTES")->capture_default_str();
}

// Options of what a worker of a server does, too.
void AddOnWorker(CLI::App* sub, Builder* b, GemmOptions* o) {
  sub->add_option("--on", o->on, "With --server: device of a worker, as cuda, cuda/sm_90, workers/a/devices/0")->type_name("DEVICE");
  AddChoice(sub, "--format", &b->format, {"human", "json"}, "Form of the answer");
  sub->add_flag("--no-wait", b->line.job.no_wait, "With --server: print the operation's name and leave");
  sub->add_flag("--quiet", b->line.quiet, "No progress");
}

void AddInvariance(CLI::App* gemm, Builder* b, GemmOptions* o) {
  CLI::App* sub = AddCommand(gemm, b, Command::kGemmInvariance, "invariance", "At which batch sizes the bits of a row change",
                             kGemmInvarianceHelp);
  AddChoice(sub, "--format", &b->format, {"human", "json"}, "Form of the answer");
  sub->add_option("--svg", o->out, "Draw it, too, into this file")->type_name("FILE");
  AddProfile(sub, o)->required();
  AddTypes(sub, o)->required();
  sub->add_option("--n", o->n, "Rows of B, the weights")->type_name("N");
  sub->add_option("--k", o->k, "Length of their rows")->type_name("N");
  sub->add_flag("--models", o->models, "All products of some language models, in place of --n and --k");
  sub->add_option("--first-m", o->first_m, "Batch sizes from this")->type_name("M")->capture_default_str();
  sub->add_option("--last-m", o->last_m, "To this")->type_name("M")->capture_default_str();
}

void AddEmulate(CLI::App* gemm, Builder* b, GemmOptions* o) {
  CLI::App* sub = AddCommand(gemm, b, Command::kGemmEmulate, "emulate", "Compute what a descriptor computes, bit for bit",
                             kGemmEmulateHelp);
  AddDescriptor(sub, o);
  sub->get_option("--sm")->required();
  const auto size = [&](const char* name, int64_t* value, const char* what) {
    sub->add_option(name, *value, what)->type_name("N")->required();
  };
  size("--m", &o->m, "Rows of A");
  size("--n", &o->n, "Rows of B");
  size("--k", &o->k, "Length of their rows");
  const auto file = [&](const char* name, std::string* value, const char* what) {
    return sub->add_option(name, *value, what)->type_name("FILE");
  };
  const auto operand = [&](const char* name, std::string* value, const char* what) {
    return sub->add_option(name, *value, what)->type_name("FILE|generate:SEED[:DISTRIBUTION]");
  };
  operand("--a", &o->a, "A: m x k elements, row-major, little-endian")->required();
  operand("--b", &o->b, "B: n x k elements")->required();
  operand("--c", &o->c, "C: m x n elements of the output's type, where the descriptor adds beta * C");
  operand("--bias", &o->bias, "n elements of the output's type, where the descriptor adds a bias");
  file("--out", &o->out, "Output: m x n elements; without it only digests are made");
  sub->add_option("--summed-k", o->summed_k, "Sum only so many elements, as a library that drops the tail")->type_name("N");
  sub->add_option("--output", o->outputs, "Compute this output only; repeatable")->type_name("ROW,COLUMN");
  AddOnWorker(sub, b, o);
  sub->add_option("--alpha", o->alpha, "Factor of the product, where the descriptor has one")->type_name("X");
  sub->add_option("--beta", o->beta, "Factor of C")->type_name("X");
  AddThreads(sub, "--threads", &o->threads, "Threads; default: one per core");
}

void AddGemm(CLI::App* app, Builder* b) {
  CLI::App* gemm = app->add_subcommand("gemm", "Arithmetic of matrix products");
  gemm->require_subcommand(1);
  gemm->footer(std::string("\n") + kGemmHelp);
  GemmOptions& o = b->line.gemm;
  CLI::App* check = AddCommand(gemm, b, Command::kGemmCheckVectors, "check-vectors",
                               "Replay hardware results on the models of matrix units", kGemmCheckVectorsHelp);
  AddChoice(check, "--format", &b->format, {"human", "json"}, "Form of the answer");
  check->add_option("folder", o.folder, "Folder of the published vectors")->type_name("DIR")->required();
  CLI::App* describe = AddCommand(gemm, b, Command::kGemmDescribe, "describe", "Say what a descriptor means", kGemmDescribeHelp);
  AddChoice(describe, "--format", &b->format, {"human", "json"}, "Form of the answer");
  AddDescriptor(describe, &o);
  describe->get_option("descriptor")->required(false);
  AddProfile(describe, &o)->excludes(describe->get_option("descriptor"));
  AddTypes(describe, &o);
  AddSides(describe, &o);
  AddEmulate(gemm, b, &o);
  CLI::App* simulate = AddCommand(gemm, b, Command::kGemmSimulate, "simulate",
                                  "Recover random hidden descriptors from a simulated library", kGemmSimulateHelp);
  simulate->add_option("--count", o.count, "Hidden descriptors")->check(CLI::Range(1, 1000000).description(""))->type_name("N");
  simulate->add_option("--seed", o.seed, "Descriptor i is drawn from SEED + i")->type_name("SEED");
  simulate->add_flag("--no-defects", o.no_defects, "No library drops the tail of K");
  AddThreads(simulate, "--threads", &o.threads, "Threads; default: one per core");
  CLI::App* probe = AddCommand(gemm, b, Command::kGemmProbe, "probe", "Find the descriptor of one product of a library", kGemmProbeHelp);
  AddOnWorker(probe, b, &o);
  probe->add_option("--shape", o.problems, "With --server: a shape, in place of --m, --n and --k; repeatable")->type_name("MxNxK");
  AddLibrary(probe, &o, {"cublaslt", "cublas", "hipblaslt", "simulated", "simulated-2"});
  AddTypes(probe, &o)->required();
  AddSides(probe, &o);
  probe->add_option("--seed", o.seed, "Of probes and draws")->type_name("SEED");
  AddInvariance(gemm, b, &o);
}

void AddProfileCommands(CLI::App* app, Builder* b) {
  CLI::App* profile = app->add_subcommand("profile", "Arch profiles: what a library of matrix products does");
  profile->require_subcommand(1);
  profile->footer(std::string("\n") + kProfileHelp);
  GemmOptions& o = b->line.gemm;
  CLI::App* build = AddCommand(profile, b, Command::kProfileBuild, "build", "Study a library on this machine or a worker", kProfileBuildHelp);
  build->add_option("--out", o.out, "File to write; with --server: besides storing the profile there")->type_name("FILE");
  AddOnWorker(build, b, &o);
  AddLibrary(build, &o, {"cublaslt", "cublas", "simulated", "simulated-2"});
  build->add_option("--kinds", o.kinds, "Types and layouts to study: TYPES[:LAYOUT][;...]")->type_name("LIST")->required();
  build->add_option("--shapes", o.shapes, "Random shapes of each kind")->type_name("N")->capture_default_str();
  build->add_option("--most-k", o.most_k, "Longest K of these")->check(CLI::Range(1, 1 << 24).description(""))->type_name("K")->capture_default_str();
  build->add_flag("--no-models", o.no_models, "Leave out the products of language models");
  build->add_option("--last-m", o.last_m, "Ask about these products for M up to this")->type_name("M")->capture_default_str();
  build->add_option("--seconds", o.seconds, "Begin no shape later than this")->type_name("S");
  build->add_option("--seed", o.seed, "Of shapes, probes and draws")->type_name("SEED");
  build->add_option("--rules-of", o.profile, "Try the rules of this profile first")->type_name("FILE");
  build->add_option("--device-name", o.device_name, "Written into the profile")->type_name("NAME");
  build->add_option("--driver", o.driver, "Written into the profile")->type_name("VERSION");
  AddThreads(build, "--threads", &o.threads, "Threads; default: one per core");
  CLI::App* show = AddCommand(profile, b, Command::kProfileShow, "show", "What a profile covers", kProfileShowHelp);
  show->add_option("profile", o.profile, "The profile: a file, or archProfiles/... of the server")->type_name("FILE|NAME")->required();
  CLI::App* defects = AddCommand(profile, b, Command::kProfileDefects, "defects", "Defects of the library, and programs that show them",
                                 kProfileDefectsHelp);
  defects->add_option("profile", o.profile, "The profile: a file, or archProfiles/... of the server")->type_name("FILE|NAME")->required();
  defects->add_option("--out", o.out, "Folder that gets a C++ program for each")->type_name("DIR");
  CLI::App* diff = AddCommand(profile, b, Command::kProfileDiff, "diff", "For which shapes the bits change", kProfileDiffHelp);
  AddChoice(diff, "--format", &b->format, {"human", "json"}, "Form of the answer");
  diff->add_option("before", o.profile, "A profile: a file, or archProfiles/... of the server")->type_name("FILE|NAME")->required();
  diff->add_option("after", o.other_profile, "Another")->type_name("FILE|NAME")->required();
  const auto stored = [&](Command command, const char* name, const char* what) {
    return AddCommand(profile, b, command, name, what, kProfileStoredHelp);
  };
  stored(Command::kProfileImport, "import", "Store a profile in the server")
      ->add_option("profile", o.profile, "The profile")->type_name("FILE")->required();
  stored(Command::kProfileList, "list", "List the profiles that the server has");
  CLI::App* save = stored(Command::kProfileExport, "export", "Write a profile of the server to a file");
  save->add_option("profile", o.profile, "The profile")->type_name("NAME")->required();
  save->add_option("--out", o.out, "File to write")->type_name("FILE")->required();
  stored(Command::kProfileDelete, "delete", "Delete a profile of the server")
      ->add_option("profile", o.profile, "The profile")->type_name("NAME")->required();
}

void AddCi(CLI::App* app, Builder* b) {
  CiOptions& o = b->line.ci;
  CLI::App* ci = app->add_subcommand("ci", "Compare the kernels of two builds: samebits ci check");
  ci->require_subcommand(1);
  CLI::App* sub = AddCommand(ci, b, Command::kCiCheck, "check", "Fail where kernels' bits changed", kCiCheckHelp);
  AddCommonOptions(sub, b);
  const auto file = [&](const char* name, std::string* value, const char* what) {
    return sub->add_option(name, *value, what)->type_name("FILE");
  };
  file("--baseline", &o.baseline, "Folder of kernels, or signatures in a JSON file")->required()->type_name("DIR|FILE");
  file("--candidate", &o.candidate, "Folder of kernels, one file, or a manifest (*.jsonl)")->required()->type_name("DIR|FILE");
  AddWatch(sub, &b->line);
  sub->add_flag("--update-baseline", o.update_baseline, "Write the candidate's signatures into the baseline's JSON file");
  sub->add_option("--fail-on", o.fail_on, "Outcomes that fail: changed, unknown, new, gone, or none")
      ->delimiter(',')
      ->check(CLI::IsMember({"changed", "unknown", "new", "gone", "none"}).description(""))
      ->type_name("LIST")
      ->capture_default_str();
  file("--json", &o.json, "Also write the findings as JSON");
  file("--junit", &o.junit, "Also write JUnit XML");
  file("--sarif", &o.sarif, "Also write SARIF 2.1.0");
  sub->add_option("--explain", o.explain, "Changed kernels that are explained, at most")
      ->check(CLI::Range(0, 100000).description(""))
      ->type_name("N")
      ->capture_default_str();
  AddCheckOptions(sub, &b->line);
  const std::string group = "Launch, where nothing beside a kernel gives it";
  sub->add_option("--block", b->common.block, "Threads of a block")->type_name("X[,Y[,Z]]")->group(group);
  sub->add_option("--grid", b->common.grid, "Blocks")->type_name("X[,Y[,Z]]")->group(group);
  sub->add_option("--shared", b->common.shared, "Dynamic shared memory")->type_name("BYTES")->group(group);
  AddJobs(sub, &b->line);
}

void AddShell(CLI::App* app, Builder* b) {
  CLI::App* completion = AddCommand(app, b, Command::kCompletion, "completion", "Print a completion script for a shell",
                                    kCompletionHelp);
  completion->add_option("shell", b->line.shell, "The shell")
      ->check(CLI::IsMember({"bash", "zsh"}).description(""))
      ->required()
      ->type_name("bash|zsh");
  AddCommand(app, b, Command::kManual, "manual", "Print the manual page, in troff", "Example:\n  samebits manual | man -l -");
}

void AddCommands(CLI::App* app, Builder* b) {
  AddServe(app, b);
  AddMaintenance(app, b);
  CLI::App* reg = AddCommand(app, b, Command::kRegister, "register", "Store kernels in the server", kRegisterHelp);
  AddCommonOptions(reg, b);
  AddKernels(reg, b, "kernels", "Files of PTX")->required();
  AddPairCommand(app, b, Command::kCompare, "compare", "Do two launches return the same bits?", kCompareHelp);
  CLI::App* explain = AddPairCommand(app, b, Command::kExplain, "explain", "Show where two launches part", kExplainHelp);
  explain->add_option("--svg", b->line.svg, "Also draw both expressions into this file")->type_name("FILE");
  explain->add_option("--html", b->line.html, "Also write a page with both expressions, which needs no other file")->type_name("FILE");
  CLI::App* partition = AddKernelCommand(app, b, Command::kPartition, "partition",
                                         "Sort launches into classes of equal bits", kPartitionHelp);
  AddKernels(partition, b, "kernels", "Kernels; with --manifest: ids, default all");
  partition->add_option("--reference", b->line.reference, "Kernel to compare the others with")->type_name("KERNEL");
  AddJobs(partition, &b->line);
  AddWatch(partition, &b->line);
  CLI::App* signature =
      AddKernelCommand(app, b, Command::kSignature, "signature", "Print signatures as JSON lines", kSignatureHelp);
  AddKernels(signature, b, "kernels", "Kernels; with --manifest: ids, default all");
  AddJobs(signature, &b->line);
  CLI::App* inspect =
      AddKernelCommand(app, b, Command::kInspect, "inspect", "Show what one launch computes", kInspectHelp);
  AddKernels(inspect, b, "kernel", "The kernel")->required()->expected(1);
  AddVerify(app, b);
  AddJobCommands(app, b);
  AddToken(app, b);
  AddHeal(app, b);
  AddGemm(app, b);
  AddProfileCommands(app, b);
  AddCi(app, b);
  AddShell(app, b);
  AddCommand(app, b, Command::kVersion, "version", "Print versions",
             "Signatures of different versions do not compare.");
}

ParsedCommandLine UsageError(const std::string& message) {
  std::fprintf(stderr, "samebits: error: %s\n", message.c_str());
  return {std::nullopt, ExitCode::kBadInput};
}

// The command chosen, of a command within a command the inner one; null where there is none.
CLI::App* Chosen(const CLI::App& app) {
  CLI::App* chosen = nullptr;
  for (std::vector<CLI::App*> level = app.get_subcommands(); !level.empty(); level = chosen->get_subcommands())
    chosen = level[0];
  return chosen;
}

bool IsCommand(const CLI::App& app, const std::string& word) {
  return !app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; }).empty();
}

// Why parsing failed, where the library's own words mislead: words that are no command or no option.
std::string Explain(const CLI::App& app, const CLI::Error& error, int argc, const char* const* argv) {
  const CLI::App* chosen = Chosen(app);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i], word = argument.substr(0, argument.find('='));
    const bool is_option = word.starts_with("--");
    if (chosen == nullptr && !is_option && !IsCommand(app, word)) return absl::StrCat("'", word, "' is no command");
    if (chosen != nullptr && is_option && word != "--" && chosen->get_option_no_throw(word) == nullptr &&
        app.get_option_no_throw(word) == nullptr) {
      return absl::StrCat("'", word, "' is no option of ", chosen->get_name());
    }
  }
  return error.what();
}

ParsedCommandLine Finish(CLI::App* app, Builder* b) {
  CommandLine& line = b->line;
  line.command = b->commands.at(Chosen(*app));
  const char* server = std::getenv("SAMEBITS_SERVER");
  if (line.command == Command::kCiCheck && line.server.empty() && server == nullptr) line.local = true;
  if (line.command == Command::kHealInstructionMix && line.server.empty()) line.local = true;
  for (const Command command : {Command::kProfileBuild, Command::kGemmProbe, Command::kGemmEmulate})
    if (line.command == command && line.server.empty()) line.local = true;
  if (line.server.empty() && server != nullptr) line.server = server;
  if (!b->format.empty()) line.format = b->format == "json" ? Format::kJson : Format::kHuman;
  for (auto& [flags, spec] : {std::pair{&b->common, &line.launch}, std::pair{&b->sides[0], &line.side_launch[0]},
                              std::pair{&b->sides[1], &line.side_launch[1]}}) {
    absl::StatusOr<LaunchSpec> parsed = ToSpec(*flags);
    if (!parsed.ok()) return UsageError(std::string(parsed.status().message()));
    *spec = *std::move(parsed);
  }
  for (const std::string& text : b->buffers) {
    absl::StatusOr<launch::BufferDescription> buffer = launch::ParseBuffer(text);
    if (!buffer.ok()) return UsageError(std::string(buffer.status().message()));
    line.launch.buffers.push_back(*std::move(buffer));
  }
  const bool watches_fleet = line.command == Command::kFleet && line.job.watch;
  if (watches_fleet && !line.job.names.empty()) return UsageError("--watch shows all workers; leave the names out");
  const bool watches_jobs = line.job.watch && !watches_fleet;
  if (line.job.names.empty() && (!line.job.out.empty() || line.job.cancel || line.job.remove || watches_jobs ||
                                 line.job.drain || line.job.undo || line.job.revoke))
    return UsageError("name the jobs, reproducers or workers that this is about");
  const bool takes_many = line.command == Command::kPartition || line.command == Command::kSignature ||
                          line.command == Command::kVerify;
  if (takes_many && line.kernels.empty() && line.manifest.empty()) {
    return UsageError("no kernels; name files or a --manifest");
  }
  const bool takes_two = line.command == Command::kCompare || line.command == Command::kExplain;
  if (takes_two && line.pairs.empty() && line.kernels.size() != 2) {
    return UsageError(absl::StrCat("two kernels are compared, ", line.kernels.size(), " given"));
  }
  if (!line.pairs.empty() && (!line.kernels.empty() || line.manifest.empty())) {
    return UsageError("--pairs names ids of a --manifest, in place of two kernels");
  }
  return {std::move(line), ExitCode::kEquivalent};
}

constexpr char kSummary[] = "samebits: do two GPU kernel launches return the same bits?";

void Describe(CLI::App* app, Builder* b) {
  app->require_subcommand(1);
  app->fallthrough();
  app->footer(std::string("\n") + kMainHelp);
  app->get_formatter()->column_width(36);
  AddCommonOptions(app, b);
  AddCommands(app, b);
}

}  // namespace

std::string CompletionScript(const std::string& shell) {
  Builder b;
  CLI::App app(kSummary, "samebits");
  Describe(&app, &b);
  return shell == "zsh" ? ZshCompletion(app) : BashCompletion(app);
}

std::string ManualPage() {
  Builder b;
  CLI::App app(kSummary, "samebits");
  Describe(&app, &b);
  return TroffPage(app, kVersion);
}

ParsedCommandLine ParseCommandLine(int argc, const char* const* argv) {
  Builder b;
  CLI::App app(kSummary, "samebits");
  Describe(&app, &b);
  if (argc < 2) {
    std::fputs(app.help().c_str(), stdout);
    return {std::nullopt, ExitCode::kBadInput};
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    app.exit(help);
    return {std::nullopt, ExitCode::kEquivalent};
  } catch (const CLI::Error& error) {
    return UsageError(
        absl::StrCat(Explain(app, error, argc, argv), "\nHelp: samebits --help, samebits COMMAND --help"));
  }
  return Finish(&app, &b);
}

}  // namespace samebits::cli
