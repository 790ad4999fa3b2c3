"""A bare step of the engine, for comparison: a workflow of its own with steps that do nothing. Prints seconds per step.

Usage: bare_dbos.py URL STEPS
"""

import asyncio
import logging
import sys
import time

from dbos import DBOS, SetWorkflowID


async def main(url: str, steps: int) -> None:
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    DBOS(
        config={
            "name": "bare",
            "system_database_url": url,
            "application_version": "1",
            "executor_id": "bare",
            "use_listen_notify": False,
            "log_level": "CRITICAL",
        }
    )

    @DBOS.step()
    async def nothing() -> str:
        return "x" * 200

    @DBOS.workflow()
    async def work(count: int) -> float:
        begun = time.perf_counter()
        for _ in range(count):
            await nothing()
        return (time.perf_counter() - begun) / count

    DBOS.launch()
    took = []
    for name in ("warm", "first", "second", "third"):
        with SetWorkflowID(name):
            took.append(await (await DBOS.start_workflow_async(work, steps)).get_result())
    print(min(took[1:]))
    DBOS.destroy()


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
