"""The hooks of flowli: what a plugin may provide, one function each.

A plugin is a module (``<package>.plugin``) named by an entry point of the group ``flowli``::

    [project.entry-points.flowli]
    ftp = "acme_ftp.plugin"

A function of that module with the name of a hook implements it. Hooks take no arguments and return a list of frozen
descriptors (``flowli.descriptors``); all are called once per process, when the plugins are collected, and import
nothing heavy: the import stands in ``load``. Two plugins that give one name to one hook are refused, naming both.

Each hook says what it is for, when ``load`` runs, what it returns, who implements it and since which version it exists.
A hook may be collected and listed (``flowli plugins``) before the part that uses it is written: "Read by" says what
reads it in this version. A broken plugin stops the process with one sentence that names its distribution; where a
hook says "Broken", it is reported and skipped instead.
"""

from __future__ import annotations

import pluggy

from flowli.descriptors import (
    AgentType,
    ApiRouterType,
    AuthenticatorType,
    BackendType,
    CodecType,
    CommandType,
    EngineExtensionType,
    EventSinkType,
    EventSourceType,
    ExplainerType,
    ObserverType,
    PatternType,
    StoreType,
    SweepJobType,
    ToolType,
    WorkflowType,
)

hookspec = pluggy.HookspecMarker("flowli")


@hookspec
def flowli_stores() -> list[StoreType]:
    """Object stores, by URL scheme: where buckets live.

    When: ``load`` runs when a store of that scheme is opened.
    Result: ``StoreType`` descriptors; ``load`` returns a ``StoreFactory`` (``from_url``, ``from_config``), whose stores
            keep the contract of ``flowli.cairn.store``.
    Implemented by: a distribution with a storage service: ``flowli-cairn-s3``, the core for ``file`` and ``memory``.
    Since: 0.2.0. Read by: ``flowli.stores.open_store``.

    Example::

        def load_ftp():
            from acme_ftp.store import FtpStore
            return FtpStore

        def flowli_stores():
            return [StoreType("ftp", "Files on an FTP server", load_ftp)]
    """


@hookspec
def flowli_backends() -> list[BackendType]:
    """Whole backends: objects with the ten ports, for storage that is no object store.

    When: ``load`` runs when a backend of that scheme is opened.
    Result: ``BackendType`` descriptors; ``load`` returns a ``BackendFactory``, whose backends have ``ports``.
    Implemented by: a distribution that keeps executions in something else, a database for example.
    Since: 0.2.0. Read by: ``flowli.adapters.open_backend``.

    Example::

        def load_rows():
            from acme_rows.backend import RowsBackend
            return RowsBackend

        def flowli_backends():
            return [BackendType("rows", "Executions in a relational database", load_rows)]
    """


@hookspec
def flowli_patterns() -> list[PatternType]:
    """Patterns: functions on the Context API that workflows call.

    When: ``load`` runs when a tool shows or checks the pattern. Workflows import patterns directly.
    Result: ``PatternType`` descriptors; ``load`` returns an async function whose first argument is a ``Context``.
    Implemented by: a distribution of patterns: ``flowli-patterns``.
    Since: 0.2.0. Read by: nothing in this version yet.

    Example::

        def load_quorum():
            from acme_votes.quorum import quorum
            return quorum

        def flowli_patterns():
            return [PatternType("quorum", "Wait until most voters agree", load_quorum)]
    """


@hookspec
def flowli_commands() -> list[CommandType]:
    """Subcommands of the ``flowli`` command.

    When: ``load`` runs when that command is called or its own help is shown.
    Result: ``CommandType`` descriptors; ``load`` returns a ``click.Command`` or ``click.Group``.
    Implemented by: the core for its own commands; a distribution that operators use from a shell.
    Since: 0.2.0. Read by: ``flowli.cli``.

    Example::

        def load_bill():
            from acme_bill.cli import bill
            return bill

        def flowli_commands():
            return [CommandType("bill", "Show what the bucket costs", load_bill)]
    """


