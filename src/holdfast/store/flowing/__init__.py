"""How a queue with lanes or limits is served by a store that keeps it in tables: what SQLite and PostgreSQL share.

`policy.flow` says what a flow may do; this says when it is asked, and what is kept of the answers. The stores bring the
statements (`ledger`), nothing else.

**A queue flows** once it has had a lane, a limit, a paused lane or a task that asked to be left alone, and from then on for
ever. A queue that does not is claimed by one statement and knows nothing of all this.

**Lanes** are rows: the flow of each, and where it stands in the round.

    open     it may have a ready job and may start one; its rank is its turn
    timed    it has a ready job and may start one from the moment that is its rank
    shut     nothing but an event lets it start one: as many run as may, it is paused, its probes are under way
    idle     it has no ready job; from the moment that is its rank its flow has nothing to remember
    rested   it has no ready job and nothing to remember; it can be forgotten when the queue's turn has passed it

**News.** Only a claim, and an operator's act, write these rows, and they hold the queue's lock. Whatever else may change
how a lane stands (a push, a verdict, a rescue) leaves news: a row of its own, which waits for nobody. A claim reads the
news first, and looks again at the lanes they name. How many jobs run is no number that is kept, but counted.

    push, settle, …  ──►  news  ──►  claim: read the news, place the lanes, serve the open ones in turn, save

**If a process dies** before the commit of a claim, the news are still there, and the lanes as they were. There is no state
in between. News that are read twice because of it were acted on once.

Beyond a thousand lanes with news at a time, the rest wait for the next claim: a bound on the step.
"""
