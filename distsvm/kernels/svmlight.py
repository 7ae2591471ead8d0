"""The parser of svmlight text: bytes to arrays, or the code and place of the first bad token."""

from __future__ import annotations

import numpy as np

from distsvm.kernels.options import kernel

# Codes of errors; 0 means that the whole text was parsed.
BAD_LABEL, BAD_QID, BAD_INDEX, INDEX_TOO_LARGE, INDEX_ORDER, BAD_VALUE = 1, 2, 3, 4, 5, 6

TAB, NEWLINE, RETURN, SPACE = 9, 10, 13, 32
HASH, PLUS, MINUS, POINT, ZERO, COLON, UPPER_E, LOWER_E = 35, 43, 45, 46, 48, 58, 69, 101
QID = np.frombuffer(b"qid:", dtype=np.uint8)

DONE, SLOW, BAD = 0, 1, 2
MAX_DIGITS = 18  # 10^18 − 1 fits an int64
POWERS = np.array([float(10**k) for k in range(23)])  # all exact in float64
SPLIT = 134217729.0  # 2^27 + 1, Veltkamp's


@kernel
def count(text):
    """Return the numbers of newlines and colons, which bound those of examples and entries."""
    n_newlines, n_colons = 0, 0
    for c in text:
        n_newlines += c == NEWLINE
        n_colons += c == COLON
    return n_newlines, n_colons


@kernel
def parse(text, labelled, largest, labels, starts, columns, values, slow):
    """Parse whole lines; every array after `largest` is written.

    Parameters
    ----------
    text : uint8 array that ends with a newline
    labelled : bool
        False: a line may begin with a pair at once; a label, where there is one, is skipped.
    largest : float
        Values beyond ±largest are refused.
    labels, starts : float64 and int64 arrays, one place a newline (and one more in starts)
    columns, values : int64 and float64 arrays, one place a colon
    slow : int64 array of shape (newlines + colons, 3)
        Numbers that the caller must parse: (entry, or −1 − row for a label; first byte; end).

    Returns
    -------
    n_rows, n_entries, n_slow, code, offset : int
        The offset is that of the first byte of the bad token.
    """
    row, entry, n_slow, i = 0, 0, 0, 0
    starts[0] = 0
    while i < text.size:
        i = _skip_blanks(text, i)
        if _ends_line(text[i]):
            i = _next_line(text, i)
            continue

        end, value, state = _number(text, i)
        if labelled or not (text[end] == COLON or _is_qid(text, i)):
            if state == BAD or not _ends_token(text[end]):
                return row, entry, n_slow, BAD_LABEL, i
            if state == SLOW:
                slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = -1 - row, i, end
                n_slow += 1
            labels[row] = value
            i = _skip_blanks(text, end)
        if _is_qid(text, i):
            end, n_digits, _ = _integer(text, i + QID.size)
            if n_digits == 0 or not _ends_token(text[end]):
                return row, entry, n_slow, BAD_QID, i
            i = _skip_blanks(text, end)

        last = -1
        while not _ends_line(text[i]):
            end, n_digits, column = _integer(text, i)
            if n_digits == 0 or text[end] != COLON:
                return row, entry, n_slow, BAD_INDEX, i
            if n_digits > MAX_DIGITS:
                return row, entry, n_slow, INDEX_TOO_LARGE, i
            if column <= last:
                return row, entry, n_slow, INDEX_ORDER, i
            begin = end + 1
            end, value, state = _number(text, begin)
            if state == BAD or not _ends_token(text[end]) or abs(value) > largest:
                return row, entry, n_slow, BAD_VALUE, i
            if state == SLOW:
                slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = entry, begin, end
                n_slow += 1
            columns[entry] = column
            values[entry] = value
            entry += 1
            last = column
            i = _skip_blanks(text, end)
        row += 1
        starts[row] = entry
        i = _next_line(text, i)
    return row, entry, n_slow, 0, 0


@kernel
def _is_blank(c):
    return c == SPACE or (c >= TAB and c <= RETURN and c != NEWLINE)


@kernel
def _ends_line(c):
    return c in (NEWLINE, HASH)


@kernel
def _ends_token(c):
    return _is_blank(c) or _ends_line(c)


@kernel
def _skip_blanks(text, i):
    while _is_blank(text[i]):
        i += 1
    return i


@kernel
def _next_line(text, i):
    while text[i] != NEWLINE:
        i += 1
    return i + 1


@kernel
def _is_qid(text, i):
    k = 0
    # The text ends with a newline, which is no letter of "qid:", so i + k stays within it.
    while k < QID.size and text[i + k] == QID[k]:
        k += 1
    return k == QID.size


@kernel
def _integer(text, i):
    """Return the end of a run of digits, its length without leading zeros (1 for 0), its value."""
    n_digits, value, begin = 0, 0, i
    while text[i] >= ZERO and text[i] < ZERO + 10:
        if value > 0 or text[i] > ZERO:
            n_digits += 1
        if n_digits <= MAX_DIGITS:
            value = value * 10 + (text[i] - ZERO)
        i += 1
    if i > begin and n_digits == 0:
        n_digits = 1
    return i, n_digits, value


@kernel
def _number(text, i):
    """Return the end of a decimal number, its float64 value, and DONE, SLOW or BAD."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    begin, point = i, -1
    digits, n_digits = 0, 0
    while True:
        c = text[i]
        if c >= ZERO and c < ZERO + 10:
            if digits > 0 or c > ZERO:
                n_digits += 1
            if n_digits <= MAX_DIGITS:
                digits = digits * 10 + (c - ZERO)
        elif c == POINT and point < 0:
            point = i
        else:
            break
        i += 1
    if i - begin == (point >= 0):
        return i, 0.0, BAD
    power = 0 if point < 0 else point + 1 - i

    if text[i] == LOWER_E or text[i] == UPPER_E:
        i += 1
        below = text[i] == MINUS
        if below or text[i] == PLUS:
            i += 1
        i, length, exponent = _integer(text, i)
        if length == 0:
            return i, 0.0, BAD
        power += -exponent if below else exponent

    if digits == 0:
        return i, -0.0 if negative else 0.0, DONE
    if n_digits > MAX_DIGITS or abs(power) >= POWERS.size:
        return i, 0.0, SLOW
    value, state = _scaled(digits, power)
    return i, -value if negative else value, state


@kernel
def _scaled(digits, power):
    """Return digits·10^power rounded to nearest, and DONE; SLOW where rounding is uncertain."""
    high = float(digits)
    low = float(digits - np.int64(high))
    if low == 0.0:
        # Two exact numbers, one rounding (Clinger's fast path).
        return (high * POWERS[power] if power >= 0 else high / POWERS[-power]), DONE
    # The result is main + rest ± doubt. If the sum rounds to the same number at both ends, that
    # number is the nearest (Ziv's test).
    if power >= 0:
        scale = POWERS[power]
        main = high * scale
        error, more = _product_error(high, scale, main), low * scale
        rest = error + more
        doubt = (abs(error) + abs(more)) * 2.0**-50
    else:
        scale = POWERS[-power]
        main = high / scale
        product = main * scale
        left = (high - product) - _product_error(main, scale, product)
        rest = (left + low) / scale
        doubt = abs(rest) * 2.0**-50
    value = main + (rest - doubt)
    return value, DONE if value == main + (rest + doubt) else SLOW


@kernel
def _product_error(a, b, product):
    """Return a·b − product exactly, where product is a·b rounded (Dekker)."""
    t = SPLIT * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLIT * b
    b_high = t - (t - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
