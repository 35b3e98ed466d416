"""The embedded store: ministack's DynamoDB and S3 in one process on loopback, kept in a folder.

`python -m local.store_server PORT FOLDER`

ministack writes its state at a normal stop. This process also writes it once a minute, so that a hard kill loses at
most the last minute. Durable storage is what AWS is for.
"""

import asyncio
import os
import sys

import uvicorn

from local.guard import LoopbackGuard

SNAPSHOT_EVERY_S = 60.0


def environment(folder: str) -> dict[str, str]:
    """What ministack reads at import."""
    return {
        "PERSIST_STATE": "1",
        "STATE_DIR": folder,
        "S3_PERSIST": "1",
        "S3_DATA_DIR": os.path.join(folder, "s3"),
        "SERVICES": "dynamodb,s3",
        # Else it also opens ports on every interface.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
    }


async def serve(port: int) -> None:
    from ministack.app import _build_persistence_save_dict, app
    from ministack.core.persistence import save_all

    guarded = LoopbackGuard(app, port, pages=False)
    server = uvicorn.Server(uvicorn.Config(guarded, host="127.0.0.1", port=port, log_level="warning"))

    async def snapshots() -> None:
        while True:
            await asyncio.sleep(SNAPSHOT_EVERY_S)
            # On the event loop's own thread: no request changes the state while it is written.
            save_all(_build_persistence_save_dict())

    saving = asyncio.create_task(snapshots())
    await server.serve()
    saving.cancel()


if __name__ == "__main__":
    os.environ.update(environment(sys.argv[2]))
    asyncio.run(serve(int(sys.argv[1])))
