"""XTrie, eager and lazy: whole patterns, branches and order included, in a table of substrings."""
