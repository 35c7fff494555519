"""Self-contained pages: report.html of profiles, fleet.html of a fleet."""

from peakline.page.document import comparison_page, report_page
from peakline.page.fleet import fleet_page

__all__ = ["comparison_page", "fleet_page", "report_page"]
