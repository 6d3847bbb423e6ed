"""Compares the specifications' counts with the cpu device's own counts of the uninstrumented kernel."""
import end_to_end
import place_checks
import site_checks

CHECKED = [*end_to_end.CHECKS, *site_checks.CHECKS, *place_checks.CHECKS]


def check_counts(spec, records, record, counted):
    """Returns true if a check of the specification's counts exists."""
    sites = site_checks.Sites(records.sites_of(record)) if record.get("sites") is not None else None
    what = f"{record['kernel']} with {spec}"
    if spec in end_to_end.CHECKS:
        end_to_end.CHECKS[spec](what, record, counted)
    if spec in site_checks.CHECKS:
        site_checks.CHECKS[spec](what, record, counted, sites)
    if spec in place_checks.CHECKS:
        place_checks.CHECKS[spec](what, record, counted, sites if spec not in ("warp_timeline", "hang_location") else None)
    return spec in CHECKED