@hookspec
def flowli_workflows() -> list[WorkflowType]:
    """Workflows that a distribution brings along, ready to be registered.

    When: ``load`` runs when a registry takes the bundle in by its name.
    Result: ``WorkflowType`` descriptors; ``load`` returns a ``Registry``.
    Implemented by: a distribution with finished workflows, a nightly clean-up for example.
    Since: 0.2.0. Read by: nothing in this version yet.

    Example::

        def load_backups():
            from acme_backups.workflows import registry
            return registry

        def flowli_workflows():
            return [WorkflowType("backups", "Nightly backups of a bucket", load_backups)]
    """


@hookspec
def flowli_observers() -> list[ObserverType]:
    """Observers: objects told in process of what an engine does.

    When: ``load`` runs once for each engine, when it first has something to tell. Events themselves do not pass through
            hooks.
    Result: ``ObserverType`` descriptors; ``load`` returns an object with a method ``observe(event)``, plain or async.
    Implemented by: a distribution that counts, traces or alerts.
    Broken: reported and skipped; the engine runs on without it.
    Since: 0.2.0. Read by: ``flowli.runtime.observe.observers``.

    Example::

        def load_counts():
            from acme_counts.observer import Counts
            return Counts()

        def flowli_observers():
            return [ObserverType("counts", "Counts of started and finished executions", load_counts)]
    """


@hookspec
def flowli_codecs() -> list[CodecType]:
    """Steps through which stored values go: compression, encryption.

    When: ``load`` runs when a ``ValueCodec`` names the step, or meets a value that was stored through it.
    Result: ``CodecType`` descriptors; ``load`` returns a ``ValueStep``.
    Implemented by: a distribution that encrypts with keys from a key service.
    Since: 0.2.0. Read by: ``flowli.adapters.coded``.

    Example::

        def load_vault():
            from acme_vault.codec import VaultStep
            return VaultStep()

        def flowli_codecs():
            return [CodecType("vault", "Encryption with keys from a vault", load_vault)]
    """


@hookspec
def flowli_event_sources() -> list[EventSourceType]:
    """Sources of external events that start or signal executions.

    When: ``load`` runs when a connector names the source.
    Result: ``EventSourceType`` descriptors; ``load`` returns a factory of sources.
    Implemented by: a distribution for a message broker or a feed.
    Since: 0.2.0. Read by: nothing in this version yet.

    Example::

        def load_mail():
            from acme_mail.source import Mailbox
            return Mailbox

        def flowli_event_sources():
            return [EventSourceType("mail", "Messages of a mailbox", load_mail)]
    """


@hookspec
def flowli_api_routers() -> list[ApiRouterType]:
    """Routes that join the HTTP service under a prefix of their own.

    When: ``load`` runs when the HTTP application is made.
    Result: ``ApiRouterType`` descriptors, named by the prefix (``votes`` is served below ``/v1/votes``); ``load``
            returns a ``flowli.api.ApiRouter``, each route of which says with ``requires`` what a caller needs.
    Implemented by: a distribution whose feature people reach over HTTP: reviews of ``flowli-patterns``.
    Since: 0.2.0. Read by: ``flowli_api.extensions``.

    Example::

        def load_votes():
            from acme_votes.routes import router
            return router

        def flowli_api_routers():
            return [ApiRouterType("votes", "Open votes and ballots", load_votes)]
    """


@hookspec
def flowli_authenticators() -> list[AuthenticatorType]:
    """Authenticators of the HTTP service.

    When: ``load`` runs when the HTTP application is made, for the authenticator that the configuration names.
    Result: ``AuthenticatorType`` descriptors; ``load`` returns a factory: a callable that takes the settings of the
            authenticator as a mapping and returns a ``flowli.api.Authenticator``.
    Implemented by: a distribution for an identity provider.
    Since: 0.2.0. Read by: ``flowli_api.auth.named``.

    Example::

        def load_ldap():
            from acme_ldap.auth import LdapAuthenticator
            return LdapAuthenticator

        def flowli_authenticators():
            return [AuthenticatorType("ldap", "Names and groups from a directory", load_ldap)]
    """


