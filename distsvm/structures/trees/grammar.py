"""Grammars of trees: rules, unary chains, and binary steps that preserve the rules' weights.

A rule is a phrase with its children, `NP -> 'DT' 'NN'`, tags in quotes; each has one weight.
For the search, rules are cut into binary steps and unary rules are gathered into chains:

- `A -> B1 … Bk` with k > 1 is read from the left. The prefix B1 … Bi (1 < i < k) is a symbol,
  shared by all rules that begin so; a step joins a prefix and the next child. The last step gives A
  and has the weight of the rule; the weights of the steps before are 0. So a tree has one binary
  form, and its weight and features are those of its rules.
- A chain X => … => Y is a sequence of unary rules, which may be empty (X is Y). Every span of the
  binary form has one label: a chain or a prefix.

**The language.** All trees under the start symbol TOP whose rules all occur in training, and whose
maximal unary chains either are simple (no symbol twice) with at most `max_chain` rules, or occur in
training. So a sentence has finitely many trees, whatever the weights, and every training tree is in
the language.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from distsvm.data.features import frozen
from distsvm.data.ragged import Ragged
from distsvm.errors import DataError
from distsvm.structures.trees.kernels.cky_tables import Tables
from distsvm.structures.trees.tree import TOP, Tree

MAX_CHAINS = 100_000
MAX_CHAIN_SYMBOLS = 5 * MAX_CHAINS  # in all chains that do not occur in training
MAX_SYMBOLS = 1 << 13  # tables have a bit for every two of them
# A table over all symbols has a row where at least one in 16 entries is used; other rows are
# searched. So tables take memory in proportion to the steps.
SPARSEST = 16


def rules_of(tree: Tree) -> Counter[str]:
    """Count the tree's uses of each rule, including the one from TOP to its root."""
    counts: Counter[str] = Counter()
    if tree.label != TOP or tree.is_word:
        counts[f"{TOP} -> {symbol_of(tree)}"] += 1
    for node in tree.nodes():
        if not node.is_word:
            counts[f"{node.label} -> {' '.join(map(symbol_of, node.children))}"] += 1
    return counts


def chains_of(tree: Tree) -> set[str]:
    """Return the maximal unary chains of two rules or more, and loops, as `X => Y => 'Z'`."""
    return {
        " => ".join(map(_text, chain))
        for chain, _ in constituents(tree)
        if len(chain) > 2 or (len(chain) == 2 and chain[0] == chain[1])
    }


def n_brackets(uses: Mapping[str, float]) -> float:
    """Return the number of constituents of trees with these uses of rules; a chain is one.

    A chain ends in a rule of several children or in one tag; bare tags are no constituents.
    """
    sides = ((_sides(rule)[1], n) for rule, n in uses.items())
    return float(sum(n for rhs, n in sides if len(rhs) > 1 or _symbol(rhs[0])[1]))


Symbol = tuple[str, bool]
"""A label, and whether it is a tag."""


def constituents(tree: Tree) -> Iterator[tuple[tuple[Symbol, ...], Tree]]:
    """Yield each maximal unary chain, including TOP above the root, and the node at its bottom.

    Parents come before children, left before right.
    """
    stack = [tree]
    while stack:
        node = stack.pop()
        above_root = node is tree and (tree.label != TOP or tree.is_word)
        chain: list[Symbol] = [(TOP, False)] if above_root else []
        chain.append((node.label, node.is_word))
        while len(node.children) == 1:
            node = node.children[0]
            chain.append((node.label, node.is_word))
        yield tuple(chain), node
        stack.extend(reversed(node.children))


def symbol_of(node: Tree) -> str:
    return _text((node.label, node.is_word))


def _text(symbol: Symbol) -> str:
    label, is_tag = symbol
    if is_tag:
        return f"'{label}'"
    if label[0] == "'":
        raise DataError(f"a phrase has the label {label!r}; quotes are for tags in rules")
    return label


def _symbol(text: str) -> Symbol:
    return (text[1:-1], True) if text[0] == "'" else (text, False)


