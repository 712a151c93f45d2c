#ifndef SAMEBITS_CLIENT_RENDER_HEAL_FIGURES_H_
#define SAMEBITS_CLIENT_RENDER_HEAL_FIGURES_H_

// Results of the numerics jobs as SVG documents, after the paper's figures. Pure, self-contained, readable on light and
// dark pages; each names what it shows for readers who do not see it. What was not measured is left out and named below
// the plot; a result without anything to draw gives a document that says so.

#include <string>
#include <vector>

#include "core/heal/jobs/result.h"

namespace samebits::render {

// Figure 1: flip rate against final hidden MSE (log), with standard errors. Sequences that differ where answers are
// unknown.
std::string FlipRateFigure(const heal::EvaluateResult& result);

// Figure 2: c_A, c_M, c_K by layer, stacked, and the MSE after each layer (red, log); a plot for each configuration.
std::string AttributionFigure(const heal::AttributeResult& result);

// Figures 3 and 9: arithmetic's part of each operator's error, a box for each family.
std::string DecompositionFigure(const heal::DecomposeResult& result);

// Figure 4: flip rate by kept significand bits, with the rate that is tolerated and the threshold.
std::string SweepFigure(const heal::SweepResult& result);

// Figure 5: density of AbsMax / sigma of Q, K, V over all layers; a plot for each configuration and kind of tensor.
std::string QkvFigure(const heal::QkvResult& result);

// Error over the unskipped variant's by skipped layers, in both orders, with the budget.
std::string PolicyFigure(const heal::PolicyResult& result);

// Overhead in time per output token, bars by configuration for each context and batch.
std::string ServeCostFigure(const heal::ServeCostResult& result);

// Classes of instructions as parts of all of a row's, a bar for each row.
std::string InstructionMixFigure(const std::vector<heal::MixRow>& rows);

std::string HealFigure(const heal::JobResult& result);

}  // namespace samebits::render

#endif  // SAMEBITS_CLIENT_RENDER_HEAL_FIGURES_H_
