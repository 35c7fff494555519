"""report.html: one self-contained page."""

from peakline.page.document import comparison_page, report_page
