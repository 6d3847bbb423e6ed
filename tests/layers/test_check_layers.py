"""Tests the layering checker on small made-up trees: which includes it must report, and which it must
accept."""
import importlib.util
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("check_layers", ROOT / "scripts" / "check_layers.py")
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)


class CheckLayers(unittest.TestCase):
    def errors(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_layers.check(folder)

    def expect(self, files, file, line, words):
        found = self.errors(files)
        self.assertEqual([(file, line)], [(f, l) for f, l, _ in found], found)
        self.assertIn(words, found[0][2])

    def test_a_good_tree(self):
        self.assertEqual([], self.errors({
            "support/result.h": "#include <string>\n",
            "ptx/ir/module.h": '#include "support/result.h"\n',
            "ptx/parser/parser.h": '#include "ptx/ir/module.h"\n',
            "ptx/parser/parser.cpp": '#include "ptx/parser/parser.h"\n#include "antlr4-runtime.h"\n#include "PtxParser.h"\n',
            "cod/codegen/nvptx.cpp": '#include <llvm/IR/Module.h>\n#include "ptx/parser/parser.h"\n',
            "engine/instrument.cpp": '#include "ptx/parser/parser.h"\n',
            "tests/ptx/parser_test.cpp": '#include <gtest/gtest.h>\n#include "ptx/parser/parser.h"\n#include "helper.h"\n',
            "tests/ptx/helper.h": "",
            "examples/apps/vecadd.cu": '#include "example.h"\n',
            "examples/apps/example.h": "#include <cuda_runtime.h>\n",
        }))

    def test_upwards_include(self):
        self.expect({"engine/instrument.h": "", "ptx/ir/module.h": '#include <string>\n#include "engine/instrument.h"\n'},
                    "ptx/ir/module.h", 2, 'ptx/ir may not include "engine/instrument.h"')

    def test_cycles_of_headers_and_their_sources(self):
        files = {"report/a.h": "", "report/a.cpp": '#include "report/a.h"\n#include "report/b.h"\n', "report/b.h": '#include "report/c.h"\n',
                 "report/c.h": "", "report/c.cpp": '#include "report/c.h"\n#include "report/a.h"\n', "report/d.h": '#include "report/a.h"\n'}
        found = self.errors(files)
        self.assertEqual([("report/a.cpp", 2), ("report/b.h", 1), ("report/c.cpp", 2)], sorted((file, line) for file, line, _ in found))
        self.assertIn("closes a cycle of includes: report/a, report/b, report/c", found[0][2])
        files["report/c.cpp"] = '#include "report/c.h"\n'
        self.assertEqual([], self.errors(files))

    def test_sideways_include(self):
        self.expect({"ptx/parser/parser.h": "", "ptx/emitter/emitter.cpp": '#include "ptx/parser/parser.h"\n'},
                    "ptx/emitter/emitter.cpp", 1, "ptx/emitter may not include")

    def test_spaces_in_the_directive(self):
        self.expect({"cod/syntax/ast.h": "", "report/table.cpp": ' # include  "cod/syntax/ast.h"\n'}, "report/table.cpp", 1, "report may not include")

    def test_preload_includes_the_boundary_only(self):
        files = {"interposer/engine_api.h": "", "interposer/session/session.h": "", "image/bytes.h": "",
                 "interposer/preload/hooks/hooks.cpp": '#include "interposer/engine_api.h"\n#include "image/bytes.h"\n#include "interposer/preload/x.h"\n',
                 "interposer/preload/x.h": ""}
        self.assertEqual([], self.errors(files))
        files["interposer/preload/x.h"] = '#include "interposer/session/session.h"\n'
        self.expect(files, "interposer/preload/x.h", 1, "interposer/preload may not include")

    def test_subfolder_has_its_own_row(self):
        self.expect({"device/cpu/runtime/runtime.h": "", "cli/main.cpp": '#include "device/cpu/runtime/runtime.h"\n'},
                    "cli/main.cpp", 1, "cli may not include")

    def test_llvm_outside_its_folders(self):
        self.expect({"engine/instrument.cpp": '#include "llvm/IR/Module.h"\n'}, "engine/instrument.cpp", 1, "LLVM header")

    def test_llvm_behind_a_header(self):
        self.expect({"cod/codegen/inner.h": "#include <llvm/IR/Type.h>\n",
                     "cod/codegen/outer.h": '#include "cod/codegen/inner.h"\n',
                     "cod/codegen/outer.cpp": '#include "cod/codegen/outer.h"\n',
                     "cod/specification.cpp": '#include "cod/codegen/outer.h"\n'},
                    "cod/specification.cpp", 1, '"cod/codegen/outer.h" brings LLVM along')

    def test_cycle_of_headers_ends(self):
        self.assertEqual(2, len(self.errors({"cod/a.h": '#include "cod/b.h"\n', "cod/b.h": '#include "cod/a.h"\n'})))

    def test_unknown_folder(self):
        self.expect({"profiler/main.cpp": ""}, "profiler/main.cpp", 1, "not in the layering table")

    def test_include_beside_the_file(self):
        self.expect({"report/table.h": "", "report/table.cpp": '#include "table.h"\n'}, "report/table.cpp", 1, "not written from the root")

    def test_unknown_header(self):
        self.expect({"report/table.cpp": '#include "nowhere.h"\n'}, "report/table.cpp", 1, "neither a file of the project nor a known library")

    def test_project_file_in_angle_brackets(self):
        self.expect({"report/table.h": "", "cli/main.cpp": "#include <report/table.h>\n"}, "cli/main.cpp", 1, "is a file of the project")

    def test_generated_and_third_party_folders_are_not_read(self):
        self.assertEqual([], self.errors({"build/x.cpp": '#include "engine/instrument.h"\n', "third_party/x.h": '#include "y.h"\n'}))

    def test_getenv_in_what_programs_load(self):
        text = 'auto a = secure_getenv("A");\nauto b = std::getenv("B");\nfegetenv(&now);\n'
        self.expect({"engine/limits.cpp": text}, "engine/limits.cpp", 2, "call secure_getenv")
        self.assertEqual([], self.errors({"cli/main.cpp": text, "tests/main.cpp": text}))

    def test_the_table_has_no_cycle(self):
        def visit(folder, path):
            self.assertNotIn(folder, path, path)
            for target in check_layers.TABLE.get(folder, []):
                if target in check_layers.TABLE:
                    visit(target, path + [folder])
        for folder in check_layers.TABLE:
            visit(folder, [])


if __name__ == "__main__":
    unittest.main()
