# native_llama.py - the speed of native llama.cpp (llama-cpp-python), measured as the pages are: native_llama.py FILE JOB
#
# JOB is JSON: { threads, contexts, prefills, times }; contexts and prefills are numbers of prompt tokens. Prints JSON:
# the medians in tokens per second, and the version. Exit status 3: llama-cpp-python is not installed.
import json
import statistics
import sys
import time

try:
    import llama_cpp
except ImportError:
    sys.exit(3)

file, job = sys.argv[1], json.loads(sys.argv[2])
model = llama_cpp.Llama(
    model_path=file, n_ctx=1280, n_batch=512, n_threads=job["threads"], n_threads_batch=job["threads"], verbose=False
)
prompt = lambda n: [1] + [260 + (i * 37) % 2000 for i in range(1, n)]  # as prompt.js


def run(n, k):
    """Seconds of a prompt of n tokens with its first new token, and of each of the k - 1 tokens after it."""
    model.reset()
    start = time.perf_counter()
    model.eval(prompt(n))
    token = model.sample(temp=0)
    first = time.perf_counter()
    for _ in range(k - 1):
        model.eval([token])
        token = model.sample(temp=0)
    return first - start, (time.perf_counter() - first) / max(1, k - 1)


run(64, 32)
result = {"backend": f"llama-cpp-python {llama_cpp.__version__}, {job['threads']} threads"}
for n in job["contexts"]:
    result[f"decode @{n}"] = 1 / statistics.median(run(n, 64)[1] for _ in range(job["times"]))
for n in job["prefills"]:
    result[f"prefill {n}"] = n / statistics.median(run(n, 1)[0] for _ in range(job["times"]))
print(json.dumps(result))
