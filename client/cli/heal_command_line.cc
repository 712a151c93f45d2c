#include <string>
#include <utility>
#include <vector>

#include "client/cli/command_builder.h"
#include "client/cli/heal_help_text.h"

namespace samebits::cli {
namespace {

template <typename Value>
CLI::Option* Add(CLI::App* sub, const char* name, Value& value, const char* type, const char* what) {
  return sub->add_option(name, value, what)->type_name(type);
}

template <typename Value>
void AddList(CLI::App* sub, const char* name, std::vector<Value>& value, const char* what) {
  sub->add_option(name, value, what)->type_name("LIST")->delimiter(',')->allow_extra_args(false);
}

// What all of them take, of files and of a server's jobs.
void AddRun(CLI::App* sub, Builder* b) {
  sub->add_flag_callback("--json", [b] { b->format = "json"; }, "As --format json");
  Add(sub, "--output", b->line.heal.output, "DIR", "Also write result.json, table.txt and figure.svg there");
  const auto run = [&](const char* option, auto& value, const char* type, const char* what) {
    Add(sub, option, value, type, what)->group("Run");
  };
  run("--priority", b->line.job.priority, "N", "Higher goes first, -100 to 100");
  run("--deadline", b->line.job.deadline_seconds, "SECONDS", "Longest time until the result; default a day");
  run("--request-id", b->line.job.request_id, "ID", "The same id and request give the same job");
  sub->add_flag("--no-wait", b->line.job.no_wait, "Print the job's name and do not wait for it")->group("Run");
}

// What those take that ask for a model.
CLI::App* AddJob(CLI::App* heal, Builder* b, Command command, const char* name, const char* summary, const char* help) {
  HealOptions& o = b->line.heal;
  CLI::App* sub = AddCommand(heal, b, command, name, summary, std::string(help) + "\n\n" + kHealRunHelp);
  AddCommonOptions(sub, b);
  Add(sub, "--model", o.model, "MODEL", "synthetic:NAME[:SEED]; with --local a path; else a worker's model")->required();
  Add(sub, "--device", o.device, "DEVICE", "Where to run: cpu, cuda; with --local cpu (default) or cuda:N");
  Add(sub, "--resume", o.journal, "FILE", "With --local: keep finished parts there, and go on from them");
  Add(sub, "--slots", o.slots, "N", "Sequences side by side; default 32")->group("Run");
  Add(sub, "--rows", o.rows, "N", "Most rows of one pass; default 512")->group("Run");
  AddRun(sub, b);
  return sub;
}

// One that asks the model something.
CLI::App* AddAsking(CLI::App* heal, Builder* b, Command command, const char* name, const char* summary, const char* help) {
  HealOptions& o = b->line.heal;
  CLI::App* sub = AddJob(heal, b, command, name, summary, help);
  CLI::Option* file = Add(sub, "--prompts", o.prompts, "FILE", "Prompts as tokens, JSON Lines (docs/numerics.md)");
  CLI::Option* synthetic = Add(sub, "--synthetic-prompts", o.synthetic_prompts, "COUNTxLENGTH[:SEED]", "Random tokens in place of a file");
  synthetic->excludes(file);
  Add(sub, "--limit", o.limit, "N", "Only the first N prompts of the file")->check(CLI::PositiveNumber.description(""))->excludes(synthetic);
  Add(sub, "--anchor", o.anchor, "CONFIGURATION", "What others are compared with; default fp32");
  Add(sub, "--max-new-tokens", o.max_new_tokens, "N", "Most tokens that are generated for a prompt")
      ->check(CLI::PositiveNumber.description(""));
  return sub;
}

void AddUsedPrompts(CLI::App* sub, HealOptions* o, const char* what) { Add(sub, "--use-prompts", o->used_prompts, "N", what); }

void AddAttributeToSweep(CLI::App* heal, Builder* b) {
  HealOptions& o = b->line.heal;
  CLI::App* attribute = AddAsking(heal, b, Command::kHealAttribute, "attribute",
                                  "Which layers and parts the error comes from", kHealAttributeHelp);
  AddList(attribute, "--configurations", o.configurations, "Default bf16,heal-base,heal+");
  AddUsedPrompts(attribute, &o, "The first N prompts; default 32");
  Add(attribute, "--fitted-rows", o.fitted_rows, "N", "Rows that slopes are fitted to, 16 to 4096; default 1024");
  CLI::App* decompose = AddAsking(heal, b, Command::kHealDecompose, "decompose",
                                  "How much of each operator's error is truncation", kHealDecomposeHelp);
  Add(decompose, "--configuration", o.configuration, "bf16|fp16", "Default bf16");
  AddUsedPrompts(decompose, &o, "The first N prompts; default 16");
  CLI::App* sweep = AddAsking(heal, b, Command::kHealSweep, "sweep", "How many significand bits it takes", kHealSweepHelp);
  Add(sweep, "--least-bits", o.least_bits, "N", "Default 3");
  Add(sweep, "--most-bits", o.most_bits, "N", "Default 22");
  AddList(sweep, "--baselines", o.configurations, "Beside them; default bf16,fp16,tf32,fp32");
  Add(sweep, "--tolerated-rate", o.tolerated_rate, "RATE",
      "Flip rate that counts as reproducible; default: the anchor's own under other schedules");
}

void AddQkvToServeCost(CLI::App* heal, Builder* b) {
  HealOptions& o = b->line.heal;
  CLI::App* qkv = AddAsking(heal, b, Command::kHealQkv, "qkv", "How Q, K and V are distributed; what INT16 does to them",
                            kHealQkvHelp);
  AddList(qkv, "--configurations", o.configurations, "Default bf16,fp32");
  AddUsedPrompts(qkv, &o, "The first N prompts; default all");
  CLI::App* policy = AddAsking(heal, b, Command::kHealPolicy, "policy", "How many layers can go unprotected", kHealPolicyHelp);
  AddChoice(policy, "--variant", &o.variant, {"heal++", "heal-full", "paper-heal++", "paper-heal-full"}, "Default heal++");
  Add(policy, "--budget", o.budget, "X", "Median error over the unskipped variant's; default 1.2 and 1.5");
  AddUsedPrompts(policy, &o, "The first N prompts; default 8");
  Add(policy, "--most-skipped", o.most_skipped, "N", "Try no more layers; default all");
  CLI::App* cost = AddJob(heal, b, Command::kHealServeCost, "serve-cost", "Time per output token, and memory", kHealServeCostHelp);
  Add(cost, "--baseline", o.baseline, "CONFIGURATION", "Default bf16");
  AddList(cost, "--configurations", o.configurations, "Default heal-base,heal+,heal-full,fp32");
  AddList(cost, "--batches", o.batches, "Default 1,16,64");
  AddList(cost, "--contexts", o.contexts, "Default 2048");
  Add(cost, "--rounds", o.rounds, "N", "Each times every configuration once; default 3");
  Add(cost, "--warmup-steps", o.warmup_steps, "N", "Default 8");
  Add(cost, "--steps", o.steps, "N", "Timed steps; default 32");
}

void AddInstructionMix(CLI::App* heal, Builder* b) {
  HealOptions& o = b->line.heal;
  CLI::App* sub = AddCommand(heal, b, Command::kHealInstructionMix, "instruction-mix",
                             "Which machine instructions kernels consist of", kHealInstructionMixHelp);
  AddCommonOptions(sub, b);
  AddRun(sub, b);
  Add(sub, "files", o.files, "FILE", "Machine code, or a disassembler's text");
  AddList(sub, "--engine", o.engine, "In place of files: our own engine's kernels for these configurations, or all");
  Add(sub, "--shape", o.shape, "NAME", "With --engine: a model's published shape")->capture_default_str();
  Add(sub, "--target,--arch", o.target, "TARGET", "Only code for it: sm_90, gfx942; with --engine what is compiled for, default sm_90");
  Add(sub, "--device", o.device, "DEVICE", "With --server: cpu, cuda, workers/a/devices/0; default: any with the tools");
  Add(sub, "--match", o.match, "REGEX", "Only kernels with a match in their name, mangled or readable");
  Add(sub, "--group", o.group, "REGEX", "A row for each first group (or match) of it in names; default: for each kernel");
  sub->add_flag("--kernels", o.all_kernels, "With JSON: also every kernel's counts");
  AddThreads(sub, "--jobs", &b->line.jobs, "Without --server: disassemblers at a time; default: one per core");
}

}  // namespace

void AddHeal(CLI::App* app, Builder* b) {
  HealOptions& o = b->line.heal;
  CLI::App* heal = app->add_subcommand("heal", "Numerics of language models: where they round, and what that does");
  heal->require_subcommand(1);
  heal->footer(std::string("\n") + kHealHelp);
  CLI::App* evaluate = AddAsking(heal, b, Command::kHealEvaluate, "evaluate", "How far from the anchor, how often another answer",
                                 kHealEvaluateHelp);
  AddList(evaluate, "--configurations", o.configurations, "Default bf16,fp16,tf32,fp32,heal-base,heal+,heal-full");
  AddList(evaluate, "--schedules", o.schedules, "Of fixed, original, reversed; default all");
  evaluate->add_flag("--no-mse", o.skip_mse, "Leave out teacher forcing");
  evaluate->add_flag("--no-flips", o.skip_flips, "Leave out generation");
  AddAttributeToSweep(heal, b);
  AddQkvToServeCost(heal, b);
  AddInstructionMix(heal, b);
}

}  // namespace samebits::cli
