#ifndef SAMEBITS_CLIENT_CLI_HELP_TEXT_H_
#define SAMEBITS_CLIENT_CLI_HELP_TEXT_H_

// Footers of the help pages: what option lists do not teach.

namespace samebits::cli {

inline constexpr char kMainHelp[] =
    R"(Two kernels, one answer, no server needed:
  samebits compare --local a.ptx b.ptx --block 128 --grid 96

Exit codes: 0 equivalent, 1 not equivalent, 2 usage or input error, 3 not decided (unknown), 4 server failure.
A kernel is a file of PTX (- for standard input), kernels/SHA256 for a registered one, or with --manifest an id.
Reference: docs/cli.md, docs/verdicts.md. Help on one command: samebits COMMAND --help)";

inline constexpr char kLaunchHelp[] =
    R"(Launches. Parts come from, in this order: flags for one side (--a-block), flags (--block), the launch file
(KERNEL@LAUNCH.json, else a.launch.json or a.json beside a.ptx), the kernel's own .reqntid for the block.
Without a grid the answer holds for every grid; without arguments for any values.
  --arg n=4096        a number, typed by its parameter     --arg s=f32:1.5   typed (i32 u32 i64 u64 f32 f64)
  --arg x=ptr         a pointer, matched by position       --arg s=0x3fc00000 bit pattern
  --arg x=ptr:input   a pointer, matched by buffer name    --arg w=scratch   a pointer, contents not compared
  --arg m=unknown     any value                            --arg p=bytes:00ff a structure by value
Arguments stand in the order of the parameters, names being comments, unless the names are positions ("2=4096").
Kernels of Triton end with two unused pointers: --arg scratch --arg scratch.)";

inline constexpr char kCompareHelp[] =
    R"(Examples:
  samebits compare --local a.ptx b.ptx
  samebits compare a.ptx b.ptx --a-block 128 --b-block 256 --grid 96 --arg x=ptr --arg o=ptr --arg n=4096
  samebits compare --manifest kernels.jsonl sum/0 sum/1 --format json
  samebits compare --manifest kernels.jsonl --pairs pairs.jsonl --format json

--a-block, --b-arg and so on: every launch flag for one side alone.
Exit codes: 0 EQUIVALENT; 1 DIFFERENT, DISTINCT or NONDETERMINISTIC; 2 usage or input error; 3 UNKNOWN; 4 server
failure. In CI: fail on any code but 0.)";

inline constexpr char kExplainHelp[] =
    R"(Example:
  samebits explain --local a.ptx b.ptx --block 128 --grid 96 --html why.html

Shows the first output element at which the two part: both expressions beside each other, what they have in common
folded away, with the instructions and source lines, and whether operands came together in a thread, a warp or shared
memory. --svg draws them, --html writes a page. Then searches for an input on which the bits differ: DIFFERENT with
such a witness, else DISTINCT and, where it is known, the cause. Launch flags and exit codes are those of compare.
Many pairs at once, one answer a line:
  samebits explain --local --manifest kernels.jsonl --pairs pairs.jsonl --format json)";

inline constexpr char kPartitionHelp[] =
    R"(Examples:
  samebits partition --local --jobs 8 config*.ptx --block 128
  samebits partition --manifest kernels.jsonl --reference default --format json

Kernels of one class return the same bits. The first of each class (or the reference) is its representative, marked *.
A kernel that is nondeterministic, unknown or in error belongs to no class.
Exit codes: 0 all in one class; 1 several classes or a nondeterministic kernel; 2 a kernel could not be read or the
usage is wrong; 3 one class, but some kernels are not decided; 4 server failure.)";

inline constexpr char kSignatureHelp[] =
    R"(Example:
  samebits signature --local --manifest kernels.jsonl --jobs 8 > signatures.jsonl

Prints one JSON object a line, in the order given: id, signature, status (OK, NONDETERMINISTIC, UNKNOWN), reason,
micros (time of one thread in the checker), stage_micros (that of parse, execute and map). Equal signatures: the same
bits. A kernel that cannot be read gets a line with status UNKNOWN. Exit codes: 0 a line for every kernel of the manifest; 2 unusable manifest, unreadable file or
usage error; 4 server failure.)";

inline constexpr char kVerifyHelp[] =
    R"(Examples:
  samebits verify a.ptx b.ptx --grid 96 --arg x=ptr --arg o=ptr --buffer 0=f32:393216:in --buffer 1=f32:96:out
  samebits verify --manifest kernels.jsonl sum/0 sum/1 --device cuda --distribution wide

