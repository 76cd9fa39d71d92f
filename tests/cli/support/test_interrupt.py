"""Ctrl-C where Python cannot raise it. What a stopped run leaves behind is tested with reliability."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

HEAD = """
    import os, signal, sys, time
    from twinset.cli.support.interrupt import deliver_interrupts

    def strike():
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100): pass  # so that it is raised in here
"""
PLACES = {
    "a finalizer": """
    class Brief:
        def __del__(self):
            strike()

    def happen():
        Brief()
""",
    "a weak reference": """
    import weakref

    class Brief: pass

    def happen():
        brief = Brief()
        reference = weakref.ref(brief, lambda _: strike())
        del brief
""",
    "a callback": """
    import ctypes

    def happen():
        ctypes.CFUNCTYPE(None)(strike)()
""",
    "a callback of LLVM": """
    def _raw_object_cache_notify():
        strike()
        sys.stdout.write("whole ")

    def happen():
        _raw_object_cache_notify()
""",
}
TAIL = """
    try:
        with deliver_interrupts():
            happen()
            sys.stdout.write("after ")
            sys.stdout.flush()
            time.sleep(60)
    except KeyboardInterrupt:
        sys.stdout.write("stopped")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


def run(*parts: str) -> subprocess.CompletedProcess[str]:
    program = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "".join(textwrap.dedent(part) for part in parts)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)


AT_ONCE = """
    from twinset.cli.support import interrupt

    interrupt._LATER = 1e-6  # it comes again while the thread that sends it is being started
"""


@pytest.mark.parametrize("later", ["", AT_ONCE], ids=["later", "at once"])
@pytest.mark.parametrize("place", PLACES)
def test_a_stop_comes_again_where_it_cannot_be_raised(place: str, later: str) -> None:
    done = run(HEAD, later, PLACES[place], TAIL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("whole after stopped" if "LLVM" in place else "after stopped")


def test_other_troubles_are_told_as_ever() -> None:
    done = run(HEAD, "class Brief:\n    def __del__(self): 1 / 0\nwith deliver_interrupts(): Brief()\n")
    assert "ZeroDivisionError" in done.stderr


def test_a_process_that_ignores_it_goes_on_doing_so() -> None:
    """A command that a shell runs in the background is not stopped by Ctrl-C at the terminal."""
    done = run(
        HEAD,
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\nwith deliver_interrupts():\n    strike()\n"
        "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n",
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_one_more_while_the_first_is_told_of() -> None:
    """The first comes while the command runs, the second while its line is written."""
    done = run(
        """
        import os, signal, sys
        from twinset import cli

        class Struck:
            def __getattr__(self, name):
                os.kill(os.getpid(), signal.SIGINT)
                return getattr(sys.__stderr__, name)

        def told(event, values):
            if event == "open" and "plan." in str(values[0]) and sys.stderr is sys.__stderr__:
                sys.stderr = Struck()
                os.kill(os.getpid(), signal.SIGINT)

        sys.addaudithook(told)
        sys.argv = ["twinset", "plan"]
        cli.script()
        """
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")


STARTING = """
    import os, signal, sys
    strike_at, sys.argv = {place!r}, [{name!r}, "plan"]

    def told(event, values):
        if event == "import" and values[0] == strike_at:
            os.kill(os.getpid(), signal.SIGINT)

    sys.addaudithook(told)
    from twinset.cli import script
    script()
"""


@pytest.mark.parametrize(
    "place", ["twinset.errors", "twinset.cli.command_line", "click", "twinset.cli.support.interrupt"]
)
def test_while_it_is_loaded_it_dies_of_the_signal(place: str) -> None:
    done = run(STARTING.format(place=place, name="/usr/bin/twinset"))
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_once_it_is_loaded_that_is_told() -> None:
    done = run(STARTING.format(place="twinset.plan.ranking", name="/usr/bin/twinset"))
    assert done.returncode == 128 + signal.SIGINT
    assert (done.stdout, done.stderr) == ("", "twinset: stopped; no partial output is left\n")


def test_an_import_that_forgives_everything_does_not_forgive_a_stop() -> None:
    done = run(
        """
        import os, signal, sys
        from twinset.cli import main

        class Forgiving:
            @staticmethod
            def find_spec(name, *_):
                if name == "numba":
                    try:
                        os.kill(os.getpid(), signal.SIGINT)
                        for _ in range(100): pass
                    except BaseException:
                        pass

        sys.meta_path.insert(0, Forgiving)
        sys.exit(main(["compare", "--string", "a b c", "--string", "a b d"]))
        """
    )
    assert (done.returncode, done.stdout) == (128 + signal.SIGINT, "")
    assert done.stderr == "twinset: stopped; no partial output is left\n"
