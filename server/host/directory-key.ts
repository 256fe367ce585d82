import { OptionError } from '#runtime/config/option.ts';
import type { FoundSecrets } from '#runtime/config/secrets.ts';
import type { DirectoryKey } from '#runtime/actor/host/host-storage.ts';

const whatToDo =
  'Nothing was changed. Put the key back: the file from a copy, or the variable SVC_MASTER_KEY as it was. Without that key ' +
  'the signatures of backups that were made here cannot be verified, and what was encrypted with it cannot be read; content ' +
  'is not. When it is gone for good, make a new data directory, which gets a key of its own: npm run salvage -- --help';

/** An older version did not store the key and accepted either: only backups are signed with it. */
function doubtOf(source: string, path: string): string {
  return (
    `${source} is another key than the one in ${path}, and nothing says which of them the data directory was made with. ` +
    'Nothing was changed. Unset the variable to use the key in the file; or, where the variable has the right one, move the ' +
    'file away. The start that follows notes the key, and from then on no other one is taken'
  );
}

/** Returns the master key in the form that a data directory checks. */
export function directoryKey(secrets: FoundSecrets): DirectoryKey {
  const { isMasterKeyNew, masterKey, masterKeySource } = secrets;
  return {
    check: masterKey.checkValue,
    store: () => secrets.store(),
    doubt() {
      const path = secrets.otherMasterKey();
      return path === undefined ? undefined : new OptionError([doubtOf(masterKeySource, path)]);
    },
    refusal() {
      const what = isMasterKeyNew
        ? 'is missing: the data directory was made with another key than a new one'
        : 'is another key than the one the data directory was made with';
      return new OptionError([`${masterKeySource} ${what}. ${whatToDo}`]);
    },
  };
}
