"""What the environment says. Read once, at the composition root; nothing else looks at os.environ."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settings:
    """Where things are and who may come in.

    `keys` maps a vendor to its API key, read from <VENDOR>_API_KEY; a vendor without one is not offered.
    `chat_base_url` is a server that speaks chat completions, `models_file` a models.toml of the user's own.
    `local_token_sha256` is the hash of the token that stands for the one user of a local server; without it no user
    gets in. `poll_hold_s` is how long an idle host's poll is held: under every proxy's patience, and few requests for
    an idle host. `handover_s` is how long one process works on a run before another takes over; on Lambda the
    invocation's own deadline says so. `run_function` is the run function's name, by which the others wake it;
    `wake_url` takes its place where there is no Lambda.
    """

    table: str
    bucket: str
    endpoint_url: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    chat_base_url: str | None = None
    models_file: str | None = None
    rehearsal_url: str | None = None
    local_token_sha256: str | None = None
    poll_hold_s: float = 20.0
    handover_s: float | None = None
    run_function: str | None = None
    wake_url: str | None = None

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Raises KeyError naming a variable that must be set."""
        env = os.environ if env is None else env
        suffix = "_API_KEY"
        keys = {name.removesuffix(suffix).lower(): key for name, key in env.items() if name.endswith(suffix) and key}
        return cls(
            table=env["DRAFTHAND_TABLE"],
            bucket=env["DRAFTHAND_BUCKET"],
            endpoint_url=env.get("DRAFTHAND_ENDPOINT_URL") or None,
            keys=keys,
            chat_base_url=env.get("CHAT_BASE_URL") or None,
            models_file=env.get("DRAFTHAND_MODELS") or None,
            rehearsal_url=env.get("DRAFTHAND_REHEARSAL_URL") or None,
            local_token_sha256=env.get("DRAFTHAND_LOCAL_TOKEN_SHA256") or None,
            handover_s=float(env["DRAFTHAND_HANDOVER_S"]) if env.get("DRAFTHAND_HANDOVER_S") else None,
            run_function=env.get("DRAFTHAND_RUN_FUNCTION") or None,
            wake_url=env.get("DRAFTHAND_WAKE_URL") or None,
            poll_hold_s=float(env.get("DRAFTHAND_POLL_HOLD_S") or cls.poll_hold_s),
        )
