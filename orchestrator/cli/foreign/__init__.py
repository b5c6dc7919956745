"""Job files of other schedulers, translated as far as they can be. Pure: text in, a spec and notes out."""
