"""One Ray actor per host, kept warm: runs one rank of one attempt at a time as a subprocess and ends its whole tree."""
