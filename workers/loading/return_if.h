#ifndef SAMEBITS_WORKERS_LOADING_RETURN_IF_H_
#define SAMEBITS_WORKERS_LOADING_RETURN_IF_H_

// Returns the expression's status where it is an error.
#define SAMEBITS_RETURN_IF(expression) \
  if (absl::Status status_ = (expression); !status_.ok()) return status_

#endif  // SAMEBITS_WORKERS_LOADING_RETURN_IF_H_
