"""What leaves the process: values as bytes, calls as payloads, envelopes, and the seals that vouch for them.

From the inside out:

    codec       a value ⇄ bytes, with nothing changed on the way
    payload     the arguments of a call, or a result: compressed when that helps, and bounded in size
    envelope    what the caller gave: task, queue, time and payload. This is what is signed
    seal        the signature over it, by a ring of keys
    parameters  the task's signature: whether arguments fit when they are sent, and as what they arrive
"""
