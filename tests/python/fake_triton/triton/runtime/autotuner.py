class Config:
    def __init__(self, kwargs, num_warps=4):
        self.kwargs, self.num_warps = kwargs, num_warps


class Autotuner:
    def __init__(self, function, configs, key):
        self.fn, self.configs, self.keys, self.cache = function, configs, key, {}

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def prune_configs(self, kwargs):
        return self.configs

    def _bench(self, *args, config, **meta):
        raise AssertionError("a test measures time")

    def run(self, *args, **kwargs):
        timings = {each: self._bench(*args, config=each, **kwargs) for each in self.prune_configs(kwargs)}
        best = min(timings, key=timings.get)
        return self.fn.run(*args, **kwargs, **best.kwargs, num_warps=best.num_warps)
