// The functions that have to be there but are not called.

#define SAMEBITS_NOT_CALLED(name) \
  extern "C" int name() { return 801; /* not supported */ }

SAMEBITS_NOT_CALLED(cudaMemGetInfo)
SAMEBITS_NOT_CALLED(cudaEventCreateWithFlags)
SAMEBITS_NOT_CALLED(cudaEventDestroy)
SAMEBITS_NOT_CALLED(cudaEventRecord)
SAMEBITS_NOT_CALLED(cudaEventSynchronize)
SAMEBITS_NOT_CALLED(cudaEventElapsedTime)
SAMEBITS_NOT_CALLED(cudaStreamBeginCapture)
SAMEBITS_NOT_CALLED(cudaStreamEndCapture)
SAMEBITS_NOT_CALLED(cudaGraphInstantiate)
SAMEBITS_NOT_CALLED(cudaGraphLaunch)
SAMEBITS_NOT_CALLED(cudaGraphExecDestroy)
SAMEBITS_NOT_CALLED(cudaGraphDestroy)
SAMEBITS_NOT_CALLED(cuDeviceGet)
SAMEBITS_NOT_CALLED(cuDeviceGetName)
