#!/usr/bin/env python3
"""The comparison of run_service_corpus.py notices each way in which results may be wrong; buffers follow from names."""
import unittest

import run_service_corpus as service_corpus
import undescribed


def row(name, digests, stable=True):
    return {"id": name, "digests": digests, "stable": stable}


def outcome(digests, stable=True):
    return {"digests": digests, "stable": stable}


def report(kernels, assuming=()):
    """The report on one group of (row, signature, outcomes) triples."""
    results = service_corpus.Results(seeds=1)
    for kernel, signature, outcomes in kernels:
        results.signatures[kernel["id"]], results.by_seed[0][kernel["id"]] = signature, outcomes
    results.assuming.update(assuming)
    made = service_corpus.Report(results, ["uniform", "wide"], seeds=1, predictions=None)
    made.add("g", [kernel for kernel, _, _ in kernels])
    return made


class Comparison(unittest.TestCase):
    def test_equal_partition(self):
        made = report([(row("a", ["1", "2"]), "s", [outcome(["x", "y"])]), (row("b", ["1", "2"]), "s", [outcome(["x", "y"])]),
                       (row("c", ["1", "3"]), "t", [outcome(["x", "z"])])])
        self.assertEqual(made.wrong, [])
        self.assertEqual((made.counts["groups_equal"], made.counts["certified_pairs"], made.counts["classes"]), (1, 1, 2))

    def test_certified_pair_differs_on_second_device(self):
        made = report([(row("a", ["1", "2"]), "s", [outcome(["x", "z"]), outcome(["x", "z"])]),
                       (row("b", ["1", "2"]), "s", [outcome(["x", "z"]), outcome(["y", "z"])])])
        self.assertEqual((made.counts["certified_pairs"], made.counts["certified_pairs_different"]), (2, 1))
        self.assertEqual(made.counts["kernels_unlike_on_devices"], 1)
        self.assertTrue(made.wrong)

    def test_pairs_that_assume_contraction_are_counted_apart(self):
        kernels = [(row("a", ["1", "2"]), "s", [outcome(["x", "x"])]), (row("b", ["1", "2"]), "s", [outcome(["x", "y"])])]
        made = report(kernels, assuming={"b"})
        self.assertEqual((made.counts["certified_pairs_different"], made.counts["different_since_contraction_is_not_alike"]),
                         (0, 1))
        self.assertTrue(made.wrong)

    def test_finer_names_the_distribution(self):
        made = report([(row("a", ["1", "2"]), None, [outcome(["x", "y"])]), (row("b", ["1", "2"]), None, [outcome(["x", "z"])])])
        self.assertEqual(made.other["finer"]["g"], {"classes": 2, "in_manifest": 1, "parted_by": ["wide"],
                                                    "pairs_parted": {"without_a_signature": 1}})
        self.assertEqual((made.counts["groups_equal"], len(made.wrong)), (0, 1))

    def test_sets_of_distributions_are_compared_apart(self):
        made = report([(row("a", ["1", "2"]), "s", [outcome(["x", "y"])]), (row("b", ["1", "2"]), "t", [outcome(["x", "z"])]),
                       (row("c", ["3", "2"]), "u", [outcome(["w", "z"])])])
        self.assertEqual(made.by_set["uniform"], {"equal": 1, "classes": 2})  # the only ordinary one here
        self.assertEqual(made.by_set["wide"], {"crossing": 1, "classes": 2})
        self.assertEqual(made.by_set["all"], {"finer": 1, "classes": 3})

    def test_parted_pairs_by_signature(self):
        kernels = [(row(name, ["1", "2"]), signature, [outcome(["x", digest])])
                   for name, signature, digest in (("a", "s", "p"), ("b", "t", "q"), ("c", None, "r"), ("d", "s", "p"))]
        made = report(kernels)
        self.assertEqual(made.other["finer"]["g"]["pairs_parted"], {"of_two_signatures": 2, "without_a_signature": 3})
        self.assertEqual(made.counts["pairs_parted_of_one_signature"], 0)
        made = report([*kernels, (row("e", ["1", "2"]), "s", [outcome(["x", "q"])])])
        self.assertEqual(made.counts["pairs_parted_of_one_signature"], 2)

    def test_coarser_and_crossing(self):
        relation = service_corpus.relation
        self.assertEqual(relation("xx", "12"), "coarser")
        self.assertEqual(relation("xxy", "122"), "crossing")
        self.assertEqual(relation("xyz", "122"), "finer")
        self.assertEqual(relation("xyy", "122"), "equal")

    def test_unstable_kernels(self):
        made = report([(row("a", ["1"], stable=False), None, [outcome(["x"], stable=False)])])
        self.assertEqual((made.wrong, made.counts["unstable"]), ([], 1))
        made = report([(row("a", ["1"], stable=False), "s", [outcome(["x"], stable=False)])])
        self.assertEqual(made.counts["unstable_certified"], 1)
        made = report([(row("a", ["1"]), None, [outcome(["x"], stable=False)])])
        self.assertEqual((made.counts["stability_unlike_manifest"], len(made.wrong)), (1, 1))

    def test_fault_and_missing_result(self):
        made = report([(row("a", ["1"]), "s", [{"error": {"code": 11, "message": "m"}}])])
        self.assertEqual((made.counts["faults"], made.counts["kernels_without_bytes"], len(made.wrong)), (1, 1, 1))
        results = service_corpus.Results(seeds=1)
        results.add([{"id": "a", "group": "g"}], 0, type("Done", (), {"stdout": "", "stderr": "no server"})(), 1, 1)
        self.assertEqual((len(results.wrong), results.outcomes()), (1, {}))


