"""The generated module by which one query gives both decisions on a request: placement and the shipped rules."""

from __future__ import annotations

import json

FILE = "bridge/joint_admission.rego"  # its path in the bundle
DOCUMENT = "bridge/joint_admission/decisions"


def joint_decision(path: tuple[str, ...]) -> str:
    """The module `bridge.joint_admission` for the placement decision at this path of `data`.

    Its input is an AdmissionRequest; the placement decision gets the object, the rules get the request. A generated
    module, because Rego cannot refer to a document by a path that it has as data. `path` in the answer tells a query
    by other settings apart.
    """
    decision = "data" + "".join(f"[{json.dumps(part)}]" for part in path)
    return f"""package bridge.joint_admission

decisions["path"] := {json.dumps("/".join(path))}

decisions["rules"] := data.bridge.v1.admission

decisions["placement"] := decision if {{
	decision := {decision} with input as _subject
}}

_subject := object if {{
	object := input.object
	object != null
}} else := input.oldObject
"""
