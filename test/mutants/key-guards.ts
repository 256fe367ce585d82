import type { GuardMutant } from './guard-mutant.ts';

const storageTests = ['test/runtime/actor/host/host-storage.test.ts'];
const rotationTests = ['test/server/jobs/master-key-rotation.test.ts'];
const logTests = ['test/cluster/snapshot/rotated-logs.test.ts'];

/** The safety guards of a rotation of the master key. */
export const keyGuards: readonly GuardMutant[] = [
  {
    guard: 'a directory with something under the previous key is not opened without it',
    file: 'runtime/actor/host/host-storage.ts',
    from: 'if (previousKeyCheck !== undefined && !isGiven(previousKeyCheck)) throw key.refusal(true);',
    to: '',
    tests: storageTests,
    only: 'whose key was replaced',
  },
  {
    guard: 'a new key is recorded before something is encrypted with it',
    file: 'runtime/actor/store/open-catalogue.ts',
    from: 'else if (hasOtherKeys(environment, catalogue))',
    to: 'else if (catalogue.keyCheck === undefined)',
    tests: storageTests,
    only: 'whose key was replaced',
  },
  {
    guard: 'the previous key is not the present one',
    file: 'runtime/config/secrets.ts',
    from: 'if (isSame(previous.key)) throw',
    to: 'if (false) throw',
    tests: ['test/runtime/config/secrets.test.ts'],
  },
  {
    guard: 'the previous key is dropped when nothing needs it',
    file: 'server/jobs/master-key-rotation.ts',
    from: 'const encryptedAgain = await this.#replaceAll(isMine);',
    to: 'await dropPrevious();\n        const encryptedAgain = await this.#replaceAll(isMine);',
    tests: rotationTests,
  },
  {
    guard: 'what is replaced is read again, because it may have been changed in between',
    file: 'server/jobs/master-key-rotation.ts',
    from: 'if (configuration === undefined) return count;',
    to: 'if (configuration === undefined || count > 0) return count;',
    tests: rotationTests,
  },
  {
    guard: 'nothing is encrypted again before all members have the new key',
    file: 'server/jobs/master-key-rotation.ts',
    from: '|| this.#isClosed || !this.#isAgreed) return;',
    to: '|| this.#isClosed) return;',
    tests: rotationTests,
  },
  {
    guard: 'a restore stores nothing under the previous key',
    file: 'actors/identities/restored-rows.ts',
    from: 'if (configured === undefined || !isConfiguration) return value;',
    to: 'if (configured === undefined || isConfiguration) return value;',
    tests: ['test/actors/identities/restored-rows.test.ts'],
  },
  {
    guard: 'the previous key signs no backup',
    file: 'runtime/backup/backup-key.ts',
    from: 'this.#current = signingKeyOf(masterKey);',
    to: 'this.#current = signingKeyOf(previous ?? masterKey);',
    tests: ['test/runtime/backup/manifest.test.ts'],
  },
  {
    guard: 'a backup of the previous key that was altered is refused',
    file: 'runtime/backup/manifest.ts',
    from: '!key.knows(signature)) return',
    to: 'signature.key !== key.name) return',
    tests: ['test/runtime/backup/manifest.test.ts'],
  },
  {
    guard: 'the previous key seals no message',
    file: 'cluster/seal/cluster-keys.ts',
    from: 'return sealed(this.#keys, purpose, context, parts);',
    to: 'return sealed(this.#previous ?? this.#keys, purpose, context, parts);',
    tests: ['test/cluster/seal/member-seal.test.ts'],
    only: 'the keys of a cluster',
  },
  {
    guard: 'members agree on a key when each of them says so',
    file: 'cluster/directory/member-registry.ts',
    from: 'every(({ heartbeat }) => heartbeat.key === key)',
    to: 'every(({ heartbeat }) => (heartbeat.key ?? key) === key)',
    tests: ['test/cluster/directory/member-registry.test.ts'],
    only: 'the master key of the members',
  },
  {
    guard: 'while members use several keys nothing is known of the logs',
    file: 'cluster/snapshot/rotated-logs.ts',
    from: 'this.#logs.clear();',
    to: '',
    tests: logTests,
  },
  {
    guard: 'a log that was not looked at may have records of the previous key',
    file: 'cluster/snapshot/rotated-logs.ts',
    from: 'this.#logs.get(partition)?.hasOld !== false',
    to: 'this.#logs.get(partition)?.hasOld === true',
    tests: logTests,
  },
  {
    guard: 'another signing key is told',
    file: 'server/host/signing-key.ts',
    from: 'if (wasUsed && !isKnown)',
    to: 'if (wasUsed && !isKnown && isJwtSecretNew)',
    tests: ['test/server/host/signing-key.test.ts'],
    only: 'a replaced key',
  },
  {
    guard: 'a lost signing key is told',
    file: 'server/host/signing-key.ts',
    from: 'if (wasUsed && !isKnown)',
    to: 'if (wasUsed && !isKnown && !isJwtSecretNew)',
    tests: ['test/server/host/signing-key.test.ts'],
    only: 'a lost key',
  },
  {
    guard: 'a folder that was replaced under the running server is told',
    file: 'server/host/folder-watch.ts',
    from: 'if (await this.#isLost(path)) lost.push(path);',
    to: 'await this.#isLost(path);',
    tests: ['test/server/host/folder-watch.test.ts'],
    only: 'is told when it',
  },
];
