"""Self-contained pages: report.html of profiles, and pages of commands' JSON documents."""

from peakline.page.comparison import comparison_page
from peakline.page.fleet import fleet_page
from peakline.page.pages import report_page, side_by_side_page
from peakline.page.screen import Screen, first_screen
from peakline.page.work import work_page
