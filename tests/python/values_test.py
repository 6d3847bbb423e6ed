"""value_check and loops of a source line, by kernels with a planted fault and their repaired twins."""
import array
import pathlib
import tempfile
import unittest

from support import module
import lynxpp

LINES = '.file 1 "src/norm.cu"'


def normalize(epsilon, with_lines=True):
    """Returns PTX of out[i] = in[i] / (in[i] * in[i] + epsilon) + 1, which is NaN if both are 0."""
    line = ".loc 1 {} 0" if with_lines else ""
    return module(
        f"""{line.format(10)}
ld.param.u64 %a1, [values];
mov.u32 %r1, %tid.x;
mul.wide.u32 %a2, %r1, 4;
add.u64 %a1, %a1, %a2;
{line.format(11)}
ld.global.f32 %f1, [%a1];
fma.rn.f32 %f2, %f1, %f1, {epsilon};
{line.format(12)}
div.rn.f32 %f1, %f1, %f2;
{line.format(13)}
add.f32 %f1, %f1, 0f3F800000;
st.global.f32 [%a1], %f1;""",
        ".param .u64 values",
        LINES if with_lines else "",
    )


def notes_of(text, values):
    run = lynxpp.run_ptx(text, 1, len(values), [array.array("f", values)], spec="value_check")
    (launch,) = run.launches()
    return launch.record.get("notes", [])


class Values(unittest.TestCase):
    planted = [2.0] * 5 + [0.0] + [2.0] * 30

    def test_the_first_nan_is_named(self):
        notes = notes_of(normalize("0f00000000"), self.planted)
        self.assertRegex(
            notes[0], r"^NaN \(0x[7f]fffffff\) first at src/norm.cu:12, div.rn.f32, thread 5 of block 0$"
        )
        self.assertEqual(notes[1:], ["1 values at src/norm.cu:12", "1 values at src/norm.cu:13"])

    def test_infinity_has_a_note_of_its_own(self):
        notes = notes_of(normalize("0f00000000"), [2.0, 1e30, 0.0])
        self.assertIn("infinity (0x7f800000) first at src/norm.cu:11, fma.rn.f32, thread 1 of block 0", notes)
        self.assertTrue(notes[0].startswith("NaN (0x"), notes)

    def test_the_repaired_kernel_has_no_note(self):
        self.assertEqual(notes_of(normalize("0f358637BD"), self.planted), [])

    def test_without_line_information_ptx_lines_are_named(self):
        text = normalize("0f00000000", with_lines=False)
        line = text.split("\n").index("div.rn.f32 %f1, %f1, %f2;") + 1
        notes = notes_of(text, self.planted)
        self.assertRegex(notes[0], rf"first at PTX line {line}, div.rn.f32, thread 5 of block 0$")
        self.assertEqual(notes[1:], [f"1 values at PTX line {line}", f"1 values at PTX line {line + 2}"])


class Loops(unittest.TestCase):
    # Two loops of one line each: 3 and, in each of its trips, 5 trips.
    TEXT = module(
        """.loc 1 20 0
mov.u32 %r1, 0;
outer:
mov.u32 %r2, 0;
.loc 1 21 0
inner:
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 5;
@%p1 bra inner;
.loc 1 20 0
add.u32 %r1, %r1, 1;
setp.lt.u32 %p2, %r1, 3;
@%p2 bra outer;""",
        variables='.file 1 "src/loops.cu"',
    )

    def trips(self, label):
        with tempfile.TemporaryDirectory() as folder:
            specification = pathlib.Path(folder, "trips.cod")
            specification.write_text(
                f"global unsigned long trips; ON_LOOP_EXIT: {label} {{ atomicAdd(&trips, loopTrips()); }}"
            )
            run = lynxpp.run_ptx(self.TEXT, 1, 32, spec=str(specification))
            (launch,) = run.launches()
            return launch.results["trips"]

    def test_loops_are_selected_by_the_line_of_their_statement(self):
        self.assertEqual(self.trips(""), 32 * (3 + 3 * 5))
        self.assertEqual(self.trips('SOURCE("loops.cu", 20):'), 32 * 3)
        self.assertEqual(self.trips('SOURCE("loops.cu", 21):'), 32 * 3 * 5)
        self.assertEqual(self.trips('SOURCE("loops.cu", 20, 21):'), 32 * (3 + 3 * 5))
        self.assertEqual(self.trips('SOURCE("loops.cu", 22):'), 0)
        self.assertEqual(self.trips('SOURCE("oops.cu", 20):'), 0)


if __name__ == "__main__":
    unittest.main()
