"""The few calls of the CUDA driver API that the harness needs, through ctypes. One context a process.

Every call that fails raises DriverError with the API's own number. After a kernel faults, the context is lost and
each further call fails: the process must end (see pool.py).
"""
import ctypes
import os

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DEFAULT_DYNAMIC_SHARED = 48 * 1024


class DriverError(Exception):
    def __init__(self, call, code):
        super().__init__(f"{call} returned {code}")
        self.call, self.code = call, code


class Driver:
    """Context on device 0, memory copies, modules and synchronous launches. Not thread-safe."""

    def __init__(self):
        self._lib = ctypes.CDLL(os.environ.get("SAMEBITS_LIBCUDA", "libcuda.so.1"))
        self._call("cuInit", ctypes.c_uint(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self._device = device

    def _call(self, name, *args):
        code = getattr(self._lib, name)(*args)
        if code:
            raise DriverError(name, code)

    def describe(self):
        """Name of the device and the CUDA version that the driver supports, 13000 for 13.0."""
        name, version = ctypes.create_string_buffer(256), ctypes.c_int()
        self._call("cuDeviceGetName", name, ctypes.c_int(256), self._device)
        self._call("cuDriverGetVersion", ctypes.byref(version))
        return name.value.decode(), version.value

    def allocate(self, size):
        """Address of `size` zeroed bytes; lives as long as the process."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self._call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return address.value

    def free(self, address):
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def upload(self, address, array):
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_void_p(array.ctypes.data),
                   ctypes.c_size_t(array.nbytes))

    def copy(self, to, source, size):
        self._call("cuMemcpyDtoD_v2", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size))

    def download(self, array, address):
        self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(address),
                   ctypes.c_size_t(array.nbytes))

    def load(self, image, entry, shared):
        """(module, function) of a cubin; `shared` bytes of dynamic shared memory are allowed to it."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
        self._call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(entry.encode()))
        if shared > DEFAULT_DYNAMIC_SHARED:
            self._call("cuFuncSetAttribute", function, ctypes.c_int(MAX_DYNAMIC_SHARED), ctypes.c_int(shared))
        return module, function

    def unload(self, module):
        self._call("cuModuleUnload", module)

    def launch(self, function, grid, block, shared, values):
        """Runs the kernel to its end. `values` are ctypes scalars in the order of the parameters."""
        slots = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(v) for v in values])
        self._call("cuLaunchKernel", function, *[ctypes.c_uint(d) for d in (*grid, *block)], ctypes.c_uint(shared),
                   ctypes.c_void_p(0), slots, ctypes.c_void_p(0))
        self._call("cuCtxSynchronize")
