"""Jobs in this process's memory: the reference store, held to the same contract as all others."""
