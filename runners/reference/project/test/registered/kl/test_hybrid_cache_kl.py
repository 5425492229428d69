"""KL tests of the hybrid prefix cache: cached path against fresh prefill."""

import unittest

from tinyserve.ci_register import register_cpu_ci
from tinyserve.kl_kit import KLMixin
from tinyserve.test_case import CITestCase

register_cpu_ci(est_time=8, suite="kl-cpu")


class TestHybridCacheKL(KLMixin, CITestCase):
    cache_hit_threshold = 0.5
    # KL noise of the FP8 state and KV; covers all three methods.
    kl_threshold = 0.003


class TestHybridCacheKLHiCache(KLMixin, CITestCase):
    offload = True
    cache_hit_threshold = 0.5
    # The offloaded state is quantized once more.
    kl_threshold = 0.005


if __name__ == "__main__":
    unittest.main()
