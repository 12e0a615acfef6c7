"""Databases in memory: what one spills, no other may touch."""

from pathlib import Path

from winnow.lake.sql import open_database


def test_each_database_spills_into_a_folder_of_its_own_and_removes_it() -> None:
    folders = []
    for _ in range(2):
        database = open_database(memory_limit="100MB", threads=1)
        ((folder,),) = database.execute("SELECT current_setting('temp_directory')").fetchall()
        database.execute("CREATE TABLE t AS SELECT hash(range) AS h, uuid() AS u FROM range(6000000)")
        assert any(Path(folder).iterdir())
        folders.append(folder)
        database.close()
    assert folders[0] != folders[1]
    assert not any(Path(folder).exists() for folder in folders)
