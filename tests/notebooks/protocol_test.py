"""Jupyter's protocol beyond its own suite: the ipc transport, dates, signatures, kernel_info."""
import datetime
import os
import sys
import tempfile
import unittest

from kernel_session import Session


class Protocol(unittest.TestCase):
    def test_ipc(self):
        with tempfile.TemporaryDirectory() as folder:
            session = Session(transport="ipc", ip=os.path.join(folder, "kernel"))
            try:
                self.assertEqual(session.run("int over_files = 3;\nover_files * 2").text, "6")
                self.assertTrue(any(name.startswith("kernel-") for name in os.listdir(folder)), "no socket files")
            finally:
                session.close()

    def test_messages(self):
        session = Session()
        try:
            info = session.ask(session.client.kernel_info())
            self.assertEqual(info["language_info"]["pygments_lexer"], "cpp")
            before = datetime.datetime.now(datetime.timezone.utc)
            dates = []
            session.finish(session.start("1"), on_message=lambda message, _: dates.append(message["header"]["date"]))
            after = datetime.datetime.now(datetime.timezone.utc)
            self.assertTrue(dates and all(before <= date <= after for date in dates), (before, dates, after))
            # A message that is not signed with the session's key is ignored.
            key, session.client.session.key = session.client.session.key, b"another"
            session.client.execute("int forged = 1;")
            session.client.session.key = key
            self.assertEqual(session.run("forged").status, "error")
            self.assertEqual(session.ask(session.client.comm_info())["comms"], {})
        finally:
            session.close()


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