@dataclass(frozen=True, eq=False)
class Grammar:
    """A grammar's rules with the tables for the search; numbers depend on the rules alone.

    Symbols are numbered: tags, then phrases, each in the order of their names, then prefixes. A
    chain of one symbol has the number of the symbol.

    Attributes
    ----------
    rules : tuple of str, in increasing order; a rule's number is its place
    tags, phrases : tuple of str
    chains : tuple of tuples of symbol numbers
    tables : Tables
    step_rule : int32 array of shape (n_steps,), −1 for steps to a prefix
    chain_rules : Ragged of int32, the rules of each chain
    prefix_number : dict of (symbol, next child) to the prefix of both, the symbol a prefix or child
    """

    rules: tuple[str, ...]
    tags: tuple[str, ...]
    phrases: tuple[str, ...]
    chains: tuple[tuple[int, ...], ...]
    tables: Tables
    step_rule: np.ndarray
    chain_rules: Ragged
    step_number: dict[tuple[int, int, int], int]
    prefix_number: dict[tuple[int, int], int]
    chain_number: dict[tuple[int, ...], int]
    tag_number: dict[str, int]
    phrase_number: dict[str, int]

    @classmethod
    def of(cls, rules: Iterable[str], chains: Iterable[str] = (), max_chain: int = 4) -> Grammar:
        """Return the grammar with these rules, and these chains besides the simple ones.

        Of more than 100,000 simple chains, the longer ones are left out.
        """
        texts = tuple(sorted(set(rules)))
        split = [(_symbol(lhs), [_symbol(s) for s in rhs]) for lhs, rhs in map(_sides, texts)]
        tags = sorted({name for _, rhs in split for name, is_tag in rhs if is_tag})
        seen = {name for lhs, rhs in split for name, is_tag in [lhs, *rhs] if not is_tag}
        phrases = sorted(seen | {TOP})
        numbers = {(name, True): i for i, name in enumerate(tags)}
        numbers |= {(name, False): len(tags) + i for i, name in enumerate(phrases)}
        if len(numbers) > MAX_SYMBOLS:
            raise DataError(
                f"the grammar has {len(numbers)} labels of phrases and tags, at most {MAX_SYMBOLS} "
                "are possible"
            )
        coded = [(numbers[lhs], tuple(numbers[s] for s in rhs)) for lhs, rhs in split]

        given = [tuple(numbers[_symbol(s)] for s in text.split(" => ")) for text in chains]
        unary = {(lhs, rhs[0]): i for i, (lhs, rhs) in enumerate(coded) if len(rhs) == 1}
        all_chains = _chains(len(numbers), unary, given, max_chain)
        prefixes, steps = _steps(coded, len(numbers))
        chain_rules = Ragged.of(
            [[unary[pair] for pair in pairwise(chain)] for chain in all_chains],
            np.int32,
        )
        return cls(
            rules=texts,
            tags=tuple(tags),
            phrases=tuple(phrases),
            chains=tuple(all_chains),
            tables=_tables(len(tags), len(phrases), numbers[TOP, False], steps, len(prefixes),
                           all_chains, coded),
            step_rule=frozen(np.array([rule for *_, rule in steps], np.int32)),
            chain_rules=chain_rules.frozen(),
            step_number={step[:3]: number for number, step in enumerate(steps)},
            prefix_number=prefixes,
            chain_number={chain: number for number, chain in enumerate(all_chains)},
            tag_number={name: i for i, name in enumerate(tags)},
            phrase_number={name: len(tags) + i for i, name in enumerate(phrases)},
        )  # fmt: skip

    def why_outside(self, tree: Tree) -> str:
        """Return a sentence that names a rule or chain of the tree outside this grammar."""
        unknown = sorted(rules_of(tree).keys() - set(self.rules))
        if unknown:
            return f"the tree has the rule {unknown[0]}, which the grammar does not have"
        for chain, _ in constituents(tree):
            if tuple(map(self.symbol, chain)) not in self.chain_number:
                shown = " => ".join(map(_text, chain))
                return f"the tree has the unary chain {shown}, which the grammar does not have"
        return "the tree is in the grammar"

    def symbol(self, symbol: Symbol) -> int | None:
        name, is_tag = symbol
        return (self.tag_number if is_tag else self.phrase_number).get(name)

    def label(self, number: int) -> str:
        n_tags = len(self.tags)
        return self.tags[number] if number < n_tags else self.phrases[number - n_tags]

    def tag_counts(self, counts: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return the number of uses of each tag, shape (T,), by the counts of the rules."""
        totals = np.zeros(len(self.tags))
        for rule, count in zip(self.rules, counts, strict=True):
            for name, is_tag in map(_symbol, _sides(rule)[1]):
                if is_tag:
                    totals[self.tag_number[name]] += count
        return totals

    def likelihood_weights(self, counts: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return log(count of the rule / count of all rules with its left side) of each rule."""
        counts = np.asarray(counts, dtype=np.float64)
        sides = [_sides(rule)[0] for rule in self.rules]
        _, side = np.unique(sides, return_inverse=True)
        return np.log(counts) - np.log(np.bincount(side, counts))[side]


def _sides(rule: str) -> tuple[str, list[str]]:
    lhs, _, *rhs = rule.split()
    return lhs, rhs


def _chains(
    n_symbols: int,
    unary: dict[tuple[int, int], int],
    given: Iterable[tuple[int, ...]],
    max_chain: int,
) -> list[tuple[int, ...]]:
    """Return each symbol alone, then simple chains of up to max_chain rules and the given ones."""
    below = defaultdict(list)
    for parent, child in sorted(unary):
        below[parent].append(child)
    single: list[tuple[int, ...]] = [(s,) for s in range(n_symbols)]
    found: set[tuple[int, ...]] = {pair for pair in unary if pair[0] != pair[1]} | set(given)
    longest, room = single, MAX_CHAIN_SYMBOLS
    for length in range(2, max_chain + 2):
        most = min(MAX_CHAINS - len(found), room // length)
        longer = (
            (*chain, child) for chain in longest for child in below[chain[-1]] if child not in chain
        )
        longest = list(islice(longer, most + 1))
        if not longest or len(longest) > most:
            break
        room -= length * len(longest)
        found.update(longest)
    return single + sorted(found)


Step = tuple[int, int, int, int]
"""(left, right, result, rule or −1)."""


def _steps(
    rules: list[tuple[int, tuple[int, ...]]], n_symbols: int
) -> tuple[dict[tuple[int, int], int], list[Step]]:
    """Return the prefixes as a trie, numbered in the order of their symbols, and sorted steps."""
    prefixes: dict[tuple[int, int], int] = {}
    steps: list[Step] = []
    for rule in sorted(range(len(rules)), key=lambda rule: rules[rule][1]):
        lhs, rhs = rules[rule]
        if len(rhs) > 1:
            left = rhs[0]
            for child in rhs[1:-1]:
                left = prefixes.setdefault((left, child), n_symbols + len(prefixes))
            steps.append((left, rhs[-1], lhs, rule))
    steps += [(left, right, number, -1) for (left, right), number in prefixes.items()]
    return prefixes, sorted(steps)


def _tables(
    n_tags: int,
    n_phrases: int,
    start: int,
    steps: list[Step],
    n_prefixes: int,
    chains: list[tuple[int, ...]],
    rules: list[tuple[int, tuple[int, ...]]],
) -> Tables:
    n = n_tags + n_phrases
    left, right, result, _ = np.array(steps, np.int32).reshape(-1, 4).T
    pairs = sorted({(chain[-1], chain[0]) for chain in chains})
    pair_number = {pair: i for i, pair in enumerate(pairs)}
    bottoms = [bottom for bottom, _ in pairs]
    label, following = _labels(n_tags, chains)
    symbols = Ragged.of([list(chain) for chain in chains], np.int32)
    bottom = np.array([chain[-1] for chain in chains], np.int32)
    by_bottom = np.argsort(bottom, kind="stable")
    row_starts = np.searchsorted(left, np.arange(n + n_prefixes + 1))
    pair_base, pair_starts = _pairs(n, row_starts, right)
    first = _first(n_tags, n, rules)
    follow_row, follow = _follow(n_tags, n, row_starts, right, first)
    return Tables(
        n_tags=n_tags,
        n_phrases=n_phrases,
        start=start,
        step_left=frozen(left),
        step_right=frozen(right),
        step_result=frozen(result),
        row_starts=frozen(row_starts),
        pair_base=frozen(pair_base),
        pair_starts=frozen(pair_starts),
        reach_starts=frozen(np.searchsorted(bottoms, np.arange(n + 1))),
        reach_top=frozen(np.array([top for _, top in pairs], np.int32)),
        chain_top=frozen(np.array([chain[0] for chain in chains], np.int32)),
        chain_bottom=frozen(bottom),
        chain_pair=frozen(np.array([pair_number[c[-1], c[0]] for c in chains], np.int32)),
        chain_starts=frozen(symbols.starts),
        chain_symbols=frozen(symbols.values),
        bottom_starts=frozen(np.searchsorted(bottom[by_bottom], np.arange(n + 1))),
        bottom_chains=frozen(by_bottom.astype(np.int32)),
        chain_label=frozen(label),
        chain_next=frozen(following),
        first=frozen(first),
        follow_row=frozen(follow_row),
        follow=frozen(follow),
        word_starts=frozen(np.arange(n_tags + 1)),
        word_tags=frozen(np.arange(n_tags, dtype=np.int32)),
    )


def _labels(n_tags: int, chains: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Return chain_label and chain_next; see Tables."""
    label = np.arange(len(chains), dtype=np.int32)
    following = np.full(len(chains), -1, np.int32)
    latest: dict[tuple[int, ...], int] = {}
    for number, chain in enumerate(chains):
        if chain[-1] < n_tags and len(chain) > 1:
            before = latest.get(chain[:-1])
            if before is not None:
                label[number], following[before] = label[before], number
            latest[chain[:-1]] = number
    return label, following


def _pairs(n: int, row_starts: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pair_base and pair_starts; see Tables."""
    wide = np.flatnonzero(SPARSEST * np.diff(row_starts[: n + 1]) >= n)
    base = np.full(n, -1, np.int64)
    base[wide] = np.arange(wide.size) * (n + 1)
    starts = np.empty((wide.size, n + 1), np.int64)
    for place, symbol in enumerate(wide.tolist()):
        begin, end = row_starts[symbol], row_starts[symbol + 1]
        starts[place] = begin + np.searchsorted(right[begin:end], np.arange(n + 1))
    return base, starts.ravel()


def _first(n_tags: int, n: int, rules: list[tuple[int, tuple[int, ...]]]) -> np.ndarray:
    """Return first; see Tables."""
    above = defaultdict(set)
    for lhs, rhs in rules:
        above[rhs[0]].add(lhs)
    first = np.zeros((n, -(-n_tags // 8)), dtype=np.uint8)
    tags = np.arange(n_tags)
    first[tags, tags >> 3] = 1 << (tags & 7)
    changed = deque(range(n_tags))
    while changed:
        child = changed.popleft()
        for parent in sorted(above[child]):
            new = first[parent] | first[child]
            if (new != first[parent]).any():
                first[parent] = new
                changed.append(parent)
    return first


def _follow(
    n_tags: int, n: int, row_starts: np.ndarray, right: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return follow_row and follow; see Tables."""
    wide = np.flatnonzero(8 * SPARSEST * np.diff(row_starts[n:]) >= n_tags)
    row = np.full(row_starts.size - 1 - n, -1, np.int32)
    row[wide] = np.arange(wide.size)
    follow = np.empty((wide.size, first.shape[1]), dtype=np.uint8)
    for place, prefix in enumerate((n + wide).tolist()):
        nexts = right[row_starts[prefix] : row_starts[prefix + 1]]
        np.bitwise_or.reduce(first[nexts], axis=0, out=follow[place])
    return row, follow
