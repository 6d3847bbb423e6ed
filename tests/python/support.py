"""Lets the tests use the package of this repository with the libraries of a build folder. Has PTX for them."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/end_to_end")]
from harness import Build  # noqa: E402

BUILD = Build(sys.argv.pop()) if len(sys.argv) > 1 else None
for variable in [name for name in os.environ if name.startswith("LYNXPP_") and BUILD is not None]:
    del os.environ[variable]
if BUILD is not None:
    os.environ["LYNXPP_HOME"] = str(BUILD.folder)


def module(body, parameters="", variables="", name="k", directives=""):
    """Returns the text of a module with one kernel. Its body begins in line 8."""
    return f""".version 8.0
.target sm_80
.address_size 64
{variables}
.visible .entry {name}({parameters}) {directives}
{{
.reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .f32 %f<9>; .reg .f64 %d<9>;
{body}
ret;
}}
"""


# to[i] = from[i] + number for each thread i of the grid
ADD = module(
    """ld.param.u64 %a1, [to];
ld.param.u64 %a2, [from];
ld.param.u32 %r1, [number];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.u32 %r5, %r2, %r3, %r4;
mul.wide.u32 %a3, %r5, 4;
add.u64 %a1, %a1, %a3;
add.u64 %a2, %a2, %a3;
ld.global.u32 %r6, [%a2];
add.u32 %r6, %r6, %r1;
st.global.u32 [%a1], %r6;""",
    ".param .u64 to, .param .u64 from, .param .u32 number",
    name="add_number",
)
ADD_LOAD, ADD_STORE = 18, 20  # their lines
