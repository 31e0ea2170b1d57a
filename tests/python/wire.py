"""The protobuf wire format, just enough to put bytes into messages that no library would write."""

MODEL_GRAPH, MODEL_FUNCTION, MODEL_TRAINING = 7, 25, 20
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_VALUE_INFO, GRAPH_INPUT, GRAPH_OUTPUT = 1, 5, 13, 11, 12
NODE_ATTRIBUTE, ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH = 5, 5, 6


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytearray([value]))


def field(number, content):
    """A varint field of an int, a length-delimited one of bytes or text."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def read_field(message, at):
    """(number, payload of a length-delimited field or None, where the next field begins)"""
    tag, at = read_varint(message, at)
    payload = None
    if tag & 7 == 0:
        _, at = read_varint(message, at)
    elif tag & 7 == 2:
        length, at = read_varint(message, at)
        payload, at = message[at:at + length], at + length
    elif tag & 7 == 3:  # a group: fields up to its end tag
        while not message.startswith(varint(tag + 1), at):
            _, _, at = read_field(message, at)
        at += len(varint(tag + 1))
    else:
        at += {1: 8, 5: 4}[tag & 7]
    return tag >> 3, payload, at


def fields(message):
    """[(number, whole field, payload)] in order; the payload of a field that is not
    length-delimited is None."""
    out, at = [], 0
    while at < len(message):
        begin = at
        number, payload, at = read_field(message, at)
        out.append((number, message[begin:at], payload))
    return out


def change(message, path, function):
    """The message with function(payload) for the payload of every field on the path of field
    numbers."""
    if not path:
        return function(message)
    return b"".join(field(number, change(payload, path[1:], function))
                    if number == path[0] and payload is not None else whole
                    for number, whole, payload in fields(message))


def payloads(message, *path):
    """The payloads of all fields on the path."""
    if not path:
        return [message]
    return [found for number, _, payload in fields(message) if number == path[0]
            for found in payloads(payload, *path[1:])]
