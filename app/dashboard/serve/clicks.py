"""A click that waits for its turn is not undone by a timer.

A page with a running job asks for its progress twice a second. Streamlit merges what a browser asks for while a page is
being drawn, and the latest question decides which page is drawn next: that of a timer, sent before the browser knows of
the new page, would bring back the old one, and the click would be lost.
"""

from __future__ import annotations

from streamlit.runtime.scriptrunner import script_runner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType


class PatientRequests(ScriptRequests):
    """What a browser asks for; a timer's question is left out if all of a page will be drawn, or if it is of the page
    before."""

    _page = ""  # that was asked for last, other than by a timer

    def request_rerun(self, new_data: RerunData) -> bool:
        """Note a question; False if nobody will answer it."""
        if not new_data.is_auto_rerun:
            self._page = new_data.page_script_hash
        elif self._state != ScriptRequestType.STOP:
            waits = self._state == ScriptRequestType.RERUN and not self._rerun_data.fragment_id_queue
            if waits or self._page not in ("", new_data.page_script_hash):
                return True
        return super().request_rerun(new_data)


def keep_clicks() -> None:
    """Let all sessions of this process have patient requests."""
    vars(script_runner)["ScriptRequests"] = PatientRequests
