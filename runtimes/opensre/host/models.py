"""The key and the chat models as OpenSRE asks for them, without the key in any environment."""

import os
from typing import Any

import keyring
from app.llm_credentials import resolve_llm_api_key
from app.nodes import chat
from keyring.backend import KeyringBackend
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

from runtimes.opensre.host.config import Config

MOST_TOKENS = 4096  # OpenSRE's own choice, for every model
# Gemini 3 signs each tool call and refuses to see it again unsigned, unless it is signed like this.
UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}


class TmpfsKeyring(KeyringBackend):  # type: ignore[misc]  # a library without types
    """OpenSRE looks for its model's key in the environment, then here.

    In the environment every program that it starts would inherit the key.
    """

    priority = 1

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config

    def get_password(self, _service: str, username: str) -> str | None:
        return self._config.key if username == self._config.key_name else None

    def set_password(self, _service: str, _username: str, _password: str) -> None:
        raise NotImplementedError("The key is the platform's; nothing is kept here.")

    def delete_password(self, _service: str, _username: str) -> None:
        raise NotImplementedError("The key is the platform's; nothing is kept here.")


class ChatGemini(ChatOpenAI):  # type: ignore[misc]
    """Gemini behind its OpenAI-shaped door, which has one thing more to carry than OpenAI's."""

    def _get_request_payload(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(*args, **kwargs)
        for message in payload.get("messages", []):
            for call in message.get("tool_calls") or []:
                call.setdefault("extra_content", UNSIGNED)
        return payload


def build(*, provider: str, model_name: str) -> Any:
    """In the place of OpenSRE's own, which would take the key from the environment."""
    shared = {"model": model_name, "max_tokens": MOST_TOKENS, "streaming": True}
    if provider == "anthropic":
        return ChatAnthropic(
            **shared,
            api_key=resolve_llm_api_key("ANTHROPIC_API_KEY"),
            base_url=os.environ["ANTHROPIC_BASE_URL"],
        )
    kind = ChatGemini if "gemini" in model_name else ChatOpenAI
    return kind(
        **shared,
        api_key=resolve_llm_api_key("OPENAI_API_KEY"),
        base_url=os.environ["OPENAI_BASE_URL"],
    )


def install(config: Config) -> None:
    keyring.set_keyring(TmpfsKeyring(config))
    chat._build_chat_model = build