@hookspec
def flowli_agents() -> list[AgentType]:
    """Agents: adapters through which the runner hands delegated work to a program or a service.

    When: ``load`` runs when a runner starts, for the agents that its configuration names.
    Result: ``AgentType`` descriptors; ``load`` returns an ``AgentFactory`` of ``flowli_runner.agents``.
    Implemented by: a distribution for one agent or tool; ``flowli-runner`` itself for ``command``, ``claude-code``,
            ``codex`` and ``http``.
    Since: 0.2.0. Read by: ``flowli_runner.agents.finding``.

    Example::

        def load_render():
            from acme_render.agent import RenderAgent
            return RenderAgent

        def flowli_agents():
            return [AgentType("render", "The rendering farm", load_render)]
    """


@hookspec
def flowli_sweep_jobs() -> list[SweepJobType]:
    """Work that every sweeper does in each pass.

    When: ``load`` runs when a sweeper starts.
    Result: ``SweepJobType`` descriptors; ``load`` returns a new job, an async function that is given the engine of its
            sweeper. Two sweepers may run it at once: it is idempotent. One that fails is logged and does not keep the
            others from theirs. A job with a method ``take(entry)`` is shown every entry of the control log before its
            turn, from the first one on, at no request of its own.
    Implemented by: a distribution with deadlines or schedules of its own.
    Since: 0.2.0. Read by: ``flowli.runtime.sweep_jobs``.

    Example::

        def load_ballots():
            from acme_votes.sweep import close_ballots
            return close_ballots

        def flowli_sweep_jobs():
            return [SweepJobType("ballots", "Close ballots whose time is up", load_ballots)]
    """


@hookspec
def flowli_engine_extensions() -> list[EngineExtensionType]:
    """Extensions: what makes ``engine.reviews`` and its like.

    When: ``load`` runs when the attribute is first read.
    Result: ``EngineExtensionType`` descriptors, named by the attribute; ``load`` returns a callable from an engine to
            the object behind it.
    Implemented by: a distribution of patterns that operators use from code.
    Since: 0.2.0. Read by: ``flowli.runtime.engine``, ``flowli.cli.dev``.

    Example::

        def load_votes():
            from acme_votes.engine import Votes
            return Votes

        def flowli_engine_extensions():
            return [EngineExtensionType("votes", "Open and count votes", load_votes)]
    """


@hookspec
def flowli_explainers() -> list[ExplainerType]:
    """Reasons that a pattern adds to ``explain``: why an execution waits.

    When: ``load`` runs when an execution is explained.
    Result: ``ExplainerType`` descriptors; ``load`` returns the explainer, an async function that is given the
            ``Inspection`` of the execution and the ports, and returns an ``Explanation`` or None. It never writes.
    Implemented by: a distribution of patterns whose waits mean more than their channel's name.
    Broken: reported and skipped; the engine runs on without it.
    Since: 0.2.0. Read by: ``flowli.runtime.insight``.

    Example::

        def load_votes():
            from acme_votes.explain import missing_voters
            return missing_voters

        def flowli_explainers():
            return [ExplainerType("votes", "Says which voters are missing", load_votes)]
    """


@hookspec
def flowli_event_sinks() -> list[EventSinkType]:
    """Sinks: places outside to which state changes are published.

    When: ``load`` runs when a sink of that scheme is opened: ``flowli subscriptions run NAME --sink topic:orders``.
    Result: ``EventSinkType`` descriptors, named by the URL scheme; ``load`` returns a ``SinkFactory`` of
            ``flowli.runtime.observe.sinks``, whose sinks take CloudEvents.
    Implemented by: a distribution for a message broker; the core for ``sql``.
    Since: 0.2.0. Read by: ``flowli.runtime.observe.sinks``.

    Example::

        def load_topic():
            from acme_topic.sink import TopicSink
            return TopicSink

        def flowli_event_sinks():
            return [EventSinkType("topic", "A topic of the message broker", load_topic)]
    """


@hookspec
def flowli_tools() -> list[ToolType]:
    """Tools that workflows invoke under one protocol.

    When: ``load`` runs when a workflow first names the tool.
    Result: ``ToolType`` descriptors; ``load`` returns the tool.
    Implemented by: a distribution that wraps a service for use by many workflows.
    Since: 0.2.0. Read by: nothing in this version yet.

    Example::

        def load_translate():
            from acme_translate.tool import translate
            return translate

        def flowli_tools():
            return [ToolType("translate", "Texts from one language to another", load_translate)]
    """
