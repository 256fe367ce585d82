/** One safety guard of the cluster, how it is taken away, and which tests then have to fail. */
export interface GuardMutant {
  /** What the guard is for, in a few words. */
  readonly guard: string;
  /** The file it stands in. */
  readonly file: string;
  /** The guard as it stands there, once. */
  readonly from: string;
  /** What stands there instead. */
  readonly to: string;
  /** Test files of which one has to fail, all of the fast suite. */
  readonly tests: readonly string[];
}

const flushQuorumTest = ['test/cluster/flush-journal/flush-quorum.test.ts'];
const openingTest = ['test/cluster/replication/lost-end.test.ts'];
const foldTest = ['test/cluster/replication/log-fold.test.ts'];
const replicaTest = ['test/cluster/lease/flushed-replica.test.ts'];
const supersededTest = ['test/cluster/lease/superseded.test.ts'];
const logSimulation = ['test/cluster/replication/partition-log.sim.test.ts'];

/** The safety guards of the replicated log and of class `replica-disk`. */
export const guardMutants: readonly GuardMutant[] = [
  {
    guard: 'a confirmation counts only for the very record it names',
    file: 'cluster/flush-journal/flush-quorum.ts',
    from: 'if (this.#chains.get(sequence)?.equals(chain) !== true) return;',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'a majority of the old keepers has it while they change',
    file: 'cluster/flush-journal/flush-quorum.ts',
    from: 'majorityReached(keepers.old, all),',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'a majority of the new keepers has it',
    file: 'cluster/flush-journal/flush-quorum.ts',
    from: 'majorityReached(keepers.new, all),',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'the owner has it on its own disk',
    file: 'cluster/flush-journal/flush-quorum.ts',
    from: '      own,\n      follower,',
    to: '      follower,',
    tests: flushQuorumTest,
  },
  {
    guard: 'a follower has it, whoever the keepers are',
    file: 'cluster/flush-journal/flush-quorum.ts',
    from: '      own,\n      follower,',
    to: '      own,',
    tests: flushQuorumTest,
  },
  {
    guard: 'nothing is confirmed before the record that opened the newest epoch',
    file: 'cluster/flush-journal/flush-quorum.ts',
    from: 'durable < this.#opened || ',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'a full flush journal refuses new writes',
    file: 'cluster/flush-journal/flush-quorum.ts',
    from: 'if (journal.isFull) {',
    to: 'if (false) {',
    tests: flushQuorumTest,
  },
  {
    guard: 'a flush journal drops nothing young',
    file: 'cluster/flush-journal/flush-journal.ts',
    from: 'nowMs - oldest.endedMs < keepMs || ',
    to: '',
    tests: ['test/cluster/flush-journal/flush-journal.test.ts'],
  },
  {
    guard: 'a lease is renewed by what the keepers have',
    file: 'cluster/replication/partition-log.ts',
    from: 'else this.#renewals.add(state.sequence, flight.sent, batch.entries === 0 ? batch : undefined);',
    to: 'else { this.lease.renew(flight.sent); if (batch.entries === 0) batch.resolve(state.sequence); }',
    tests: flushQuorumTest,
  },
  {
    guard: 'a further epoch goes behind the very record that is known',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'if (!(await isStillEnd(writer))) {',
    to: 'if (false) {',
    tests: openingTest,
  },
  {
    guard: 'an opening goes behind the very record that was read, looked at before',
    file: 'cluster/replication/partition-opening.ts',
    from: 'await this.#untilReachable(() => this.#requireSameEnd());',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'an opening stands behind the very record that was read, looked at afterwards',
    file: 'cluster/replication/partition-opening.ts',
    from: 'await this.#untilReachable(() => this.#requireSameEnd(state));',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'an opening waits until the lease of the owner before is over',
    file: 'cluster/replication/partition-opening.ts',
    from: '!(await this.#waitedOut()) || ',
    to: '',
    tests: logSimulation,
  },
  {
    guard: 'an opening asks the other replicas whether they have more',
    file: 'cluster/replication/partition-opening.ts',
    from: '(await this.#isBehind(await this.#askReplicas()))',
    to: 'false',
    tests: openingTest,
  },
  {
    guard: 'a record counts only with the chain of the one before it',
    file: 'cluster/replication/log-fold.ts',
    from: "if (!continues) return 'it follows a record that does not count';",
    to: '',
    tests: foldTest,
  },
  {
    guard: 'a record counts only in the present epoch',
    file: 'cluster/replication/log-fold.ts',
    from: 'if (record.epoch < epoch) return',
    to: 'if (false) return',
    tests: foldTest,
  },
  {
    guard: 'an epoch is opened behind the very record it names',
    file: 'cluster/replication/log-fold.ts',
    from: 'if (record.epoch !== epoch + 1 || !continues)',
    to: 'if (record.epoch !== epoch + 1)',
    tests: foldTest,
  },
  {
    guard: 'nothing is appended while a server leads that refused for its own want of space',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'if (isRefused) await leaveRefusingLeader(writer.stream, writer.clock, writer.requireWanted);',
    to: '',
    tests: logSimulation,
  },
  {
    guard: 'an opening leaves a server that refused it for its own want of space',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (isRefusedByLeader(outcome)) await this.#leaveLeader();',
    to: '',
    tests: logSimulation,
  },
  {
    guard: 'a lease counts from when a record was sent',
    file: 'cluster/replication/lease-renewals.ts',
    from: 'this.#lease.renew(sent);',
    to: 'this.#lease.renew(this.#lease.moment());',
    tests: logSimulation,
  },
  {
    guard: 'nothing is said to be without an outcome before a further epoch counts',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'if (writer.oldest() === undefined) return false;\n      if (writer.fold.state.sequence > sequence) continue;',
    to: 'return false;',
    tests: logSimulation,
  },
  {
    guard: 'a majority of the keepers tells where they stand before a partition is opened',
    file: 'cluster/flush-journal/replica-survey.ts',
    from: ': isMajority(keepers, new Set([...known, this.#options.member]));',
    to: ': told.length > 0;',
    tests: replicaTest,
  },
  {
    guard: 'a majority of the old keepers tells, too, while they change',
    file: 'cluster/flush-journal/keepers.ts',
    from: 'return [old, next].every(',
    to: 'return [next].every(',
    tests: ['test/cluster/flush-journal/keepers.test.ts'],
  },
  {
    guard: 'nothing is given back while another member has more',
    file: 'cluster/flush-journal/reseed.ts',
    from: 'if (ahead !== undefined)',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'nothing is given back before a majority of the keepers has told',
    file: 'cluster/flush-journal/reseed.ts',
    from: 'if (!isEnough)',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'nothing is given back while a majority may have other records in its place',
    file: 'cluster/flush-journal/reseed.ts',
    from: 'if (others.length > 0 && keepers',
    to: 'if (false && keepers',
    tests: supersededTest,
  },
  {
    guard: 'what is given back goes behind what the journal has, too',
    file: 'cluster/flush-journal/reseed.ts',
    from: 'if (!stored.bytes.equals(bytes))',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'what a majority of the others does not have on its disks is not set aside',
    file: 'cluster/flush-journal/superseded-end.ts',
    from: 'if (!isMajority(keepers, confirmed)) return undefined;',
    to: '',
    tests: supersededTest,
  },
  {
    guard: 'those who kept the log before an end decide about it, not those it names',
    file: 'cluster/flush-journal/superseded-end.ts',
    from: 'return named.old.length === 0 ? named : { old: named.old, new: named.old };',
    to: 'return named;',
    tests: supersededTest,
  },
  {
    guard: 'a member confirms the stream by the chain it is at',
    file: 'cluster/flush-journal/superseded-end.ts',
    from: ' && each.chain === chain',
    to: '',
    tests: supersededTest,
  },
  {
    guard: 'a journal that was cut once keeps what it takes afterwards',
    file: 'cluster/lease/flushed-replica.ts',
    from: '    this.#trustedUpTo = undefined;\n    return journal;',
    to: '    return journal;',
    tests: supersededTest,
  },
  {
    guard: 'who finds out what became of an append writes nothing while another member has more',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'if (ahead !== undefined) continue;',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'what the servers may have shown to followers is appended again as it was',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'const again = sentBehind(writer);',
    to: 'const again = undefined as SentRecord | undefined;',
    tests: openingTest,
  },
  {
    guard: 'a stream holds what the journal of a member has',
    file: 'cluster/lease/flushed-replica.ts',
    from: 'if (done === true || !stored.bytes.equals(value.bytes))',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'a stream holds the newest record that a shard has',
    file: 'cluster/lease/flushed-replica.ts',
    from: 'await this.#requireNewest(position);',
    to: '',
    tests: replicaTest,
  },
  {
    guard: 'a member says how far its shards reach, also where its stored position does not',
    file: 'cluster/lease/flushed-replica.ts',
    from: '[this.#options.shards.newest, position]) if',
    to: '[position]) if',
    tests: replicaTest,
  },
  {
    guard: 'a stream that ends before what shards have is not gone on with',
    file: 'cluster/lease/flushed-replica.ts',
    from: '[position, this.#options.shards.newest, this.#kept?.flushed]',
    to: '[position, this.#kept?.flushed]',
    tests: replicaTest,
  },
  {
    guard: 'nothing is looked at in shards that are being replaced',
    file: 'cluster/lease/shard-positions.ts',
    from: ' || this.#isSuspended',
    to: '',
    tests: ['test/cluster/lease/shard-positions.test.ts'],
  },
  {
    guard: 'shards are given nothing before they are named as ahead of the stored position',
    file: 'cluster/lease/flushed-replica.ts',
    from: 'if (!this.isKept) await this.#options.shards.cover(sequence, newest(), actor);',
    to: '',
    tests: replicaTest,
  },
  {
    guard: 'the catalogue says how far shards reach before a position is stored',
    file: 'cluster/lease/position-keeper.ts',
    from: 'await this.#shards.storing(position);',
    to: '',
    tests: ['test/cluster/lease/listed-shards.test.ts'],
  },
  {
    guard: 'a catalogue that is behind the stored position is not believed',
    file: 'cluster/lease/shard-positions.ts',
    from: 'if (named !== undefined && catalogue.sequence < (position?.sequence ?? 0))',
    to: 'if (false)',
    tests: ['test/cluster/lease/listed-shards.test.ts'],
  },
  {
    guard: 'a shard has the record of the log that stands where it stands',
    file: 'runtime/commit/replica.ts',
    from: 'if (mark === undefined || reached.mark === undefined || isSameRecord(mark, reached.mark)) return;',
    to: 'return;',
    tests: ['test/cluster/lease/marked-shards.test.ts'],
  },
  {
    guard: 'a fork is there only when the record that makes it is named as ahead of the stored position',
    file: 'runtime/actor/actor-host.ts',
    from: 'this.#store.claimCopy(target, appended), log.flush()]',
    to: 'this.#store.claimCopy(target, appended)]',
    tests: ['test/runtime/actor/host-storage.test.ts'],
  },
  {
    guard: 'shards are given only what the journal has on the disk',
    file: 'cluster/flush-journal/behind-flush.ts',
    from: 'await this.#journal.whenFlushed((items.at(-1) as Item).sequence);',
    to: '',
    tests: replicaTest,
  },
  {
    guard: 'the wait for a lease begins anew with any record',
    file: 'cluster/replication/partition-opening.ts',
    from: '      this.#waitedMs = 0;\n      const step',
    to: '      const step',
    tests: logSimulation,
  },
  {
    guard: 'an owner trusts its lease for less time than others wait',
    file: 'cluster/replication/read-lease.ts',
    from: 'const OWNER_SHARE = 0.9;',
    to: 'const OWNER_SHARE = 1.1;',
    tests: logSimulation,
  },
  {
    guard: 'a machine that slept holds no lease',
    file: 'cluster/replication/read-lease.ts',
    from: 'if (wallMs - passedMs > SLEEP_MS_MAX) {',
    to: 'if (false) {',
    tests: ['test/cluster/replication/read-lease.test.ts'],
  },
  {
    guard: 'an owner whose outcomes are known by another opening stops',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'else if (step.opening !== undefined) requireOwn(writer, step.opening);',
    to: 'else if (step.opening !== undefined) {}',
    tests: logSimulation,
  },
];
