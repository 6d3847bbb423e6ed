#!/usr/bin/env python3
"""Compiles variants of a warp-specialised kernel and checks that no warp uses registers that it has released.

usage: setmaxnreg_test.py BUILD; exit status 77 without nvcc or ptxas
"""
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release").resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests" / "device_runtime" / "warpgroup.cu"
SPECIFICATIONS = ("instruction_count", "basic_block_count", "branch_divergence", "opcode_mix", "active_lanes", "memory_efficiency",
                  "shared_bank_conflicts", "async_operations", "loop_trips", "value_check", "kernel_runtime")


def load_checker():
    path = ROOT / "scripts" / "setmaxnreg_registers"
    loader = importlib.machinery.SourceFileLoader("setmaxnreg_registers", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


CHECKER = load_checker()


def tool(name):
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")


def with_limit(data, limit):
    """Returns the machine code with another operand of every USETMAXREG that releases registers."""
    changed = bytearray(data)
    for instructions in CHECKER.kernels(data).values():
        for each in instructions:
            if each & 0xfff == CHECKER.SET_REGISTERS and each >> 32 & 0xffffffff < 100:
                old = each.to_bytes(16, "little")
                new = (each & ~(0xffffffff << 32) | limit << 32).to_bytes(16, "little")
                at = changed.index(old)
                changed[at:at + 16] = new
    return bytes(changed)


class Registers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.ptx = cls.folder / "kernel.ptx"
        subprocess.run([tool("nvcc"), "-w", "-std=c++17", "-arch=sm_90a", f"-I{ROOT}", "-ptx", "-o", cls.ptx, SOURCE], check=True, cwd=cls.folder)
        # Without the number of blocks, ptxas does not know the registers at entry and ignores setmaxnreg.
        cls.ptx.write_text(cls.ptx.read_text().replace(".maxntid", ".minnctapersm 1\n.maxntid", 1))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def assemble(self, ptx):
        cubin = ptx.with_suffix(".cubin")
        subprocess.run([tool("ptxas"), "-arch=sm_90a", ptx, "-o", cubin], check=True)
        return cubin.read_bytes()

    def test_variants_use_only_the_registers_that_they_have(self):
        for spec in SPECIFICATIONS:
            with self.subTest(spec):
                output = self.folder / f"{spec}.ptx"
                subprocess.run([BUILD / "bin" / "lynxpp", "ptx", "instrument", self.ptx, "-s", spec, "--full-warps", "--whole-rows", "-o", output],
                               check=True, capture_output=True)
                self.assertEqual(CHECKER.excess(self.assemble(output)), [])

    def test_finds_registers_above_the_limit(self):
        native = self.assemble(self.ptx)
        self.assertEqual(CHECKER.excess(native), [])
        found = CHECKER.excess(with_limit(native, 8))
        self.assertEqual(len(found), 1, found)
        self.assertIn("but setmaxnreg leaves 8 registers", found[0])


if __name__ == "__main__":
    if not tool("nvcc") or not tool("ptxas"):
        print("SKIP: nvcc or ptxas is missing")
        sys.exit(77)
    unittest.main(verbosity=2)
