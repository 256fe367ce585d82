import { accessGuards } from './access-guards.ts';
import { adminGuards } from './admin-guards.ts';
import { branchGuards } from './branch-guards.ts';
import { damageGuards } from './damage-guards.ts';
import type { GuardMutant } from './guard-mutant.ts';
import { callGuards } from './call-guards.ts';
import { callerGuards } from './caller-guards.ts';
import { conditionGuards } from './condition-guards.ts';
import { directoryGuards } from './directory-guards.ts';
import { egressGuards } from './egress-guards.ts';
import { feedGuards } from './feed-guards.ts';
import { identityGuards } from './identity-guards.ts';
import { peopleGuards } from './people-guards.ts';
import { jobGuards } from './job-guards.ts';
import { keyGuards } from './key-guards.ts';
import { largeValueGuards } from './large-value-guards.ts';
import { leaseGuards } from './lease-guards.ts';
import { mailGuards } from './mail-guards.ts';
import { oidcGuards } from './oidc-guards.ts';
import { openingGuards } from './opening-guards.ts';
import { recordGuards } from './record-guards.ts';
import { sealGuards } from './seal-guards.ts';
import { slowStatementGuards } from './slow-statement-guards.ts';
import { snapshotGuards } from './snapshot-guards.ts';
import { sqlChangeGuards } from './sql-change-guards.ts';
import { sqlBranchGuards } from './sql-branch-guards.ts';
import { sqlAccessGuards } from './sql-access-guards.ts';
import { sqlGuards } from './sql-guards.ts';
import { sqlKeptGuards } from './sql-kept-guards.ts';
import { sqlSchemaGuards } from './sql-schema-guards.ts';
import { sqlSessionGuards } from './sql-session-guards.ts';
import { sqlWriteGuards } from './sql-write-guards.ts';
import { bulkGuards } from './bulk-guards.ts';
import { storageGuards } from './storage-guards.ts';
import { treeGuards } from './tree-guards.ts';

const flushQuorumTest = ['test/cluster/replica-durability/flush-quorum.test.ts'];
const openingTest = ['test/cluster/replication/lost-end.test.ts'];
const flushJournalTest = ['test/cluster/replica-durability/flush-journal.test.ts'];
const positionTest = ['test/cluster/replication/log-position.test.ts'];
const foldTest = ['test/cluster/replication/log-fold.test.ts'];
const replicaTest = ['test/cluster/replica-durability/flushed-replica.test.ts'];
const supersededTest = ['test/cluster/ownership/superseded.test.ts'];
const logSimulation = ['test/cluster/replication/partition-log.sim.test.ts'];
const lateRefusalsTest = ['test/cluster/replication/late-refusals.test.ts'];
const logReaderTest = ['test/cluster/replication/log-reader.test.ts'];
const surveyTest = ['test/cluster/replica-durability/replica-survey.test.ts'];
const streamChecksTest = ['test/cluster/replication/stream-checks.test.ts'];