Runs every launch on the same inputs on workers (samebits-worker) and says which wrote the same bytes, whether each
repeats, and whether that agrees with the static verdicts. A device is a backend (cpu, cuda, rocm), cuda/sm_90 or one device
(workers/NAME/devices/0). PTX runs on cpu and cuda, AMDGCN on cpu and rocm (which was never executed on an AMD GPU). Buffers: NAME=TYPE:ELEMENTS[:in|:out|:inout][:unit][:LOW..HIGH], NAME being that of --arg
x=ptr:NAME, else the argument's position; types f32 f16 bf16 e4m3 e5m2 f64 i32 i8 raw. In JSON: "buffers".
Inputs: uniform normal scales unit integers sparse wide cancelling subnormals special varied vanishing zeros ones
(docs/inputs.md).
Exit codes: 0 all launches ran and wrote the same bytes; 1 they differ, do not repeat, or contradict a verdict; 2 usage
or input error; 3 some launch has no bytes; 4 failure of the server or of all devices.)";

inline constexpr char kJobsHelp[] =
    R"(Examples:
  samebits jobs --open
  samebits jobs operations/0123456789abcdef0123456789abcdef --watch

A job is named operations/ID; ID alone will do. Exit codes: 0 done; 1 a job that is shown has failed or was cancelled;
2 usage error or no such job; 4 server failure.)";

inline constexpr char kReproducersHelp[] =
    R"(Examples:
  samebits reproducers
  samebits reproducers reproducers/0123456789abcdef0123456789abcdef-0 --out case

A verification that contradicts a verdict is kept, up to 64 a job, until it is deleted here. --out writes a.ptx, b.ptx,
manifest.jsonl and reproducer.json, and prints the commands that compare and run the two again.
Exit codes: 0 done; 2 usage error or no such reproducer; 4 server failure.)";

inline constexpr char kTokenHelp[] =
    R"(Example:
  samebits token submitter alice --hours 720 >alice.token 2>>tokens && chmod 600 alice.token tokens
  samebits serve --tokens tokens --tls-cert server.pem --tls-key server.key

Prints the token on standard output, for its owner's --token-file, and on standard error the line for the server's
--tokens file, which holds only a digest of it. The server reads the file again when it changes: delete a line to
revoke. Roles: viewer reads and compares; submitter also stores kernels and submits and cancels jobs; worker is for
samebits-worker of that name; admin may do everything else.
Exit codes: 0 done; 2 usage error.)";

inline constexpr char kFleetHelp[] =
    R"(Examples:
  samebits fleet --watch
  samebits fleet gpu-7 --drain
  samebits fleet enrol > enrolment

Workers register themselves (samebits-worker). A draining worker ends what it runs and gets nothing new.
Exit codes: 0 done; 2 usage error or no such worker; 4 server failure.)";

inline constexpr char kFleetEnrolHelp[] =
    R"(Example:
  samebits fleet enrol --hours 2 > enrolment          # where an administrator's token is
  samebits-worker --server HOST:PORT --tls-ca ca.pem --enrolment enrolment --token-file worker.token \
      --allow-submitted-kernels                         # on the node

Prints a secret with which a worker gets a token of its own, which it keeps in its --token-file. See docs/security.md.
Exit codes: 0 done; 2 usage error, or the server asks for no tokens; 4 server failure.)";

inline constexpr char kInspectHelp[] =
    R"(Example:
  samebits inspect a.ptx --block 128 --grid 96

Shows what the checker knows of one launch: status, scope, and per family of outputs the buffer, the addresses, the
domain and the expression. Runs in this process; a registered kernel's text is fetched from the server.
Exit codes: 0 printed; 2 usage or input error; 4 server failure.)";

inline constexpr char kRegisterHelp[] =
    R"(Example:
  samebits register a.ptx b.ptx

Stores kernel texts in the server and prints their names, which compare, explain, partition and inspect take in place
of files. The same text always gets the same name. Exit codes: 0 all stored; 2 usage or input error; 4 server failure.)";

inline constexpr char kCiCheckHelp[] =
    R"(Examples:
  samebits ci check --baseline old/ --candidate new/ --junit bits.xml --sarif bits.sarif
  samebits ci check --baseline signatures.json --candidate build/ptx --update-baseline
  samebits ci check --baseline signatures.json --candidate ~/.triton/cache

