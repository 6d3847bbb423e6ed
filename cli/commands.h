// One function per subcommand; each returns the process's exit code.
#pragma once

namespace lynxpp::cli {

struct AdviseArguments;
struct BandArguments;
struct BenchArguments;
struct CalibrateArguments;
struct CharacterizeArguments;
struct CheckArguments;
struct CheckRunArguments;
struct ControlArguments;
struct DiffArguments;
struct InstrumentArguments;
struct ListArguments;
struct LimitsArguments;
struct LspArguments;
struct MergeArguments;
struct PtxArguments;
struct QualityArguments;
struct RecordArguments;
struct ReportArguments;
struct RunArguments;
struct TraceArguments;
struct TritonArguments;

/// Returns only if the program could not be started.
int run(const RunArguments& arguments);
/// Runs the program and shows what its records say.
int record(const RecordArguments& arguments);
/// Runs the Triton kernels of a Python program on the cpu device and shows what was found.
int triton(const TritonArguments& arguments);
int check_run(const CheckRunArguments& arguments);
int bench(const BenchArguments& arguments);
int characterize(const CharacterizeArguments& arguments);
/// Runs the program with trials and shows the limits of its kernels, or shows those of saved records.
int limits(const LimitsArguments& arguments);
int report(const ReportArguments& arguments);
int merge(const MergeArguments& arguments);
int trace(const TraceArguments& arguments);
int diff(const DiffArguments& arguments);
int check(const CheckArguments& arguments);
/// The part of check() for --explain: shows the sites of the specifications' handlers.
int explain(const CheckArguments& arguments);
int instrument(const InstrumentArguments& arguments);
int list(const ListArguments& arguments);
/// Serves until the editor disconnects.
int serve_editor(const LspArguments& arguments);
int advise(const AdviseArguments& arguments);
/// The part of advise() that observes a program or reads kept observations.
int advise_program(const AdviseArguments& arguments);
int quality(const QualityArguments& arguments);
int calibrate(const CalibrateArguments& arguments);
int band(const BandArguments& arguments);
int attach(const ControlArguments& arguments);
int detach(const ControlArguments& arguments);
int status(const ControlArguments& arguments);
int top(const ControlArguments& arguments);
int why(const ControlArguments& arguments);
int ptx_stat(const PtxArguments& arguments);
int ptx_cfg(const PtxArguments& arguments);
int ptx_annotate(const PtxArguments& arguments);
int ptx_perturb(const PtxArguments& arguments);
/// Runs a kernel on the cpu device. Returns 1 if results differ or a check finds something, 2 for errors.
int ptx_run(const PtxArguments& arguments);

}  // namespace lynxpp::cli
