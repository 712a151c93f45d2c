"""Client of the samebits service: do two GPU kernel launches return the same bits?

    import samebits

    with samebits.Client("127.0.0.1:7433") as client:
        a = samebits.launch(text=ptx_a, block=(128, 1, 1), grid=(96, 1, 1))
        b = samebits.launch(text=ptx_b, block=(256, 1, 1), grid=(96, 1, 1))
        print(samebits.verdict_name(client.compare(a, b).verdict))
"""

from samebits.client import Client, SamebitsError, verdict_name
from samebits.launches import aggregate, f32, f64, integer, launch, pointer, scratch, unknown

__all__ = [
    "Client", "SamebitsError", "verdict_name", "aggregate", "f32", "f64", "integer", "launch", "pointer", "scratch",
    "unknown",
]
