"""The REST API under `/api/v1`, the clusters' link, and the ranks' ingest. Reads and writes intent; decides nothing."""
