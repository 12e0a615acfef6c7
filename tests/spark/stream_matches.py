"""A driver of its own that matches a stream of documents, for tests that kill it.

Arguments: kind of session, folder of its servers, arrivals, index, matches, checkpoint.
"""

import sys
from pathlib import Path

from spark.conftest import address_of, open_session_at
from winnow.spark import load_index, match


def main(kind: str, folder: str, *places: str) -> None:
    arrivals, index, matches, checkpoint = places
    Path(folder).mkdir()
    with address_of(kind, Path(folder)) as address:
        spark = open_session_at(address)
        documents = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(arrivals)
        query = (
            match(documents, load_index(index, spark=spark), outcomes=True)
            .writeStream.format("delta")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start(matches)
        )
        query.awaitTermination()
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
