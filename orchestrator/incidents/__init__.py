"""From evidence of all ranks to a cause, told apart from its echoes. Pure."""
