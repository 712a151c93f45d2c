#ifndef SAMEBITS_TESTS_UNIT_CLIENT_RENDER_HEAL_SAMPLES_H_
#define SAMEBITS_TESTS_UNIT_CLIENT_RENDER_HEAL_SAMPLES_H_

// Made-up results of the numerics jobs, in the shapes and magnitudes of real ones.

#include "core/heal/jobs/result.h"

namespace samebits::render {

heal::EvaluateResult SampleEvaluate();
heal::AttributeResult SampleAttribute(int layers);
heal::DecomposeResult SampleDecompose();
heal::SweepResult SampleSweep();
heal::QkvResult SampleQkv();
heal::PolicyResult SamplePolicy();
heal::ServeCostResult SampleServeCost();

}  // namespace samebits::render

#endif  // SAMEBITS_TESTS_UNIT_CLIENT_RENDER_HEAL_SAMPLES_H_
