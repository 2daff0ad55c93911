"""What a Flower deployment needs on disk: certificates, scripts, and how it is doing."""
