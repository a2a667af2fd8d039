"""Both applications in one registry, for one worker: ``flowli worker --app app:registry``."""

from __future__ import annotations

from invoices.workflow import approve_invoice
from orders.workflow import fulfil_order, ship_order

from flowli import Registry

registry = Registry()
registry.add(fulfil_order)
registry.add(ship_order)
registry.add(approve_invoice)
