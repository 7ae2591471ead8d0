"""Tag every word of a sentence: train a tagger, with its certificate, and try it on new sentences.

The words are invented: most end as others of their tag do, and for the rest the neighbours decide.
Features are written as templates, a line each. Run it: python examples/tag_sentences.py
"""

from distsvm import SequenceTagger
from distsvm.data.synthetic import make_tagged_sentences
from distsvm.data.templates import Templates

TEMPLATES = """
bias
word[-1..+1]        # the word, the one before and the one after
suffix(1..3)        # its last letters
suffix(2)[-1..+1]
"""

if __name__ == "__main__":
    sentences = make_tagged_sentences(700, n_tags=6, seed=0)
    templates = Templates.parse(TEMPLATES)
    X = [templates.features(words) for words, _ in sentences]
    y = [tags for _, tags in sentences]

    tagger = SequenceTagger(C_per_example=0.1, rel_gap=0.05).fit(X[:500], y[:500])
    result = tagger.result_
    print(f"certificate {result.certificate}: {result.dual:.2f} ≤ optimum ≤ {result.primal:.2f}")
    print(f"{result.n_rounds} rounds, {result.n_oracle_calls} Viterbi searches")

    scores = tagger.evaluate(X[500:], y[500:])
    print(f"test: {scores.accuracy:.4f} of tokens, {scores.exact:.4f} of sentences are right")

    words = sentences[500][0]
    print("\n  score  " + "  ".join(words))
    for tags, score in tagger.predict_n_best(X[500:501], 3)[0]:
        cells = (tag.ljust(len(word)) for tag, word in zip(tags, words, strict=True))
        print(f"{score:7.3f}  " + "  ".join(cells))
