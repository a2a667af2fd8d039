"""``flowli api serve``."""

from __future__ import annotations

import click

from flowli.cli.jobs.stopping import draining
from flowli.cli.options import common, engine_options
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand
from flowli_api.cli.key import new_key

__all__ = ["api"]


@click.group(short_help="The HTTP service")
def api() -> None:
    """Serve executions over HTTP, and make keys for it."""


@api.command("serve", cls=FlowliCommand, under="api")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any free one.")
@click.option("--auth", metavar="NAME", help="How callers are known: static, keys, oidc, or a plugin's.")
@click.option(
    "--auth-settings",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Its settings: TOML or JSON.",
)
@click.option("--projection", metavar="FILE", help="Keep the lists in this file; a temporary one by default.")
@click.option("--root-path", default="", metavar="PATH", help="The path under which a proxy shows the service.")
@click.option("--trusted-proxy", "proxies", multiple=True, metavar="ADDRESS", help="Whose X-Forwarded-* to believe.")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="Answer under these names only.")
@click.option("--cors-origin", "origins", multiple=True, metavar="ORIGIN", help="Web origins that may call.")
@click.option("--tls-certificate", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="Speak TLS.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="Key of the certificate.")
@click.option("--hsts", type=click.IntRange(min=0), default=0, metavar="SECONDS", help="Strict-Transport-Security.")
@engine_options
@common()
def serve(
    host: str,
    port: int,
    auth: str | None,
    auth_settings: str | None,
    projection: str | None,
    root_path: str,
    proxies: tuple[str, ...],
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    tls_certificate: str | None,
    tls_key: str | None,
    hsts: int,
) -> None:
    """Serve the bucket --storage over HTTP, with the operator interface at / if it was built.

    The workflows of --app are the catalog. Any number of services may share a bucket. Without --auth a token for this
    run is printed, which may do everything; that is refused where others could reach it. SIGTERM and Ctrl-C drain:
    streams end at once, requests are finished within --grace.
    """
    from flowli.cairn.observe import RequestCounts

    requests = RequestCounts()

    async def body(session: Session) -> None:
        from flowli import WorkflowProjection
        from flowli_api.app import create_app
        from flowli_api.bill import Bill
        from flowli_api.cli.authenticating import authenticating
        from flowli_api.config import ApiConfig
        from flowli_api.serving import Listen, Serving

        await session.check_bucket()
        engine = session.engine
        known = authenticating(engine.world, auth, auth_settings, host)
        config = ApiConfig(
            cors_origins=origins, allowed_hosts=hosts, root_path=root_path, hsts_s=hsts, oidc=known.login
        )
        listen = Listen(host, port, proxies, tls_certificate, tls_key, engine.config.grace_s)
        kept = None
        if projection is not None:
            source = session.storage or ""
            kept = WorkflowProjection(projection, engine.ports.control, source=source, world=engine.world)
        try:
            bill = None if session.storage is None else Bill(requests, session.storage, str(engine.world.now()))
            app = create_app(engine, projection=kept, authenticator=known.authenticator, config=config, bill=bill)
            serving = Serving(app, listen)
            url = f"{serving.url}{root_path}"
            session.screen.note(f"flowli: serving {session.storage or 'the engine of --app'} at {url}")
            if known.token is not None:
                session.screen.note(f"flowli: for this run only: {url}/#token={known.token}")
            with draining(serving.stop, engine.config.grace_s):
                await serving.run()
        finally:
            if kept is not None:
                await kept.close()

    run(body, uses_app=True, log="info", requests=requests)


api.add_command(new_key)
