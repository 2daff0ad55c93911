"""Where rows come from: tables, files, partitions, corruptions and named data sets."""