/** All safety guards; here those of the replicated log, of class `replica-disk`, and of what members believe of each other. */
export const guardMutants: readonly GuardMutant[] = [
  {
    guard: 'a confirmation counts only for the very record it names',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'if (this.#chains.get(sequence)?.equals(chain) !== true) return;',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'a majority of the old voters has it while they change',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'majorityReached(voters.old, all),',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'a majority of the new voters has it',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'majorityReached(voters.new, all),',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'the owner has it on its own disk',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: '      own,\n      follower,',
    to: '      follower,',
    tests: flushQuorumTest,
  },
  {
    guard: 'a follower has it, with any set of voters',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: '      own,\n      follower,',
    to: '      own,',
    tests: flushQuorumTest,
  },
  {
    guard: 'nothing is confirmed before the record that opened the newest epoch',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'durable < this.#opened || ',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'a full flush journal refuses new writes',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'if (journal.isFull) {',
    to: 'if (false) {',
    tests: flushQuorumTest,
  },
  {
    guard: 'a flush journal drops nothing young',
    file: 'cluster/replica-durability/flush-journal.ts',
    from: 'nowMs - oldest.endedMs < keepMs || ',
    to: '',
    tests: flushJournalTest,
  },
  {
    guard: 'a lease is renewed by what the voters have',
    file: 'cluster/replication/partition-log.ts',
    from: 'else this.#renewals.add(state.sequence, flight.sent, batch.entries === 0 ? batch : undefined);',
    to: 'else { this.lease.renew(flight.sent); if (batch.entries === 0) batch.resolve(state.sequence); }',
    tests: flushQuorumTest,
  },
  {
    guard: 'a further epoch directly follows the known record',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'if (!(await isStillEnd(writer))) {',
    to: 'if (false) {',
    tests: openingTest,
  },
  {
    guard: 'an opening directly follows the record that was read, verified before it is stored',
    file: 'cluster/replication/partition-opening.ts',
    from: 'await this.#untilReachable(() => this.#requireSameEnd());',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'an opening directly follows the record that was read, verified after it is stored',
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
    guard: 'a server that refused an append for its own want of space is left, also when it answers late',
    file: 'cluster/replication/partition-log.ts',
    from: 'if (this.#inFlight.length === 0) void this.#pause(() => this.#leaveLeader());',
    to: 'if (this.#inFlight.length === 0) this.#isRefused = false; else',
    tests: lateRefusalsTest,
  },
  {
    guard: 'a log goes on when it knows the outcomes of its appends',
    file: 'cluster/replication/partition-log.ts',
    from: 'this.#tail = this.#fold.state;\n    this.#schedule();',
    to: 'this.#tail = this.#fold.state;',
    tests: logSimulation,
  },
  {
    guard: 'no release is appended while a server leads that refused for its own want of space',
    file: 'cluster/replication/partition-log.ts',
    from: 'if (this.#isRefused) return false;',
    to: '',
    tests: lateRefusalsTest,
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
    guard: 'a majority of the voters reports its position before a partition is opened',
    file: 'cluster/replica-durability/replica-survey.ts',
    from: ': isMajority(voters, new Set([...known, this.#options.member]));',
    to: ': received.length > 0;',
    tests: replicaTest,
  },
  {
    guard: 'a majority of the old voters reports as well during a change of voters',
    file: 'cluster/replica-durability/voters.ts',
    from: 'return [old, next].every(',
    to: 'return [next].every(',
    tests: ['test/cluster/replica-durability/voters.test.ts'],
  },
  {
    guard: 'nothing is given back while another member has more',
    file: 'cluster/replica-durability/reseed.ts',
    from: 'if (ahead !== undefined)',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'nothing is restored to a stream before a majority of the voters has reported',
    file: 'cluster/replica-durability/reseed.ts',
    from: 'if (!isEnough)',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'nothing is given back while a majority may have other records in its place',
    file: 'cluster/replica-durability/reseed.ts',
    from: 'if (others.length > 0 && voters',
    to: 'if (false && voters',
    tests: supersededTest,
  },
  {
    guard: 'what is restored to a stream also follows what the journal has',
    file: 'cluster/replica-durability/reseed.ts',
    from: 'if (!stored.bytes.equals(bytes))',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'what a majority of the others does not have on its disks is not set aside',
    file: 'cluster/replica-durability/superseded-end.ts',
    from: 'if (!isMajority(voters, confirmed)) return undefined;',
    to: '',
    tests: supersededTest,
  },
  {
    guard: 'the voters from before an end decide about it, not those it names',
    file: 'cluster/replica-durability/superseded-end.ts',
    from: 'return named.old.length === 0 ? named : { old: named.old, new: named.old };',
    to: 'return named;',
    tests: supersededTest,
  },
  {
    guard: 'a member confirms the stream by the chain it is at',
    file: 'cluster/replica-durability/superseded-end.ts',
    from: ' && each.chain === chain',
    to: '',
    tests: supersededTest,
  },
  {
    guard: 'a journal that was cut once keeps what it takes afterwards',
    file: 'cluster/replica-durability/flushed-replica.ts',
    from: '    this.#trustedUpTo = undefined;\n    return journal;',
    to: '    return journal;',
    tests: supersededTest,
  },
  {
    guard: 'resolving the outcome of an append writes nothing while another member has more',
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
    file: 'cluster/replica-durability/flushed-replica.ts',
    from: 'if (done === true || !stored.bytes.equals(value.bytes))',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'a stream holds the newest record that a shard has',
    file: 'cluster/replica-durability/flushed-replica.ts',
    from: 'await this.#requireNewest(position);',
    to: '',
    tests: replicaTest,
  },
  {
    guard: 'a member reports how far its shards reach, even without a stored position',
    file: 'cluster/replica-durability/flushed-replica.ts',
    from: '[this.#options.shards.newest, position]) if',
    to: '[position]) if',
    tests: replicaTest,
  },
  {
    guard: 'a stream that ends before what shards have is not gone on with',
    file: 'cluster/replica-durability/flushed-replica.ts',
    from: '[position, this.#options.shards.newest, this.#kept?.flushed]',
    to: '[position, this.#kept?.flushed]',
    tests: replicaTest,
  },
  {
    guard: 'nothing is looked at in shards that are being replaced',
    file: 'cluster/replication/shard-positions.ts',
    from: ' || this.#isSuspended) return;\n    if (this.#files.hasCatalogue()) this',
    to: ') return;\n    if (this.#files.hasCatalogue()) this',
    tests: ['test/cluster/replication/shard-positions.test.ts'],
  },
  {
    guard: 'shards are given nothing before they are named as ahead of the stored position',
    file: 'cluster/replica-durability/flushed-replica.ts',
    from: 'if (!this.isKept) await this.#options.shards.cover(sequence, newest(), actor);',
    to: '',
    tests: replicaTest,
  },
  {
    guard: 'the catalogue records how far shards reach before a position is stored',
    file: 'cluster/ownership/position-keeper.ts',
    from: 'await this.#shards.storing(position);',
    to: '',
    tests: ['test/cluster/ownership/listed-shards.test.ts'],
  },
  {
    guard: 'a catalogue that is behind the stored position is not believed',
    file: 'cluster/replication/shard-positions.ts',
    from: 'if (named !== undefined && catalogue.sequence < (position?.sequence ?? 0))',
    to: 'if (false)',
    tests: ['test/cluster/ownership/listed-shards.test.ts'],
  },
  {
    guard: 'a shard has the same record as the log at its position',
    file: 'runtime/commit/replica.ts',
    from: 'if (mark === undefined || reached.mark === undefined || isSameRecord(mark, reached.mark)) return undefined;',
    to: 'return undefined;',
    tests: ['test/cluster/ownership/marked-shards.test.ts'],
  },
  {
    guard: 'a fork is there only when the record that makes it is named as ahead of the stored position',
    file: 'runtime/actor/host/actor-host.ts',
    from: 'this.#store.claimCopy(target, appended), log.flush()]',
    to: 'this.#store.claimCopy(target, appended)]',
    tests: ['test/runtime/actor/host/host-storage.test.ts'],
  },
  {
    guard: 'shards are given only what the journal has on the disk',
    file: 'cluster/replica-durability/flush-gate.ts',
    from: 'await this.#journal.whenFlushed((items.at(-1) as Item).sequence);',
    to: '',
    tests: replicaTest,
  },
  {
    guard: 'any record restarts the wait for a lease',
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
  {
    guard: 'a log is gone on with behind the very record a member has',
    file: 'cluster/replication/log-position.ts',
    from: ' || !record.chain.equals(position.chain)',
    to: '',
    tests: positionTest,
  },
  {
    guard: 'a stream is the one a member knows',
    file: 'cluster/replication/stream-checks.ts',
    from: " && (known.identity === '' || known.identity === state.identity)",
    to: '',
    tests: positionTest,
  },
  {
    guard: 'a lease ends by the clock that shows more elapsed time',
    file: 'cluster/replication/read-lease.ts',
    from: 'Math.max(passedMs, wallMs)',
    to: 'passedMs',
    tests: ['test/cluster/replication/read-lease.test.ts'],
  },
  {
    guard: 'what a disk failed to flush is not believed afterwards',
    file: 'cluster/replica-durability/flush-journal.ts',
    from: 'messages.filter(({ sequence }) => sequence <= trusted)',
    to: '[...messages]',
    tests: flushJournalTest,
  },
  {
    guard: 'what an opening of a flush journal finds is on the disk before it is reported',
    file: 'cluster/replica-durability/flush-journal.ts',
    from: 'await file.truncate(end);\n      await file.sync();',
    to: 'await file.truncate(end);',
    tests: flushJournalTest,
  },
  {
    guard: 'a flush journal has nothing from before a gap',
    file: 'cluster/replica-durability/flush-journal.ts',
    from: 'if (continues) continue;',
    to: 'continue;',
    tests: flushJournalTest,
  },
  {
    guard: 'only a record that counts names voters',
    file: 'cluster/replica-durability/flush-journal.ts',
    from: 'const named = isValid ? votersIn(bytes) : undefined;',
    to: 'const named = votersIn(bytes);',
    tests: flushJournalTest,
  },
  {
    guard: 'the owner is no follower of its own',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'if (member === this.#options.member) return;',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'voters change through a record that names both sets',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'isChange ? { old: voters.new, new: members }',
    to: 'isChange ? { old: members, new: members }',
    tests: flushQuorumTest,
  },
  {
    guard: 'new voters decide alone once both sets have the record that names them',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'votersSequence > 0 && this.#confirmed >= votersSequence;',
    to: 'true;',
    tests: flushQuorumTest,
  },
  {
    guard: 'voters change once at a time, and not before the opening is durable',
    file: 'cluster/replica-durability/flush-quorum.ts',
    from: 'if (isJoint(voters) || this.#confirmed < this.#opened) return undefined;',
    to: '',
    tests: flushQuorumTest,
  },
  {
    guard: 'an opening is refused while another replica knows another stream',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (other !== undefined)',
    to: 'if (false)',
    tests: openingTest,
  },
  {
    guard: 'a log that ended has no lease',
    file: 'cluster/replication/partition-log.ts',
    from: '    this.lease.drop();\n',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'nothing is given back to another stream of the same name',
    file: 'cluster/replica-durability/reseed.ts',
    from: 'if (state.identity !== mark.identity)',
    to: 'if (false)',
    tests: replicaTest,
  },
  {
    guard: 'a member that does not answer may have other records, too',
    file: 'cluster/replica-durability/reseed.ts',
    from: 'new Set([...others, ...missing])',
    to: 'new Set(others)',
    tests: supersededTest,
  },
  {
    guard: 'an end is not set aside for another stream',
    file: 'cluster/replica-durability/superseded-end.ts',
    from: 'if (state.identity !== identity) return undefined;',
    to: '',
    tests: supersededTest,
  },
  {
    guard: 'a damaged message proves nothing of an end',
    file: 'cluster/replica-durability/superseded-end.ts',
    from: 'if (!isTaken(fold, message)) break;',
    to: 'fold.take(message);',
    tests: supersededTest,
  },
  {
    guard: 'a member without any records is not counted among those that reported',
    file: 'cluster/replica-durability/replica-survey.ts',
    from: "const known = received.filter(({ identity }) => identity !== '')",
    to: 'const known = received',
    tests: surveyTest,
  },
  {
    guard: 'a member believes its own journal of the voters before others',
    file: 'cluster/replica-durability/replica-survey.ts',
    from: 'this.#options.voters() ?? newestVoters(received, position)',
    to: 'newestVoters(received, position) ?? this.#options.voters()',
    tests: surveyTest,
  },
  {
    guard: 'voters are learned from the member with most of the log',
    file: 'cluster/replica-durability/replica-survey.ts',
    from: 'best === undefined || isAhead(each, best) ? each : best',
    to: 'best ?? each',
    tests: surveyTest,
  },
  {
    guard: 'voters are not learned from a member with less of the log',
    file: 'cluster/replica-durability/replica-survey.ts',
    from: 'newest === undefined || isAhead(position, newest) ?',
    to: 'newest === undefined ?',
    tests: surveyTest,
  },
  {
    guard: 'servers that know nothing of a stream are asked again',
    file: 'cluster/replication/stream-checks.ts',
    from: "state.identity !== '' && ",
    to: '',
    tests: streamChecksTest,
  },
  {
    guard: 'a segment of a flush journal has no gap',
    file: 'cluster/replica-durability/segment-scan.ts',
    from: 'if (message.sequence !== next)',
    to: 'if (false)',
    tests: ['test/cluster/replica-durability/segment-scan.test.ts'],
  },
  {
    guard: 'records that the voters do not have are not released',
    file: 'cluster/replication/partition-log.ts',
    from: 'const unshown = this.#unconfirmed[0]?.firstSequence ?? this.#unshownFrom;',
    to: 'const unshown = this.#unshownFrom;',
    tests: flushQuorumTest,
  },
  {
    guard: 'records that the voters did not have when a log ended are not released',
    file: 'cluster/replication/partition-log.ts',
    from: 'this.#unconfirmed[0]?.firstSequence ?? this.#unshownFrom;',
    to: 'this.#unconfirmed[0]?.firstSequence;',
    tests: flushQuorumTest,
  },
  {
    guard: 'a record is stored right behind the one before it',
    file: 'cluster/replication/partition-log.ts',
    from: 'if (answer.sequence !== expected + 1) {',
    to: 'if (false) {',
    tests: openingTest,
  },
  {
    guard: 'a candidate that opens a partition sends nothing while the owner writes',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (state !== undefined && state.lastSequence !== sequence) return false;',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'an opening restarts its wait when the servers were away at the last moment',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (this.#breaks > breaks) continue;',
    to: '',
    tests: openingTest,
  },
  {
    guard: 'time in which another server came to lead does not count for a lease',
    file: 'cluster/replication/partition-opening.ts',
    from: 'if (state !== undefined && state.leader === this.#leader)',
    to: 'if (state !== undefined)',
    tests: openingTest,
  },
  {
    guard: 'a record of its epoch that an owner did not write is not its own',
    file: 'cluster/replication/outcome-resolution.ts',
    from: 'if (oldest === undefined || !oldest.record.chain.equals(writer.fold.state.chain))',
    to: 'if (false)',
    tests: openingTest,
  },
  {
    guard: 'a follower of a log resumes with the same stream only',
    file: 'cluster/replication/log-reader.ts',
    from: 'const { lastSequence } = await stateReaching(stream, partition, known, clock);',
    to: 'const { lastSequence } = await stream.state();',
    tests: logReaderTest,
  },
  {
    guard: 'no reader begins in the middle of a batch',
    file: 'cluster/replication/log-reader.ts',
    from: ' || state.firstChunk !== undefined',
    to: '',
    tests: logReaderTest,
  },
  {
    guard: 'a partition is handed over only to a member that follows it closely',
    file: 'cluster/directory/cluster-directory.ts',
    from: ' && warm.get(to)?.includes(partition) === true',
    to: '',
    tests: ['test/cluster/directory/member-registry.test.ts'],
  },
  {
    guard: 'a journal whose folder was taken while it was stopped does not resume',
    file: 'runtime/embedded/journal/journal.ts',
    from: '      await this.#removing;\n      this.#options.requireHeld?.();',
    to: '      await this.#removing;',
    tests: ['test/runtime/embedded/journal/journal-held.test.ts'],
  },
  {
    guard: 'nothing is written to a journal file that was cut',
    file: 'runtime/embedded/journal/journal.ts',
    from: '    requireWhole(active);\n    const sequence',
    to: '    const sequence',
    tests: ['test/runtime/embedded/recovery/journal-lost.test.ts'],
  },
  {
    guard: 'actors that a snapshot does not replace after all are put back',
    file: 'cluster/snapshot/snapshot-swap.ts',
    from: '      await this.#undo();\n',
    to: '',
    tests: ['test/cluster/snapshot/snapshot-swap.test.ts'],
  },
  {
    guard: 'files that a crash left partly set aside are moved back',
    file: 'runtime/actor/store/actor-folders.ts',
    from: '    this.#together.undo();\n',
    to: '',
    tests: ['test/runtime/actor/store/removed-actors.test.ts'],
  },
  ...accessGuards,
  ...adminGuards,
  ...branchGuards,
  ...damageGuards,
  ...largeValueGuards,
  ...recordGuards,
  ...leaseGuards,
  ...mailGuards,
  ...oidcGuards,
  ...openingGuards,
  ...sealGuards,
  ...snapshotGuards,
  ...storageGuards,
  ...directoryGuards,
  ...callGuards,
  ...callerGuards,
  ...egressGuards,
  ...conditionGuards,
  ...feedGuards,
  ...jobGuards,
  ...keyGuards,
  ...identityGuards,
  ...peopleGuards,
  ...sqlChangeGuards,
  ...sqlKeptGuards,
  ...sqlBranchGuards,
  ...sqlAccessGuards,
  ...sqlGuards,
  ...sqlSchemaGuards,
  ...sqlSessionGuards,
  ...slowStatementGuards,
  ...sqlWriteGuards,
  ...bulkGuards,
  ...treeGuards,
];
