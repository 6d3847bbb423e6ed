def do_bench(function, warmup=25, rep=100, quantiles=None):
    raise AssertionError("a test measures time")
