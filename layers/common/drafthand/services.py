"""The composition root: the one place that knows settings, store and vendors together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from drafthand.ids import now
from drafthand.model import ModelClient, ModelSpec
from drafthand.session import Run
from drafthand.settings import Settings
from drafthand.store import Store, open_store
from drafthand.store.waker import LambdaWaker, UrlWaker, Waker
from drafthand.vendors import client_of
from drafthand.vendors.access import Access, forget_environment, is_url
from drafthand.vendors.models import models

REHEARSAL_PATHS = {"openai_responses": "/v1", "chat_completions": "/v1"}
"""What these SDKs expect at the end of a base URL."""


class BadSetting(ValueError):
    """A variable of the environment can't be used; the message names it and says what to do."""


@dataclass
class Services:
    """Raises BadSetting where it is made of settings that can't be."""

    settings: Settings
    store: Store
    waker: Waker | None = None
    _clients: dict[str, ModelClient] = field(default_factory=dict)

    def __post_init__(self) -> None:
        url = self.settings.chat_base_url
        if url is not None and not is_url(url):
            raise BadSetting(f"CHAT_BASE_URL is {url!r}; write an http or https URL, like http://127.0.0.1:8000/v1.")

    def access(self, model: ModelSpec) -> Access | None:
        """How to reach the model's vendor; None where nothing is configured for it."""
        if model.rehearsal:
            url = self.settings.rehearsal_url
            return Access("rehearsal", f"{url}{REHEARSAL_PATHS.get(model.dialect, '')}") if url else None
        key = self.settings.keys.get(model.vendor)
        url = model.base_url or (self.settings.chat_base_url if model.vendor == "chat" else None)
        if url is not None:
            return Access(key or "none", url)  # a server of one's own often wants no key
        return Access(key) if key and model.vendor != "chat" else None

    def wake_if_idle(self, run: Run) -> None:
        """Have somebody go on with a run whose process has gone."""
        session = self.store.sessions.get(run.owner, run.session_id)
        if session.active_run == run.id and session.lease_until <= now() and self.waker is not None:
            self.waker.wake(run.owner, run.id)

    def known(self) -> dict[str, ModelSpec]:
        return models(self.settings.models_file)

    def available(self) -> dict[str, ModelSpec]:
        """The models that can be reached, by id."""
        return {name: model for name, model in self.known().items() if self.access(model) is not None}

    def default(self) -> ModelSpec | None:
        """The model of who names none."""
        offered = list(self.available().values())
        return next((model for model in offered if model.default), offered[0] if offered else None)

    def preload(self) -> None:
        """Make the default model's client, so that its first user does not wait for an SDK's import."""
        if (model := self.default()) is not None:
            self.client(model)

    def client(self, model: ModelSpec) -> ModelClient:
        """One client a model, kept: it holds connections. Blocks while the SDK is imported."""
        access = self.access(model)
        if access is None:
            raise LookupError(f"no access to {model.id} is configured")
        if model.id not in self._clients:
            forget_environment()
            self._clients[model.id] = client_of(model.dialect, access)
        return self._clients[model.id]


@cache
def services() -> Services:
    """The services of this process, made from its environment on first use."""
    settings = Settings.from_env()
    waker: Waker | None = None
    if settings.run_function is not None:
        waker = LambdaWaker(settings.run_function)
    elif settings.wake_url is not None:
        waker = UrlWaker(settings.wake_url)
    return Services(settings, open_store(settings.table, settings.bucket, settings.endpoint_url), waker)
