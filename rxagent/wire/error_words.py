"""What the words of providers for an error come to."""

from __future__ import annotations

__all__ = ["BROKEN_OFF", "STATUS_OF_WORD"]

# What the provider's words for the kind of error come to, where it names no status.
STATUS_OF_WORD = {
    "invalid_request_error": 400,
    "invalid_request": 400,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "context_length_exceeded": 400,
    # OpenAI, of a prompt and of the pictures in it
    "invalid_prompt": 400,
    "empty_image_file": 400,
    "failed_to_download_image": 400,
    "image_content_policy_violation": 400,
    "image_file_not_found": 400,
    "image_file_too_large": 400,
    "image_parse_error": 400,
    "image_too_large": 400,
    "image_too_small": 400,
    "invalid_base64_image": 400,
    "invalid_image": 400,
    "invalid_image_format": 400,
    "invalid_image_mode": 400,
    "invalid_image_url": 400,
    "unsupported_image_media_type": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "unauthenticated": 401,
    "permission_error": 403,
    "permission_denied": 403,
    "not_found": 404,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "resource_exhausted": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "internal_server_error": 500,
    "internal": 500,
    "internal_error": 500,
    "api_error": 500,
    "insufficient_system_resource": 503,
    "service_unavailable": 503,
    "timeout_error": 504,
    "unavailable": 503,
    "deadline_exceeded": 504,
    "vector_store_timeout": 504,
    "overloaded_error": 529,
    "overloaded": 529,
}

# How a generation ends that has broken off, whoever says it: DeepSeek and Z.ai, Mistral
# and OpenRouter, vLLM and SGLang, and Cohere.
BROKEN_OFF = {
    "abort",
    "aborted",
    "cancelled",
    "error",
    "error_limit",
    "insufficient_system_resource",
    "network_error",
    "timeout",
}
