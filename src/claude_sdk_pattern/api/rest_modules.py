"""The modules that hold the routes of the REST interface, in the order in which they are documented."""

from claude_sdk_pattern.api import (
    account,
    admin_overview,
    admin_users,
    apps,
    attachments,
    audit,
    auth,
    event_stream,
    health,
    marketplaces,
    metrics,
    oidc,
    plugin_endpoints,
    plugin_ui,
    plugins,
    policy,
    profiles,
    sessions,
)

REST_MODULES = (
    auth,
    account,
    oidc,
    sessions,
    attachments,
    apps,
    event_stream,
    policy,
    profiles,
    plugins,
    plugin_ui,
    marketplaces,
    admin_users,
    admin_overview,
    audit,
    health,
    metrics,
    # Last: whatever the platform itself has below the name of a plugin comes first.
    plugin_endpoints,
)
