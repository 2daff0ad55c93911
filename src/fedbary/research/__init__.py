"""Methods from the literature, trainings, comparisons and experiments: nothing below imports this."""
