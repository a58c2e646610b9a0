"""A kernel for tests: starts it, runs cells, collects their outputs."""
import queue
import time

from jupyter_client.manager import KernelManager

DEADLINE = 120  # seconds; long enough for a busy machine


class Result:
    def __init__(self):
        self.status = None
        self.stdout = ""
        self.stderr = ""
        self.displays = []  # dictionaries by MIME type, in order; results too
        self.result = None
        self.error = None
        self.events = []  # (kind, seconds since the request)

    @property
    def text(self):
        return None if self.result is None else self.result.get("text/plain")


class Session:
    def __init__(self, **settings):
        self.manager = KernelManager(kernel_name="xcpp17", **settings)
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=DEADLINE)

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def start(self, code):
        """Sends a cell and does not wait for it."""
        return self.client.execute(code)

    def messages(self, request):
        """What the kernel publishes for a request, until it is idle again."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=max(0.1, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError("the kernel did not become idle")
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return
            yield message

    def finish(self, request, result=None, on_message=None):
        result = result or Result()
        for message in self.messages(request):
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                setattr(result, content["name"], getattr(result, content["name"]) + content["text"])
            elif kind in ("display_data", "execute_result"):
                result.displays.append(content["data"])
                if kind == "execute_result":
                    result.result = content["data"]
            elif kind == "error":
                result.error = content
            result.events.append(kind)
            if on_message:
                on_message(message, result)
        while True:
            reply = self.client.get_shell_msg(timeout=DEADLINE)
            if reply["parent_header"].get("msg_id") == request:
                result.status = reply["content"]["status"]
                return result

    def run(self, code):
        return self.finish(self.start(code))

    def ask(self, request):
        while True:
            reply = self.client.get_shell_msg(timeout=DEADLINE)
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"]

    def page(self, code):
        """What a question such as ?name shows."""
        reply = self.ask(self.client.execute(code))
        return reply["payload"][0]["data"]["text/plain"]