Compares kernel by kernel: equal, changed (with where they part), new, gone, unknown. A folder may hold PTX or
AMDGCN texts (.amdgcn, .s) with launches beside them, fat binaries and objects with PTX inside, or be a Triton cache. Checks in this process unless
--server or $SAMEBITS_SERVER names a server. A kernel that is not decided but whose text is the baseline's never fails.
Exit codes: 0 nothing that fails; 1 a kernel changed (or is new, or gone, where those fail); 3 a kernel is not decided;
2 usage or input error; 4 server failure.)";

inline constexpr char kCompletionHelp[] =
    R"(Examples:
  source <(samebits completion bash)
  samebits completion zsh > "${fpath[1]}/_samebits")";

inline constexpr char kServeHelp[] =
    R"(Example:
  samebits serve --listen 127.0.0.1:7433 --metrics 127.0.0.1:9433 --data ~/.local/share/samebits

Runs until SIGINT or SIGTERM, then finishes running calls. Data: one SQLite file, samebits.db, in the data folder
($SAMEBITS_DATA, else $XDG_DATA_HOME/samebits, else ~/.local/share/samebits). Metrics: http://ADDRESS/metrics.
Logs: one JSON object a line on standard error.)";

inline constexpr char kBackupHelp[] =
    R"(Example:
  samebits backup /backups/samebits-$(date +%F).db

Copies one state of the database of the data folder to a new file, which needs no other file, and checks the copy. The
server may run and goes on writing meanwhile; this command needs no server and no connection, only the right to read its
data folder.
Exit codes: 0 copied and whole; 1 copied, but fsck has findings; 2 usage error, no database, or FILE is there already;
4 failure of the system.)";

inline constexpr char kRestoreHelp[] =
    R"(Example:
  samebits restore /backups/samebits-2026-11-30.db --replace

Checks the backup, then puts a copy of it in place of the database of the data folder. Refused while a server runs there;
a database that is there needs --replace, and is kept beside the new one. Jobs that ran at the time of the backup are
leased again. Exit codes: 0 restored; 2 usage error, a server runs, or a database is there; 4 failure of the system, or
the backup is damaged.)";

inline constexpr char kFsckHelp[] =
    R"(Examples:
  samebits fsck
  samebits fsck /backups/samebits-2026-11-30.db

Checks the file (SQLite's integrity and foreign keys), the schema, and what samebits itself promises: texts have their
digests, signatures theirs, every job is in a state that it can be in, leases and tokens fit, counters add up. Reads one
state, also beside a running server, and changes nothing. Each finding is a line with its remedy.
Exit codes: 0 whole; 1 findings; 2 usage error, no database, or one of another program or a newer version; 4 failure
of the system, or the file is no database at all.)";

inline constexpr char kGemmHelp[] =
    R"(These commands run in this process, without a server; probe and emulate on a worker where --server is given.
Reference: docs/gemm.md.)";

inline constexpr char kGemmDescribeHelp[] =
    R"(Example:
  samebits gemm describe 'gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16 family=split_k cuts=contiguous:192x3' \
      --k 576 --sm 90

Prints the descriptor in canonical form, a sentence, and its digest; with --k and --sm also the digest of what can be
observed at that K on that architecture: equal ones owe the same bits.

  samebits gemm describe --profile h200.txt --types bf16,bf16,f32,bf16 --m 16 --n 4096 --k 4096

says which descriptor a library follows for a shape, and how that is known. Exit codes: 0; 2 usage or input error; 3 the
profile does not say.)";

inline constexpr char kGemmProbeHelp[] =
    R"(Example:
  samebits gemm probe --library cublaslt --types f16,f16,f32,f16 --m 128 --n 128 --k 11528

Asks the library on this machine: probes read the tree of sums, fresh draws confirm it bit for bit. Prints the evidence
and the descriptor. cublas is cublasGemmEx, which tells no algorithm. hipblaslt was only ever run against a stand-in, not
on a GPU, and of AMD's matrix instructions there is no model: only products by scalar instructions can be explained there.
The libraries are found at run time; SAMEBITS_CUDART, SAMEBITS_CUDA_DRIVER, SAMEBITS_CUBLASLT, SAMEBITS_CUBLAS, SAMEBITS_HIP
and SAMEBITS_HIPBLASLT name them where the loader does not find them.

  samebits gemm probe --server gpus.example:7433 --on cuda/sm_90 --types bf16,bf16,f32,bf16 --shape 16x4096x4096 --shape 1x8192x8192

