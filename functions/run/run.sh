#!/bin/sh
# Started by the Lambda Web Adapter, which forwards invocations to this port.
exec python -m uvicorn app:app --host 127.0.0.1 --port "${AWS_LWA_PORT:-8080}" --log-level warning
