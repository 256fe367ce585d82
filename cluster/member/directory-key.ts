import { OptionError } from '#runtime/config/option.ts';
import type { FoundSecrets } from '#runtime/config/secrets.ts';
import type { DirectoryKey } from '#runtime/actor/host-storage.ts';

const whatToDo =
  'Nothing was changed. Put the key back: the file from a copy, or the variable SVC_MASTER_KEY as it was. Without that key ' +
  'the signatures of backups that were made here cannot be verified, and what was encrypted with it cannot be read; content ' +
  'is not. When it is gone for good, make a new data directory, which gets a key of its own: npm run salvage -- --help';

/** The master key as a data directory knows it. */
export function directoryKey(secrets: FoundSecrets): DirectoryKey {
  const { isMasterKeyNew, masterKey, masterKeySource } = secrets;
  return {
    check: masterKey.checkValue,
    store: () => secrets.store(),
    refusal() {
      const what = isMasterKeyNew
        ? 'is missing: the data directory was made with another key than a new one'
        : 'is another key than the one the data directory was made with';
      return new OptionError([`${masterKeySource} ${what}. ${whatToDo}`]);
    },
  };
}
