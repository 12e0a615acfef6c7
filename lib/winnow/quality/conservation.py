"""Nothing is lost and nothing comes from nowhere: documents, batches, answers."""

from pyspark.sql import functions as sf

from winnow.ledger import Mode
from winnow.quality.audited_run import AuditedRun
from winnow.quality.counting import found
from winnow.quality.finding import Finding, counted
from winnow.tables import contract


def documents_answered(run: AuditedRun) -> Finding:
    """Counts documents that do not have one row of answers for each shard of the profiles, or that nobody was to ask.

    Of documents that were asked before, only those that satisfy a recent profile have a row. Where documents are routed
    to partitions by their labels, all that are new have a row for the first one.
    """
    asked = run.asked_documents.select(
        "document_id", "is_new", sf.lit(1).alias("asked"), sf.lit(None).cast("int").alias("shard")
    )
    answers = run.stage.select(
        "document_id", sf.lit(None).cast("boolean").alias("is_new"), sf.lit(0).alias("asked"), "shard"
    )
    shards = sf.broadcast(run.stage.agg((sf.coalesce(sf.max("shard"), sf.lit(0)) + 1).alias("shards")))
    by_document = (
        asked.unionByName(answers)
        .groupBy("document_id")
        .agg(
            sf.sum("asked").alias("asked"),
            sf.max("is_new").alias("is_new"),
            sf.count("shard").alias("rows"),
            sf.count_distinct("shard").alias("distinct"),
            sf.count_if(sf.col("shard") == 0).alias("first"),
        )
        .crossJoin(shards)
    )
    expected = "first = 1" if run.is_routed else "rows = shards"
    wrong = by_document.where(f"asked <> 1 OR rows <> distinct OR (is_new AND NOT {expected})")
    words = sf.concat(
        sf.lit("document "),
        "document_id",
        sf.lit(" has "),
        "rows",
        sf.lit(" rows of answers and was to be asked "),
        "asked",
        sf.lit(" times"),
    )
    return found(wrong, words)


def documents_encoded(run: AuditedRun) -> Finding:
    """Counts documents of the interval that are in none of its batches, so that nobody asked them."""
    stored = run.tables.read("documents", interval=run.date).select("document_id")
    encoded = run.tables.read("encoded_documents", interval=run.date, version=run.versions["encoded_documents"])
    return found(
        stored.join(encoded.select("document_id"), "document_id", "left_anti"),
        sf.concat(sf.lit("document "), "document_id"),
    )


def batches_whole(run: AuditedRun) -> Finding:
    """Compares the documents of the run's batches with what the run has counted when it was planned."""
    encoded = run.encoded.count()
    planned = run.row["documents"]
    words = f"the batches have {encoded} documents, the run knew of {planned}"
    return Finding(float(encoded - planned), abs(encoded - planned), (words,) if encoded != planned else ())


def encodings_repeated(run: AuditedRun, max_documents: int) -> Finding:
    """Counts documents that are not stored as they are encoded now; at most so many are looked at."""
    share = max_documents / max(run.row["documents"], 1)
    is_drawn = (
        sf.lit(True)
        if share >= 1
        else sf.pmod(sf.xxhash64("document_id", sf.lit(run.seed)), 10_000) < max(1, int(10_000 * share))
    )
    content = [name for name in contract("encoded_documents").names if name not in ("batch", "ingest_date")]
    digest = sf.xxhash64(*content)
    drawn = run.encoded.where(is_drawn)
    documents = run.tables.read("documents", interval=run.date)
    anew = run.encode(documents.join(sf.broadcast(drawn.select("document_id")), "document_id", "left_semi"))
    known = anew.select("document_id", digest.alias("anew"))
    wrong = drawn.select("document_id", digest.alias("digest")).join(known, "document_id", "left")
    wrong = wrong.where("NOT (digest <=> anew)")
    return found(wrong, sf.concat(sf.lit("document "), "document_id"))


def documents_conserved(run: AuditedRun) -> Finding:
    """Documents in = matched + unmatched + undecided + quarantined: counts those that are seen but nowhere stored."""
    sources = run.tables.read("document_sources", interval=run.date).select("document_id").distinct()
    stored = run.tables.read("documents", interval=run.date).select("document_id")
    elsewhere = run.tables.read("documents").select("document_id")
    seen_before = sources.join(stored, "document_id", "left_anti")
    lost = seen_before.join(elsewhere, "document_id", "left_anti")
    return found(lost, sf.concat(sf.lit("document "), "document_id", sf.lit(" was seen and is not stored")))


def documents_located(run: AuditedRun) -> Finding:
    """Counts documents without a place where they were seen: their answers would be lost in publication."""
    sources = run.tables.read("document_sources", interval=run.date).select("document_id")
    lost = run.encoded.select("document_id").join(sources, "document_id", "left_anti")
    return found(lost, sf.concat(sf.lit("document "), "document_id"))


def profiles_asked(run: AuditedRun) -> Finding:
    """Counts profiles that have answers although they were not to be asked."""
    strangers = run.answer_counts.join(run.asked.select("profile_key"), "profile_key", "left_anti")
    words = sf.concat(sf.lit("profile "), "profile_key", sf.lit(" of "), "documents", sf.lit(" documents"))
    return found(strangers, words)


def keys_not_published(run: AuditedRun) -> Finding:
    """Counts pairs that would be published twice: they stay of what is published, and they are staged."""
    if run.mode is Mode.REPLACE:
        return counted(0)
    twice = run.kept.join(run.published.select("document_id", "profile_id"), ["document_id", "profile_id"], "left_semi")
    return found(twice, sf.concat(sf.lit("document "), "document_id", sf.lit(", profile "), "profile_id"))


def undecided_pairs(run: AuditedRun) -> Finding:
    """Counts pairs that were given up."""
    pairs = run.stage.select("document_id", sf.explode("undecided").alias("pair")).select("document_id", "pair.*")
    return found(
        pairs,
        sf.concat(sf.lit("document "), "document_id", sf.lit(", profile "), "profile_key", sf.lit(": "), "reason"),
    )