class Devices(unittest.TestCase):
    def test_one_gpu_of_two_workers_is_one_device(self):
        workers = [{"name": f"workers/w{i}", "devices": [{"backend": "cuda", "name": "G", "uuid": "u"}]} for i in range(2)]
        targets = service_corpus.Targets(workers, "cuda")
        self.assertEqual((targets.of(0), targets.of(1), targets.describe()), (["cuda"], ["cuda"], "G"))

    def test_two_gpus_run_every_operation(self):
        gpus = [{"backend": "cuda", "name": "G", "architecture": "sm_90", "uuid": "u"},
                {"backend": "cuda", "name": "G", "architecture": "sm_90", "uuid": "v", "index": 1}]
        targets = service_corpus.Targets([{"name": f"workers/w{i}", "devices": gpus} for i in range(2)], "cuda")
        self.assertEqual(targets.of(1), ["workers/w1/devices/0", "workers/w1/devices/1"])
        self.assertEqual(targets.describe(), "2 x G (sm_90)")


class Buffers(unittest.TestCase):
    def of(self, group, *pointers, outputs=None, kind="inductor"):
        made = undescribed.buffers_of({"group": group, "set": kind, "outputs": outputs,
                                       "args": [{"ptr": name} for name in pointers] + [{"i32": 1}]})
        return {name: (b["dtype"], b["elements"], b["role"]) for name, b in made.items()}

    def test_listed(self):
        self.assertEqual(self.of("softmax_once_f16", "x", "o", outputs=["o"], kind="triton"),
                         {"x": ("f16", 131072, "in"), "o": ("f16", 131072, "inout")})

    def test_inductor(self):
        self.assertEqual(self.of("rms_bwd_bfloat16_256x1024__triton_red_fused__to_copy_mul_sum_0", "in_ptr0", "in_ptr2", "out_ptr0"),
                         {"in_ptr0": ("bf16", 262144, "in"), "in_ptr2": ("f32", 8192, "in"), "out_ptr0": ("f32", 8192, "inout")})

    def test_unknown(self):
        self.assertEqual(self.of("new", "p", kind="triton"), {"p": ("raw", 4 << 20, "inout")})


if __name__ == "__main__":
    unittest.main()
