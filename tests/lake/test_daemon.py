"""Workers start each task at once: nothing they import comes from an archive that Python would read again."""

import gc
import importlib
import sys
import zipimport
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from winnow.lake.daemon import kept_light, own_archives


def test_only_archives_of_the_installed_pyspark_are_its_own(tmp_path: Path) -> None:
    installed = Path(pyspark.__file__).parent
    own = [str(installed / "python/lib/pyspark.zip"), str(installed / "jars/spark-core.jar")]
    others = [str(tmp_path / "shipped.zip"), str(installed.parent), *sys.path]
    assert own_archives([*own, *others]) == set(own)
    assert own_archives([*own, str(tmp_path)]) == set()  # no pyspark but the one in the archive


@pytest.mark.spark
def test_workers_import_from_no_archive(spark: SparkSession) -> None:
    def archives(_: int) -> list[str]:
        importlib.invalidate_caches()
        return [k for k, v in sys.path_importer_cache.items() if isinstance(v, zipimport.zipimporter)]

    assert spark.sparkContext.parallelize([0], 1).flatMap(archives).collect() == []


def test_a_jvm_that_has_gone_is_no_news_but_other_failures_are() -> None:
    def worker(error: type[Exception] | None) -> int:
        if error:
            raise error
        return 0

    light = kept_light(worker)
    assert light(None) == 0
    assert light(BrokenPipeError) == 1
    with pytest.raises(ValueError, match=r"^$"):
        light(ValueError)


@pytest.mark.spark
def test_what_a_worker_has_imported_is_no_place_to_look_for_garbage(spark: SparkSession) -> None:
    def looked_at(_: int) -> list[int]:
        before = len(gc.get_objects())
        importlib.import_module("winnow.matcher")  # so the next task finds it there
        return [before]

    def everywhere() -> list[int]:
        return spark.sparkContext.parallelize(range(4), 4).flatMap(looked_at).collect()

    everywhere()
    assert max(everywhere()) < 20_000  # what a task itself has; pyspark alone is more
