"""The default engine: distinct paths are joined with distinct branches once; documents are looked up."""
