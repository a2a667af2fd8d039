"""A program that behaves like a coding agent: it does what its prompt tells, one line a deed.

The prompt holds lines of the form ``@deed argument ...``; the other lines are for people.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def deed(name: str, rest: str) -> None:
    match name:
        case "say":
            print(rest, flush=True)
        case "write":
            path, _, text = rest.partition(" ")
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(text.encode() + b"\n")
        case "delete":
            os.remove(rest)
        case "git":
            subprocess.run(
                ["git", "-c", "user.name=agent", "-c", "user.email=a@example.org", *rest.split()], check=True
            )
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        case "fork":  # a descendant that leaves the session
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
        case "flood":
            for number in range(int(rest)):
                print(f"line {number:08d}", flush=False)
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(int(rest))
        case "hang":
            while True:
                time.sleep(3600)
        case "wait":  # until a file is there
            while not os.path.exists(rest):
                time.sleep(0.02)
        case "round":  # plans, then learns: outside its scopes, then good, then better
            marker = Path(rest)
            number = int(marker.read_text()) + 1 if marker.exists() else 0
            marker.write_text(str(number))
            if number:
                deed("write", f"{'README' if number == 1 else 'src/good.py'} round {number}")
        case "nap":
            time.sleep(float(rest))
        case "env":
            print(json.dumps(dict(os.environ)), flush=True)
        case "report":
            Path(os.environ["FLOWLI_REPORT_FILE"]).write_text(rest)


def main() -> None:
    for line in Path(sys.argv[1]).read_text().splitlines():
        if line.startswith("@"):
            name, _, rest = line[1:].partition(" ")
            deed(name, rest)


if __name__ == "__main__":
    main()
