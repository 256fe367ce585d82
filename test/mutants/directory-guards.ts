import type { GuardMutant } from './guard-mutant.ts';

const lockTest = ['test/runtime/embedded/data-directory-lock.test.ts'];
const catalogueFileTest = ['test/runtime/actor/catalogue/catalogue-file.test.ts'];
const damagedLogTest = ['test/runtime/actor/damage/damaged-log.test.ts'];
const journalLostTest = ['test/runtime/embedded/recovery/journal-lost.test.ts'];
const olderVersionTest = ['test/history/older-version.test.ts'];
const containmentTest = ['test/runtime/embedded/recovery/journal-containment.test.ts'];
const overwrittenTest = ['test/runtime/actor/damage/overwritten-shard.test.ts'];

/** The safety guards of who uses a data directory, and of what its files are believed to say. */
export const directoryGuards: readonly GuardMutant[] = [
  {
    guard: 'only what may not be written is read under a lock that readers share',
    file: 'runtime/embedded/data-directory-lock.ts',
    from: "if (!readOnlyCodes.has((cause as NodeJS.ErrnoException | undefined)?.code ?? '')) throw error;",
    to: '',
    tests: lockTest,
  },
  {
    guard: 'a file that the system refuses for the moment makes no actor depend on lost records',
    file: 'runtime/actor/damage/damaged-log.ts',
    from: 'if (isRefusedFile(error)) throw error;',
    to: '',
    tests: damagedLogTest,
  },
  {
    guard: 'a catalogue with a damaged fact is not used',
    file: 'runtime/actor/catalogue/catalogue-file.ts',
    from: 'file.#requireWhole();',
    to: '',
    tests: catalogueFileTest,
  },
  {
    guard: 'an actor on a damaged page of the catalogue counts as listed',
    file: 'runtime/actor/catalogue/catalogue-file.ts',
    from: 'keyOfActor(actor));\n    this.#requireWhole();',
    to: 'keyOfActor(actor));',
    tests: catalogueFileTest,
  },
  {
    guard: 'a catalogue lists all actors or none',
    file: 'runtime/actor/catalogue/catalogue-file.ts',
    from: 'rowOf(value));\n    this.#requireWhole();',
    to: 'rowOf(value));',
    tests: catalogueFileTest,
  },
  {
    guard: 'a journal whose folder was removed makes it anew',
    file: 'runtime/embedded/journal/journal.ts',
    from: 'await files.makeDirectory(folder);',
    to: '',
    tests: journalLostTest,
  },
  {
    guard: 'entries wait until the journal has a file of this format',
    file: 'runtime/embedded/journal/journal.ts',
    from: 'this.#loop = started.then(() => this.#run());',
    to: 'void started.then(() => this.#run());',
    tests: olderVersionTest,
  },
  {
    guard: 'no file of this format is begun while entries are written',
    file: 'runtime/embedded/journal/journal.ts',
    from: ' || this.#loop !== undefined) return;',
    to: ') return;',
    tests: olderVersionTest,
  },
  {
    guard: 'no batch begins on a shard that another file was copied over',
    file: 'runtime/commit/commit-loop.ts',
    from: 'this.checkShard();\n    const startedMs',
    to: 'const startedMs',
    tests: overwrittenTest,
  },
  {
    guard: 'no batch is appended whose commands ran while another file was copied over their shard',
    file: 'runtime/commit/commit-loop.ts',
    from: 'this.#requireSameShard();',
    to: '',
    tests: overwrittenTest,
  },
  {
    guard: 'no batch is appended once its actor was stopped while it ran',
    file: 'runtime/commit/commit-loop.ts',
    from: 'if (this.#stopped !== undefined) throw this.#stopped;\n  }',
    to: '}',
    tests: overwrittenTest,
  },
  {
    guard: 'nothing is applied to a shard that another file was copied over',
    file: 'runtime/shard/lmdb-shard.ts',
    from: 'this.#wasOverwritten() ??',
    to: '',
    tests: overwrittenTest,
  },
  {
    guard: 'a shard that is applied to is not taken for overwritten',
    file: 'runtime/shard/lmdb-shard.ts',
    from: ' || this.#running !== undefined) return this.#overwritten;',
    to: ') return this.#overwritten;',
    tests: ['test/runtime/shard/lmdb-shard.test.ts'],
  },
  {
    guard: 'no shard is copied that another file was copied over',
    file: 'runtime/commit/shard-writer.ts',
    from: 'this.requireUntouched();\n    await this.#apply(cut);',
    to: 'await this.#apply(cut);',
    tests: overwrittenTest,
  },
  {
    guard: 'no copy is valid while which another file was copied over its shard',
    file: 'runtime/commit/shard-writer.ts',
    from: 'this.requireUntouched();\n    await finish();',
    to: 'await finish();',
    tests: overwrittenTest,
  },
  {
    guard: 'nothing is read from a shard that another file was copied over',
    file: 'runtime/shard/lmdb-shard.ts',
    from: 'if (this.#overwritten !== undefined) throw this.#overwritten;',
    to: '',
    tests: overwrittenTest,
  },
  {
    guard: 'no snapshot is read of a shard that another file was copied over',
    file: 'runtime/shard/lmdb-shard.ts',
    from: 'this.#requireSame();\n      if (!isOpen)',
    to: 'if (!isOpen)',
    tests: ['test/runtime/shard/lmdb-shard.test.ts'],
  },
  {
    guard: 'a shard that another file was copied over is noticed without a command',
    file: 'runtime/actor/host/actor-host.ts',
    from: 'this.#shardWatch.start();',
    to: '',
    tests: overwrittenTest,
  },
  {
    guard: 'no shards are looked at once their host is closed',
    file: 'runtime/actor/host/actor-host.ts',
    from: 'this.#shardWatch.end();',
    to: '',
    tests: ['test/runtime/actor/host/actor-host.test.ts'],
  },
  {
    guard: 'a look at shards continues where the one before ended',
    file: 'runtime/actor/host/shard-watch.ts',
    from: 'const next = this.#left.next();',
    to: 'const next = this.#open.values().next();',
    tests: ['test/runtime/actor/host/shard-watch.test.ts'],
  },
  {
    guard: 'ranges on which somebody may depend stay in a decision when something else is lost',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: 'if (refused.size > 0 || added.length === 0) return lost;',
    to: 'if (added.length === 0) return lost;',
    tests: containmentTest,
  },
  {
    guard: 'a decision is not written again when nothing new is lost',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: 'if (refused.size > 0 || added.length === 0) return lost;',
    to: 'if (refused.size > 0) return lost;',
    tests: containmentTest,
  },
  {
    guard: 'what nobody depended on and has left is not in a new decision',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: 'return lost.filter((range) => isLostNow(present, range)).map(',
    to: 'return lost.map(',
    tests: containmentTest,
  },
  {
    guard: 'what nobody depended on is marked when somebody depends on what is lost later',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: '.map((range) => ({ ...range, isNobodys: true }));',
    to: ';',
    tests: containmentTest,
  },
  {
    guard: 'only what nobody depends on is not waited for',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: 'lost.filter(({ isNobodys }) => isNobodys !== true) : lost;',
    to: '[] : lost;',
    tests: containmentTest,
  },
  {
    guard: 'what nobody depended on is waited for while nobody is refused',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: 'refused.size > 0 ? lost.filter(({ isNobodys }) => isNobodys !== true) : lost;',
    to: 'lost.filter(({ isNobodys }) => isNobodys !== true);',
    tests: containmentTest,
  },
  {
    guard: 'what nobody depended on is not decided again when all else is back',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: 'const earlier = stillLost ? note.lost : (note?.lost ?? []).filter((range) => isLostNow(lost, range));',
    to: 'const earlier = stillLost ? note.lost : [];',
    tests: containmentTest,
  },
  {
    guard: 'what was back may be lost again',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: '(note?.lost ?? []).filter((range) => isLostNow(lost, range));',
    to: '(note?.lost ?? []);',
    tests: containmentTest,
  },
];