has a worker do it, for up to 1,000 shapes; another worker goes on where one dies. Control-C leaves it running: samebits jobs
NAME --watch follows it, --cancel ends it. Exit codes, of the worst shape: 0 explained; 1 explained, but the library
leaves out elements; 3 unexplained; 2 usage or input error.)";

inline constexpr char kGemmInvarianceHelp[] =
    R"(Examples:
  samebits gemm invariance --profile h200.txt --types bf16,bf16,f32,bf16 --n 4096 --k 4096 --last-m 512
  samebits gemm invariance --profile h200.txt --types f16,f16,f32,f16 --models --format json --svg invariance.svg

For each run of batch sizes M: which bits a row gets (runs of one number owe the same), by which descriptor, and what of it
changed. Exit codes: 0 the same at every M; 1 they change; 3 they do not as far as is known; 2 usage or input error.)";

inline constexpr char kProfileHelp[] =
    R"(An arch profile holds what one library does on one device: rules by the cost model's answer, the answers, the shapes
that were studied, and how all was validated. These commands run in this process. Reference: docs/gemm.md.)";

inline constexpr char kProfileBuildHelp[] =
    R"(Example:
  samebits profile build --out h200.txt --kinds 'bf16,bf16,f32,bf16;f16,f16,f32,f16:NT' --shapes 500
  samebits profile build --server gpus.example:7433 --on cuda/sm_90 --kinds 'bf16,bf16,f32,bf16' --shapes 500

With --server a worker does it, and the server keeps the profile; another worker goes on where one dies. Control-C leaves
it running: samebits jobs NAME --watch follows it, --cancel ends it.

With --library cublas, which tells no algorithm, every shape is recovered by itself, and the profile says nothing about
shapes that were not studied. Exit codes: 0 written; 2 usage or input error, or the library is not there; 4 the library
failed.)";

inline constexpr char kProfileStoredHelp[] =
    R"(Examples:
  samebits profile import h200.txt
  samebits profile list
  samebits profile export archProfiles/... --out h200.txt

The server keeps profiles by their content: the same text always gets the same name, which the other commands take in
place of a file. Exit codes: 0 done; 2 usage or input error; 4 server failure.)";

inline constexpr char kProfileShowHelp[] = R"(Example:
  samebits profile show h200.txt)";

inline constexpr char kProfileDefectsHelp[] =
    R"(Example:
  samebits profile defects h200.txt --out programs

Where the library leaves elements out of its sums. Each program needs nothing but CUDA and cuBLASLt, and says in its head how
it is built; it ends with 1 where the defect shows. Exit codes: 0 no defect; 1 some.)";

inline constexpr char kProfileDiffHelp[] =
    R"(Example:
  samebits profile diff before.txt after.txt

For the shapes that both profiles list: where the bits change, and by which field of the descriptor. Exit codes: 0 all stay;
1 some change; 3 none as far as is known, or no shape is in both; 2 usage or input error.)";

inline constexpr char kGemmEmulateHelp[] =
    R"(Example:
  samebits gemm emulate @desc.txt --sm 90 --m 64 --n 128 --k 576 --a a.bin --b b.bin --out d.bin

Computes D = A * B^T on the CPU. Files are packed little-endian elements without a header; the contracted axis is
contiguous in A (m x k) and B (n x k). generate:SEED:DISTRIBUTION stands for the elements of docs/inputs.md, buffer "a", "b",
"c" or "bias", and then the digests of the output and of its blocks are printed, too:

  samebits gemm emulate @desc.txt --server gpus.example:7433 --sm 90 --m 8192 --n 8192 --k 8192 --a generate:1 --b generate:1:normal

With --server a worker does it, block by block; another one goes on where it dies. Outputs of more than 16 MiB do not come back,
only their digests (no --out). Exit codes: 0 written; 2 usage or input error, or arithmetic that is not
established.)";

inline constexpr char kGemmSimulateHelp[] =
    R"(Example:
  samebits gemm simulate --count 5000

Draws hidden descriptors with shapes and architectures, recovers each from the bytes that a simulated library returns,
and compares: the bytes on 100 fresh draws, and the observable form. Prints a table by family, and every descriptor that
is not recovered. Exit codes: 0 all recovered; 1 some not; 2 usage error.)";

inline constexpr char kGemmCheckVectorsHelp[] =
    R"(Example:
  samebits gemm check-vectors model_validation

Prints a row for each GPU, input type and result type: rows, mismatches, and whether the model claims that unit. The
folder's format: docs/gemm.md. Exit codes: 0 every claimed unit reproduces every row; 1 one does not; 2 usage or input
error.)";

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_HELP_TEXT_H_
