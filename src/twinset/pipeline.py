"""The six steps, in order, for every kind of item and over any engine.

    documents → shingles → sketches → candidates → pairs → clusters

A *kind* of item (texts, sets, weighted sets, codes, vectors, pictures) says how an item is read, sketched, joined and
measured. An *engine* says where the work happens. This file says what follows what, and nothing else.
"""

from twinset.engines.base import IndexBeside, Output, PassageRun, Run, TrimRun


def find_pairs(run: Run) -> Output:
    """Find every pair of documents at least as similar as the threshold."""
    corpus = run.read()  # documents → shingles → sketches
    unique = run.collapse(corpus)  # identical contents once
    join = run.plan(corpus, unique)  # sets: from the options alone; codes and vectors: from the items
    candidates = run.candidates(join)
    pairs = run.verify(join, candidates)  # exact
    audit = run.audit(join, pairs, candidates)  # a sample, compared with everything
    return run.write_pairs(join, pairs, candidates, audit)


def dedup(run: Run, index: IndexBeside | None = None) -> Output:
    """Remove near-duplicates, of each other and of the documents of an index, and say why for each."""
    corpus = run.read()
    unique = run.collapse(corpus)
    join = run.plan(corpus, unique)
    candidates = run.candidates(join)
    pairs = run.verify(join, candidates)
    audit = run.audit(join, pairs, candidates)
    matches = index.find_matches(corpus, unique) if index else None
    clusters = run.cluster(join, pairs, matches)
    tables = run.tables(join, matches)
    if index:
        index.add(tables, clusters)
    output = run.write_result(join, tables, pairs, candidates, audit, clusters, matches, index)
    if index:
        index.commit(output.path)
    return output


def find_passages(run: PassageRun) -> Output:
    """Find every run of words that two documents share, with its places."""
    corpus = run.read()  # documents → words → anchors
    candidates = run.candidates(corpus)  # places with equal anchors
    passages = run.verify(corpus, candidates)  # exact
    return run.write_passages(corpus, candidates, passages)


def trim(run: TrimRun) -> Output:
    """Cut later copies of passages out of the documents, with a reason for each cut."""
    corpus = run.read()
    cuts = run.cut(corpus)
    return run.write_trimmed(corpus, cuts)
