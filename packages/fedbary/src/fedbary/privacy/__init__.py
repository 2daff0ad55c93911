"""Privacy: noise with a proof."""
